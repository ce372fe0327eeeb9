"""Files on their way in: sent, followed, indexed."""

import re

from tests.browser.serving import run_server
from tests.browser.watching import Visitor

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


def test_files_dropped_on_any_page_are_taken_and_can_be_asked_about(visit, empty_workspace):
    visit.visitor.call("PATCH", f"/workspaces/{empty_workspace}", {"title": "Birds"})
    pages = ("library", "graph", "ask", "evaluation", "communities")
    for number, name in enumerate(pages, start=1):
        page = visit.open(f"/{empty_workspace}/{name}")
        visit.drop({f"{name}.md": PLAIN.format(f"Heron {number}")})
        page.get_by_text("1 file was added.").wait_for()
        shown = "library" if name == "library" else "ask"
        page.wait_for_url(re.compile(f"/ui/{empty_workspace}/{shown}$"))
        if shown == "ask":
            focused = "() => document.activeElement.id === 'question'"
            page.wait_for_function(focused)
        visit.await_jobs(empty_workspace)
    page = visit.open(f"/{empty_workspace}/library")
    page.get_by_role("link", name=f"{len(pages)} documents", exact=True).wait_for()


def test_files_that_the_server_does_not_take_are_named_on_any_page(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/graph")
    visit.drop({"heron.md": PLAIN.format("Heron"), "program.exe": "\x7fELF\x02\x00\x00"})
    page.get_by_text("Not added: program.exe.").wait_for()
    visit.await_jobs(empty_workspace)
    visit.drop({"program.exe": "\x7fELF\x02\x00\x00"})
    page.get_by_role("alert").get_by_text("The upload was rejected").wait_for()
    visit.check_access()
    page.locator(".sending").get_by_role("button", name="Close").click()
    page.get_by_role("alert").wait_for(state="hidden")
    visit.visitor.account.faults.clear()  # the browser logs the 422


def test_a_workspace_is_begun_renamed_and_removed(visit):
    page = visit.open("/demo/library")
    page.get_by_role("link", name="New workspace").click()
    page.get_by_role("heading", name="Ask your own documents.").wait_for()
    page.get_by_role("button", name="Begin with an empty workspace").click()
    page.wait_for_url(re.compile("/ui/new-workspace/ask"))
    page.get_by_role("button", name="New workspace: rename the workspace").click()
    page.get_by_role("textbox", name="Rename the workspace").fill("Reise / 北方 «2024»")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Reise / 北方 «2024»: rename the workspace").wait_for()
    page.get_by_role("navigation").get_by_role("link", name="Library").click()
    page.get_by_role("button", name="Delete Reise / 北方 «2024»").click()
    asking = page.get_by_role("dialog")
    visit.check_access()
    asking.get_by_role("button", name="Delete permanently").click()
    page.wait_for_url(re.compile(r"/ui/(?!new-workspace)[\w-]+/ask"))
    assert page.get_by_text("Reise").count() == 0 or page.get_by_text("was deleted").count() == 1


def upload(visit, workspace, files, *, index="true"):
    """Send files beside any page."""
    parts = [("files", (name, text.encode(), "text/plain")) for name, text in files.items()]
    request = visit.page.context.request
    address = f"{visit.visitor.address}/api/v1/workspaces/{workspace}/documents"
    for _, (name, body, kind) in parts:
        file = {"name": name, "mimeType": kind, "buffer": body}
        assert request.post(address, multipart={"index": index, "files": file}).ok


def test_files_of_one_name_are_all_kept(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    parts = [
        {"name": "notes.md", "mimeType": "text/markdown", "buffer": PLAIN.format(name).encode()}
        for name in ("Heron", "Skua", "Tern")
    ]
    page.locator("input[type=file]").first.set_input_files(parts)
    page.get_by_text("3 files were added.").wait_for()
    visit.await_jobs(empty_workspace)
    page.get_by_role("link", name="3 documents", exact=True).wait_for()
    page.get_by_text("notes (3).md").first.wait_for()


def test_what_was_not_read_is_said_and_gone_on_with(visit, empty_workspace):
    files = {f"{name}.md": PLAIN.format(name) for name in ("Heron", "Skua")}
    visit.open(f"/{empty_workspace}/graph")
    upload(visit, empty_workspace, files, index="false")
    page = visit.open(f"/{empty_workspace}/ask")
    page.get_by_role("heading", name="2 files have not been read yet.").wait_for()
    assert page.get_by_text("No documents yet").count() == 0
    visit.check_access()
    page.get_by_role("button", name="Continue").click()
    visit.await_jobs(empty_workspace)
    page.get_by_text("Ask in your own words").first.wait_for()
    assert page.get_by_role("button", name="Continue").count() == 0


def test_a_job_that_was_stopped_is_gone_on_with(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/library")
    with open_sample() as folder:
        files = [file for file in sorted(folder.rglob("*")) if file.is_file()][:10]
        page.locator("input[type=file]").first.set_input_files(files)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Index uploads: Cancelled.").wait_for()
    visit.check_access()
    page.get_by_role("button", name="Continue").first.click()
    page.get_by_role("heading", name="Index uploads").wait_for()
    visit.await_jobs(empty_workspace)
    page.get_by_role("link", name=f"{len(files)} documents").wait_for()
    page.get_by_text("Index uploads: Cancelled.").wait_for(state="detached")


def test_lists_of_other_tabs_follow_what_changes(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/graph")
    upload(visit, empty_workspace, {"heron.md": PLAIN.format("Heron")})
    visit.await_jobs(empty_workspace)
    page = visit.open(f"/{empty_workspace}/library")
    tabs = {}
    for name in ("library", "ask", "graph"):
        tabs[name] = page.context.new_page()
        visit.visitor.account.watch(tabs[name])
        tabs[name].goto(f"{visit.visitor.address}/ui/{empty_workspace}/{name}")
    tabs["library"].get_by_role("link", name="1 document", exact=True).wait_for()
    tabs["ask"].get_by_role("list", name="Sources").get_by_text("Heron").wait_for()
    tabs["graph"].get_by_role("button", name="Corrections").wait_for()
    visit.drop({"skua.md": PLAIN.format("Skua")})
    tabs["library"].get_by_role("link", name="2 documents", exact=True).wait_for()
    tabs["ask"].get_by_role("list", name="Sources").get_by_text("Skua").wait_for()
    page.get_by_role("button", name="Edit details of Skua").click()
    page.get_by_role("textbox", name="Title").fill("Sea birds")
    page.get_by_role("button", name="Save").click()
    tabs["ask"].get_by_role("list", name="Sources").get_by_text("Sea birds").wait_for()
    tabs["library"].get_by_text("Sea birds").wait_for()
    page.get_by_role("checkbox", name="Select Sea birds").check()
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    tabs["library"].get_by_role("link", name="1 document", exact=True).wait_for()
    tabs["ask"].get_by_text("Sea birds").wait_for(state="detached")
    visit.await_jobs(empty_workspace)
    tabs["graph"].get_by_role("button", name="Corrections").click()
    tabs["graph"].get_by_text("No corrections yet.").wait_for()
    page = visit.open(f"/{empty_workspace}/graph")
    page.get_by_role("combobox", name="Find an entity").fill("Oriane Keld")
    page.get_by_role("option", name=re.compile("^Oriane Keld")).first.click()
    page.get_by_role("button", name="Correct", exact=True).click()
    page.get_by_role("button", name="Pin", exact=True).click()
    tabs["graph"].get_by_text("Pin: Oriane Keld").wait_for()
    for tab in tabs.values():
        tab.close()


def test_a_folder_of_the_server_is_added_kept_in_step_and_removed(browser, tmp_path):
    served, shared = tmp_path / "served", tmp_path / "reports"
    for folder in (served, shared):
        folder.mkdir()
    (shared / "a.md").write_text(PLAIN.format("Heron"), encoding="utf-8")
    with run_server(served, allowed=shared) as at:
        visitor = Visitor(browser, at)
        visitor.call("POST", "/workspaces", {"name": "notes"})
        visit = visitor.visit()
        page = visit.open("/notes/ask")
        sources = page.get_by_role("list", name="Sources")
        page.get_by_role("button", name="Add the folder reports").click()
        page.get_by_text("Changes are added within seconds").wait_for()
        sources.get_by_text("Heron").wait_for()
        visit.check_access()
        (shared / "b.md").write_text(PLAIN.format("Rook"), encoding="utf-8")
        (shared / "a.md").unlink()
        page.wait_for_timeout(2_000)
        page.reload()
        sources.get_by_text("Rook").wait_for()
        sources.get_by_text("Heron").wait_for(state="hidden")
        page.get_by_role("button", name="Remove the folder reports").click()
        asking = page.get_by_role("dialog")
        asking.get_by_text("Its files stay on the server.").wait_for()
        asking.get_by_role("button", name="Remove").click()
        page.get_by_role("button", name="Add the folder reports").wait_for()
        sources.get_by_text("Rook").wait_for(state="hidden")
        assert (shared / "b.md").is_file()
        visitor.leave()
