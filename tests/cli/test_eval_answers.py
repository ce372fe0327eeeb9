"""`knotwork eval FILE`: the answers of an index, measured on questions with known answers."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.running import knotwork

from knotwork._extensions.evaluation import answer_runs
from knotwork._synthesis import engine
from knotwork.testing.model_server import Fault, FaultPlan, ModelTestServer

pytestmark = pytest.mark.slow


PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text(encoding="utf-8")
NO_MODEL = ("--set", "embedding.model=none")


@pytest.fixture
def questions(tmp_path) -> Path:
    """The example of docs/evaluation.md, which is about the sample."""
    path = tmp_path / "questions.jsonl"
    path.write_text(_block("json"), encoding="utf-8")
    return path


def _block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def run(sample_store, questions):
    def run_eval(*arguments):
        return knotwork("eval", questions, "--store", sample_store, *NO_MODEL, *arguments)

    return run_eval


def test_every_question_is_answered_as_by_ask(run, sample_store):
    payload = run("--json").json
    assert (payload["questions"], payload["unanswerable"]) == (6, 1)
    assert list(payload["settings"]) == ["as set"]
    for case in payload["cases"]:
        asked = knotwork("ask", case["question"], "--store", sample_store, "--json", *NO_MODEL).json
        result = case["results"]["as set"]
        assert (result["answer"], result["confidence"]) == (asked["answer"], asked["confidence"])
        assert result["documents"] == [cited["document"] for cited in asked["citations"]]


def test_figures_match_the_cases(run):
    payload = run("--json").json
    results = [case["results"]["as set"] for case in payload["cases"]]
    answerable = [r for r, c in zip(results, payload["cases"], strict=True) if c["expected"]]
    figures = payload["settings"]["as set"]
    for name in ("right", "right_first", "found"):
        assert figures[name] == pytest.approx(sum(r[name] for r in answerable) / 5, abs=1e-4)
    assert figures["refused_wrongly"] == sum(not r["answered"] for r in answerable) / 5
    noise = [noise for result in answerable for noise in result["noise"]]
    assert figures["noise"] == pytest.approx(sum(noise) / len(noise), abs=1e-4)
    low, high = figures["right_interval"]
    assert low < figures["right"] <= high
    assert figures["questions"] == sum(g["questions"] for g in figures["by_type"].values())
    assert payload["comparisons"] == []


def test_the_table_of_the_documentation_has_the_same_questions(run, questions):
    table = questions.with_suffix(".csv")
    table.write_text(_block("csv"), encoding="utf-8")
    lines = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    first = run("--json").json
    second = knotwork(
        "eval", table, "--store", first["settings"]["as set"]["store"], "--json", *NO_MODEL
    ).json
    assert len(lines) == second["questions"]
    for one, other in zip(first["cases"], second["cases"], strict=True):
        assert (one["question"], one["expected"]) == (other["question"], other["expected"])
        assert one["results"]["as set"]["right"] == other["results"]["as set"]["right"]


def test_figures_are_printed_with_their_names(run):
    outcome = run()
    assert outcome.code == 0
    assert "6 questions, 1 without an answer in the documents" in outcome.out
    labels = set(re.findall(r"^\| \*\*(.+?)\*\*", PAGE, re.MULTILINE))
    none_given = "Right short answers"  # without a reader none is given
    assert {label for label in labels if label not in outcome.out} == {none_given}
    assert "By type" in outcome.out
    assert "Paired" not in outcome.out


def test_two_settings_stand_side_by_side(run):
    payload = run("--compare", "answer.max_sentences=1", "--json").json
    one = payload["settings"]["answer.max_sentences=1"]
    assert one["words"] < payload["settings"]["as set"]["words"]
    assert one["found"] == payload["settings"]["as set"]["found"]
    words = next(item for item in payload["comparisons"] if item["metric"] == "words")
    assert (words["first"], words["second"]) == ("as set", "answer.max_sentences=1")
    assert words["difference"] > 0
    printed = run("--compare", "answer.max_sentences=1").out
    assert "Paired difference of answer.max_sentences=1 to as set" in printed
    assert "By type (as set)" in printed


def test_several_settings_are_compared_at_once_and_over_those_given(run):
    both = "retrieval.k=1; answer.abstain_below=1"
    payload = run("--set", "answer.abstain_below=0", "--compare", both, "--json").json
    assert payload["settings"]["as set"]["refused_wrongly"] == 0
    assert payload["settings"][both]["refused_wrongly"] == 1
    assert payload["settings"][both]["refused_rightly"] == 1


def test_two_indexes_are_compared_on_the_same_questions(run, sample_store, tmp_path):
    other = tmp_path / "other.knot"
    shutil.copy(sample_store, other)
    assert knotwork("delete", "sample/en/*", "--store", other).code == 0
    outcome = run("--compare", f"store.path={other}", "--json")
    figures = outcome.json["settings"]
    assert figures[f"store.path={other}"]["store"] == str(other)
    assert figures[f"store.path={other}"]["right"] < figures["as set"]["right"]
    assert figures[f"store.path={other}"]["missing_documents"][:1] == ["kestrel-probe.html"]
    assert figures["as set"]["missing_documents"] == []
    assert f"Line 1: no document `kestrel-probe.html` in {other}" in outcome.err
    assert "… and 1 more documents" in outcome.err


def test_wrong_answers_are_shown_with_what_was_printed(run):
    text = run("--show", "wrong", "--set", "answer.abstain_below=1").out
    assert text.count("refused wrongly, answer in the passages found") >= 4
    assert "expected: 41 metres | 41 m" in text
    assert "Merlin" not in text  # refusing it is right
    everything = run("--show", "all").out
    assert all(case in everything for case in ("refused rightly", "right, confidence"))
    assert "Oriane Keld" in everything


def test_only_questions_that_changed_are_shown(run):
    changed = run("--show", "changed", "--compare", "answer.abstain_below=1").out
    assert "answer.abstain_below=1: refused wrongly" in changed
    assert "Merlin" not in changed
    refused = run("--show", "changed", "--json")
    assert (refused.code, "--compare" in refused.json["error"]["fix"]) == (2, True)


def test_a_limit_asks_the_first_questions(run):
    payload = run("--limit", 2, "--json").json
    assert payload["questions"] == 2
    assert payload["settings"]["as set"]["refused_rightly"] is None
    assert "Refused rightly" not in run("--limit", 2).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--compare", "index.chunk_tokens=300"), "do not change the answers"),
        (("--compare", "answer.max_sentence=3"), "Unknown setting `answer.max_sentence`"),
        (("--compare", "answer.max_sentences"), "has no value"),
        (("--compare", " ; "), "`--compare` is empty"),
        (("--compare", "retrieval.retriever=bm52"), "Unknown retriever `bm52`"),
        (("--compare", "store.path=none.knot"), "There is no index at"),
        (("--compare", "retrieval.k=1", "--compare", "retrieval.k=1"), "are the same"),
        (("--show", "rong"), "Unknown value of --show `rong`"),
        (("--retrievers", "bm25"), "`--retrievers` does not apply"),
        (("--budget", "much"), "`much` is not a budget"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_asked(run, arguments, said, monkeypatch):
    monkeypatch.setattr(answer_runs, "judge_answer", None)
    outcome = run(*arguments, "--json")
    assert outcome.code == 2
    assert said in outcome.json["error"]["message"]


def test_options_of_answers_do_not_apply_to_a_data_set(tmp_path):
    outcome = knotwork("eval", tmp_path, "--show", "wrong", "--json")
    assert outcome.code == 2
    assert "which is a folder" in outcome.json["error"]["message"]


def test_a_wrong_line_is_named_before_anything_is_asked(run, questions):
    questions.write_text('{"question": "Who?", "answers": "Ada"}\n{"question": "Why?"}\n', "utf-8")
    outcome = run("--json")
    assert outcome.code == 2
    assert "line 2 has no `answers`" in outcome.json["error"]["message"]


def test_an_index_that_is_missing_is_an_error(questions):
    outcome = knotwork("eval", questions, "--store", "none.knot", "--json", *NO_MODEL)
    assert (outcome.code, outcome.json["error"]["code"]) == (2, "store_not_found")
    assert not Path("none.knot").exists()


def test_ctrl_c_leaves_the_index_as_it_was(run, sample_store, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = sample_store.read_bytes()
    monkeypatch.setattr(answer_runs, "judge_answer", interrupt)
    outcome = run("--json")
    assert (outcome.code, outcome.json["error"]["code"]) == (130, "interrupted")
    assert sample_store.read_bytes() == before


def test_a_model_is_measured_against_quotes_and_its_failures_are_noted(
    sample_store, questions, tmp_path, monkeypatch
):
    copied = tmp_path / "sample.knot"
    shutil.copy(sample_store, copied)
    monkeypatch.setattr(
        engine, "WHILE_SOMEONE_WAITS", replace(engine.WHILE_SOMEONE_WAITS, sleep=lambda _: None)
    )
    line = ("eval", questions, "--store", copied, "--limit", 2, "--json", *NO_MODEL)
    quoting = ("--compare", "llm.model=none")
    with ModelTestServer() as server:
        model = ("--set", "llm.model=openai:test", "--set", f"llm.base_url={server.url}")
        written = knotwork(*line, *model, *quoting).json["settings"]
        assert server.traffic.totals.calls == 2
    assert written["as set"]["tokens"] > 0
    assert written["llm.model=none"]["tokens"] == 0
    with ModelTestServer(faults=FaultPlan(rates={Fault.SERVER_ERROR: 1.0})) as server:
        copied.with_name("sample.knot.calls").unlink()
        model = ("--set", "llm.model=openai:test", "--set", f"llm.base_url={server.url}")
        outcome = knotwork(*line, *model)
    assert outcome.code == 0
    assert "2 answers with a note" in outcome.err


def test_filters_narrow_every_question(run, tmp_path):
    every, narrow = run("--json").json, run("--json", "--where", "path = zh").json
    cited = [
        document for case in narrow["cases"] for document in case["results"]["as set"]["documents"]
    ]
    assert cited
    assert all("/zh/" in document for document in cited)
    assert narrow["settings"]["as set"]["right"] < every["settings"]["as set"]["right"]
    wrong = run("--where", "colour = red")
    assert wrong.code == 2
    assert "colour" in wrong.err
    assert "Asking" not in wrong.err
    folder = knotwork("eval", tmp_path, "--where", "path = zh")
    assert folder.code == 2
    assert "`--where` does not apply" in folder.err
