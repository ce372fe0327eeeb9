"""What an index holds, in numbers."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.indexing.embedding import EMBEDDER_META
from knotwork.records import GraphSchema
from knotwork.stores.base import Store


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an index holds. ``embedder`` is empty without vectors; ``failed`` could not be read."""

    documents: int
    chunks: int
    entities: int
    failed: int
    embedder: str
    graph: GraphSchema


def read_statistics(store: Store) -> Statistics:
    """Return what the index holds."""
    return Statistics(
        documents=store.documents.document_count(),
        chunks=store.documents.chunk_count(),
        entities=store.graph.entity_count(),
        failed=sum(1 for entry in store.ledger.entries() if entry.error),
        embedder=store.meta().get(EMBEDDER_META, ""),
        graph=store.graph.schema(),
    )
