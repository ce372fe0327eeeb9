"""Tables of PDF files that go on on the next page keep their columns and their rows."""

import pytest
from tests.faults.pdf_pages import make, text
from tests.faults.small_files import read

COLUMNS = (72, 140, 320)


def page_of(rows, *, ruled=False, right=False, bold=False, pitch=18):
    found = []
    for number, row in enumerate(rows):
        y = 740 - pitch * number
        for x, cell in zip(COLUMNS, row, strict=True):
            shift = 20 - 6 * len(cell) if right and cell.isdigit() else 0
            found.append(text((x + shift, y, cell), font="FB" if bold and not number else "F1"))
        if ruled:
            found.append(f"0.5 w 70 {y - 5} m 370 {y - 5} l S")
    return " ".join(found)


@pytest.mark.parametrize("ruled", [False, True])
@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    ("name", "first"),
    [("No.", "{}"), ("Pos", "{:03}"), ("Pos.", "{}."), ("Year", "19{:02}"), ("Code", "K{}")],
)
def test_the_first_column_may_count(name, first, right, ruled):
    rows = [(first.format(n), f"Ulm{n}", f"{3 + n / 10:.1f}") for n in range(1, 70)]
    header = (name, "Station", "Depth")
    options = {"right": right, "ruled": ruled}
    pages = page_of([header, *rows[:35]], **options), page_of(rows[35:], **options)
    lines = read("a.pdf", make(*pages)).text.split("\n")
    assert lines[0] == f"| {name} | Station | Depth |"
    assert lines[2:] == [f"| {' | '.join(row)} |" for row in rows]


@pytest.mark.parametrize("bold", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_a_row_that_is_divided_by_the_end_of_a_page(bold, repeated):
    header = ("Crane", "Place", "Load (t)")
    rows = [(f"C{n}", f"North quay {n}", f"{n}0") for n in range(1, 20)]
    first = [header, *rows, ("C20", "South quay, beside the", "200"), ("", "old house and", "")]
    rest = [("", "the fish hall", ""), *((f"C{n}", f"West {n}", f"{n}0") for n in range(21, 25))]
    second = page_of([header, *rest] if repeated else rest, bold=bold and repeated, pitch=15)
    lines = read("a.pdf", make(page_of(first, bold=bold, pitch=15), second)).text.split("\n")
    assert lines.count("| Crane | Place | Load (t) |") == 1
    assert "| C20 | South quay, beside the old house and the fish hall | 200 |" in lines
    assert lines[-1] == "| C24 | West 24 | 240 |"


CRANES = [("Crane", "Place", "Load (t)"), *((f"C{n}", f"North {n}", f"{n}0") for n in range(36))]


@pytest.mark.parametrize(
    "rows",
    [
        [("Ship", "Flag", "Length (m)"), *((f"Heron {n}", "Norway", f"{n}.5") for n in range(8))],
        [("Ship", "Flag", "Length"), ("Tern", "Oslo", "9.5"), ("Auk", "Riga", "8"), ("", "", "2")],
        [("Year", "Ships", "Boats"), *((str(1990 + n), str(n), str(9 * n)) for n in range(5))],
    ],
)
def test_another_table_with_as_many_columns_has_its_own_names(rows):
    lines = read("a.pdf", make(page_of(CRANES), page_of(rows))).text.split("\n")
    assert lines[lines.index(f"| {' | '.join(rows[0])} |") + 1] == "| --- | --- | --- |"


@pytest.mark.parametrize(
    "first", [("C37", "West", "closed"), ("Lift", "West", "closed"), ("Total", "", "4000")]
)
@pytest.mark.parametrize("note", ["", "Table 1 (continued)", "(cont'd)", "Tabelle 1 (Fortsetzung)"])
def test_rows_without_a_header_go_on(note, first):
    rows = [first, *((f"C{n}", f"North {n}", f"{n}0") for n in range(38, 45))]
    second = f"{text((72, 760, note)) if note else ''} {page_of(rows)}"
    lines = read("a.pdf", make(page_of(CRANES), second)).text.split("\n")
    assert lines[lines.index("| C35 | North 35 | 350 |") + 1] == f"| {' | '.join(first)} |"
