"""Validate imported property graphs before a store writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from knotwork._stores.capabilities import OWN_GRAPH
from knotwork.errors import StoreError
from knotwork.records import PropertyNode, PropertyValue, Relationship

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
