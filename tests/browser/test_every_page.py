"""Checks of every page, in both languages, both colours, and two sizes of the window."""

import pytest
from tests.browser.serving import SAMPLE_WORKSPACE
from tests.browser.watching import DESK, PHONE

PAGES = {
    "library": ("Library", "知识库"),
    "graph": ("Graph", "图谱"),
    "ask": ("Workspace", "工作区"),
    "evaluation": ("Evaluation", "评测"),
}


@pytest.mark.parametrize("name", PAGES)
def test_in_english_and_light_on_a_desk(visitor, name):
    visit = visitor.visit(size=DESK, language="en-GB", colours="light")
    page = visit.open(f"/{SAMPLE_WORKSPACE}/{name}")
    assert page.get_by_role("heading", level=1).inner_text() == PAGES[name][0]
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.title().startswith(PAGES[name][0])
    visit.check_width()
    visit.check_access()


@pytest.mark.parametrize("name", PAGES)
def test_in_chinese_and_dark_on_a_phone(visitor, name):
    visit = visitor.visit(size=PHONE, language="zh-CN", colours="dark", has_touch=True)
    page = visit.open(f"/{SAMPLE_WORKSPACE}/{name}")
    assert page.get_by_role("heading", level=1).inner_text() == PAGES[name][1]
    assert page.locator("html").get_attribute("lang") == "zh-CN"
    assert page.locator("html").get_attribute("data-theme") == "dark"
    visit.check_width()
    visit.check_access()


@pytest.mark.parametrize("name", PAGES)
def test_of_a_new_workspace_says_what_to_do_next(visitor, empty_workspace, name):
    visit = visitor.visit(size=PHONE, colours="dark")
    page = visit.open(f"/{empty_workspace}/{name}")
    main = page.get_by_role("main")
    assert len(main.inner_text()) > len(name) + 20
    assert main.get_by_role("alert").count() == 0
    visit.check_width()
    visit.check_access()
