"""Entities around a question, with what is said of them, and the communities that bear on it."""

import pytest
from tests.retrieval.small_index import PASSAGES, build_index
from tests.stores.minimal_store import MinimalStore

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.communities.index_reports import bring_up_to_date
from knotwork._retrieval.base import Bm25Retriever
from knotwork._retrieval.community_search import (
    find_communities,
    holds_written_reports,
    search_communities,
)
from knotwork._retrieval.entity_lookup import MOST_ENTITIES, read_local_context
from knotwork._stores.urls import open_store
from knotwork._text.names import normal_form
from knotwork.records import (
    ChunkReading,
    Community,
    CommunityReport,
    Description,
    EntitySummary,
    Member,
    Query,
    ReadingStatus,
    Relation,
    entity_id,
)

QUESTION = "Where did Marta Ilves grow up?"


@pytest.fixture(params=["memory", "embedded"])
def store(request, tmp_path):
    url = "memory:" if request.param == "memory" else str(tmp_path / "index.knot")
    opened = build_index(open_store(url, create=True), None)
    yield opened
    opened.close()


def read(store, question=QUESTION):
    evidence = Bm25Retriever(store=store).retrieve(Query(question))
    return read_local_context(question, evidence, store=store)


def chunk_about(store, title):
    (found,) = store.graph.about([entity_id(normal_form(title))], fan=1).values()
    return store.documents.chunks([found[0].id])[found[0].id]


def check_supports(store, facts):
    for fact in facts:
        assert fact.supports
        for support in fact.supports:
            chunk = store.documents.chunks([support.chunk_id])[support.chunk_id]
            assert chunk.span.start <= support.span.start < support.span.end <= chunk.span.end


def test_the_entities_a_question_names_come_first(store):
    around = read(store)
    assert around.entities[0].name == "Marta Ilves"
    assert len(around.entities) <= MOST_ENTITIES
    check_supports(store, around.facts)


def test_a_question_that_names_nothing_has_the_entities_of_what_was_found(store):
    around = read(store, "what was shot in black and white")
    assert around.entities
    assert read(store, "zzz").entities == ()


def test_descriptions_and_summaries_are_facts_with_the_sentence_that_names_the_entity(store):
    chunk = chunk_about(store, "Marta Ilves")
    form = normal_form("Marta Ilves")
    with store.transaction():
        store.readings.put(
            [ChunkReading(chunk.id, "m", ReadingStatus.OK)],
            [Description(chunk.id, form, "an artist who made one film")],
        )
    fact = next(f for f in read(store).facts if "one film" in f.text)
    assert fact.text.startswith("Marta Ilves")
    assert fact.supports[0].chunk_id == chunk.id
    assert "Marta Ilves" in chunk.text[slice(*fact.supports[0].span)]
    with store.transaction():
        store.readings.put_summaries([EntitySummary(entity_id(form), "all of her life", "m", "k")])
    assert any("all of her life" in f.text for f in read(store).facts)
    assert not any("one film" in f.text for f in read(store).facts)


def test_a_relation_says_what_a_model_said_of_it(store):
    chunk = chunk_about(store, "Marta Ilves")
    ends = entity_id(normal_form("Marta Ilves")), entity_id(normal_form("Tartu"))
    span = chunk.sentences[-1]
    with store.transaction():
        store.graph.upsert(
            relations=[
                Relation(chunk.id, ends[0], "grew up in", ends[1], 1, span, "as a child of six")
            ]
        )
    fact = next(f for f in read(store).facts if "grew up in" in f.text)
    assert fact.text == "Marta Ilves — grew up in → Tartu: as a child of six"
    assert fact.supports[0].span == span


def test_a_store_that_holds_no_readings_has_relations_alone(store):
    evidence = Bm25Retriever(store=store).retrieve(Query(QUESTION))
    plain = read_local_context(QUESTION, evidence, store=MinimalStore(store))
    assert plain.entities == read(store).entities


# --- communities ------------------------------------------------------------------------------


def report(community_id, text, *, source="extractive"):
    return CommunityReport(community_id, text, text, (), 5.0, "en", source, community_id)


@pytest.fixture
def grouped(store):
    """Two topmost communities, the larger with two parts."""
    films = ["Silver Lantern", "Marta Ilves", "Copper Kettle", "Olev Raud"]
    rivers = ["Tartu", "Emajogi"]

    def community(identifier, level, parent, names):
        chunks = {chunk_about(store, name).id for name in names}
        members = tuple(Member(entity_id(normal_form(n)), 1 / len(names)) for n in names)
        return Community(identifier, level, parent, members, tuple(sorted(chunks)))

    communities = [
        community("1" * 16, 0, None, films),
        community("2" * 16, 0, None, rivers),
        community("3" * 16, 1, "1" * 16, films[:2]),
        community("4" * 16, 1, "1" * 16, films[2:]),
    ]
    texts = ["Films by Marta Ilves and Olev Raud", "Rivers and towns of Estonia"]
    texts += ["Silver Lantern, shot by Marta Ilves", "Copper Kettle and its prize"]
    with store.transaction():
        store.communities.replace(communities)
        reports = [report(c.id, t) for c, t in zip(communities, texts, strict=True)]
        store.communities.put_reports(reports)
        store.texts("report").add((r.community_id, r.text) for r in reports)
    return store


def searched(store, topic, **options):
    evidence = Bm25Retriever(store=store).retrieve(Query(topic))
    ranked = search_communities(topic, store=store, evidence=evidence, most=5, **options)
    return [item.id[0] for item in ranked]


def found(store, question, *, most=5, embedder=None):
    evidence = Bm25Retriever(store=store).retrieve(Query(question))
    ranked = find_communities(
        question, store=store, evidence=evidence, embedder=embedder, most=most
    )
    return [item.id[0] for item in ranked]


def test_a_search_for_a_topic_finds_the_communities_of_its_reports_and_passages(grouped):
    assert searched(grouped, "rivers and towns")[0] == "2"
    assert searched(grouped, "Copper Kettle prize")[0] == "4"
    assert searched(grouped, "zzz") == []


def test_a_search_within_some_communities_finds_no_others(grouped):
    every = set(searched(grouped, "Marta Ilves"))
    ids = [key for level in grouped.communities.levels() for key in level if key[0] == "3"]
    assert len(every) >= 1
    assert set(searched(grouped, "Marta Ilves", within=ids)) <= {"3"}
    assert searched(grouped, "Marta Ilves", within=[]) == []


def test_a_question_with_a_focus_gets_the_communities_that_speak_of_it(grouped):
    assert found(grouped, "What is said of rivers and towns?")[0] == "2"
    assert found(grouped, "What is said of the Copper Kettle prize?")[0] == "4"


def test_no_community_is_listed_beside_its_parent(grouped):
    for question in ("Films by Marta Ilves and Olev Raud", "Copper Kettle, Silver Lantern, films"):
        chosen = found(grouped, question)
        assert not ("1" in chosen and {"3", "4"} & set(chosen))


def test_a_question_about_the_whole_gets_parts_where_the_topmost_are_few(grouped):
    assert sorted(found(grouped, "What are the main themes?")) == ["2", "3", "4"]
    assert len(found(grouped, "What are the main themes?", most=2)) == 2


def test_vectors_of_reports_count_when_most_have_one(grouped):
    embedder = HashingEmbedder()
    question = "What is said of Estonia?"
    plain = found(grouped, question)
    vectors = embedder.embed(["unlike", question])
    with grouped.transaction():
        grouped.vectors("report").put([("3" * 16, "k", vectors[1:2])])
    assert found(grouped, question, embedder=embedder) == plain
    with grouped.transaction():
        grouped.vectors("report").put([("4" * 16, "l", vectors[0:1])])
    assert "3" in found(grouped, question, embedder=embedder)


def test_there_is_nothing_to_find_without_communities(store):
    assert found(store, "What are the main themes?") == []

    plain = MinimalStore(store)
    assert find_communities("What are the main themes?", store=plain, most=3) == []


def test_a_written_report_is_distinguished_from_extractive_ones(grouped):
    assert not holds_written_reports(grouped)
    with grouped.transaction():
        grouped.communities.put_reports([report("4" * 16, "Prizes", source="openai:x")])
    assert holds_written_reports(grouped)


def test_real_communities_are_found_by_their_passages(store):
    bring_up_to_date(store)
    assert len(PASSAGES) == store.documents.chunk_count()
    assert found(store, "What is said of 黄鹤楼 and 长江?")
