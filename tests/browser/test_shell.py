"""The frame around the pages: keys, the palette, colours, language, workspaces."""

import gzip
import re

import pytest
from tests.browser.serving import SAMPLE_WORKSPACE
from tests.browser.watching import PHONE

LIBRARY = f"/{SAMPLE_WORKSPACE}/library"
SMALL_TARGETS = """() => [...document.querySelectorAll(
    'button, select, textarea, summary, a[href], input:not([type=checkbox], [type=radio])')]
    .filter(each => each.checkVisibility({visibilityProperty: true, opacityProperty: true})
        && !each.closest('p') && !each.matches('.only-spoken, .chip, .skip'))
    .map(each => [each, each.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0 && (box.height < 44 || box.width < 44))
    .map(([each, box]) => `${each.outerHTML.slice(0, 90)} ${box.width} x ${box.height}`)"""


def test_the_start_leads_to_a_workspace(visit):
    visit.page.goto(visit.visitor.address)
    visit.page.wait_for_url(re.compile(r"/ui/[\w-]+/ask$"))


def test_keys_lead_to_every_page_and_back_leads_back(visit):
    page = visit.open(LIBRARY)
    for key, name in [("g", "Graph"), ("a", "Workspace"), ("e", "Evaluation")]:
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.get_by_role("heading", level=1, name=name).wait_for()
        assert page.get_by_role("link", name=name).first.get_attribute("aria-current") == "page"
    page.go_back()
    page.get_by_role("heading", level=1, name="Workspace").wait_for()


def test_letters_that_are_typed_or_switched_off_are_no_keys(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask")
    field = page.get_by_role("main").get_by_role("textbox").first
    field.fill("")
    field.press_sequentially("g g")
    assert field.input_value() == "g g"
    page.keyboard.press("Escape")  # out of the field, and letters are keys again
    page.keyboard.press("?")
    page.get_by_role("dialog").get_by_text("Go to Graph").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Settings").click()
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
    link = page.get_by_role("navigation").get_by_role("link", name="Workspace")
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
    page.get_by_role("option", name="Oriane Keld Document").wait_for()
    page.get_by_role("option", name="Oriane Keld Person", exact=True).wait_for()
    visit.check_access()
    field.fill("heron")
    page.get_by_role("option", name="The Heron buoy Document").click()
    page.get_by_role("heading", level=1, name="The Heron buoy").wait_for()
    page.keyboard.press("Control+k")
    field.fill("evaluation")
    page.get_by_role("option", name="Evaluation").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", level=1, name="Evaluation").wait_for()
    assert page.get_by_role("dialog").count() == 0


def test_colours_and_language_stay_chosen(visit):
    page = visit.open(LIBRARY)
    page.get_by_role("button", name="Settings").click()
    page.get_by_text("Dark", exact=True).click()
    page.get_by_text("简体中文").click()
    page.get_by_text("在程序中使用").wait_for()
    visit.check_access()
    page.keyboard.press("Escape")
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
    page.wait_for_url(re.compile("/ask$"))
    visit.visitor.account.faults.clear()  # the browser logs the 404


def test_what_several_parts_report_is_shown_once(visit):
    page = visit.page
    broken = {"error": {"code": "internal_error", "message": "It broke.", "fix": ""}}
    pattern = re.compile(f"/api/v1/workspaces/{SAMPLE_WORKSPACE}($|/)")
    page.route(pattern, lambda route: route.fulfill(status=500, json={**broken, "request_id": ""}))
    visit.open(LIBRARY)
    page.get_by_role("alert").get_by_text("It broke.").wait_for()
    assert page.get_by_role("alert").count() == 1
    page.unroute(pattern)
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("link", name="22 documents").wait_for()
    page.get_by_role("alert").wait_for(state="hidden")
    visit.visitor.account.faults.clear()  # the browser logs what was answered with 500


def test_a_program_is_told_how_to_ask(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask")
    page.get_by_role("button", name="Settings").click()
    program = page.get_by_role("region", name="Use from your program")
    program.locator("dd code").first.wait_for()
    lines = program.locator("dd code").all_inner_texts()
    address = visit.visitor.address
    assert lines[0] == address
    assert f"{address}/api/v1/workspaces/{SAMPLE_WORKSPACE}/ask" in lines[1]
    assert f"{address}/api/v1/workspaces/{SAMPLE_WORKSPACE}/ask" in lines[2]
    assert f'base_url="{address}/v1"' in lines[3]
    assert program.get_by_role("link", name="All routes").get_attribute("href") == "/docs"
    visit.check_access()


@pytest.mark.parametrize("name", ["ask", "graph", "library", "evaluation"])
def test_on_a_phone_what_can_be_pressed_is_large(visitor, name):
    visit = visitor.visit(size=PHONE, has_touch=True)
    page = visit.open(f"/{SAMPLE_WORKSPACE}/{name}")
    page.wait_for_load_state("networkidle")
    assert page.evaluate(SMALL_TARGETS) == []
    visit.check_width()
