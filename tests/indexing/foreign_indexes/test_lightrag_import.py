"""LightRAG's working directory comes in: documents, chunks and the graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.indexing.foreign_indexes.foreign_files import ESSAY, unit_texts, write_lightrag
from tests.indexing.foreign_indexes.reading_back import chunks_of, edges_of

from knotwork._extensions.graphs.foreign_indexes.index_importer import import_index
from knotwork._indexing.communities.index_reports import bring_up_to_date, find_topics
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork.errors import IndexingError
from knotwork.records import entity_id


@pytest.fixture
def store() -> Store:
    return open_store("memory:")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_lightrag(tmp_path / "book" / "rag_storage")


def test_chunks_are_found_in_their_document(store, folder):
    report = import_index(store, folder.parent)
    assert (report.format, report.name) == ("lightrag", "book")
    chunks = chunks_of(store, "lightrag:book/squad.txt")
    assert [chunk.text for chunk in chunks] == [text.strip() for text in unit_texts()]
    assert all(ESSAY[c.span.start : c.span.end] == c.text for c in chunks)
    (apart,) = chunks_of(store, "lightrag:book/squad.txt #3")
    assert apart.text == "Somebody edited this away."
    assert report.brought["text units as documents of their own"] == 1


@pytest.mark.parametrize("quoted", [False, True])
def test_the_graph_is_imported_with_directions_from_the_text(store, tmp_path, quoted):
    report = import_index(store, write_lightrag(tmp_path / "w", quoted=quoted))
    edges = edges_of(store)
    assert edges.pop(("Ada Stone", "leads", "Night Squad")) == 9
    ((ends, weight),) = edges.items()  # nothing gives the direction of this one
    assert {*ends} == {"Ada Stone", "friendship", "Bo Finch"}
    assert weight == 2
    assert report.brought["weights that were rounded"] == 1
    found = store.graph.lookup(["ada stone", "night squad", "bo finch"])
    assert {e.type for e in found.values()} == {"PERSON", "ORGANIZATION", ""}
    (description,) = store.readings.descriptions([entity_id("ada stone")])[entity_id("ada stone")]
    assert description.text == "Ada leads. Ada reads."


def test_whole_lists_of_chunks_are_read_where_they_are_kept(store, folder):
    graph = (folder / "graph_chunk_entity_relation.graphml").read_text("utf-8")
    cut = graph.replace("chunk-0&lt;SEP&gt;chunk-2", "chunk-0")
    (folder / "graph_chunk_entity_relation.graphml").write_text(cut, "utf-8")
    lists = {"Ada Stone": {"chunk_ids": ["chunk-0", "chunk-2"]}}
    (folder / "kv_store_entity_chunks.json").write_text(json.dumps(lists), "utf-8")
    import_index(store, folder)
    assert store.graph.lookup(["ada stone"])["ada stone"].chunk_count == 2


def test_communities_are_found_on_first_use(store, folder):
    import_index(store, folder)
    bring_up_to_date(store)
    assert find_topics(store)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kv_store_text_chunks.json", "{", "cannot be read as JSON"),
        ("kv_store_full_docs.json", "[]", "found a list"),
        ("graph_chunk_entity_relation.graphml", "<graphml>", "cannot be read as GraphML"),
        ("graph_chunk_entity_relation.graphml", None, "has no `graph_chunk_entity_relation"),
    ],
)
def test_broken_files_are_named(store, folder, name, content, message):
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content, "utf-8")
    with pytest.raises(IndexingError) as caught:
        import_index(store, folder)
    assert message in str(caught.value)
    assert name in str(caught.value)
    assert store.documents.document_count() == 0


def test_a_graph_cannot_reach_other_files(store, folder, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("SESAME", "utf-8")
    path = folder / "graph_chunk_entity_relation.graphml"
    hostile = f'<!DOCTYPE g [<!ENTITY x SYSTEM "file://{secret}">]>'
    text = path.read_text("utf-8").replace("<graphml", hostile + "<graphml", 1)
    path.write_text(text.replace("A squad.", "&x;"), "utf-8")
    import_index(store, folder)
    descriptions = store.readings.descriptions([entity_id("night squad")])
    assert "SESAME" not in str(descriptions)
