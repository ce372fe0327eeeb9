"""Evaluations: started, followed, compared, looked at question by question."""

import json

import pytest
from tests.browser.serving import MEASURED_WORKSPACE

QUESTIONS = [
    ("Who approves trips abroad?", "travel-policy.docx", "Travel Office"),
    ("What did Oriane Keld study?", "oriane-keld.txt", "chemistry"),
    ("海外出差由谁审批？", "差旅管理办法.md", "办事处主任"),
]
PAGE = f"/{MEASURED_WORKSPACE}/evaluation"


@pytest.fixture
def nothing_measured(visitor):
    """Without runs, before and after."""

    def clear():
        listed = visitor.call("GET", f"/workspaces/{MEASURED_WORKSPACE}/evaluations")
        for run in listed["evaluations"]:
            visitor.call("DELETE", f"/workspaces/{MEASURED_WORKSPACE}/evaluations/{run['id']}")

    clear()
    yield
    clear()


def measure(page, name, *, answers=False):
    """Start an evaluation of written questions by hand, and wait until it is done."""
    page.get_by_role("button", name="New evaluation").click()
    dialog = page.get_by_role("dialog")
    lines = "\n".join(" | ".join(question) for question in QUESTIONS)
    dialog.get_by_label("One per line").fill(lines)
    dialog.get_by_label("dense").check()
    if answers:
        dialog.get_by_label("Also generate and judge answers").check()
    dialog.get_by_label("Name (optional)").fill(name)
    dialog.get_by_role("button", name="Start").click()
    dialog.wait_for(state="hidden")
    row = page.get_by_role("row", name=name)
    row.get_by_text("Finished").wait_for()
    return row


def test_a_run_is_started_followed_and_looked_into(visit, nothing_measured):
    page = visit.open(PAGE)
    page.get_by_text("No evaluations yet").wait_for()
    measure(page, "By hand", answers=True)
    outcomes = page.get_by_role("region", name="Retrievers")
    outcomes.get_by_role("row").nth(4).wait_for()  # below the head: auto, hybrid, bm25, dense
    plot = page.get_by_role("img", name="for each retriever")
    assert plot.locator("circle").count() == 4
    page.get_by_label("Second").select_option(label="dense")
    difference = page.get_by_role("region", name="Paired difference").last
    difference.get_by_role("row", name="Recall@5").get_by_text(" / ").wait_for()
    page.get_by_role("button", name="海外出差由谁审批？").click()
    sides = page.locator(".pair-side")
    sides.nth(1).wait_for()
    assert [side.locator("h4").first.inner_text() for side in sides.all()] == ["Answer"] * 2
    assert "gold" in sides.first.inner_text()
    visit.check_access()
    visit.check_width()
    page.reload()
    sides.nth(1).wait_for()  # all of it stands in the address


def test_questions_are_asked_again_compared_and_removed(visit, nothing_measured):
    page = visit.open(PAGE)
    measure(page, "Before")
    page.get_by_role("button", name="New evaluation").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("From a run").click()
    dialog.get_by_label("Name (optional)").fill("After")
    visit.check_access()
    dialog.get_by_role("button", name="Start").click()
    page.get_by_role("row", name="After").get_by_text("Finished").wait_for()
    second = page.get_by_label("Second")
    second.select_option(
        second.locator("optgroup[label=Before] option").first.get_attribute("value")
    )
    page.get_by_text(f"On {len(QUESTIONS)} common questions").wait_for()
    page.get_by_role("button", name="Remove Before").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("row", name="Before").wait_for(state="detached")


def test_questions_that_name_no_document_are_refused_with_the_reason(visit, nothing_measured):
    page = visit.open(PAGE)
    page.get_by_role("button", name="New evaluation").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("From a file").click()
    line = json.dumps({"question": "Who?", "gold_pids": ["nowhere.md"]})
    file = {"name": "q.jsonl", "mimeType": "application/jsonl", "buffer": line.encode()}
    dialog.locator("input[name=questions]").set_input_files(file)
    dialog.get_by_role("button", name="Start").click()
    dialog.get_by_role("alert").get_by_text("nowhere.md").wait_for()
    visit.visitor.account.faults.clear()  # the browser logs the refusal
    page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")


def test_a_filter_restricts_a_run(visit, nothing_measured):
    page = visit.open(PAGE)
    page.get_by_role("button", name="New evaluation").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Filter").click()
    dialog.get_by_label("Field 1").select_option("language")
    dialog.get_by_label("Value 1").fill("zh")
    dialog.get_by_role("button", name="Filter (1)").wait_for()
    visit.check_access()
    dialog.get_by_label("One per line").fill(" | ".join(QUESTIONS[2]))
    dialog.get_by_label("Name (optional)").fill("Chinese alone")
    dialog.get_by_role("button", name="Start").click()
    row = page.get_by_role("row", name="Chinese alone")
    row.get_by_text("Finished").wait_for()
    row.get_by_text("language = 'zh'").wait_for()
    path = f"/workspaces/{MEASURED_WORKSPACE}/evaluations"
    (run,) = visit.visitor.call("GET", path)["evaluations"]
    (case,) = visit.visitor.call("GET", f"{path}/{run['id']}")["cases"]
    found = {hit["document"] for result in case["results"] for hit in result["hits"]}
    assert found
    assert all(uri.startswith("sample/zh/") for uri in found)
