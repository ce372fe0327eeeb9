"""Questions: the answer with its citations, the passage of each, other ways, what is not known."""

import re

from tests.browser.serving import MEASURED_WORKSPACE, SAMPLE_WORKSPACE
from tests.browser.watching import PHONE, shown_words

PAGE = f"/{SAMPLE_WORKSPACE}/ask"
QUESTION = "Who approves trips abroad?"
UNKNOWN = "zyxo qwerv plimbat?"


def ask(page, question):
    page.get_by_role("textbox", name="Your question").fill(question)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=question, exact=True).last.wait_for()
    return last_answer(page)


def last_answer(page):
    page.locator(".turns > li:last-child .answer[aria-busy=false]").wait_for()
    return page.locator(".turns > li").last.get_by_role("region", name="Answer")


def citations_of(answer):
    return answer.get_by_role("button", name=re.compile("^Citation "))


def has_focus(locator):
    return locator.evaluate("each => each === document.activeElement")


def test_a_citation_opens_the_passage_that_it_quotes(visit):
    page = visit.open(PAGE)
    answer = ask(page, QUESTION)
    answer.get_by_text("Found in the text").wait_for()
    chips = citations_of(answer)
    told = visit.visitor.call("POST", f"/workspaces/{SAMPLE_WORKSPACE}/ask", {"question": QUESTION})
    assert chips.count() == len(told["citations"])
    reader = page.get_by_role("complementary", name="Document")
    for number, citation in enumerate(told["citations"], start=1):
        chips.nth(number - 1).click()
        page.wait_for_url(re.compile(f"cite={number}\\b"))
        reader.locator("mark").first.wait_for()
        page.wait_for_function(
            """words => [...document.querySelectorAll('.reader mark')]
                .map(mark => mark.textContent).join(' ').match(/[\\p{L}\\p{N}]+/gu)
                ?.join(' ') === words""",
            arg=" ".join(shown_words(citation["quote"])),
        )
        assert reader.locator("mark").first.is_visible()
    visit.check_access()
    page.keyboard.press("Escape")
    reader.wait_for(state="hidden")


def test_an_answer_is_reached_and_its_citations_are_walked_by_keys(visit):
    page = visit.open(PAGE)
    answer = ask(page, "Which buoy was lost in Storm Ondine?")  # has two citations
    assert has_focus(page.get_by_role("textbox", name="Your question"))
    page.keyboard.press("Escape")
    assert has_focus(answer)
    page.keyboard.press("Tab")
    assert has_focus(citations_of(answer).first)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"cite=1\b"))
    page.wait_for_function("() => document.activeElement.closest('.reader')")
    page.keyboard.press("j")
    page.wait_for_url(re.compile(r"cite=2\b"))
    page.keyboard.press("k")
    page.wait_for_url(re.compile(r"cite=1\b"))
    page.keyboard.press("Escape")
    page.get_by_role("complementary", name="Document").wait_for(state="hidden")
    assert has_focus(citations_of(answer).first)
    page.keyboard.press("2")
    page.wait_for_url(re.compile(r"cite=2\b"))
    page.reload()
    page.get_by_role("complementary", name="Document").locator("mark").first.wait_for()
    last_answer(page)


def test_the_first_tab_from_the_box_leads_to_the_answer(visit):
    page = visit.open(PAGE)
    answer = ask(page, QUESTION)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert has_focus(answer)


def test_on_a_phone_the_source_is_a_sheet_over_the_thread(visitor):
    visit = visitor.visit(size=PHONE, has_touch=True, colours="dark")
    page = visit.open(PAGE)
    answer = ask(page, QUESTION)
    visit.check_width()
    small = page.locator(".ask-thread :is(button, a, select):visible:not(.chip)").evaluate_all(
        "all => all.filter(each => each.getBoundingClientRect().height < 44)"
        ".map(each => each.outerHTML.slice(0, 90))"
    )
    assert small == []
    citations_of(answer).first.tap()
    sheet = page.get_by_role("complementary", name="Document")
    sheet.locator("mark").first.wait_for()
    visit.check_width()
    visit.check_access()
    sheet.get_by_role("button", name="Close").tap()
    tabs = page.get_by_role("navigation", name="Parts of the workspace")
    tabs.get_by_role("button", name="Sources").tap()
    page.locator(".ask-sources").get_by_text("Travel policy").first.wait_for()
    answer.wait_for(state="hidden")
    visit.check_width()
    visit.check_access()
    tabs.get_by_role("button", name="Thread").tap()
    answer.wait_for()
    tabs.get_by_role("link", name="Graph").tap()
    page.get_by_role("heading", level=1, name="Graph").wait_for()


def test_every_turn_of_a_thread_goes_on_from_the_one_before(visit):
    page = visit.open(PAGE)
    ask(page, "Who is Oriane Keld?")
    ask(page, "Where was she born?")
    page.get_by_text("Understood as: Where was Oriane Keld born?").wait_for()
    assert page.get_by_role("region", name=re.compile("^Answer")).count() == 2
    assert page.get_by_role("region", name="Sources").count() > 2, "each turn keeps its sources"
    visit.check_access()
    ask(page, UNKNOWN)
    page.get_by_text("Not in your files").wait_for()
    ask(page, "And what did Oriane Keld build?")
    visit.check_width()
    citations = page.locator(".turns > li").first.get_by_role("button", name="Citation 1")
    citations.first.click()
    page.wait_for_url(re.compile(r"turn=1&.*cite=1\b|cite=1\b.*turn=1\b"))
    page.keyboard.press("Escape")
    page.reload()
    page.get_by_text("Understood as: Where was Oriane Keld born?").wait_for()
    assert page.locator(".turns > li").count() == 4
    box = page.get_by_role("textbox", name="Your question")
    assert box.bounding_box()["y"] + 40 < 800, "the box is in view"


def test_an_understood_question_is_corrected(visit):
    page = visit.open(PAGE)
    ask(page, "Who is Oriane Keld?")
    ask(page, "Where was she born?")
    page.get_by_role("button", name="Edit", exact=True).click()
    field = page.get_by_role("textbox", name="Edit the question")
    assert field.input_value() == "Where was Oriane Keld born?"
    field.fill("Who approves trips abroad?")
    visit.check_access()
    page.keyboard.press("Enter")
    page.get_by_text("Understood as: Who approves trips abroad?").wait_for()
    answer = last_answer(page)
    answer.get_by_role("button", name=re.compile("^Citation 1: Travel policy")).wait_for()
    assert page.locator(".turns > li").count() == 2


def test_what_was_typed_and_the_thread_outlast_the_page(visit):
    page = visit.open(PAGE)
    question = "Who pays for the ferry to Skarrow?"
    ask(page, question)
    box = page.get_by_role("textbox", name="Your question")
    assert box.input_value() == ""
    box.fill("half a quest")
    page.get_by_role("link", name="Library").first.click()
    page.get_by_role("heading", level=1, name="Library").wait_for()
    page.get_by_role("link", name="Workspace", exact=True).first.click()
    last_answer(page)
    assert box.input_value() == "half a quest"
    page.reload()
    last_answer(page)
    assert box.input_value() == "half a quest"
    page.get_by_role("link", name="New thread").click()
    page.locator(".turns > li").wait_for(state="detached")
    assert has_focus(box)
    ask(page, "Who is Oriane Keld?")
    page.get_by_role("button", name="History").click()
    threads = page.locator(".menu .history")
    kept = threads.get_by_role("link", name=re.compile(re.escape(question)))
    kept.wait_for()
    visit.check_access()
    kept.click()
    page.get_by_role("heading", name=question, exact=True).wait_for()
    page.get_by_role("button", name="History").click()
    threads.get_by_role("button", name=f"Delete: {question}").click()
    page.get_by_role("heading", name=question, exact=True).wait_for(state="detached")
    kept.wait_for(state="detached")


def test_an_answer_is_copied_and_a_thread_exported_with_their_sources(visit):
    page = visit.open(PAGE)
    visit.allow_clipboard()
    answer = ask(page, QUESTION)
    answer.get_by_role("button", name="Copy with sources").click()
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "\n- [1] Travel policy" in copied
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as Markdown").click()
    written = download.value.path().read_text(encoding="utf-8")
    assert f"## {QUESTION}" in written
    assert "- [1] Travel policy" in written


def test_how_an_answer_was_found_is_one_line_until_it_is_opened(visit):
    page = visit.open(PAGE)
    ask(page, "Who built the buoy that was lost in Storm Ondine?")
    line = page.locator("summary", has_text="How it was found")
    line.get_by_text("quoted, no model").wait_for()
    assert not page.get_by_role("region", name="Passages found").count()
    line.click()
    page.get_by_role("region", name="Passages found").get_by_text("cited").first.wait_for()
    page.get_by_role("definition").get_by_text("Connections").wait_for()
    drawing = page.get_by_role("figure", name="Hops that lead to the cited passages")
    drawing.locator("svg").wait_for()
    assert drawing.get_by_role("button", name=re.compile(r"^\[1\] ")).count() == 1
    visit.check_access()
    visit.check_width()
    drawing.get_by_role("button", name=re.compile(r"^\[1\] ")).click()
    page.get_by_role("complementary", name="Document").locator("mark").first.wait_for()


def test_a_way_to_search_is_chosen_by_its_plain_name(visit):
    page = visit.open(PAGE)
    ways = page.get_by_role("combobox", name="Search by")
    assert ways.locator("option").all_inner_texts() == [
        "Automatic",
        "Keywords",
        "Meaning",
        "Connections",
    ]
    ways.select_option(label="Keywords")
    ask(page, QUESTION)
    page.wait_for_url(re.compile(r"\br=bm25\b"))
    page.get_by_role("button", name="Advanced").click()
    dialog = page.get_by_role("dialog", name="Advanced")
    dialog.get_by_text("passages by personalized PageRank").wait_for()
    visit.check_access()
    dialog.get_by_role("radio", name=re.compile("judge and search again")).check()
    dialog.get_by_role("button", name="Done").click()
    ask(page, QUESTION)
    page.locator("summary", has_text="How it was found").last.click()
    page.get_by_text(re.compile(r"^1\. graph: Who approves trips abroad\?")).wait_for()
    page.get_by_role("button", name="Advanced").click()
    for name in ("Keywords", "PageRank"):
        dialog.get_by_role("checkbox", name=f"Compare: {name}", exact=True).check()
    dialog.get_by_role("button", name="Done").click()
    page.get_by_role("textbox", name="Your question").fill(QUESTION)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="PageRank", exact=True).wait_for()


def test_what_is_not_in_the_files_comes_with_the_nearest_passage_in_full(visit):
    page = visit.open(PAGE)
    question = "Who mended the Heron buoy in 1931?"
    answer = ask(page, question)
    told = visit.visitor.call("POST", f"/workspaces/{SAMPLE_WORKSPACE}/ask", {"question": question})
    assert not told["answered"]
    answer.get_by_text("Not in your files").wait_for()
    nearest = answer.get_by_role("region", name="This may be it")
    shown = re.findall(r"[^\W_]+", nearest.inner_text())
    assert set(shown_words(told["citations"][0]["quote"])) <= set(shown)
    visit.check_access()
    nearest.get_by_role("link").click()
    page.get_by_role("complementary", name="Document").locator("mark").first.wait_for()


def test_ticked_sources_limit_a_question(visit):
    page = visit.open(PAGE)
    source = page.locator(".ask-sources").get_by_role("checkbox", name=re.compile("Oriane Keld"))
    source.check()
    ask(page, QUESTION)
    page.get_by_text("from the selected sources").wait_for()
    page.locator("summary", has_text="How it was found").click()
    passages = page.get_by_role("region", name="Passages found")
    if passages.count():
        assert "Travel policy" not in passages.inner_text()
    source.uncheck()
    answer = ask(page, QUESTION)
    answer.get_by_role("button", name=re.compile("^Citation 1: Travel policy")).wait_for()


def test_a_related_question_is_asked_in_the_thread(visit):
    page = visit.open(PAGE)
    ask(page, "Who is Oriane Keld?")
    related = page.get_by_role("list", name="Related questions").get_by_role("button")
    related.first.wait_for()
    visit.check_access()
    question = related.first.inner_text()
    related.first.click()
    page.get_by_role("heading", name=question, exact=True).wait_for()
    last_answer(page)
    assert page.locator(".turns > li").count() == 2


def serve_reading(page, state):
    """Have the server report a job that has read two of six files; return the job."""
    job = {"id": "j1", "kind": "index", "state": state, "created": "", "started": ""}
    job |= {"arguments": {}, "error": {}, "finished": "", "progress": {}, "report": {}}
    told = 'id: 1\nevent: progress\ndata: {"stage": "load", "done": 2, "total": 6}\n\n'

    def list_jobs(route):
        route.fulfill(json={"data": [job], "request_id": "r"})

    def follow(route):
        end = "" if job["state"] == "running" else "event: end\ndata: {}\n\n"
        route.fulfill(body=told + end, content_type="text/event-stream")

    page.route(re.compile(r"/demo/jobs\?"), list_jobs)
    page.route("**/demo/jobs/j1/events", follow)
    return job


def test_a_question_is_asked_again_when_all_files_are_ready(visit):
    job = serve_reading(visit.page, "running")
    page = visit.open(PAGE)
    answer = ask(page, "Who mended the Heron buoy in 1931?")
    answer.get_by_text("Not in the files that were ready").wait_for()
    page.locator(".turn").get_by_text("2 of 6 files ready").wait_for()
    assert page.get_by_text("Not in your files").count() == 0
    visit.check_access()
    page.get_by_role("button", name="Ask again when all are ready").click()
    page.get_by_text("Will be asked again").wait_for()
    job["state"] = "finished"
    answer.get_by_text("Not in your files").wait_for()


def test_files_that_are_read_after_an_answer_are_told_of(visit):
    job = serve_reading(visit.page, "finished")
    page = visit.open(PAGE)
    ask(page, QUESTION)
    note = page.locator(".turn").get_by_text(re.compile("files ready|files are ready"))
    assert note.count() == 0
    job["state"] = "running"
    page.evaluate("new BroadcastChannel('knotwork').postMessage(['jobs', 'demo'])")
    note.filter(has_text="2 of 6 files ready").wait_for()
    job["state"] = "finished"
    page.locator(".turn").get_by_text("More files are ready now.").wait_for()
    page.locator(".turn").get_by_role("button", name="Ask again").last.click()
    last_answer(page)


def test_a_source_beside_the_thread_cuts_no_question(visit):
    page = visit.open(PAGE)
    question = "Who designed the Kestrel probe, and in which year was it first sent to the lake?"
    ask(page, "Who is Oriane Keld?")
    answer = ask(page, question)
    box = page.get_by_role("textbox", name="Your question")
    box.fill(question + " And who paid for it?")
    # Half of the question is above the window when the source opens.
    asked = page.get_by_role("heading", name=question, exact=True)
    page.evaluate("by => window.scrollBy(0, by)", asked.bounding_box()["y"] + 20)
    citations_of(answer).first.click()
    page.locator(".reader mark").first.wait_for()
    page.wait_for_function(
        "() => document.querySelectorAll('.turn-question')[1].getBoundingClientRect().top >= 0"
    )
    hidden = box.evaluate("each => each.scrollHeight - each.clientHeight")
    assert hidden <= 2, "the box has grown with its text"


def test_no_request_is_waited_for_between_the_question_and_its_answer(visit):
    page = visit.open(PAGE)
    page.wait_for_load_state("networkidle")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    ask(page, QUESTION)
    parts = [url.rpartition("/demo/")[2] for url in asked if "/api/" in url]
    assert parts[0] == "chat/stream"
    assert set(parts[1:]) <= {"threads", "related"}, "the rest follows the answer"


def test_retrievers_are_compared_side_by_side(visit):
    page = visit.open(f"/{MEASURED_WORKSPACE}/ask?q=Who+approves+trips+abroad%3F&vs=hybrid,bm25")
    page.get_by_role("heading", name="Keywords and meaning", exact=True).wait_for()
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
    page.get_by_text("Not in your files").wait_for()
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
    mark = last_answer(page).get_by_role("button", name=re.compile("^Remembered fact M1: Ina Berg"))
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
    for head in visit.visitor.call("GET", f"/workspaces/{MEASURED_WORKSPACE}/threads")["threads"]:
        kept = visit.visitor.call("GET", f"/workspaces/{MEASURED_WORKSPACE}/threads/{head['id']}")
        assert "in Bergen" not in str(kept)
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


def test_a_citation_of_a_removed_document_keeps_its_sentence(visit, empty_workspace):
    page = visit.open(f"/{empty_workspace}/ask")
    visit.drop({"heron.md": "# Heron\n\nThe Heron buoy is moored at Lake Ashmere since 2016.\n"})
    visit.await_jobs(empty_workspace)
    chip = citations_of(ask(page, "Where is the Heron buoy moored?")).first
    chip.get_by_text("1").wait_for()
    (known,) = visit.visitor.call("GET", f"/workspaces/{empty_workspace}/documents")["documents"]
    other = page.context.new_page()  # it is removed in another tab
    visit.visitor.account.watch(other)
    other.goto(f"{visit.visitor.address}/ui/{empty_workspace}/documents?doc={known['id']}")
    other.get_by_role("button", name="Remove").click()
    other.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Citation 1: Heron (removed)").wait_for()
    page.reload()
    chip = page.get_by_role("button", name="Citation 1: Heron (removed)")
    chip.click()
    reader = page.get_by_role("complementary", name="Document")
    reader.get_by_role("heading", name="This document was removed").wait_for()
    reader.get_by_text("The Heron buoy is moored at Lake Ashmere since 2016.").wait_for()
    assert page.get_by_role("button", name="Try again").count() == 0
    visit.check_access()
    page.goto(f"{visit.visitor.address}/ui/{empty_workspace}/documents?doc={known['id']}")
    page.get_by_role("heading", name="This document was removed").wait_for()
    visit.visitor.account.faults.clear()  # the browser logs the 404


def test_a_question_that_stands_alone_is_not_repeated_below_itself(visit):
    page = visit.open(PAGE)
    for question in (QUESTION, "Where was Oriane Keld born?"):
        with page.expect_response(lambda sent: "/threads" in sent.url):
            ask(page, question)
    page.reload()
    page.locator(".turns > li").nth(1).get_by_role("region", name="Answer").wait_for()
    assert page.get_by_text("Understood as").count() == 0


def test_one_bar_scrolls_the_sources(visitor):
    for size in ((1280, 800), (1280, 560), (1000, 700)):
        visit = visitor.visit(size=size)
        page = visit.open(PAGE)
        page.get_by_role("list", name="Sources").get_by_role("listitem").nth(9).wait_for()
        bars = page.evaluate(
            """() => [document.querySelector('.ask-sources'),
                ...document.querySelectorAll('.ask-sources *')]
                .filter(each => /auto|scroll/.test(getComputedStyle(each).overflowY))
                .filter(each => each.scrollHeight > each.clientHeight + 1).length"""
        )
        assert bars == 1, size
