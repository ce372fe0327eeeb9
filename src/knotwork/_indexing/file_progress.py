"""Say how much of a file has been read, while a loader that takes long reads it.

A worker process listens, and sends what it hears to the run. Elsewhere nobody listens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_INTERVAL_S = 0.5

Listener = Callable[[float], None]

_listener: Listener | None = None
_heard_s = 0.0


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` with the share of a file, from 0 to 1, at most twice a second."""
    global _listener  # noqa: PLW0603 - a worker process reads one file at a time
    _listener = listener
    try:
        yield
    finally:
        _listener = None


def report_share(done: float, total: float) -> None:
    """Say that ``done`` of ``total`` pages, seconds or the like of a file have been read."""
    global _heard_s  # noqa: PLW0603
    if _listener is None or total <= 0:
        return
    now = time.monotonic()
    if now - _heard_s >= _INTERVAL_S:
        _heard_s = now
        _listener(min(max(done / total, 0.0), 1.0))
