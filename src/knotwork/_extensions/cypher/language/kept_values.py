"""Measure the values that a clause, an aggregate or a list keeps beyond the current row."""

from __future__ import annotations

from collections.abc import Iterable
from sys import getsizeof
from typing import Any

from knotwork._extensions.cypher.language.limits import (
    OTHER_BYTES,
    SCALAR_BYTES,
    SCALARS,
    Budget,
    list_bytes,
    map_bytes,
)
from knotwork._extensions.cypher.language.property_graph import GraphNode, GraphRelationship

FLAT_BYTES: dict[type, int] = {
    **dict.fromkeys(SCALARS, SCALAR_BYTES),
    GraphNode: 8,
    GraphRelationship: 8,
}
"""Memory of values of the types without parts; nodes and relationships are those of the graph."""
_SHORT = 400
"""Characters from which a string that is kept several times is counted once."""
_UNCOUNTED_BYTES = 16_384
_SEEN_BYTES = 96
"""Memory of an entry in the set of values that are counted already."""


class KeptValues:
    """The memory of kept values; what several of them share is counted once.

    Only pass values, and keys, that are kept as they are: they are recognised by their identity.
    """

    __slots__ = ("_budget", "_bytes", "_counted", "_seen")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._bytes = 0
        self._counted = 0  # of these bytes, by the budget
        self._seen: set[int] | None = None

    def add(self, value: Any, extra: int = 0) -> None:  # noqa: ANN401 - values and keys
        """Count a value with everything inside it, and ``extra`` bytes beside it."""
        kind = type(value)
        size = FLAT_BYTES.get(kind)
        if size is None:
            short = kind is str and len(value) < _SHORT
            size = getsizeof(value) + 8 if short else self._size(value)
        self._bytes += size + extra
        if self._bytes - self._counted > _UNCOUNTED_BYTES:
            self.count()

    def add_all(self, values: Iterable[Any], extra: int = 0) -> None:
        """Count values as `add` does, and ``extra`` bytes beside them."""
        size = extra
        for value in values:
            kind = type(value)
            known = FLAT_BYTES.get(kind)
            if known is not None:
                size += known
            elif kind is str and len(value) < _SHORT:
                size += getsizeof(value) + 8
            else:
                size += self._size(value)
        self._bytes += size
        if self._bytes - self._counted > _UNCOUNTED_BYTES:
            self.count()

    def grow(self, count: int) -> None:
        """Count bytes."""
        self._bytes += count
        self.count()

    def count(self) -> int:
        """Count all values with the budget, and return their memory."""
        self._budget.keep(self._bytes - self._counted)
        self._counted = self._bytes
        return self._bytes

    def clear(self) -> int:
        """Give back the memory of all values, which are no longer kept, and return it."""
        size = self._bytes
        self._budget.keep(-self._counted)
        self._bytes = self._counted = 0
        self._seen = None
        return size

    def _size(self, value: Any) -> int:  # noqa: ANN401
        """Return the memory of a value without what was counted before."""
        if self._seen is None:
            self._seen = set()
        size, seen, waiting = 0, self._seen, [value]
        while waiting:
            item = waiting.pop()
            kind = type(item)
            known = FLAT_BYTES.get(kind)
            if known is not None:
                size += known
            elif kind is str:
                size += getsizeof(item) + 8
                if len(item) >= _SHORT:
                    if id(item) in seen:
                        size -= getsizeof(item)
                    else:
                        seen.add(id(item))
                        size += _SEEN_BYTES
            elif isinstance(item, list | tuple | dict | frozenset):
                if id(item) in seen:
                    size += 8
                    continue
                seen.add(id(item))
                count = len(item)
                self._budget.work((count >> 3) + 1)
                size += _SEEN_BYTES
                if isinstance(item, dict):
                    size += map_bytes(count)
                    waiting.extend(item.values())
                else:
                    size += list_bytes(count)
                    waiting.extend(item)
            else:
                size += OTHER_BYTES
        return size


def deep_bytes(value: Any, budget: Budget) -> int:  # noqa: ANN401
    """Return the memory of a value with everything inside it."""
    measured = KeptValues(budget)
    measured.add(value)
    return measured.clear()
