"""Which names an expression speaks of, and whether it counts over rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from knotwork.cypher.aggregates import AGGREGATES
from knotwork.cypher.syntax import (
    Call,
    Expression,
    NodePattern,
    PathPattern,
    RelationshipPattern,
    Subquery,
    Variable,
)


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
