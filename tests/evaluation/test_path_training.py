"""Questions made of a graph state paths that lead to their answers; a ranker learns from them."""

import json

import pytest
from tests.retrieval.paths.films import FAMILY, FILMS, put_triples

from knotwork._extensions.evaluation.path_training import (
    PathQuestion,
    collect_examples,
    fit_ranker,
    make_path_questions,
    overlap,
    read_path_questions,
    train_ranker,
)
from knotwork._extensions.paths.path_features import FEATURES
from knotwork._extensions.paths.path_retriever import PathsRetriever
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError, RetrievalError
from knotwork.records import entity_id

SMALL = {"trees": 12, "least_in_leaf": 5}


@pytest.fixture(scope="module")
def films():
    return put_triples(open_store("memory:", create=True), FILMS)


def test_made_questions_have_paths_to_their_answers(films):
    questions = make_path_questions(films, count=25, seed=3)
    assert len(questions) > 10
    assert questions == make_path_questions(films, count=25, seed=3)
    examples = list(collect_examples(films, questions))
    reached = sum(one.overlaps.max() == 1.0 for one in examples)
    assert reached >= 0.9 * len(questions)


def test_questions_about_a_chinese_graph_are_chinese():
    store = put_triples(open_store("memory:", create=True), FAMILY)
    questions = make_path_questions(store, count=10)
    assert questions
    assert all(not question.text.isascii() and "{" not in question.text for question in questions)


def test_training_reports_what_it_did_and_its_model_ranks(films, tmp_path):
    pytest.importorskip("lightgbm")
    questions = make_path_questions(films, count=40)
    report = train_ranker(films, questions, **SMALL)
    assert report.questions == len(questions)
    assert 0 < report.held_back < report.usable
    assert 0.0 <= report.right_at_1 <= report.right_at_3 <= 1.0
    assert set(report.importances) == set(FEATURES)
    assert sum(report.importances.values()) == pytest.approx(1.0)
    path = tmp_path / "paths.model"
    path.write_text(report.model)
    assert PathsRetriever(store=films, options=PathsRetriever.Options(trees=path))
    assert report.model == train_ranker(films, questions, **SMALL).model


def test_questions_without_a_path_cannot_train(films):
    pytest.importorskip("lightgbm")
    wrong = [PathQuestion("who directed Silver Lantern", frozenset({entity_id("nobody")}))]
    with pytest.raises(RetrievalError, match="No path"):
        fit_ranker(list(collect_examples(films, wrong)))


def test_labelled_questions_are_read(tmp_path):
    path = tmp_path / "asked.jsonl"
    rows = [
        {"question": "who?", "answers": ["Marta Ilves"]},
        {"question": "谁？", "answer": ["权璩", "权珏"]},
    ]
    path.write_text("\n\n".join(json.dumps(row) for row in rows))
    first, second = read_path_questions(path)
    assert first == PathQuestion("who?", frozenset({entity_id("marta ilves")}))
    assert len(second.answers) == 2


@pytest.mark.parametrize("line", ["{", "[]", '{"question": "who?"}', '{"answers": ["x"]}', "3"])
def test_a_line_that_is_no_question_is_named(tmp_path, line):
    path = tmp_path / "asked.jsonl"
    path.write_text('{"question": "who?", "answers": ["x"]}\n' + line)
    with pytest.raises(ConfigError, match="line 2"):
        read_path_questions(path)


def test_overlap_is_f1():
    assert overlap(frozenset("ab"), frozenset("ab")) == 1.0
    assert overlap(frozenset("ab"), frozenset("bc")) == 0.5
    assert overlap(frozenset("a"), frozenset("b")) == 0.0
    assert overlap(frozenset(), frozenset()) == 0.0
