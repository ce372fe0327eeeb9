"""Decide when folders must be compared with the index: after file events, and on a schedule.

Events only say when to look. What changed is found by the same comparison as in `knotwork index`,
so that a lost event delays a change and loses nothing.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from knotwork._cancellation import check_cancelled, sleep
from knotwork._indexing.changes import entry_path
from knotwork._indexing.report import Failure, IndexReport
from knotwork._indexing.sources import (
    IGNORE_FILES,
    absolute_path,
    is_inside,
    is_url,
    local_path,
    skips_file,
    skips_folder,
)
from knotwork._run import Progress, Stage, Steps
from knotwork._stores.base import Store
from knotwork.errors import IndexingError, KnotworkError, required

if TYPE_CHECKING:
    from knotwork._indexing.run import IndexOptions
    from knotwork._knowledge_base import KnowledgeBase

QUIET_S = 1.0
"""Time without an event after which changes are due."""

MOST_S = 5.0
"""Time after which changes are due although more arrive."""

RETRY_S = 30.0
"""Time after which a comparison that failed is repeated."""

_POLL_S = 2.0

Identity = tuple[int, int]
"""The device and the inode of a folder."""


def watch(
    kb: KnowledgeBase,
    paths: Iterable[str | Path],
    every_s: float,
    *,
    polling: bool,
    **options: Unpack[IndexOptions],
) -> Steps[None]:
    """Index paths, and again whenever files change, as `KnowledgeBase.watch` describes."""
    watched = Watch(paths, every_s=every_s, polling=polling)
    has_worked = False
    for due in watched.due():
        failures: list[tuple[str, KnotworkError]] = []
        for path in due:
            try:
                check_not_emptied(kb.store, path, watched.filled_as(path))
                for step in kb.index.run(path, **options):
                    is_last = isinstance(step.value, IndexReport)
                    yield replace(step, subject=path) if is_last else step
                has_worked = True
            except KnotworkError as error:
                failures.append((path, error))
                if not isinstance(error, IndexingError):
                    watched.retry_soon()
        if not has_worked:
            raise failures[0][1]
        for path, failure in failures:
            why = Failure(path, failure.code, str(failure))
            yield Progress(Stage.STOPPED, subject=path, note=why.message, value=why)


class Watch:
    """Paths and URLs that are watched.

    ``events`` yields paths that changed, and an empty set after each quiet second; by default,
    those of the file system.
    """

    def __init__(
        self,
        paths: Iterable[str | Path],
        *,
        every_s: float,
        polling: bool = False,
        events: Iterable[set[str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.paths = watched_paths(paths)
        files = [path for path in self.paths if not is_url(path)]
        if events is None and files:
            require_extra()
        self._events = file_events(files, polling=polling) if events is None else events
        self._every_s = every_s
        self._clock = clock
        self._next_s = math.inf
        self._filled: dict[str, Identity | None] = {}

    def due(self) -> Iterator[list[str]]:
        """Yield the paths that must be compared: first all, then those with changes.

        All are due again after ``every_s``. Never ends. Raises Cancelled.
        """
        pending, since_s = set(self.paths), -math.inf
        for changed in self._events:
            check_cancelled()
            now_s = self._clock()
            if now_s >= self._next_s:
                pending, since_s = set(self.paths), -math.inf
            if changed:
                pending |= _touched(changed, self.paths)
                since_s = min(since_s, now_s)
                if now_s - since_s < MOST_S:
                    continue
            if pending:
                due = [path for path in self.paths if path in pending]
                pending, since_s = set(), math.inf
                if len(due) == len(self.paths):
                    self._next_s = math.inf
                yield due
                self._next_s = min(self._next_s, self._clock() + self._every_s)

    def retry_soon(self) -> None:
        """Make all paths due again after a short time."""
        self._next_s = min(self._next_s, self._clock() + RETRY_S)

    def filled_as(self, path: str) -> Identity | None:
        """Return the folder that had files at this or an earlier call, for `check_not_emptied`."""
        identity = _identity(path)
        if _has_files(path):
            self._filled[path] = identity
        return self._filled.get(path)


def watched_paths(paths: Iterable[str | Path]) -> list[str]:
    """Return absolute paths and URLs, each once."""
    given = [local_path(path) for path in paths]
    return list(dict.fromkeys(str(p) if is_url(p) else absolute_path(p) for p in given))


def require_extra() -> None:
    """Raise MissingExtra if the library of the extra `watch` is not installed."""
    with required("Watching folders", "watch"):
        import watchfiles  # noqa: F401


def check_not_emptied(store: Store, path: str, filled_as: Sequence[int] | None) -> None:
    """Raise IndexingError for an empty folder of which the index has documents.

    It may be the place of a disk that is not mounted, unless it is the folder that had files.
    """
    identity = _identity(path)
    if identity is None or _has_files(path) or (filled_as and identity == tuple(filled_as)):
        return
    if any(entry.root and is_inside(entry_path(entry), path) for entry in store.ledger.entries()):
        raise IndexingError(
            f"`{path}` is empty, but the index has documents of it. They are kept.",
            fix="Mount its disk. If the files were deleted, run `knotwork index` on the folder.",
        )


def file_events(paths: Sequence[str], *, polling: bool = False) -> Iterator[set[str]]:
    """Yield paths that changed, and an empty set after each quiet second.

    A path that is created, deleted or replaced by another folder has changed. Files are polled if
    the system has no events to give, as at its limit of watched folders. Never ends.
    """
    before: dict[str, Identity] = {}
    while True:
        watched = _identities(paths)
        moved = {path for path, _ in before.items() ^ watched.items()}
        try:
            for changed in _changes(watched, polling=polling):
                yield moved | changed
                moved = set()
                if _identities(paths) != watched:
                    break
            before = watched
        except FileNotFoundError:
            sleep(QUIET_S)  # deleted since it was looked up
        except OSError:
            if polling:
                raise
            polling = True


def _changes(watched: Iterable[str], *, polling: bool) -> Iterator[set[str]]:
    roots = list(watched)
    while not roots:
        sleep(QUIET_S)
        yield set()
    from watchfiles import watch

    for changes in watch(
        *roots,
        watch_filter=lambda _change, path: _matters(path, roots),
        debounce=int(QUIET_S * 1000),
        rust_timeout=int(QUIET_S * 1000),
        yield_on_timeout=True,
        force_polling=polling or None,  # None: as the environment says
        poll_delay_ms=int(_POLL_S * 1000),
        ignore_permission_denied=True,
    ):
        yield {path for _, path in changes}


def _matters(path: str, roots: Sequence[str]) -> bool:
    """Return False for a file that indexing skips whatever it contains."""
    root = next((root for root in roots if is_inside(path, root)), "")
    *folders, name = (Path(path).relative_to(root).parts if root else ()) or ("",)
    if any(map(skips_folder, folders)):
        return False
    return name in IGNORE_FILES or not skips_file(name)


def _touched(changed: set[str], paths: Sequence[str]) -> set[str]:
    """Return the watched paths with changes; all if a change is in none of them, as for a link."""
    found: set[str] = set()
    for path in changed:
        roots = [root for root in paths if is_inside(path, root)]
        if not roots:
            return set(paths)
        found.update(roots)
    return found


def _identities(paths: Iterable[str]) -> dict[str, Identity]:
    found = {path: _identity(path) for path in paths}
    return {path: identity for path, identity in found.items() if identity is not None}


def _identity(path: str) -> Identity | None:
    """Return what stays the same while a path is the same folder of the same disk."""
    try:
        status = os.stat(path)  # noqa: PTH116 - paths are text here
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _has_files(path: str) -> bool:
    try:
        with os.scandir(path) as listing:
            return any(True for _ in listing)
    except OSError:
        return True  # not a folder that is known to be empty
