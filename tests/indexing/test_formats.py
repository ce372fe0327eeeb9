"""One document of each format: its headings, lists, tables, code and definitions are blocks."""

import email.message
import json

import pytest
from tests.indexing.loading import blocks, load
from tests.indexing.office_files import (
    draw_page,
    make_docx,
    make_eml,
    make_epub,
    make_pdf,
    make_picture,
    make_xlsx,
    printed,
)
from tests.indexing.test_block_trees import tree_of

import knotwork
from knotwork._indexing.loaders.loader import can_recognise
from knotwork.records import BlockKind

MARKDOWN = """# Pumps

They run. Kept are:

- logs
  - of clients
- keys

Restart:

```
$ gateway stop
  now
```

## Limits

| Name | Limit |
| --- | --- |
| timeout | 30 s |
| retries | 3 |

quiet
: Says nothing.
"""
TEXT = """Pumps
=====

They run. Kept are:

• logs
  – of clients
• keys

Restart:

    $ gateway stop
      now

Limits
------

Name      Limit
timeout   30 s
retries   3

quiet
: Says nothing.
"""
RST = """=====
Pumps
=====

They *run*. Kept are:

* logs

  - of clients

* keys

Restart::

  $ gateway stop
    now

.. _limits:

Limits
======

=======  =====
Name     Limit
=======  =====
timeout  30 s
retries  3
=======  =====

quiet
    Says nothing.
"""
ORG = """* Pumps
They *run*. Kept are:
- logs
  - of clients
- keys

Restart:
#+BEGIN_SRC
$ gateway stop
  now
#+END_SRC
** Limits
| Name    | Limit |
|---------+-------|
| timeout | 30 s  |
| retries | 3     |

quiet
: Says nothing.
"""
HTML = """<h1>Pumps</h1><p>They run. Kept are:</p><ul><li>logs<ul><li>of clients</li></ul></li>
<li>keys</li></ul><p>Restart:</p><pre>$ gateway stop
  now</pre><h2>Limits</h2><table><tr><th>Name</th><th>Limit</th></tr>
<tr><td>timeout</td><td>30 s</td></tr><tr><td>retries</td><td>3</td></tr></table>
<dl><dt>quiet</dt><dd>Says nothing.</dd></dl>"""
TREE = """\
section 'Pumps'
  paragraph 'They run. Kept are:'
  list < 'Kept are:'
    item '- logs\\n  - of clients'
      list < 'logs'
        item '- of clients'
    item '- keys'
  paragraph 'Restart:'
  code < 'Restart:' '```\\n$ gateway stop\\n  now\\n```'
  section 'Limits'
    table 'Name | Limit'
      row 'timeout' '| timeout | 30 s |'
      row 'retries' '| retries | 3 |'
    definition 'quiet' '**quiet**\\n\\nSays nothing.'
      paragraph 'Says nothing.'"""
ROWS = [("Name", "Limit"), ("timeout", "30 s"), ("retries", "3")]


def page():
    """Return a page as a program prints it: all that it is, place and type say."""
    cells = [
        printed(text, 530 - 14 * row, x=72 + 128 * column, font="F1" if row else "FB")
        for row, texts in enumerate(ROWS)
        for column, text in enumerate(texts)
    ]
    return [
        printed("Pumps", 720, size=18),
        printed("They run. Kept are:", 690),
        printed("- logs", 676, x=80),
        printed("- of clients", 662, x=92),
        printed("- keys", 648, x=80),
        printed("Restart:", 620),
        printed("$ gateway stop", 606, font="FM"),
        printed("  now", 592, font="FM"),
        printed("Limits", 560, size=14),
        *cells,
        printed("quiet", 460, font="FB"),
        printed("Says nothing.", 446, x=90),
    ]


def word_file(document):
    for name in ("Definition Term", "Definition", "Source Code"):
        document.styles.add_style(name, 1)
    for text, style in [
        ("Pumps", "Heading 1"),
        ("They run. Kept are:", None),
        ("logs", "List Bullet"),
        ("of clients", "List Bullet 2"),
        ("keys", "List Bullet"),
        ("Restart:", None),
        ("$ gateway stop", "Source Code"),
        ("  now", "Source Code"),
        ("Limits", "Heading 2"),
    ]:
        document.add_paragraph(text, style=style)
    table = document.add_table(rows=3, cols=2)
    for cell, text in zip(table._cells, (text for row in ROWS for text in row), strict=True):
        cell.text = text
    document.add_paragraph("quiet", style="Definition Term")
    document.add_paragraph("Says nothing.", style="Definition")


def mail():
    message = email.message.EmailMessage()
    message["Subject"] = "Report"
    message.set_content(TEXT)
    return bytes(message)


def below(title):
    return "\n".join([f"section '{title}'", *(f"  {line}" for line in TREE.split("\n"))])


RECORD = {"title": "Pumps", "text": MARKDOWN.partition("\n\n")[2]}
FORMATS = {
    "a.md": lambda: MARKDOWN,
    "a.txt": lambda: TEXT,
    "markdown.txt": lambda: MARKDOWN + "\n**Is** what **it** is **called**.",
    "a.rst": lambda: RST,
    "a.org": lambda: ORG,
    "a.html": lambda: HTML,
    "a.epub": lambda: make_epub([f"<body>{HTML}</body>"]),
    "a.docx": lambda: make_docx(word_file),
    "a.pdf": lambda: make_pdf([page()]),
    "a.eml": mail,
    "a.json": lambda: json.dumps(RECORD),
    "a.jsonl": lambda: json.dumps(RECORD),
}


@pytest.mark.parametrize("name", FORMATS)
def test_the_blocks_of_a_document_match_every_other_format(name):
    tree = tree_of(load(name, FORMATS[name]()))
    tree = tree.removesuffix("\n    paragraph 'Is what it is called.'")
    assert tree == (below("Report") if name == "a.eml" else TREE)


@pytest.mark.slow
@pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
def test_a_scan_has_lists_tables_and_definitions():
    lines = ["They run. Kept are:", "- logs of the clients", "- keys of the gateway"]
    placed = [(100, 200 + 40 * number, line) for number, line in enumerate(lines)]
    placed += [
        (100 + 400 * column, 400 + 40 * row, text)
        for row, texts in enumerate(ROWS)
        for column, text in enumerate(texts)
    ]
    placed += [(100, 600, "Quiet: says nothing."), (100, 640, "Loud: says everything.")]
    document = load("a.png", make_picture(draw_page(placed, size=(1_240, 740))))
    assert (
        tree_of(document)
        == """\
paragraph 'They run. Kept are:'
list < 'Kept are:'
  item '- logs of the clients'
  item '- keys of the gateway'
table 'Name | Limit'
  row 'timeout' '| timeout | 30 s |'
  row 'retries' '| retries | 3 |'
definition 'Quiet' 'Quiet: says nothing.'
  paragraph 'Quiet: says nothing.'
definition 'Loud' 'Loud: says everything.'
  paragraph 'Loud: says everything.'"""
    )
    assert len(document.boxes) == 8


def test_a_workbook_has_tables_and_their_values():
    document = load("a.xlsx", make_xlsx({"Limits": ROWS}))
    assert (
        tree_of(document)
        == """\
section 'Limits'
  table 'Name | Limit'
    row 'timeout' '| timeout | 30 s |'
    row 'retries' '| retries | 3 |'"""
    )
    assert [table.name for table in document.tables] == ["Limits"]


def test_the_fields_of_a_mail_are_definitions():
    labels = [label for _, label, _ in blocks(load("a.eml", make_eml()), BlockKind.DEFINITION)]
    assert labels == ["From", "To", "Date", "Attachments"]


PUMPS = [{"pump": "Ostrand", "litres": 900}, {"pump": "Kestrel", "litres": 1200}]


@pytest.mark.parametrize(
    ("name", "text", "table"),
    [
        ("pumps.json", json.dumps(PUMPS), "pumps"),
        ("store.json", json.dumps({"version": 2, "pumps": PUMPS}), "store"),
        ("pumps.jsonl", "\n".join(map(json.dumps, PUMPS)), "pumps"),
    ],
)
def test_records_of_json_are_a_table_for_statements(tmp_path, name, text, table):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / name).write_text(text)
    with knotwork.open(tmp_path / "i.knot", embedding_model="none", index_workers=0) as base:
        base.index(folder)
        result = base.tables.query(f"SELECT pump FROM {table} WHERE litres > 1000")
        assert [tuple(row) for row in result.rows] == [("Kestrel",)]


@pytest.mark.parametrize(
    ("name", "text", "tree"),
    [
        ("a.md", "Apple\nPomme\n: A fruit.\n: A company.", ["Apple, Pomme", "Apple, Pomme"]),
        ("a.md", "Apple\n\n:   A fruit:\n\n    - red\n    - green\n\nPear\n~ Another.", None),
        ("a.txt", "Apple\n: A fruit\n  that is red.\n\nPear\n: Another.", ["Apple", "Pear"]),
        ("a.rst", "Apple : fruit\n    It is red.\n\n    And round.\n\nText.", ["Apple"]),
        ("a.rst", ".. option:: --all\n\n   Read it.\n\n.. option:: -q\n\n   Say less.", None),
    ],
)
def test_definition_lists(name, text, tree):
    document = load(name, text)
    labels = [label for _, label, _ in blocks(document, BlockKind.DEFINITION)]
    assert labels == (tree or {"a.md": ["Apple", "Pear"], "a.rst": ["--all", "-q"]}[name])
    assert not document.text.count("\n:")


@pytest.mark.parametrize("colon", [":if x", "a:b", "Note:"])
def test_a_colon_alone_defines_nothing(colon):
    document = load("a.txt", f"{colon}\n:: x\n\nMore.")
    assert not blocks(document, BlockKind.DEFINITION)


NOTES = """.. This is a comment.

.. note:: Take *care*
   of it.

.. versionadded:: 3.2

.. list-table:: Models
   :header-rows: 1

   * - Name
     - Age
   * - Ada
     - 36

.. figure:: a.png
   :alt: x

   The caption of it

.. literalinclude:: a.py

#. first
#. second
"""


def test_directives_of_restructured_text():
    assert (
        tree_of(load("a.rst", NOTES))
        == """\
box
  paragraph 'Take care of it.'
paragraph 'New in version 3.2'
box 'Models'
  paragraph 'Models'
  table 'Name | Age'
    row 'Ada' '| Ada | 36 |'
figure 'The caption of it' 'The caption of it'
list
  item '1. first'
  item '2. second'"""
    )


def test_a_caption_of_a_picture_in_word_is_a_figure():
    def build(document):
        document.add_paragraph("Figure 1: The valve", style="Caption")
        document.add_paragraph("Figure 2 shows what it is made of.")
        document.add_paragraph("Table 1: Of nothing", style="Caption")
        document.add_paragraph("The end.")

    assert (
        tree_of(load("a.docx", make_docx(build)))
        == """\
figure 'Figure 1: The valve' 'Figure 1: The valve'
paragraph 'Figure 2 shows what it is made of.'
paragraph 'Table 1: Of nothing'
paragraph 'The end.'"""
    )


def column(document):
    table = document.add_table(rows=3, cols=1)
    for cell, text in zip(table._cells, ("Name", "Ada", "Tom"), strict=True):
        cell.text = text
    table._cells[0].paragraphs[0].runs[0].bold = True


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.md", "| Name |\n| --- |\n| Ada |\n| Tom |"),
        (
            "a.html",
            "<table><tr><th>Name</th></tr><tr><td>Ada</td></tr><tr><td>Tom</td></tr></table>",
        ),
        ("a.docx", make_docx(column)),
    ],
)
def test_a_table_of_one_column_with_a_header_is_a_table(name, data):
    document = load(name, data)
    assert document.text == "| Name |\n| --- |\n| Ada |\n| Tom |"
    assert len(blocks(document, BlockKind.ROW)) == 2
