"""Stop asking a model in a stage in which its replies are unusable (a circuit breaker).

The pattern is that of M. T. Nygard, Release It! (2007), with unusable replies in place of failed
calls: a small model may answer questions and yet never keep to the form of an extraction.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from knotwork.errors import ModelUnavailable, Unparsable

MOST_IN_A_ROW = 12
_WINDOW = 40
_MOST_IN_WINDOW = 36
STOPPED_FIX = (
    'Use a larger model for it, or llm.tier = "lean", which asks less; then ask again with: '
    "knotwork index FOLDER --retry"
)


@dataclass(slots=True)
class _Stage:
    """The replies of a stage: ``recent`` are True if they could be read."""

    in_a_row: int = 0
    recent: deque[bool] = field(default_factory=lambda: deque(maxlen=_WINDOW))
    stopped_at: float | None = None


class StageBreaker:
    """Counts unusable replies by stage and refuses further requests of a stage with too many.

    These are `MOST_IN_A_ROW`, or nine of ten among the last 40. After ``rest_s`` seconds one reply
    decides again; without it, the stage stays stopped, as within one run. Thread-safe.
    """

    def __init__(
        self, *, rest_s: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rest_s = rest_s
        self._now = now
        self._stages: dict[str, _Stage] = {}
        self._warning = ""
        self._missed = Counter[str]()
        self._miss = ""
        self._lock = threading.Lock()

    def check(self, stage: str) -> None:
        """Raise Unparsable if requests of this stage are no longer sent."""
        with self._lock:
            found = self._stages.get(stage)
            if found is None or found.stopped_at is None:
                return
            if self._rest_s is not None and self._now() - found.stopped_at >= self._rest_s:
                found.stopped_at = self._now()  # the others wait for the reply of this one
                return
        raise Unparsable(
            f"Not asked, since too many replies in the step `{stage}` were unusable.",
            fix=STOPPED_FIX,
        )

    def note(self, stage: str, *, usable: bool) -> None:
        """Count a reply that was paid for."""
        with self._lock:
            found = self._stages.setdefault(stage, _Stage())
            found.recent.append(usable)
            if usable:
                found.in_a_row = 0
                if found.stopped_at is not None and self._rest_s is not None:
                    found.stopped_at = None
                    found.recent.clear()
                return
            found.in_a_row += 1
            unusable = len(found.recent) - sum(found.recent)
            if found.in_a_row >= MOST_IN_A_ROW or unusable >= _MOST_IN_WINDOW:
                found.stopped_at = self._now()

    def miss(self, stage: str, error: ModelUnavailable) -> None:
        """Count a request without an answer for the notes."""
        with self._lock:
            self._missed[stage] += 1
            self._miss = self._miss or str(error)

    def warn(self, warning: str) -> None:
        """Keep the first warning that came with a reply for the notes."""
        self._warning = self._warning or warning

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each stage that was stopped, with what to do, one on requests without an
        answer, and the first warning.
        """
        with self._lock:
            stopped = [name for name, stage in self._stages.items() if stage.stopped_at is not None]
        sentences = (
            f"The model was no longer asked in the step `{name}`, since too many of its replies "
            f"were unusable; rules did the rest. {STOPPED_FIX}"
            for name in sorted(stopped)
        )
        missed = ", ".join(f"{stage} ({count:,})" for stage, count in self._missed.items())
        miss = missed and f"The model did not answer in these steps: {missed}. {self._miss}"
        return (*sentences, *filter(None, (miss, self._warning)))
