"""When a passage that a name leads to is worth going to."""

from dataclasses import replace

import pytest
from tests.retrieval.small_index import PASSAGES, build_index

from knotwork._retrieval.base import GraphRetriever
from knotwork._retrieval.chunk_entities import stated_entities
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.urls import open_store
from knotwork.records import Document, Extraction, Query, Relation, entity_id

QUESTION = "Where did the director of Silver Lantern grow up?"
FILM = "The director of Silver Lantern is Marta Ilves. It was made on a small budget."
GREW_UP = "Marta Ilves was an Estonian artist. She spent her childhood in Tartu."
REPEATS = "Marta Ilves was the director of Silver Lantern. The director did grow old."


def bridge_into(text, embedder, documents):
    others = [Document(uri=t, title=t, text=PASSAGES[t]) for t in ("Tartu", "Olev Raud", "Emajogi")]
    store = build_index(
        open_store("memory:", create=True),
        embedder,
        documents=[*documents, *others],
        splitter="structure",
    )
    graph = build_retriever("graph", store=store, embedder=embedder)
    hits = graph.retrieve(Query(QUESTION, k=8)).hits
    return next(hit.scores["bridge"] for hit in hits if text in hit.chunk.text)


def page(name, text):
    return Document(uri=f"{name}.md", title=name, text=text, media_type="text/markdown")


def test_a_repetition_is_not_a_second_hop():
    film = page("Silver Lantern", FILM)
    adds = bridge_into(GREW_UP, None, [film, page("Marta Ilves", GREW_UP)])
    repeats = bridge_into(REPEATS, None, [film, page("Marta Ilves", REPEATS)])
    assert adds > 0.2
    assert repeats < adds / 2


@pytest.mark.parametrize("filler", ["Nothing of note was written about the weather. " * 60])
def test_chunks_of_one_document_are_bridged_less(embedder, filler):
    apart = [page("Silver Lantern", FILM), page("Marta Ilves", GREW_UP)]
    together = [page("Notes", f"# Silver Lantern\n\n{FILM} {filler}\n\n# Marta Ilves\n\n{GREW_UP}")]
    inside = bridge_into(GREW_UP, embedder, together)
    assert 0 < inside < bridge_into(GREW_UP, embedder, apart) / 2


FILM_ID, MARTA = map(entity_id, ("silver lantern", "marta ilves"))


def read_by_a_model(store, *relations):
    """Return the chunk about the film, of which a model states these relations."""
    chunk_id = store.graph.about([FILM_ID], fan=1)[FILM_ID][0].id
    made = [Relation(chunk_id, s, "is of", t, description=text) for s, t, text in relations]
    extraction = Extraction(chunk_id, relations=tuple(made))
    with store.transaction():
        store.graph.upsert(relations=extraction.relations)
    return chunk_id


def bridges(store, unstated):
    weights = replace(DEFAULT_WEIGHTS, bridge=replace(DEFAULT_WEIGHTS.bridge, unstated=unstated))
    hits = GraphRetriever(store=store, weights=weights).retrieve(Query(QUESTION, k=10)).hits
    return {hit.chunk.document_title: hit.scores["bridge"] for hit in hits}


def film_index():
    store = open_store("memory:", create=True)
    film = page("Silver Lantern", f"{FILM} It was shown in Tartu.")
    others = [Document(uri=t, title=t, text=PASSAGES[t]) for t in ("Marta Ilves", "Tartu")]
    return build_index(store, None, documents=[film, *others], splitter="structure")


def test_entities_with_a_stated_fact_lead_on_more_than_others():
    store = film_index()
    before = bridges(store, 0.5)
    assert before == bridges(store, 1.0)  # no model has read anything
    assert min(before["Marta Ilves"], before["Tartu"]) > 0
    chunk_id = read_by_a_model(store, (MARTA, FILM_ID, "Marta Ilves directed Silver Lantern."))
    assert stated_entities([chunk_id], store) == {chunk_id: {FILM_ID, MARTA}}
    after = bridges(store, 0.5)
    assert after["Marta Ilves"] == pytest.approx(before["Marta Ilves"])
    assert after["Tartu"] == pytest.approx(before["Tartu"] / 2)
    assert bridges(store, 1.0) == pytest.approx(before)


def test_relations_that_only_rules_found_state_no_fact():
    store = film_index()
    chunk_id = read_by_a_model(store, (MARTA, FILM_ID, ""))
    assert stated_entities([chunk_id], store) == {}
    assert bridges(store, 0.5) == bridges(store, 1.0)


RELATED = {
    "Terms": "A restartpoint is a checkpoint made during recovery. Marta Ilves introduced it.",
    "Marta Ilves": "Marta Ilves was an Estonian artist. She grew up in Tartu and died in 1988.",
    "Tartu": "Tartu is a city in Estonia. It lies on the river Emajogi.",
}


@pytest.mark.parametrize(
    "question",
    [
        "restartpoint",
        "What is a restartpoint?",
        "a checkpoint made during recovery",
        "river emajogi",
    ],
)
def test_a_shared_phrase_counts_more_than_related_words(embedder, question):
    store = build_index(open_store("memory:", create=True), embedder, RELATED)
    hits = build_retriever("graph", store=store, embedder=embedder).retrieve(Query(question)).hits
    assert hits[0].chunk.document_title == ("Tartu" if "river" in question else "Terms")
    assert not any(hit.scores["bridge"] for hit in hits)


def test_question_words_of_chinese_belong_to_no_phrase():
    passages = {
        "长江": "长江是中国最长的河流。",
        "数据": "数据治理由李明提出。",
        "李明": "李明住在北京。",
    }
    store = build_index(open_store("memory:", create=True), None, passages)
    graph = build_retriever("graph", store=store, embedder=None)
    for question in ("什么是数据治理？", "数据治理是什么"):
        hits = graph.retrieve(Query(question)).hits
        assert hits[0].chunk.document_title == "数据"
        assert not any(hit.scores["bridge"] for hit in hits)


@pytest.mark.parametrize("strength", [1.0, 50.0])
def test_however_strong_bridges_are_the_passage_that_fits_best_without_them_is_first(strength):
    store = film_index()
    weights = replace(DEFAULT_WEIGHTS, bridge=replace(DEFAULT_WEIGHTS.bridge, strength=strength))
    first, *others = (
        GraphRetriever(store=store, weights=weights).retrieve(Query(QUESTION, k=10)).hits
    )
    assert FILM in first.chunk.text
    assert any(hit.scores["bridge"] for hit in others)
    assert first.score == pytest.approx(sum(first.scores.values()))
    assert first.score > others[0].score
