"""How far a job is, told not too often; and the way to stop it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from knotwork.indexing.report import EventKind, IndexEvent

PROGRESS_S = 0.25
"""Seconds between two reports of progress, at least."""

Tell = Callable[[str, Mapping[str, Any]], None]

_STAGES = {
    EventKind.DISCOVERED: "discover",
    EventKind.STARTED: "load",
    EventKind.READ: "extract",
    EventKind.LOADING: "embed",
    EventKind.EMBEDDED: "embed",
    EventKind.REMOVED: "remove",
}
_STORED = "store"


class JobStopped(Exception):
    """The job was told to stop; what is finished is kept."""


class Progress:
    """Tells how far a job is, not too often, and stops it when it is to stop."""

    def __init__(self, tell: Tell, *, is_stopping: Callable[[], bool]) -> None:
        self._tell = tell
        self._is_stopping = is_stopping
        self._told_s = 0.0
        self._stage = ""
        self._failed = 0

    def enter(self, stage: str) -> None:
        """Tell that a stage begins. Raises JobStopped."""
        self._check()
        self._put({"stage": stage})

    def show(self, event: IndexEvent) -> None:
        """Tell an event of indexing. Raises JobStopped."""
        self._check()
        if event.kind is EventKind.FAILED:
            self._failed += 1
            failure = {"uri": event.uri, "reason": event.reason, "message": event.message}
            self._tell("failure", failure)
        stage = event.message if event.kind is EventKind.ENRICHING else ""
        stage = stage or _STAGES.get(event.kind, _STORED)
        is_last = event.report is not None
        if stage == self._stage and time.monotonic() - self._told_s < PROGRESS_S and not is_last:
            return
        self._put(
            {
                "stage": stage,
                "uri": event.uri,
                "done": event.done,
                "total": event.total,
                "chunks": event.chunks,
                "chunks_known": event.chunks_known,
                "failed": self._failed,
            }
        )

    def count(self, stage: str, done: int, total: int, **more: object) -> None:
        """Tell how much of a stage is done; all but its first and last step may be left out.

        Raises JobStopped.
        """
        self._check()
        is_due = time.monotonic() - self._told_s >= PROGRESS_S
        if stage != self._stage or done == total or is_due:
            self._put({"stage": stage, "done": done, "total": total, **more})

    def _put(self, body: Mapping[str, Any]) -> None:
        self._told_s, self._stage = time.monotonic(), str(body["stage"])
        self._tell("progress", body)

    def _check(self) -> None:
        if self._is_stopping():
            raise JobStopped
