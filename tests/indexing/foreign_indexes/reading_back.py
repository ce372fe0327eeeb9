"""Read an index back in forms by which two indexes can be compared."""

from __future__ import annotations


def dropped(report) -> dict[tuple[str, str], int]:
    return {(kind, reason): count for kind, reason, count in report.dropped}


def chunks_of(store, uri: str):
    entry = store.ledger.get([uri])[uri]
    chunks = store.documents.chunks(
        store.documents.chunk_ids_of([entry.document_id])[entry.document_id]
    )
    return sorted(chunks.values(), key=lambda chunk: chunk.ordinal)


def edges_of(store):
    names = {node.id: node.name for node in store.graph.find(label="Entity", limit=99)}
    return {
        (names[e.source], e.relation, names[e.target]): e.weight
        for e in store.graph.edges(types=["RELATES"])
    }


def shape(store) -> set[tuple[int, frozenset[str], str]]:
    keys = [key for level in store.communities.levels() for key in level]
    reports = store.communities.reports(keys)
    return {
        (c.level, frozenset(c.entity_ids), reports[c.id].title)
        for c in store.communities.communities(keys).values()
    }
