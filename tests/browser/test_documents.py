"""Documents: their text with what is cited, their structure, what came from them."""

import re

from tests.browser.serving import SAMPLE_WORKSPACE

DOCUMENTS = f"/{SAMPLE_WORKSPACE}/documents"


def test_a_document_is_found_by_name_and_shows_what_came_from_it(visit):
    page = visit.open(DOCUMENTS)
    page.get_by_label("Filter by file name").fill("kestrel")
    page.get_by_role("link", name="The Kestrel probe").click()
    page.get_by_role("heading", level=1, name="The Kestrel probe").wait_for()
    page.get_by_text("It was designed by Oriane Keld in 2016").wait_for()
    page.get_by_text("Extracted from this document").first.wait_for()
    visit.check_access()
    visit.check_width()


def test_things_are_underlined_and_lead_to_the_graph(visit):
    page = visit.open(DOCUMENTS)
    page.get_by_label("Filter by file name").fill("kestrel")
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
    assert "".join(marked.all_inner_texts()) == cited["quote"]
    assert marked.first.is_visible()


def test_a_passage_is_marked_by_its_id_alone(visit):
    listed = visit.visitor.call("GET", f"/workspaces/{SAMPLE_WORKSPACE}/documents?name=kestrel")
    document = listed["documents"][0]["id"]
    shown = visit.visitor.call("GET", f"/workspaces/{SAMPLE_WORKSPACE}/documents/{document}")
    passage = shown["chunks"][1]
    page = visit.open(f"{DOCUMENTS}?doc={document}&chunk={passage['id']}")
    page.locator("mark").first.wait_for()
    start, end = passage["span"]
    marked = "".join(page.locator("mark").all_text_contents())
    assert marked.split() == shown["text"][start:end].split()


def test_a_document_that_is_not_there_is_said_with_a_way_back(visit):
    page = visit.page
    page.goto(f"{visit.visitor.address}/ui{DOCUMENTS}?doc=0000000000000000")
    page.get_by_role("alert").wait_for()
    page.wait_for_load_state("networkidle")  # a second request may still be on its way
    visit.visitor.account.faults.clear()  # the browser logs the 404 of each
    page.get_by_role("link", name="All documents").click()
    page.get_by_role("heading", level=1, name="Documents").wait_for()
