"""Pictures on PDF pages that have text: their text stands between the paragraphs of their page."""

from itertools import pairwise

import pytest
from PIL import Image
from tests.indexing.loading import blocks, load
from tests.indexing.office_files import draw_page, make_pdf, printed, with_pictures

from knotwork._extensions.pdf import pdf_pictures
from knotwork._indexing.loaders.loader import UNREAD_PICTURES, can_recognise
from knotwork._indexing.loaders.loader_registry import describe, load_undescribed
from knotwork.records import BlockKind, Span

needs_extra = pytest.mark.skipif(not can_recognise(), reason="the extra `ocr` is not installed")
pytestmark = [pytest.mark.slow, needs_extra]

DRAWN = [
    (30, 40, "The relief valve opens at 7.5 bar."),
    (30, 90, "It is tested every 14 months."),
]
ABOVE = [printed("The boiler was built in 1998 and is fed by two pumps.", 720)]
BELOW = [
    printed("Figure 1: The relief valve of the boiler.", 380),
    printed("The stack of the boiler is 42 metres high, and it is brick.", 340),
]
PLACE = (72, 400, 336, 288)
BELOW_ALL = (72, 30, 336, 288)


def drawing(lines=DRAWN, size=(700, 600)):
    return draw_page(lines, size=size)


def order(document, *parts):
    places = [document.text.index(part) for part in parts]
    return all(one < other for one, other in pairwise(places))


def test_a_picture_precedes_the_paragraph_below_it_and_has_boxes():
    document = load("a.pdf", with_pictures(make_pdf([[*ABOVE, *BELOW]]), (0, drawing(), PLACE)))
    assert order(document, "two pumps", "opens at 7.5 bar.", "Figure 1:", "42 metres")
    ((_, label, figure),) = blocks(document, BlockKind.FIGURE)
    assert label == "Figure 1: The relief valve of the boiler."
    assert figure.endswith("every 14 months.")
    found = document.text.index("relief valve opens")
    box = document.box_of(Span(found, found + 12))
    assert box.page == "1"
    left, bottom, width, height = PLACE
    assert left / 612 - 0.01 <= box.left < box.right <= (left + width) / 612
    assert 1 - (bottom + height) / 792 - 0.01 <= box.top < box.bottom <= 1 - bottom / 792
    outside = document.text.index("The stack")
    assert document.box_of(Span(outside, outside + 9)) is None


def test_a_logo_of_all_pages_is_read_once_and_icons_and_backgrounds_are_not():
    logo = drawing([(30, 40, "Ostrand Boilers and Pumps Limited")])
    icon = drawing([(10, 10, "Stop here")], size=(240, 200))
    behind = drawing([(80, 900, "A background that nobody reads")], size=(1_000, 1_300))
    text = [
        [printed(f"Page {n} tells of the boilers and of all their pumps.", 500)] for n in (1, 2)
    ]
    pdf = with_pictures(
        make_pdf(text),
        (0, logo, (72, 520, 280, 240)), (1, logo, (72, 520, 280, 240)),
        (0, icon, (500, 100, 20, 16)), (1, behind, (0, 0, 612, 792)),
    )  # fmt: skip
    document = load("a.pdf", pdf)
    assert document.text.count("Ostrand Boilers") == 1
    assert "Stop here" not in document.text
    assert "nobody reads" not in document.text


def test_strips_of_one_picture_are_read_together():
    whole = drawing()
    strips = [whole.crop((0, top, 700, top + 150)) for top in range(0, 600, 150)]
    placed = [(0, strip, (72, 616 - 72 * number, 336, 72)) for number, strip in enumerate(strips)]
    document = load("a.pdf", with_pictures(make_pdf([[*ABOVE, *BELOW]]), *placed))
    assert "The relief valve opens at 7.5 bar." in document.text
    assert "It is tested every 14 months." in document.text


def test_a_paragraph_that_goes_on_with_the_next_page_is_not_parted():
    first = [
        printed("The boiler was built in 1998.", 700),
        printed("Its pumps were bought in the same year, and they", 90),
    ]
    second = [printed("were overhauled in 2007 by the maker of the boiler.", 720)]
    document = load("a.pdf", with_pictures(make_pdf([first, second]), (0, drawing(), PLACE)))
    assert order(document, "built in 1998.", "opens at 7.5 bar.", "in the same year")
    assert "and they were overhauled" in document.text
    assert document.page_at(document.text.index("7.5 bar")) == "1"


def test_a_page_with_little_but_a_picture_keeps_its_place(monkeypatch):
    monkeypatch.setattr(pdf_pictures, "_DPI", 100)  # the whole page is read
    pages = [ABOVE, [printed("7", 30)], BELOW]
    document = load("a.pdf", with_pictures(make_pdf(pages), (1, drawing(), PLACE)))
    assert document.page_at(document.text.index("7.5 bar")) == "2"
    assert order(document, "two pumps", "7.5 bar", "Figure 1:")


def test_a_turned_page_keeps_its_text_without_its_pictures():
    pdf = with_pictures(make_pdf([[*ABOVE, *BELOW]]), (0, drawing(), PLACE), turned=90)
    assert "two pumps" in load("a.pdf", pdf).text


def test_without_the_extra_pictures_are_counted_once_each(monkeypatch):
    monkeypatch.setattr(pdf_pictures, "can_recognise", lambda: False)
    other = drawing([(30, 40, "Another text.")])
    pages = make_pdf([[*ABOVE, *BELOW], ABOVE])
    document = load(
        "a.pdf",
        with_pictures(pages, (0, drawing(), PLACE), (1, drawing(), PLACE), (1, other, BELOW_ALL)),
    )
    assert document.metadata[UNREAD_PICTURES] == "2"


def test_pictures_beyond_the_limit_are_counted(monkeypatch):
    monkeypatch.setattr(pdf_pictures, "MOST_PICTURES", 1)
    other = drawing([(30, 40, "Another text.")])
    pdf = with_pictures(make_pdf([[*ABOVE, *BELOW]]), (0, drawing(), PLACE), (0, other, BELOW_ALL))
    document = load("a.pdf", pdf)
    assert document.metadata[UNREAD_PICTURES] == "1"
    assert "7.5 bar" in document.text
    assert "Another" not in document.text


def test_a_description_has_the_box_of_its_picture(tmp_path):
    photo = Image.effect_noise((600, 400), 80).convert("RGB")
    pdf = with_pictures(make_pdf([[*ABOVE, *BELOW]]), (0, photo, PLACE))
    (tmp_path / "a.pdf").write_bytes(pdf)
    found = load_undescribed(tmp_path / "a.pdf", uri="a.pdf")
    (picture,) = found.pictures
    assert "two pumps" in picture.context
    document = describe(found.rest, {picture.key: "A photo of a brick stack."})
    found = document.text.index("A photo of a brick stack.")
    assert order(document, "two pumps", "A photo of", "Figure 1:")
    box = document.box_of(Span(found, found + 25))
    left, bottom, width, height = PLACE
    assert (box.left, box.right) == pytest.approx((left / 612, (left + width) / 612), abs=0.001)
    assert box.top == pytest.approx(1 - (bottom + height) / 792, abs=0.001)
