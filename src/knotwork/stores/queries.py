"""The powers to hold imported graphs and to run statements on graphs, which few stores have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from knotwork.records import PropertyNode, PropertyValue, QueryResult, Relationship

OWN_GRAPH = ""
"""The name of the graph that an index makes of its documents; see `RunsCypher`."""


class PropertyGraphStore(Protocol):
    """Graphs with labels and properties that were imported, by name; never `OWN_GRAPH`."""

    def put(
        self, name: str, nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
    ) -> None:
        """Put a graph in the place of the one with its name, in the transaction of the store."""

    def remove(self, name: str) -> None: ...

    def names(self) -> list[str]:
        """Return the names of all graphs, ascending."""


@runtime_checkable
class StoresPropertyGraphs(Protocol):
    """A store that can hold imported graphs."""

    @property
    def property_graphs(self) -> PropertyGraphStore: ...


@runtime_checkable
class RunsCypher(Protocol):
    """A store that answers read-only openCypher statements.

    The graph `OWN_GRAPH` is the index itself, in the labels and relationship types of
    `records.graph` (Document, Section, Chunk, Entity, Keyword; RELATES with ``relation``), with
    communities and questions where the store holds them (`QueriedLabel`, `QueriedEdgeType`).
    """

    def cypher(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a statement and return its rows, at most ``row_limit``.

        Raises QueryRefused for a statement that could do anything but read this graph, or that is
        not supported, QuerySyntaxError for one that cannot be parsed, QueryTimeout.
        """
        ...
