"""Functions of nodes, relationships, paths and maps."""

from __future__ import annotations

from knotwork.cypher.functions.signature import Function, plain, wrong
from knotwork.cypher.graph import Element, GraphNode, GraphRelationship, Path, Value
from knotwork.cypher.runtime import Runtime


def _labels(value: Value) -> list[Value]:
    if isinstance(value, GraphNode):
        return list(value.labels)
    raise wrong("labels", value, "a node")


def _type(value: Value) -> str:
    if isinstance(value, GraphRelationship):
        return value.type
    raise wrong("type", value, "a relationship")


def _properties(value: Value) -> dict[str, Value]:
    if isinstance(value, Element):
        return dict(value.properties)
    if isinstance(value, dict):
        return dict(value)
    raise wrong("properties", value, "a node, a relationship or a map")


def _keys(value: Value) -> list[Value]:
    if isinstance(value, Element):
        return list(value.properties)
    if isinstance(value, dict):
        return list(value)
    raise wrong("keys", value, "a node, a relationship or a map")


def _id(value: Value) -> int:
    if isinstance(value, Element):
        return value.index
    raise wrong("id", value, "a node or a relationship")


def element_id(runtime: Runtime, value: Value) -> str:
    """Return what a node or relationship is called outside of this statement."""
    if isinstance(value, GraphNode):
        return value.id
    if isinstance(value, GraphRelationship):
        return runtime.graph.relationship_id(value.index)
    raise wrong("elementId", value, "a node or a relationship")


def _nodes(value: Value) -> list[Value]:
    if isinstance(value, Path):
        return list(value.nodes)
    raise wrong("nodes", value, "a path")


def _relationships(value: Value) -> list[Value]:
    if isinstance(value, Path):
        return list(value.relationships)
    raise wrong("relationships", value, "a path")


def _start_node(runtime: Runtime, value: Value) -> GraphNode:
    if isinstance(value, GraphRelationship):
        return runtime.graph.nodes[value.source]
    raise wrong("startNode", value, "a relationship")


def _end_node(runtime: Runtime, value: Value) -> GraphNode:
    if isinstance(value, GraphRelationship):
        return runtime.graph.nodes[value.target]
    raise wrong("endNode", value, "a relationship")


def _exists(_: Runtime, value: Value) -> bool:
    return value is not None


ELEMENTS: dict[str, Function] = {
    "elementid": Function(element_id),
    "endnode": Function(_end_node),
    "exists": Function(_exists, takes_null=True),
    "id": plain(_id),
    "keys": plain(_keys),
    "labels": plain(_labels),
    "nodes": plain(_nodes),
    "properties": plain(_properties),
    "relationships": plain(_relationships),
    "rels": plain(_relationships),
    "startnode": Function(_start_node),
    "type": plain(_type),
}
