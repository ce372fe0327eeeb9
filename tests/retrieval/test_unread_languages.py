"""An index of two languages whose embedder reads one: each chunk is found by what it has."""

import pytest
from tests.indexing.pipeline_fakes import LatinEmbedder
from tests.retrieval.small_index import PASSAGES, build_index

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._retrieval.retriever_registry import RETRIEVERS, build_retriever
from knotwork._stores.urls import open_store
from knotwork.records import Query

pytestmark = pytest.mark.slow


MIXED = PASSAGES | {
    "艾玛河": "艾玛河（Emajogi）是爱沙尼亚的一条河流。它流经塔尔图（Tartu）。",
    "Yangtze": "The Yangtze, 长江 in Chinese, is the longest river of China. It ends in the sea.",
}
WITHOUT = {"长江", "武汉", "艾玛河"}


@pytest.fixture(scope="module", params=["memory", "embedded"])
def mixed(request, tmp_path_factory):
    url = "memory:"
    if request.param == "embedded":
        url = str(tmp_path_factory.mktemp("mixed") / "index.knot")
    store = build_index(open_store(url, create=True), LatinEmbedder(256), MIXED)
    assert store.documents.chunk_count() - store.vectors("chunk").count() == len(WITHOUT)
    yield store
    store.close()


def titles(store, name, question, k=5):
    retriever = build_retriever(name, store=store, embedder=LatinEmbedder(256))
    return [hit.chunk.document_title for hit in retriever.retrieve(Query(question, k)).hits]


BY_NAME = {"explore", "ontology", "entity_vectors"}
"""What begins at things that a question names, and finds nothing for one that names none."""

ADDS_NEIGHBOURS = {"graph_vector"}
"""What may put a passage near the best one before it."""


@pytest.mark.parametrize("name", sorted(set(RETRIEVERS.names(plugins=False)) - {"dense"} - BY_NAME))
def test_questions_of_either_language_find_their_passage(mixed, name):
    assert titles(mixed, name, "长江发源于哪里？")[0] == "长江"
    near = titles(mixed, name, "武汉是哪个省的省会？")
    assert "武汉" in near[: 1 + (name in ADDS_NEIGHBOURS)]
    assert titles(mixed, name, "Which tree has bark that peels?")[0] == "Silver Birch"


@pytest.mark.parametrize("name", sorted(set(RETRIEVERS.names(plugins=False)) - {"dense"}))
def test_a_question_finds_chunks_with_and_without_vectors(mixed, name):
    found = titles(mixed, name, "Which river flows through Tartu?", k=6)
    assert found[0] in {"Emajogi", "Tartu"}
    assert "艾玛河" in found


@pytest.mark.parametrize("name", sorted(set(RETRIEVERS.names(plugins=False)) - {"dense"}))
def test_english_answers_are_ranked_as_if_the_others_had_vectors(mixed, name):
    store = build_index(open_store("memory:"), HashingEmbedder(256), MIXED)
    for question in (
        "Who directed the film Copper Kettle?",
        "Which town did Marta Ilves grow up in?",
    ):
        whole = build_retriever(name, store=store, embedder=HashingEmbedder(256))
        best = whole.retrieve(Query(question, 1)).hits[0].chunk.document_title
        assert titles(mixed, name, question)[0] == best


def test_a_hit_without_vectors_shows_the_sentences_that_cover_the_question(mixed):
    retriever = build_retriever("auto", store=mixed, embedder=LatinEmbedder(256))
    hits = retriever.retrieve(Query("Which river flows through Tartu?", 9)).hits
    (hit,) = [hit for hit in hits if hit.chunk.document_title == "艾玛河"]
    (start, end), relevance = hit.sentences[0]
    assert "Tartu" in hit.chunk.text[start - hit.chunk.span.start : end - hit.chunk.span.start]
    assert 0 < relevance <= 1


def test_dense_says_when_it_does_not_read_the_question(mixed):
    dense = build_retriever("dense", store=mixed, embedder=LatinEmbedder(256))
    read = dense.retrieve(Query("Which river flows through Tartu?", 20))
    assert read.notes == ()
    assert {hit.chunk.document_title for hit in read.hits} == set(MIXED) - WITHOUT
    (note,) = dense.retrieve(Query("长江发源于哪里？", 5)).notes
    assert "latin:256" in note


@pytest.mark.parametrize("name", RETRIEVERS.names(plugins=False))
def test_an_index_without_any_vector_is_asked_all_the_same(name):
    chinese = {title: MIXED[title] for title in WITHOUT}
    store = build_index(open_store("memory:"), LatinEmbedder(256), chinese)
    assert store.vectors("chunk").count() == 0
    for question in ("Which river flows through Tartu?", "武汉是哪个省的省会？"):
        found = titles(store, name, question)
        assert bool(found) is (name != "dense")
