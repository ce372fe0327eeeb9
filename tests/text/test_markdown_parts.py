"""The parts of a Markdown text, and its HTML."""

from hypothesis import given
from hypothesis import strategies as st

from knotwork._text.markdown_parts import PartKind, read_parts, split_bold, to_html

TEXT = """First, **so**:

2. Open *args <b>.
   - Look.

     Again.
3. Close. [1]

| Item | Cost |
| --- | ---: |
| a \\| b | 900 |

[2]

```sh
ls | wc

  x
```
[3]: no link
> said
# Title
"""


def test_parts_come_in_order_with_marks_and_indents():
    parts = [(p.kind, p.text, p.indent, p.mark) for p in read_parts(TEXT)]
    assert parts == [
        (PartKind.TEXT, "First, **so**:", 0, ""),
        (PartKind.TEXT, "Open *args <b>.", 3, "2. "),
        (PartKind.TEXT, "Look.", 5, "- "),
        (PartKind.TEXT, "Again.", 5, ""),
        (PartKind.TEXT, "Close. [1]", 3, "3. "),
        (PartKind.TABLE, "", 0, ""),
        (PartKind.TEXT, "[2]", 0, ""),
        (PartKind.CODE, "ls | wc\n\n  x", 0, ""),
        (PartKind.TEXT, "[3]: no link", 0, ""),
        (PartKind.TEXT, "said", 2, ""),
        (PartKind.HEADING, "Title", 0, ""),
    ]
    (table,) = (part for part in read_parts(TEXT) if part.kind is PartKind.TABLE)
    assert table.rows == (("Item", "Cost"), ("a | b", "900"))


def test_bold_words_lose_their_marks_and_stars_stay():
    assert split_bold("a **b c**, 2 ** 3") == [("a ", False), ("b c", True), (", 2 ** 3", False)]
    assert split_bold("**全部**") == [("全部", True)]
    assert split_bold("") == []


def test_html_has_neither_links_nor_markup_of_the_text():
    html = to_html(TEXT + "\n[x](http://y) ![z](http://y) <http://y> &amp; <i>i</i>")
    assert "href" not in html
    assert "src" not in html
    assert "class" not in html
    assert "[3]: no link" in html
    assert "&amp;amp; &lt;i&gt;i&lt;/i&gt;" in html


@given(st.text(alphabet="a*|`-#>1. \n[]<", max_size=80))
def test_no_letter_is_lost(text):
    shown = "".join(
        part.text + "".join(cell for row in part.rows for cell in row) for part in read_parts(text)
    )
    fences = sum(line.lstrip(" >-1.*").startswith("```") for line in text.split("\n"))
    assert shown.count("a") == text.count("a") or fences or "|" in text
