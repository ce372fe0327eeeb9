"""In which order the parts of a pattern are looked for: the cheapest start, then along its edges.

Costs are expected numbers of rows, from the counts of labels and types and the number of distinct
values of indexed properties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from knotwork.cypher.graph import PropertyGraph
from knotwork.cypher.names import names_in
from knotwork.cypher.pattern_parts import Condition, NodePart, PatternParts, RelationshipPart
from knotwork.cypher.runtime import Runtime
from knotwork.cypher.syntax import Binary, Call, Comparison, Expression, Property, Variable

_Seek = Literal["equal", "in", "id", "element"]
_INDEXED_NODES = 1_000_000


@dataclass(frozen=True, slots=True)
class Start:
    """Where the nodes come from: a row, all (with a label), or those found by a value."""

    node: NodePart
    cost: float
    seek: _Seek | None = None
    key: str = ""
    value: Expression | None = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """Following a relationship from the node ``near``, which is known, to ``far``."""

    relationship: RelationshipPart
    near: str
    far: str
    into: bool


@dataclass(frozen=True, slots=True)
class Given:
    """A relationship that is known beforehand, and so gives both of its ends."""

    relationship: RelationshipPart
    known: frozenset[str]


PlannedStep = Start | Expansion | Given


@dataclass(slots=True)
class Planner:
    """Orders the steps of one MATCH."""

    runtime: Runtime
    parts: PatternParts
    available: set[str]
    steps: list[PlannedStep] = field(default_factory=list)

    def plan(self) -> list[PlannedStep]:
        """Return the steps, each with what it needs before it."""
        left = dict(self.parts.relationships)
        waiting = {name for name, node in self.parts.nodes.items()}
        for relationship in list(left.values()):
            if relationship.bound:
                known = frozenset(set(self.parts.nodes) - waiting) | self._bound()
                self._take(Given(relationship, known), relationship.left, relationship.right)
                waiting -= {relationship.left, relationship.right}
                del left[relationship.name]
        while waiting or left:
            self.runtime.budget.look()
            chosen = self._best_expansion(left, waiting)
            if chosen is not None:
                self._take(chosen, chosen.far)
                waiting.discard(chosen.far)
                del left[chosen.relationship.name]
                continue
            start = min(
                (self._best_start(self.parts.nodes[name]) for name in sorted(waiting)),
                key=lambda start: start.cost,
            )
            self._take(start, start.node.name)
            waiting.discard(start.node.name)
        return self.steps

    def _bound(self) -> frozenset[str]:
        return frozenset(name for name, node in self.parts.nodes.items() if node.bound)

    def _take(self, step: PlannedStep, *names: str) -> None:
        self.steps.append(step)
        self.available |= set(names)

    def _best_expansion(
        self, left: dict[str, RelationshipPart], waiting: set[str]
    ) -> Expansion | None:
        found: list[tuple[float, int, Expansion]] = []
        for order, relationship in enumerate(left.values()):
            ends = (
                (relationship.left, relationship.right),
                (relationship.right, relationship.left),
            )
            for near, far in ends:
                if near in waiting or (relationship.shortest and not self._is_known(far, waiting)):
                    continue
                into = far not in waiting or self.parts.nodes[far].bound
                expansion = Expansion(relationship, near, far, into)
                found.append((self._expansion_cost(expansion), order, expansion))
        if not found:
            return None
        cost, _, chosen = min(found, key=lambda item: item[:2])
        starts = [self._best_start(self.parts.nodes[name]).cost for name in waiting]
        needs_start = chosen.relationship.lengths and starts and min(starts) <= 1
        return None if needs_start and cost > 1 else chosen

    def _is_known(self, name: str, waiting: set[str]) -> bool:
        return name not in waiting or self.parts.nodes[name].bound

    def _expansion_cost(self, expansion: Expansion) -> float:
        graph, relationship = self.runtime.graph, expansion.relationship
        counts = [graph.type_counts.get(name, 0) for name in relationship.types]
        edges = sum(counts) if relationship.types else graph.relationship_count
        label = self.parts.nodes[expansion.near].label
        nodes = max(len(graph.labelled(label)), 1)
        fan = edges / nodes * (2 if relationship.towards == "both" else 1)
        if relationship.lengths is not None:
            fan = max(fan, 1.0) ** min(relationship.lengths[1] or 4, 4) + 1
        if expansion.into:
            return fan / nodes
        return fan * self._share(self.parts.nodes[expansion.far])

    def _share(self, node: NodePart) -> float:
        """Return which part of the nodes that are reached a node's conditions let pass."""
        total = max(len(self.runtime.graph.nodes), 1)
        return min(self._best_start(node).cost / total + 1e-6, 1.0)

    def _best_start(self, node: NodePart) -> Start:
        if node.bound:
            return Start(node, 0.0)
        best = Start(node, float(len(self.runtime.graph.labelled(node.label))) + 1)
        for start in self._seeks(node):
            if start.cost < best.cost:
                best = start
        return best

    def _seeks(self, node: NodePart) -> Iterator[Start]:
        for condition in self.parts.conditions:
            if node.name not in condition.names:
                continue
            for subject, kind, value in _equations(condition):
                if not self._known(value, node.name):
                    continue
                if isinstance(subject, Property) and subject.subject == Variable(node.name):
                    cost = self._seek_cost(node, subject.key) * (5 if kind == "in" else 1)
                    yield Start(node, cost, kind, subject.key, value)
                elif isinstance(subject, Call) and subject.arguments == (Variable(node.name),):
                    yield Start(node, 0.5, "id" if subject.name == "id" else "element", "", value)

    def _known(self, value: Expression, name: str) -> bool:
        needed = names_in(value)
        own = set(self.parts.nodes) | set(self.parts.relationships)
        own |= {path.name for path in self.parts.paths}
        return name not in needed and not (needed & own) - self.available

    def _seek_cost(self, node: NodePart, key: str) -> float:
        graph: PropertyGraph = self.runtime.graph
        count = len(graph.labelled(node.label))
        if count > _INDEXED_NODES:
            return count / 2
        return graph.mean_found(node.label, key, self.runtime.budget.step)


def _equations(condition: Condition) -> Iterator[tuple[Expression, _Seek, Expression]]:
    """Yield what must equal what, either way round, or be in what list."""
    expression = condition.expression
    if isinstance(expression, Binary) and expression.operator == "IN":
        if isinstance(expression.left, Property):
            yield expression.left, "in", expression.right
        return
    if not isinstance(expression, Comparison) or len(expression.steps) != 1:
        return
    operator, other = expression.steps[0]
    if operator != "=":
        return
    for subject, value in ((expression.first, other), (other, expression.first)):
        named = isinstance(subject, Call) and subject.name in ("id", "elementid")
        if isinstance(subject, Property) or named:
            yield subject, "equal", value
