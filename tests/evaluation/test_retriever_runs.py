"""A data set from disk to a report, on a small corpus."""

import json

import pytest
from tests.retrieval.small_index import PASSAGES
from tests.stores.minimal_store import MinimalStore

from knotwork._extensions.evaluation.questions import load_dataset
from knotwork._extensions.evaluation.retriever_runs import (
    EvaluationRun,
    describe_retriever_runs,
    evaluate_retrievers,
    index_dataset,
    index_path,
)
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._stores.urls import open_store
from knotwork._transform.extractor import make_extractor
from knotwork.errors import ConfigError, RetrievalError


@pytest.fixture
def folder(tmp_path):
    corpus = [{"pid": f"p{n}", "title": t, "text": x} for n, (t, x) in enumerate(PASSAGES.items())]
    questions = [
        {"qid": "1", "question": "What did Marta Ilves do?", "gold_pids": ["p1"]},
        {
            "qid": "2",
            "question": "Where did the director of Silver Lantern grow up?",
            "gold_pids": ["p0", "p1"],
            "gold_groups": [["p0"], ["p1", "p4"]],
        },
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), "utf-8")
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), "utf-8")
    return tmp_path


def index(dataset, store, embedder, splitter="whole"):
    extractor = make_extractor()
    index_dataset(dataset, store=store, embedder=embedder, extractor=extractor, splitter=splitter)


def test_every_retriever_is_measured_on_every_question(folder):
    dataset = load_dataset(folder)
    embedder = HashingEmbedder()
    store = open_store("memory:", create=True)
    index(dataset, store, embedder)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    steps = list(
        evaluate_retrievers(dataset, ["auto", "bm25"], store=store, embedder=embedder, run=run)
    )
    assert steps[-1].done == steps[-1].total == 4
    report = describe_retriever_runs(run)
    assert set(report["retrievers"]) == {"auto", "bm25"}
    assert report["retrievers"]["auto"]["recall@2"] == 1.0
    assert report["retrievers"]["auto"]["mrr"] == 1.0
    assert report["retrievers"]["bm25"]["all_gold@8"] <= 1.0
    assert report["tokens"] == {"auto": 0.0, "bm25": 0.0}
    differences = report["comparisons"]
    assert {(item["first"], item["second"]) for item in differences} == {("auto", "bm25")}
    assert [item["metric"] for item in differences] == list(report["retrievers"]["auto"])
    json.dumps(report)


def test_cases_that_cannot_run_are_skipped_with_a_reason_or_end_the_run(folder):
    dataset = load_dataset(folder)
    store = open_store("memory:", create=True)
    index(dataset, store, None)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    asked = list(
        evaluate_retrievers(
            dataset, ["bm25", "dense"], store=store, embedder=None, run=run, skipping=True
        )
    )
    assert asked[-1].done == 2
    assert list(run.runs) == ["bm25"]
    assert "needs an embedder" in run.skipped["dense"]
    with pytest.raises(RetrievalError, match="embedder"):
        list(evaluate_retrievers(dataset, ["dense"], store=store, embedder=None, run=run))


def test_a_retriever_that_the_store_cannot_serve_is_left_out_with_its_reason(folder):
    dataset = load_dataset(folder)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    names = ["dynamic_cypher"]
    asked = evaluate_retrievers(
        dataset, names, store=MinimalStore(), embedder=None, run=run, skipping=True
    )
    list(asked)
    assert "does not support Cypher" in run.skipped["dynamic_cypher"]


def test_a_second_run_embeds_nothing(folder, tmp_path):
    dataset = load_dataset(folder)
    embedder = HashingEmbedder()
    store = open_store(str(tmp_path / "cached.knot"), create=True)
    index(dataset, store, embedder)
    before = embedder.texts
    index(dataset, store, embedder)
    assert embedder.texts == before
    store.close()


def test_titles_can_be_hidden(folder):
    assert all(not document.title for document in load_dataset(folder, hide_titles=True).documents)
    assert load_dataset(folder).fingerprint != load_dataset(folder, hide_titles=True).fingerprint


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("corpus.jsonl", "{", r"corpus\.jsonl, line 1 is not JSON"),
        ("corpus.jsonl", "[]", r"line 1 is not an object"),
        ("corpus.jsonl", '{"pid": "a"}', "no text under `text`"),
        ("corpus.jsonl", "", "contains no passages"),
        ("questions.jsonl", '{"qid": "1"}', "no text under `question`"),
        (
            "questions.jsonl",
            '{"question": "Who?", "answers": [["Ada"], ["Grace"]]}',
            "several required parts",
        ),
    ],
)
def test_a_record_that_does_not_fit_is_named(folder, file, line, message):
    (folder / file).write_text(line, "utf-8")
    with pytest.raises(ConfigError, match=message):
        load_dataset(folder)


def test_answers_are_alternatives_also_as_one_part(folder):
    lines = (
        '{"question": "Who?", "answers": ["a", 1]}\n{"question": "How?", "answers": [["b", "c"]]}'
    )
    (folder / "questions.jsonl").write_text(lines, "utf-8")
    assert [case.answers for case in load_dataset(folder).cases] == [("a", "1"), ("b", "c")]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"corpus\.jsonl` does not exist"):
        load_dataset(tmp_path)


def test_documents_can_be_cut_and_what_was_found_is_shown(folder):
    dataset = load_dataset(folder)
    store = open_store("memory:", create=True)
    index(dataset, store, None, splitter="structure")
    run = EvaluationRun(dataset.name, len(dataset.cases))
    steps = list(evaluate_retrievers(dataset, ["bm25"], store=store, embedder=None, run=run))
    assert [step.case for step in steps] == list(dataset.cases)
    assert all(step.evidence.retriever == "bm25" and step.evidence.hits for step in steps)


def test_a_question_without_text_finds_nothing_and_counts(folder):
    (folder / "questions.jsonl").write_text('{"question": "", "gold_pids": ["p1"]}', "utf-8")
    dataset = load_dataset(folder)
    store = open_store("memory:", create=True)
    embedder = HashingEmbedder()
    index(dataset, store, embedder)
    run = EvaluationRun(dataset.name, len(dataset.cases))
    names = ["auto", "hybrid", "dense", "bm25", "pagerank"]
    steps = list(evaluate_retrievers(dataset, names, store=store, embedder=embedder, run=run))
    assert len(steps) == len(names)
    assert run.runs["bm25"].means()["recall@10"] == 0


def test_each_way_to_cut_has_an_index_of_its_own(folder, tmp_path):
    dataset = load_dataset(folder)
    paths = {
        index_path(dataset, embedder=embedder, folder=tmp_path, splitter=splitter)
        for embedder in (None, HashingEmbedder())
        for splitter in ("whole", "structure")
    }
    assert len(paths) == 4
