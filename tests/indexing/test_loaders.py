import datetime as dt
import json
import re
import subprocess
import sys

import pytest
from tests.indexing.loading import blocks, leads, load, outline
from tests.indexing.office_files import (
    make_docx,
    make_eml,
    make_epub,
    make_pdf,
    make_pptx,
    make_xlsx,
    one_of_each,
)

from knotwork._indexing.loaders.loader import FORMATS, can_recognise, format_size
from knotwork._indexing.loaders.loader_registry import (
    LOADERS,
    load_file,
    supported_suffixes,
)
from knotwork.errors import LoadError
from knotwork.records import BlockKind


def page_text(document, label):
    starts = [page.start for page in document.pages] + [len(document.text)]
    number = [page.label for page in document.pages].index(label)
    return document.text[starts[number] : starts[number + 1]].strip()


def test_every_format_is_read():
    files = one_of_each()
    read = {name: load(name, data) for name, data in files.items()}
    assert all(document.text.strip() and document.title for document in read.values())
    suffixes = {name[1:] for name in files}
    for name in LOADERS.names(plugins=False):
        loader = LOADERS.create(name)
        is_heard = name == "audio"  # needs a model: see test_recordings.py
        is_seen = name == "picture" and not can_recognise()
        assert suffixes & set(loader.suffixes) or is_heard or is_seen, name
        assert (loader.suffixes, loader.signatures) == FORMATS[name]
    assert set(supported_suffixes()) >= suffixes


def test_a_file_imports_the_loader_of_its_format_alone():
    code = (
        "import sys\n"
        "from knotwork._indexing.loaders.loader_registry import load_file\n"
        "load_file(b'The pump.', uri='a.txt')\n"
        "print([m for m in sys.modules if m.startswith('knotwork._indexing.loaders.')])\n"
        "print('parsers:', {'lxml', 'markdown_it', 'docx', 'openpyxl'} & set(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(re.findall(r"loaders\.(\w+)", done.stdout))
    assert "plain_text" in imported
    assert not imported & {"docx", "epub", "mail", "pdf", "pptx", "spreadsheets"}
    assert "parsers: set()" in done.stdout
    command = [sys.executable, "-c", code.replace("a.txt", "a.md")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = set(re.findall(r"loaders\.(\w+)", done.stdout))
    assert "markdown" in imported
    assert not imported & {"docx", "page_layout", "pdf_pages", "pdf_pictures", "pictures", "sound"}


def test_text_takes_its_title_from_the_first_line_or_the_name():
    assert load("a.txt", "Bram Ostrand\n\nHe is the head.").title == "Bram Ostrand"
    assert load("a.txt", "温青岚\n\n她是主任。").title == "温青岚"
    assert load("travel_policy-2024.txt", "This is a sentence. Another.").title == (
        "travel policy 2024"
    )
    assert load("notes.txt", "- an item\n- another").title == "notes"


def test_text_finds_chapters():
    text = "A Book\n\nCHAPTER I. The Start\n\nText.\n\nChapter 2\n\nMore.\n\nPart of a sentence.\n"
    assert outline(load("a.txt", text)) == [(1, "CHAPTER I. The Start"), (1, "Chapter 2")]
    text = "书名\n\n第一章 开始\n\n正文。\n\n第二节 经过\n\n正文。\n\n第三方说了话。\n"
    document = load("a.txt", text)
    assert outline(document) == [(1, "第一章 开始"), (2, "第二节 经过")]
    assert document.text.startswith("书名\n\n# 第一章 开始\n\n正文。\n\n## 第二节 经过\n\n")


def test_rst_ranks_underlines_by_first_use():
    text = "Top\n===\n\nText.\n\nSub\n---\n\nText\n\nNot\n--\n\nOther\n=====\n"
    assert outline(load("a.rst", text)) == [(1, "Top"), (2, "Sub"), (1, "Other")]


RST = """Bridges
=======

.. _old:

See ``arch``, :ref:`the toll <toll>`, `a page <http://a.b/c>`_ and **all**::

   run ``it``

.. code-block:: python

   x = "`y`"

.. note:: Take care.

   It is old.

toll
   One crown.
arch
   Of stone.

=====  =====
Year   Toll
=====  =====
1784   1
1790   2
=====  =====
"""


def test_rst_has_blocks_and_no_markup():
    document = load("a.rst", RST)
    assert document.text == (
        "# Bridges\n\nSee arch, the toll, a page and all:\n\n```\nrun ``it``\n```\n\n"
        '```python\nx = "`y`"\n```\n\nTake care.\n\nIt is old.\n\n**toll**\n\nOne crown.\n\n'
        "**arch**\n\nOf stone.\n\n| Year | Toll |\n| --- | --- |\n| 1784 | 1 |\n| 1790 | 2 |"
    )
    assert [label for _, label, _ in blocks(document, BlockKind.DEFINITION)] == ["toll", "arch"]
    assert leads(document)[0] == ("code", "See arch, the toll, a page and all:")


def test_lines_of_terms_are_definitions_in_markdown_and_turns_if_a_speaker_speaks_again():
    markup = (
        "# Options\n\nThe options are these:\nfan: most neighbours.\ndepth：most hops。\nAnd so on."
    )
    document = load("a.md", markup)
    assert [label for _, label, _ in blocks(document, BlockKind.DEFINITION)] == ["fan", "depth"]
    assert "these:\n\nfan: most neighbours.\n\ndepth：most hops。\n\nAnd so on." in document.text
    talk = load("b.md", "# Call\n\n**Ann:** Hello.\n**Bob:** Hello.\n**Ann:** It rains.")
    assert [label for _, label, _ in blocks(talk, BlockKind.TURN)] == ["Ann", "Bob", "Ann"]
    wrapped = (
        "# P\n\nOf all the pumps that were looked at in summer, one had a fault: a valve that\n"
        "had leaked a little in spring: it was replaced on the same day by the keeper."
    )
    assert not blocks(load("c.md", wrapped), BlockKind.DEFINITION)


MARKDOWN = """---
title: "Travel: the rules"
author: Ada
date: 2024-01-31
tags: [travel, money]
nested: {a: 1}
---
Intro.

# One *thing* `here` ##

```python
# not a heading
```

    # nor this

Setext
------

### [Three](http://x.y) #

#hash is no heading
"""


def test_markdown_is_written_by_its_blocks():
    document = load("a.md", MARKDOWN)
    assert document.text == (
        "Intro.\n\n# One thing here\n\n```python\n# not a heading\n```\n\n```\n# nor this\n```\n\n"
        "## Setext\n\n### Three\n\n#hash is no heading\n\nTags: travel, money"
    )
    assert document.title == "Travel: the rules"
    assert document.metadata == {
        "author": "Ada",
        "date": "2024-01-31",
        "tags": "travel, money",
        "nested.a": "1",
    }
    assert outline(document) == [(1, "One thing here"), (2, "Setext"), (3, "Three")]
    assert [label for _, label, _ in blocks(document, BlockKind.CODE)] == ["python", ""]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2. _检索_相关上下文", "检索相关上下文"),
        ("注意*斜体，*后面。", "注意*斜体，*后面。"),
        ("这里，*斜体，*后面。", "这里，斜体，后面。"),
        ("**重要：**请先备份**“甲”**。", "重要：请先备份“甲”。"),
        ("变量 my_name_值 和 _文件_名", "变量 my_name_值 和 文件名"),
        ("变量 my_name_ 和 a_值_b", "变量 my_name_ 和 a_值_b"),
    ],
)
def test_marks_of_emphasis_beside_chinese_are_not_shown(written, read):
    assert load("a.md", written.encode()).text.removeprefix("2. ") == read


@pytest.mark.parametrize("name", ["a.md", "a.txt"])
def test_notes_of_markdown_are_below_the_text_with_their_mark(name):
    text = (
        "# 报告\n\n## Sales\n\nSales rose[^1] by 10^2^ crowns.\n\n价格未含税[^税]。\n\n"
        "[^1]: Without the north.\n\n    Its books come in May.\n\n[^税]: 含税另计。\n"
    )
    document = load(name, text.encode())
    assert document.text.split("\n\n")[2:] == [
        "Sales rose [^1] by 10^2 crowns.",
        "[^1] Without the north.",
        "Its books come in May.",
        "价格未含税 [^税]。",
        "[^税] 含税另计。",
    ]


@pytest.mark.parametrize(
    "front", ["---\n: [broken\n---\n", "---\n- a\n- b\n---\n", "---\nno end\n"]
)
def test_markdown_with_odd_front_matter_is_still_read(front):
    assert load("my_notes.md", front + "# Title\n\nText.").metadata == {}


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("`child_process.spawn(command[, args])`", "child_process.spawn(command[, args])"),
        ("Set max_connections and **work_mem**", "Set max_connections and work_mem"),
        ("_New_ in [version 2_1](v2_1.md) {#v2}", "New in version 2_1"),
        ("See [the manual][m] or ![a_b](c.png)", "See the manual or a_b"),
        (r"Q&amp;A on \_private <br> names", "Q&A on _private names"),
        ("变量**名**max_size的含义", "变量名max_size的含义"),
    ],
)
def test_a_markdown_title_is_the_heading_without_its_markup(heading, title):
    document = load("a.md", f"# {heading}\n\nText.\n\n[m]: manual.md\n")
    assert outline(document) == [(1, title)]
    assert document.text == f"# {title}\n\nText."


def test_markdown_keeps_what_introduces_a_text():
    text = "# A\n\nFirst. Kept are [these](x):\n\n- logs\n- keys:\n  - one\n\n```\nrun: now\n```\n"
    document = load("a.md", text)
    assert document.text == text.replace("[these](x)", "these").strip()
    assert leads(document) == [("list", "Kept are these:"), ("list", "keys:")]
    assert [code for _, _, code in blocks(document, BlockKind.CODE)] == ["```\nrun: now\n```"]


def test_markdown_keeps_the_terms_in_bold():
    text = (
        "**Timeout:** The time. It is 30 s.\n\n- **`-k`, --keep** – Keeps them.\n  Really.\n"
        "- **No** term\n\n**Note:** Take care.\n\n| a | b |\n|---|---|\n| **c:** d | e |\n"
    )
    document = load("a.md", text)
    assert [b[1:] for b in blocks(document, BlockKind.DEFINITION, BlockKind.ITEM) if b[1]] == [
        ("Timeout", "Timeout: The time. It is 30 s."),
        ("-k, --keep", "- -k, --keep – Keeps them.\n  Really."),
    ]


PAGES = [
    [
        "Running head",
        "Introduction",
        "The first sentence is short. The exam-",
        "ple is hyphenated and",
    ],
    ["Running head", "goes on here. Another.", "2"],
    ["Running head", "Methods", "Third page text.", "3"],
    ["Running head", "Fourth page.", "4"],
]


def test_pdf_pages_outline_and_running_heads():
    bookmarks = [("Introduction", 0, 1), ("Methods", 2, 2), ("Not in the text", 3, 1)]
    document = load("a.pdf", make_pdf(PAGES, title="A Report", bookmarks=bookmarks))
    assert document.title == "A Report"
    assert document.metadata == {"author": "Ada", "date": "2024-01-31", "pages": "4"}
    assert [page.label for page in document.pages] == ["1", "2", "3", "4"]
    assert "Running head" not in document.text
    assert "The example is hyphenated and goes on here." in document.text
    assert page_text(document, "2").startswith("goes on here.")
    assert page_text(document, "4").startswith("Fourth page.")
    assert outline(document) == [(1, "Introduction"), (2, "Methods")]


def test_pdf_with_a_password():
    data = make_pdf([["Secret text."]], password="open")
    with pytest.raises(LoadError) as caught:
        load("a.pdf", data)
    assert caught.value.reason == "password"
    assert "docs/a.pdf" in str(caught.value)
    assert load("a.pdf", data, password="open").text == "Secret text."


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_pdf_that_only_its_owner_may_change_is_read(algorithm):
    data = make_pdf([["Open text."]], owner_password="owner", algorithm=algorithm)
    assert load("a.pdf", data).text == "Open text."


@pytest.mark.parametrize(("pages", "held"), [(1, "has 1 page without"), (2, "has 2 pages without")])
def test_pdf_without_text_is_a_scan(pages, held):
    with pytest.raises(LoadError) as caught:
        load("a.pdf", make_pdf([[]] * pages))
    assert caught.value.reason == "no_text"
    assert held in caught.value.message


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (5_000, "5 kB"),
        (5_001, "5.001 kB"),
        (104_857_600, "104.858 MB"),
        (3_000_000_000, "3 GB"),
    ],
)
def test_a_size_is_shown_in_a_fitting_unit(size_bytes, shown):
    assert format_size(size_bytes) == shown


def test_a_file_above_the_limit_and_the_limit_are_distinguished():
    with pytest.raises(LoadError) as caught:
        load_file(b"text " * 1_001, uri="a.txt", max_file_mb=0.005)
    assert "is 5.005 kB large; the limit is 5 kB." in caught.value.message


def test_docx_headings_lists_tables_and_properties():
    def build(document):
        document.add_heading("Travel policy", 0)
        document.add_heading("Approval", 1)
        document.add_paragraph("Trips are approved. Ask early.")
        document.add_paragraph("by train", style="List Bullet")
        document.add_paragraph("by car", style="List Bullet")
        document.add_heading("Cost", 2)
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip(
            table._cells, ["City", "Hotel", "Corvane", "140 crowns"], strict=True
        ):
            cell.text = text

    data = make_docx(build, title="Policy 7", author="Ada", subject="trips")
    document = load("a.docx", data)
    assert document.title == "Policy 7"
    assert document.metadata["author"] == "Ada"
    assert document.metadata["subject"] == "trips"
    assert outline(document) == [(1, "Travel policy"), (1, "Approval"), (2, "Cost")]
    assert document.text == (
        "# Travel policy\n\n# Approval\n\nTrips are approved. Ask early.\n\n- by train\n- by car"
        "\n\n## Cost\n\n| City | Hotel |\n| --- | --- |\n| Corvane | 140 crowns |"
    )


def test_pptx_slides_are_pages():
    slides = [("Start", ["one", "two"], "Say hello."), ("结束", ["谢谢大家。"], "")]
    document = load("a.pptx", make_pptx(slides, title="Talk"))
    assert document.title == "Talk"
    assert outline(document) == [(1, "Start"), (1, "结束")]
    assert page_text(document, "1") == "# Start\n\n- one\n- two\n\nSay hello."
    assert page_text(document, "2") == "# 结束\n\n谢谢大家。"


def test_xlsx_rows_can_be_read_on_their_own():
    rows = [
        ["name", "born", "salary", None, "active"],
        ["Ada", dt.date(1815, 12, 10), 3.0, None, True],
        [None] * 5,
        ["Alan", None, 2.5, "odd", False],
    ]
    data = make_xlsx({"Staff": rows, "Sheet2": [["only text"]]})
    document = load("staff_list.xlsx", data)
    assert document.title == "staff list"
    assert page_text(document, "Staff").splitlines() == [
        "# Staff",
        "",
        "| name | born | salary |  | active |",
        "| --- | --- | --- | --- | --- |",
        "| Ada | 1815-12-10 | 3 |  | yes |",
        "| Alan |  | 2.5 | odd | no |",
    ]
    assert [label for _, label, _ in blocks(document, BlockKind.ROW)] == ["Ada", "Alan"]
    assert page_text(document, "Sheet2") == "only text"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", 'name,note\nAda,"a, b\nand c"\nAlan,\n'),
        ("a.csv", 'name;note\nAda;"a, b\nand c"\nAlan;\n'),
        ("a.tsv", 'name\tnote\nAda\t"a, b\nand c"\nAlan\t\n'),
        ("a.csv", 'name|note\nAda|"a, b\nand c"\nAlan|\n'),
    ],
)
def test_delimited_text(name, data):
    assert load(name, data).text == (
        "| name | note |\n| --- | --- |\n| Ada | a, b and c |\n| Alan |  |"
    )


def test_a_table_without_column_names():
    assert load("a.csv", "1,2\n3,4\n").text == "|  |  |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_a_json_record_is_a_section():
    record = {"title": "A  title", "text": "The text.", "author": "Ada", "tags": ["x", "y"]}
    document = load("a.json", json.dumps(record))
    assert (document.title, document.metadata) == ("A title", {"author": "Ada"})
    assert document.text == "# A title\n\nThe text.\n\nauthor: Ada\n\ntags:\n\n- x\n- y"
    assert [b[1:] for b in blocks(document, BlockKind.DEFINITION)] == [("author", "author: Ada")]


def test_json_records_are_sections_if_they_are_long():
    lines = "\n".join(
        json.dumps({"Title": f"T{n}", "body": f"Body {n}. " * 20, "n": n}) for n in range(3)
    )
    document = load("my-records.jsonl", lines)
    assert document.title == "my records"
    assert outline(document) == [(1, "T0"), (1, "T1"), (1, "T2")]
    assert document.text.startswith("# T0\n\nBody 0. Body 0.")
    assert "\n\nn: 0\n\n# T1\n\n" in document.text
    assert load("a.json", lines).text == document.text
    nested = {"version": 2, "items": [{"name": "a", "size": {"w": 1}}, {"name": "b", "ok": True}]}
    assert load("a.json", json.dumps(nested)).text == (
        "version: 2\n\n# a\n\nsize.w: 1\n\n# b\n\nok: yes"
    )


@pytest.mark.parametrize("wrap", [list, lambda records: {"version": 2, "items": records}])
def test_short_json_records_of_the_same_keys_are_a_table(wrap):
    records = [{"name": "Ada", "age": 36, "ok": True}, {"age": 41, "name": "Tom", "ok": None}]
    document = load("a.json", json.dumps(wrap(records)))
    table = "| name | age | ok |\n| --- | --- | --- |\n| Ada | 36 | yes |\n| Tom | 41 |  |"
    assert document.text in (table, f"version: 2\n\nitems:\n\n{table}")
    assert [label for _, label, _ in blocks(document, BlockKind.ROW)] == ["Ada", "Tom"]


def test_json_strings_may_be_markdown():
    record = {
        "title": "T",
        "text": "## Use\n\nRun **it**:\n\n- now\n- later\n\n## Stop\n\nPress [x](/x).",
        "notes": "First.\n\n1. one\n2. two",
    }
    document = load("a.json", json.dumps(record))
    assert document.text == (
        "# T\n\n### Use\n\nRun it:\n\n- now\n- later\n\n### Stop\n\nPress x.\n\n"
        "**notes**\n\nFirst.\n\n1. one\n2. two"
    )
    assert outline(document) == [(1, "T"), (3, "Use"), (3, "Stop")]
    (notes,) = [b for b in document.blocks if b.kind is BlockKind.DEFINITION]
    last = [b for b in document.blocks if b.level][-1]
    assert last.span.end < notes.span.start


def test_json_lines_say_which_line_is_broken():
    with pytest.raises(LoadError, match="line 2") as caught:
        load("a.jsonl", '{"a": 1}\n{"a": \n')
    assert caught.value.reason == "broken"


def test_epub_follows_its_spine():
    chapters = ["<body><h1>One</h1><p>First.</p></body>", "<body><h2>Two</h2><p>Then.</p></body>"]
    document = load("a.epub", make_epub(chapters))
    assert document.text == "# One\n\nFirst.\n\n## Two\n\nThen."
    assert document.title == "A Book"
    assert document.metadata == {"author": "Jane Doe, John Roe", "language": "en"}
    assert outline(document) == [(1, "One"), (2, "Two")]


def test_epub_with_copy_protection():
    encryption = '<encryption xmlns:e="x"><e:EncryptionMethod Algorithm="aes"/></encryption>'
    data = make_epub(["<body>x</body>"], extra={"META-INF/encryption.xml": encryption})
    with pytest.raises(LoadError) as caught:
        load("a.epub", data)
    assert caught.value.reason == "password"


def test_mail():
    document = load("a.eml", make_eml())
    assert document.title == "Travel in März"
    assert document.metadata["author"] == "Ada <ada@example.org>"
    assert document.text.startswith("# Travel in März\n\nFrom: Ada <ada@example.org>\n\n")
    assert "Dear Alan,\n\nthe trip is approved.\n\nAttachments: ticket.pdf" in document.text
    fields = [label for _, label, _ in blocks(document, BlockKind.DEFINITION)]
    assert fields[0] == "From"
    assert fields[-1] == "Attachments"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("plain", "Please bring:\n\n- a tent\n- food\n\n> When?\n"),
        ("html", "<p>Please bring:</p><ul><li>a tent<li>food</ul><blockquote>When?</blockquote>"),
    ],
)
def test_the_body_of_a_mail_has_blocks(kind, body):
    head = f"From: a@b.c\nSubject: Trip\nContent-Type: text/{kind}\n\n"
    document = load("a.eml", head + body)
    assert document.text == (
        "# Trip\n\nFrom: a@b.c\n\nPlease bring:\n\n- a tent\n- food\n\n> When?"
    )
    assert leads(document) == [("list", "Please bring:")]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.eml", b"From: a@b.c\r\nSubject: =?utf-8?q?Old=00_=0Abridge?=\r\n\r\nIt is of stone."),
        ("a.docx", make_docx(lambda document: document.add_paragraph("x"), title="Old\nbridge")),
        ("a.xlsx", make_xlsx({"S": [["x"]]}, title="Old\n bridge")),
    ],
)
def test_a_title_is_one_clean_line(name, data):
    assert load(name, data).title == "Old bridge"


def test_content_decides_the_format_whatever_the_name():
    files = one_of_each()
    for name in ("a.pdf", "a.docx", "a.pptx", "a.xlsx", "a.epub"):
        right = load(name, files[name])
        for wrong in ("a.txt", "a.bin", "noname"):
            assert load(wrong, files[name]).text == right.text
    assert load("page", files["a.html"]).text == "# One\n\nText."
    assert load("script.py", "print('text')\n").media_type == "text/plain"


def test_load_file_checks_before_it_reads(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("The trip is approved by the office. " * 100)
    assert load_file(path, uri="a.txt").language == "en"
    for reason, options, target in [
        ("too_large", {"max_file_mb": 0.001}, path),
        ("missing", {}, tmp_path / "b.txt"),
        ("not_a_file", {}, tmp_path),
        ("unreadable", {}, path / "below"),
    ]:
        with pytest.raises(LoadError) as caught:
            load_file(target, uri="x/a.txt", **options)
        assert caught.value.reason == reason
        assert "x/a.txt" in caught.value.message
