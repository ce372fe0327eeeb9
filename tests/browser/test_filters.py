"""The filter form: conditions on fields of the documents, of a question and of a search."""

import re
from urllib.parse import parse_qs, urlparse

from tests.browser.serving import SAMPLE_WORKSPACE
from tests.browser.watching import PHONE

QUESTION = "Who approves trips abroad?"
FILTER = "format = 'docx' and path != 'zh'"


def asked(page, name):
    return parse_qs(urlparse(page.url).query).get(name, [""])[0]


def add_condition(page, number, field, comparison, value):
    page.get_by_label(f"Field {number}").select_option(field)
    page.get_by_label(f"Comparison {number}").select_option(label=comparison)
    page.get_by_label(f"Value {number}").fill(value)


def answer_of(page):
    answer = page.get_by_role("region", name="Answer")
    answer.and_(page.locator("[aria-busy=false], :not([aria-busy])")).wait_for()
    return answer


def test_a_question_is_asked_of_some_documents(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask")
    page.get_by_role("button", name="Filter", exact=True).click()
    fields = visit.visitor.call("GET", f"/workspaces/{SAMPLE_WORKSPACE}/fields")
    page.get_by_label("Field 1").locator("option").nth(len(fields)).wait_for(state="attached")
    add_condition(page, 1, "format", "is", "docx")
    page.get_by_role("button", name="Add condition").click()
    add_condition(page, 2, "path", "is not", "zh")
    visit.check_access()
    page.get_by_role("textbox", name="Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    answer = answer_of(page)
    assert asked(page, "where") == FILTER
    wanted = {"question": QUESTION, "filters": FILTER}
    told = visit.visitor.call("POST", f"/workspaces/{SAMPLE_WORKSPACE}/ask", wanted)
    chips = answer.get_by_role("button", name=re.compile("^Citation "))
    chips.first.wait_for()
    assert chips.count() == len(told["citations"])
    assert {cited["title"] for cited in told["citations"]} == {"Travel policy"}
    verdict = {"strong": "Found in the text", "weak": "Likely, check the source"}
    answer.get_by_text(verdict[told["strength"]]).wait_for()
    page.locator("summary", has_text="How it was found").click()
    page.get_by_text("format = 'docx' and not path = 'zh'", exact=True).wait_for()
    page.reload()
    page.get_by_role("button", name="Filter (2)").wait_for()
    assert page.get_by_label("Value 2").input_value() == "zh"
    page.get_by_role("button", name="Remove condition 1").click()
    page.get_by_role("button", name="Filter (1)").wait_for()
    assert asked(page, "where") == FILTER, "a choice alone asks nothing"


def test_a_search_is_narrowed_and_widened_again(visit):
    page = visit.open(f"/{SAMPLE_WORKSPACE}/library?q=trips+abroad&where=format+%3D+%27docx%27")
    hits = page.get_by_role("search").get_by_role("listitem").filter(has=page.get_by_role("link"))
    hits.first.wait_for()
    titles = page.get_by_role("search").locator("ol")
    assert "Oriane Keld" not in titles.inner_text()
    narrow = hits.count()
    visit.check_access()
    page.get_by_role("button", name="Clear filter").click()
    page.get_by_role("search").get_by_role("button", name="Search").click()
    page.wait_for_url(lambda address: "where=" not in address)
    hits.nth(narrow).wait_for()


def test_a_filter_that_the_form_has_no_words_for_stays_a_text(visit):
    wanted = "format = docx or path = 'en'"
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask?where={wanted.replace(' ', '+')}")
    field = page.get_by_role("textbox", name="Filter as text")
    field.wait_for()
    assert field.input_value() == wanted
    field.fill("format = 'docx'")
    assert field.is_visible(), "it is not taken apart while it is written"
    page.get_by_role("textbox", name="Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    answer_of(page).get_by_role("button", name=re.compile("^Citation 1: Travel policy")).wait_for()
    assert asked(page, "where") == "format = 'docx'"


def test_the_form_fits_a_phone_and_speaks_chinese(visitor):
    visit = visitor.visit(size=PHONE, has_touch=True, language="zh-CN")
    page = visit.open(f"/{SAMPLE_WORKSPACE}/ask?where=format+%3D+%27docx%27")
    page.get_by_label("字段 1").wait_for()
    page.get_by_role("button", name="筛选（1）").wait_for()
    visit.check_width()
    visit.check_access()
