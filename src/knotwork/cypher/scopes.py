"""Which names can be seen at a place in a statement, and where their values stand in a row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from knotwork.cypher.syntax import Expression
from knotwork.errors import QuerySyntaxError

Kind = Literal["node", "relationship", "walk", "path", "plain", "value"]
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


class Name(NamedTuple):
    """Where the value of a name stands, and what it is."""

    slot: int
    kind: Kind


class Layout:
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

    def __init__(self, layout: Layout | None = None) -> None:
        self.layout = layout or Layout()
        self.names: dict[str, Name] = {}
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

    def declare(self, name: str, kind: Kind = "value") -> int:
        """Give a name, which may hide another one, a place of its own."""
        slot = self.layout.add()
        self.names[name] = Name(slot, kind)
        return slot

    def find(self, name: str) -> Name:
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

    def require(self, name: str, *kinds: Kind) -> int:
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
