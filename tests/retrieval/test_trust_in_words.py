"""Words count by how much of a question the index holds; vectors decide the rest."""

from itertools import pairwise

import numpy as np
import pytest
from tests.retrieval.given_vectors import GivenEmbedder
from tests.retrieval.small_index import build_index

from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.urls import open_store
from knotwork._text.terms import content_terms
from knotwork.records import Query

PASSAGES = {
    "Heron": "The heron waits beside the pond. A heron spears perch and roach.",
    "Kiln": "The kiln fires clay. Potters glaze bowls before the kiln cools.",
    "Quarry": "The quarry yields slate. Masons split slate beside the pond.",
    "Ledger": "The ledger lists debts. Clerks copy debts into the ledger.",
}
COSINES = {"kiln": 0.75, "ledger": 0.5, "quarry": 0.25, "heron": 0.125}
"""By a word of the passage, in fractions that the half precision of stored sentences keeps."""
BY_VECTORS = ["Kiln", "Ledger", "Quarry", "Heron"]
KNOWN = "heron spears perch roach pond"
FOREIGN = "reiher jagd fisch ufer pond"
"""Only the last word is in the index, in two of its passages."""


@pytest.fixture(scope="module", params=["memory", "embedded"])
def store(request, tmp_path_factory):
    url = "memory:"
    if request.param == "embedded":
        url = str(tmp_path_factory.mktemp("words") / "index.knot")
    opened = build_index(open_store(url, create=True), GivenEmbedder(COSINES), PASSAGES)
    yield opened
    opened.close()


def ask(store, question, *, name="hybrid", embedder=True):
    using = GivenEmbedder(COSINES) if embedder else None
    hits = build_retriever(name, store=store, embedder=using).retrieve(Query(question, k=4)).hits
    return {hit.chunk.document_title: hit for hit in hits}


def words_in_score(store, question, title):
    """Return what the words add to the score of a passage, whose sentences have its vector."""
    hit = ask(store, question)[title]
    return hit.score - COSINES[title.lower()]


def weight_of_words(question):
    text = DEFAULT_WEIGHTS.text
    growth = max(1.0, len(content_terms(question)) / text.long_question) ** text.bm25_growth
    return min(text.bm25 * growth, text.bm25_most)


def words_in_full(store, question, title):
    parts = ask(store, question)[title].scores
    weight = weight_of_words(question)
    return DEFAULT_WEIGHTS.text.coverage * parts["coverage"] + weight * parts["bm25"]


@pytest.mark.parametrize("name", ["hybrid", "graph"])
def test_a_question_in_words_that_the_index_lacks_is_ranked_by_vectors(store, name):
    assert set(ask(store, FOREIGN, name="bm25")) == {"Heron", "Quarry"}
    assert list(ask(store, FOREIGN, name=name)) == BY_VECTORS


def test_its_few_known_words_add_nothing(store):
    for title, hit in ask(store, FOREIGN).items():
        assert words_in_score(store, FOREIGN, title) == pytest.approx(0, abs=1e-6)
        assert (hit.scores["bm25"] > 0) is (title in {"Heron", "Quarry"})


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hybrid", ["Kiln", "Heron", "Ledger", "Quarry"]),
        ("graph", ["Heron", "Kiln", "Ledger", "Quarry"]),
    ],
)
def test_a_question_in_words_of_the_index_is_found_by_them(store, name, expected):
    assert BY_VECTORS[-1] == "Heron"
    closer = "heron spears perch roach"
    assert next(iter(ask(store, closer, name="bm25"))) == "Heron"
    assert list(ask(store, closer, name=name)) == expected


@pytest.mark.parametrize("title", BY_VECTORS)
def test_its_words_count_in_full(store, title):
    expected = words_in_full(store, KNOWN, title)
    assert words_in_score(store, KNOWN, title) == pytest.approx(expected, abs=1e-6)
    if title == "Heron":
        weight = weight_of_words(KNOWN)
        assert expected == pytest.approx(DEFAULT_WEIGHTS.text.coverage + weight)


def test_trust_falls_with_each_word_that_the_index_lacks(store):
    unknown = ["reiher", "jagd", "fisch", "ufer", "schilf", "wasser", "boot"]
    trusts = []
    for count in range(len(unknown) + 1):
        question = " ".join(["heron spears perch roach", *unknown[:count]])
        full = words_in_full(store, question, "Heron")
        trusts.append(words_in_score(store, question, "Heron") / full)
    assert trusts[0] == pytest.approx(1, abs=1e-6)
    assert trusts[-1] == pytest.approx(0, abs=1e-6)
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(trusts))
    assert any(0.01 < trust < 0.99 for trust in trusts)


def test_words_spread_over_passages_are_trusted_less_than_words_of_one(store):
    together, spread = "heron spears perch roach reiher jagd", "heron kiln slate ledger reiher jagd"
    most = max(
        words_in_score(store, spread, title) / words_in_full(store, spread, title)
        for title in BY_VECTORS
    )
    assert most < words_in_score(store, together, "Heron") / words_in_full(store, together, "Heron")


def test_words_alone_decide_without_an_embedder(store):
    found = ask(store, FOREIGN, embedder=False)
    assert set(found) == {"Heron", "Quarry"}
    assert all(hit.score > 0 for hit in found.values())


def test_both_stores_trust_alike(tmp_path):
    scores = []
    for url in ("memory:", str(tmp_path / "index.knot")):
        opened = build_index(open_store(url, create=True), GivenEmbedder(COSINES), PASSAGES)
        found = ask(opened, "heron spears perch reiher jagd")
        scores.append([found[title].score for title in BY_VECTORS])
        opened.close()
    assert np.allclose(*scores, atol=1e-5)
