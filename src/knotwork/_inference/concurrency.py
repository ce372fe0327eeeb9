"""Run calls in threads with results in order; stop all of them when a run is cancelled."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from knotwork.errors import ModelError, ModelUnavailable

T = TypeVar("T")
R = TypeVar("R")

_SUBMITTED_AHEAD = 4
"""Queued items per thread, so that a slow first item leaves no thread idle."""


def work_ordered(
    work: Callable[[T], R], items: Iterable[T], *, concurrency: int, halt: Halt | None = None
) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item in order, ``concurrency`` at a time.

    ``items`` is consumed lazily, at most a few times ``concurrency`` ahead. An exception of
    ``work`` is raised in place of its result. On an exception, on Ctrl-C, and when the caller stops
    iterating, ``halt`` is set, queued calls are cancelled, and running ones are waited for. Raises
    ValueError if ``concurrency`` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="knotwork-work")
    done = False
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) >= _SUBMITTED_AHEAD * concurrency:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        done = True
    finally:
        if not done and halt is not None:
            halt.set()
        pool.shutdown(wait=True, cancel_futures=True)


class Halt:
    """A switch that ends every wait; set it on Ctrl-C, before joining threads."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """End all waits, now and later, with ModelError."""
        self._event.set()

    def check(self) -> None:
        """Raise ModelError once the switch is set."""
        if self._event.is_set():
            raise ModelError("The call to the model was cancelled because the run was stopped.")

    def sleep(self, seconds: float) -> None:
        """Wait this long; raise ModelError as soon as the switch is set."""
        self._event.wait(seconds)
        self.check()


PATIENCE = 16
"""Consecutive chunks without a response from the server before the run stops."""


class Patience:
    """Counts consecutive requests without a response; ``what`` names them in the error."""

    def __init__(self, most: int = PATIENCE, *, what: str = "{count} requests") -> None:
        self._most = most
        self._what = what
        self._missed = 0

    def note(self, absence: str) -> None:
        """Count a request: ``absence`` is why it had no response, "" if it had one.

        Raises ModelUnavailable once too many in a row had none.
        """
        self._missed = self._missed + 1 if absence else 0
        if self._missed >= self._most:
            counted = self._what.format(count=self._missed)
            raise ModelUnavailable(
                f"The model did not answer {counted} in a row: {absence}",
                fix="Run again when the server responds: finished calls are not repeated.",
            )
