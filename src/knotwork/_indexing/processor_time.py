"""More processor time for the file that a worker process reads, where its work is counted.

The limit of a file follows its size in bytes (`reading_limits.py`), which says little about how
long it takes to recognise a page in it: a scan of 30 kB takes as long as one of 3 MB.
"""

from __future__ import annotations

try:
    import resource
except ImportError:  # Windows has no limits of processor time
    resource = None  # type: ignore[assignment]

_is_limited = False


def note_limit() -> None:
    """Note that this process works under a limit of processor time."""
    global _is_limited  # noqa: PLW0603 - a limit is one of the whole process
    _is_limited = True


def allow_more(seconds: int) -> None:
    """Raise the limit of this process, if it has one of ours, by so many seconds."""
    if resource is None or not _is_limited:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    if soft == resource.RLIM_INFINITY:
        return
    raised = soft + seconds
    if hard != resource.RLIM_INFINITY:
        raised = min(raised, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (raised, hard))
