"""Pages as pictures: which characters of a page are those of a passage."""

from __future__ import annotations

import pytest

from knotwork._extensions.pdf.page_images import find_parts

PAGE = "thekeelofthebuoywaslaidin2019thesternwasfoundonthesands"


def found(page: str, text: str, part: str) -> list[str]:
    start = text.index(part)
    parts = find_parts(page, text, start, start + len(part))
    return [page[a:b] for a, b in parts]


def test_a_passage_is_found_whole():
    assert found(PAGE, PAGE, "buoywaslaidin2019") == ["buoywaslaidin2019"]


def test_parts_in_another_order_are_found_each():
    text = "thesternwasfoundonthesands" + "thekeelofthebuoywaslaidin2019"
    assert found(PAGE, text, text) == [text[:26], text[26:]]


def test_what_is_not_on_the_page_is_left_out():
    text = "thekeelofthebuoy" + "zzzzzzzzzzzzzzzzzz" + "thesternwasfound"
    assert found(PAGE, text, text) == ["thekeelofthebuoy", "thesternwasfound"]


@pytest.mark.parametrize(("part", "place"), [("900", 3), ("7", 9)])
def test_short_cells_are_found_by_what_is_around_them(part, place):
    page = "xx9900yy97shiptime900crownsfuel70crowns"
    text = "shiptime900crownsfuel70crowns"
    start = text.index(part)
    ((begin, end),) = find_parts(page, text, start, start + len(part))
    assert page[begin:end] == part
    assert begin >= page.index("shiptime")


def test_of_two_places_the_one_with_the_same_text_around_is_taken():
    page = "annwasbornintarnbyandlivesthere" + "boblivesthere"
    text = page
    start = text.rindex("livesthere")
    assert find_parts(page, text, start, start + 10) == [(start, start + 10)]


def test_a_single_letter_is_not_found_anywhere():
    assert find_parts(PAGE, "qqqqaqqqq", 4, 5) == []
