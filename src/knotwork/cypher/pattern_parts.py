"""Patterns taken apart: nodes and relationships with places in a row, and what must hold of them.

Labels, properties and conditions become plain conditions on names, each of which is tested as
soon as all it speaks of is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from knotwork.cypher.labels import required_label
from knotwork.cypher.names import names_in
from knotwork.cypher.scopes import Scope
from knotwork.cypher.syntax import (
    Comparison,
    Expression,
    HasLabel,
    Junction,
    MapOf,
    NodePattern,
    Parameter,
    PathPattern,
    Property,
    RelationshipPattern,
    Towards,
    Variable,
)
from knotwork.errors import QueryRefused, QuerySyntaxError

_MOST_PARTS = 120
_numbers = count()


@dataclass(frozen=True, slots=True)
class Condition:
    """What must hold, and the names it speaks of."""

    expression: Expression
    names: frozenset[str]


@dataclass(slots=True)
class NodePart:
    """A node; ``label`` is one that every match has."""

    name: str
    slot: int
    bound: bool
    label: str | None = None


@dataclass(slots=True)
class RelationshipPart:
    """A relationship or walk between the nodes ``left`` and ``right``, by name.

    ``index_slot`` holds the position of a single one, or the tuple of those of a walk; ``slot`` the
    relationship itself, or the list of those of a walk, where the statement names it.
    """

    name: str
    left: str
    right: str
    types: tuple[str, ...]
    towards: Towards
    index_slot: int
    slot: int | None
    bound: bool
    lengths: tuple[int, int | None] | None
    shortest: str
    each_slot: int
    each: list[Condition] = field(default_factory=list)


@dataclass(slots=True)
class PathPart:
    """A named path: names of its nodes and relationships in order."""

    name: str
    slot: int
    nodes: list[str]
    relationships: list[str]


@dataclass(slots=True)
class PatternParts:
    """Everything of the patterns of one MATCH; ``slots`` are the places it fills."""

    nodes: dict[str, NodePart] = field(default_factory=dict)
    relationships: dict[str, RelationshipPart] = field(default_factory=dict)
    paths: list[PathPart] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    slots: list[int] = field(default_factory=list)


def condition_of(expression: Expression) -> Condition:
    """Return an expression as a condition."""
    return Condition(expression, frozenset(names_in(expression)))


def split_condition(expression: Expression | None) -> list[Condition]:
    """Return the operands of AND as conditions of their own."""
    if expression is None:
        return []
    if isinstance(expression, Junction) and expression.operator == "AND":
        return [part for operand in expression.operands for part in split_condition(operand)]
    return [condition_of(expression)]


class PatternReader:
    """Takes patterns apart, giving their names places in ``scope``."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._before = set(scope.names)
        self.parts = PatternParts()

    def read(self, pattern: PathPattern) -> None:
        """Add one pattern. Raises QuerySyntaxError for names that are something else already."""
        known = len(self.parts.nodes) + len(self.parts.relationships)
        if known + len(pattern.nodes) + len(pattern.relationships) > _MOST_PARTS:
            raise QueryRefused(f"The patterns of a MATCH have at most {_MOST_PARTS} parts.")
        nodes = [self._node(node) for node in pattern.nodes]
        names = [
            self._relationship(relationship, left, right, pattern.shortest)
            for relationship, left, right in zip(
                pattern.relationships, nodes[:-1], nodes[1:], strict=True
            )
        ]
        if pattern.variable is not None:
            if pattern.variable in self._scope.names:
                raise QuerySyntaxError(f"The variable `{pattern.variable}` stands for two things.")
            slot = self._declare(pattern.variable, "path")
            self.parts.paths.append(PathPart(pattern.variable, slot, nodes, names))

    def _declare(self, name: str, kind: str) -> int:
        slot = self._scope.declare(name, kind)  # type: ignore[arg-type]
        self.parts.slots.append(slot)
        return slot

    def _hidden(self, kind: str) -> str:
        return f" {kind} {next(_numbers)}"

    def _node(self, pattern: NodePattern) -> str:
        name = pattern.variable or self._hidden("node")
        known = self.parts.nodes.get(name)
        if known is None:
            bound = name in self._scope.names
            slot = self._scope.require(name, "node") if bound else self._declare(name, "node")
            known = self.parts.nodes[name] = NodePart(name, slot, bound)
        known.label = known.label or required_label(pattern.labels)
        if pattern.labels is not None:
            self.parts.conditions.append(condition_of(HasLabel(Variable(name), pattern.labels)))
        self.parts.conditions += self._properties(name, pattern.properties)
        self.parts.conditions += split_condition(pattern.condition)
        return name

    def _properties(self, name: str, properties: Expression | None) -> list[Condition]:
        if properties is None:
            return []
        if isinstance(properties, Parameter):
            raise QueryRefused(
                "A parameter in the place of all properties is not supported.",
                fix="Name the properties, as in {name: $name}.",
            )
        if not isinstance(properties, MapOf):
            raise QuerySyntaxError("The properties of a pattern are a map.")
        return [
            condition_of(Comparison(Property(Variable(name), key), (("=", value),)))
            for key, value in properties.entries
        ]

    def _relationship(
        self, pattern: RelationshipPattern, left: str, right: str, shortest: str
    ) -> str:
        name = pattern.variable or self._hidden("relationship")
        if name in self.parts.relationships or name in self.parts.nodes:
            raise QuerySyntaxError(f"The variable `{name}` stands for two parts of a pattern.")
        walk = pattern.lengths is not None or bool(shortest)
        bound = name in self._scope.names
        slot: int | None = None
        if bound:
            if walk:
                raise QueryRefused("The relationships of a walk cannot be given beforehand.")
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
            pattern.types,
            pattern.towards,
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
        self, part: RelationshipPart, pattern: RelationshipPattern, subject: str
    ) -> None:
        found = self._properties(subject, pattern.properties)
        if part.lengths is not None:
            part.each += found
            if pattern.condition is not None:
                raise QueryRefused("WHERE inside a walk of variable length is not supported.")
            return
        found += split_condition(pattern.condition)
        if found and part.slot is None:
            part.slot = self._declare(part.name, "relationship")
        self.parts.conditions += found
