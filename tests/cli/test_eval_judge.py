"""`knotwork eval FILE --judge --robustness`: cost, totals, labels and errors."""

from __future__ import annotations

import json
import shutil

import pytest
from benchmarks.judging.word_judge import word_judge
from tests.cli.running import knotwork

from knotwork._inference.chat import ChatRequest
from knotwork.testing.model_server import ModelTestServer

pytestmark = pytest.mark.slow

QUESTIONS = [
    {"question": "Who designed the Kestrel probe?", "answers": "Oriane Keld",
     "documents": ["kestrel-probe.html"]},
    {"question": "At what depth is the salt layer of Lake Ashmere?",
     "answers": ["41 metres", "41 m"], "documents": ["ashmere-salt-layer.md"]},
    {"question": "Who is the mayor of Corvane?", "answers": []},
]  # fmt: skip
NO_MODEL = ("--set", "embedding.model=none")


def judging_brain(messages):
    """Judge as `word_judge` does."""
    return word_judge().complete(ChatRequest(tuple(messages), max_output_tokens=4_000)).text


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, QUESTIONS)), encoding="utf-8")
    return path


@pytest.fixture
def run(sample_store, tmp_path, questions):
    store = tmp_path / "copy.knot"
    shutil.copy(sample_store, store)

    def run_eval(*arguments):
        return knotwork("eval", questions, "--store", store, *NO_MODEL, *arguments)

    return run_eval


@pytest.fixture
def judged(run):
    with ModelTestServer(judging_brain) as server:

        def run_judged(*arguments):
            model = ("--set", "llm.judge=openai:test", "--set", f"llm.base_url={server.url}")
            return run("--judge", *model, "--set", "llm.prices=openai:* 1 2", *arguments)

        run_judged.server = server
        yield run_judged


def test_the_judge_gives_totals_and_rows_and_a_second_run_is_free(judged):
    outcome = judged("--json")
    assert outcome.code == 0
    assert "Judging (as set):" in outcome.err
    assert "cost at most" in outcome.err
    payload = outcome.json["settings"]["as set"]
    report = payload["judge"]
    recall = report["metrics"]["context_recall"]
    assert (recall["mean"], recall["scored"], recall["inapplicable"]) == (1.0, 2, 1)
    assert recall["interval"][0] < 1.0
    assert report["metrics"]["answer_relevance"]["inapplicable"] == 3
    assert [case["id"] for case in report["cases"]] == ["line 1", "line 2", "line 3"]
    assert report["cases"][0]["values"]["faithfulness"]["verdicts"]
    calls = judged.server.traffic.totals.calls
    assert payload["usage"]["calls"] == calls > 0
    again = judged("--json")
    assert judged.server.traffic.totals.calls == calls
    assert "Judging" not in again.err
    second = again.json["settings"]["as set"]
    assert second["judge"] == report
    assert second["usage"]["calls"] == 0


def test_an_estimate_makes_no_call(judged):
    outcome = judged("--estimate", "--robustness")
    assert outcome.code == 0
    assert judged.server.traffic.totals.calls == 0
    for word in ("Calls", "Tokens", "Cost"):
        assert word in outcome.out
    estimate = judged("--estimate", "--json").json["settings"]["as set"]["estimate"]
    assert estimate["calls"] > 0
    assert float(estimate["money"]["expected"]) > 0


def test_a_budget_stops_the_judge_and_the_next_run_continues(judged):
    stopped = judged("--budget", "1000")
    assert stopped.code == 4
    assert "budget" in stopped.err
    made = judged.server.traffic.totals.calls
    assert made < 8
    assert judged().code == 0
    assert judged.server.traffic.totals.calls > made


def test_tables_show_every_figure(judged):
    outcome = judged("--robustness")
    assert outcome.code == 0
    for words in (
        "Judged by openai:test", "Faithfulness", "Context recall", "unreadable",
        "Robustness (as set): 2 questions with gold passages", "Refused without gold passages",
        "follows the changed fact", "by the judge model",
    ):  # fmt: skip
        assert words in outcome.out


def test_robustness_needs_no_model(run):
    described = run("--robustness", "--json").json["settings"]["as set"]
    figures = described["robustness"]["figures"]
    assert described["robustness"]["questions"] == 2
    assert figures["noise_0"]["trials"] == 2
    assert not any(figure["needs_judge"] for figure in figures.values())
    assert "judge" not in described
    trials = described["robustness"]["trials"]
    assert {trial["condition"] for trial in trials} == {
        "noise", "without_gold", "counterfactual", "conflict"
    }  # fmt: skip
    assert (
        run("--robustness", "--json").json["settings"]["as set"]["robustness"]["trials"] == trials
    )


def test_answers_are_saved_labelled_and_judge_the_judge(judged, tmp_path):
    path = tmp_path / "labels.jsonl"
    assert judged("--to-label", path).code == 0
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(records) == 3
    for record in records:
        record["labels"]["faithfulness"] = True
        record["labels"]["context_recall"] = 0
    text = "\n".join(map(json.dumps, records))
    path.write_text(text, encoding="utf-8")
    outcome = judged("--labels", path, "--json")
    agreement = outcome.json["settings"]["as set"]["judge"]["agreement"]
    # The judge of the tests compares words: it takes the rows of a table for unfaithful.
    assert agreement["faithfulness"]["accuracy"] == 1.0
    assert agreement["context_recall"]["accuracy"] == 0.0
    assert agreement["context_recall"]["inapplicable"] == 1
    assert "The judge against 3 labelled answers" in judged("--labels", path).out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--judge",), "No judge model is set"),
        (("--estimate",), "`--estimate` requires --judge"),
        (("--labels", "x.jsonl"), "`--labels` requires --judge"),
        (("--retry",), "`--retry` requires --judge"),
        (("--judge", "--labels", "gone.jsonl"), "`gone.jsonl` does not exist"),
    ],
)
def test_a_wrong_use_fails_before_a_question_is_asked(run, arguments, words):
    outcome = run(*arguments)
    assert outcome.code != 0
    assert words in outcome.err
    assert outcome.out == ""


def test_unreadable_replies_are_reported(run):
    with ModelTestServer(lambda _: "I would rather not say.") as server:
        model = ("--set", "llm.judge=openai:test", "--set", f"llm.base_url={server.url}")
        outcome = run("--judge", *model)
        described = run("--judge", *model, "--json").json["settings"]["as set"]["judge"]
        calls = server.traffic.totals.calls
        assert run("--judge", *model, "--retry").code == 0
        assert server.traffic.totals.calls == 2 * calls
    assert outcome.code == 0
    assert "could not be read" in outcome.err
    assert described["metrics"]["faithfulness"]["mean"] is None
    assert described["metrics"]["faithfulness"]["unreadable"] > 0
