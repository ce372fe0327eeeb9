"""Analyse statements before they run: variables in scope, static types, names and aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from knotwork.cypher.aggregates import AGGREGATES
from knotwork.cypher.syntax_tree import (
    Binary,
    Call,
    Comparison,
    Comprehension,
    Constant,
    Expression,
    HasLabel,
    Junction,
    ListOf,
    MapOf,
    NodePattern,
    PathPattern,
    PatternComprehension,
    PatternPredicate,
    Quantifier,
    RelationshipPattern,
    Subquery,
    Unary,
    Variable,
)
from knotwork.errors import QuerySyntaxError

if TYPE_CHECKING:
    from knotwork.cypher.runtime import Runtime


NameKind = Literal["node", "relationship", "walk", "path", "plain", "value"]
"""What a name may stand for.

A walk is the list of a variable length, a plain one surely no element, a value anything.
"""

_WORDS = {
    "node": "a node",
    "relationship": "a relationship",
    "walk": "the relationships of a variable length",
    "path": "a path",
    "plain": "a plain value",
    "value": "a value",
}


class BoundName(NamedTuple):
    """Where the value of a name stands, and what it is."""

    slot: int
    kind: NameKind


class RowLayout:
    """How long the rows of a part of a statement are; known when all of it is compiled."""

    def __init__(self) -> None:
        self.size = 0

    def add(self) -> int:
        """Return a new place in the row."""
        self.size += 1
        return self.size - 1


class Scope:
    """The names that can be seen; inner scopes see those around them and share the row.

    ``replaced`` are expressions whose value stands in the row already, as those a row was grouped
    by do.
    """

    def __init__(self, layout: RowLayout | None = None) -> None:
        self.layout = layout or RowLayout()
        self.names: dict[str, BoundName] = {}
        self.replaced: dict[Expression, int] = {}
        self.aggregates = False
        self.grouped = False

    def inner(self) -> Scope:
        """Return a scope within this one."""
        scope = Scope(self.layout)
        scope.names = dict(self.names)
        scope.replaced = dict(self.replaced)
        scope.grouped = self.grouped
        return scope

    def declare(self, name: str, kind: NameKind = "value") -> int:
        """Give a name, which may hide another one, a place of its own."""
        slot = self.layout.add()
        self.names[name] = BoundName(slot, kind)
        return slot

    def find(self, name: str) -> BoundName:
        """Return what a name stands for. Raises QuerySyntaxError where it is not known."""
        found = self.names.get(name)
        if found is None:
            if self.grouped:
                raise QuerySyntaxError(
                    f"`{name}` is neither counted over nor grouped by.",
                    fix="Put it in a column of its own, or inside count(), collect() and the like.",
                )
            known = ", ".join(f"`{n}`" for n in self.visible()) or "none"
            raise QuerySyntaxError(f"The variable `{name}` is not defined here; known: {known}.")
        return found

    def require(self, name: str, *kinds: NameKind) -> int:
        """Return the place of a name that stands for something of these kinds, or may."""
        found = self.find(name)
        if found.kind not in (*kinds, "value"):
            wanted = _WORDS[kinds[0]]
            raise QuerySyntaxError(f"`{name}` is {_WORDS[found.kind]}, not {wanted}.")
        return found.slot

    def visible(self) -> Iterable[str]:
        """Return the names that a person gave, in the order of their rows."""
        named = [(found.slot, name) for name, found in self.names.items() if name[:1] != " "]
        return [name for _, name in sorted(named)]


_ELEMENT_FUNCTIONS = {
    "type": ("relationship",),
    "labels": ("node",),
    "nodes": ("path",),
    "relationships": ("path",),
    "startnode": ("relationship",),
    "endnode": ("relationship",),
    "length": ("path",),
    "id": ("node", "relationship"),
    "elementid": ("node", "relationship"),
    "properties": ("node", "relationship", "map"),
    "keys": ("node", "relationship", "map"),
    "size": ("list", "string", "walk"),
    "exists": (),
}


class StaticTypes:
    """Checks of types that are plain from the statement; what is not plain is let through."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def type_of(  # noqa: PLR0911 - one return a kind
        self, expression: Expression, scope: Scope
    ) -> str | None:
        """Return the type of an expression, or None where only a row can tell."""
        if isinstance(expression, Constant):
            return _constant_type(expression.value)
        if isinstance(expression, Variable):
            kind = scope.find(expression.name).kind
            return None if kind in ("value", "plain") else kind
        if isinstance(expression, ListOf | Comprehension | PatternComprehension):
            return "list"
        if isinstance(expression, MapOf):
            return "map"
        if isinstance(expression, PatternPredicate) and expression.pattern.shortest:
            return "path" if expression.pattern.shortest == "one" else "list"
        if isinstance(
            expression, Junction | Comparison | HasLabel | Quantifier | PatternPredicate
        ) or (isinstance(expression, Subquery) and expression.kind == "EXISTS"):
            return "truth"
        if isinstance(expression, Unary) and expression.operator not in "+-":
            return "truth"
        if isinstance(expression, Binary) and expression.operator not in "+-*/%^":
            return "truth"
        return None

    def require_truth(self, expression: Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError for what is plainly no truth value."""
        found = self.type_of(expression, scope)
        if found not in (None, "truth"):
            raise QuerySyntaxError(f"A truth value is needed here, not a {found}.")

    def require_list(self, expression: Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError for what is plainly no list."""
        found = self.type_of(expression, scope)
        if found not in (None, "list", "walk"):
            raise QuerySyntaxError(f"A list is needed here, not a {found}.")

    def require_no_walk(self, expression: Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError for what plainly has no properties."""
        found = self.type_of(expression, scope)
        if found not in (None, "node", "relationship", "map"):
            raise QuerySyntaxError(f"A {found} has no properties.")

    def require_kinds(self, name: str, given: tuple[Expression, ...], scope: Scope) -> None:
        """Raise QuerySyntaxError where a function plainly cannot take what it is given."""
        wanted = _ELEMENT_FUNCTIONS.get(name)
        if not wanted or len(given) != 1:
            return
        found = self.type_of(given[0], scope)
        if found is not None and found not in wanted:
            raise QuerySyntaxError(f"{name}() takes a {' or '.join(wanted)}, not a {found}.")


def _constant_type(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "truth"
    return "string" if isinstance(value, str) else "number"


def names_in(node: object) -> set[str]:
    """Return all names that stand in an expression, inner ones included."""
    found: set[str] = set()
    for part in walk_parts(node):
        if isinstance(part, Variable):
            found.add(part.name)
        elif isinstance(part, NodePattern | RelationshipPattern | PathPattern) and part.variable:
            found.add(part.variable)
    return found


def walk_parts(node: object) -> Iterator[object]:
    """Yield an expression and all parts of it."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif is_dataclass(part):
            yield part
            waiting.extend(getattr(part, field.name) for field in fields(part))


def aggregates_in(node: object) -> list[Call]:
    """Return the outermost calls that count over rows, those of subqueries apart."""
    found: list[Call] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(reversed(part))
        elif isinstance(part, Call) and part.name in AGGREGATES:
            found.append(part)
        elif is_dataclass(part) and not isinstance(part, Subquery):
            waiting.extend(reversed([getattr(part, field.name) for field in fields(part)]))
    return found


def is_constant(expression: Expression) -> bool:
    """Tell whether an expression has the same value for all rows."""
    return not names_in(expression)
