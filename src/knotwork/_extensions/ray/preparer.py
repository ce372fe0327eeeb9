"""Prepare documents in Ray tasks: load, split and extract by rules, within limits.

A task reads a few documents in a worker process of its own node (`workers.py`), which has the
limits of a file: a hostile file ends that process, and neither the task nor its neighbours. Ray
runs a task again, on another node if need be, when its own process or its node is lost.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from knotwork._extensions.ray.cluster import RayCluster, cancel_all
from knotwork._indexing.loaders.loader_registry import ReadElsewhere
from knotwork._indexing.prepare import (
    Preparation,
    Preparer,
    Recipe,
    SourceFile,
    Unprepared,
    collect_unpacked,
    pack,
    prepare,
    unpack,
)
from knotwork._indexing.worker_process import UNSENDABLE, pickled
from knotwork._indexing.workers import (
    ReadingLimits,
    WorkerPool,
    WorkersUnavailable,
    crashed_error,
    register_loaders,
)
from knotwork.errors import LoadError

_log = logging.getLogger("knotwork.indexing")

TASK_BYTES = 64 << 10
"""Text of a task: enough that starting tasks takes little of their time."""

TASK_DOCUMENTS = 32

AHEAD_BYTES = 512 << 10
"""Text in progress, or read and not yet stored, for each processor of the cluster."""

AHEAD_DOCUMENTS = 128
"""Documents likewise: small ones are many, and each has its results in memory."""

_RETRIES = 3
_TASKS_A_SLOT = 4
_RENEW_S = 10.0
"""Seconds after which the size of a cluster is looked up again, which may grow or shrink."""


class RayPreparer(Preparer):
    """Prepares documents in the tasks of a cluster.

    A document that no node can read because its file is missing there, or because it cannot be
    sent, is read on this machine. ``setup`` is the recipe and the limits, as `pickled_setup`
    returns them.
    """

    def __init__(
        self,
        cluster: RayCluster,
        recipe: Recipe,
        setup: bytes,
        *,
        limits: ReadingLimits,
        total_bytes: int,
    ) -> None:
        super().__init__(recipe, workers=1, total_bytes=0, limits=limits)
        self._cluster = cluster
        self._setup = cluster.ray.put(setup)
        self._read = cluster.ray.remote(num_cpus=1, max_retries=_RETRIES)(read_documents)
        self._slots = cluster.slots
        self._renewed_s = time.monotonic()
        self._task_bytes = min(TASK_BYTES, total_bytes // (_TASKS_A_SLOT * self._slots))
        self._queue: deque[_Item] = deque()
        self._filling: _Task | None = None
        self._bytes = 0

    @property
    def open(self) -> int:
        return len(self._queue)

    @property
    def oldest(self) -> str:
        return self._queue[0].source.uri if self._queue else ""

    def begin(self, source: SourceFile) -> None:
        item = _Item(source)
        self._queue.append(item)
        self._bytes += source.size
        try:
            message = pickled(replace(source, read_here=None))
        except UNSENDABLE:
            return  # it is prepared here when it is taken
        if self._filling is None:
            self._filling = _Task()
        item.task = self._filling
        self._filling.add(item, message)
        if self._filling.is_full(self._task_bytes):
            self._send_filling()

    def is_ready(self) -> bool:
        if not self._queue:
            return False
        if self._is_full():
            return True
        task = self._queue[0].task
        return task is None or (task.ref is not None and self._cluster.is_done(task.ref))

    def wait(self, seconds: float) -> bool:
        if not self._queue:
            return True
        task = self._queue[0].task
        if task is None:
            return True
        return task.outcomes is not None or self._cluster.is_done(self._sent(task), seconds=seconds)

    def take(self) -> Preparation:
        item = self._queue[0]
        while item.task is not None and item.task.outcomes is None:
            self._receive(item.task)
        self._queue.popleft()
        self._bytes -= item.source.size
        if item.task is None:
            return self._prepare_on_this_machine(item.source)
        return self._outcome_of(item.source, item.task.take(item))

    def close(self) -> None:
        tasks = {id(item.task): item.task for item in self._queue if item.task is not None}
        cancel_all(self._cluster, [t.ref for t in tasks.values() if t.ref and t.outcomes is None])
        self._queue.clear()
        self._filling = None
        super().close()
        collect_unpacked()

    def _is_full(self) -> bool:
        if time.monotonic() - self._renewed_s > _RENEW_S:
            self._slots, self._renewed_s = self._cluster.slots, time.monotonic()
        return (
            self._bytes >= AHEAD_BYTES * self._slots
            or len(self._queue) >= AHEAD_DOCUMENTS * self._slots
        )

    def _send_filling(self) -> None:
        if self._filling is not None:
            task, self._filling = self._filling, None
            self._send_task(task)

    def _send_task(self, task: _Task) -> None:
        task.ref = self._read.remote(self._setup, task.messages)

    def _sent(self, task: _Task) -> object:
        """Return the result of a task to come; send it now if it was still filled."""
        if task.ref is None:
            self._send_filling()
        return task.ref

    def _receive(self, task: _Task) -> None:
        """Wait for the documents of a task.

        A task that its process dies of, again and again, is sent once more for each document.
        """
        try:
            task.outcomes = self._cluster.result(self._sent(task))
        except self._cluster.lost_errors as error:
            _log.warning("a task of Ray with %d documents was lost: %s", len(task.items), error)
            if len(task.items) == 1:
                task.outcomes = [crashed_error(task.items[0].source.uri)]
                return
            for item, message in zip(task.items, task.messages, strict=True):
                item.task = _Task()
                item.task.add(item, message)
                self._send_task(item.task)
        task.ref = None

    def _outcome_of(self, source: SourceFile, outcome: _Outcome) -> Preparation:
        if isinstance(outcome, LoadError):
            return Unprepared(source, outcome)
        if outcome is None:
            return self._prepare_on_this_machine(source)
        found = unpack(pickle.loads(outcome))  # noqa: S301 - of a task of this run
        error = found.error if isinstance(found, Unprepared) else None
        if isinstance(error, LoadError) and error.reason == "missing":
            return self._prepare_on_this_machine(source)
        return found

    def _prepare_on_this_machine(self, source: SourceFile) -> Preparation:
        _log.info("`%s` cannot be read on a node of the cluster", source.uri)
        super().begin(source)
        return super().take()


_Outcome: TypeAlias = bytes | LoadError | None
"""A pickled document, an error, or None for a document to read on the machine of the run."""


@dataclass(slots=True, eq=False)
class _Item:
    """A document in the queue, and the task that reads it; None if it cannot be sent."""

    source: SourceFile
    task: _Task | None = None


@dataclass(slots=True, eq=False)
class _Task:
    """Documents that are read together, as they are sent, and their ``outcomes`` in order."""

    items: list[_Item] = field(default_factory=list)
    messages: list[bytes] = field(default_factory=list)
    size: int = 0
    ref: Any = None
    outcomes: list[_Outcome] | None = None

    def add(self, item: _Item, message: bytes) -> None:
        self.items.append(item)
        self.messages.append(message)
        self.size += max(item.source.size, len(message))

    def is_full(self, limit: int) -> bool:
        return self.size >= limit or len(self.items) >= TASK_DOCUMENTS

    def take(self, item: _Item) -> _Outcome:
        """Return the outcome for a document, and forget it."""
        assert self.outcomes is not None
        index = self.items.index(item)
        outcome, self.outcomes[index] = self.outcomes[index], None
        return outcome


@dataclass(frozen=True, slots=True)
class _Setup:
    """What the tasks of a run share."""

    register: Any
    recipe: Recipe
    limits: ReadingLimits


def pickled_setup(recipe: Recipe, limits: ReadingLimits) -> bytes:
    """Return what all tasks need, with the loaders that this program registered.

    Raises one of `UNSENDABLE` if the recipe cannot be sent to another process.
    """
    return pickled(_Setup(register_loaders(), recipe, limits))


_pools: dict[bytes, WorkerPool] = {}
"""In a process of Ray: the worker process for the documents of the current run, by its setup."""


def read_documents(setup: bytes, messages: Sequence[bytes]) -> list[_Outcome]:
    """Prepare documents in a process of Ray, each within its limits, and return the outcomes."""
    pool = _open_pool(setup)
    try:
        sources: list[SourceFile] = [pickle.loads(message) for message in messages]  # noqa: S301
        futures = [
            pool.submit(_prepare_packed, source, uri=source.uri, size=source.size)
            for source in sources
        ]
        return [_outcome(source, future) for source, future in zip(sources, futures, strict=True)]
    except BaseException:  # a cancelled task, above all: its documents need not be read
        _pools.clear()
        pool.close()
        raise


def _open_pool(setup: bytes) -> WorkerPool:
    pool = _pools.get(setup)
    if pool is None:
        for other in _pools.values():
            other.close()
        _pools.clear()
        found: _Setup = pickle.loads(setup)  # noqa: S301 - of the run
        pool = WorkerPool(found.register, found.recipe, workers=1, limits=found.limits)
        _pools[setup] = pool
    return pool


def _prepare_packed(source: SourceFile, recipe: Recipe) -> bytes:
    """Return a prepared document as bytes, which pass through two processes unread."""
    found = pack(prepare(source, recipe))
    try:
        return pickle.dumps(found, protocol=5)
    except UNSENDABLE:  # a function of the main script, which goes by value
        return pickled(found)


def _outcome(source: SourceFile, future: Future[bytes]) -> _Outcome:
    try:
        return future.result()
    except LoadError as error:
        return error
    except (ReadElsewhere, WorkersUnavailable):
        return None
    except TypeError as error:  # a loader or an extractor of a plugin
        return LoadError("fault", f"`{source.uri}`: {error}.")
