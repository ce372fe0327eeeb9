"""Small graphs for statements."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork._extensions.cypher.language import Limits, PropertyGraph, run_statement
from knotwork._extensions.cypher.language.property_graph import Value

Node = tuple[tuple[str, ...], dict[str, Value]]
Edge = tuple[str, int, int, dict[str, Value]]


def make_graph(nodes: Sequence[Node], edges: Sequence[Edge]) -> PropertyGraph:
    """Return a graph; edges name their ends by position."""
    return PropertyGraph(
        ids=[f"n{index}" for index in range(len(nodes))],
        labels=[labels for labels, _ in nodes],
        types=[edge[0] for edge in edges],
        sources=[edge[1] for edge in edges],
        targets=[edge[2] for edge in edges],
        node_properties=lambda index: nodes[index][1],
        relationship_properties=lambda index: edges[index][3],
        relationship_id=lambda index: f"r{index}",
    )


PEOPLE = make_graph(
    [
        (("Person",), {"name": "Ada", "age": 36}),
        (("Person",), {"name": "Bob", "age": 20}),
        (("City",), {"name": "Rome"}),
        (("Person", "Boss"), {"name": "Di", "age": 50}),
        ((), {"name": "Ghost", "age": "old"}),
    ],
    [
        ("KNOWS", 0, 1, {"w": 1}),
        ("KNOWS", 1, 3, {"w": 2}),
        ("LIVES", 0, 2, {}),
        ("LIVES", 3, 2, {}),
        ("KNOWS", 3, 0, {"w": 5}),
        ("KNOWS", 4, 4, {"w": 9}),
    ],
)
NOTHING = make_graph([], [])


def rows(graph: PropertyGraph, statement: str, limit: int = 100_000, **given: Value) -> list[Value]:
    """Return the rows of a statement; those of one column as its values."""
    result = run_statement(graph, statement, given, limits=Limits(rows=limit))
    return [row[0] if len(row) == 1 else row for row in result.rows]


def value(expression: str, **given: Value) -> Value:
    """Return the value of an expression that needs no graph."""
    (found,) = rows(NOTHING, f"RETURN {expression} AS value", **given)
    return found
