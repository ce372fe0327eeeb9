"""Convert values of the Bolt driver to plain ones, as a statement on the index returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from sys import getsizeof
from typing import TYPE_CHECKING, Any

from knotwork._query_memory import POOL, result_too_large
from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue

if TYPE_CHECKING:
    from neo4j.graph import Node, Relationship

_MAX_DEPTH = 60
_SCALAR_BYTES = 40
_MAP_BYTES = 220

NodeIds = Callable[["Node"], str | None]
"""Returns the id of a node, or None if the node came without what it follows from."""


def element_id(node: Node) -> str:
    """Return the id that a database gave to a node."""
    return str(node.element_id)


def own_id(node: Node) -> str | None:
    """Return the id of a node of a mirror: its property."""
    found = node.get("id")
    return None if found is None else str(found)


class ValueConverter:
    """Converts the rows of one result. Raises QueryRefused if they are too large in all.

    ``node_id`` returns the ids of nodes. The ends of relationships are of the ``ends``, by element
    id, if they came without properties. ``unlimited`` is for results that no user asked for.
    """

    def __init__(
        self, node_id: NodeIds, ends: Mapping[str, str] | None = None, *, unlimited: bool = False
    ) -> None:
        self._node_id = node_id
        self._limit = None if unlimited else POOL.ceilings.result_bytes
        self._ends = ends or {}
        self._size = 0

    def row(self, values: Iterable[Any]) -> tuple[PropertyValue, ...]:
        """Return the plain values of a row."""
        return tuple(self.plain(value) for value in values)

    def plain(self, value: Any, depth: int = 0) -> PropertyValue:  # noqa: ANN401, PLR0911 - one a kind
        """Return a plain value."""
        from neo4j.graph import Node, Path, Relationship

        if depth > _MAX_DEPTH:
            raise QueryRefused("A value nests too deeply to be returned.")
        if isinstance(value, str):
            return self._counted(value, getsizeof(value))
        if value is None or isinstance(value, bool | int | float):
            return self._counted(value, _SCALAR_BYTES)
        if isinstance(value, Node):
            return self._node(value, depth)
        if isinstance(value, Relationship):
            return self._relationship(value, depth)
        if isinstance(value, Path):
            return {
                "nodes": [self.plain(node, depth + 1) for node in value.nodes],
                "relationships": [self.plain(edge, depth + 1) for edge in value.relationships],
            }
        if isinstance(value, Mapping):
            self._counted(value, _MAP_BYTES)
            return {str(key): self.plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            self._counted(value, getsizeof(value))
            return [self.plain(item, depth + 1) for item in value]
        return self._other(value)

    def _counted(self, value: PropertyValue, count: int) -> PropertyValue:
        self._size += count
        if self._limit is not None and self._size > self._limit:
            raise result_too_large(self._limit)
        return value

    def _node(self, node: Node, depth: int) -> PropertyValue:
        self._counted(None, _MAP_BYTES)
        return {
            "id": self._id_of(node),
            "labels": sorted(node.labels),
            "properties": self._properties(node, depth),
        }

    def _relationship(self, edge: Relationship, depth: int) -> PropertyValue:
        self._counted(None, _MAP_BYTES)
        source = self._id_of(edge.start_node) if edge.start_node is not None else ""
        target = self._id_of(edge.end_node) if edge.end_node is not None else ""
        if self._node_id is own_id:
            parts = (source, edge.type, target, str(edge.get("relation") or ""))
            key = ":".join(part for part in parts if part)
        else:
            key = str(edge.element_id)
        return {
            "id": key,
            "type": edge.type,
            "source": source,
            "target": target,
            "properties": self._properties(edge, depth),
        }

    def _properties(self, item: Node | Relationship, depth: int) -> dict[str, PropertyValue]:
        return {str(key): self.plain(value, depth + 1) for key, value in item.items()}

    def _id_of(self, node: Node) -> str:
        found = self._node_id(node)
        return self._ends.get(node.element_id, "") if found is None else found

    def _other(self, value: Any) -> PropertyValue:  # noqa: ANN401 - of the driver
        """Return a time, duration or point as text or a map, and bytes as hexadecimal digits."""
        if isinstance(value, bytes | bytearray):
            return self._counted(value.hex(), getsizeof(value) * 2)
        if hasattr(value, "iso_format"):
            return self._counted(str(value.iso_format()), _MAP_BYTES)
        if hasattr(value, "srid"):
            names = ("x", "y", "z")
            coordinates = dict(zip(names, map(float, value), strict=False))
            return self._counted({"srid": value.srid, **coordinates}, _MAP_BYTES)
        raise QueryRefused(f"A value of the type {type(value).__name__} cannot be returned.")


def unknown_ends(values: Iterable[Any], node_id: NodeIds) -> set[str]:
    """Return the element ids of the ends of relationships that came without their properties."""
    from neo4j.graph import Path, Relationship

    found: set[str] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Relationship):
            ends = (end for end in value.nodes if end is not None and node_id(end) is None)
            found.update(str(end.element_id) for end in ends)
        elif isinstance(value, Path):
            waiting += value.relationships
        elif isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
    return found
