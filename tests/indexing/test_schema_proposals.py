"""Samples of chunks, and schemas counted in an index or proposed by a model about it."""

import pytest

import knotwork
from knotwork._config import Settings
from knotwork._extensions.model_indexing.extraction_schema import RelationPattern
from knotwork._extensions.schemas.index_proposals import (
    count_schema,
    propose_for_index,
    sample_chunks,
)
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._stores.urls import open_store
from knotwork.errors import ConfigError
from knotwork.records import Document, Mention, Relation

LONG = "\n\n".join(f"Paragraph {n} tells of Ada Smith and of Bob Jones in Oslo." for n in range(30))
TEXTS = {"long.txt": LONG, "short.txt": "Carol White lives in Riga.", "tiny.txt": "Rome."}


def indexed(texts=None, **settings):
    kb = knotwork.open("memory:", embedding_model="none", index_chunk_tokens=30, **settings)
    kb.index_documents(Document(uri, text, title=uri) for uri, text in (texts or TEXTS).items())
    return kb


@pytest.mark.parametrize("splitter", ["structure", "parent-child", "whole"])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 9, 1_000])
def test_a_sample_is_spread_over_documents_and_holds_leaves_once(splitter, count):
    documents = indexed(index_splitter=splitter).store.documents
    sample = sample_chunks(documents, count)
    assert len(sample) == min(count, documents.chunk_count())
    assert not any(chunk.is_parent for chunk in sample)
    assert len({chunk.id for chunk in sample}) == len(sample)
    if count >= 3:
        assert {chunk.document_id for chunk in sample} == set(documents.document_ids())
        assert len({chunk.document_id for chunk in sample[:3]}) == 3
    assert sample == sample_chunks(documents, count)


def test_a_sample_of_one_document_is_spread_over_it():
    documents = indexed({"long.txt": LONG}).store.documents
    size = documents.chunk_count()
    assert size >= 10
    places = [chunk.ordinal for chunk in sample_chunks(documents, 3)]
    assert places == [size // 6, size // 2, 5 * size // 6]


def graph_of(*facts):
    """Return a store with entities of types and relations between them, each in a chunk."""
    store = open_store("memory:")
    with store.transaction():
        for number, (source, relation, target) in enumerate(facts):
            mentions = [
                Mention(f"{number:016x}", name.lower(), name, kind)
                for name, kind in (source, target)
            ]
            ends = [mention.entity_id for mention in mentions]
            fact = Relation(mentions[0].chunk_id, ends[0], relation, ends[1])
            store.graph.upsert(mentions=mentions, relations=[fact])
    return store


def test_types_relations_and_what_they_join_are_counted():
    person = [(f"P{n}", "PERSON") for n in range(4)]
    firm, town, bare = ("Acme", "FIRM"), ("Oslo", "CITY"), ("Thing", "")
    store = graph_of(
        (person[0], "works for", firm),
        (person[1], "worked for", firm),
        (person[2], "works for", bare),
        (person[0], "co-occurs with", person[3]),
        (person[0], "of", firm),
        (person[1], "of", firm),
        (person[0], "thing", firm),
        (person[1], "thing", firm),
        (person[0], "born in", town),
        (person[1], "is 7", ("7", "NUMBER")),
    )
    made = count_schema(store)
    assert made.types == {"PERSON": 4}  # of the others there is one each
    assert made.relations == {"works for": 3}
    assert made.patterns == {}
    store = graph_of(
        (person[0], "works for", firm),
        (person[1], "works for", ("Ltd", "FIRM")),
        (person[2], "visits", town),
        (person[3], "visits", ("Rome", "CITY")),
        (person[3], "visits", firm),
    )
    made = count_schema(store)
    assert made.types == {"PERSON": 4, "FIRM": 2, "CITY": 2}
    assert made.patterns == {
        RelationPattern("PERSON", "visits", "CITY"): 2,
        RelationPattern("PERSON", "visits", "FIRM"): 1,
        RelationPattern("PERSON", "works for", "FIRM"): 2,
    }
    made = count_schema(store, most_types=1, most_relations=1)
    assert made.schema.entity_types == ("PERSON",)
    assert made.schema.relation_types == ()  # all of them join types that are left out


def test_a_model_is_asked_about_the_sample_and_what_it_cost_is_reported():
    brain = RuleBrain()
    model = ScriptedChatModel(lambda request: brain(request.messages))
    kb = indexed()
    before = kb.store.generation()
    report = propose_for_index(kb.store, kb.settings, chunks=5, chat_model=model)
    assert (report.model, report.chunks, report.documents) == (model.name, 5, 3)
    assert report.usage["schema"].calls == len(model.requests) == 2
    assert "PLACE" in report.proposal.schema.entity_types
    assert kb.store.generation() == before
    counted = propose_for_index(kb.store, kb.settings, counts_only=True, chat_model=model)
    assert (counted.model, counted.usage) == ("", {})
    assert len(model.requests) == 2


def test_without_a_model_it_is_counted_and_an_empty_index_is_refused():
    kb = indexed()
    report = propose_for_index(kb.store, kb.settings)
    assert report.model == ""
    assert report.proposal == count_schema(kb.store)
    assert report.chunks == kb.store.documents.chunk_count()
    with pytest.raises(ConfigError, match="no passages"):
        propose_for_index(open_store("memory:"), Settings())
