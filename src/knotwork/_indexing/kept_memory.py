"""Memory that a worker process keeps from one file to the next, such as that of a model.

It does not count towards the limit of the file that was read when it was taken, nor of a later one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

try:
    import resource
except ImportError:  # Windows has no limits of memory
    resource = None  # type: ignore[assignment]

_kept_bytes = 0


def kept_bytes() -> int:
    """Return the bytes that this process keeps beside those of the file that it reads."""
    return _kept_bytes


@contextmanager
def keeping(at_most: int, *, to_use: int = 0) -> Iterator[None]:
    """Keep what the block takes, and let it take ``at_most`` bytes more than the file may.

    ``to_use`` bytes stay allowed beside it: what is kept may need them whenever it is used.
    """
    global _kept_bytes  # noqa: PLW0603 - a limit is one of the whole process
    before, limit = data_bytes(), _limit()
    outer = _kept_bytes
    _kept_bytes += at_most
    if limit is not None:
        _set_limit(limit + at_most)
    try:
        yield
    finally:
        taken = min(at_most, max(0, data_bytes() - before)) if before else at_most
        _kept_bytes = outer + taken + to_use
        if limit is not None:
            _set_limit(limit + taken + to_use)


def data_bytes() -> int:
    """Return the memory that counts towards the limit; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read for each task
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _limit() -> int | None:
    """Return the limit of this process in bytes, None if it has none."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if soft == resource.RLIM_INFINITY else soft


def _set_limit(value: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
