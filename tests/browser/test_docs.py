"""The page at /docs: every route of the server, without a foreign request."""

import re
import shlex

import pytest
from tests.browser.serving import fill_sample, run_server
from tests.browser.watching import DESK, PHONE, Visitor

from knotwork._extensions.server.keys import KeyFile, KeyRole, keys_beside

ASK = "/api/v1/workspaces/{workspace}/ask"


def open_docs(visit, rest=""):
    visit.page.goto(f"{visit.visitor.address}/docs{rest}")
    visit.page.get_by_role("heading", level=1, name="Knotwork").wait_for()
    return visit.page


def route(page, name):
    return page.locator(f"details#{name}")


@pytest.mark.parametrize(
    ("size", "language", "colours", "responses"),
    [(DESK, "en-GB", "light", "Responses"), (PHONE, "zh-CN", "dark", "响应")],
)
def test_a_route_is_found_and_opened(visitor, size, language, colours, responses):
    visit = visitor.visit(size=size, language=language, colours=colours)
    page = open_docs(visit)
    assert page.locator("html").get_attribute("lang") == language.replace("en-GB", "en")
    assert page.locator("details").count() > 60
    page.get_by_role("searchbox").fill("post answer question stream")
    shown = [one for one in page.locator("summary").all() if one.is_visible()]
    assert 1 <= len(shown) <= 4
    shown[0].click()
    opened = route(page, "stream_answer")
    opened.get_by_role("heading", name=responses).wait_for()
    assert opened.get_by_text("retriever", exact=True).count() == 1
    assert "`" not in page.locator("body").inner_text()
    visit.check_width()
    visit.check_access()


def test_every_route_shows_its_parameters_body_responses_and_curl(visit):
    page = open_docs(visit)
    document = page.evaluate("() => fetch('/api/v1/openapi.json').then(reply => reply.json())")
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    page.wait_for_function(
        "() => [...document.querySelectorAll('details')].every(one => one.querySelector('pre'))"
    )
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            opened = route(page, operation["operationId"])
            text = opened.inner_text()
            assert path in text
            for parameter in operation.get("parameters", []):
                assert f"{parameter['name']} ({parameter['in']})" in text
            assert set(operation["responses"]) <= set(opened.locator("b").all_inner_texts())
            words = shlex.split(opened.locator("pre").inner_text().replace("\\\n", " "))
            assert words[0] == "curl"
            assert ("-X" in words) == (method != "get")
            assert not any("{" in word for word in words if word.startswith("http")), words


def test_a_curl_line_is_copied_and_works_as_it_is(visit):
    visit.allow_clipboard()
    page = open_docs(visit, "#ask_question")
    opened = route(page, "ask_question")
    opened.get_by_role("button", name="Copy").click()
    opened.get_by_role("button", name="Copied").wait_for()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    words = shlex.split(copied.replace("\\\n", " "))
    address = f"{visit.visitor.address}{ASK.replace('{workspace}', 'default')}"
    assert words[:4] == ["curl", "-X", "POST", address]
    assert words[4:] == ["-H", "Content-Type: application/json", "-d", '{"question":"QUESTION"}']


def test_the_colours_and_the_language_of_the_pages_are_kept(visit):
    page = open_docs(visit)
    page.evaluate("() => localStorage.setItem('knotwork.theme', 'dark')")
    page.evaluate("() => localStorage.setItem('knotwork.language', 'zh')")
    page.reload()
    page.get_by_placeholder("查找接口").wait_for()
    assert page.evaluate("() => getComputedStyle(document.documentElement).colorScheme") == "dark"
    visit.check_access()


def test_its_own_words_are_in_the_language_of_the_pages(visitor):
    for language, heading, place in (("zh-CN", "图谱", "路径"), ("zh-TW", "圖譜", "路徑")):
        visit = visitor.visit(language=language)
        page = open_docs(visit)
        assert page.locator("html").get_attribute("lang") == language
        page.get_by_role("heading", level=2, name=heading).wait_for()
        headings = page.get_by_role("heading", level=2).all_inner_texts()
        assert all(re.search("[\u4e00-\u9fff]", text) for text in headings), headings
        opened = route(page, "show_document")
        opened.locator("summary").click()
        opened.get_by_text(f"workspace ({place})").wait_for()


def test_a_server_with_keys_asks_for_one_once(browser, tmp_path):
    fill_sample(tmp_path / "demo.knot")
    _, key = KeyFile(keys_beside(tmp_path)).add("r", role=KeyRole.READ, workspaces=("demo",))
    with run_server(tmp_path) as address:
        visitor = Visitor(browser, address)
        visit = visitor.visit()
        page = visit.page
        page.goto(f"{address}/docs")
        page.get_by_text("This server needs a key.").wait_for()
        visit.check_access()
        page.get_by_label("Key").fill("wrong")
        page.keyboard.press("Enter")
        page.get_by_text("Unknown key.").wait_for()
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Use key").click()
        page.get_by_role("searchbox").wait_for()
        page.reload()
        page.locator("summary").first.click()
        page.get_by_text("Authorization: Bearer YOUR_KEY").first.wait_for()
        assert page.get_by_text(key).count() == 0
        page.goto(f"{address}/ui/demo/library")  # the key is that of the pages
        page.get_by_role("link", name="22 documents").wait_for()
        visitor.account.faults = [f for f in visitor.account.faults if "401" not in f]
        visitor.leave()
