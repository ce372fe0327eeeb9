"""Read files in worker processes, with the loaders of this program.

A loader that cannot be sent to another process stays in this one: its files are read here, without
limits of memory and time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from knotwork._cancellation import wait_for
from knotwork._indexing.loaders.loader import Content, Source
from knotwork._indexing.loaders.loader_registry import LOADERS, ReadElsewhere, RemoteFile
from knotwork._indexing.reading_limits import ReadingLimits
from knotwork._indexing.worker_pool import UNSENDABLE, WorkerPool, WorkersUnavailable, pickled

_log = logging.getLogger("knotwork.indexing")

Result = TypeVar("Result")


MOST_WORKERS = 8
"""Workers that are started if their number is not set; each takes 50 to 100 MB."""


def worker_count(workers: int) -> int:
    """Return the number of workers that a setting asks for; -1 is one for each core."""
    if workers >= 0:
        return workers
    import loky

    return min(int(loky.cpu_count()), MOST_WORKERS)


def open_pool(shared: object, *, workers: int, limits: ReadingLimits) -> WorkerPool:
    """Return a pool of processes that know the loaders registered in this program.

    Raises one of ``UNSENDABLE`` if ``shared`` cannot be sent to another process.
    """
    return WorkerPool(register_loaders(), shared, workers=workers, limits=limits)


def register_loaders() -> Callable[[], object]:
    """Return a function for other processes that registers the loaders of this program there."""
    return partial(_register, _sendable_loaders(LOADERS.registered()))


def _register(loaders: Mapping[str, object]) -> None:
    # Import what nearly every file needs before the memory of the process is measured.
    import knotwork._indexing.preparation  # noqa: F401

    for name, loader in loaders.items():
        LOADERS.register(name, loader)


@dataclass(frozen=True, slots=True)
class _LoaderElsewhere:
    """Takes the place of a loader in a worker process, to which it cannot be sent."""

    name: str
    suffixes: tuple[str, ...]
    signatures: tuple[bytes, ...]

    def load(self, source: Source) -> Content:  # noqa: ARG002 - of the protocol
        raise ReadElsewhere


def _sendable_loaders(registered: Mapping[str, object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, target in registered.items():
        try:
            pickled(target)
        except UNSENDABLE as error:
            _log.warning(
                "the loader `%s` cannot be sent to another process (%s); its files are read in "
                "this one, without limits of memory and time",
                name,
                error,
            )
            loader = LOADERS.create(name)
            found[name] = _LoaderElsewhere(loader.name, loader.suffixes, loader.signatures)
        else:
            found[name] = target
    return found


def read_files(
    function: Callable[[Any, str], Result],
    files: Iterable[tuple[Path | RemoteFile, str, int]],
    *,
    workers: int,
    limits: ReadingLimits,
) -> Iterator[Callable[[], Result]]:
    """Yield for each file, in order, a function that returns the result for it or raises LoadError.

    ``files`` are paths, their names in the index and their sizes in bytes. The files are read in
    worker processes, or in this one if ``workers`` is 0.
    """
    named = list(files)
    if not workers or not named:
        yield from (partial(function, path, uri) for path, uri, _ in named)
        return
    pool = open_pool(None, workers=worker_count(workers), limits=limits)
    try:
        futures = [
            pool.submit(_call, (function, path, uri), uri=uri, size=size)
            for path, uri, size in named
        ]
        for future, (path, uri, _) in zip(futures, named, strict=True):
            with suppress(Exception):
                wait_for(future)  # raises Cancelled; other errors are those of the file
            must_stay = isinstance(future.exception(), ReadElsewhere | WorkersUnavailable)
            yield partial(function, path, uri) if must_stay else future.result
    finally:
        pool.close()


def _call(task: tuple[Callable[[Any, str], Any], Any, str], _shared: object) -> Any:  # noqa: ANN401
    function, path, uri = task
    return function(path, uri)
