"""Which passages are lines of an imported graph, and not text that somebody wrote."""

from __future__ import annotations

from collections.abc import Collection

from knotwork.records import GRAPH_URI, Chunk
from knotwork.stores.base import Store
from knotwork.stores.queries import StoresPropertyGraphs


def find_statements(chunks: Collection[Chunk], store: Store) -> set[str]:
    """Return the ids of those of these chunks that state an imported graph, line by line."""
    if not isinstance(store, StoresPropertyGraphs) or not store.property_graphs.names():
        return set()
    documents = store.documents.documents({chunk.document_id for chunk in chunks})
    stating = {key for key, document in documents.items() if document.uri.startswith(GRAPH_URI)}
    return {chunk.id for chunk in chunks if chunk.document_id in stating}
