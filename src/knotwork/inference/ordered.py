"""Work on many items in threads, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from knotwork.inference.halt import Halt

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 4
"""Items that wait, per thread, so that a slow one at the front leaves no thread idle."""


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
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="knotwork-work")
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
