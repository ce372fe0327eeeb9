"""Files on their way in: sent, followed, indexed."""

import base64
import re

from knotwork.demo import open_sample

PLAIN = "# {0}\n\nOriane Keld built the {0} station at Lake Ashmere in 2016.\n"


def send(page, files):
    """Choose files, each a name and a text."""
    parts = [
        {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        for name, content in files.items()
    ]
    page.locator("input[type=file]").first.set_input_files(parts)


def test_documents_are_sent_followed_and_then_there(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    with open_sample() as folder:
        files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
        page.locator("input[type=file]").first.set_input_files(files)
    running = page.get_by_role("heading", name="Index uploads")
    running.wait_for()
    page.get_by_role("progressbar").first.wait_for()
    page.get_by_text("You can already search").or_(running).first.wait_for()
    running.wait_for(state="hidden")
    page.get_by_role("link", name=f"{len(files)} documents").wait_for()
    page.get_by_text("Past jobs").click()
    page.locator(".job-list").get_by_text("Finished").first.wait_for()
    visit.check_access()
    page.get_by_role("searchbox", name="Search passages").fill("Who approves trips abroad?")
    page.keyboard.press("Enter")
    page.get_by_text("travel-policy").or_(page.get_by_text("Travel Office")).first.wait_for()


def test_files_dropped_on_the_page_are_taken(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    page.get_by_role("region", name="Add files").wait_for()
    content = base64.b64encode(PLAIN.format("Heron").encode()).decode()
    carried = page.evaluate_handle(
        """text => {
            const carried = new DataTransfer();
            carried.items.add(new File([atob(text)], "heron.md"));
            return carried;
        }""",
        content,
    )
    main = page.get_by_role("main")
    main.dispatch_event("dragenter", {"dataTransfer": carried})
    page.get_by_text("Drop to add the files").wait_for()
    main.dispatch_event("drop", {"dataTransfer": carried})
    page.get_by_role("link", name="1 document", exact=True).wait_for()


def test_a_workspace_is_made_and_removed_by_hand(visit):
    page = visit.open("/demo/library")
    page.get_by_role("textbox", name="New workspace").fill("by-hand")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/ui/by-hand/library"))
    page.get_by_role("button", name="Delete by-hand").click()
    asking = page.get_by_role("dialog")
    visit.check_access()
    asking.get_by_role("button", name="Delete permanently").click()
    page.wait_for_url(re.compile(r"/ui/(?!by-hand)[\w-]+/library"))
    assert page.get_by_role("button", name="Delete by-hand").count() == 0
