"""Plan a MATCH: resolve its patterns to parts, and order the steps by estimated cost.

Labels, properties and WHERE become conditions, each tested as soon as all its names are bound.
Costs are expected numbers of rows, estimated from the counts of labels and types and the number of
distinct values of indexed properties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.property_graph import PropertyGraph
from knotwork._extensions.cypher.language.runtime import Runtime
from knotwork._extensions.cypher.language.static_analysis import Scope, names_in
from knotwork.errors import QueryRefused, QuerySyntaxError

_MAX_PARTS = 120
_numbers = count()


@dataclass(frozen=True, slots=True)
class Condition:
    """An expression that must be true, with the names that it uses."""

    expression: tree.Expression
    names: frozenset[str]


@dataclass(slots=True)
class NodePart:
    """A node of a pattern; ``bound`` means bound before the MATCH.

    ``label`` is a label that every match has.
    """

    name: str
    slot: int
    bound: bool
    label: str | None = None


@dataclass(slots=True)
class RelationshipPart:
    """A relationship, or a walk of variable length, between the nodes named ``left`` and ``right``.

    ``index_slot`` is the slot of the relationship's index, or of the tuple of indices of a walk.
    ``slot`` is that of the relationship itself, or of a walk's list, if the statement names it.
    ``each`` are conditions on every relationship of a walk, tested in ``each_slot``.
    """

    name: str
    left: str
    right: str
    types: tuple[str, ...] | None
    direction: tree.Direction
    index_slot: int
    slot: int | None
    bound: bool
    lengths: tuple[int, int | None] | None
    shortest: str
    each_slot: int
    each: list[Condition] = field(default_factory=list)


@dataclass(slots=True)
class PathPart:
    """A named path, with the names of its nodes and relationships in order."""

    name: str
    slot: int
    nodes: list[str]
    relationships: list[str]


@dataclass(slots=True)
class PatternParts:
    """The resolved patterns of one MATCH; ``slots`` are the slots of the row that it fills."""

    nodes: dict[str, NodePart] = field(default_factory=dict)
    relationships: dict[str, RelationshipPart] = field(default_factory=dict)
    paths: list[PathPart] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)


def condition_of(expression: tree.Expression) -> Condition:
    """Return an expression as a condition."""
    return Condition(expression, frozenset(names_in(expression)))


def split_condition(expression: tree.Expression | None) -> list[Condition]:
    """Return the operands of AND as conditions of their own."""
    if expression is None:
        return []
    if isinstance(expression, tree.Junction) and expression.operator == "AND":
        return [part for operand in expression.operands for part in split_condition(operand)]
    return [condition_of(expression)]


class PatternReader:
    """Resolves patterns to parts, and declares their names in ``scope``."""

    def __init__(self, scope: Scope, graph: PropertyGraph) -> None:
        self._scope = scope
        self._graph = graph
        self._before = set(scope.names)
        self.parts = PatternParts()

    def read(self, pattern: tree.PathPattern) -> None:
        """Add a pattern. Raises QuerySyntaxError for names that are already used otherwise."""
        known = len(self.parts.nodes) + len(self.parts.relationships)
        if known + len(pattern.nodes) + len(pattern.relationships) > _MAX_PARTS:
            raise QueryRefused(
                f"The patterns of a MATCH have more than {_MAX_PARTS} nodes and relationships."
            )
        nodes = [self._node(node) for node in pattern.nodes]
        names = [
            self._relationship(relationship, left, right, pattern.shortest)
            for relationship, left, right in zip(
                pattern.relationships, nodes[:-1], nodes[1:], strict=True
            )
        ]
        if pattern.variable is not None:
            if pattern.variable in self._scope.names:
                raise QuerySyntaxError(f"The variable `{pattern.variable}` is already defined.")
            slot = self._declare(pattern.variable, "path")
            self.parts.paths.append(PathPart(pattern.variable, slot, nodes, names))

    def _declare(self, name: str, kind: str) -> int:
        slot = self._scope.declare(name, kind)  # type: ignore[arg-type]
        self.parts.slots.append(slot)
        return slot

    def _hidden(self, kind: str) -> str:
        return f" {kind} {next(_numbers)}"

    def _node(self, pattern: tree.NodePattern) -> str:
        name = pattern.variable or self._hidden("node")
        known = self.parts.nodes.get(name)
        if known is None:
            bound = name in self._scope.names
            slot = self._scope.require(name, "node") if bound else self._declare(name, "node")
            known = self.parts.nodes[name] = NodePart(name, slot, bound)
        known.label = known.label or required_label(pattern.labels)
        if pattern.labels is not None:
            self.parts.conditions.append(
                condition_of(tree.HasLabel(tree.Variable(name), pattern.labels))
            )
        self.parts.conditions += self._properties(name, pattern.properties)
        self.parts.conditions += split_condition(pattern.condition)
        return name

    def _properties(self, name: str, properties: tree.Expression | None) -> list[Condition]:
        if properties is None:
            return []
        if isinstance(properties, tree.Parameter):
            raise QueryRefused(
                "A parameter for all properties of a pattern is not supported.",
                fix="Name the properties, as in {name: $name}.",
            )
        if not isinstance(properties, tree.MapOf):
            raise QuerySyntaxError("The properties of a pattern must be a map.")
        return [
            condition_of(
                tree.Comparison(tree.PropertyAccess(tree.Variable(name), key), (("=", value),))
            )
            for key, value in properties.entries
        ]

    def _relationship(
        self, pattern: tree.RelationshipPattern, left: str, right: str, shortest: str
    ) -> str:
        name = pattern.variable or self._hidden("relationship")
        if name in self.parts.relationships or name in self.parts.nodes:
            raise QuerySyntaxError(f"The variable `{name}` names two parts of a pattern.")
        walk = pattern.lengths is not None or bool(shortest)
        bound = name in self._scope.names
        slot: int | None = None
        if bound:
            if walk:
                raise QueryRefused(
                    f"`{name}` is already bound; a pattern of variable length needs a new name."
                )
            slot = self._scope.require(name, "relationship")
        elif pattern.variable is not None:
            slot = self._declare(name, "walk" if walk else "relationship")
        each = f"{name} each"
        each_slot = self._declare(each, "relationship") if walk else -1
        layout = self._scope.layout
        part = RelationshipPart(
            name,
            left,
            right,
            self._graph.types(pattern.types),
            pattern.direction,
            layout.add(),
            slot,
            bound,
            (pattern.lengths or (1, 1)) if walk else None,
            shortest,
            each_slot,
        )
        self.parts.relationships[name] = part
        self._relationship_conditions(part, pattern, each if walk else name)
        return name

    def _relationship_conditions(
        self, part: RelationshipPart, pattern: tree.RelationshipPattern, subject: str
    ) -> None:
        found = self._properties(subject, pattern.properties)
        if part.lengths is not None:
            part.each += found
            if pattern.condition is not None:
                raise QueryRefused(
                    "WHERE inside a relationship of variable length is not supported.",
                    fix="Use properties, as in -[:KNOWS*1..3 {since: 2020}]->.",
                )
            return
        found += split_condition(pattern.condition)
        if found and part.slot is None:
            part.slot = self._declare(part.name, "relationship")
        self.parts.conditions += found


_Seek = Literal["equal", "in", "id", "element"]
_INDEXED_NODES = 1_000_000


@dataclass(frozen=True, slots=True)
class NodeScan:
    """Find nodes: one bound in the row, all (with a label), or by a property, id or element id.

    ``seek`` is None for a full scan; else nodes are found by ``value``, for "equal" and "in" by
    their property ``key``.
    """

    node: NodePart
    cost: float
    seek: _Seek | None = None
    key: str = ""
    value: tree.Expression | None = None


@dataclass(frozen=True, slots=True)
class Expansion:
    """Follow a relationship from the bound node ``near`` to ``far``.

    ``into`` is True if ``far`` is bound too, so that the relationship must end there.
    """

    relationship: RelationshipPart
    near: str
    far: str
    into: bool


@dataclass(frozen=True, slots=True)
class BoundRelationship:
    """Take both ends of a relationship that was bound before; ``known`` nodes must match."""

    relationship: RelationshipPart
    known: frozenset[str]


PlannedStep = NodeScan | Expansion | BoundRelationship


@dataclass(slots=True)
class Planner:
    """Orders the steps of one MATCH by cost; ``available`` are the names bound so far."""

    runtime: Runtime
    parts: PatternParts
    available: set[str]
    steps: list[PlannedStep] = field(default_factory=list)

    def plan(self) -> list[PlannedStep]:
        """Return the steps in an order in which each finds the names it needs bound."""
        left = dict(self.parts.relationships)
        waiting = {name for name, node in self.parts.nodes.items()}
        for relationship in list(left.values()):
            if relationship.bound:
                known = frozenset(set(self.parts.nodes) - waiting) | self._bound()
                self._take(
                    BoundRelationship(relationship, known), relationship.left, relationship.right
                )
                waiting -= {relationship.left, relationship.right}
                del left[relationship.name]
        while waiting or left:
            self.runtime.budget.check_time()
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
        edges = graph.count_of(relationship.types)
        label = self.parts.nodes[expansion.near].label
        nodes = max(len(graph.labelled(label)), 1)
        fan = edges / nodes * (2 if relationship.direction == "both" else 1)
        if relationship.lengths is not None:
            fan = max(fan, 1.0) ** min(relationship.lengths[1] or 4, 4) + 1
        if expansion.into:
            return fan / nodes
        return fan * self._share(self.parts.nodes[expansion.far])

    def _share(self, node: NodePart) -> float:
        """Return the estimated share of nodes that satisfy a node's label and conditions."""
        total = max(len(self.runtime.graph.nodes), 1)
        return min(self._best_start(node).cost / total + 1e-6, 1.0)

    def _best_start(self, node: NodePart) -> NodeScan:
        if node.bound:
            return NodeScan(node, 0.0)
        best = NodeScan(node, float(len(self.runtime.graph.labelled(node.label))) + 1)
        for start in self._seeks(node):
            if start.cost < best.cost:
                best = start
        return best

    def _seeks(self, node: NodePart) -> Iterator[NodeScan]:
        for condition in self.parts.conditions:
            if node.name not in condition.names:
                continue
            for subject, kind, value in _equations(condition):
                if not self._known(value, node.name):
                    continue
                if isinstance(subject, tree.PropertyAccess) and subject.subject == tree.Variable(
                    node.name
                ):
                    cost = self._seek_cost(node, subject.key) * (5 if kind == "in" else 1)
                    yield NodeScan(node, cost, kind, subject.key, value)
                elif isinstance(subject, tree.Call) and subject.arguments == (
                    tree.Variable(node.name),
                ):
                    yield NodeScan(
                        node, 0.5, "id" if subject.name == "id" else "element", "", value
                    )

    def _known(self, value: tree.Expression, name: str) -> bool:
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


def _equations(condition: Condition) -> Iterator[tuple[tree.Expression, _Seek, tree.Expression]]:
    """Yield (subject, kind of seek, value) for ``=`` in both directions, and for IN."""
    expression = condition.expression
    if isinstance(expression, tree.Binary) and expression.operator == "IN":
        if isinstance(expression.left, tree.PropertyAccess):
            yield expression.left, "in", expression.right
        return
    if not isinstance(expression, tree.Comparison) or len(expression.steps) != 1:
        return
    operator, other = expression.steps[0]
    if operator != "=":
        return
    for subject, value in ((expression.first, other), (other, expression.first)):
        named = isinstance(subject, tree.Call) and subject.name in ("id", "elementid")
        if isinstance(subject, tree.PropertyAccess) or named:
            yield subject, "equal", value


def required_label(labels: tree.LabelExpression | None) -> str | None:
    """Return a label that every match must have, None if no single one is certain."""
    if isinstance(labels, tree.LabelIs):
        return None if labels.name == "%" else labels.name
    if isinstance(labels, tree.LabelJunction) and labels.operator == "&":
        return next((name for name in map(required_label, labels.operands) if name), None)
    return None
