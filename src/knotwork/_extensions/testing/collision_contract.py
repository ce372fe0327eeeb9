"""Contract suite for stores whose records collide: two natural keys with the same id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest

from knotwork._extensions.testing.short_ids import short_ids
from knotwork._extensions.testing.store_contract import (
    sample_document,
    sample_mention,
    snapshot,
)
from knotwork._stores.base import Store
from knotwork.errors import IdCollision
from knotwork.records import Document, content_id, entity_id


def _colliding(of: str, id_of: Callable[[str], str]) -> str:
    """Return another name with the id of ``of``."""
    return next(name for name in map("name {}".format, count()) if id_of(name) == id_of(of))


class IdCollisionContract:
    """Tests of what a store does with one id of two things. Define the fixture ``store``."""

    def test_documents_with_one_id_are_not_merged(self, store: Store) -> None:
        with short_ids(8):
            uri = _colliding("a.md", lambda name: Document(name, "").id)
            store.documents.put(*sample_document("a.md", ["one"]))
            before = snapshot(store)
            with pytest.raises(IdCollision) as caught:
                store.documents.put(*sample_document(uri, ["two"]))
            assert caught.value.held == "the document `a.md`"
            assert caught.value.new == f"the document `{uri}`"
            assert "Rename or move the file" in str(caught.value)
            assert snapshot(store) == before
            store.documents.put(*sample_document("a.md", ["new"]))

    @pytest.mark.parametrize("kind", ["section", "chunk"])
    def test_parts_of_two_documents_with_one_id_are_not_merged(
        self, store: Store, kind: str
    ) -> None:
        first = sample_document("a.md", ["one", "two"])
        store.documents.put(*first)
        before = snapshot(store)
        for held in (first[0].id, first[1][1].id, first[2][1].id):
            document, sections, chunks = sample_document("b.md", ["three", "four"])
            if kind == "section":
                sections[1] = replace(sections[1], id=held)
            else:
                chunks[1] = replace(chunks[1], id=held)
            with pytest.raises(IdCollision, match=f"a {kind} of `b.md` is also that of"):
                store.documents.put(document, sections, chunks)
            assert snapshot(store) == before

    def test_parts_of_one_document_with_one_id_are_not_merged(self, store: Store) -> None:
        document, sections, chunks = sample_document("a.md", ["one", "two"])
        chunks[1] = replace(chunks[1], id=chunks[0].id)
        with pytest.raises(IdCollision, match=r"a chunk of `a\.md` is also that of a chunk"):
            store.documents.put(document, sections, chunks)
        assert store.documents.document_ids() == []

    def test_entities_with_one_id_are_not_merged(self, store: Store) -> None:
        with short_ids(8):
            other = _colliding("ada", entity_id)
            chunk = content_id("chunk")
            store.graph.upsert(mentions=[sample_mention(chunk, "ada")])
            before = store.graph.entities([entity_id("ada")])
            with pytest.raises(IdCollision) as caught:
                store.graph.upsert(mentions=[sample_mention(content_id("b"), other)])
            assert caught.value.held == "the entity `ada`"
            assert caught.value.new == f"the entity `{other}`"
            assert store.graph.entities([entity_id("ada")]) == before
            store.graph.remove_chunks([chunk])
            both = [sample_mention(chunk, name) for name in (other, "ada")]
            with pytest.raises(IdCollision):
                store.graph.upsert(mentions=both)
            assert store.graph.entity_count() == 0
            store.graph.upsert(mentions=both[:1])
            assert list(store.graph.lookup([other])) == [other]

    def test_an_entity_and_a_part_of_a_document_are_not_merged(self, store: Store) -> None:
        document, sections, chunks = sample_document("a.md", ["one", "two"])
        with_entity = [chunks[0], replace(chunks[1], id=entity_id("ada"))]
        store.documents.put(document, sections, with_entity)
        mention = sample_mention(chunks[0].id, "ada")
        with pytest.raises(
            IdCollision, match=r"the entity `ada` is also that of a chunk of `a\.md`"
        ):
            store.graph.upsert(mentions=[mention])
        store.documents.put(document, sections, chunks)
        store.graph.upsert(mentions=[mention])
        with pytest.raises(IdCollision, match=r"a chunk of `a\.md` is also that of the entity"):
            store.documents.put(document, sections, with_entity)
        assert store.documents.chunk_ids_of([document.id])[document.id] == [
            chunk.id for chunk in chunks
        ]
