"""A language model reads, reports, answers, is paid for once, and may fail or be too dear."""

import re

import pytest

import knotwork
from knotwork.errors import BudgetExceeded
from knotwork.records import Document
from knotwork.testing import Fault, FaultPlan, ModelTestServer, ScriptedChatModel

pytestmark = pytest.mark.slow

QUESTION = "Who approves trips abroad?"
TEXTS = {
    "firms.txt": "Ada Smith founded Acme London in 1900. Bob Jones led Acme London from Oslo.",
    "boats.txt": "Carol White sailed to Bergen with Bob Jones. Carol White knows Ada Smith.",
    "长江.txt": "王小明在北京大学工作。他与李华一起创办了长江公司。",
}


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_reading_with_a_model_is_estimated_paid_once_and_told(with_model, docs, own_cli):
    store = ("--store", "new.knot")
    estimate = own_cli("index", docs, "--tier", "full", "--estimate", "--json", *store).json
    assert estimate["documents"] == 3
    assert estimate["spent"]["calls"] > 0
    told = own_cli("index", docs, "--tier", "full", "--json", *store).json
    calls = with_model.traffic.totals.calls
    assert calls > 0
    assert told["added"] == 3
    assert sum(told["model"]["readings"].values()) == told["chunks"]
    assert told["model"]["usage"]
    assert told["model"]["money"]
    again = own_cli("index", docs, "--tier", "full", "--json", *store).json
    assert (again["unchanged"], with_model.traffic.totals.calls) == (3, calls)
    found = own_cli("explore", "Carol White", *store).out
    assert "Bob Jones" in found


def test_answers_of_a_model_are_cited_and_cached(with_model, own_index):
    with knotwork.open(own_index) as base:
        first = base.ask(QUESTION)
        assert first.model == "openai:brain"
        assert "Travel Office" in first.text
        assert (first.usage.model_calls, first.usage.reused_calls) == (1, 0)
        assert first.usage.input_tokens == with_model.traffic.totals.input_tokens
        for citation in first.citations:
            start, end = citation.span
            assert base.document(citation.document).text[start:end] == citation.quote
        again = base.ask(QUESTION)
        assert (again.text, again.usage.model_calls) == (first.text, 0)
        assert again.usage.reused_calls == 1
        assert with_model.traffic.totals.calls == 1
        quoted = base.ask(QUESTION, use_llm=False)
        assert (quoted.model, quoted.usage.model_calls) == ("", 0)


@pytest.mark.parametrize("mode", ["basic", "local", "global", "map-reduce", "hybrid", "drift"])
def test_a_model_answers_in_each_mode(with_model, own_index, mode):
    with knotwork.open(own_index) as base:
        answer = base.ask("What is said about the Heron buoy?", mode=mode)
        assert answer.mode == mode
        assert answer.answered, (answer.reason, answer.notes)
        assert answer.model == "openai:brain"
        assert answer.citations
        stages = {stage.stage for stage in answer.usage.stages}
        assert stages
        if mode == "map-reduce":
            assert {"map", "reduce"} <= stages


def test_a_chinese_question_is_asked_in_chinese(with_model, own_index):
    with knotwork.open(own_index) as base:
        answer = base.ask("海外出差由谁审批？")
    assert "办事处主任" in answer.text
    (call,) = with_model.traffic.calls
    asked = "".join(message["content"] for message in call.body["messages"])
    assert re.search("[\u4e00-\u9fff]{4}", asked.split("<")[0])


def test_a_budget_that_is_too_small_sends_nothing(with_model, own_index, own_cli):
    with knotwork.open(own_index) as base, pytest.raises(BudgetExceeded):
        base.ask(QUESTION, budget="10", fallback=False)
    assert with_model.traffic.totals.calls == 0
    outcome = own_cli("ask", QUESTION, "--budget", "10", "--no-fallback", "--json")
    assert outcome.code == 4
    assert outcome.json["error"]["code"] == "budget_exceeded"
    assert outcome.json["error"]["fix"]


def test_a_model_that_fails_leaves_quoted_sentences_and_a_note(own_index):
    with (
        ModelTestServer(faults=FaultPlan(rates={Fault.GARBAGE: 1.0})) as server,
        knotwork.open(own_index, llm_model="openai:brain", llm_base_url=server.url) as base,
    ):
        answer = base.ask(QUESTION)
        assert answer.model == ""
        assert "Travel Office" in answer.text
        assert answer.notes


def test_a_scripted_model_follows_its_script_and_is_checked(own_index):
    model = ScriptedChatModel(lambda request: "Trips abroad are approved by the Travel Office. [1]")
    with knotwork.open(own_index, chat_model=model) as base:
        answer = base.ask(QUESTION)
    assert answer.model == "scripted:test"
    assert answer.text == "Trips abroad are approved by the Travel Office. [1]"
    assert answer.citations[0].document == "papers/en/travel-policy.docx"
    assert len(model.requests) == 1


def test_a_statement_of_a_model_that_no_source_says_is_left_out(own_index):
    wrong = "Trips abroad are approved by the Queen of Denmark in 1733. [1]"
    with knotwork.open(own_index, chat_model=ScriptedChatModel(lambda _: wrong)) as base:
        answer = base.ask(QUESTION)
    assert "Denmark" not in answer.text
    assert answer.notes


def test_prompts_of_ones_own_are_sent(with_model, own_index, own_cli, tmp_path):
    copied = own_cli("prompts", "copy", "own", "--json").json
    assert "answer.en.txt" in copied["written"]
    prompt = tmp_path / "own" / "answer.en.txt"
    system, line, user = prompt.read_text("utf-8").partition("\n---\n")
    prompt.write_text(f"{system}\nWrite like a sailor.{line}{user}", encoding="utf-8")
    assert own_cli("prompts", "check", "own", "--json").json["ok"]
    with knotwork.open(own_index, prompts_dir=str(tmp_path / "own")) as base:
        assert base.ask(QUESTION).answered
    (call,) = with_model.traffic.calls
    assert "Write like a sailor." in "".join(m["content"] for m in call.body["messages"])


def test_a_model_writes_reports_of_communities_and_proposes_a_schema(with_model, docs, own_cli):
    store = ("--store", "new.knot")
    assert own_cli("index", docs, "--tier", "full", *store).code == 0
    proposed = own_cli("schema", "propose", "-o", "schema.toml", "--json", *store).json
    assert proposed["model"] == "openai:brain"
    assert {"PERSON", "PLACE"} <= {kind["name"] for kind in proposed["entity_types"]}
    assert "founded" in {kind["name"] for kind in proposed["relation_types"]}
    listed = own_cli("communities", "--json", *store).json["communities"]
    assert listed
    assert all(topic["title"] and topic["summary"] for topic in listed)


def test_a_strict_schema_keeps_the_graph_to_its_types(with_model, docs, tmp_path):
    schema = tmp_path / "schema.toml"
    schema.write_text('strict = true\nentity_types = []\nrelation_types = ["founded"]\n')
    with knotwork.open(
        tmp_path / "strict.knot",
        llm_tier="full",
        extraction_schema=str(schema),
        extraction_strict=True,
    ) as base:
        base.index(docs)
        relations = base.stats().graph.relations
        assert set(relations) == {"founded"}


def test_names_in_doubt_are_judged_by_the_model(with_model, tmp_path):
    with knotwork.open(tmp_path / "zh.knot", llm_tier="full") as base:
        base.index_documents(
            Document(
                f"{n}.txt",
                f"王建国在南京创办了南京长江造船{form}。李秀英担任南京长江造船{form}的总工程师。",
            )
            for n, form in enumerate(["有限公司", "公司", "有限公司", "公司"])
        )
        names = [set(group.names) for group in base.entities.aliases().things]
        assert {"南京长江造船有限公司", "南京长江造船公司"} in names


@pytest.mark.parametrize(
    "specification",
    [
        "rewrite(by=model) > bm25",
        "expand(by=model) > bm25",
        "hyde(by=model) > bm25",
        "decompose(by=model) > bm25",
        "bm25 > rerank(by=model)",
        "text_to_cypher",
    ],
)
def test_a_model_takes_part_in_a_search(with_model, own_index, specification):
    question = "Where was the designer of the Kestrel probe born?"
    with knotwork.open(own_index) as base:
        evidence = base.search(question, retriever=specification, k=5)
        assert evidence.hits
        assert base.search(question, retriever=specification, k=5).hits == evidence.hits
    assert with_model.traffic.totals.calls > 0
