"""Tables and their rows: names of columns, keys of rows, cells over several rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.loading import blocks, leads, load

from knotwork._extensions.formats.grids import MAX_SPAN, SpanningCell, spread_cells
from knotwork._indexing.loaders.tables import names_columns
from knotwork.records import BlockKind


def rows(document):
    return [(label, text) for _, label, text in blocks(document, BlockKind.ROW)]


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
    assert rows(document) == [
        ("timeout", "| timeout | 30 s | How long to wait. 0 is for ever. |"),
        ("timeout", "| timeout | 90 s | In the old version. |"),
        ("retries", "| retries |  | How often to try. |"),
    ]
    assert [label for _, label, _ in blocks(document, BlockKind.BOX)] == ["Defaults"]
    ((_, columns, table),) = blocks(document, BlockKind.TABLE)
    assert columns == "Setting | Default | Meaning"
    assert table.startswith("| Setting | Default | Meaning |\n| --- | --- | --- |\n| timeout |")


def test_html_rows_may_be_named_by_their_first_cell():
    page = "<table><tr><th>Born</th><td>1815</td></tr><tr><th>Died</th><td>1852</td></tr></table>"
    document = load("a.html", page)
    assert document.text == "|  |  |\n| --- | --- |\n| Born | 1815 |\n| Died | 1852 |"
    assert rows(document) == [("Born", "| Born | 1815 |"), ("Died", "| Died | 1852 |")]


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
    page = f"{marked}<p>And</p>{bare}"
    labels = [label for _, label, _ in blocks(load("a.html", page), BlockKind.TABLE)]
    assert labels == ["File | Use", ""]
    assert len(rows(load("a.html", page))) == 3
    assert rows(load("b.html", bare)) == [(".sch", "| .sch | Sheet |")]


def lines(body):
    return load("a.html", f"<table>{body}</table>").text.split("\n")


@pytest.mark.parametrize(
    ("below", "names"),
    [
        ("<td><td>Spring<td>Autumn", "| Site | Visits Spring | Visits Autumn |"),
        ("<td>Berth<td>Spring<td>Autumn", "| Site Berth | Visits Spring | Visits Autumn |"),
        ("<td>Tor<td>8<td>9", "| Site | Visits | Visits |"),
    ],
)
def test_a_second_row_of_a_header_may_have_plain_cells(below, names):
    found = lines(
        f"<tr><th>Site<th colspan=2>Visits<tr>{below}"
        "<tr><td>Bo<td>1<td>2<tr><td>Vik<td colspan=2>closed"
    )
    assert found[0] == names
    assert found[-2:] == ["| Bo | 1 | 2 |", "| Vik | closed | closed |"]


def test_rows_below_the_title_of_a_section_have_it():
    assert lines(
        "<tr><th>Site<th>Visits<tr><td colspan=2>North region<tr><td>Tor<td>1<tr><td>Vik<td>2"
        "<tr><td>Total<td>3<tr><th colspan=2>South<tr><th colspan=2>Isles<tr><td>Bo<td>4"
        "<tr><td colspan=2>Without trainees."
    )[2:] == [
        *("| North region |  |  |", "| Tor | 1 | North region |", "| Vik | 2 | North region |"),
        *("| Total | 3 |  |", "| South |  |  |", "| Isles |  |  |", "| Bo | 4 | South, Isles |"),
        "| Without trainees. |  |  |",
    ]


def test_titles_above_a_header_match_the_table():
    head = "<thead><tr><th colspan=2>Fees<tr><th colspan=2>2026<tr><th>Site<th>Fee</thead>"
    assert lines(f"{head}<tr><td>Vik<td>30<tr><td>Bo<td>20") == [
        *("Fees 2026", "", "| Site | Fee |", "| --- | --- |", "| Vik | 30 |", "| Bo | 20 |"),
    ]


def test_a_marked_name_alone_in_its_row_is_the_title_of_a_section():
    parts = [
        f"<tr><td><b>{part}</b><td><td><tr><td>{site}<td>1<td>2"
        for part, site in (("North", "Tor"), ("South", "Vik"))
    ]
    assert lines(f"<tr><th>Site<th>May<th>Jun{''.join(parts)}")[2:] == [
        *("| North |  |  |  |", "| Tor | 1 | 2 | North |"),
        *("| South |  |  |  |", "| Vik | 1 | 2 | South |"),
    ]


def test_a_cell_may_span_more_columns_than_there_are():
    rows = "<tr><th>Site<th>May<th>Jun<tr><td colspan=99>North<tr><td>Vik<td colspan=99>closed"
    assert lines(rows)[2:] == ["| North |  |  |  |", "| Vik | closed | closed | North |"]


def test_a_short_table_in_a_cell_is_a_part_of_its_row():
    hours = "<table><tr><th>Day<th>Hours<tr><td>Monday<td>8-12<tr><td>Tuesday<td>9-13</table>"
    assert lines(f"<tr><th>Site<th>Open<tr><td>Vik<td>{hours} by phone<tr><td>Bo<td>never")[2:] == [
        "| Vik | Day: Monday, Hours: 8-12; Day: Tuesday, Hours: 9-13 by phone |",
        "| Bo | never |",
    ]


def test_a_line_leads_into_a_table():
    page = "<p>Defaults:</p><table><tr><td>timeout</td><td>30</td></tr></table>"
    assert leads(load("a.html", page)) == [("table", "Defaults:")]


def test_rows_of_delimited_text_have_their_keys():
    document = load("a.csv", "no,name,note\n1,Ada,First. Second.\n2,,x|y\n")
    assert document.text == (
        "| no | name | note |\n| --- | --- | --- |\n| 1 | Ada | First. Second. |\n| 2 |  | x\\|y |"
    )
    assert [key for key, _ in rows(document)] == ["Ada", "x|y"]


def test_a_title_leads_into_the_table_below_it():
    document = load("a.csv", "2024,,\nSales report,,\nRegion,,Amount\nNorth,,120\n")
    assert document.text == (
        "2024\n\nSales report\n\n| Region | Amount |\n| --- | --- |\n| North | 120 |"
    )
    assert leads(document) == [("table", "Sales report")]


MARKDOWN = """Defaults are:

| Setting   | [Default](x) | Notes |
|-----------|:------------:|-------|
| `timeout` | 30 s         | How long. Then it ends. |
|           | 5            | |

After.
"""


def test_markdown_rows_have_their_columns_and_keys():
    document = load("a.md", MARKDOWN)
    assert leads(document) == [("table", "Defaults are:")]
    assert [label for _, label, _ in blocks(document, BlockKind.TABLE)] == [
        "Setting | Default | Notes"
    ]
    assert rows(document) == [
        ("timeout", "| timeout | 30 s | How long. Then it ends. |"),
        ("", "|  | 5 |  |"),
    ]


def test_markdown_with_bars_alone_is_no_table():
    assert rows(load("a.md", "| a | b |\n|---|---|\n")) == [("a", "| a | b |")]
    assert rows(load("a.md", "| a | b |\n| c | d |\n")) == []
    code = load("a.md", "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n")
    assert [kind for kind, _, _ in blocks(code)] == ["code"]


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
