"""Weights of fusions, learned from questions with known documents."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import knotwork
from knotwork._extensions.evaluation.fusion_training import (
    FusionExample,
    _loss,
    collect_fusion_examples,
    fit_weights,
    read_parts,
    train_fusion,
    write_specification,
)
from knotwork._extensions.evaluation.questions import EvaluationCase
from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork.errors import ConfigError, RetrievalError
from knotwork.records import Document


def make_examples(count, *, seed=0):
    """Return questions of which the first retriever knows the answers, the second nothing, and the
    third what the first misses.
    """
    draw = np.random.default_rng(seed)
    for number in range(count):
        scores = draw.uniform(0, 0.6, size=(12, 3))
        scores[0] = (0.1, 0.3, 1.0) if number % 3 == 0 else (1.0, 0.3, 0.2)
        documents = tuple(f"d{row}" for row in range(12))
        yield FusionExample(scores, (np.array([0]),), documents, (frozenset({"d0"}),))


def test_weight_goes_to_those_who_know():
    weights = fit_weights(list(make_examples(60)))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > weights[2] > 0.15
    assert weights[1] < weights[2] / 2


def test_the_slope_matches_the_loss():
    examples = list(make_examples(7, seed=3))
    place = np.array([2.0, 0.5, 1.0])
    measured = approx_fprime(place, lambda w: _loss(w, examples)[0], 1e-6)
    np.testing.assert_allclose(_loss(place, examples)[1], measured, atol=1e-4)


def test_the_report_is_of_questions_that_were_not_learned_from():
    found = [*make_examples(60), None, None]
    report = train_fusion(["graph", "bm25", "decompose > dense"], found)
    assert (report.questions, report.usable) == (62, 60)
    assert report.specification == write_specification(report.weights)
    assert report.learned > report.single
    assert report.over_best.wins > report.over_best.losses
    assert report.best == "graph"
    shuffled = [
        FusionExample(
            e.scores, (np.array([row % 12]),), e.documents, (frozenset({f"d{row % 12}"}),)
        )
        for row, e in enumerate(make_examples(60, seed=1))
    ]
    lost = train_fusion(["graph", "bm25", "dense"], shuffled)
    assert lost.over_best.p_value > 0.05, "nothing can be learned from chance"


def test_too_few_questions_are_reported():
    with pytest.raises(RetrievalError, match="3 of 5 questions"):
        train_fusion(["graph", "bm25", "dense"], [*make_examples(3), None, None])


def test_sums_are_read_and_written():
    assert read_parts("2*graph + (decompose > bm25) + sentence_window(size=1)") == [
        "graph",
        "decompose > bm25",
        "sentence_window(size=1)",
    ]
    for text in ("graph", "graph + bm25 > diversify", "decompose > graph"):
        with pytest.raises(ConfigError, match="not a sum of retrievers"):
            read_parts(text)
    assert write_specification({"graph": 0.7, "decompose > bm25": 0.296, "dense": 0.004}) == (
        "0.7*graph + 0.3*(decompose > bm25)"
    )
    assert write_specification({"graph": 0.999, "dense": 0.001}) == "graph"


def test_trained_weights_match_the_fusion():
    texts = {
        "bridge.md": "The old bridge of Tartu was opened by Mayor Anna Kask in 1842.",
        "mayor.md": "Anna Kask was born in Narva. She opened many bridges and schools.",
        "school.md": "The school of Narva was built of stone, and has a long history.",
        "harbour.md": "The harbour of Narva is small. Ships from Tartu come on the river.",
    }
    with knotwork.open("memory:", embedder=HashingEmbedder(64)) as kb:
        kb.index_documents(Document(uri, text) for uri, text in texts.items())
        case = EvaluationCase("1", "Where was the mayor born who opened the bridge?",
                    gold=(frozenset({"mayor.md"}),))  # fmt: skip
        parts = ["graph", "bm25", "dense"]
        (example,) = collect_fusion_examples(
            parts, [case], lambda text, part: kb.search(text, retriever=part, k=50)
        )
        weights = {"graph": 0.2, "bm25": 0.5, "dense": 0.3}
        fused = kb.search(case.question, retriever=write_specification(weights), k=50)
        order = np.argsort(-(example.scores @ list(weights.values())), kind="stable")
        assert [h.chunk.document_id for h in fused.hits] == [example.documents[i] for i in order]
        assert example.recall(np.array([1.0, 0.0, 0.0])) == 1.0
