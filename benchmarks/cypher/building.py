"""Graphs made by the CREATE of a test's preparation; the engine itself has no such clause."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork._extensions.cypher.language.clause_compiler import QueryCompiler
from knotwork._extensions.cypher.language.limits import Budget, Limits
from knotwork._extensions.cypher.language.parser import StatementParser
from knotwork._extensions.cypher.language.property_graph import (
    GraphNode,
    GraphRelationship,
    PropertyGraph,
    Value,
)
from knotwork._extensions.cypher.language.runtime import Runtime
from knotwork._extensions.cypher.language.static_analysis import Scope
from knotwork._extensions.cypher.language.syntax_tree import (
    Clause,
    LabelExpression,
    LabelIs,
    LabelJunction,
    NodePattern,
    PathPattern,
)


@dataclass(frozen=True, slots=True)
class Create:
    """What to make."""

    patterns: tuple[PathPattern, ...]


class PreparationParser(StatementParser):
    """The grammar of statements with CREATE."""

    def preparation(self) -> list[Clause | Create]:
        """Read reading clauses and CREATE in any order."""
        found: list[Clause | Create] = []
        while self.token.kind != "end":
            if self.accept("CREATE"):
                found.append(Create(self.patterns()))
            elif self.accept(";"):
                continue
            else:
                clause = self._clause()
                if clause is None:
                    self.fail("A clause of a preparation is expected")
                found.append(clause)
        return found


def labels_of(labels: LabelExpression | None) -> tuple[str, ...]:
    """Return the labels that a pattern gives to a node."""
    if labels is None:
        return ()
    if isinstance(labels, LabelIs):
        return (labels.name,)
    assert isinstance(labels, LabelJunction)
    return tuple(name for operand in labels.operands for name in labels_of(operand))


class GraphBuilder:
    """A graph that grows by CREATE."""

    def __init__(self) -> None:
        self.nodes: list[tuple[tuple[str, ...], dict[str, Value]]] = []
        self.edges: list[tuple[str, int, int, dict[str, Value]]] = []

    def graph(self) -> PropertyGraph:
        """Return the graph as it is now."""
        nodes, edges = list(self.nodes), list(self.edges)
        return PropertyGraph(
            ids=[str(index) for index in range(len(nodes))],
            labels=[labels for labels, _ in nodes],
            types=[edge[0] for edge in edges],
            sources=[edge[1] for edge in edges],
            targets=[edge[2] for edge in edges],
            node_properties=lambda index: nodes[index][1],
            relationship_properties=lambda index: edges[index][3],
        )

    def execute(self, statement: str) -> None:
        """Run a statement of reading clauses and CREATE."""
        rows: list[dict[str, Value]] = [{}]
        names: list[str] = []
        limits = Limits(statement_characters=10_000_000, timeout_s=60)
        budget = Budget(limits)
        for clause in PreparationParser(statement, limits).preparation():
            if isinstance(clause, Create):
                for row in rows:
                    for pattern in clause.patterns:
                        self._create(pattern, row)
                names = list(dict.fromkeys(name for row in rows for name in row))
                continue
            scope = Scope()
            for name in names:
                scope.declare(name)
            compiler = QueryCompiler(Runtime(self.graph(), budget, {}))
            pipe, after, _ = compiler._clause(clause, scope)  # noqa: SLF001 - a part of its clauses
            room = [None] * (scope.layout.size - len(names))
            starts = [[row.get(name) for name in names] + room for row in rows]
            names = list(after.visible())
            slots = [after.names[name].slot for name in names]
            found = [[row[slot] for slot in slots] for row in pipe(iter(starts))]
            rows = [dict(zip(names, values, strict=True)) for values in found]

    def _create(self, pattern: PathPattern, row: dict[str, Value]) -> None:
        nodes = [self._node(node, row) for node in pattern.nodes]
        ends = zip(pattern.relationships, nodes[:-1], nodes[1:], strict=True)
        for relationship, left, right in ends:
            source, target = (right, left) if relationship.direction == "in" else (left, right)
            properties = self._properties(relationship.properties, row)
            self.edges.append((relationship.types[0], source, target, properties))
            if relationship.variable:
                index = len(self.edges) - 1
                row[relationship.variable] = GraphRelationship(
                    index, relationship.types[0], source, target, lambda i: self.edges[i][3]
                )

    def _node(self, pattern: NodePattern, row: dict[str, Value]) -> int:
        known = row.get(pattern.variable or "")
        if isinstance(known, GraphNode):
            return known.index
        labels = labels_of(pattern.labels)
        self.nodes.append((labels, self._properties(pattern.properties, row)))
        index = len(self.nodes) - 1
        if pattern.variable:
            row[pattern.variable] = GraphNode(index, str(index), labels, lambda i: self.nodes[i][1])
        return index

    def _properties(self, expression: object, row: dict[str, Value]) -> dict[str, Value]:
        if expression is None:
            return {}
        runtime = Runtime(PropertyGraph(**_EMPTY), Budget(Limits()), {})
        scope = Scope()
        for name in row:
            scope.declare(name)
        evaluate = QueryCompiler(runtime).compile(expression, scope)  # type: ignore[arg-type]
        values = [*row.values(), *[None] * (scope.layout.size - len(row))]
        return {key: value for key, value in evaluate(values).items() if value is not None}


_EMPTY = {
    "ids": [],
    "labels": [],
    "types": [],
    "sources": [],
    "targets": [],
    "node_properties": lambda _: {},
    "relationship_properties": lambda _: {},
}
