"""The table of files: states, sorting, selection, details edited in place, what needs attention."""

import re

import pytest
from tests.browser.serving import SAMPLE_WORKSPACE
from tests.browser.watching import PHONE

LIBRARY = f"/{SAMPLE_WORKSPACE}/library"
PLAIN = "# {0}\n\nOriane Keld built the {0} station at Lake Ashmere in 2016.\n"
BROKEN = b"%PDF-1.4\n1 0 obj\nnothing follows\n%%EOF\n"


def send(page, files):
    """Choose files, each a name and its bytes."""
    parts = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in files.items()
    ]
    page.locator("input[type=file]").first.set_input_files(parts)


def table(page):
    return page.get_by_role("table", name="Files")


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_files_are_listed_sorted_found_and_opened(visitor, colours):
    visit = visitor.visit(colours=colours)
    page = visit.open(LIBRARY)
    files = table(page)
    files.get_by_role("row").nth(3).wait_for()
    assert files.get_by_text("Ready").count() > 3
    assert not re.search(r"uploads/", files.inner_text())
    files.get_by_role("columnheader", name="Passages").get_by_role("button").click()
    page.wait_for_url(re.compile("sort=-chunks"))
    files.locator('[aria-sort="descending"]').wait_for()
    visit.check_access()
    visit.check_width()
    page.get_by_label("Find by title or file name").fill("kestrel")
    page.wait_for_function("() => document.querySelectorAll('.file-row').length < 8")
    files.get_by_role("link", name="The Kestrel probe").click()
    page.get_by_role("heading", level=1, name="The Kestrel probe").wait_for()


def test_the_old_address_of_the_list_leads_to_the_files(visit):
    page = visit.page
    page.goto(f"{visit.visitor.address}/ui/{SAMPLE_WORKSPACE}/documents?name=kestrel")
    page.wait_for_url(re.compile(r"/library\?name=kestrel"))
    table(page).get_by_role("link", name="The Kestrel probe").wait_for()


def test_on_a_phone_the_table_has_titles_and_states(visitor):
    visit = visitor.visit(size=PHONE)
    page = visit.open(LIBRARY)
    table(page).get_by_role("row").nth(3).wait_for()
    visit.check_width()
    visit.check_access()


def test_details_are_edited_in_place_and_can_be_restored(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    send(page, {"heron.md": PLAIN.format("Heron").encode()})
    files = table(page)
    files.get_by_role("link", name="Heron").wait_for()
    files.get_by_role("button", name="Edit details of Heron").click()
    form = page.get_by_role("form", name="Edit details of Heron")
    form.get_by_label("Title").fill("The heron station")
    form.get_by_label("Tags").fill("birds, stations")
    form.get_by_label("Date").fill("soon")
    page.keyboard.press("Enter")
    form.get_by_role("alert").get_by_text("is not a date").wait_for()
    visit.visitor.account.faults.clear()  # the browser logs the 422
    visit.check_access()
    form.get_by_label("Date").fill("2016-05")
    page.keyboard.press("Enter")
    files.get_by_role("link", name="The heron station").wait_for()
    files.get_by_role("button", name="birds", exact=True).click()
    page.get_by_role("button", name="Tag: birds").wait_for()
    files.get_by_role("button", name="Edit details of The heron station").click()
    page.get_by_role("button", name="Use the file's own details").click()
    page.get_by_role("button", name="Tag: birds").click()
    files.get_by_role("link", name="Heron", exact=True).wait_for()


def test_files_that_were_not_taken_are_in_one_list_over_uploads_and_reloads(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    send(
        page,
        {
            "good.md": PLAIN.format("Kestrel").encode(),
            "no-program.md": b"\x7fELF\x02\x01\x01" + bytes(64),
            "broken.pdf": BROKEN,
        },
    )
    listed = page.locator("section", has=page.get_by_role("heading", name="Needs attention"))
    listed.get_by_text("no-program.md", exact=True).wait_for()
    listed.get_by_text("broken.pdf", exact=True).wait_for()
    assert listed.get_by_role("button", name="Try again").count() == 0
    assert "`" not in listed.inner_text()
    visit.check_access()
    page.reload()
    broken = listed.locator("li", has_text="broken.pdf")
    broken.wait_for()
    broken.locator("input[type=file]").set_input_files(
        [{"name": "mended.md", "mimeType": "text/plain", "buffer": PLAIN.format("Tern").encode()}]
    )
    table(page).get_by_role("link", name="Tern").wait_for()
    broken.wait_for(state="detached")
    listed.locator("li", has_text="no-program.md").get_by_role("button", name="Dismiss").click()
    listed.wait_for(state="detached")


def test_files_are_selected_limited_to_and_removed(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    names = ("Heron", "Tern", "Gull")
    send(page, {f"{name}.md": PLAIN.format(name).encode() for name in names})
    files = table(page)
    for name in names:
        files.get_by_role("link", name=name, exact=True).wait_for()
    files.get_by_label("Select all files").check()
    page.get_by_text("3 files selected").wait_for()
    files.get_by_label("Select Heron").uncheck()
    page.get_by_role("button", name="Remove").click()
    asking = page.get_by_role("dialog")
    asking.get_by_role("heading", name="Remove 2 files?").wait_for()
    visit.check_access()
    asking.get_by_role("button", name="Remove").click()
    files.get_by_role("link", name="Gull", exact=True).wait_for(state="detached")
    files.get_by_label("Select Heron").check()
    page.get_by_role("button", name="Limit questions to these").click()
    page.wait_for_url(re.compile(r"/ask"))


def test_errors_of_the_server_are_in_the_language_of_the_page(visitor, empty_workspace):
    visit = visitor.visit(language="zh-TW")
    page = visit.open(f"/{empty_workspace}/library")
    send(page, {"broken.pdf": BROKEN, "good.md": PLAIN.format("Tern").encode()})
    listed = page.locator("section", has=page.get_by_role("heading", name="需要處理"))
    listed.get_by_text("broken.pdf", exact=True).wait_for()
    listed.get_by_text("已損壞").first.wait_for()
    assert not re.search(r"[a-z]{4,} [a-z]{2,} [a-z]{2,}", listed.inner_text())
    assert page.locator("html").get_attribute("lang") == "zh-TW"
