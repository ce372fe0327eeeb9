"""Raised and lowered figures of PDF pages do not change the word or number before them."""

import pytest
from tests.faults.pdf_pages import make
from tests.faults.small_files import ask, read
from tests.indexing.office_files import escaped


def line(*parts, y=700, size=11):
    """Return a line of texts, and of (text, rise, size) for raised and lowered ones."""
    shown = [(part, 0, size) if isinstance(part, str) else part for part in parts]
    runs = " ".join(f"/F1 {large} Tf {rise} Ts ({escaped(t)}) Tj" for t, rise, large in shown)
    return f"BT 1 0 0 1 72 {y} Tm {runs} 0 Ts ET"


@pytest.mark.parametrize(
    ("parts", "right"),
    [
        (("The fee is 30", ("1", 4, 7), " crowns."), "The fee is 30 [^1] crowns."),
        (("It holds 2", ("10", 4, 7), " pallets."), "It holds 2^10 pallets."),
        (("It needs 3 x 10", ("5", 4, 7), " litres."), "It needs 3 x 10^5 litres."),
        (("It lifts 40 tonnes", ("2", 4, 7), " at most."), "It lifts 40 tonnes [^2] at most."),
        (("The fee is 30", ("1", 5, 11), " crowns."), "The fee is 30 [^1] crowns."),
        (("An area of 12 m", ("2", 4, 7), " is let."), "An area of 12 m² is let."),
        (("The 4", ("th", 4, 7), " berth is let."), "The 4th berth is let."),
        (("Store H", ("2", -2, 7), "O in tanks."), "Store H2O in tanks."),
        ((("1", 4, 6), "Only with the short boom."), "[^1]Only with the short boom."),
    ],
)
def test_raised_and_lowered_figures(parts, right):
    assert read("a.pdf", make(line(*parts))).text == right


def test_the_fee_is_not_changed_by_a_note(tmp_path):
    page = line("The winter fee for a berth is 30", ("1", 4, 7), " crowns.")
    page += line(("1", 3, 5), " Payable in advance.", y=80, size=8)
    (answer,) = ask(tmp_path, {"fee.pdf": make(page)}, "What is the winter fee for a berth?")
    assert "301" not in answer
    assert "30" in answer


def test_a_raised_figure_in_a_table():
    rows = [("Crane", "Load", "Reach"), ("C1", "40", "12"), ("C2", "25", "9"), ("C3", "18", "7")]
    page = ""
    for number, row in enumerate(rows):
        for x, cell in zip((72, 172, 272), row, strict=True):
            page += f" BT /F1 11 Tf 1 0 0 1 {x} {700 - 20 * number} Tm ({cell}) Tj "
            page += "/F1 7 Tf 4 Ts (2) Tj 0 Ts ET" if cell == "25" else "ET"
    assert "| C2 | 25 [^2] | 9 |" in read("a.pdf", make(page)).text
