"""Limits of a statement, and the budget of time, rows and memory that remains while it runs."""

from __future__ import annotations

import time
from dataclasses import dataclass

from knotwork.errors import QueryRefused, QueryTimeout

_STEPS_BETWEEN_CHECKS = 512
_SORTING_S = 1e-7
"""What one comparison takes, more or less."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Ceilings of one statement.

    ``rows`` are those returned; ``held`` counts the values kept at one time or another (rows to be
    sorted or grouped, lists, visited paths), ``items`` the length of one list, ``characters`` that
    of one string or statement, ``depth`` how deep expressions and values may nest.
    """

    rows: int = 1_000
    timeout_s: float = 10.0
    held: int = 5_000_000
    items: int = 2_000_000
    characters: int = 1_000_000
    statement_characters: int = 50_000
    depth: int = 60


class Budget:
    """What is left of the limits while a statement runs."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.deadline = time.monotonic() + limits.timeout_s
        self._steps = 0
        self._held = 0

    def step(self) -> None:
        """Count one step of work. Raises QueryTimeout when the time is over."""
        self._steps += 1
        if self._steps >= _STEPS_BETWEEN_CHECKS:
            self._steps = 0
            self.check_time()

    def check_time(self) -> None:
        """Look at the clock. Raises QueryTimeout when the time is over."""
        if time.monotonic() > self.deadline:
            raise QueryTimeout(
                f"The statement took longer than {self.limits.timeout_s:g} s.",
                fix="Ask for less: a label, a bound of depth, a LIMIT; or give it more time.",
            )

    def remaining_s(self) -> float:
        """Return the seconds that are left, more than none."""
        self.check_time()
        return max(self.deadline - time.monotonic(), 0.001)

    def hold(self, values: int = 1) -> None:
        """Count values that are kept. Raises QueryRefused when they are too many."""
        self.step()
        self._held += values
        if self._held > self.limits.held:
            raise QueryRefused(
                f"The statement needs more than {self.limits.held:,} values at a time.",
                fix="Narrow its patterns, or put a LIMIT before what it collects or sorts.",
            )

    def check_sort(self, count: int) -> None:
        """Make sure that there is time to sort so many values, which cannot be broken off.

        Raises QueryTimeout when there is not.
        """
        if count * count.bit_length() * _SORTING_S > self.deadline - time.monotonic():
            self.deadline = 0.0
        self.check_time()

    def check_items(self, count: int) -> int:
        """Return the length of a list to be. Raises QueryRefused when it is too long."""
        if count > self.limits.items:
            raise QueryRefused(f"A list would have more than {self.limits.items:,} items.")
        self.hold(count)
        return count

    def check_characters(self, count: int) -> int:
        """Return the length of a string to be. Raises QueryRefused when it is too long."""
        if count > self.limits.characters:
            raise QueryRefused(f"A string would have more than {self.limits.characters:,} letters.")
        self.hold(count // 64)
        return count
