"""The graph: communities first, things in them, what is around each, ways between two."""

import re

from tests.browser.serving import SAMPLE_WORKSPACE

PAGE = f"/{SAMPLE_WORKSPACE}/graph"


def find(page, name):
    """Go to a thing by its name, as a person types it."""
    field = page.get_by_role("combobox", name="Find an entity")
    field.fill(name)
    page.get_by_role("option", name=re.compile(f"^{name}\\b")).first.click()
    panel = page.get_by_role("heading", level=2, name=name, exact=True).or_(
        page.locator("aside h1, aside h2", has_text=name)
    )
    panel.first.wait_for()


def test_it_opens_on_communities_and_the_table_holds_the_same(visit):
    page = visit.open(PAGE)
    page.locator("canvas").first.wait_for()
    overview = visit.visitor.call("GET", f"/workspaces/{SAMPLE_WORKSPACE}/communities?limit=100")
    page.get_by_text(re.compile(r"^(\d+) of \1 communities, by size$")).first.wait_for()
    page.get_by_role("button", name="Show as table").click()
    page.get_by_role("table").first.wait_for()
    visit.check_access()
    assert overview["total"] >= page.get_by_role("table").first.get_by_role("row").count() - 1 > 0


def test_an_entity_is_found_with_marked_sources_and_appears_in_the_address(visit):
    page = visit.open(PAGE)
    page.keyboard.press("/")
    find(page, "Oriane Keld")
    page.wait_for_url(re.compile("focus="))
    page.locator(".source mark", has_text="Keld").first.wait_for()
    visit.check_access()
    page.reload()
    page.locator(".source mark", has_text="Keld").first.wait_for()
    page.get_by_role("link", name="Ilse Tarrant", exact=True).or_(
        page.get_by_role("button", name="Ilse Tarrant", exact=True)
    ).first.click()
    page.locator(".source mark", has_text="Tarrant").first.wait_for()
    page.go_back()
    page.locator(".source mark", has_text="Keld").first.wait_for()


def test_a_thing_leads_to_a_question_about_it(visit):
    page = visit.open(PAGE)
    find(page, "Oriane Keld")
    page.get_by_text("Ask about this").click()
    page.get_by_role("region", name="Answer").wait_for()
    assert "Oriane Keld" in page.get_by_role("textbox", name="Your question").input_value()


def test_ways_between_two_things_are_listed(visit):
    page = visit.open(PAGE)
    find(page, "The Kestrel probe")
    page.get_by_role("button", name="Path from here").click()
    page.get_by_role("combobox", name="To").fill("Tarnby")
    page.get_by_role("option", name="Tarnby").first.click()
    page.get_by_text(re.compile(r"^\d+ paths? found$")).first.wait_for()
    visit.check_access()


def test_the_keyboard_goes_in_and_out(visit):
    page = visit.open(PAGE)
    page.locator("canvas").first.wait_for()
    page.keyboard.press("t")
    page.get_by_role("table").first.wait_for()
    page.keyboard.press("t")
    page.get_by_role("table").first.wait_for(state="hidden")
