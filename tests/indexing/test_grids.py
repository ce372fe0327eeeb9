"""Tables as files have them: where the header is, and what the values of a column are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.indexing.office_files import make_xlsx

from knotwork._extensions.formats.column_types import type_column
from knotwork._extensions.formats.grids import read_grids
from knotwork._indexing.loaders.loader import clean_text
from knotwork._indexing.loaders.loader_registry import load_document

CELLS = st.text(max_size=12)


def tables_of(name, data):
    document = load_document(data if isinstance(data, bytes) else data.encode(), uri=name)
    for table in document.tables:
        for row, span in zip(table.rows, table.spans, strict=True):
            line = document.text[span.start : span.end]
            assert "\n" not in line
            assert all(str(value) in line for value in row if isinstance(value, str) and value)
    return document.tables


@pytest.mark.parametrize(
    ("cells", "kind", "values"),
    [
        (["1", "2", ""], "integer", [1, 2, None]),
        (["1,234.50", "-3", "n/a"], "number", [1234.5, -3.0, None]),
        (["1.234,50", "3,5"], "number", [1234.5, 3.5]),
        (["1,234", "12,000"], "integer", [1234, 12000]),
        (["1 234", "5"], "integer", [1234, 5]),
        (["$1,200", "(300)", "−5"], "integer", [1200, -300, -5]),
        (["30 €", "1.299,50 €"], "number", [30.0, 1299.5]),
        (["12%", "7.5%"], "number", [12.0, 7.5]),
        (["1e3", "2.5"], "number", [1000.0, 2.5]),
        (["007", "12"], "text", ["007", "12"]),
        (["12", "pending"], "text", ["12", "pending"]),
        (["9" * 30, "1"], "number", [1e30, 1.0]),
        (["2023-01-05", "2023/2/6"], "date", ["2023-01-05", "2023-02-06"]),
        (["2023-01-05 09:30", "2023-01-06"], "date", ["2023-01-05 09:30", "2023-01-06"]),
        (["31/12/2023", "01/02/2023"], "date", ["2023-12-31", "2023-02-01"]),
        (["12/31/2023", "01/02/2023"], "date", ["2023-12-31", "2023-01-02"]),
        (["05.01.2023"], "date", ["2023-01-05"]),
        (["01/02/2023", "03/04/2023"], "text", ["01/02/2023", "03/04/2023"]),
        (["5 Jan 2023", "January 6, 2023"], "date", ["2023-01-05", "2023-01-06"]),
        (["2023年1月5日"], "date", ["2023-01-05"]),
        (["2023-02-30"], "text", ["2023-02-30"]),
        (["9" * 400, "1"], "text", ["9" * 400, "1"]),
        (["1e400", "1"], "text", ["1e400", "1"]),
        (["1.2.3", "1-2"], "text", ["1.2.3", "1-2"]),
        (["", "-"], "text", [None, None]),
    ],
)
def test_a_column_has_the_type_that_all_its_values_have(cells, kind, values):
    assert type_column(cells) == (kind, values)


@given(st.lists(CELLS, max_size=8))
def test_any_column_has_a_type_and_as_many_values(cells):
    kind, values = type_column([" ".join(cell.split()) for cell in cells])
    assert len(values) == len(cells)
    expected = {"integer": int, "number": float, "date": str, "text": str}[kind]
    assert all(value is None or type(value) is expected for value in values)


@given(st.lists(st.lists(CELLS, max_size=5), max_size=8))
def test_any_grid_keeps_all_rows_with_values(rows):
    grids = read_grids(enumerate(rows, start=1))
    kept = [row for grid in grids for row in (*grid.above, *(row for _, row in grid.rows))]
    kept += [grid.header for grid in grids if grid.header]
    said = [[clean_text(cell).strip() for cell in row] for row in rows]
    assert len(kept) == sum(map(any, said))


def test_a_header_may_stand_below_a_title():
    (table,) = tables_of(
        "report.csv", "Sales report\n\nNote,made in May\nRegion,,Amount,\nNorth,,120,\nSouth,,80,\n"
    )
    assert [column.label for column in table.columns] == ["Region", "Amount"]
    assert table.rows == (("North", 120), ("South", 80))
    assert table.numbers == (5, 6)


def test_rows_of_totals_are_no_data():
    (table,) = tables_of(
        "t.csv", "Region,Amount\nNorth,120\nSouth,80\nTotal,200\nGrand total,200\n"
    )
    assert table.rows == (("North", 120), ("South", 80))


def test_columns_of_one_name_are_distinguished():
    (table,) = tables_of("t.csv", "Name,Amount,Amount\nAda,1,2\nBob,3,4\n")
    assert [column.label for column in table.columns] == ["Name", "Amount", "Amount"]
    assert table.rows[1] == ("Bob", 3, 4)


def test_ragged_rows_are_filled():
    (table,) = tables_of("t.csv", "a,b\nx,1\ny\nz,3,extra\n")
    assert table.rows == (("x", 1, None), ("y", None, None), ("z", 3, "extra"))


@pytest.mark.parametrize("data", ["1,2\n3,4\n", "a,b\n", "only text\nmore text\n"])
def test_there_may_be_no_table(data):
    assert tables_of("t.csv", data) == ()


def test_each_sheet_is_a_table():
    staff = [["Staff"], [], ["Name", "Pay"], ["Ada", 3.5], ["Bob", 4]]
    data = make_xlsx({"Staff": staff, "Notes": [["only text"]], "Prices": [["A", "B"], ["x", 1]]})
    tables = tables_of("book.xlsx", data)
    assert [table.name for table in tables] == ["Staff", "Prices"]
    assert tables[0].rows == (("Ada", 3.5), ("Bob", 4.0))
    assert tables[0].numbers == (4, 5)
