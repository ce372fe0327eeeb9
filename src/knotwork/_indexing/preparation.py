"""Prepare documents, in this process or in workers: load, split and extract by rules.

Preparation depends on the document and the `Recipe` alone and knows no store, so it can run in
other processes. Loading, splitting and rules are pure Python, which runs one thread at a time;
while a server reads many chunks at once, or the index is written, they run in workers. The result
is the same, in the same order. A file that crashes its worker is one failed file.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as futures_wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from knotwork._cancellation import current_cancellation, wait_for
from knotwork._indexing.loaders.loader_registry import LOADERS
from knotwork._indexing.parcels import Parcel, pack, unpack
from knotwork._indexing.prepared import Candidate, Prepared, Unprepared
from knotwork._indexing.splitters import Splitter
from knotwork._transform.extractor import Extractor
from knotwork._transform.model.chunk_memory import recall_similar
from knotwork.errors import KnotworkError, LoadError

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor


_log = logging.getLogger("knotwork.indexing")

MOST_WORKERS = 8
"""Workers that are started if their number is not set; each takes 50 to 100 MB."""

WORTH_BYTES = 512 << 10
"""Less text than this is prepared in this process before a worker has started."""

_BEFORE_BYTES = 32 << 10
"""Text that is prepared before any worker is started, so that a model has some to read."""

_BATCH_BYTES = 16 << 10
_LARGE_BYTES = 256 << 10
"""A file from this size on waits for a worker, which can be killed while it reads."""
_AHEAD_BYTES = 256 << 10
"""Text in progress for each worker, about a second of work, which a killed run repeats."""
_WATCH_S = 1.0
_GARBAGE_OBJECTS = 20_000
"""New objects after which a worker collects garbage: few of its objects are in cycles."""
_UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError)

Preparation: TypeAlias = Prepared | Unprepared


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

    Never raises: what goes wrong is the ``error`` of the result.
    """
    seconds: defaultdict[str, float] = defaultdict(float)
    try:
        with timed(seconds, "load"):
            source, document = source.load()
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
        """The uri of the oldest document in progress; empty for none."""

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


def open_preparer(recipe: Recipe, *, workers: int, total_bytes: int) -> Preparer:
    """Return a preparer of ``total_bytes`` of text with ``workers`` processes beside this one.

    -1 starts one for each spare core. None is started if the work is done sooner without.
    """
    may_start = not multiprocessing.current_process().daemon  # a daemon may have no children
    if total_bytes < WORTH_BYTES or not may_start:
        return SerialPreparer(recipe)
    if workers < 0:
        import loky

        workers = min(loky.cpu_count() - 1, MOST_WORKERS)
    return ProcessPreparer(recipe, workers=workers) if workers else SerialPreparer(recipe)


class SerialPreparer:
    """Prepares each document when it is taken; implements `Preparer`."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._sources: deque[Candidate] = deque()

    @property
    def open(self) -> int:
        return len(self._sources)

    @property
    def oldest(self) -> str:
        return self._sources[0].uri if self._sources else ""

    def begin(self, source: Candidate) -> None:
        self._sources.append(source)

    def is_ready(self) -> bool:
        return bool(self._sources)

    def wait(self, seconds: float) -> bool:  # noqa: ARG002  there is nothing to wait for
        return True

    def take(self) -> Preparation:
        return prepare(self._sources.popleft(), self._recipe)

    def close(self) -> None:
        self._sources.clear()


@dataclass(slots=True)
class _Batch:
    """Documents that are sent to a worker together, since each round trip takes a while."""

    sources: list[Candidate] = field(default_factory=list)
    size: int = 0
    future: Future[list[Preparation | Parcel]] | None = None

    def is_done(self) -> bool:
        return self.future is not None and self.future.done()


class ProcessPreparer:
    """Prepares documents in ``workers`` processes, and in this one while they start.

    A document that crashes its worker is one failed document. What cannot be sent to a worker is
    prepared in this process. Implements `Preparer`.
    """

    def __init__(self, recipe: Recipe, *, workers: int) -> None:
        self._recipe = recipe
        self._workers = workers
        self._bytes_before = _BEFORE_BYTES
        self._executor: ProcessPoolExecutor | None = None
        self._up: Future[None] | None = None
        self._forming = _Batch()
        self._batches: deque[_Batch] = deque()
        self._done: deque[Preparation] = deque()
        self.open = 0

    @property
    def oldest(self) -> str:
        for batch in (*self._batches, self._forming):
            return batch.sources[0].uri if batch.sources else ""
        return ""

    def begin(self, source: Candidate) -> None:
        self.open += 1
        is_large = source.size >= _LARGE_BYTES
        if self._up is None and (self._bytes_before <= 0 or is_large):
            self._start()
        may_send = self._executor is not None if is_large else self._are_up()
        if is_large and may_send and self._forming.sources:
            self._send_forming()  # they do not wait for the large one
        self._bytes_before -= source.size
        self._forming.sources.append(source)
        self._forming.size += source.size
        if self._forming.size >= _BATCH_BYTES and may_send:
            self._send_forming()

    def is_ready(self) -> bool:
        if self._done or (self._batches and self._batches[0].is_done()):
            return True
        if not self._are_up() and not self._batches:
            return self.open > 0
        in_progress = sum(batch.size for batch in self._batches)
        return in_progress >= _AHEAD_BYTES * self._workers

    def wait(self, seconds: float) -> bool:
        head = None if self._done or not self._batches else self._batches[0].future
        if head is not None:
            futures_wait([head], timeout=seconds)
        return head is None or head.done()

    def take(self) -> Preparation:
        self.open -= 1
        if self._done:
            return self._done.popleft()
        if self._batches:
            self._done.extend(self._result(self._batches.popleft()))
            return self._done.popleft()
        source = self._forming.sources.pop(0)
        self._forming.size -= source.size
        return prepare(source, self._recipe)

    def close(self) -> None:
        self._stop()
        self._forming = _Batch()
        self._batches.clear()
        self._done.clear()
        self.open = 0

    def _start(self) -> None:
        from loky import ProcessPoolExecutor

        executor = ProcessPoolExecutor(
            self._workers,
            initializer=_begin_work,
            initargs=(self._recipe, LOADERS.registered(), os.getpid()),
        )
        try:
            self._up = executor.submit(_report)
            self._executor = executor
        except (*_UNSENDABLE, OSError) as error:
            _log.info("no workers; documents are prepared in this process: %s", error)
            executor.shutdown(kill_workers=True)
            self._up = Future()
            self._up.set_exception(error)

    def _stop(self) -> None:
        if self._executor is not None:
            # A worker that was killed may still be sending a large result, which is not waited for.
            wait = not current_cancellation().is_cancelled
            self._executor.shutdown(wait=wait, kill_workers=True)
        self._executor = self._up = None

    def _restart(self) -> None:
        self._stop()
        self._start()

    def _are_up(self) -> bool:
        """Return True if a worker has started. None does if the recipe cannot be sent."""
        return self._up is not None and self._up.done() and self._up.exception() is None

    def _send_forming(self) -> None:
        self._send(self._forming)
        self._batches.append(self._forming)
        self._forming = _Batch()

    def _send(self, batch: _Batch) -> None:
        batch.future = self._executor.submit(_work, batch.sources) if self._executor else None

    def _result(self, batch: _Batch) -> list[Preparation]:
        if batch.future is None:
            return [prepare(source, self._recipe) for source in batch.sources]
        try:
            return [unpack(found) for found in wait_for(batch.future)]
        except BrokenProcessPool:
            self._restart()
            found = [self._result_alone(source) for source in batch.sources]
            for waiting in self._batches:
                self._send(waiting)
            return found
        except _UNSENDABLE:
            return [prepare(source, self._recipe) for source in batch.sources]

    def _result_alone(self, source: Candidate) -> Preparation:
        """Prepare one document of a batch whose worker crashed, in a worker of its own."""
        if self._executor is None:
            return prepare(source, self._recipe)
        try:
            found = wait_for(self._executor.submit(_work, [source]))
            return unpack(found[0])
        except BrokenProcessPool:
            had_started = self._are_up()
            self._restart()
            if not had_started:  # the document is not the cause
                return prepare(source, self._recipe)
            error = LoadError(
                "crashed",
                f"`{source.uri}` crashed the process that read it.",
                fix="Leave it out with `exclude`, or save it in another format.",
            )
            return Unprepared(source, error)


_recipe: Recipe | None = None
"""In a worker: the recipe of all its documents."""


def _begin_work(recipe: Recipe, loaders: Mapping[str, object], parent: int) -> None:
    """Set up a worker: keep the recipe and the loaders of the program, ignore Ctrl-C, and exit when
    the parent process has.
    """
    global _recipe  # noqa: PLW0603
    _recipe = recipe
    for name, loader in loaders.items():
        LOADERS.register(name, loader)
    gc.set_threshold(_GARBAGE_OBJECTS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os._exit(0)


def _report() -> None:
    """Do nothing, which shows that a worker has started."""


def _work(sources: Sequence[Candidate]) -> list[Preparation | Parcel]:
    assert _recipe is not None
    return [pack(prepare(source, _recipe)) for source in sources]
