"""The trees of documents that have a list, a table, code, a definition and a box."""

import io

import docx
import pptx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from pptx.util import Inches
from tests.indexing.loading import load
from tests.indexing.office_files import make_epub

from knotwork.records import nest_blocks

HTML = """<h1>Pumps</h1><p>They run. Kept are:</p>
<ol><li>logs<ul><li>of clients</li></ul></li><li><b>Keys:</b> two<pre class="language-sh">keys

now</pre></li></ol>
<h2>Limits</h2>
<table><caption>Table 1: Limits</caption><tr><th>Name</th><th>Limit</th></tr>
<tr><td>timeout</td><td>30 s</td></tr></table>
<dl><dt>-q</dt><dt>--quiet</dt><dd><p>Says nothing.</p><ul><li>at all</li></ul></dd></dl>
<div class="admonition"><p class="admonition-title">Rollback</p><p>Install 2.3.</p></div>
<blockquote><p>One.</p><p>Two.</p></blockquote>"""
HTML_TREE = """\
section 'Pumps'
  paragraph 'They run. Kept are:'
  list < 'Kept are:'
    item '1. logs\\n   - of clients'
      list < 'logs'
        item '- of clients'
    item 'Keys' '2. Keys: two\\n\\n   ```sh\\n   keys\\n\\n   now\\n   ```'
      code 'sh' '```sh\\n   keys\\n\\n   now\\n   ```'
  section 'Limits'
    box 'Table 1: Limits'
      paragraph 'Table 1: Limits'
      table 'Name | Limit'
        row 'timeout' '| timeout | 30 s |'
    definition '-q, --quiet' '**-q, --quiet**\\n\\nSays nothing.\\n\\n- at all'
      paragraph 'Says nothing.'
      list
        item '- at all'
    box 'Rollback'
      paragraph 'Rollback'
      paragraph 'Install 2.3.'
    quote '> One.\\n>\\n> Two.'
      paragraph 'One.'
      paragraph 'Two.'"""
WORD_TREE = """\
section 'Pumps'
  paragraph 'They run. Kept are:'
  list < 'Kept are:'
    item '- logs\\n  - of clients'
      list < 'logs'
        item '- of clients'
    item 'Keys' '- Keys: two'
  paragraph 'Restart:'
  code < 'Restart:' '```\\ngateway stop\\n    now\\n```'
  section 'Limits'
    box 'Table 1: Limits'
      paragraph 'Table 1: Limits'
      table 'Name | Limit'
        row 'timeout' '| timeout | 30 s |'
    definition '-q, --quiet' '**-q, --quiet**\\n\\nSays nothing.'
      paragraph 'Says nothing.'
    paragraph 'Anchor.'
    box 'Rollback'
      paragraph 'Rollback'
      list
        item '- Install 2.3.'"""
SLIDES_TREE = """\
section 'Pumps'
  paragraph 'Kept are:'
  list < 'Kept are:'
    item '- logs\\n  - of clients'
      list < 'logs'
        item '- of clients'
    item 'Keys' '- Keys: two'
  table 'Name | Limit'
    row 'timeout' '| timeout | 30 s |'
  code '```\\ngateway stop\\n```'
  definition 'Timeout' 'Timeout: The time to wait.'
    paragraph 'Timeout: The time to wait.'
  box 'Speaker notes'
    paragraph 'Say hello.'"""
SHOWN_INSIDE = ("section", "list", "table", "box")
"""Kinds of blocks that are shown by what is in them."""


def tree_of(document):
    """Return a line for each block, with its label, its lead and its text."""
    lines = []

    def add(node, depth):
        block = node.block
        texts = [document.text[slice(*block.span)]] if block.kind not in SHOWN_INSIDE else []
        labels = filter(None, (repr(block.label), block.lead and f"< {block.lead!r}"))
        described = " ".join(label for label in labels if label != "''")
        lines.append(
            " ".join(filter(None, ("  " * depth + block.kind, described, *map(repr, texts))))
        )
        for child in node.children:
            add(child, depth + 1)

    for root in nest_blocks(document.blocks):
        add(root, 0)
    return "\n".join(lines)


def word_file():
    document = docx.Document()
    for name in ("Definition Term", "Definition", "Source Code"):
        document.styles.add_style(name, 1)
    for text, style in [
        ("Pumps", "Heading 1"),
        ("They run. Kept are:", None),
        ("logs", "List Bullet"),
        ("of clients", "List Bullet 2"),
        ("Keys: two", "List Bullet"),
        ("Restart:", None),
        ("gateway stop", "Source Code"),
        ("    now", "Source Code"),
        ("Limits", "Heading 2"),
        ("Table 1: Limits", "Caption"),
    ]:
        document.add_paragraph(text, style=style)
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip(table._cells, ("Name", "Limit", "timeout", "30 s"), strict=True):
        cell.text = text
    for text, style in [
        *(
            ("-q", "Definition Term"),
            ("--quiet", "Definition Term"),
            ("Says nothing.", "Definition"),
        ),
        ("Anchor.", None),
    ]:
        anchor = document.add_paragraph(text, style=style)
    box = (
        f"<w:r {nsdecls('w')}><w:txbxContent><w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Rollback</w:t>"
        "</w:r></w:p><w:p><w:pPr><w:pStyle w:val='ListBullet'/></w:pPr><w:r><w:t>Install 2.3.</w:t>"
        "</w:r></w:p></w:txbxContent></w:r>"
    )
    anchor._p.append(parse_xml(box))
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def slides_file():
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Pumps"
    frame = slide.placeholders[1].text_frame
    frame.text = "Kept are:\nlogs\nof clients\nKeys: two"
    frame.paragraphs[2].level = 1
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(6), Inches(2)).table
    for number, text in enumerate(("Name", "Limit", "timeout", "30 s")):
        table.cell(number // 2, number % 2).text = text
    for text, font, rest in [
        ("gateway stop", "Courier New", ""),
        ("Timeout:", None, " The time to wait."),
    ]:
        added = slide.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1))
        paragraph = added.text_frame.paragraphs[0]
        run = paragraph.add_run()
        run.text, run.font.name, run.font.bold = text, font, bool(rest)
        paragraph.add_run().text = rest
    slide.notes_slide.notes_text_frame.text = "Say hello."
    out = io.BytesIO()
    presentation.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "make", "tree"),
    [
        ("a.html", lambda: HTML, HTML_TREE),
        ("a.epub", lambda: make_epub([f"<body>{HTML}</body>"]), HTML_TREE),
        ("a.docx", word_file, WORD_TREE),
        ("a.pptx", slides_file, SLIDES_TREE),
    ],
)
def test_the_tree_of_a_document(name, make, tree):
    assert tree_of(load(name, make())) == tree
