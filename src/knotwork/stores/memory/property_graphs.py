"""Imported graphs, as they were put."""

from __future__ import annotations

from collections.abc import Iterable

from knotwork.records import PropertyNode, Relationship
from knotwork.stores.memory.state import Access, StoredGraph
from knotwork.stores.properties import checked_graph, checked_name


class MemoryPropertyGraphs:
    """The `PropertyGraphStore` of the memory store."""

    def __init__(self, access: Access) -> None:
        self._state, self._transaction = access

    def put(
        self, name: str, nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
    ) -> None:
        """Put a graph in the place of the one with its name; see `checked_graph`."""
        kept, edges = checked_graph(nodes, relationships)
        with self._transaction():
            self._state().graphs[checked_name(name)] = StoredGraph(tuple(kept), tuple(edges))

    def remove(self, name: str) -> None:
        """Remove the graph of this name, if there is one."""
        with self._transaction():
            self._state().graphs.pop(name, None)

    def names(self) -> list[str]:
        """Return the names of all graphs, ascending."""
        return sorted(self._state().graphs)

    def read(self, name: str) -> StoredGraph | None:
        """Return the graph of this name, if there is one."""
        return self._state().graphs.get(name)
