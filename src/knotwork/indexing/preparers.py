"""Where documents are made ready: in this process, or in others once there is much to do.

Python runs one thread at a time, and reading files, splitting them and the rules are all Python.
Beside a server that embeds or reads many chunks at once, and beside the writing of the index, they
go on in processes of their own. The result is the same, in the same order.
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
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from knotwork.errors import LoadError
from knotwork.indexing.preparing import Order, Preparation, Recipe, prepare

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

    def begin(self, order: Order) -> None:
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
        self._orders: deque[Order] = deque()

    @property
    def open(self) -> int:
        return len(self._orders)

    def begin(self, order: Order) -> None:
        self._orders.append(order)

    def is_ready(self) -> bool:
        return bool(self._orders)

    def take(self) -> Preparation:
        return prepare(self._orders.popleft(), self._recipe)

    def close(self) -> None:
        self._orders.clear()


@dataclass(slots=True)
class _Batch:
    """Orders that go to a worker together, since each way there and back takes a while."""

    orders: list[Order] = field(default_factory=list)
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
        self._forming = _Batch()
        self._batches: deque[_Batch] = deque()
        self._done: deque[Preparation] = deque()
        self.open = 0

    def begin(self, order: Order) -> None:
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
        self._forming = _Batch()
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
        self._forming = _Batch()

    def _send(self, batch: _Batch) -> None:
        batch.future = self._executor.submit(_work, batch.orders) if self._executor else None

    def _result(self, batch: _Batch) -> list[Preparation]:
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

    def _result_alone(self, order: Order) -> Preparation:
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


def _work(orders: Sequence[Order]) -> list[Preparation]:
    assert _recipe is not None
    return [prepare(order, _recipe) for order in orders]
