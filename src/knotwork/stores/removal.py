"""Remove documents from every part of a store, with all that only they supported."""

from __future__ import annotations

from collections.abc import Collection

from knotwork.stores.base import Store
from knotwork.stores.extensions import StoresCommunities, StoresQuestions, StoresReadings
from knotwork.stores.resolutions import StoresResolutions
from knotwork.stores.vectors import staged_name


def remove_documents(store: Store, document_ids: Collection[str]) -> None:
    """Remove documents from documents, ledger, graph, texts and vectors in one transaction.

    An entity that no other chunk mentions goes too, with its texts and vectors. Communities that
    the documents touched are stale from then on, and reports that cite them go. So does what a
    model read in them, and the summary of an entity that nothing else describes. Decisions which
    entities are the same stay, for the entities may come back; those mentioned here are touched.
    """
    with store.transaction():
        sources = [document.uri for document in store.documents.documents(document_ids).values()]
        chunks = [
            chunk
            for document_id in document_ids
            for chunk in store.documents.chunk_ids(document_id)
        ]
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
        if isinstance(store, StoresCommunities):
            reports = store.communities.forget(chunks, mentioned=mentioned, vanished=vanished)
            store.texts("report").remove(reports)
            remove_vectors(store, "report", reports)
        if isinstance(store, StoresQuestions):
            store.questions.remove_chunks(chunks)
        if isinstance(store, StoresReadings):
            store.readings.remove_chunks(chunks)
        if isinstance(store, StoresResolutions):
            store.resolutions.touch(mentioned)


def remove_vectors(store: Store, name: str, ids: Collection[str]) -> None:
    """Remove vectors from the index of this name, and from the one that is to replace it."""
    store.vectors(name).remove(ids)
    store.vectors(staged_name(name)).remove(ids)
