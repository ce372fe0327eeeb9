"""Many chunks at a time: a bounded pool of threads whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

from knotwork.errors import ModelUnavailable
from knotwork.inference.halt import Halt
from knotwork.transform.model.outcomes import ChunkOutcome

T = TypeVar("T")
R = TypeVar("R")

PATIENCE = 16
"""Chunks in a row for which no server answers, before the run is given up."""

_AHEAD = 4
"""Times the threads: how many items wait, so that a slow one at the front idles nobody."""


def work_ordered(
    work: Callable[[T], R], items: Iterable[T], *, concurrency: int, halt: Halt | None = None
) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item in order, ``concurrency`` at a time.

    ``items`` are taken as they are needed, at most a few times ``concurrency`` ahead. A fault of
    ``work`` is raised in its turn. On a fault, on Ctrl-C, and when the caller stops iterating,
    ``halt`` is set, what has not begun is cancelled, and the rest is waited for.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}, and 1 is the least")
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="knotwork-extract")
    done = False
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= _AHEAD * concurrency:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        done = True
    finally:
        if not done and halt is not None:
            halt.set()
        pool.shutdown(wait=True, cancel_futures=True)


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
