"""Give a run up when its model's server does not answer."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing

from knotwork.errors import ModelUnavailable
from knotwork.transform.model.outcomes import ChunkOutcome

PATIENCE = 16
"""Chunks in a row for which no server answers, before the run is given up."""


class Patience:
    """Counts what no server answered for, in a row; ``what`` says what is counted."""

    def __init__(self, most: int = PATIENCE, *, what: str = "{count} requests") -> None:
        self._most = most
        self._what = what
        self._missed = 0

    def note(self, absence: str) -> None:
        """Count one, "" being one with an answer; raise ModelUnavailable if there were most."""
        self._missed = self._missed + 1 if absence else 0
        if self._missed >= self._most:
            counted = self._what.format(count=self._missed)
            raise ModelUnavailable(
                f"The model did not answer {counted} in a row: {absence}",
                fix="Run again when it does: what is finished is not asked again.",
            )


def give_up_without_server(
    outcomes: Generator[ChunkOutcome, None, None], *, patience: int = PATIENCE
) -> Iterator[ChunkOutcome]:
    """Pass outcomes on; raise ModelUnavailable once ``patience`` in a row had no server.

    Those before it have been passed on: they are quarantined, and may be tried again.
    """
    left = Patience(patience, what="for {count} chunks")
    with closing(outcomes):  # at once, not when the error that is raised here is forgotten
        for outcome in outcomes:
            yield outcome
            left.note(outcome.absence)
