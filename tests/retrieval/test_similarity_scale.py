"""An embedder with cosines in a narrow band ranks as one with the same cosines spread out."""

from collections import Counter

import pytest
from tests.retrieval.given_vectors import DistinctEmbedder, SqueezedEmbedder
from tests.retrieval.small_index import PASSAGES, build_index

from knotwork._inference.embedder import baseline_cosine
from knotwork._retrieval.retriever_registry import build_retriever, retriever_names
from knotwork._stores.urls import open_store
from knotwork.records import Query

pytestmark = pytest.mark.slow


WIDE, NARROW = "local:all-MiniLM-L6-v2", "local:multilingual-e5-small"
QUESTIONS = [
    "Where did the director of Silver Lantern grow up?",
    "Which tree has bark that peels?",
    "Which river flows through Tartu?",
    "Who made pictures on a small budget?",
    "长江发源于哪里？",
    "reiher jagd fisch ufer",
]


SPREAD = DistinctEmbedder(WIDE)
SQUEEZED = SqueezedEmbedder(DistinctEmbedder(WIDE), name=NARROW)


@pytest.fixture(scope="module")
def wide():
    return build_index(open_store("memory:"), SPREAD)


@pytest.fixture(scope="module")
def narrow():
    return build_index(open_store("memory:"), SQUEEZED)


def ask(store, embedder, name, question):
    retriever = build_retriever(name, store=store, embedder=embedder)
    return retriever.retrieve(Query(question, k=len(PASSAGES))).hits


def test_cosines_are_scaled_like_the_model(wide, narrow):
    assert baseline_cosine(NARROW) == 0.75
    assert baseline_cosine(WIDE) == 0
    for question in QUESTIONS:
        spread = {hit.chunk.id: hit.score for hit in ask(wide, SPREAD, "dense", question)}
        squeezed = {hit.chunk.id: hit.score for hit in ask(narrow, SQUEEZED, "dense", question)}
        assert squeezed == pytest.approx({i: 0.75 + 0.25 * c for i, c in spread.items()}, abs=1e-5)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", [*retriever_names()])
def test_both_rank_alike(wide, narrow, name, question):
    spread = ask(wide, SPREAD, name, question)
    squeezed = ask(narrow, SQUEEZED, name, question)
    assert [hit.chunk.id for hit in squeezed] == [hit.chunk.id for hit in spread]
    if name != "dense":
        scores = [hit.score for hit in spread]
        assert [hit.score for hit in squeezed] == pytest.approx(scores, abs=1e-4)


def test_without_the_scale_they_would_not(wide):
    """The test above sees the difference: squeezed vectors under a name without a baseline."""
    unscaled = SqueezedEmbedder(DistinctEmbedder(WIDE), name="local:unknown")
    store = build_index(open_store("memory:"), unscaled)
    differences = Counter()
    for name in ("hybrid", "graph"):
        for question in QUESTIONS:
            spread = ask(wide, SPREAD, name, question)
            found = ask(store, unscaled, name, question)
            differences[name] += [h.chunk.id for h in found] != [h.chunk.id for h in spread]
    assert min(differences.values()) > 0
