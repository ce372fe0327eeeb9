"""Statements on the graphs of the memory store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from knotwork.records import PropertyValue, QueryResult
from knotwork.stores.projection import (
    OWN_GRAPH,
    GraphSource,
    KeptGraphs,
    answer,
    project_imported,
    project_own,
    unknown_graph,
)

if TYPE_CHECKING:
    from knotwork.stores.memory.store import MemoryStore


class MemoryCypher:
    """Runs statements; the graph of a state is made once."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._kept = KeptGraphs()

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement; see `RunsCypher`."""
        found = self._kept.get(graph, self._source(graph))
        return answer(found, statement, parameters, row_limit=row_limit, timeout_s=timeout_s)

    def _source(self, name: str) -> GraphSource:
        store = self._store
        version = None if store.writing else store.generation()
        if name == OWN_GRAPH:
            return GraphSource(version, lambda: project_own(store))
        stored = store.property_graphs.read(name)
        if stored is None:
            raise unknown_graph(name, store.property_graphs.names())
        return GraphSource(version, lambda: project_imported(*stored))
