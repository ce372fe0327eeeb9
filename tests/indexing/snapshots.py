"""All that an index holds, read through the protocols, to compare one index with another."""

from dataclasses import replace

from knotwork._stores.base import Store
from knotwork.records import Label

QUERIES = ("ada", "meets", "room 7", "helps cleo in room", "GUS warns", "travel office")


def snapshot(store: Store, *, times: bool = False) -> dict[str, object]:
    """Return the contents of a store as plain values; ``times`` keeps when files were changed."""
    document_ids = store.documents.document_ids()
    chunk_ids = [c for ids in store.documents.chunk_ids_of(document_ids).values() for c in ids]
    entities = store.graph.find(label=Label.ENTITY, limit=10_000_000)
    entity_ids = [node.id for node in entities]
    ids = {"chunk": chunk_ids, "sentence": chunk_ids, "entity": entity_ids}
    return {
        "documents": store.documents.documents(document_ids),
        "sections": store.documents.sections_of(document_ids),
        "chunk ids": store.documents.chunk_ids_of(document_ids),
        "chunks": store.documents.chunks(chunk_ids),
        "counts": (store.documents.document_count(), store.documents.chunk_count()),
        "mentions": store.graph.mentions(chunk_ids),
        "entities": store.graph.entities(entity_ids),
        "nodes": entities,
        "edges": list(store.graph.edges()),
        "about": store.graph.about(entity_ids, fan=1_000),
        "schema": store.graph.schema(),
        "readings": store.readings.readings(chunk_ids),
        "descriptions": store.readings.descriptions_in(chunk_ids),
        "vectors": {
            name: {i: matrix.tobytes() for i, matrix in store.vectors(name).get(known).items()}
            for name, known in ids.items()
        },
        "vector counts": {name: store.vectors(name).count() for name in ids},
        "text counts": {name: store.texts(name).count() for name in ("chunk", "entity")},
        "found": {
            (name, query): {
                hit.id: round(hit.score, 6) for hit in store.texts(name).search(query, k=1_000)
            }
            for name in ("chunk", "entity")
            for query in QUERIES
        },
        "ledger": [
            replace(entry, checked_ns=0)
            if times
            else replace(entry, modified_ns=0, changed_ns=0, checked_ns=0, digest="")
            for entry in store.ledger.entries()
        ],
        # An index that was emptied still knows its embedder; one never filled has none yet.
        "meta": {key: store.meta().get(key) for key in ("embedder", "dimension") if document_ids},
    }
