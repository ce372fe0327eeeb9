"""`ask` with a language model behind a server: written, checked, paid once, and never lost."""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import sys
from dataclasses import replace

import pytest
from tests.cli.running import knotwork

from knotwork._cli.answers import AnswerView, StreamedText
from knotwork._cli.terminal import Terminal, wrap_text
from knotwork._run import Progress, Stage
from knotwork._stores.urls import open_store
from knotwork._synthesis import engine
from knotwork._synthesis.messages import no_answer
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


QUESTION = "Who approves trips abroad?"


@pytest.fixture
def server():
    with ModelTestServer() as server:
        yield server


@pytest.fixture
def store(sample_store, server, tmp_path, monkeypatch):
    """A copy of the sample's index, as the file of calls stands beside it."""
    copied = tmp_path / "sample.knot"
    shutil.copy(sample_store, copied)
    monkeypatch.setenv("KNOTWORK_STORE_PATH", str(copied))
    monkeypatch.setenv("KNOTWORK_LLM_MODEL", "openai:knotwork-test")
    monkeypatch.setenv("KNOTWORK_LLM_BASE_URL", server.url)
    waits = replace(engine.WHILE_SOMEONE_WAITS, sleep=lambda _: None)
    monkeypatch.setattr(engine, "WHILE_SOMEONE_WAITS", waits)
    return copied


def test_the_model_chooses_the_mode_only_if_asked_to(store, server):
    plain = knotwork("ask", QUESTION, "--json").json
    chosen = knotwork("ask", QUESTION, "--json", "--classify").json
    assert [plain["usage"]["stages"].keys(), chosen["usage"]["stages"].keys()] == [
        {"answer"},
        {"answer", "route"},
    ]
    assert chosen["mode"] == "basic"


def test_a_model_answers_from_the_index_and_is_paid_once(store, server):
    first = knotwork("ask", QUESTION, "--json").json
    assert first["model"] == "openai:knotwork-test"
    assert first["notes"] == []
    assert "Travel Office" in first["answer"]
    opened = open_store(str(store), read_only=True)
    texts = {d.uri: d.text for d in opened.documents.documents(_ids(opened)).values()}
    opened.close()
    for number, citation in enumerate(first["citations"], start=1):
        start, end = citation["span"]
        assert texts[citation["document"]][start:end] == citation["quote"]
        assert (citation["number"], f"[{number}]" in first["answer"]) == (number, True)
    (call,) = server.traffic.calls
    totals = server.traffic.totals
    usage = first["usage"]
    assert (usage["model_calls"], usage["reused_calls"]) == (1, 0)
    assert usage["input_tokens"] == totals.input_tokens
    assert usage["output_tokens"] == totals.output_tokens
    assert usage["input_tokens"] + usage["output_tokens"] <= 4_600
    assert call.body["stream"] is True

    again = knotwork("ask", QUESTION)
    assert server.traffic.totals.calls == 1
    answer, sources = again.out.split("\n\nSources\n")
    assert answer == first["answer"]
    assert sources.startswith("[1] sample/")
    assert "0 model tokens in 1 cached" in again.err
    assert store.with_name("sample.knot.calls").exists()


def _ids(opened):
    return opened.documents.document_ids()


def test_the_call_cache_is_not_a_document(store):
    knotwork("ask", QUESTION)
    options = ("--store", store, "--set", "embedding.model=none", "--set", "llm.model=none")
    report = knotwork("index", store.parent, "--json", *options).json
    assert (report["added"], report["skipped"]) == (0, [])


def test_a_chinese_question_is_asked_and_answered_in_chinese(store, server):
    payload = knotwork("ask", "海外出差由谁审批？", "--json").json
    assert "海外出差由办事处主任审批" in payload["answer"]
    assert payload["model"]
    assert "你只根据" in server.sent_text()


def test_without_the_model_the_answer_is_what_it_was(store, server):
    knotwork("ask", QUESTION)
    calls = server.traffic.totals.calls
    quoted = knotwork("ask", QUESTION, "--set", "llm.model=none")
    for options in (["--no-llm"], ["--set", "llm.answer=none"]):
        outcome = knotwork("ask", QUESTION, *options)
        assert (outcome.code, outcome.out) == (0, quoted.out)
        assert "0 model tokens" in outcome.err
        payload = knotwork("ask", QUESTION, "--json", *options).json
        assert payload["model"] == ""
        assert payload["usage"]["reused_calls"] == 0
    assert server.traffic.totals.calls == calls


def test_the_model_judges_a_question_beside_the_documents(store, server):
    server.brain = lambda _: no_answer("en")
    outcome = knotwork("ask", "Who wrote the zebra treaty of 1954?")
    assert outcome.code == 0
    assert "Nearest passages" in outcome.out
    assert server.traffic.totals.calls == 1


def test_not_knowing_shows_the_nearest_passages(store, server):
    server.brain = lambda _: no_answer("en")
    outcome = knotwork("ask", QUESTION)
    assert outcome.code == 0
    assert outcome.out.startswith(no_answer("en"))
    assert "Nearest passages" in outcome.out
    payload = knotwork("ask", QUESTION, "--json").json
    assert (payload["answered"], payload["reason"]) == (False, "sources_silent")


def test_faults_of_an_answer_are_reported(store, server):
    server.brain = lambda _: (
        "Trips abroad are approved by the Travel Office. [1] Ask the Travel Office [77]. "
        "The Travel Office was founded in 1702. [1]"
    )
    outcome = knotwork("ask", QUESTION)
    assert outcome.code == 0
    assert "1702" not in outcome.out
    for said in ("[77]", "1 of 2 sentences cites no source.", "1 of 3 statements was left out."):
        assert said in outcome.err
    assert "“The Travel Office was founded in 1702.”" in outcome.err
    payload = knotwork("ask", QUESTION, "--json").json
    assert len(payload["notes"]) == 4
    sure = knotwork("ask", QUESTION, "--no-llm", "--json").json["confidence"]
    assert payload["confidence"] == pytest.approx(sure * 2 / 3, abs=0.01)


def test_a_reply_that_the_passages_do_not_say_is_neither_shown_nor_kept(store, server):
    server.brain = lambda _: "The Travel Office holds 99 patents. [1]"
    outcome = knotwork("ask", QUESTION)
    assert "99 patents" not in outcome.out
    assert "None of its statements is in the passages." in outcome.err
    again = knotwork("ask", QUESTION)
    assert "99 patents" not in again.out
    assert "None of its statements is in the passages." in again.err


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.BROKEN_JSON, Fault.CUT, Fault.GARBAGE])
def test_a_failing_server_costs_no_answer(store, server, fault):
    quoted = knotwork("ask", QUESTION, "--no-llm").out
    server.faults = FaultPlan(rates={fault: 1.0})
    outcome = knotwork("ask", QUESTION)
    assert (outcome.code, outcome.out) == (0, quoted)
    assert "Sentences are quoted, because openai:knotwork-test gave no answer:" in outcome.err
    assert "Traceback" not in outcome.err
    strict = knotwork("ask", QUESTION, "--json", "--no-fallback")
    assert strict.code == (1 if fault is Fault.GARBAGE else 3)
    assert strict.json["error"]["code"] in {"model_unavailable", "unparsable_reply"}


def test_a_useless_reply_is_asked_for_again_on_request_alone(store, server):
    server.brain = lambda _: "I would rather not say."
    for _ in range(2):
        assert "--retry" in knotwork("ask", QUESTION).err or server.traffic.totals.calls == 1
    assert server.traffic.totals.calls == 1
    server.brain = ModelTestServer().brain
    payload = knotwork("ask", QUESTION, "--retry", "--json").json
    assert payload["model"]
    assert server.traffic.totals.calls == 2
    assert knotwork("ask", QUESTION, "--json").json["usage"]["reused_calls"] == 1


def test_a_budget_is_kept(store, server):
    outcome = knotwork("ask", QUESTION, "--budget", "200")
    assert outcome.code == 0
    assert "budget of 200 tokens" in outcome.err
    assert knotwork("ask", QUESTION, "--budget", "200", "--no-fallback").code == 4
    assert server.traffic.totals.calls == 0
    assert knotwork("ask", QUESTION, "--budget", "4k", "--json").json["model"]
    assert knotwork("ask", QUESTION, "--budget", "much").code == 2


def test_a_wrongly_set_model_is_refused_before_anything_is_done(store, server):
    outcome = knotwork("ask", QUESTION, "--set", "llm.answer=closedai:x")
    assert outcome.code == 2
    assert "closedai" in outcome.err
    assert not store.with_name("sample.knot.calls").exists()


def test_on_a_terminal_the_answer_is_streamed_in_the_lines_of_its_width(
    store, server, start_process
):
    whole = knotwork("ask", QUESTION, "--json").json["answer"]
    shown = _run_on_terminal(start_process, "ask", QUESTION, "--color", "never")
    text = shown.split("Sources")[0]
    # What a terminal shows after it drew and erased who is asked.
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\n", text).replace("\r", "")
    lines = "\n".join(wrap_text(whole, 60))
    assert lines in text
    assert text.count("Travel Office, which") == whole.count("Travel Office, which")


def _run_on_terminal(start_process, *arguments):
    """Run the command line with a terminal of 60 columns; return what it wrote there."""
    ours, theirs = pty.openpty()
    process = start_process(
        [sys.executable, "-m", "knotwork", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "60"},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # the terminal is closed when the process ends
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait(timeout=60) == 0, written
    return written.decode()


TEXT = (
    "Trips within the country are approved by your manager. [1] 国内出差由部门主管审批，应当"
    "提前三个工作日提出申请。[2]\n\n"
    "A-word-that-is-much-longer-than-any-line-of-this-terminal ends it [3]."
)


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("size", [1, 3, 10, 1_000])
@pytest.mark.parametrize("width", [12, 30, 77])
def test_a_streamed_text_is_wrapped_as_one_that_is_there_at_once(size, width, monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    streamed = StreamedText(Terminal())
    for start in range(0, len(TEXT), size):
        streamed.add(TEXT[start : start + size])
        assert "\n".join(wrap_text(TEXT, width)).startswith(screen.getvalue())
    streamed.end()
    streamed.end()
    assert screen.getvalue() == "\n".join(wrap_text(TEXT, width)) + "\n"


def test_withdrawn_and_interrupted_lines_end(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    with AnswerView(Terminal(color="never"), hidden=True) as view:
        view.show(Progress(Stage.ASKED, note="a model"))
        view.show(Progress(Stage.TEXT, note="It may be"))
        view.show(Progress(Stage.WITHDRAWN, note="The server went away."))
        assert not view.has_shown_answer
    assert screen.getvalue().startswith("It may be\n(The text above is withdrawn")
    with pytest.raises(KeyboardInterrupt):
        _show_until_interrupted()
    assert screen.getvalue().endswith("It\ufffd[2J may be\n")


def _show_until_interrupted():
    with AnswerView(Terminal(color="never"), hidden=True) as view:
        view.show(Progress(Stage.TEXT, note="It\x1b[2J may be"))
        raise KeyboardInterrupt
