"""Store imported graphs in tables: labels and properties as JSON, ends as node positions.

Graphs are validated before anything of them is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from knotwork._stores.capabilities import OWN_GRAPH
from knotwork._stores.sql.database import Row, SqlDatabase, insert, reports_damage
from knotwork._stores.sql.packing import pack_line, unpack_json, unpack_line
from knotwork.errors import StoreError
from knotwork.records import PropertyNode, PropertyValue, Relationship

_pack = json.JSONEncoder(separators=(",", ":")).encode


class GraphRows(NamedTuple):
    """The rows of an imported graph: (id, labels, properties) and (id, type, ends, properties)."""

    nodes: list[Row]
    relationships: list[Row]


class PropertyGraphStatements:
    """The statements of `SqlPropertyGraphs`, the same in all dialects."""

    names = "SELECT name FROM property_graph"
    key = "SELECT id FROM property_graph WHERE name = $1"
    nodes = "SELECT id, labels, properties FROM property_node WHERE graph = $1 ORDER BY position"
    relationships = """
        SELECT id, type, source, target, properties FROM property_relationship
        WHERE graph = $1 ORDER BY position
    """
    put_graph = insert("property_graph", "name")
    put_node = insert("property_node", "graph", "position", "id", "labels", "properties")
    put_relationship = insert(
        "property_relationship",
        *("graph", "position", "id", "type", "source", "target", "properties"),
    )
    remove_graph = "DELETE FROM property_graph WHERE id = $1"
    remove_nodes = "DELETE FROM property_node WHERE graph = $1"
    remove_relationships = "DELETE FROM property_relationship WHERE graph = $1"


@reports_damage
class SqlPropertyGraphs:
    """The `PropertyGraphStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._sql = PropertyGraphStatements

    def put(
        self, name: str, nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
    ) -> None:
        valid_nodes, edges = validate_graph(nodes, relationships)
        with self._database.transaction():
            self.remove(validate_graph_name(name))
            self._database.write(self._sql.put_graph, (pack_line(name),))
            key = self.key(name)
            assert key is not None  # inserted just now
            positions = {node.id: position for position, node in enumerate(valid_nodes)}
            self._database.write_many(self._sql.put_node, _node_rows(key, valid_nodes))
            self._database.write_many(self._sql.put_relationship, _edge_rows(key, edges, positions))

    def remove(self, name: str) -> None:
        with self._database.transaction():
            key = self.key(name)
            if key is None:
                return
            self._database.write(self._sql.remove_relationships, (key,))
            self._database.write(self._sql.remove_nodes, (key,))
            self._database.write(self._sql.remove_graph, (key,))

    def names(self) -> list[str]:
        rows = self._database.rows(self._sql.names)
        return sorted(unpack_line(name) for (name,) in rows)

    def key(self, name: str) -> int | None:
        """Return the key of the graph of this name, or None. A replaced graph gets a new key."""
        row = self._database.row(self._sql.key, (pack_line(name),))
        return None if row is None else int(row[0])

    def read(self, key: int) -> GraphRows:
        """Return the rows of the graph with this key, in insertion order."""
        with self._database.reading():
            nodes = self._database.fetch(self._sql.nodes, (key,))
            return GraphRows(nodes, self._database.fetch(self._sql.relationships, (key,)))


def unpack_properties(data: str) -> dict[str, PropertyValue]:
    """Return the properties that were packed as JSON."""
    found: dict[str, PropertyValue] = unpack_json(data)
    return found


def _node_rows(key: int, nodes: Iterable[PropertyNode]) -> Iterator[tuple[int | str | bytes, ...]]:
    for position, node in enumerate(nodes):
        labels, properties = _pack(node.labels), _pack(_to_json(node.properties))
        yield key, position, pack_line(node.id), labels, properties


def _edge_rows(
    key: int, edges: Iterable[Relationship], positions: Mapping[str, int]
) -> Iterator[tuple[int | str | bytes, ...]]:
    for position, edge in enumerate(edges):
        ends = positions[edge.source], positions[edge.target]
        properties = _pack(_to_json(edge.properties))
        yield key, position, pack_line(edge.id), pack_line(edge.type), *ends, properties


def _to_json(value: PropertyValue) -> PropertyValue:
    """Convert a value to the types of JSON."""
    if isinstance(value, Mapping):
        return {key: v if type(v) in PLAIN_TYPES else _to_json(v) for key, v in value.items()}
    return [_to_json(item) for item in value] if isinstance(value, list | tuple) else value


_MAX_DEPTH = 32
PLAIN_TYPES = frozenset([str, bool, int, float])
"""The types of most property values, which are always valid."""


def validate_graph_name(name: str) -> str:
    """Return the name of an imported graph. Raises StoreError for that of the index's own graph."""
    if name == OWN_GRAPH:
        raise StoreError(
            "An imported graph needs a name; the empty name is reserved for the index's own graph.",
            fix="Choose a name, such as `people`.",
        )
    return name


def validate_graph(
    nodes: Iterable[PropertyNode], relationships: Iterable[Relationship]
) -> tuple[list[PropertyNode], list[Relationship]]:
    """Return the nodes and relationships of a valid graph, without properties that are None.

    Raises StoreError for a duplicate id, a relationship with a missing end, or a property value
    that cannot be stored.
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
                raise StoreError(
                    f"The relationship `{edge.id}` refers to the node `{end}`, which is missing.",
                    fix="Add the node, or leave out the relationship.",
                )
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
    raise AssertionError("all ids are distinct")


def _validate_properties(
    owner: str, properties: Mapping[str, PropertyValue]
) -> dict[str, PropertyValue]:
    found: dict[str, PropertyValue] = {}
    for key, value in properties.items():
        if value is not None:
            if type(value) not in PLAIN_TYPES:
                _require_value(value, f"`{key}` of `{owner}`", _MAX_DEPTH)
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
        f"The property {place} has the unsupported type {type(value).__name__}, or is nested more"
        f" than {_MAX_DEPTH} levels deep. Valid are strings, numbers, booleans, and lists and"
        " mappings of these."
    )
