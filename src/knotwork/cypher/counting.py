"""Counts that a graph knows without looking at a row: of a label, of a type, of everything."""

from __future__ import annotations

from knotwork.cypher.graph import PropertyGraph
from knotwork.cypher.syntax import (
    Call,
    LabelIs,
    Match,
    NodePattern,
    PathPattern,
    Projection,
    SingleQuery,
    Variable,
)


def known_count(query: SingleQuery, graph: PropertyGraph) -> tuple[str, int] | None:
    """Return the column and value of one MATCH and one count(), where the graph knows it."""
    if len(query.clauses) != 2:
        return None
    match, projection = query.clauses
    if not isinstance(match, Match) or not isinstance(projection, Projection):
        return None
    if match.optional or match.condition is not None or len(match.patterns) != 1:
        return None
    pattern = match.patterns[0]
    if pattern.variable is not None or not _counts(projection, pattern):
        return None
    count = _edges(pattern, graph) if pattern.relationships else _nodes(pattern, graph)
    return None if count is None else (projection.items[0].alias, count)


def _counts(projection: Projection, pattern: PathPattern) -> bool:
    plain = len(projection.items) == 1 and not projection.star and not projection.order
    if not plain or projection.skip or projection.limit or projection.condition:
        return False
    call = projection.items[0].expression
    if not isinstance(call, Call) or call.name != "count" or call.distinct:
        return False
    named = {node.variable for node in pattern.nodes if node.variable}
    named |= {edge.variable for edge in pattern.relationships if edge.variable}
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    return call.star or (isinstance(argument, Variable) and argument.name in named)


def _nodes(pattern: PathPattern, graph: PropertyGraph) -> int | None:
    (node,) = pattern.nodes
    if node.properties is not None or node.condition is not None:
        return None
    if node.labels is None:
        return len(graph.nodes)
    if isinstance(node.labels, LabelIs) and node.labels.name != "%":
        return len(graph.labelled(node.labels.name))
    return None


def _edges(pattern: PathPattern, graph: PropertyGraph) -> int | None:
    if len(pattern.relationships) != 1 or pattern.shortest:
        return None
    (edge,), ends = pattern.relationships, pattern.nodes
    names = [end.variable for end in ends if end.variable]
    bare = all(NodePattern(end.variable) == end for end in ends) and len(set(names)) == len(names)
    if not bare or edge.towards == "both" or edge.lengths is not None:
        return None
    if edge.properties is not None or edge.condition is not None or edge.variable in names:
        return None
    if not edge.types:
        return graph.relationship_count
    return sum(graph.type_counts.get(name, 0) for name in edge.types)
