"""Imported property graphs and Cypher: optional protocols, and validation of imported graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, runtime_checkable

from knotwork.errors import StoreError
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


_DEEPEST = 32
PLAIN_TYPES = frozenset([str, bool, int, float])
"""Most values are of these types, and need no closer look."""


def validate_graph_name(name: str) -> str:
    """Return the name of an imported graph; raises StoreError for that of the index's own."""
    if name == OWN_GRAPH:
        raise StoreError(
            "An imported graph needs a name: the one without is the index's own.",
            fix="Give the graph a name, such as `people`.",
        )
    return name


def validate_graph(
    nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
) -> tuple[list[PropertyNode], list[Relationship]]:
    """Return a graph whose ids are distinct, whose ends exist and whose values can be kept.

    A property without a value is left out. Raises StoreError, naming what is wrong.
    """
    kept = [
        PropertyNode(
            node.id,
            tuple(dict.fromkeys(node.labels)),
            _validate_properties(node.id, node.properties),
        )
        for node in nodes
    ]
    known = {node.id for node in kept}
    if len(known) < len(kept):
        raise StoreError(f"Two nodes have the id `{_first_duplicate(n.id for n in kept)}`.")
    edges: list[Relationship] = []
    for edge in relationships:
        for end in (edge.source, edge.target):
            if end not in known:
                raise StoreError(f"The relationship `{edge.id}` ends at `{end}`, which is no node.")
        properties = _validate_properties(edge.id, edge.properties)
        edges.append(Relationship(edge.id, edge.type, edge.source, edge.target, properties))
    if len({edge.id for edge in edges}) < len(edges):
        raise StoreError(
            f"Two relationships have the id `{_first_duplicate(e.id for e in edges)}`."
        )
    return kept, edges


def _first_duplicate(ids: Iterable[str]) -> str:
    seen: set[str] = set()
    for identifier in ids:
        if identifier in seen:
            return identifier
        seen.add(identifier)
    raise AssertionError("no id stands twice")


def _validate_properties(
    owner: str, properties: Mapping[str, PropertyValue]
) -> dict[str, PropertyValue]:
    found: dict[str, PropertyValue] = {}
    for key, value in properties.items():
        if value is not None:
            if type(value) not in PLAIN_TYPES:
                _require_value(value, f"`{key}` of `{owner}`", _DEEPEST)
            found[key] = value
    return found


def _require_value(value: PropertyValue, place: str, depth: int) -> None:
    if value is None or isinstance(value, str | bool | int | float):
        return
    if depth and isinstance(value, list | tuple):
        for item in value:
            _require_value(item, place, depth - 1)
        return
    if depth and isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        for item in value.values():
            _require_value(item, place, depth - 1)
        return
    raise StoreError(
        f"The property {place} is a {type(value).__name__}; a property is a string, a number, a"
        " truth value, or a list or mapping of these."
    )
