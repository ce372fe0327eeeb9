"""Values as they leave the engine: plain lists and mappings of plain values."""

from __future__ import annotations

from knotwork.cypher.graph import GraphNode, GraphRelationship, Path, PropertyGraph, Value
from knotwork.cypher.limits import Budget
from knotwork.cypher.values import Temporal
from knotwork.errors import QueryRefused


class Results:
    """Turns values into plain ones, under the ceilings of a statement."""

    def __init__(self, graph: PropertyGraph, budget: Budget) -> None:
        self._graph = graph
        self._budget = budget

    def plain(self, value: Value, depth: int = 0) -> Value:  # noqa: PLR0911 - one a kind
        """Return a value as plain ones. Raises QueryRefused for one that nests too deeply."""
        if value is None or isinstance(value, str | bool | int | float):
            return value
        self._budget.hold()
        if depth > self._budget.limits.depth:
            raise QueryRefused("A value nests too deeply to be returned.")
        if isinstance(value, Path):
            return {
                "nodes": [self.plain(node, depth + 1) for node in value.nodes],
                "relationships": [self.plain(edge, depth + 1) for edge in value.relationships],
            }
        if isinstance(value, list | tuple):
            return [self.plain(item, depth + 1) for item in value]
        if isinstance(value, GraphNode):
            properties = self.plain(dict(value.properties), depth + 1)
            return {"id": value.id, "labels": list(value.labels), "properties": properties}
        if isinstance(value, GraphRelationship):
            return self._relationship(value, depth)
        if isinstance(value, Temporal):
            return str(value)
        return {key: self.plain(item, depth + 1) for key, item in value.items()}

    def _relationship(self, edge: GraphRelationship, depth: int) -> Value:
        return {
            "id": self._graph.relationship_id(edge.index),
            "type": edge.type,
            "source": self._graph.nodes[edge.source].id,
            "target": self._graph.nodes[edge.target].id,
            "properties": self.plain(dict(edge.properties), depth + 1),
        }
