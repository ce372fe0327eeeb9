"""Questions: the answer with its citations, the passage of each, other ways, what is not known."""

import re

from tests.browser.serving import MEASURED_WORKSPACE, SAMPLE_WORKSPACE
from tests.browser.watching import PHONE, shown_words

PAGE = f"/{SAMPLE_WORKSPACE}/ask"
QUESTION = "Who approves trips abroad?"
UNKNOWN = "zyxo qwerv plimbat?"


def ask(page, question):
    page.get_by_role("textbox", name="Your question").fill(question)
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("region", name="Answer")
    answer.and_(page.locator("[aria-busy=false], :not([aria-busy])")).wait_for()
    return answer


def test_a_citation_opens_the_passage_that_it_quotes(visit):
    page = visit.open(PAGE)
    answer = ask(page, QUESTION)
    chips = answer.get_by_role("button", name=re.compile("^Citation "))
    chips.first.wait_for()
    told = visit.visitor.call("POST", f"/workspaces/{SAMPLE_WORKSPACE}/ask", {"question": QUESTION})
    assert chips.count() == len(told["citations"])
    reader = page.get_by_role("complementary", name="Document")
    for number, citation in enumerate(told["citations"], start=1):
        chips.nth(number - 1).click()
        page.wait_for_url(re.compile(f"cite={number}\\b"))
        marked = reader.locator("mark")
        marked.first.wait_for()
        page.wait_for_function(
            """words => [...document.querySelectorAll('.reader mark')]
                .map(mark => mark.textContent).join(' ').match(/[\\p{L}\\p{N}]+/gu)
                ?.join(' ') === words""",
            arg=" ".join(shown_words(citation["quote"])),
        )
        assert marked.first.is_visible()
    visit.check_access()
    page.keyboard.press("Escape")
    reader.wait_for(state="hidden")


def test_citations_are_walked_by_keys_and_stand_in_the_address(visit):
    page = visit.open(PAGE)
    answer = ask(page, "Which buoy was lost in Storm Ondine?")  # has two citations
    answer.get_by_role("button", name=re.compile("^Citation ")).first.wait_for()
    page.get_by_role("textbox", name="Your question").blur()
    page.keyboard.press("1")
    page.wait_for_url(re.compile(r"cite=1\b"))
    page.keyboard.press("j")
    page.wait_for_url(re.compile(r"cite=2\b"))
    page.keyboard.press("k")
    page.wait_for_url(re.compile(r"cite=1\b"))
    page.reload()
    page.get_by_role("complementary", name="Document").locator("mark").first.wait_for()
    page.get_by_role("region", name="Answer").wait_for()


def test_on_a_phone_an_answer_and_its_passage_fit(visitor):
    visit = visitor.visit(size=PHONE, has_touch=True, colours="dark")
    page = visit.open(PAGE)
    answer = ask(page, QUESTION)
    visit.check_width()
    answer.get_by_role("button", name=re.compile("^Citation ")).first.tap()
    page.get_by_role("complementary", name="Document").locator("mark").first.wait_for()
    visit.check_width()
    visit.check_access()


def test_a_question_goes_on_from_the_answer_before_it(visit):
    page = visit.open(PAGE)
    ask(page, "Who is Oriane Keld?")
    page.get_by_role("button", name="Ask a follow-up").click()
    before = page.get_by_role("region", name="Conversation so far")
    before.get_by_role("link", name="Who is Oriane Keld?").wait_for()
    visit.check_access()
    ask(page, "Where was she born?")
    page.get_by_text("Understood as: Where was Oriane Keld born?").wait_for()
    visit.check_access()
    page.reload()
    page.get_by_text("Understood as: Where was Oriane Keld born?").wait_for()
    page.get_by_role("button", name="Start over").click()
    before.wait_for(state="detached")


def test_a_question_is_answered_step_by_step(visit):
    page = visit.open(PAGE)
    page.get_by_role("combobox", name=re.compile("^Retriever")).select_option("agent:corrective")
    answer = ask(page, "Who approves trips abroad?")
    answer.get_by_text("agent:corrective").wait_for()
    assert not page.get_by_role("button", name="Ask a follow-up").count()
    page.get_by_role("button", name="Why this answer?").click()
    page.get_by_text(re.compile(r"^1\. graph: Who approves trips abroad\?")).wait_for()
    visit.check_access()


def test_why_and_the_earlier_questions_are_reported(visit):
    page = visit.open(PAGE)
    ask(page, QUESTION)
    page.get_by_role("button", name="Why this answer?").click()
    page.get_by_role("region", name="Passages and their scores").wait_for()
    visit.check_access()
    page.goto(f"{visit.visitor.address}/ui{PAGE}")
    page.get_by_role("link", name=re.compile(re.escape(QUESTION))).click()
    page.get_by_role("region", name="Answer").wait_for()


def test_unanswerable_questions_get_the_nearest_passages(visit):
    page = visit.open(PAGE)
    ask(page, UNKNOWN)
    page.get_by_role("heading", name="No answer found in the documents").wait_for()
    visit.check_access()
    page.get_by_role("button", name="Compare retrievers").click()
    page.get_by_role("heading", name="pagerank", exact=True).wait_for()


def test_retrievers_are_compared_side_by_side(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/ask?q=Who+approves+trips+abroad%3F&vs=hybrid,bm25")
    page.get_by_role("heading", name="hybrid", exact=True).wait_for()
    rows = page.get_by_role("region", name="Passages by rank of each retriever").last
    rows.get_by_role("row").nth(2).wait_for()
    visit.check_access()
    visit.check_width()


def test_a_question_in_chinese_is_answered_from_chinese_documents(visitor):
    visit = visitor.visit(language="zh-CN")
    page = visit.open(PAGE)
    page.get_by_role("textbox", name="您的问题").or_(page.get_by_role("textbox").first).first.fill(
        "海外出差由谁审批？"
    )
    page.keyboard.press("Control+Enter")
    page.get_by_text("海外出差由办事处主任审批").first.wait_for()


def test_a_statement_is_offered_remembered_cited_and_forgotten(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/ask")
    ask(page, "Where does Ina Berg work?")
    page.get_by_role("heading", name="No answer found in the documents").wait_for()
    box = page.get_by_role("textbox", name="Your question")
    box.fill("My colleague Ina Berg works in Bergen.")
    page.keyboard.press("Control+Enter")
    offer = page.get_by_role("region", name="Remember this?")
    offer.get_by_text("Ina Berg works in Bergen").wait_for()
    visit.check_access()
    offer.get_by_role("button", name="Remember").click()
    offer.get_by_text("Remembered.").wait_for()
    memory = page.get_by_role("region", name="Remembered facts", exact=True)
    memory.get_by_text("Ina Berg works in Bergen").wait_for()
    box.fill("Where does Ina Berg work?")
    page.keyboard.press("Control+Enter")
    answer = page.get_by_role("region", name="Answer")
    mark = answer.get_by_role("button", name=re.compile("^Remembered fact M1: Ina Berg"))
    mark.hover()
    card = page.get_by_role("tooltip")
    card.get_by_text("Ina Berg works in Bergen").wait_for()
    card.get_by_text(re.compile(r"^From a conversation · stated on \d{4}-\d\d-\d\d$")).wait_for()
    visit.check_access()
    page.mouse.move(0, 0)
    card.wait_for(state="hidden")
    mark.focus()
    card.get_by_text("Ina Berg works in Bergen").wait_for()
    page.keyboard.press("Escape")
    card.wait_for(state="hidden")
    mark.click()
    cited = page.get_by_role("region", name="From remembered facts")
    cited.get_by_text("M1").wait_for()
    visit.check_access()
    visit.check_width()
    memory.get_by_role("button", name="Forget: Ina Berg works in Bergen").click()
    memory.get_by_text("Ina Berg works in Bergen").wait_for(state="hidden")
    assert "in Bergen" not in page.evaluate("JSON.stringify(localStorage)")
    memory.get_by_role("button", name="Forget: Ina Berg is your colleague").click()
    memory.wait_for(state="hidden")
    told = visit.visitor.call("GET", f"/workspaces/{MEASURED_WORKSPACE}/memory")
    assert told["facts"] == []


def test_a_link_stores_nothing_before_somebody_agrees(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/ask?q=Remember+that+Ann+Lee+lives+in+Rome.")
    offer = page.get_by_role("region", name="Remember this?")
    offer.get_by_text("Ann Lee lives in Rome").wait_for()
    told = visit.visitor.call("GET", f"/workspaces/{MEASURED_WORKSPACE}/memory")
    assert told["facts"] == []


def test_all_facts_are_forgotten_after_a_confirmation(visit):
    path = f"/workspaces/{MEASURED_WORKSPACE}/memory"
    for statement in ("Ina Berg works in Bergen.", "I use the Kestrel engine."):
        visit.visitor.call("POST", path, {"statement": statement})
    page = visit.open(f"/{MEASURED_WORKSPACE}/ask")
    ask(page, "Where does Ina Berg work?")
    page.get_by_role("region", name="From remembered facts").wait_for()
    memory = page.get_by_role("region", name="Remembered facts", exact=True)
    memory.get_by_text("You use the Kestrel engine").wait_for()
    memory.get_by_role("button", name="Forget all").click()
    dialog = page.get_by_role("dialog", name="Forget all facts?")
    dialog.get_by_text("2 facts").wait_for()
    visit.check_access()
    dialog.get_by_role("button", name="Cancel").click()
    assert len(visit.visitor.call("GET", path)["facts"]) == 2
    memory.get_by_role("button", name="Forget all").click()
    dialog.get_by_role("button", name="Forget all").click()
    page.get_by_text("All facts were deleted.").wait_for()
    memory.wait_for(state="hidden")
    dialog.wait_for(state="hidden")
    assert visit.visitor.call("GET", path)["facts"] == []
    assert "in Bergen" not in page.evaluate("JSON.stringify(localStorage)")
    assert page.evaluate("document.activeElement.id") == "question"


def test_a_fact_is_a_sentence_in_chinese_too(visitor):
    path = f"/workspaces/{MEASURED_WORKSPACE}/memory"
    visit = visitor.visit(language="zh-CN")
    visitor.call("POST", path, {"statement": "我的同事伊娜在卑尔根工作。"})
    page = visit.open(f"/{MEASURED_WORKSPACE}/ask")
    memory = page.get_by_role("region", name="记住的事实")
    memory.get_by_text("伊娜是你的同事").wait_for()
    memory.get_by_role("button", name="全部忘记").click()
    page.get_by_role("dialog", name="忘记全部事实？").get_by_role("button", name="全部忘记").click()
    memory.wait_for(state="hidden")
    assert visitor.call("GET", path)["facts"] == []
