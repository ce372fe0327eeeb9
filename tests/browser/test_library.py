"""Files on their way in: sent, followed, refused, set aside, tried again."""

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
    past = page.get_by_role("region", name="Past jobs").or_(page.locator(".job-list"))
    past.get_by_text("Finished").first.wait_for()
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


def test_unreadable_files_are_explained_and_tried_again(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    files = {
        "good.md": PLAIN.format("Kestrel").encode(),
        "no-program.md": b"\x7fELF\x02\x01\x01" + bytes(64),
        "broken.pdf": b"%PDF-1.4\n1 0 obj\nnothing follows\n%%EOF\n",
    }
    send(page, files)
    refused = page.locator("section", has=page.get_by_role("heading", name="Rejected"))
    refused.get_by_text("no-program.md", exact=True).wait_for()
    unread = page.locator("section", has=page.get_by_role("heading", name="Could not be read"))
    unread.get_by_text("broken.pdf").first.wait_for()
    visit.check_access()
    page.get_by_role("link", name="1 document", exact=True).wait_for()
    before = page.locator(".job-list li").count()
    unread.get_by_role("button", name="Try again").click()
    page.wait_for_function(
        "before => document.querySelectorAll('.job-list li').length > before", arg=before
    )
    unread.get_by_text("broken.pdf").first.wait_for()


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
