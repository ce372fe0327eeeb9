"""The limits of memory and processor time of a worker process, and what raises them.

The limits of a file follow its size in bytes (`reading_limits.py`). That says little about how long
it takes to recognise a page in it: a scan of 30 kB takes as long as one of 3 MB. Memory that a
process keeps from one file to the next, such as that of a model, does not count towards the limit
of the file that was read when it was taken, nor of a later one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows has no limits
    resource = None

_kept_bytes = 0
_is_limited = False


def kept_bytes() -> int:
    """Return the bytes that this process keeps beside those of the file that it reads."""
    return _kept_bytes


def limit_process(memory_bytes: int, processor_s: int) -> None:
    """Limit this process from here on: memory in all, and so much more processor time.

    What the process keeps between files comes on top of ``memory_bytes``.
    """
    global _is_limited  # noqa: PLW0603 - a limit is one of the whole process
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + processor_s)
    _is_limited = True
    _set(resource.RLIMIT_DATA, memory_bytes + _kept_bytes)
    _set(resource.RLIMIT_CORE, 0)


def allow_more(seconds: int) -> None:
    """Raise the limit of processor time, if this process has one of ours, by so many seconds."""
    if resource is not None and _is_limited:
        _raise(resource.RLIMIT_CPU, seconds)


@contextmanager
def keeping(at_most: int, *, to_use: int = 0) -> Iterator[None]:
    """Keep what the block takes, and let it take ``at_most`` bytes more than the file may.

    ``to_use`` bytes stay allowed beside it: what is kept may need them whenever it is used.
    """
    global _kept_bytes  # noqa: PLW0603
    before, outer = data_bytes(), _kept_bytes
    _kept_bytes += at_most
    if resource is not None:
        _raise(resource.RLIMIT_DATA, at_most)
    try:
        yield
    finally:
        taken = min(at_most, max(0, data_bytes() - before)) if before else at_most
        _kept_bytes = outer + taken + to_use
        if resource is not None:
            _raise(resource.RLIMIT_DATA, taken + to_use - at_most)


def data_bytes() -> int:
    """Return the memory that counts towards the limit; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read for each task
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _raise(kind: int, more: int) -> None:
    """Raise the limit of a resource, if it has one."""
    assert resource is not None
    soft, _ = resource.getrlimit(kind)
    if soft != resource.RLIM_INFINITY:
        _set(kind, soft + more)


def _set(kind: int, value: int) -> None:
    """Set the soft limit of a resource, at most its hard limit."""
    assert resource is not None
    _, hard = resource.getrlimit(kind)
    unlimited = resource.RLIM_INFINITY
    soft = value if hard == unlimited else min(value, hard)
    resource.setrlimit(kind, (unlimited if soft >= sys.maxsize else soft, hard))
