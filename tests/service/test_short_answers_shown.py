"""The short answer, in bold in front wherever an answer is shown, and by itself for programs."""

import io
import re

import pytest
from rich.console import Console
from tests.cli.running import knotwork
from tests.service.serving import add_key, copy_index, make_settings, run_server

import knotwork as package
from knotwork._cli.terminal import Terminal
from knotwork._extensions.mcp.results import format_answer, to_answer_result
from knotwork._extensions.notebook.views import render
from knotwork._extensions.server.server import ServerConfig
from knotwork._shapes.results import ANSWER
from knotwork._synthesis import ask_request, extractive_answers
from knotwork.records import AnswerSpan, Prediction, Span

pytestmark = pytest.mark.slow


QUESTION, WORDS = "Who approves trips abroad?", "Travel Office"


class Finder:
    """Predicts that the sentences with `WORDS` answer, with these words. Embeds nothing."""

    embedder = ""

    def read(self, question, passages):
        for passage in passages:
            odds, answers = [], []
            for sentence in passage.sentences:
                at = passage.text.find(WORDS, sentence.start, sentence.end)
                odds.append(9.0 if at >= 0 else -9.0)
                answers.append(AnswerSpan(Span(at, at + len(WORDS)), 1.0) if at >= 0 else None)
            yield Prediction(tuple(odds), tuple(answers))


@pytest.fixture(autouse=True)
def sure_reader(monkeypatch):
    monkeypatch.setattr(ask_request, "open_reader", lambda setting: Finder())
    monkeypatch.setattr(extractive_answers, "LEAST_PROBABILITY", 0.0)


@pytest.fixture
def kb(sample_index):
    with package.open(str(sample_index), settings=make_settings()) as base:
        yield base


@pytest.fixture
def answer(kb):
    answer = kb.ask(QUESTION, retriever="bm25")
    assert answer.short == WORDS
    assert WORDS in answer.text
    return answer


def test_programs_get_the_text_alone(answer):
    assert ANSWER(answer)["short"] == WORDS
    reply = to_answer_result(answer)
    assert reply["short"] == WORDS
    assert format_answer(reply).startswith(f"{WORDS} — {answer.text}\n")
    assert f"<b>{WORDS}</b> — " in render(answer)


def test_a_terminal_shows_it_in_bold_in_front(answer, monkeypatch):
    terminal, stream = Terminal(color="always"), io.StringIO()
    terminal.__dict__["out"] = Console(file=stream, force_terminal=True, width=30)
    terminal.say(answer.text, lead=answer.short)
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith(f"\x1b[1m{WORDS}\x1b[0m")
    assert all("\x1b[1m" not in line for line in lines[1:])
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert " ".join(plain) == f"{WORDS} — {answer.text}"


def test_a_lead_that_is_longer_than_a_line_is_bold_to_its_end():
    terminal, stream = Terminal(color="always"), io.StringIO()
    terminal.__dict__["out"] = Console(file=stream, force_terminal=True, width=20)
    terminal.say("The rest.", lead="one two three four five six seven")
    bold = re.findall(r"\x1b\[1m(.*?)\x1b\[0m", stream.getvalue())
    assert " ".join(bold) == "one two three four five six seven"


def test_the_command_prints_it_in_front(sample_index):
    flags = ("--set", "embedding.model=hashing:64")
    shown = knotwork("ask", QUESTION, "--store", sample_index, "--retriever", "bm25", *flags)
    assert shown.code == 0, shown.err
    assert shown.out.startswith(f"{WORDS} — ")


def test_adapters_show_it_in_bold(kb, answer):
    langchain = pytest.importorskip("knotwork.adapters.langchain")
    llama_index = pytest.importorskip("knotwork.adapters.llama_index")
    told = langchain.build_ask_tool(kb, retriever="bm25").invoke(QUESTION)
    assert told.startswith(f"**{WORDS}** — {answer.text}\n")
    response = llama_index.KnotworkQueryEngine(knowledge_base=kb, retriever="bm25").query(QUESTION)
    assert response.response == f"**{WORDS}** — {answer.text}"
    assert response.metadata["short"] == WORDS


@pytest.mark.parametrize("streams", [False, True])
def test_marks_stand_where_annotations_say_behind_it(sample_index, tmp_path, streams):
    openai = pytest.importorskip("openai")
    place = ServerConfig(tmp_path, make_settings())
    copy_index(sample_index, place.path / "open.knot")
    key = add_key(place, "mine", "read", "open")["Authorization"].removeprefix("Bearer ")
    asked = {"model": "open:bm25", "messages": [{"role": "user", "content": QUESTION}]}
    with (
        run_server(place) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) as client,
    ):
        if streams:
            deltas = [
                chunk.choices[0].delta
                for chunk in client.chat.completions.create(**asked, stream=True)
                if chunk.choices
            ]
            text = "".join(delta.content or "" for delta in deltas)
            places = [a["url_citation"] for d in deltas for a in getattr(d, "annotations", [])]
        else:
            message = client.chat.completions.create(**asked).choices[0].message
            text = message.content
            places = [annotation.url_citation.model_dump() for annotation in message.annotations]
    assert text.startswith(f"**{WORDS}** — ")
    marks = [text[place["start_index"] : place["end_index"]] for place in places]
    assert marks
    assert all(re.fullmatch(r"\[\d+\]", mark) for mark in marks)
