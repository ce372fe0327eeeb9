"""The memory store: a `Store` in dictionaries, whose transactions work on a copy."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from knotwork._stores.capabilities import OWN_GRAPH, Capabilities
from knotwork._stores.cypher_graphs import (
    GraphCache,
    GraphSource,
    project_imported,
    project_store,
    run_cypher,
    unknown_graph,
)
from knotwork._stores.memory.contents import MemoryContents
from knotwork._stores.memory.documents import (
    MemoryDocuments,
    MemoryFields,
    MemoryLedger,
    MemoryTexts,
    MemoryVectors,
)
from knotwork._stores.memory.extensions import (
    MemoryCommunities,
    MemoryHomonyms,
    MemoryPropertyGraphs,
    MemoryQuestions,
    MemoryReadings,
    MemoryResolutions,
)
from knotwork._stores.memory.graph import MemoryGraph
from knotwork._stores.memory.state import State, StateAccess
from knotwork._stores.removal import remove_documents
from knotwork.records import PropertyValue, QueryResult


class _Published(NamedTuple):
    """What a transaction has published."""

    state: State
    generation: int


class MemoryStore:
    """A store in the memory of this process; the reference that other stores are tested against.

    A transaction changes a copy that only its thread sees, and publishes the copy at the end.
    """

    def __init__(self) -> None:
        self.url = "memory:"
        self._published = _Published(State(), 0)
        self._writer = threading.RLock()
        self._own = threading.local()
        access = StateAccess(self._state, self.transaction)
        self._access = access
        self.documents = MemoryDocuments(access)
        self.graph = MemoryGraph(access)
        self.ledger = MemoryLedger(access)
        self.communities = MemoryCommunities(access)
        self.readings = MemoryReadings(access)
        self.resolutions = MemoryResolutions(access)
        self.homonyms = MemoryHomonyms(access)
        self.property_graphs = MemoryPropertyGraphs(access)
        self.fields = MemoryFields(access)
        self.questions = MemoryQuestions(access)
        self.contents = MemoryContents(access)
        self.cypher = MemoryCypher(self).run

    @property
    def capabilities(self) -> Capabilities:
        """All optional parts; dictionaries need no check."""
        return Capabilities(
            communities=self.communities,
            readings=self.readings,
            questions=self.questions,
            resolutions=self.resolutions,
            homonyms=self.homonyms,
            property_graphs=self.property_graphs,
            fields=self.fields,
            cypher=self.cypher,
            vector_replacement=self,
            contents=self.contents,
        )

    def texts(self, name: str) -> MemoryTexts:
        """Return the text index of this name."""
        return MemoryTexts(self._access, name)

    def vectors(self, name: str) -> MemoryVectors:
        """Return the vector index of this name."""
        return MemoryVectors(self._access, name)

    def replace_vectors(self, name: str, source: str) -> None:
        """Move the vectors of ``source`` to index ``name``; see `VectorReplacement`."""
        self.vectors(name).take_over(self.vectors(source))

    def clear_vectors(self, name: str) -> None:
        """Remove all vectors of an index."""
        self.vectors(name).clear()

    def meta(self) -> Mapping[str, str]:
        """Return all settings stored with the index."""
        return MappingProxyType(dict(sorted(self._state().meta.items())))

    def set_meta(self, values: Mapping[str, str]) -> None:
        """Add or replace settings."""
        with self.transaction():
            self._state().meta.update(values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Open the write transaction, or join it if it is open."""
        if self._working() is not None:
            yield
            return
        with self._writer:
            state, generation = self._published
            self._own.working = state.copy()
            try:
                yield
                self._published = _Published(self._own.working, generation + 1)
            finally:
                self._own.working = None

    def remove_documents(self, document_ids: Collection[str]) -> None:
        """Remove documents and all that only they supported from every part of the store."""
        remove_documents(self, document_ids)

    def generation(self) -> int:
        """Return a number that changes with every committed write."""
        return self._read().generation

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read one state of the store in the block, also while others write."""
        if self._working() is not None or getattr(self._own, "read", None) is not None:
            yield
            return
        self._own.read = self._published
        try:
            yield
        finally:
            self._own.read = None

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a transaction."""
        return self._working() is not None

    def close(self) -> None:
        """Do nothing, as a memory store has nothing to close."""

    def _working(self) -> State | None:
        working: State | None = getattr(self._own, "working", None)
        return working

    def _state(self) -> State:
        return self._working() or self._read().state

    def _read(self) -> _Published:
        """Return the state that this thread reads: the newest, unless it is inside `reading`."""
        read: _Published | None = getattr(self._own, "read", None)
        return read or self._published


class MemoryCypher:
    """Run statements on graphs that are cached until the store changes."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._cache = GraphCache()

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `CypherRunner`."""
        found = self._cache.get(graph, self._source(graph))
        return run_cypher(found, statement, parameters, row_limit=row_limit, timeout_s=timeout_s)

    def _source(self, name: str) -> GraphSource:
        store = self._store
        version = None if store.writing else store.generation()
        if name == OWN_GRAPH:
            return GraphSource(version, lambda: project_store(store))
        stored = store.property_graphs.read(name)
        if stored is None:
            raise unknown_graph(name, store.property_graphs.names())
        return GraphSource(version, lambda: project_imported(*stored))
