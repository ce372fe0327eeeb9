"""Analyse statements before they run: scopes of variables, static types, names and aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Literal, NamedTuple

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.aggregates import AGGREGATES
from knotwork.errors import QuerySyntaxError

NameKind = Literal["node", "relationship", "walk", "path", "plain", "value"]
"""The kind of value that a name has.

"walk" is the list of relationships of a variable length, "plain" is neither an element nor a path,
and "value" may be anything.
"""

TYPE_WORDS = {
    "node": "a node",
    "relationship": "a relationship",
    "walk": "the relationships of a variable length",
    "path": "a path",
    "plain": "a plain value",
    "value": "a value",
}


class BoundName(NamedTuple):
    """The slot of a name's value in the row, and its kind."""

    slot: int
    kind: NameKind


class RowLayout:
    """The number of slots in the rows of a part of a statement; final when it is compiled."""

    def __init__(self) -> None:
        self.size = 0

    def add(self) -> int:
        """Return a new slot of the row."""
        self.size += 1
        return self.size - 1


class Scope:
    """The visible names; inner scopes see the names of outer ones and share their row.

    ``replaced`` maps expressions whose value is already in the row, such as grouping keys, to its
    slot. ``grouped`` is True for the scope of a group.
    """

    def __init__(self, layout: RowLayout | None = None) -> None:
        self.layout = layout or RowLayout()
        self.names: dict[str, BoundName] = {}
        self.replaced: dict[tree.Expression, int] = {}
        self.aggregates = False
        self.grouped = False

    def inner(self) -> Scope:
        """Return a new scope inside this one."""
        scope = Scope(self.layout)
        scope.names = dict(self.names)
        scope.replaced = dict(self.replaced)
        scope.grouped = self.grouped
        return scope

    def declare(self, name: str, kind: NameKind = "value") -> int:
        """Return a new slot for a name, which may hide an outer name."""
        slot = self.layout.add()
        self.names[name] = BoundName(slot, kind)
        return slot

    def find(self, name: str) -> BoundName:
        """Return the slot and kind of a name. Raises QuerySyntaxError if it is unknown."""
        found = self.names.get(name)
        if found is None:
            if self.grouped:
                raise QuerySyntaxError(
                    f"`{name}` is neither aggregated nor a grouping key.",
                    fix="Put it in a column of its own, or inside an aggregate such as collect().",
                )
            known = ", ".join(f"`{n}`" for n in self.visible()) or "none"
            raise QuerySyntaxError(f"Unknown variable `{name}`. Variables in scope: {known}.")
        return found

    def require(self, name: str, *kinds: NameKind) -> int:
        """Return the slot of a name. Raises QuerySyntaxError if it cannot be of these kinds."""
        found = self.find(name)
        if found.kind not in (*kinds, "value"):
            wanted = TYPE_WORDS[kinds[0]]
            raise QuerySyntaxError(f"`{name}` is {TYPE_WORDS[found.kind]}, not {wanted}.")
        return found.slot

    def visible(self) -> Iterable[str]:
        """Return the names that the statement uses, in the order of their slots."""
        named = [(found.slot, name) for name, found in self.names.items() if name[:1] != " "]
        return [name for _, name in sorted(named)]


def names_in(node: object) -> set[str]:
    """Return all names in an expression or pattern, including local ones."""
    found: set[str] = set()
    for part in walk_parts(node):
        if isinstance(part, tree.Variable):
            found.add(part.name)
        elif (
            isinstance(part, tree.NodePattern | tree.RelationshipPattern | tree.PathPattern)
            and part.variable
        ):
            found.add(part.variable)
    return found


def walk_parts(node: object) -> Iterator[object]:
    """Yield a node of the syntax tree and all its descendants."""
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif is_dataclass(part):
            yield part
            waiting.extend(getattr(part, field.name) for field in fields(part))


def aggregates_in(node: object) -> list[tree.Call]:
    """Return the outermost aggregate calls in an expression, without those of subqueries."""
    found: list[tree.Call] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(reversed(part))
        elif isinstance(part, tree.Call) and part.name in AGGREGATES:
            found.append(part)
        elif is_dataclass(part) and not isinstance(part, tree.Subquery):
            waiting.extend(reversed([getattr(part, field.name) for field in fields(part)]))
    return found
