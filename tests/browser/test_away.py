"""The server goes away and comes back: every page stays, says so once, and goes on."""

import re
from urllib.parse import urlsplit

from tests.browser.serving import SAMPLE_WORKSPACE, fill_sample, run_server
from tests.browser.watching import Visitor

PAGES = ("ask", "graph", "library", "evaluation", "communities")
AWAY = "The server is away. Trying again…"


def test_every_page_stays_and_goes_on(browser, tmp_path):
    fill_sample(tmp_path / f"{SAMPLE_WORKSPACE}.knot")
    with run_server(tmp_path) as at:
        visitor = Visitor(browser, at)
        visits = [visitor.visit() for _ in PAGES]
        for visit, name in zip(visits, PAGES, strict=True):
            visit.open(f"/{SAMPLE_WORKSPACE}/{name}")
        first = visits[0].page
        first.get_by_role("textbox", name="Your question").fill("Who approves trips abroad?")
    for visit, name in zip(visits, PAGES, strict=True):
        page = visit.page
        page.get_by_text(AWAY).wait_for()
        page.locator("main h1").wait_for()
        assert page.get_by_role("alert").count() == 0
        # To a page whose code was never loaded.
        other = "Evaluation" if name != "evaluation" else "Graph"
        page.get_by_role("navigation").get_by_role("link", name=other).click()
        page.wait_for_url(re.compile(f"/{other.lower()}$"))
        assert page.get_by_text(AWAY).count() == 1
        page.go_back()
        page.locator("main h1").wait_for()
        page.wait_for_function("() => !document.querySelector('main .skeleton')")
    visits[0].check_access()
    box = first.get_by_role("textbox", name="Your question")
    first.keyboard.press("g")
    first.keyboard.press("e")
    (tmp_path / f"{SAMPLE_WORKSPACE}.files").mkdir(exist_ok=True)
    (tmp_path / f"{SAMPLE_WORKSPACE}.files" / "title").write_text("Renamed", encoding="utf-8")
    with run_server(tmp_path, port=urlsplit(at).port or 0):
        for visit in visits:
            visit.page.get_by_text(AWAY).wait_for(state="hidden")
            visit.page.get_by_role("button", name="Renamed: rename").wait_for()
            assert visit.page.get_by_role("alert").count() == 0
        first.get_by_role("heading", level=1, name="Evaluation").wait_for()
        first.get_by_role("button", name="New evaluation").first.wait_for()
        first.go_back()
        box.fill("Who approves trips abroad?")
        box.press("Enter")
        answer = first.get_by_role("region", name="Answer")
        answer.get_by_role("button", name=re.compile("^Citation ")).first.wait_for()
        visitor.account.faults.clear()  # the browser logs every failed request
        visitor.leave()


def test_an_upload_goes_on_when_the_server_is_back(browser, tmp_path):
    fill_sample(tmp_path / f"{SAMPLE_WORKSPACE}.knot")
    with run_server(tmp_path) as at:
        visitor = Visitor(browser, at)
        visit = visitor.visit()
        page = visit.open(f"/{SAMPLE_WORKSPACE}/library")
        page.get_by_role("link", name="22 documents").wait_for()
    visit.drop({"heron.md": "# Heron\n\nThe Heron buoy is moored at Lake Ashmere.\n"})
    page.get_by_text(AWAY).first.wait_for()
    with run_server(tmp_path, port=urlsplit(at).port or 0):
        page.get_by_text("1 file was added.").wait_for()
        page.get_by_role("link", name="23 documents").wait_for()
        visit.await_jobs(SAMPLE_WORKSPACE)
        visitor.account.faults.clear()  # the browser logs every failed request
        visitor.leave()


def test_a_job_is_followed_again_when_the_server_is_back(browser, tmp_path):
    fill_sample(tmp_path / f"{SAMPLE_WORKSPACE}.knot")
    with run_server(tmp_path) as at:
        visitor = Visitor(browser, at)
        visit = visitor.visit()
        page = visit.open(f"/{SAMPLE_WORKSPACE}/library")
        line = "Oriane Keld built the Heron {0} buoy at Lake Ashmere in {0} for Ilse Tarrant.\n\n"
        visit.drop({f"h{n}.md": "# Heron\n\n" + line.format(1900 + n) * 40 for n in range(30)})
        page.get_by_role("heading", name="Index uploads").wait_for()
    page.get_by_text(AWAY).wait_for()
    with run_server(tmp_path, port=urlsplit(at).port or 0):
        page.get_by_role("link", name="52 documents").wait_for()
        page.get_by_role("heading", name="Index uploads").wait_for(state="hidden")
        visit.await_jobs(SAMPLE_WORKSPACE)
        visitor.account.faults.clear()  # the browser logs every failed request
        visitor.leave()
