"""What every retriever promises, and what the graph finds that text alone does not."""

import pytest
from tests.retrieval.small_index import build_index

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.retriever_registry import RETRIEVERS, build_retriever, retriever_names
from knotwork._stores.urls import open_store
from knotwork._text.languages import simplify
from knotwork.errors import RetrievalError, UnknownName
from knotwork.records import Query

pytestmark = pytest.mark.slow


QUESTION = "Where did the director of Silver Lantern grow up?"
NAMES = [*retriever_names()]


def titles(evidence):
    return [hit.chunk.document_title for hit in evidence.hits]


@pytest.mark.parametrize("name", NAMES)
def test_hits_are_ranked_and_explained(index, embedder, name):
    evidence = build_retriever(name, store=index, embedder=embedder).retrieve(Query(QUESTION, k=4))
    assert 0 < len(evidence.hits) <= 4
    scores = [hit.score for hit in evidence.hits]
    assert scores == sorted(scores, reverse=True)
    assert 0.0 <= evidence.confidence <= 1.0
    for hit in evidence.hits:
        assert hit.scores
        assert all(0.0 <= relevance <= 1.0 for _, relevance in hit.sentences)
        for span, _ in hit.sentences:
            assert span in hit.chunk.sentences


@pytest.mark.parametrize("name", NAMES)
def test_the_same_question_has_the_same_answer(index, embedder, name):
    first = build_retriever(name, store=index, embedder=embedder).retrieve(Query(QUESTION))
    again = build_retriever(name, store=index, embedder=embedder).retrieve(Query(QUESTION))
    assert first == again


@pytest.mark.parametrize("name", [name for name in NAMES if name != "dense"])
def test_works_without_an_embedder(index, name):
    retriever = build_retriever(name, store=index, embedder=None)
    assert titles(retriever.retrieve(Query("silver birch bark")))[0] == "Silver Birch"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("question", ["", "???", "的", "xyzzy plugh", "a" * 5_000])
def test_any_question_is_answered_with_evidence_or_none(index, embedder, name, question):
    evidence = build_retriever(name, store=index, embedder=embedder).retrieve(Query(question, k=3))
    assert len(evidence.hits) <= 3


@pytest.mark.parametrize("name", RETRIEVERS.names(plugins=False))
def test_stores_agree(tmp_path, embedder, name):
    found = []
    for url in ("memory:", str(tmp_path / "index.knot")):
        store = build_index(open_store(url, create=True), embedder)
        evidence = build_retriever(name, store=store, embedder=embedder).retrieve(Query(QUESTION))
        found.append([(hit.chunk.id, round(hit.score, 3)) for hit in evidence.hits])
        store.close()
    assert sorted(found[0]) == sorted(found[1])


def test_a_bridge_leads_to_the_passage_that_shares_no_word(index, embedder):
    question = "Where did the director of Silver Lantern grow up?"
    graph = build_retriever("graph", store=index, embedder=embedder).retrieve(Query(question, k=2))
    assert set(titles(graph)) == {"Silver Lantern", "Marta Ilves"}
    found = next(hit for hit in graph.hits if hit.chunk.document_title == "Marta Ilves")
    (step,) = found.path
    assert step.entity_name == "Marta Ilves"
    assert step.sentence_text == "Silver Lantern is a 1954 film directed by Marta Ilves."
    assert found.score == pytest.approx(sum(found.scores.values()))


def test_a_named_entity_is_a_seed(index, embedder):
    evidence = build_retriever("graph", store=index, embedder=embedder).retrieve(
        Query("What kind of tree is the silver birch?", k=1)
    )
    assert titles(evidence) == ["Silver Birch"]
    assert evidence.hits[0].seeds


class SimplifyingEmbedder(HashingEmbedder):
    """Gives traditional and simplified spellings one vector, as multilingual models nearly do."""

    def embed(self, texts):
        return super().embed([simplify(text) for text in texts])


@pytest.mark.parametrize("name", ["bm25", "hybrid", "graph"])
def test_chinese_questions_find_chinese_passages(index, embedder, name):
    retriever = build_retriever(name, store=index, embedder=embedder)
    assert titles(retriever.retrieve(Query("长江发源于哪里？", k=1))) == ["长江"]
    assert titles(retriever.retrieve(Query("武漢是哪個省的省會？", k=1))) == ["武汉"]


@pytest.mark.parametrize("name", ["bm25", "hybrid", "graph"])
def test_a_traditional_question_of_few_known_words_finds_its_simplified_passage(index, name):
    question = "黃鶴樓在哪座城市？"
    for embedder in (None, SimplifyingEmbedder()):
        retriever = build_retriever(name, store=index, embedder=embedder)
        assert titles(retriever.retrieve(Query(question, k=1))) == ["武汉"]


def test_an_unknown_retriever_is_refused_with_the_valid_names(index):
    with pytest.raises(UnknownName, match="`graph`"):
        build_retriever("grpah", store=index)


def test_dense_without_an_embedder_says_what_to_do(index):
    with pytest.raises(RetrievalError, match="local"):
        build_retriever("dense", store=index, embedder=None)


def test_without_vectors_the_text_of_a_long_question_counts_as_in_bm25():
    words = [f"word{number}" for number in range(24)]
    passages = {f"{n}": " ".join(words[n : n + 2 * n + 1] * (9 - n)) for n in range(8)}
    store = build_index(open_store("memory:", create=True), None, passages)

    def shares(name, part, question):
        retriever = build_retriever(name, store=store, embedder=None)
        found = {hit.chunk.id: hit.scores[part] for hit in retriever.retrieve(question).hits}
        return {chunk_id: value / max(found.values()) for chunk_id, value in found.items()}

    long, short = (Query(" ".join(words[:length]), k=8) for length in (20, 8))
    assert shares("graph", "text", long) == pytest.approx(shares("bm25", "bm25", long))
    assert shares("graph", "text", short) != pytest.approx(shares("bm25", "bm25", short))
