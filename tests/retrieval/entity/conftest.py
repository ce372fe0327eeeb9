"""A domain graph without documents' words, and an index of documents with communities."""

from __future__ import annotations

import pytest
from tests.retrieval.small_index import build_index

from knotwork._extensions.testing.embedders import HashingEmbedder
from knotwork._indexing.communities.detection import refresh_communities
from knotwork._indexing.communities.index_reports import refresh_reports
from knotwork._indexing.embedding import Embedding
from knotwork._stores.urls import open_store
from knotwork.records import (
    Chunk,
    Document,
    Mention,
    Relation,
    Section,
    Span,
    content_id,
    entity_id,
)

FACTS = [
    ("Silver Lantern", "WORK", "directed by", "Marta Ilves", "PERSON"),
    ("Marta Ilves", "PERSON", "born in", "Tartu", "PLACE"),
    ("Tartu", "PLACE", "located in", "Estonia", "PLACE"),
    ("Copper Kettle", "WORK", "directed by", "Olev Raud", "PERSON"),
    ("Olev Raud", "PERSON", "born in", "Narva", "PLACE"),
    ("Narva", "PLACE", "located in", "Estonia", "PLACE"),
    ("Marta Ilves", "PERSON", "plays", "Chess", ""),
]


def fill_with_facts(store, facts=FACTS, *, stored=True):
    """Write each fact as the passage of its own that states it; see `GraphStore.upsert`."""
    with store.transaction():
        for number, (source, source_type, relation, target, target_type) in enumerate(facts):
            text = f"{source} {relation} {target}."
            document = Document(f"fact-{number}", text, "")
            whole = Span(0, len(text))
            section = Section(content_id(document.uri, "s"), document.id, None, 0, 0, "", whole)
            chunk_id = content_id(document.uri, "c")
            chunk = Chunk(chunk_id, document.id, section.id, 0, whole, text, (whole,))
            if stored:
                store.documents.put(document, [section], [chunk])
                store.texts("chunk").add([(chunk_id, text)])
            ends = ((source, source_type, 0), (target, target_type, text.index(target)))
            mentions = [
                Mention(chunk_id, name.lower(), name, type_, (Span(at, at + len(name)),))
                for name, type_, at in ends
            ]
            stated = Relation(
                chunk_id, entity_id(source.lower()), relation, entity_id(target.lower()), 1, whole
            )
            store.graph.upsert(mentions=mentions, relations=[stated])
            store.texts("entity").add((m.entity_id, m.name) for m in mentions)
    return store


@pytest.fixture(params=["memory", "embedded"])
def fresh_store(request, tmp_path):
    url = "memory:" if request.param == "memory" else str(tmp_path / "index.knot")
    store = open_store(url, create=True)
    yield store
    store.close()


@pytest.fixture
def facts(fresh_store):
    return fill_with_facts(fresh_store)


@pytest.fixture(scope="session", params=["memory", "embedded"])
def grouped(request, tmp_path_factory):
    """The small index with communities of at most six entities, and their reports."""
    from knotwork._indexing.communities.detection import CommunityOptions

    url = "memory:"
    if request.param == "embedded":
        url = str(tmp_path_factory.mktemp("grouped") / "index.knot")
    store = build_index(open_store(url, create=True), HashingEmbedder())
    refresh_communities(store, CommunityOptions(max_size=6))
    refresh_reports(store, embedding=Embedding(HashingEmbedder()))
    yield store
    store.close()
