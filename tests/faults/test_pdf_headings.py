"""Short bold lines above the text of PDF pages are headings, in whatever size."""

import pytest

from .pdf_pages import make, text
from .small_files import read

TEXT = (
    "The harbour of Vik is open from seven in the morning until eight in the",
    "evening, and closed on Sundays and on the first of May each year.",
)


def headings(*lines, pitch=14):
    """Return the headings of a page of lines; one that begins with "*" is bold, "" is a gap."""
    page = [
        text((90 if line.startswith(" ") else 72, 720 - pitch * number, line.strip("* ")),
             font="FB" if line.startswith("*") else "F1")
        for number, line in enumerate(lines) if line
    ]  # fmt: skip
    found = read("a.pdf", make(" ".join(page))).text.split("\n")
    return [line.lstrip("# ") for line in found if line.startswith("#")]


@pytest.mark.parametrize("gap", [(), ("",)])
@pytest.mark.parametrize("title", ["Opening hours", "Crane loads:", "DUES", "Berth and mooring"])
def test_a_bold_line_above_text_is_a_heading(title, gap):
    assert headings(*TEXT, *gap, f"*{title}", *gap, *TEXT) == [title]


@pytest.mark.parametrize(
    "lines",
    [
        ("*Boats must leave by noon.", *TEXT),
        ("*The office is open until", "noon on Sundays, and on the feasts that the town keeps."),
        ("*Berth", " The place where a ship lies.", "*Quay", " The wall beside it.", "", *TEXT),
    ],
)
def test_bold_sentences_and_terms_are_no_headings(lines):
    assert headings(*TEXT, "", *lines) == []


def test_too_many_bold_lines_do_not_hide_a_large_heading():
    labels = [part for n in range(8) for part in (f"*Ship {n}", f"Heron {n}")]
    large = text((72, 750, "Ships of the harbour"), size=20)
    page = [text((72, 720 - 16 * n, line.strip("*")), font="FB" if "*" in line else "F1")
        for n, line in enumerate(labels)]  # fmt: skip
    found = read("a.pdf", make(f"{large} {' '.join(page)}")).text.split("\n")
    assert [line for line in found if line.startswith("#")] == ["# Ships of the harbour"]
