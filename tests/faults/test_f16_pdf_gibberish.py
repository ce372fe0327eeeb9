"""Codes of fonts without a mapping are no text, and watermarks are not part of it."""

import pytest
from tests.faults.pdf_pages import make, text
from tests.faults.small_files import read

from knotwork._extensions.media.text_recognition import RecognisedLine, RecognisedPage
from knotwork._extensions.pdf import pdf_pictures
from knotwork.errors import LoadError

LINES = [
    "The northern lock is closed from 3 May to 9 May.",
    "The harbour master is Ada Lind, whose office is at the old customs house.",
    "Boats longer than twelve metres register at the office near the quay.",
]


@pytest.fixture(autouse=True)
def _no_recognition(monkeypatch):
    monkeypatch.setattr(pdf_pictures, "is_available", lambda: False)


def unmapped(*lines, shift=29, y=700):
    """Return lines whose codes are numbers of glyphs, as those of a font of a browser are."""
    shown = []
    for number, line in enumerate(lines):
        codes = "".join(f"{ord(sign) - shift:04x}" for sign in line)
        shown.append(f"BT /FX 11 Tf 1 0 0 1 72 {y - 14 * number} Tm <{codes}> Tj ET")
    return " ".join(shown)


def test_a_gibberish_page_is_reported_and_not_indexed():
    good = text(*((72, 700 - 14 * n, line) for n, line in enumerate(LINES)))
    document = read("a.pdf", make(good, unmapped(*LINES), good, mapping=""))
    assert document.metadata["pages_without_text"] == "2"
    assert "northern" in document.text
    assert "QRUWKHUQ" not in document.text


def test_one_gibberish_font_of_a_page_is_left_out():
    good = text(*((72, 700 - 14 * n, line) for n, line in enumerate(LINES)))
    document = read("a.pdf", make(good + unmapped(LINES[2], y=600), mapping=""))
    assert document.metadata["pages_without_text"] == "1"
    assert " ".join(document.text.split()) == " ".join(LINES)


def test_a_file_of_gibberish_has_no_text():
    with pytest.raises(LoadError):
        read("a.pdf", make(unmapped(*LINES), mapping=""))


def test_codes_that_are_letters_need_no_mapping():
    document = read("a.pdf", make(unmapped(*LINES, shift=0), mapping=""))
    assert "pages_without_text" not in document.metadata
    assert "Ada Lind" in document.text


def test_bullets_and_formulas_are_no_gibberish():
    good = text(*((90, 700 - 14 * n, line) for n, line in enumerate(LINES)))
    bullets = " ".join(unmapped("7", y=700 - 14 * n) for n in range(3))
    document = read("a.pdf", make(good + bullets, mapping=""))
    assert "pages_without_text" not in document.metadata


WATERMARK = "q .8 g BT /FB 90 Tf .7 .7 -.7 .7 150 250 Tm (DRAFT) Tj ET Q "
LEVEL = "q .85 g BT /FB 90 Tf 1 0 0 1 100 670 Tm (DRAFT) Tj ET Q "
TILES = "".join(
    f"q .8 g BT /F1 14 Tf .7 .7 -.7 .7 {x} {y} Tm (Secret) Tj ET Q "
    for x in (100, 300)
    for y in (660, 690)
)


@pytest.mark.parametrize("mark", [WATERMARK, LEVEL, TILES])
@pytest.mark.parametrize("pages", [1, 3])
def test_watermarks_are_not_in_the_text(mark, pages):
    body = text(*((72, 700 - 14 * n, line) for n, line in enumerate(LINES)))
    own = [text((72, 500, f"Rule {n} is about the {n + 40} boats of pier {n}.")) for n in range(9)]
    drawn = [f"{mark}{body}{own[0]}", *(f"{body}{own[n]} {mark}" for n in range(1, pages))]
    document = read("rules.pdf", make(*drawn))
    assert "DRAFT" not in document.text + document.title
    assert "Secret" not in document.text
    assert " ".join(LINES) in " ".join(document.text.split())


def test_a_large_title_is_no_watermark():
    body = text(*((72, 600 - 14 * n, line) for n, line in enumerate(LINES)))
    title = "q .85 g BT /FB 40 Tf 1 0 0 1 72 680 Tm (Harbour rules) Tj ET Q "
    assert read("rules.pdf", make(title + body)).title == "Harbour rules"


PAGE = [(72, 760 - 14 * n, line) for n, line in enumerate(LINES * 12)]


def unordered(line, y):
    """Return a line whose codes are the order in which its characters come first."""
    codes = {sign: place for place, sign in enumerate(dict.fromkeys(line), 3)}
    return f"BT /FX 11 Tf 1 0 0 1 72 {y} Tm <{''.join(f'{codes[c]:04x}' for c in line)}> Tj ET"


@pytest.mark.parametrize(
    "bad",
    [
        unmapped(LINES[1], y=200),
        unmapped("Office hours: seven to nine", y=200),
        unmapped("Ada Lind", y=200) + unmapped("Total: 4,250 crowns", y=100),
        unordered(LINES[1], 200) + unordered(LINES[0], 100),
    ],
)
def test_a_line_of_codes_on_a_good_page_is_reported(bad):
    document = read("a.pdf", make(text(*PAGE) + bad, mapping=""))
    assert document.metadata["pages_without_text"] == "1"
    assert " ".join(document.text.split()) == " ".join(LINES * 12)


@pytest.mark.parametrize("line", ["RULES OF THE OFFICE", "Office hours: 7 to 9 (NYC)", "4,250.00"])
def test_a_line_of_letters_without_a_mapping_is_text(line):
    document = read("a.pdf", make(text(*PAGE) + unmapped(line, shift=0, y=200), mapping=""))
    assert "pages_without_text" not in document.metadata
    assert document.text.endswith(line)


@pytest.mark.parametrize("found", ["The harbour master is Ada Lind.", ""])
def test_only_lines_of_codes_are_recognised(monkeypatch, found):
    seen = []

    def recognise(picture):
        seen.append(picture.size)
        lines = [RecognisedLine(found, 0.0, 0.0, 100.0, 20.0, 0.0)] if found else []
        return RecognisedPage(lines, *picture.size)

    monkeypatch.setattr(pdf_pictures, "is_available", lambda: True)
    monkeypatch.setattr(pdf_pictures, "recognise", recognise)
    document = read("a.pdf", make(text(*PAGE) + unmapped(LINES[1], y=200), mapping=""))
    ((_, height),) = seen
    assert height < 100
    assert " ".join(document.text.split()) == " ".join([*LINES * 12, *filter(None, [found])])
    assert ("pages_without_text" in document.metadata) is not bool(found)
