"""Measure the values that a clause, an aggregate or a list keeps beyond the current row."""

from __future__ import annotations

from sys import getsizeof
from typing import Any

from knotwork._cypher.limits import (
    OTHER_BYTES,
    SCALAR_BYTES,
    SCALARS,
    Budget,
    list_bytes,
    map_bytes,
)
from knotwork._cypher.property_graph import Element

_SHARED_BYTES = 512
_SEEN_BYTES = 96
"""Memory of an entry in the set of values that are counted already."""


class KeptValues:
    """The memory of kept values; what several of them share is counted once.

    Only pass values, and keys, that are kept as they are: they are recognised by their identity.
    """

    __slots__ = ("_budget", "_bytes", "_seen")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._bytes = 0
        self._seen: set[int] = set()

    @property
    def bytes(self) -> int:
        """The memory of all values added so far."""
        return self._bytes

    def add(self, value: Any, extra: int = 0) -> None:  # noqa: ANN401 - values and keys
        """Count a value with everything inside it, and ``extra`` bytes beside it."""
        size = SCALAR_BYTES if type(value) in SCALARS else self._size(value)
        self.grow(size + extra)

    def grow(self, count: int) -> None:
        """Count bytes; a negative count gives them back."""
        self._bytes += count
        self._budget.keep(count)

    def _size(self, value: Any) -> int:  # noqa: ANN401
        """Return the memory of a value without what was counted before."""
        size, seen, waiting = 0, self._seen, [value]
        while waiting:
            item = waiting.pop()
            kind = type(item)
            if kind in SCALARS:
                size += SCALAR_BYTES
            elif kind is str:
                size += self._size_of_string(item)
            elif isinstance(item, Element):
                size += 8
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

    def _size_of_string(self, text: str) -> int:
        size = getsizeof(text)
        if size < _SHARED_BYTES:
            return size + 8
        if id(text) in self._seen:
            return 8
        self._seen.add(id(text))
        return size + _SEEN_BYTES

    def clear(self) -> None:
        """Give back the memory of all values, which are no longer kept."""
        self._budget.keep(-self._bytes)
        self._bytes = 0
        self._seen = set()


def deep_bytes(value: Any, budget: Budget) -> int:  # noqa: ANN401
    """Return the memory of a value with everything inside it."""
    measured = KeptValues(budget)
    measured.add(value)
    size = measured.bytes
    measured.clear()
    return size
