"""The source of an answer: rendered as what it is, its pages, its sound, and the keyboard."""

from __future__ import annotations

import pytest
from tests.browser.serving import SAMPLE_WORKSPACE, SOURCES_WORKSPACE
from tests.browser.watching import PHONE, shown_words

CITED = f"/{SAMPLE_WORKSPACE}/ask?q=Who+designed+the+Kestrel+probe%3F"


def find(visit, name: str) -> tuple[str, dict]:
    """Return the address of a document's page, and the document."""
    base = f"/workspaces/{SOURCES_WORKSPACE}/documents"
    document = visit.visitor.call("GET", f"{base}?name={name}")["documents"][0]["id"]
    return f"/{SOURCES_WORKSPACE}/documents?doc={document}", visit.visitor.call(
        "GET", f"{base}/{document}"
    )


def open_at(visit, name: str, begins: str, ends: str) -> tuple:
    """Open a document at a passage; return the page, and the words that must be marked."""
    address, document = find(visit, name)
    text = document["text"]
    start = text.index(begins)
    end = text.index(ends, start) + len(ends)
    page = visit.open(f"{address}&start={start}&end={end}")
    return page, shown_words(text[start:end])


@pytest.mark.parametrize(
    ("name", "begins", "ends"),
    [
        ("manual.md", "the main", "before you"),
        ("manual.md", "open the lid", "| Seal | 40 |"),
        ("manual.md", "75", "pumpctl status"),
        ("book.html", "the main", "before you"),
        ("book.html", "the lid", "75"),
        ("report.docx", "the main", "before you"),
        ("report.docx", "the lid", "40"),
        ("costs.csv", "Price", "75"),
        ("sheet.xlsx", "Seal", "Lid"),
        ("house.pdf", "in 1921", "burnt down"),
    ],
)
def test_a_passage_is_marked_whole_over_borders_of_words_and_cells(visit, name, begins, ends):
    page, words = open_at(visit, name, begins, ends)
    page.locator("mark").first.wait_for()
    assert shown_words(" ".join(page.locator("mark").all_text_contents())) == words
    assert page.locator("mark").first.is_visible()


def test_words_look_as_they_do_in_the_file(visit):
    for name in ("manual.md", "book.html", "report.docx"):
        page = visit.open(find(visit, name)[0])
        text = page.locator(".document-text")
        text.locator("strong", has_text="main valve").first.wait_for()
        assert text.locator("em").all_inner_texts() == ["closed"]
        assert text.locator("table").count() == 1
        visit.check_access()
    page = visit.open(find(visit, "manual.md")[0])
    text = page.locator(".document-text")
    text.locator("p code", has_text="pumpctl drain --all").wait_for()
    assert text.locator("pre[data-language=sh]").count() == 1
    assert text.get_by_role("link").all_inner_texts() == ["the costs"]
    assert "elsewhere" in text.inner_text()
    assert not set(text.inner_text()) & set("#|`*")


def test_a_hostile_file_is_text_alone(visit):
    page, _ = open_at(visit, "evil.md", "row 2998", "2998")
    text = page.locator(".document-text")
    page.locator("mark").first.wait_for()
    text.get_by_text("row 12", exact=True).wait_for(state="attached")
    text.locator("strong", has_text="Click").wait_for(state="attached")
    assert text.locator("script, img, iframe, a, [onclick], [onerror]").count() == 0
    visit.check_width()


@pytest.mark.parametrize("size", [(1280, 800), PHONE])
def test_a_page_is_shown_as_it_is_printed_with_its_lines_marked(visitor, size):
    visit = visitor.visit(size=size)
    page, _ = open_at(visit, "house.pdf", "built in 1921", "red brick")
    page.get_by_text("Page", exact=True).click()
    picture = page.get_by_role("img", name="Page 2")
    picture.wait_for()
    lines = page.locator(".page[data-page='2'] mark")
    lines.nth(1).wait_for()
    assert lines.count() == 2
    page.get_by_text("p. 2 of 2").wait_for()
    around, marked = picture.bounding_box(), lines.nth(0).bounding_box()
    share = (marked["y"] - around["y"]) / around["height"]
    assert 0.06 < share < 0.11
    assert lines.first.is_visible()
    visit.check_access()
    visit.check_width()
    page.get_by_text("Text", exact=True).click()
    page.locator(".document-text mark").first.wait_for()


def test_pages_are_turned_and_enlarged_by_keys(visit):
    address, _ = find(visit, "house.pdf")
    page = visit.open(address)
    page.get_by_text("Page", exact=True).click()
    first = page.get_by_role("img", name="Page 1")
    first.wait_for()
    before = first.bounding_box()["width"]
    page.locator("[data-scroller]").focus()
    for key in ("PageDown", "PageDown", "PageDown"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
    page.get_by_role("img", name="Page 2").wait_for()
    page.get_by_text("p. 2 of 2").wait_for()
    page.keyboard.press("PageUp")
    page.keyboard.press("0")
    page.keyboard.press("+")
    page.get_by_text("125%").wait_for()
    assert page.locator("[data-page='1']").bounding_box()["width"] > 1.2 * before
    assert page.locator("[data-page='1'] img").bounding_box()["width"] > 1.2 * before
    page.keyboard.press("-")
    page.get_by_text("100%").wait_for()


def test_a_recording_plays_from_the_time_of_its_words(visit):
    address, document = find(visit, "talk.wav")
    assert document["original"] == "audio"
    page = visit.open(address)
    player = page.get_by_label("Recording")
    player.wait_for()
    page.wait_for_function("() => document.querySelector('audio').readyState > 0")
    page.get_by_role("button", name="Play from 0:00").first.click()
    page.wait_for_function("() => document.querySelector('audio').played.length > 0")
    start = document["text"].index("It has")
    page = visit.open(f"{address}&start={start}&end={start + 6}")
    page.wait_for_function("() => document.querySelector('audio').currentTime > 2")
    visit.check_access()


def test_the_reader_takes_the_focus_and_gives_it_back(visit):
    page = visit.open(CITED)
    chip = page.locator("button.chip").first
    chip.focus()
    page.keyboard.press("Enter")
    page.locator(".reader mark").first.wait_for()
    inside = "() => !!document.activeElement.closest('.reader')"
    page.wait_for_function(inside)
    page.keyboard.press("Escape")
    page.locator(".reader").wait_for(state="detached")
    page.wait_for_function("() => document.activeElement.matches('button.chip')")


def test_citations_are_stepped_through_by_keys_in_the_reader(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask?q=Which+buoy+was+lost+in+Storm+Ondine%3F")
    chips = page.locator("button.chip")
    chips.nth(1).wait_for()
    chips.first.click()
    page.locator(".reader mark").first.wait_for()
    for key, number in (("j", 2), ("k", 1)):
        page.keyboard.press(key)
        page.wait_for_url(f"**cite={number}**")
        page.locator(".reader mark").first.wait_for()
    visit.check_access()


def test_the_reader_shows_pages_too(visit):
    page = visit.open(f"/{SOURCES_WORKSPACE}/ask?q=When+was+the+pump+house+built%3F")
    page.get_by_role("button", name="Pump house").first.click()
    reader = page.locator(".reader")
    reader.get_by_text("house.pdf").wait_for()
    reader.get_by_text("Page", exact=True).click()
    reader.get_by_role("img", name="Page 2").wait_for()
    reader.locator(".page mark").first.wait_for()
    visit.check_access()
    page.keyboard.press("Escape")
    reader.wait_for(state="detached")


def test_the_outline_leads_to_a_heading_and_shows_where_one_is(visit):
    address, _ = find(visit, "manual.md")
    page = visit.open(address)
    outline = page.locator(".structure")
    outline.get_by_role("link", name="Pump manual").click()
    page.locator("mark").first.wait_for()
    assert outline.locator("[aria-current]").inner_text() == "Pump manual"
