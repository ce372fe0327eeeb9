"""Read files in worker processes that are limited, and can be ended at any time.

A task that exceeds a limit, or crashes its process, raises a LoadError; all others go on in new
processes. One process is kept for the next pool of this program: it takes about 0.3 seconds to
start one. Messages go through pipes and not through `multiprocessing`, which would run the main
script of the user again in each process, and does not say which task a process died of.

A small file can unfold to any amount of text, so the limits follow the size of the file: a file of
up to 2 MB has the processor time of the setting, and one of up to 10 MB its memory. A larger file
has more of both in proportion. Ordinary text takes about 4 seconds for each MB and 100 bytes for
each character.

A loader that cannot be sent to another process stays in this one: its files are read here, without
limits of memory and time.
"""

from __future__ import annotations

import atexit
import json
import logging
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from knotwork._cancellation import current_cancellation, wait_for
from knotwork._config import IndexSettings
from knotwork._indexing.loaders.loader import (
    FORMATS,
    MEGABYTE,
    Content,
    Source,
    can_recognise,
    format_size,
)
from knotwork._indexing.loaders.loader_registry import LOADERS, ReadElsewhere
from knotwork._indexing.worker_process import (
    MEMORY_EXIT,
    SLOW_EXIT,
    UNSENDABLE,
    Call,
    Reply,
    Setup,
    pickled,
    read_message,
    write_message,
)
from knotwork._run import FilePart
from knotwork.errors import LoadError

_log = logging.getLogger("knotwork.indexing")

Argument = TypeVar("Argument")
Result = TypeVar("Result")

MOST_WORKERS = 8
"""Workers that are started if their number is not set; each takes 50 to 100 MB."""

MEMORY_FOR_BYTES = 10 * MEGABYTE
"""The largest file that has the memory of the setting; larger ones have more in proportion."""

SECONDS_FOR_BYTES = 2 * MEGABYTE
"""The largest file that has the processor time of the setting; larger ones have more."""

LONGEST_S = 24 * 3_600.0
"""Seconds of a recording at most: an hour of silence may be packed into a few kilobytes."""

SECONDS_FOR_A_SECOND = 20
"""Processor time for a second of sound, beside that of the file. The largest models need about 5
on an old processor, small ones a tenth."""

_SCANNABLE = tuple(
    suffix for name in ("pdf", "picture", "docx", "pptx") for suffix in FORMATS[name].suffixes
)
_SCANNED_FACTOR = 10
_WAITING_FACTOR = 10
"""Seconds that reading may last by the clock, for each second of its processor time."""

_LEAST_BYTES_A_SECOND = 1_000
"""Bytes of a second of sound at least, as speech is packed for telephones."""

_START = (
    "import os, sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    # A library of linear algebra would start a thread for each core.
    "os.environ.setdefault('OPENBLAS_NUM_THREADS', '1'); "
    "from knotwork._indexing.worker_process import main; main()"
)
_AHEAD_BYTES = 32 << 10
"""Messages that may wait in a pipe: less than a pipe holds, so that sending them never blocks."""
_AHEAD_TASKS = 32
_MOST_STARTS = 2
"""Times that a task is started whose process dies for another reason than a limit."""
_TOO_SLOW = frozenset({SLOW_EXIT, -getattr(signal, "SIGXCPU", SLOW_EXIT)})
"""Exit statuses of a process whose task took too much time."""

_END_S = 5.0
_CANCELLED_S = 0.2


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading a file may take: ``memory_mb`` and ``seconds``, as the settings give them."""

    memory_mb: float = 1_500.0
    seconds: float = 60.0

    @classmethod
    def of(cls, settings: IndexSettings) -> ReadingLimits:
        return cls(settings.max_file_memory_mb, settings.max_file_seconds)

    def memory_bytes(self, size: int) -> int:
        """Return the memory for a file of ``size`` bytes, in bytes."""
        return int(self.memory_mb * MEGABYTE * max(1.0, size / MEMORY_FOR_BYTES))

    def processor_s(self, size: int) -> int:
        """Return the processor time for a file of ``size`` bytes, in whole seconds."""
        return math.ceil(self.seconds * max(1.0, size / SECONDS_FOR_BYTES))

    def clock_s(self, size: int, uri: str = "") -> float:
        """Return how long reading a file may last, in seconds, idle time included.

        A file that may have scanned pages or pictures has more: their number does not follow its
        size. A recording has more for each second of sound that it may have.
        """
        pages = _SCANNED_FACTOR if uri.lower().endswith(_SCANNABLE) and can_recognise() else 1
        sound_s = 0.0
        if uri.lower().endswith(FORMATS["audio"].suffixes):
            sound_s = min(LONGEST_S, size / _LEAST_BYTES_A_SECOND)
        usual_s = pages * _WAITING_FACTOR * self.seconds * max(1.0, size / SECONDS_FOR_BYTES)
        return usual_s + SECONDS_FOR_A_SECOND * sound_s


PROCESS_FAILURES = frozenset({"too_slow", "out_of_memory", "crashed"})
"""Reasons of the errors of a file that ended its worker process."""


def crashed_error(uri: str) -> LoadError:
    """Return the error for a file whose worker process died."""
    return LoadError(
        "crashed",
        f"`{uri}` crashed the process that read it.",
        fix="Leave it out with `exclude`, or save it in another format.",
    )


class WorkersUnavailable(Exception):
    """No worker process can be started, or it cannot import what it needs."""


class FileFuture(Future[Result]):
    """The future of a task about a file, of which ``part`` was read."""

    part = FilePart()


@dataclass(slots=True)
class _Task:
    uri: str
    size: int
    message: bytes
    limits: ReadingLimits
    future: FileFuture[Any] = field(default_factory=FileFuture)
    starts: int = 0

    def fail_of_memory(self) -> None:
        limit = format_size(self.limits.memory_bytes(self.size))
        error = LoadError(
            "out_of_memory",
            f"`{self.uri}` needs more memory than {limit}, the limit for a file of "
            f"{format_size(self.size)}.",
            fix="Leave it out with `exclude`, or split it. If you trust it, raise "
            "`index.max_file_memory_mb`, then index with `--retry`.",
        )
        self.future.set_exception(error)

    def fail_of_time(self) -> None:
        error = LoadError(
            "too_slow",
            f"`{self.uri}` takes longer to read than {self.limits.processor_s(self.size):,} "
            f"seconds, the limit for a file of {format_size(self.size)}.",
            fix="Leave it out with `exclude`. If you trust it, raise `index.max_file_seconds`, "
            "then index with `--retry`.",
        )
        self.future.set_exception(error)


class WorkerPool:
    """Up to ``workers`` processes that run tasks, started when the first tasks wait.

    ``prelude`` is called in each process before its first task. ``shared`` is sent to each process
    once, and is the second argument of every function.
    """

    def __init__(
        self,
        prelude: Callable[[], object],
        shared: object,
        *,
        workers: int,
        limits: ReadingLimits,
    ) -> None:
        """Raises one of ``UNSENDABLE`` if a value cannot be sent to another process."""
        self.prelude, self.shared = pickled(prelude), pickled(shared)
        self.is_ready = False
        """True once a process has started."""
        self.is_closed = False
        self._limits = limits
        self._most = max(1, workers)
        self._lanes: list[_Lane] = []
        self._tasks: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._fault: WorkersUnavailable | None = None

    def submit(
        self,
        function: Callable[[Argument, Any], Result],
        argument: Argument,
        *,
        uri: str,
        size: int,
    ) -> FileFuture[Result]:
        """Start ``function(argument, shared)`` about a file of ``size`` bytes.

        The future raises what the function raises; LoadError ("too_slow", "out_of_memory",
        "crashed") if the process had to be ended or died; WorkersUnavailable. Raises one of
        ``UNSENDABLE`` if the argument cannot be sent to another process.
        """
        limits = self._limits
        call = Call(
            function,
            argument,
            limits.memory_bytes(size),
            limits.processor_s(size),
            limits.clock_s(size, uri),
        )
        task = _Task(uri, size, pickled(call), limits)
        with self._changed:
            if self._fault is not None:
                task.future.set_exception(self._fault)
                return task.future
            self._tasks.append(task)
            self._changed.notify()
        self.start()
        return task.future

    def start(self) -> None:
        """Start another process if there may be more, and there is work for it."""
        with self._changed:
            wanted = min(self._most, max(1, len(self._tasks)))
            if len(self._lanes) < wanted and not self.is_closed:
                self._lanes.append(_Lane(self))
                self._lanes[-1].start()

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that run now."""
        return tuple(lane.process.id for lane in self._lanes if lane.process is not None)

    def close(self) -> None:
        """End all tasks that are not done, and all processes but an idle one for the next pool."""
        with self._changed:
            self.is_closed = True
            self._changed.notify_all()
        self.give_back(())
        for lane in self._lanes:
            lane.stop()
        # A process that was killed may still be sending a large result, which is not waited for.
        patience_s = _CANCELLED_S if current_cancellation().is_cancelled else _END_S
        for lane in self._lanes:
            lane.join(patience_s)

    def wait_for_task(self) -> bool:
        """Wait until there is a task; return False if the pool was closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._tasks or self.is_closed)
            return bool(self._tasks)

    def next_task(self, fitting_bytes: float) -> _Task | None:
        """Return the next task; None if no task waits, or it needs more bytes than these."""
        with self._changed:
            fits = self._tasks and len(self._tasks[0].message) <= fitting_bytes
            return self._tasks.popleft() if fits else None

    def give_back(self, tasks: Iterable[_Task], fault: WorkersUnavailable | None = None) -> None:
        """Put tasks that were not started in front of the queue again.

        All tasks fail with the ``fault`` if no process can run them; a closed pool drops all.
        """
        with self._changed:
            self._fault = self._fault or fault
            self._tasks.extendleft(reversed(list(tasks)))
            dropped: list[_Task] = []
            if self.is_closed or self._fault:
                dropped.extend(self._tasks)
                self._tasks.clear()
            self._changed.notify_all()
        for task in dropped:
            if self._fault is not None:
                task.future.set_exception(self._fault)
            else:
                task.future.cancel()


class _Lane(threading.Thread):
    """Feeds one process at a time with tasks, and replaces a process that has died.

    Several tasks wait in the pipe, so that the process need not wait for this thread. Replies come
    in order: the first task without a reply is the one that a process died of.
    """

    def __init__(self, pool: WorkerPool) -> None:
        super().__init__(name="knotwork-file-worker", daemon=True)
        self._pool = pool
        self._sent: deque[_Task] = deque()
        self._starting: _Process | None = None
        self.process: _Process | None = None

    def run(self) -> None:
        fault = None
        try:
            self._serve()
            while self._pool.wait_for_task():
                self._serve()
        except WorkersUnavailable as error:
            fault = error
        self._pool.give_back(self._sent, fault)

    def _serve(self) -> None:
        """Serve tasks with one process until it ends, or the pool is closed."""
        self.process = process = self._open()
        self._pool.is_ready = True
        try:
            while self._fill(process):
                if self._take(process.receive()):
                    process.end()
                    break
            else:
                _keep(process)
        except (EOFError, OSError):
            self._blame(process.end())
        finally:
            self.process = None
        self._pool.give_back(self._sent)
        self._sent.clear()

    def _open(self) -> _Process:
        """Return a process that is set up, if possible the kept one. Raises WorkersUnavailable."""
        prelude, shared = self._pool.prelude, self._pool.shared
        with _keeping:
            kept = _kept.pop() if _kept else None
        if kept is not None:
            if kept.prelude == prelude and kept.set_up(shared):
                return kept
            kept.end()
        self._starting = process = _Process(prelude)
        if not process.set_up(shared):
            raise WorkersUnavailable(f"a worker process exited with status {process.end()}")
        self._starting = None
        return process

    def _fill(self, process: _Process) -> bool:
        """Send more tasks; wait for one if none is sent. Return False if the pool was closed."""
        waiting = sum(len(task.message) for task in islice(self._sent, 1, None))
        while len(self._sent) < _AHEAD_TASKS:
            if not self._sent and not self._pool.wait_for_task():
                return False
            task = self._pool.next_task(_AHEAD_BYTES - waiting if self._sent else math.inf)
            if task is not None:
                waiting += len(task.message) if self._sent else 0
                self._sent.append(task)
                write_message(process.requests, task.message)
            elif self._sent:
                break
        return True

    def _take(self, reply: Reply) -> bool:
        """Settle the first task, or note how far it is; return True if the process exits."""
        if reply.part is not None:
            self._sent[0].future.part = reply.part
            return False
        task = self._sent.popleft()
        if isinstance(reply.error, MemoryError):
            task.fail_of_memory()
        elif reply.error is not None:
            task.future.set_exception(reply.error)
        else:
            task.future.set_result(reply.value)
        return reply.is_last

    def _blame(self, status: int | None) -> None:
        """Fail the task that a process died of, or start it once more if the reason is unknown."""
        if not self._sent or self._pool.is_closed:
            return
        task = self._sent.popleft()
        task.starts += 1
        if status in _TOO_SLOW:
            task.fail_of_time()
        elif status == MEMORY_EXIT:
            task.fail_of_memory()
        elif task.starts < _MOST_STARTS:
            self._sent.appendleft(task)
        else:
            task.future.set_exception(crashed_error(task.uri))

    def stop(self) -> None:
        """End the process if it works on a task, or is not set up yet, which takes a second."""
        process = self.process if self._sent else self._starting
        if process is not None:
            process.kill()


class _Process:
    def __init__(self, prelude: bytes) -> None:
        self.prelude = prelude
        try:
            self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, with its own code
                [sys.executable, "-c", _START, json.dumps(_import_path())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except (OSError, ValueError, TypeError) as error:
            raise WorkersUnavailable(str(error)) from error
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self.requests, self._replies = self._popen.stdin, self._popen.stdout

    @property
    def id(self) -> int:
        """The id of the process."""
        return self._popen.pid

    def set_up(self, shared: bytes) -> bool:
        """Send what all tasks share; return False if the process has gone.

        Raises WorkersUnavailable if the process cannot use it.
        """
        setup = Setup(tuple(_import_path()), str(Path.cwd()), self.prelude, shared)
        try:
            write_message(self.requests, pickle.dumps(setup))
            reply = self.receive()
        except (EOFError, OSError):
            return False
        if reply.error is not None:
            self.kill()
            self.end()
            raise WorkersUnavailable(str(reply.error))
        return True

    def receive(self) -> Reply:
        reply: Reply = pickle.loads(read_message(self._replies))  # noqa: S301 - of our process
        return reply

    def kill(self) -> None:
        self._popen.kill()

    def end(self) -> int | None:
        """Wait for the process, which exits or was killed, and return its status."""
        with suppress(OSError):  # of a message that the process did not read
            self.requests.close()
        try:
            status = self._popen.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            status = self._popen.wait()
        self._replies.close()
        return status


def _import_path() -> list[str]:
    return [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 - "" is the folder


_kept: list[_Process] = []
_keeping = threading.Lock()


def _keep(process: _Process) -> None:
    """Keep an idle process for the next pool, or end it if one is kept already."""
    with _keeping:
        if not _kept:
            _kept.append(process)
            return
    process.kill()  # idle: it has nothing to lose, and to end by itself takes longer
    process.end()


@atexit.register
def end_kept() -> None:
    """End the process that is kept for the next pool."""
    with _keeping:
        kept = list(_kept)
        _kept.clear()
    for process in kept:
        process.end()


def _forget_kept() -> None:
    """In a process that was forked from this one: leave the kept process to the original."""
    global _keeping  # noqa: PLW0603 - another thread may have held the lock
    _keeping = threading.Lock()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_kept)


def worker_count(workers: int) -> int:
    """Return the number of workers that a setting asks for; -1 is one for each core."""
    if workers >= 0:
        return workers
    import loky

    return min(int(loky.cpu_count()), MOST_WORKERS)


def register_loaders() -> Callable[[], object]:
    """Return a function for other processes that registers the loaders of this program there."""
    loaders: dict[str, object] = {}
    for name, target in LOADERS.registered().items():
        try:
            pickled(target)
            loaders[name] = target
        except UNSENDABLE as error:
            _log.warning(
                "the loader `%s` cannot be sent to another process (%s); its files are read in "
                "this one, without limits of memory and time",
                name,
                error,
            )
            loader = LOADERS.create(name)
            loaders[name] = _LoaderElsewhere(loader.name, loader.suffixes, loader.signatures)
    return partial(_register, loaders)


def _register(loaders: Mapping[str, object]) -> None:
    # Import what nearly every file needs before the memory of the process is measured.
    import knotwork._indexing.prepare  # noqa: F401

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


def read_files(
    files: Iterable[tuple[Callable[[], Result], str, int]], *, settings: IndexSettings
) -> Iterator[Callable[[], Result]]:
    """Yield for each file, in order, a function that returns what was read or raises LoadError.

    ``files`` are functions that read one, its name in the index and its size in bytes. They run in
    worker processes within the limits of the settings, or in this one if ``index.workers`` is 0.
    """
    named = list(files)
    if not settings.workers or not named:
        yield from (read for read, _, _ in named)
        return
    limits = ReadingLimits.of(settings)
    workers = worker_count(settings.workers)
    pool = WorkerPool(register_loaders(), None, workers=workers, limits=limits)
    try:
        futures = [pool.submit(_call, read, uri=uri, size=size) for read, uri, size in named]
        for future, (read, _, _) in zip(futures, named, strict=True):
            with suppress(Exception):
                wait_for(future)  # raises Cancelled; other errors are those of the file
            must_stay = isinstance(future.exception(), ReadElsewhere | WorkersUnavailable)
            yield read if must_stay else future.result
    finally:
        pool.close()


def _call(read: Callable[[], Result], _shared: object) -> Result:
    return read()
