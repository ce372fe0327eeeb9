"""Prepare documents, in-process or in workers: load, split and extract by rules.

Preparation depends on the document and the `Recipe` alone and knows no store, so it can run in
other processes. Loading, splitting and rules are all Python, which runs one thread at a time;
beside a server that reads many chunks at once, and beside the writing of the index, they run in
workers. The result is the same, in the same order. A file that crashes its worker is one failed
file.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from knotwork.errors import KnotworkError, LoadError
from knotwork.indexing.prepared import Candidate, Prepared
from knotwork.indexing.splitters import Splitter
from knotwork.indexing.stages import IndexingStages
from knotwork.records import Chunk, Document, Extraction, Section
from knotwork.transform.extractor import Extractor
from knotwork.transform.model.chunk_memory import recall_similar

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor


_log = logging.getLogger("knotwork.indexing")

MOST_WORKERS = 8
"""Processes that are started where their number is left open; each holds 50 to 100 MB."""

WORTH_BYTES = 512 << 10
"""Files below this are made ready in this process, before another is up."""

_BEFORE_BYTES = 32 << 10
"""Files that are made ready before any process is started, so that a model has some to read."""

_BATCH_BYTES = 16 << 10
_AHEAD_BYTES = 2 << 20
"""Files for each worker that may be under way: enough to go on with while a batch is written."""
_WATCH_S = 1.0
_GARBAGE_OBJECTS = 20_000
"""New objects after which a worker looks for garbage: what it makes is hardly ever in circles."""
_UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError)


class Preparer(Protocol):
    """Makes documents ready, and gives them back in the order in which they came."""

    @property
    def open(self) -> int:
        """How many documents were begun and not yet taken."""

    def begin(self, order: PreparationOrder) -> None:
        """Have a document made ready."""

    def is_ready(self) -> bool:
        """Tell whether the next one is to be taken now, as it is ready or too many wait."""

    def take(self) -> Preparation:
        """Wait for the oldest document and return what became of it."""

    def close(self) -> None:
        """Give up what is under way."""


def open_preparer(recipe: Recipe, *, workers: int, total_bytes: int) -> Preparer:
    """Return what makes ``total_bytes`` of text ready in ``workers`` processes beside this one.

    -1 is as many as there are cores to spare. None are started for what is done sooner without.
    """
    may_start = not multiprocessing.current_process().daemon  # such may have no children
    if total_bytes < WORTH_BYTES or not may_start:
        return SerialPreparer(recipe)
    if workers < 0:
        import loky

        workers = min(loky.cpu_count() - 1, MOST_WORKERS)
    return ProcessPreparer(recipe, workers=workers) if workers else SerialPreparer(recipe)


class SerialPreparer:
    """Makes documents ready one by one, when they are taken; implements `Preparer`."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._orders: deque[PreparationOrder] = deque()

    @property
    def open(self) -> int:
        return len(self._orders)

    def begin(self, order: PreparationOrder) -> None:
        self._orders.append(order)

    def is_ready(self) -> bool:
        return bool(self._orders)

    def take(self) -> Preparation:
        return prepare(self._orders.popleft(), self._recipe)

    def close(self) -> None:
        self._orders.clear()


@dataclass(slots=True)
class _OrderBatch:
    """Orders that go to a worker together, since each way there and back takes a while."""

    orders: list[PreparationOrder] = field(default_factory=list)
    size: int = 0
    future: Future[list[Preparation]] | None = None

    def is_done(self) -> bool:
        return self.future is not None and self.future.done()


class ProcessPreparer:
    """Makes documents ready in ``workers`` processes, and in this one while they start.

    A document that kills its process is a failed document and no more. What cannot be sent to
    another process is done in this one. Implements `Preparer`.
    """

    def __init__(self, recipe: Recipe, *, workers: int) -> None:
        self._recipe = recipe
        self._workers = workers
        self._bytes_before = _BEFORE_BYTES
        self._executor: ProcessPoolExecutor | None = None
        self._up: Future[None] | None = None
        self._forming = _OrderBatch()
        self._batches: deque[_OrderBatch] = deque()
        self._done: deque[Preparation] = deque()
        self.open = 0

    def begin(self, order: PreparationOrder) -> None:
        self.open += 1
        self._forming.orders.append(order)
        self._forming.size += order.size
        if self._up is None and self._bytes_before <= 0:
            self._start()
        self._bytes_before -= order.size
        if self._forming.size >= _BATCH_BYTES and self._are_up():
            self._send_forming()

    def is_ready(self) -> bool:
        if self._done or (self._batches and self._batches[0].is_done()):
            return True
        if not self._are_up():
            return self.open > 0
        under_way = sum(batch.size for batch in self._batches)
        return under_way >= _AHEAD_BYTES * self._workers

    def take(self) -> Preparation:
        self.open -= 1
        if self._done:
            return self._done.popleft()
        if self._batches:
            self._done.extend(self._result(self._batches.popleft()))
            return self._done.popleft()
        order = self._forming.orders.pop(0)
        self._forming.size -= order.size
        return prepare(order, self._recipe)

    def close(self) -> None:
        self._stop()
        self._forming = _OrderBatch()
        self._batches.clear()
        self._done.clear()
        self.open = 0

    def _start(self) -> None:
        from loky import ProcessPoolExecutor

        executor = ProcessPoolExecutor(
            self._workers, initializer=_begin_work, initargs=(self._recipe, os.getpid())
        )
        try:
            self._up = executor.submit(_report)
            self._executor = executor
        except (*_UNSENDABLE, OSError) as error:
            _log.info("all documents are made ready in this process: %s", error)
            executor.shutdown(kill_workers=True)
            self._up = Future()
            self._up.set_exception(error)

    def _stop(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
        self._executor = self._up = None

    def _restart(self) -> None:
        self._stop()
        self._start()

    def _are_up(self) -> bool:
        """Tell whether processes run that can be sent to; none do if the recipe cannot be sent."""
        return self._up is not None and self._up.done() and self._up.exception() is None

    def _send_forming(self) -> None:
        self._send(self._forming)
        self._batches.append(self._forming)
        self._forming = _OrderBatch()

    def _send(self, batch: _OrderBatch) -> None:
        batch.future = self._executor.submit(_work, batch.orders) if self._executor else None

    def _result(self, batch: _OrderBatch) -> list[Preparation]:
        if batch.future is None:
            return [prepare(order, self._recipe) for order in batch.orders]
        try:
            return batch.future.result()
        except BrokenProcessPool:
            self._restart()
            made = [self._result_alone(order) for order in batch.orders]
            for waiting in self._batches:
                self._send(waiting)
            return made
        except _UNSENDABLE:
            return [prepare(order, self._recipe) for order in batch.orders]

    def _result_alone(self, order: PreparationOrder) -> Preparation:
        """Return what becomes of a document, one of those under way when a process ended."""
        if self._executor is None:
            return prepare(order, self._recipe)
        try:
            made: list[Preparation] = self._executor.submit(_work, [order]).result()
            return made[0]
        except BrokenProcessPool:
            came_up = self._are_up()
            self._restart()
            if not came_up:  # this document is not to blame
                return prepare(order, self._recipe)
            return Preparation(
                error=LoadError(
                    "crashed",
                    f"`{order.uri}` ended the process that read it.",
                    fix="Leave it out with `exclude`, or save it in another format.",
                )
            )


_recipe: Recipe | None = None
"""That of a worker's whole life."""


def _begin_work(recipe: Recipe, parent: int) -> None:
    """Take the recipe into a worker, leave Ctrl-C to its parent, and end when that has ended."""
    global _recipe  # noqa: PLW0603
    _recipe = recipe
    gc.set_threshold(_GARBAGE_OBJECTS)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os._exit(0)


def _report() -> None:
    """Tell that a worker is up."""


def _work(orders: Sequence[PreparationOrder]) -> list[Preparation]:
    assert _recipe is not None
    return [prepare(order, _recipe) for order in orders]


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents are made ready; ``memory_tokens`` are those of a prompt about a chunk."""

    splitter: Splitter
    extractor: Extractor
    memory_tokens: int = 0


@dataclass(frozen=True, slots=True)
class PreparationOrder:
    """A document to be made ready.

    One whose revision is ``known_revision`` is read and left at that. ``for_model`` has what the
    prompt about each chunk recalls made ready too. ``size`` is about that of its text, in bytes.
    """

    uri: str
    read: Callable[[], Document]
    size: int = 0
    known_revision: str = ""
    for_model: bool = False


@dataclass(frozen=True, slots=True)
class Preparation:
    """What became of an order: ``error`` says why there is no document, or nothing but it.

    ``trace`` tells of a fault of ours. ``is_known`` is a document of the known revision.
    """

    document: Document | None = None
    is_known: bool = False
    sections: tuple[Section, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    extractions: tuple[Extraction, ...] = ()
    memories: Mapping[str, str] = field(default_factory=dict)
    error: KnotworkError | None = None
    trace: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)


def recipe_of(stages: IndexingStages) -> Recipe:
    """Return the part of the stages that is done before a model or the store comes in."""
    memory_tokens = stages.reader.memory_tokens if stages.reader else 0
    return Recipe(stages.splitter, stages.extractor, memory_tokens)


def prepare(order: PreparationOrder, recipe: Recipe) -> Preparation:
    """Make one document ready; what goes wrong with it is told in the result."""
    seconds: defaultdict[str, float] = defaultdict(float)
    try:
        with timed(seconds, "load"):
            document = order.read()
        if document.revision == order.known_revision:
            return Preparation(document, is_known=True, seconds=seconds)
        return _prepare(document, order, recipe, seconds)
    except KnotworkError as error:
        return Preparation(error=error, seconds=seconds)
    except Exception as fault:  # noqa: BLE001
        # One document that meets a fault of ours must not keep all others out of the index.
        refusal = LoadError("fault", f"{type(fault).__name__}: {fault}")
        return Preparation(error=refusal, trace=traceback.format_exc(), seconds=seconds)


def _prepare(
    document: Document, order: PreparationOrder, recipe: Recipe, seconds: dict[str, float]
) -> Preparation:
    with timed(seconds, "split"):
        sections, chunks = recipe.splitter.split(document)
    leaves = [chunk for chunk in chunks if not chunk.is_parent]
    memories: Mapping[str, str] = {}
    with timed(seconds, "extract"):
        extractions = recipe.extractor.extract(document, leaves)
        if order.for_model:
            memories = recall_similar(leaves, extractions, limit_tokens=recipe.memory_tokens)
    return Preparation(
        document,
        sections=tuple(sections),
        chunks=tuple(chunks),
        extractions=tuple(extractions),
        memories=memories,
        seconds=seconds,
    )


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time of the block to a stage."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[stage] += time.perf_counter() - start


def finish_document(
    source: Candidate, made: Preparation, stages: IndexingStages, *, wanted: bool
) -> Prepared:
    """Return a document as it can be embedded and stored, or given to a model if that is wanted.

    Raises what went wrong with it: LoadError for what concerns this document alone.
    """
    if made.error is not None:
        if made.trace:
            _log.error("cannot index %s\n%s", source.uri, made.trace)
        raise made.error
    assert made.document is not None, "what has no error has a document"
    embedding = stages.embedding
    leaves = [chunk for chunk in made.chunks if not chunk.is_parent]
    return Prepared(
        source,
        made.document,
        made.sections,
        made.chunks,
        made.extractions,
        stages.tiers.settings(wanted, read=False),
        tuple(embedding.chunk_key(chunk) for chunk in leaves) if embedding else (),
        descriptions=tuple(d for extraction in made.extractions for d in extraction.descriptions),
        memories=made.memories,
    )
