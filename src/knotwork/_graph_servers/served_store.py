"""An index whose Cypher reaches the graphs on its servers too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from knotwork._graph_servers.served_graphs import ServedGraphs
from knotwork._stores.base import (
    DocumentStore,
    GraphStore,
    Ledger,
    Store,
    TextIndex,
    VectorIndex,
)
from knotwork._stores.capabilities import Capabilities


class ServedStore:
    """A store as it is, except that `Capabilities.cypher` finds connected graphs and the mirror."""

    def __init__(self, store: Store, graphs: ServedGraphs) -> None:
        self.url = store.url
        self._store = store
        whole = store.capabilities
        self.capabilities: Capabilities = (
            whole if whole.cypher is None else replace(whole, cypher=graphs.run, live_graphs=graphs)
        )

    @property
    def documents(self) -> DocumentStore:
        """The documents of the store."""
        return self._store.documents

    @property
    def graph(self) -> GraphStore:
        """The graph of the store."""
        return self._store.graph

    @property
    def ledger(self) -> Ledger:
        """The ledger of the store."""
        return self._store.ledger

    def texts(self, name: str) -> TextIndex:
        """Return the text index of this name."""
        return self._store.texts(name)

    def vectors(self, name: str) -> VectorIndex:
        """Return the vector index of this name."""
        return self._store.vectors(name)

    def meta(self) -> Mapping[str, str]:
        """Return all settings stored with the index."""
        return self._store.meta()

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Store settings with the index."""
        self._store.set_meta(values)

    def transaction(self) -> AbstractContextManager[None]:
        """Open the write transaction of the store, or join it."""
        return self._store.transaction()

    def reading(self) -> AbstractContextManager[None]:
        """Read one state of the store in the block."""
        return self._store.reading()

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction of the store."""
        return self._store.writing

    def remove_documents(self, document_ids: Collection[str]) -> None:
        """Remove documents and all that only they supported."""
        self._store.remove_documents(document_ids)

    def generation(self) -> int:
        """Return the generation of the store."""
        return self._store.generation()

    def close(self) -> None:
        """Close the store."""
        self._store.close()
