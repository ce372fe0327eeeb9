"""Pages of one form keep the lines that differ by a number only."""

import pytest

from .pdf_pages import make, text
from .small_files import read


def page_of(*lines, pitch=20):
    return text(*((72, 700 - pitch * number, line) for number, line in enumerate(lines)))


@pytest.mark.parametrize("pages", [2, 3, 4, 6])
@pytest.mark.parametrize("pitch", [14, 20, 30])
def test_pages_of_one_template_keep_their_lines(pages, pitch):
    numbers = range(1, pages + 1)
    sheets = [
        page_of(
            f"Pump P{n}",
            f"Pressure: {n * 7 + 13} bar",
            f"Flow: {n * 3} l/s",
            f"Weight: {n * 9} kg",
            pitch=pitch,
        )
        for n in numbers
    ]
    found = read("pumps.pdf", make(*sheets)).text
    for n in numbers:
        assert all(part in found for part in (f"Pump P{n}", f"{n * 7 + 13} bar", f"{n * 9} kg"))


@pytest.mark.parametrize("pages", [2, 3, 4, 6])
def test_bills_of_one_file_keep_their_numbers_and_amounts(pages):
    sheets = [
        page_of(
            "Harbour of Vik", f"Invoice 884{n}", f"Berth {n}, 12 nights", f"The fee is {n * 30}."
        )
        for n in range(1, pages + 1)
    ]
    found = read("bills.pdf", make(*sheets)).text
    for n in range(1, pages + 1):
        assert all(part in found for part in (f"Invoice 884{n}", f"The fee is {n * 30}."))
