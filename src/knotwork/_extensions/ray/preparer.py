"""Prepare documents in Ray tasks: load, split and extract by rules, within limits.

A task reads a few documents in a worker process of its own node (`worker_pool.py`), which has the
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
from knotwork._indexing.file_reading import register_loaders
from knotwork._indexing.loaders.loader_registry import ReadElsewhere
from knotwork._indexing.parcels import collect_unpacked, pack, unpack
from knotwork._indexing.preparation import Preparation, Preparer, Recipe, open_preparer, prepare
from knotwork._indexing.prepared import Candidate, Unprepared
from knotwork._indexing.reading_limits import ReadingLimits, crashed_error
from knotwork._indexing.worker_pool import UNSENDABLE, WorkerPool, WorkersUnavailable, pickled
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


class RayPreparer:
    """Prepares documents in the tasks of a cluster; implements `Preparer`.

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
        self._cluster = cluster
        self._recipe = recipe
        self._limits = limits
        self._setup = cluster.ray.put(setup)
        self._read = cluster.ray.remote(num_cpus=1, max_retries=_RETRIES)(read_documents)
        self._slots = cluster.slots
        self._renewed_s = time.monotonic()
        self._task_bytes = min(TASK_BYTES, total_bytes // (_TASKS_A_SLOT * self._slots))
        self._items: deque[_Item] = deque()
        self._filling: _Task | None = None
        self._bytes = 0
        self._here: Preparer | None = None

    @property
    def open(self) -> int:
        return len(self._items)

    @property
    def oldest(self) -> str:
        return self._items[0].source.uri if self._items else ""

    @property
    def share(self) -> float:
        return 0.0

    def begin(self, source: Candidate) -> None:
        item = _Item(source)
        self._items.append(item)
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
        if not self._items:
            return False
        if self._is_full():
            return True
        task = self._items[0].task
        return task is None or (task.ref is not None and self._cluster.is_done(task.ref))

    def wait(self, seconds: float) -> bool:
        if not self._items:
            return True
        task = self._items[0].task
        if task is None:
            return True
        return task.outcomes is not None or self._cluster.is_done(self._sent(task), seconds=seconds)

    def take(self) -> Preparation:
        item = self._items[0]
        while item.task is not None and item.task.outcomes is None:
            self._receive(item.task)
        self._items.popleft()
        self._bytes -= item.source.size
        if item.task is None:
            return self._prepare_here(item.source)
        return self._result(item.source, item.task.take(item))

    def close(self) -> None:
        tasks = {id(item.task): item.task for item in self._items if item.task is not None}
        cancel_all(self._cluster, [t.ref for t in tasks.values() if t.ref and t.outcomes is None])
        self._items.clear()
        self._filling = None
        if self._here is not None:
            self._here.close()
            self._here = None
        collect_unpacked()

    def _is_full(self) -> bool:
        """Return True if as much is in progress as may be."""
        if time.monotonic() - self._renewed_s > _RENEW_S:
            self._slots, self._renewed_s = self._cluster.slots, time.monotonic()
        return (
            self._bytes >= AHEAD_BYTES * self._slots
            or len(self._items) >= AHEAD_DOCUMENTS * self._slots
        )

    def _send_filling(self) -> None:
        if self._filling is not None:
            task, self._filling = self._filling, None
            self._send(task)

    def _send(self, task: _Task) -> None:
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
                self._send(item.task)
        task.ref = None

    def _result(self, source: Candidate, outcome: _Outcome) -> Preparation:
        if isinstance(outcome, LoadError):
            return Unprepared(source, outcome)
        if outcome is None:
            return self._prepare_here(source)
        found = unpack(pickle.loads(outcome))  # noqa: S301 - of a task of this run
        error = found.error if isinstance(found, Unprepared) else None
        if isinstance(error, LoadError) and error.reason == "missing":
            return self._prepare_here(source)
        return found

    def _prepare_here(self, source: Candidate) -> Preparation:
        """Prepare a document in a worker process of this machine."""
        if self._here is None:
            _log.info("`%s` cannot be read on a node of the cluster", source.uri)
            self._here = open_preparer(self._recipe, workers=1, total_bytes=0, limits=self._limits)
        self._here.begin(source)
        return self._here.take()


_Outcome: TypeAlias = bytes | LoadError | None
"""A pickled document, an error, or None for a document to read on the machine of the run."""


@dataclass(slots=True, eq=False)
class _Item:
    """A document in the queue, and the task that reads it; None if it cannot be sent."""

    source: Candidate
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
        sources: list[Candidate] = [pickle.loads(message) for message in messages]  # noqa: S301
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


def _prepare_packed(source: Candidate, recipe: Recipe) -> bytes:
    """Return a prepared document as bytes, which pass through two processes unread."""
    found = pack(prepare(source, recipe))
    try:
        return pickle.dumps(found, protocol=5)
    except UNSENDABLE:  # a function of the main script, which goes by value
        return pickled(found)


def _outcome(source: Candidate, future: Future[bytes]) -> _Outcome:
    try:
        return future.result()
    except LoadError as error:
        return error
    except (ReadElsewhere, WorkersUnavailable):
        return None
    except TypeError as error:  # a loader or an extractor of a plugin
        return LoadError("fault", f"`{source.uri}`: {error}.")
