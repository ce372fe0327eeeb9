"""What one transaction writes: whole documents with all that follows from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from knotwork.indexing.changes import indexed_entry
from knotwork.indexing.communities.survey import CONTENT_META, WRITTEN_META
from knotwork.indexing.embedding import (
    NO_VECTORS,
    Embedding,
    check_not_switching,
    stamp_embedder,
)
from knotwork.indexing.entities import entities_before, refresh_entities
from knotwork.indexing.questions import put_questions
from knotwork.indexing.resolution.resolving import RULES_META
from knotwork.indexing.stages import Prepared
from knotwork.indexing.tables import drop_tables, put_tables
from knotwork.inference.base import PassageVectors
from knotwork.stores.base import LedgerEntry, Store
from knotwork.stores.readings import StoresReadings
from knotwork.stores.resolutions import StoresResolutions


def commit_documents(
    store: Store,
    batch: Sequence[Prepared],
    *,
    vectors: Mapping[str, PassageVectors],
    embedding: Embedding,
    entries: Sequence[LedgerEntry] = (),
    questions: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Write documents with their chunks, graph, texts, vectors and ledger entries at once.

    Documents that were indexed before are replaced. ``vectors`` are by content key; ``entries``
    are further ledger entries that belong to the same moment; ``questions`` are what chunks answer,
    by their ids.
    """
    put_tables(store, [prepared.document for prepared in batch])
    with store.transaction():
        check_not_switching(store)
        stamp_embedder(store, embedding)
        replaced = _stored_chunks(store, batch)
        mentioned = {m.entity_id for p in batch for e in p.extractions for m in e.mentions}
        before = entities_before(store, [c for ids in replaced.values() for c in ids], mentioned)
        if replaced:
            store.remove_documents(replaced.keys())
        for prepared in batch:
            store.documents.put(prepared.document, prepared.sections, prepared.chunks)
        extractions = [extraction for prepared in batch for extraction in prepared.extractions]
        store.graph.upsert(
            mentions=(m for extraction in extractions for m in extraction.mentions),
            relations=(r for extraction in extractions for r in extraction.relations),
        )
        store.texts("chunk").add(
            (chunk.id, f"{chunk.context}\n{chunk.text}")
            for prepared in batch
            for chunk in prepared.leaves
        )
        _put_vectors(store, batch, vectors)
        if questions:
            put_questions(store, questions, embedding)
        _put_readings(store, batch)
        _touch(store, mentioned)
        if batch:
            _outdate_communities(store)
        refresh_entities(store, before, embedding)
        store.ledger.put([*map(indexed_entry, batch), *entries])


def _touch(store: Store, entity_ids: Collection[str]) -> None:
    """Note which names are to be looked at again, if they were ever looked at: else all are."""
    if isinstance(store, StoresResolutions) and RULES_META in store.meta():
        store.resolutions.touch(entity_ids)


def _outdate_communities(store: Store) -> None:
    """Note that communities are outdated, and stay so when the documents become as they were: what
    only a removed document supported has left them.
    """
    held = [name for name in (CONTENT_META, WRITTEN_META) if store.meta().get(name)]
    if held:
        store.set_meta(dict.fromkeys(held, ""))


def _put_readings(store: Store, batch: Sequence[Prepared]) -> None:
    """Store what a model read; a store without that power keeps the graph that came of it."""
    if isinstance(store, StoresReadings):
        store.readings.put(
            [reading for prepared in batch for reading in prepared.readings],
            [description for prepared in batch for description in prepared.descriptions],
        )


def remove_sources(store: Store, entries: Sequence[LedgerEntry]) -> None:
    """Remove the documents of these entries, with all that only they supported, at once."""
    with store.transaction():
        ids = [entry.document_id for entry in entries if entry.document_id]
        chunks = [chunk for document_id in ids for chunk in store.documents.chunk_ids(document_id)]
        before = entities_before(store, chunks, set())
        store.remove_documents(ids)
        _outdate_communities(store)
        refresh_entities(store, before, None)
        store.ledger.remove([entry.uri for entry in entries])
    drop_tables(store, [entry.uri for entry in entries])


def _stored_chunks(store: Store, batch: Sequence[Prepared]) -> dict[str, Collection[str]]:
    """Return the chunk ids of those documents of the batch that are in the index already."""
    known = store.ledger.get([prepared.source.uri for prepared in batch])
    return {
        prepared.document.id: store.documents.chunk_ids(prepared.document.id)
        for prepared in batch
        if prepared.source.uri in known
    }


def _put_vectors(
    store: Store, batch: Sequence[Prepared], vectors: Mapping[str, PassageVectors]
) -> None:
    keyed = [
        (chunk.id, key, vectors[key])
        for prepared in batch
        for chunk, key in zip(prepared.leaves, prepared.keys, strict=bool(prepared.keys))
        if key != NO_VECTORS
    ]
    store.vectors("chunk").put((i, key, found.chunk[np.newaxis]) for i, key, found in keyed)
    store.vectors("sentence").put(
        (i, key, found.sentences) for i, key, found in keyed if len(found.sentences)
    )
