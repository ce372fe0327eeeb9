"""Documents: their text with what is cited, their structure, what came from them."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.browser.serving import BLOCKS_WORKSPACE, SAMPLE_WORKSPACE
from tests.browser.watching import shown_words

DOCUMENTS = f"/{SAMPLE_WORKSPACE}/documents"


def test_a_document_is_found_by_name_and_shows_what_came_from_it(visit):
    page = visit.open(DOCUMENTS)
    page.get_by_label("Find by title or file name").fill("kestrel")
    page.get_by_role("link", name="The Kestrel probe").click()
    page.get_by_role("heading", level=1, name="The Kestrel probe").wait_for()
    page.get_by_text("It was designed by Oriane Keld in 2016").wait_for()
    page.get_by_text("Extracted from this document").first.wait_for()
    visit.check_access()
    visit.check_width()


def test_things_are_underlined_and_lead_to_the_graph(visit):
    page = visit.open(DOCUMENTS)
    page.get_by_label("Find by title or file name").fill("kestrel")
    page.get_by_role("link", name="The Kestrel probe").click()
    page.get_by_role("button", name="Highlight entities").click()
    page.locator("a.thing", has_text="Oriane Keld").first.click()
    page.wait_for_url(re.compile(r"/graph\?focus="))


def test_the_address_of_a_citation_opens_the_document_at_the_passage(visit):
    found = visit.visitor.call(
        "POST", f"/workspaces/{SAMPLE_WORKSPACE}/ask", {"question": "海外出差由谁审批？"}
    )
    cited = found["citations"][0]
    start, end = cited["span"]
    address = f"/documents/{cited['document_id']}?ws={SAMPLE_WORKSPACE}&start={start}&end={end}"
    page = visit.open(address)
    marked = page.locator("mark")
    marked.first.wait_for()
    assert shown_words(" ".join(marked.all_inner_texts())) == shown_words(cited["quote"])
    assert marked.first.is_visible()


def test_a_passage_is_marked_by_its_id_alone(visit):
    listed = visit.visitor.call("GET", f"/workspaces/{SAMPLE_WORKSPACE}/documents?name=kestrel")
    document = listed["documents"][0]["id"]
    shown = visit.visitor.call("GET", f"/workspaces/{SAMPLE_WORKSPACE}/documents/{document}")
    passage = shown["chunks"][1]
    page = visit.open(f"{DOCUMENTS}?doc={document}&chunk={passage['id']}")
    page.locator("mark").first.wait_for()
    start, end = passage["span"]
    marked = " ".join(page.locator("mark").all_text_contents())
    assert shown_words(marked) == shown_words(shown["text"][start:end])


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_blocks_are_drawn_as_what_they_are_and_marked_whole(visitor, colours):
    visit = visitor.visit(colours=colours)
    page = visit.open(f"/{BLOCKS_WORKSPACE}/documents")
    page.get_by_role("link", name="Lock guide").click()
    text = page.locator(".document-text")
    text.get_by_role("heading", name="Lock guide").wait_for()
    assert text.locator("ol > li").count() == 2
    assert text.locator("ol > li > ul > li").all_inner_texts() == ["Wait for the lamp."]
    assert text.locator("pre code").inner_text().startswith("lockctl open")
    assert text.locator("th").all_inner_texts() == ["Length", "Fee"]
    assert text.locator("td").all_inner_texts() == ["8 m", "40", "16 m", "75"]
    assert text.locator("blockquote").inner_text() == "Never open both gates."
    assert not set(text.inner_text()) & set("#|`>")
    visit.check_access()
    document = parse_qs(urlsplit(page.url).query)["doc"][0]
    shown = visit.visitor.call("GET", f"/workspaces/{BLOCKS_WORKSPACE}/documents/{document}")
    for begins, ends in (("1. Sound", "gate.\n"), ("| Length", "75 |"), ("the horn", "horn")):
        start = shown["text"].index(begins)
        end = shown["text"].index(ends, start) + len(ends)
        page = visit.open(f"/{BLOCKS_WORKSPACE}/documents?doc={document}&start={start}&end={end}")
        page.locator("mark").first.wait_for()
        marked = " ".join(page.locator("mark").all_inner_texts())
        assert shown_words(marked) == shown_words(shown["text"][start:end])
    visit.check_access()
    visit.check_width()


def test_links_lead_to_the_place_they_name_and_back(visit):
    page = visit.open(f"/{BLOCKS_WORKSPACE}/documents")
    page.get_by_role("link", name="Harbour rules").click()
    page.get_by_role("button", name="Highlight entities").click()
    text = page.locator(".document-text")
    text.locator("a.thing", has_text="Oriane Keld").wait_for()
    link = text.get_by_role("link", name="the last steps of Oriane Keld", exact=True)
    assert link.get_attribute("title") == "Lock guide"
    visit.check_access()
    link.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Lock guide").first.wait_for()
    assert page.locator("mark").all_inner_texts() == ["After closing"]
    page.go_back()
    link.locator("mark").nth(1).wait_for()  # the entity within is marked by itself
    assert text.locator("mark").all_text_contents() == ["the last steps of ", "Oriane Keld"]


def test_a_document_lists_and_draws_its_links(visit):
    page = visit.open(f"/{BLOCKS_WORKSPACE}/documents")
    page.get_by_role("link", name="Lock guide").click()
    panel = page.locator(".contents")
    panel.get_by_role("button", name="Draw the links").click()
    drawing = page.get_by_role("figure", name="Draw the links")
    edge = "Harbour rules · the last steps of Oriane Keld · Lock guide"
    drawing.get_by_role("button", name=edge).wait_for(state="attached")
    visit.check_access()
    page.get_by_role("button", name="Close").click()
    panel.get_by_role("heading", name="Linked from").wait_for()
    panel.get_by_role("link", name="Harbour rules").click()
    page.get_by_role("heading", level=1, name="Harbour rules").first.wait_for()
    assert page.locator("mark").all_inner_texts() == ["the last steps of Oriane Keld"]
    panel.get_by_role("heading", name="Links to").wait_for()
    panel.get_by_role("link", name="Lock guide").wait_for()
    visit.check_width()


def test_a_document_that_is_not_there_is_reported_with_a_way_back(visit):
    page = visit.page
    page.goto(f"{visit.visitor.address}/ui{DOCUMENTS}?doc=0000000000000000")
    page.get_by_text("This document was removed").wait_for()
    page.wait_for_load_state("networkidle")  # a second request may still be on its way
    visit.visitor.account.faults.clear()  # the browser logs the 404 of each
    page.get_by_role("link", name="All documents").click()
    page.get_by_role("heading", level=1, name="Library").wait_for()
