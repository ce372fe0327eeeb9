"""The page of components: each in its states, in both colours."""

import pytest
from tests.browser.watching import DESK, PHONE


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_component_is_shown_and_can_be_used(visitor, colours, size):
    if colours == "dark":
        visitor.require_chromium("a system with dark colours")
    visit = visitor.visit(size=size, colours=colours)
    page = visit.page
    page.goto(f"{visitor.address}/ui/?components=1")
    page.get_by_role("heading", name="Components", level=1).wait_for()
    assert page.locator("html").get_attribute("data-theme") == colours
    visit.check_width()
    visit.check_access()

    main = page.get_by_role("main")
    main.get_by_role("button", name="Fails").click()
    page.get_by_text("It failed.").wait_for()
    assert main.get_by_role("button", name="Busy").get_attribute("aria-busy") == "true"

    main.get_by_role("combobox", name="Combobox").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert main.get_by_role("textbox", name="Text", exact=True).input_value() == "Pear"

    main.get_by_role("button", name="Menu").click()
    main.get_by_role("button", name="Plum").click()
    assert main.get_by_role("radio", name="Plum").is_checked()

    for name in ("Dialog", "Confirm"):
        main.get_by_role("button", name=name, exact=True).click()
        page.get_by_role("dialog").wait_for()
        visit.check_access()
        page.keyboard.press("Escape")
        page.get_by_role("dialog").wait_for(state="detached")
