"""Rows of tables as lines: names of columns, keys of rows, cells over several rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.loading import frames, load

from knotwork._indexing.loaders.tables_and_lists import (
    MAX_SPAN,
    SpanningCell,
    names_columns,
    spread_cells,
)


@pytest.mark.parametrize(
    ("row", "below", "named"),
    [
        (["Name", "Age"], ["Ada", "36"], True),
        (["Ada", "36"], ["Alan", "41"], False),
        (["Region", "2022", "2023"], ["North", "120", "130"], True),
        (["Ada", "1815"], ["Alan", "1912"], False),
        (["2022", "2023"], ["120", "130"], False),
        (["Region", "2022"], ["North"], False),
        (["Name", "Name"], ["Ada", "36"], False),
        (["Name"], ["Ada"], False),
    ],
)
def test_names_of_columns(row, below, named):
    assert names_columns(row, below) is named


def test_html_rows_have_their_keys():
    page = """<p>These are the settings:</p><table><caption>Defaults</caption>
<tr><th>Setting</th><th>Default</th><th>Meaning</th></tr>
<tr><td rowspan="2">timeout</td><td>30 s</td><td>How long to wait. 0 is for ever.</td></tr>
<tr><td>90 s</td><td>In the old version.</td></tr>
<tr><td colspan="2">retries</td><td>How often to try.</td></tr></table>"""
    document = load("a.html", page)
    assert document.text.split("\n\n")[2].split("\n") == [
        "Setting: timeout; Default: 30 s; Meaning: How long to wait. 0 is for ever.",
        "Setting: timeout; Default: 90 s; Meaning: In the old version.",
        "Setting: retries; Meaning: How often to try.",
    ]
    assert [(kind, label) for kind, label, _ in frames(document)] == [
        ("title", "Defaults"),
        ("row", "timeout"),
        ("row", "timeout"),
        ("row", "retries"),
    ]


def test_html_rows_may_be_named_by_their_first_cell():
    page = "<table><tr><th>Born</th><td>1815</td></tr><tr><th>Died</th><td>1852</td></tr></table>"
    document = load("a.html", page)
    assert document.text == "Born: 1815\nDied: 1852"
    assert frames(document) == [("row", "Born", "Born: 1815"), ("row", "Died", "Died: 1852")]


@pytest.mark.parametrize(
    "header",
    [
        "<tr><th>File</th><th>Use</th></tr>",
        "<thead><tr><td>File</td><td>Use</td></tr></thead>",
        "<tr><td><b>File</b></td><td><p><strong>Use</strong></p></td></tr>",
    ],
)
def test_where_a_page_marks_headers_a_table_without_one_has_none(header):
    marked = f"<table>{header}<tr><td>a.txt</td><td>Notes</td></tr></table>"
    bare = (
        "<table><tr><td>.pro</td><td>Project</td></tr><tr><td>.sch</td><td>Sheet</td></tr></table>"
    )
    assert load("a.html", f"{marked}<p>And</p>{bare}").text.split("\n\n") == [
        "File: a.txt; Use: Notes",
        "And",
        ".pro | Project\n.sch | Sheet",
    ]
    assert load("b.html", bare).text == ".pro: .sch; Project: Sheet"


def test_a_line_leads_into_a_table():
    page = "<p>Defaults:</p><table><tr><td>timeout</td><td>30</td></tr></table>"
    assert frames(load("a.html", page))[0] == ("lead", "Defaults:", "timeout | 30")


def test_rows_of_delimited_text_have_their_keys():
    document = load("a.csv", "no,name,note\n1,Ada,First. Second.\n2,,x\n")
    assert frames(document) == [
        ("row", "Ada", "no: 1; name: Ada; note: First. Second."),
        ("row", "x", "no: 2; note: x"),
    ]


MARKDOWN = """Defaults are:

| Setting   | [Default](x) | Notes |
|-----------|:------------:|-------|
| `timeout` | 30 s         | How long. Then it ends. |
|           | 5            | |

After.
"""


def test_markdown_rows_have_their_columns_and_keys():
    first = "| `timeout` | 30 s         | How long. Then it ends. |"
    assert frames(load("a.md", MARKDOWN)) == [
        ("lead", "Defaults are:", MARKDOWN[MARKDOWN.index("| Setting") : -9]),
        ("columns", "Setting | Default | Notes", f"{first}\n|           | 5            | |"),
        ("row", "timeout", first),
    ]


def test_markdown_without_rows_or_with_bars_alone_is_no_table():
    assert frames(load("a.md", "| a | b |\n|---|---|\n")) == []
    assert frames(load("a.md", "| a | b |\n| c | d |\n")) == []
    assert frames(load("a.md", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n"))[0][0] == "code"


SPANNED = st.builds(
    SpanningCell, st.text("ab", min_size=1, max_size=3), st.integers(-3, 9), st.integers()
)


@given(st.lists(st.lists(SPANNED, max_size=5), max_size=6))
def test_spread_cells_keep_every_text_once_in_its_own_row(rows):
    spread = list(spread_cells(rows))
    assert len(spread) == len(rows)
    reached = 0
    for number, (cells, texts) in enumerate(zip(rows, spread, strict=True)):
        given_here = [cell.text for cell in cells]
        found = iter(texts)
        assert all(text in found for text in given_here)  # in order
        above = [cell.text for row in rows[:number] for cell in row]
        assert set(texts) <= {"", *given_here, *above}
        reached += sum(max(1, min(cell.columns, MAX_SPAN)) for cell in cells)
        assert len(texts) <= reached
