"""How words look in their line: recorded beside a text that has no marks for it."""

import pytest
from tests.indexing.loading import load
from tests.indexing.office_files import make_docx

MARKDOWN = """# The *old* lock

Read **the guide** and `lockctl open` first. The guide is **the law**.

| Item | Fee |
| --- | --- |
| **Boat** | `40` |

- a **a** ***both*** a
- _one
  two_ three

```sh
**not** `code`
```
"""

HTML = """<!doctype html><title>Lock</title><h1>The <em>old</em> lock</h1>
<p>Read <b>the guide</b> and <code>lockctl open</code> first. The guide is <strong>the law</strong>.
<table><tr><th>Item</th><th>Fee</th></tr><tr><td><b>Boat</b></td><td><code>40</code></td></tr></table>
<ul><li>a <b>a</b> <b><i>both</i></b> a</li><li><i>one
two</i> three</li></ul><pre><b>not</b> <code>code</code></pre>"""


def make_word_file() -> bytes:
    def build(document):
        heading = document.add_heading("The ", 1)
        heading.add_run("old").italic = True
        heading.add_run(" lock")
        paragraph = document.add_paragraph("Read ")
        paragraph.add_run("the ").bold = True
        paragraph.add_run("guide").bold = True
        paragraph.add_run(" and ")
        paragraph.add_run("lockctl open").font.name = "Courier New"
        paragraph.add_run(" first. The guide is ")
        paragraph.add_run("the law", style="Strong")
        table = document.add_table(rows=2, cols=2)
        for cell, text in zip(table._cells, ("Item", "Fee", "", ""), strict=True):
            cell.text = text
        table.cell(1, 0).paragraphs[0].add_run("Boat").bold = True
        table.cell(1, 1).paragraphs[0].add_run("40").font.name = "Courier New"
        item = document.add_paragraph("a ", style="List Bullet")
        item.add_run("a").bold = True
        item.add_run(" ")
        both = item.add_run("both")
        both.bold = both.italic = True
        item.add_run(" a")
        item = document.add_paragraph("", style="List Bullet")
        item.add_run("one two").italic = True
        item.add_run(" three")

    return make_docx(build)


@pytest.mark.parametrize(
    ("name", "data"),
    [("lock.md", MARKDOWN), ("lock.html", HTML), ("lock.docx", make_word_file())],
)
def test_words_that_are_set_apart_are_recorded_where_they_are(name, data):
    document = load(name, data)
    text = document.text
    found = [(text[slice(*span)].split(), style.value) for span, style in document.styles]
    assert found == [
        (["old"], "emphasis"),
        (["the", "guide"], "strong"),
        (["lockctl", "open"], "code"),
        (["the", "law"], "strong"),
        (["Boat"], "strong"),
        (["40"], "code"),
        (["a"], "strong"),
        (["both"], "emphasis"),
        (["both"], "strong"),
        (["one", "two"], "emphasis"),
    ]
    (item,) = [span for span, _ in document.styles if text[slice(*span)] == "a"]
    assert text[item.start - 4 : item.start] == "- a "
    assert "*" not in text.split("```")[0]


def test_a_style_changes_the_revision_of_a_document():
    plain, bold = load("a.md", "The law."), load("a.md", "The **law**.")
    assert plain.text == bold.text
    assert plain.revision != bold.revision
