"""The frame around the pages: keys, the palette, colours, language, workspaces."""

import gzip
import re

from tests.browser.serving import SAMPLE_WORKSPACE

LIBRARY = f"/{SAMPLE_WORKSPACE}/library"


def test_the_start_leads_to_a_workspace(visit):
    visit.page.goto(visit.visitor.address)
    visit.page.wait_for_url(re.compile(r"/ui/[\w-]+/library$"))


def test_keys_lead_to_every_page_and_back_leads_back(visit):
    page = visit.open(LIBRARY)
    for key, name in [("g", "Graph"), ("a", "Ask"), ("e", "Evaluation")]:
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.get_by_role("heading", level=1, name=name).wait_for()
        assert page.get_by_role("link", name=name).first.get_attribute("aria-current") == "page"
    page.go_back()
    page.get_by_role("heading", level=1, name="Ask").wait_for()


def test_letters_that_are_typed_or_switched_off_are_no_keys(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask")
    field = page.get_by_role("main").get_by_role("textbox").first
    field.fill("")
    field.press_sequentially("g g")
    assert field.input_value() == "g g"
    page.get_by_role("heading", level=1, name="Ask").wait_for()
    page.keyboard.press("Escape")
    field.blur()
    page.keyboard.press("?")
    page.get_by_role("switch").uncheck()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="hidden")
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.keyboard.press("Control+k")  # this one is no letter, and comes after the others
    page.get_by_role("dialog").wait_for()
    assert page.url.endswith("/ask")


def test_the_first_tab_leads_past_the_navigation(visit):
    page = visit.open(LIBRARY)
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    assert skip.evaluate("each => each === document.activeElement")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"


def test_the_help_lists_keys_and_gives_the_focus_back(visit):
    page = visit.open(LIBRARY)
    link = page.get_by_role("navigation").get_by_role("link", name="Ask")
    link.focus()
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog")
    help_.get_by_text("Go to Graph").wait_for()
    visit.check_access()
    page.keyboard.press("Escape")
    help_.wait_for(state="hidden")
    assert link.evaluate("each => each === document.activeElement")


def test_the_palette_finds_pages_and_things_of_the_graph(visit):
    page = visit.open(LIBRARY)
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Find anything")
    field.fill("Oriane")
    page.get_by_role("option", name="Oriane Keld").wait_for()
    visit.check_access()
    field.fill("evaluation")
    page.get_by_role("option", name="Evaluation").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Evaluation").wait_for()
    assert page.get_by_role("dialog").count() == 0


def test_colours_and_language_stay_chosen(visit):
    page = visit.open(LIBRARY)
    page.get_by_role("button", name="Settings").click()
    page.get_by_text("Dark", exact=True).click()
    page.get_by_text("中文").click()
    page.get_by_role("heading", level=1, name="知识库").wait_for()
    page.reload()
    page.get_by_role("heading", level=1, name="知识库").wait_for()
    root = page.locator("html")
    assert (root.get_attribute("data-theme"), root.get_attribute("lang")) == ("dark", "zh-CN")


def test_the_first_page_loads_few_scripts(visit):
    sizes = {}

    def weigh(response):
        if response.request.resource_type == "script":
            sizes[response.url] = len(gzip.compress(response.body()))

    visit.page.on("response", weigh)
    page = visit.open(LIBRARY)
    page.wait_for_load_state("networkidle")
    assert sizes
    assert sum(sizes.values()) < 150_000, sizes


def test_a_workspace_that_is_not_there_is_reported_with_a_way_out(visit):
    page = visit.page
    page.goto(f"{visit.visitor.address}/ui/gone/graph")
    page.get_by_role("heading", name="Workspace “gone” not found").wait_for()
    visit.check_access()
    page.get_by_role("button", name=re.compile("Open ")).click()
    page.wait_for_url(re.compile("/library$"))
    visit.visitor.account.faults.clear()  # the browser logs the 404


def test_a_server_that_is_away_is_reported_and_tried_again(visit):
    page = visit.open(LIBRARY)
    page.context.set_offline(offline=True)
    page.get_by_role("navigation").get_by_role("link", name="Documents").click()
    page.get_by_text("The server cannot be reached.").first.wait_for()
    page.context.set_offline(offline=False)
    page.get_by_role("button", name="Try again").first.click()
    page.get_by_role("heading", level=1, name="Documents").wait_for()
    assert page.get_by_text("The server cannot be reached.").count() == 0
    visit.visitor.account.faults.clear()  # the browser logs every failed request
