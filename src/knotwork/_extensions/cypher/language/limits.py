"""Limit the time and memory of a statement, and track what remains while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from sys import getsizeof
from typing import Any

from knotwork._query_memory import POOL, Reservation
from knotwork.errors import QueryRefused, QueryTimeout

_STEPS_BETWEEN_CHECKS = 512
_SORTING_S = 1e-7
"""Approximate duration of one comparison, in seconds."""
_UNINTERRUPTED_S = 1.0
"""Most seconds by which an operation that cannot be interrupted may overrun the time limit."""

SCALAR_BYTES = 40
"""Memory of a number and the reference to it."""
SMALL_STRING = 256
"""Characters up to which a string is counted only by what holds it."""
PART_BYTES = 96
"""Memory of one part of a key of a list or map."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one statement.

    ``rows`` limits the rows returned, ``items`` the length of a list, ``characters`` that of a
    string, ``statement_characters`` that of the statement, and ``depth`` the nesting of expressions
    and values. ``memory_bytes`` limits the estimated memory of all values that exist at a time,
    ``result_bytes`` the size of the rows returned.
    """

    rows: int = 1_000
    timeout_s: float = 10.0
    memory_bytes: int = field(default_factory=lambda: POOL.ceilings.statement_bytes)
    result_bytes: int = field(default_factory=lambda: POOL.ceilings.result_bytes)
    items: int = 2_000_000
    characters: int = 1_000_000
    statement_characters: int = 50_000
    depth: int = 60


class Budget:
    """The remaining time and memory of a running statement.

    ``transient`` are the bytes of values made for the current row. A loop over rows or items notes
    it, and sets it back for the next one, whose values replace those before. What outlives a row is
    counted by `keep`.
    """

    __slots__ = ("_kept", "_reservation", "_room", "_steps", "deadline", "limits", "transient")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.deadline = time.monotonic() + limits.timeout_s
        self.transient = 0
        self._kept = 0
        self._room = 0  # for transient bytes, in the memory that is reserved
        self._steps = 0
        self._reservation = Reservation(limits.memory_bytes)

    def close(self) -> None:
        """Return the memory of the statement, which has ended."""
        self._room = 0
        self._reservation.close()

    def step(self) -> None:
        """Count one step of work, and check the time now and then. Raises QueryTimeout."""
        self._steps += 1
        if self._steps >= _STEPS_BETWEEN_CHECKS:
            self._steps = 0
            self.check_time()

    def work(self, steps: int) -> None:
        """Count many steps of work that are done at once, such as copying a list."""
        self._steps += steps
        if self._steps >= _STEPS_BETWEEN_CHECKS:
            self._steps = 0
            self.check_time()

    def check_time(self) -> None:
        """Raise QueryTimeout if the deadline has passed."""
        if time.monotonic() > self.deadline:
            raise QueryTimeout(
                f"The statement took longer than {self.limits.timeout_s:g} s.",
                fix="Add a label, a maximum path length or a LIMIT, or raise the time limit.",
            )

    def check_duration(self, seconds: float) -> None:
        """Raise QueryTimeout if too little time remains for an operation of this duration.

        It is for what cannot be interrupted; ``seconds`` is the longest that it may take.
        """
        if seconds > self.deadline - time.monotonic() + _UNINTERRUPTED_S:
            self.deadline = 0.0
        self.check_time()

    def check_sort(self, parts: int, count: int) -> None:
        """Raise QueryTimeout if too little time remains to sort ``count`` values of ``parts``."""
        self.check_duration(parts * count.bit_length() * _SORTING_S)

    def charge(self, count: int) -> None:
        """Count bytes of values that live as long as the current row.

        Raises QueryRefused above the memory limit, and QueryTimeout.
        """
        self.transient += count
        self._steps += (count >> 10) + 1
        if self.transient > self._room:
            self._reserve()
        if self._steps >= _STEPS_BETWEEN_CHECKS:
            self._steps = 0
            self.check_time()

    def charge_part(self) -> None:
        """Count one part of a key of a list or map."""
        self.charge(PART_BYTES)

    def created(self, value: Any) -> Any:  # noqa: ANN401 - any Cypher value
        """Count a new value, without those inside it, and return it."""
        kind = type(value)
        if kind is str:
            self.charge(getsizeof(value))
        elif kind is list:
            self.charge(list_bytes(len(value)))
        elif kind is dict:
            self.charge(map_bytes(len(value)))
        elif kind not in SCALARS:
            self.charge(OTHER_BYTES)
        return value

    def keep(self, count: int) -> None:
        """Count bytes that outlive the current row; a negative count gives them back."""
        self._kept += count
        self._room -= count
        if self.transient > self._room:
            self._reserve()

    def _reserve(self) -> None:
        reserved = self._reservation.grow(self.transient + self._kept)
        self._room = reserved - self._kept

    def check_items(self, count: int) -> int:
        """Return ``count``, the length of a new list. Raises QueryRefused if it is too long."""
        if count > self.limits.items:
            raise QueryRefused(f"A list would have more than {self.limits.items:,} items.")
        return count

    def check_characters(self, count: int) -> int:
        """Return ``count``, the length of a new string. Raises QueryRefused if it is too long."""
        if count > self.limits.characters:
            raise QueryRefused(
                f"A string would have more than {self.limits.characters:,} characters."
            )
        return count


SCALARS = frozenset({type(None), bool, int, float})
OTHER_BYTES = 200
"""Memory of a date, time, duration or short path."""


def list_bytes(count: int) -> int:
    """Return the memory of a list, without its items."""
    return 64 + 9 * count


def map_bytes(count: int) -> int:
    """Return the memory of a map, without its values."""
    return 160 + 60 * count
