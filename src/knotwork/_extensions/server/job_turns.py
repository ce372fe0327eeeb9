"""Share the time of a server between the jobs of its workspaces."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable

SLICE_S = 2.0
"""Seconds that a job works before it gives way to the job of a workspace that waits."""


class JobTurns:
    """Decides which workspaces work, at most ``most`` at a time. Not thread-safe.

    A turn lasts until it is ended, or for ``slice_s`` once other workspaces wait. The workspace
    that has waited longest since its last turn is next, and one without a turn so far comes first.
    """

    def __init__(
        self, most: int, *, slice_s: float = SLICE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._slice_s = slice_s
        self._clock = clock
        self._ends: dict[str, float] = {}
        self._began: dict[str, int] = {}
        self._turns = 0
        self._some_wait = False

    def grant(self, wanting: Iterable[str]) -> list[str]:
        """Begin the turns that are free, and return their workspaces.

        ``wanting`` are all workspaces that have work and no turn, in the order in which they asked.
        """
        waiting = [workspace for workspace in wanting if workspace not in self._ends]
        waiting.sort(key=lambda workspace: self._began.get(workspace, 0))
        granted = waiting[: max(0, self._most - len(self._ends))]
        for workspace in granted:
            self._turns += 1
            self._began[workspace] = self._turns
            self._ends[workspace] = self._clock() + self._slice_s
        self._some_wait = len(waiting) > len(granted)
        return granted

    def has(self, workspace: str) -> bool:
        """Return True if it is the turn of a workspace."""
        return workspace in self._ends

    def is_over(self, workspace: str) -> bool:
        """Return True if a workspace has used its time and another one waits."""
        return self._some_wait and self._clock() >= self._ends.get(workspace, math.inf)

    def end(self, workspace: str) -> None:
        """End the turn of a workspace, if it has one."""
        self._ends.pop(workspace, None)
