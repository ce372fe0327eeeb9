"""Estimate how long a job still takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from knotwork.indexing.report import EventKind, IndexEvent

_GUESS_S = 2.0
"""Work below which an estimate would be a mere guess; so is one soon after a slow start."""
_STEADY_S = 10.0
"""Work after which an estimate changes no more than by ``_MOST_CHANGE`` at a time."""
_MOST_CHANGE = 1.6
_CHANGE_S = 5.0
"""Seconds between two estimates that may differ by ``_MOST_CHANGE``; closer ones differ by less."""
_FIRST_MINUTE_S = 60.0
_HALF_LIFE_S = 60.0


class TimeLeft:
    """Divides the work left by the pace so far, and keeps the result from jumping.

    The pace is that of the whole job in its first minute; later, older work counts for less.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_s = clock()
        self._is_paused = False
        self._worked_s = 0.0
        self._begun_s = 0.0
        self._done = 0.0
        self._recent_s = 0.0
        self._recent_done = 0.0
        self._left_s: float | None = None

    @property
    def worked_s(self) -> float:
        """Seconds up to the last update, without those that were left out."""
        return self._worked_s

    def pause(self) -> None:
        """Leave out the time until the next update, such as that of loading a model."""
        self._pass_time()
        self._is_paused = True

    def follow(self, event: IndexEvent) -> float | None:
        """Return the seconds left of an indexing run: by its chunks, or its files if it has none.

        The time that a model takes to load says nothing about the rest and is left out.
        """
        if event.chunks_expected:
            left_s = self.update(event.chunks, event.chunks_expected)
        else:
            left_s = self.update(event.done, event.total)
        if event.kind is EventKind.LOADING:
            self.pause()
        return left_s

    def update(self, done: float, total: float) -> float | None:
        """Return the seconds left after ``done`` of ``total``; None if it is too early to say."""
        passed_s = self._pass_time()
        self._recent_done += done - self._done
        self._done = done
        if not self._begun_s and done > 0:
            self._begun_s = self._worked_s
        is_early = done < total / 10 and self._worked_s < max(_GUESS_S, 2 * self._begun_s)
        if is_early or not 0 < done < total or self._recent_done <= 0:
            return None
        left_s = (total - done) * self._recent_s / self._recent_done
        if self._left_s is not None and self._worked_s >= _STEADY_S:
            change = _MOST_CHANGE ** min(passed_s / _CHANGE_S, 1.0)
            due_s = max(self._left_s - passed_s, self._left_s / _MOST_CHANGE)
            left_s = min(max(left_s, due_s / change), self._left_s * change)
        self._left_s = left_s
        return left_s

    def _pass_time(self) -> float:
        """Return the seconds since the last call, and count them as work unless paused."""
        now_s = self._clock()
        passed_s, self._last_s = now_s - self._last_s, now_s
        if self._is_paused:
            self._is_paused = False
            return passed_s
        self._worked_s += passed_s
        if self._worked_s > _FIRST_MINUTE_S:
            faded = 0.5 ** (passed_s / _HALF_LIFE_S)
            self._recent_s *= faded
            self._recent_done *= faded
        self._recent_s += passed_s
        return passed_s
