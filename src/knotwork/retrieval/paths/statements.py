"""Which passages are lines of an imported graph, and not text that somebody wrote."""

from __future__ import annotations

from collections.abc import Iterable

from knotwork.records import GRAPH_URI, Chunk
from knotwork.stores.base import Store
from knotwork.stores.queries import StoresPropertyGraphs


def are_statements(chunks: Iterable[Chunk], store: Store) -> bool:
    """Tell whether all of these chunks state an imported graph, line by line."""
    if not isinstance(store, StoresPropertyGraphs) or not store.property_graphs.names():
        return False
    documents = store.documents.documents({chunk.document_id for chunk in chunks})
    return all(document.uri.startswith(GRAPH_URI) for document in documents.values())
