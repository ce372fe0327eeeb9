"""Names from documents and graphs are text: markup in them does nothing, on any page."""

import pytest
from tests.browser.serving import HOSTILE_NAME, HOSTILE_WORKSPACE

PAGES = (
    "library",
    "graph",
    "graph?view=table",
    "ask",
    "communities",
    "documents",
    "evaluation",
)


def check_harmless(page):
    """Fail if a name has become an element; dialogs and refused scripts are reported anyway."""
    assert page.locator("img[src='x'], svg[onload], a[href^='javascript:']").count() == 0
    assert page.evaluate("() => document.querySelectorAll('main script').length") == 0


@pytest.mark.parametrize("name", PAGES)
def test_on_every_page(visit, name):
    page = visit.open(f"/{HOSTILE_WORKSPACE}/{name}")
    page.wait_for_load_state("networkidle")
    check_harmless(page)


def test_in_a_document_and_in_what_came_from_it(visit):
    page = visit.open(f"/{HOSTILE_WORKSPACE}/documents")
    page.get_by_role("link", name=HOSTILE_NAME).first.click()
    page.get_by_role("heading", level=1, name=HOSTILE_NAME).wait_for()
    page.get_by_text("lies at Lake Ashmere").first.wait_for()
    page.get_by_role("button", name="Highlight entities").click()
    page.wait_for_load_state("networkidle")
    check_harmless(page)


def test_in_what_is_looked_up(visit):
    page = visit.open(f"/{HOSTILE_WORKSPACE}/library")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("<img src")
    page.get_by_role("option", name=HOSTILE_NAME).first.wait_for()
    check_harmless(page)
