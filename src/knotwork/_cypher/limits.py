"""Limit the time and memory of a statement, and track what remains while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from knotwork.errors import QueryRefused, QueryTimeout

_STEPS_BETWEEN_CHECKS = 512
_SORTING_S = 1e-7
"""Approximate duration of one comparison, in seconds."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one statement.

    ``rows`` limits the rows returned, ``held`` the values kept in the course of the run (rows to
    sort or group, lists, visited paths), ``items`` the length of a list, ``characters`` that of a
    string, ``statement_characters`` that of the statement, and ``depth`` the nesting of expressions
    and values.
    """

    rows: int = 1_000
    timeout_s: float = 10.0
    held: int = 5_000_000
    items: int = 2_000_000
    characters: int = 1_000_000
    statement_characters: int = 50_000
    depth: int = 60


class Budget:
    """The remaining time and memory of a running statement."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.deadline = time.monotonic() + limits.timeout_s
        self._steps = 0
        self._held = 0

    def step(self) -> None:
        """Count one step of work, and check the time now and then. Raises QueryTimeout."""
        self._steps += 1
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

    def remaining_s(self) -> float:
        """Return the remaining seconds, at least 0.001. Raises QueryTimeout if none remain."""
        self.check_time()
        return max(self.deadline - time.monotonic(), 0.001)

    def hold(self, values: int = 1) -> None:
        """Count values kept in memory. Raises QueryRefused above the limit."""
        self.step()
        self._held += values
        if self._held > self.limits.held:
            raise QueryRefused(
                f"The statement needs to hold more than {self.limits.held:,} values in memory.",
                fix="Narrow its patterns, or add a LIMIT before it collects or sorts.",
            )

    def check_sort(self, count: int) -> None:
        """Raise QueryTimeout if too little time remains to sort ``count`` values.

        Sorting cannot be interrupted, so its duration is estimated beforehand.
        """
        if count * count.bit_length() * _SORTING_S > self.deadline - time.monotonic():
            self.deadline = 0.0
        self.check_time()

    def check_items(self, count: int) -> int:
        """Return ``count``, the length of a new list. Raises QueryRefused if it is too long."""
        if count > self.limits.items:
            raise QueryRefused(f"A list would have more than {self.limits.items:,} items.")
        self.hold(count)
        return count

    def check_characters(self, count: int) -> int:
        """Return ``count``, the length of a new string. Raises QueryRefused if it is too long."""
        if count > self.limits.characters:
            raise QueryRefused(
                f"A string would have more than {self.limits.characters:,} characters."
            )
        self.hold(count // 64)
        return count
