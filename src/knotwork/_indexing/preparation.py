"""Prepare documents: load, split and extract by rules, in worker processes.

Preparation depends on the document and the `Recipe` alone and knows no store, so it can run in
other processes, which are limited (`worker_pool.py`): any file may be damaged or hostile. Short
plain texts are prepared in this process if there are few, since a process takes 0.3 seconds to
start. Loading, splitting and rules are pure Python, which runs one thread at a time; if there is
much to read, all of it goes to the workers, while a server reads chunks or the index is written.
The result is the same, in the same order.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_futures
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

from knotwork._cancellation import check_cancelled, wait_for
from knotwork._indexing.file_reading import open_pool, worker_count
from knotwork._indexing.loaders.loader_registry import ReadElsewhere, UndescribedDocument
from knotwork._indexing.parcels import Parcel, collect_unpacked, pack, unpack
from knotwork._indexing.prepared import Candidate, Prepared, Reading, Undescribed, Unprepared
from knotwork._indexing.reading_limits import DEFAULT_LIMITS, ReadingLimits
from knotwork._indexing.splitters import Splitter
from knotwork._indexing.worker_pool import (
    UNSENDABLE,
    FileFuture,
    WorkerPool,
    WorkersUnavailable,
)
from knotwork._transform.extractor import Extractor
from knotwork._transform.model.chunk_memory import recall_similar
from knotwork.errors import KnotworkError, LoadError
from knotwork.records import Document

_log = logging.getLogger("knotwork.indexing")

WORTH_BYTES = 512 << 10
"""Short texts of less than this in all are prepared in this process."""

_BEFORE_BYTES = 32 << 10
"""Text that is prepared before any worker is started, so that a model has some to read."""

_AHEAD_BYTES = 256 << 10
"""Text in progress for each worker, about a second of work, which a killed run repeats."""

Preparation: TypeAlias = Prepared | Undescribed | Unprepared
_Result: TypeAlias = Preparation | Parcel | Document | UndescribedDocument


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to prepare documents.

    ``memory_tokens`` limits what the prompt about a chunk recalls of its document; 0 without a
    model that reads.
    """

    splitter: Splitter
    extractor: Extractor
    memory_tokens: int = 0


def prepare(source: Candidate, recipe: Recipe) -> Preparation:
    """Return a document ready to be embedded and stored, but for its content keys.

    What goes wrong is the ``error`` of the result; only MemoryError and ReadElsewhere are raised.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    try:
        with timed(seconds, "load"):
            source, document = source.load()
        if isinstance(document, UndescribedDocument):
            return Undescribed(source, document, seconds)
        if document is None or document.revision == source.known_revision:
            return Unprepared(source, seconds=seconds)
        with timed(seconds, "split"):
            sections, chunks = recipe.splitter.split(document)
        leaves = [chunk for chunk in chunks if not chunk.is_parent]
        memories: Mapping[str, str] = {}
        with timed(seconds, "extract"):
            extractions = recipe.extractor.extract(document, leaves)
            if source.wants_model:
                memories = recall_similar(leaves, extractions, limit_tokens=recipe.memory_tokens)
    except (MemoryError, ReadElsewhere):
        raise
    except KnotworkError as error:
        return Unprepared(source, error, seconds=seconds)
    except Exception as fault:  # noqa: BLE001 - a bug that one document meets must not stop a run
        wrapped = LoadError("fault", f"{type(fault).__name__}: {fault}")
        return Unprepared(source, wrapped, traceback.format_exc(), seconds)
    return Prepared(
        source,
        document,
        tuple(sections),
        tuple(chunks),
        tuple(extractions),
        source.settings,
        descriptions=tuple(d for extraction in extractions for d in extraction.descriptions),
        memories=memories,
        seconds=seconds,
    )


def load_error_of(failed: Unprepared) -> LoadError | None:
    """Return the error that concerns this document alone, None if it is unchanged; raise others."""
    if failed.trace:
        _log.error("cannot index %s\n%s", failed.source.uri, failed.trace)
    if failed.error is None or isinstance(failed.error, LoadError):
        return failed.error
    raise failed.error


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] += time.perf_counter() - start


class Preparer(Protocol):
    """Prepares documents and returns them in the order in which they were offered."""

    @property
    def open(self) -> int:
        """The number of documents that were offered and not yet taken."""

    @property
    def oldest(self) -> str:
        """The uri of the document that `take` returns next; "" if no document is open."""

    @property
    def share(self) -> float:
        """How much of the oldest document was read, from 0 to 1; 0 if that is unknown."""

    def begin(self, source: Candidate) -> None:
        """Add a document to the queue."""

    def is_ready(self) -> bool:
        """Return True if `take` should be called now: a document is ready, or too many wait."""

    def wait(self, seconds: float) -> bool:
        """Wait at most this long, and return True if `take` would return immediately.

        Returns True as well if the oldest document is prepared in this process.
        """

    def take(self) -> Preparation:
        """Wait for the oldest document and return it. Raises Cancelled."""

    def close(self) -> None:
        """Drop the documents in progress."""


def open_preparer(
    recipe: Recipe, *, workers: int, total_bytes: int, limits: ReadingLimits = DEFAULT_LIMITS
) -> Preparer:
    """Return a preparer of ``total_bytes`` of text with ``workers`` processes beside this one.

    -1 starts one for each core, at most 8. 0 prepares all documents in this process, without
    limits.
    """
    count = worker_count(workers)
    return WorkerPreparer(
        recipe,
        workers=count,
        limits=limits,
        shares_work=(workers > 0 or count > 1) and total_bytes >= WORTH_BYTES,
    )


@dataclass(slots=True)
class _Item:
    """A document in the queue: in progress in a worker (``future``), or not begun."""

    source: Candidate
    future: FileFuture[_Result] | None = None
    result: Preparation | None = None


class WorkerPreparer:
    """Prepares documents in ``workers`` processes, and short plain texts in this one.

    Without workers, each document is prepared in this process when it is taken.
    With ``shares_work``, workers prepare short texts too, as soon as one has started. A document
    that exceeds a limit or crashes its worker is one failed document. A document in memory that
    cannot be sent to a worker, and the file of a loader that cannot, are prepared in this process;
    so are all if no worker can be started. If the recipe cannot be sent, workers load the files,
    and the rest is done here. Implements `Preparer`.
    """

    def __init__(
        self, recipe: Recipe, *, workers: int, limits: ReadingLimits, shares_work: bool = True
    ) -> None:
        self._recipe = recipe
        self._workers = workers
        self._limits = limits
        self._shares_work = shares_work
        self._bytes_before = _BEFORE_BYTES
        self._pool: WorkerPool | None = None
        self._loads_only = False
        self._items: deque[_Item] = deque()

    @property
    def open(self) -> int:
        return len(self._items)

    @property
    def oldest(self) -> str:
        return self._items[0].source.uri if self._items else ""

    @property
    def share(self) -> float:
        future = self._items[0].future if self._items else None
        return future.share if future is not None else 0.0

    def begin(self, source: Candidate) -> None:
        item = _Item(source)
        self._items.append(item)
        if source.read_here is None or (self._shares_work and self.is_up):
            self._send(item)
        elif self._shares_work and self._pool is None and self._bytes_before <= 0:
            self._open_pool().start()
        self._bytes_before -= source.size

    def is_ready(self) -> bool:
        if not self._items:
            return False
        head = self._items[0]
        if head.future is None or head.future.done():
            return True
        in_progress = sum(item.source.size for item in self._items if item.future is not None)
        return in_progress >= _AHEAD_BYTES * self._workers

    def wait(self, seconds: float) -> bool:
        if not self._items:
            return True
        future = self._items[0].future
        if future is not None:
            self._prepare_meanwhile(future, time.monotonic() + seconds)
            wait_for_futures([future], timeout=seconds)
        return future is None or future.done()

    def take(self) -> Preparation:
        item = self._items[0]
        if item.future is not None:
            self._prepare_meanwhile(item.future, float("inf"))
        self._items.popleft()
        if item.future is None:
            return item.result or self._prepare_here(item.source)
        return self._result(item.source, item.future)

    def close(self) -> None:
        self._items.clear()
        if self._pool is not None:
            self._pool.close()
            self._pool = None
            collect_unpacked()

    @property
    def is_up(self) -> bool:
        """True once a worker has started."""
        return self._pool is not None and self._pool.is_ready

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the worker processes that run now."""
        return self._pool.processes if self._pool else ()

    def _open_pool(self) -> WorkerPool:
        if self._pool is None:
            try:
                self._pool = self._make_pool(self._recipe)
            except UNSENDABLE as error:
                _log.info("workers load files only: the recipe cannot be sent to them: %s", error)
                self._loads_only = True
                self._pool = self._make_pool(None)
        return self._pool

    def _make_pool(self, shared: Recipe | None) -> WorkerPool:
        return open_pool(shared, workers=self._workers, limits=self._limits)

    def _send(self, item: _Item) -> None:
        """Send a document to a worker; one that cannot be sent is prepared when it is taken."""
        if not self._workers:
            return
        pool = self._open_pool()
        source = replace(item.source, read_here=None)
        function: Callable[[Candidate, Any], Any] = _load if self._loads_only else _prepare
        try:
            item.future = pool.submit(function, source, uri=source.uri, size=source.size)
        except UNSENDABLE:
            item.future = None

    def _prepare_meanwhile(self, head: Future[Any], until: float) -> None:
        """Prepare documents that no worker has while the oldest one is in progress."""
        for item in self._items:
            check_cancelled()
            if head.done() or time.monotonic() > until:
                return
            if item.future is None and item.result is None and item.source.read_here is not None:
                item.result = self._prepare_here(item.source)

    def _prepare_here(self, source: Candidate) -> Preparation:
        if source.read_here is None:
            return prepare(source, self._recipe)
        try:
            return self._prepare_by(source.read_here, source)
        except ReadElsewhere:
            pass  # the content is not that of the name
        item = _Item(source)
        self._send(item)
        if item.future is None:
            return prepare(source, self._recipe)
        return self._result(source, item.future)

    def _result(self, source: Candidate, future: Future[_Result]) -> Preparation:
        """Wait for the result of a worker, and return it or what is done in its place."""
        try:
            found = wait_for(future)
        except LoadError as error:
            return Unprepared(source, error)
        except WorkersUnavailable as error:
            _log.warning(
                "no worker process can be started, so files are read in this one, without limits "
                "of memory and time: %s",
                error,
            )
            return prepare(source, self._recipe)
        except ReadElsewhere:
            return prepare(source, self._recipe)
        except TypeError as error:  # a loader or an extractor of a plugin
            return Unprepared(source, LoadError("fault", f"`{source.uri}`: {error}."))
        if isinstance(found, Document | UndescribedDocument):
            return self._prepare_by(lambda: found, source)
        return unpack(found)

    def _prepare_by(self, read: Reading, source: Candidate) -> Preparation:
        """Prepare a document that ``read`` returns."""
        found = prepare(replace(source, read=read), self._recipe)
        return replace(found, source=replace(found.source, read=source.read))


def _prepare(source: Candidate, recipe: Recipe) -> Preparation | Parcel:
    return pack(prepare(source, recipe))


def _load(source: Candidate, _shared: None) -> Document | UndescribedDocument:
    return source.read()
