"""Columns of PDF tables are named by all rows of their header."""

from itertools import pairwise

import pytest

from .pdf_pages import make, text
from .small_files import read

WIDTH = 5.4
"""Points of a character, about."""


def table(*header, rows=(), pitch=18, font="F1", y=700):
    """Return lines of (x, text); a cell whose x is negative is centred there."""
    found = []
    for number, row in enumerate([*header, *rows]):
        for x, cell in row:
            left = x if x > 0 else -x - len(cell) * WIDTH / 2
            kind = font if number < len(header) else "F1"
            found.append(text((left, y - pitch * number, cell), font=kind))
    return " ".join(found)


FIGURES = [
    [(72, f"C{n}"), (160, str(40 - n)), (240, str(20 - n)), (320, str(12 + n))] for n in range(5)
]
NAMES = ["Crane", "Load (t) Near", "Load (t) Far", "Reach"]
TOP = [(72, "Crane"), (-205, "Load (t)"), (320, "Reach")]


def first_line(content):
    return next(line for line in read("a.pdf", make(content)).text.split("\n") if "|" in line)


def named(*names):
    return f"| {' | '.join(names)} |"


@pytest.mark.parametrize("pitch", [14, 18, 26])
@pytest.mark.parametrize("font", ["F1", "FB"])
@pytest.mark.parametrize("place", [-205, 160])
def test_a_heading_spans_the_names_below_it(place, font, pitch):
    top = [(72, "Crane"), (place, "Load (t)"), (320, "Reach")]
    page = table(top, [(160, "Near"), (240, "Far")], rows=FIGURES, font=font, pitch=pitch)
    assert first_line(page) == named(*NAMES)


def test_headings_side_by_side_and_names_below():
    rows = [[*row, (400, str(n))] for n, row in enumerate(FIGURES)]
    below = [(72, "Crane"), (160, "Near"), (240, "Far"), (320, "Near"), (400, "Far")]
    page = table([(-205, "Load (t)"), (-365, "Reach (m)")], below, rows=rows)
    names = [f"{part} {side}" for part in ("Load (t)", "Reach (m)") for side in ("Near", "Far")]
    assert first_line(page) == named("Crane", *names)


def test_a_heading_above_three_names():
    rows = [[*row, (400, "open")] for row in FIGURES]
    below = [(160, "Day"), (240, "Week"), (320, "Year")]
    page = table([(72, "Crane"), (-250, "Fee"), (400, "Note")], below, rows=rows)
    assert first_line(page) == named("Crane", "Fee Day", "Fee Week", "Fee Year", "Note")


def test_names_at_half_the_height_of_a_heading():
    page = text((178, 709, "Load (t)"), (72, 700, "Crane"), (320, 700, "Reach"))
    page += text((160, 691, "Near"), (240, 691, "Far")) + table(rows=FIGURES, y=673)
    assert first_line(page) == named(*NAMES)


def test_lines_around_narrow_cells_part_them():
    """Chromium draws each edge of a cell, and sets the cells of a header 6 points apart."""
    across = [70, 110, 140, 168, 198, 226]
    rows = [("Ulm", "early", "late", "late", "early"), ("Vik", "noon", "late", "none", "noon")]
    found = [text((73, 689, "Place"), (118, 700, "Opens"), (176, 700, "Closes"), size=10)]
    below = ["", "Week", "Sun", "Week", "Sun"]
    for number, row in enumerate([below, *rows, *rows]):
        places = zip(across, row, strict=False)
        found.append(text(*((x + 3, 678 - 20 * number, cell) for x, cell in places), size=10))
    for number, x in enumerate(across):
        top = 692 if number in (2, 4) else 714
        found.append(f"0.5 w {x} {top} m {x} 592 l S")
    heights = [714, *(672 - 20 * number for number in range(5))]
    found += [f"0.5 w {a} {y} m {b} {y} l S" for y in heights for a, b in pairwise(across)]
    names = [f"{part} {day}" for part in ("Opens", "Closes") for day in ("Week", "Sun")]
    assert first_line(" ".join(found)) == named("Place", *names)


@pytest.mark.parametrize(
    "above", [[(-205, "Cranes of the port")], [(72, "The cranes lift these loads, in tonnes.")]]
)
def test_a_line_above_a_table_is_no_heading_of_its_columns(above):
    page = table(above, [(72, "Crane"), (160, "Near"), (240, "Far"), (320, "Reach")], rows=FIGURES)
    assert first_line(page) == named("Crane", "Near", "Far", "Reach")
