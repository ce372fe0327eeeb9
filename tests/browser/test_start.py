"""The first minute: an empty server, files or the sample, a cited answer."""

import re

import pytest
from tests.browser.serving import run_server
from tests.browser.watching import PHONE, Visitor

from knotwork.demo import open_sample

REPORT = "# Survey report\n\nOriane Keld led the survey. The survey cost 1.94 million crowns.\n"
HERON = "# Heron\n\nThe Heron buoy is moored at Lake Ashmere since 2016.\n"


@pytest.fixture
def visitor(browser, tmp_path):
    """What opens pages of a server that has nothing yet."""
    with run_server(tmp_path) as at:
        opened = Visitor(browser, at)
        yield opened
        opened.leave()


def ask(page, question):
    """Write a question where the focus is, and wait for the first citation of its answer."""
    page.wait_for_function("() => document.activeElement.id === 'question'")
    page.keyboard.type(question)
    page.keyboard.press("Enter")
    answer = page.get_by_role("region", name="Answer")
    answer.get_by_role("button", name=re.compile("^Citation ")).first.wait_for()


def test_dropped_files_are_asked_about_without_a_click(visitor):
    visit = visitor.visit()
    page = visit.open("/")
    page.get_by_role("heading", level=1, name="Ask your own documents.").wait_for()
    visit.check_access()
    visit.drop({"survey-report_2024.md": REPORT, "heron.md": HERON})
    page.wait_for_url(re.compile("/ui/survey-report-2024-and-1-more/ask$"))
    page.get_by_role("button", name="Survey report 2024 and 1 more: rename").wait_for()
    visit.await_jobs("survey-report-2024-and-1-more")
    ask(page, "How much did the survey cost?")
    visit.check_access()


def test_a_workspace_is_named_by_what_was_taken(visitor):
    visit = visitor.visit()
    page = visit.open("/")
    program, torn = "\x7fELF\x02\x00\x00", "%PDF-1.7\nnothing follows"
    visit.drop({"program.exe": program, "empty.txt": " "})  # nothing of it is
    page.get_by_role("alert").get_by_text("The upload was rejected").wait_for()
    page.get_by_role("heading", level=1, name="Ask your own documents.").wait_for()
    assert visitor.call("GET", "/workspaces") == []
    page.locator(".sending").get_by_role("button", name="Close").click()
    visit.drop({"program.exe": program, "torn.pdf": torn, "heron.md": HERON})
    page.get_by_role("button", name="Heron: rename the workspace").wait_for()
    visit.await_jobs("torn-and-1-more")
    visitor.account.faults.clear()  # the browser logs the 422


def test_the_sample_is_one_click(visitor):
    visit = visitor.visit(size=PHONE, colours="dark")
    page = visit.open("/")
    visit.check_width()
    visit.check_access()
    with open_sample() as folder:
        files = sum(file.is_file() for file in folder.glob("[!_]*/*"))
    page.get_by_role("button", name=f"Try the sample ({files} files)").click()
    page.wait_for_url(re.compile("/ui/sample/ask$"))
    visit.await_jobs("sample")
    assert visitor.call("GET", "/workspaces/sample")["documents"] == files
    ask(page, "Who approves trips abroad?")
    page.goto(f"{visitor.address}/ui/?new=1")  # and a second time it is only opened
    page.get_by_role("button", name="Try the sample").click()
    page.wait_for_url(re.compile("/ui/sample/ask$"))
    assert [known["name"] for known in visitor.call("GET", "/workspaces")] == ["sample"]


def test_tabs_agree(visitor):
    visit = visitor.visit()
    page = visit.open("/")
    other = page.context.new_page()
    other.goto(f"{visitor.address}/ui/")
    other.get_by_role("heading", name="Ask your own documents.").wait_for()
    visit.drop({"heron.md": HERON})
    page.wait_for_url(re.compile("/ui/heron/ask$"))
    other.wait_for_url(re.compile("/ui/heron/ask$"))  # the only workspace is opened there, too
    visit.await_jobs("heron")
    page.bring_to_front()
    page.get_by_role("button", name="Heron: rename the workspace").click()
    page.get_by_role("textbox", name="Rename the workspace").fill("Birds")
    page.keyboard.press("Enter")
    other.get_by_role("button", name="Birds: rename the workspace").wait_for()
    other.get_by_role("navigation").get_by_role("link", name="Library").click()
    other.get_by_role("link", name="1 document", exact=True).wait_for()
    visit.drop({"report.md": REPORT})
    other.get_by_role("link", name="2 documents", exact=True).wait_for()
    visit.await_jobs("heron")


def test_an_empty_index_begins_in_the_same_way(browser, tmp_path):
    with run_server(tmp_path / "handbook.knot") as at:
        visitor = Visitor(browser, at)
        visit = visitor.visit(language="zh-CN")
        page = visit.open("/")
        page.get_by_role("heading", level=1, name="向您自己的文档提问。").wait_for()
        page.get_by_role("button", name="handbook：重命名工作区").wait_for()
        page.get_by_role("button", name="试用样例").click()
        page.wait_for_function("() => document.activeElement.id === 'question'")
        visit.await_jobs("default")
        assert visitor.call("GET", "/workspaces/default")["documents"] == 22
        visitor.leave()
