"""Remove documents, and everything that only they supported, from every part of a store."""

from __future__ import annotations

from collections.abc import Collection

from knotwork._stores.base import Store
from knotwork._stores.indexes import DESCRIPTIONS, staged_name


def remove_documents(store: Store, document_ids: Collection[str]) -> None:
    """Remove documents with their chunks, ledger entries, contributions, texts and vectors.

    One transaction removes everything. Entities that no other chunk mentions are removed with
    their texts and vectors, as are model readings of the chunks and summaries of entities without
    another description. Affected communities become stale and reports that cite the chunks are
    removed. Merge decisions stay, as entities may return; the mentioned entities are marked as
    changed.
    """
    parts = store.capabilities
    with store.transaction():
        sources = [document.uri for document in store.documents.documents(document_ids).values()]
        held = store.documents.chunk_ids_of(document_ids)
        chunks = [chunk for ids in held.values() for chunk in ids]
        mentioned = {
            mention.entity_id
            for mentions in store.graph.mentions(chunks).values()
            for mention in mentions
        }
        store.documents.remove(document_ids)
        store.ledger.remove(sources)
        store.graph.remove_chunks(chunks)
        store.texts("chunk").remove(chunks)
        remove_vectors(store, "chunk", chunks)
        remove_vectors(store, "sentence", chunks)
        store.texts("question").remove(chunks)
        remove_vectors(store, "question", chunks)
        vanished = mentioned - store.graph.entities(mentioned).keys()
        store.texts("entity").remove(vanished)
        remove_vectors(store, "entity", vanished)
        if parts.communities is not None:
            reports = parts.communities.forget(chunks, mentioned=mentioned, vanished=vanished)
            store.texts("report").remove(reports)
            remove_vectors(store, "report", reports)
        if parts.questions is not None:
            parts.questions.remove_chunks(chunks)
        if parts.readings is not None:
            parts.readings.remove_chunks(chunks)
            undescribed = mentioned - parts.readings.descriptions(mentioned).keys()
            remove_vectors(store, DESCRIPTIONS, undescribed)
        if parts.resolutions is not None:
            parts.resolutions.touch(mentioned)


def remove_vectors(store: Store, name: str, ids: Collection[str]) -> None:
    """Remove vectors from the index of this name and from its staged replacement."""
    store.vectors(name).remove(ids)
    store.vectors(staged_name(name)).remove(ids)
