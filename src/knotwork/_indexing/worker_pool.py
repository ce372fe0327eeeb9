"""Run tasks about files in worker processes that are limited, and can be ended at any time.

A task that exceeds a limit, or crashes its process, raises a LoadError; all others go on in new
processes. One process is kept for the next pool of this program: it takes about 0.3 seconds to
start one. Messages go through pipes and not through `multiprocessing`, which would run the main
script of the user again in each process, and does not say which task a process died of.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from knotwork._cancellation import current_cancellation
from knotwork._indexing.reading_limits import (
    ReadingLimits,
    crashed_error,
    out_of_memory_error,
    too_slow_error,
)
from knotwork._indexing.worker_process import (
    MEMORY_EXIT,
    Call,
    Outcome,
    Reply,
    Setup,
    read_message,
    write_message,
)

Argument = TypeVar("Argument")
Result = TypeVar("Result")

UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError)
"""Raised for a value that cannot be sent to another process."""

_MAIN_SCRIPT = b"__main__"
"""The module of what the user's script defines, which no other process can import."""

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
_TOO_SLOW = frozenset({-signal.SIGXCPU} if hasattr(signal, "SIGXCPU") else ())
"""Exit statuses of a process that the system ended for its processor time."""

_WATCH_S = 0.5
_END_S = 5.0
_CANCELLED_S = 0.2


class WorkersUnavailable(Exception):
    """No worker process can be started, or it cannot import what it needs."""


class FileFuture(Future[Result]):
    """The future of a task about a file; ``share`` of the file was read, from 0 to 1."""

    share = 0.0


@dataclass(slots=True)
class _Task:
    uri: str
    size: int
    message: bytes
    future: FileFuture[Any] = field(default_factory=FileFuture)
    starts: int = 0


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
        self.limits = limits
        self.prelude, self.shared = pickled(prelude), pickled(shared)
        self._most = max(1, workers)
        self._lanes: list[_Lane] = []
        self._tasks: deque[_Task] = deque()
        self._changed = threading.Condition()
        self.ready = threading.Event()
        self.closed = threading.Event()
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
        memory, seconds = self.limits.memory_bytes(size), self.limits.processor_s(size)
        task = _Task(uri, size, pickled(Call(function, argument, memory, seconds)))
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
            wanted = max(1, len(self._tasks))
            if len(self._lanes) < min(self._most, wanted) and not self.closed.is_set():
                if not self._lanes:
                    threading.Thread(
                        target=self._watch, name="knotwork-limits", daemon=True
                    ).start()
                self._lanes.append(_Lane(self))
                self._lanes[-1].start()

    @property
    def is_ready(self) -> bool:
        """True once a process has started."""
        return self.ready.is_set()

    @property
    def processes(self) -> tuple[int, ...]:
        """The ids of the processes that run now."""
        return tuple(lane.process.id for lane in self._lanes if lane.process is not None)

    def close(self) -> None:
        """End all tasks that are not done, and all processes but an idle one for the next pool."""
        with self._changed:
            self.closed.set()
            waiting = list(self._tasks)
            self._tasks.clear()
            self._changed.notify_all()
        for task in waiting:
            task.future.cancel()
        for lane in self._lanes:
            lane.stop()
        # A process that was killed may still be sending a large result, which is not waited for.
        patience_s = _CANCELLED_S if current_cancellation().is_cancelled else _END_S
        for lane in self._lanes:
            lane.join(patience_s)

    def next_task(self, *, wait: bool) -> _Task | None:
        """Return the next task; None if no task waits, or the pool was closed."""
        with self._changed:
            while wait and not self._tasks and not self.closed.is_set():
                self._changed.wait()
            return self._tasks.popleft() if self._tasks else None

    def wait_for_task(self) -> bool:
        """Wait until there is a task; return False if the pool was closed."""
        with self._changed:
            while not self._tasks and not self.closed.is_set():
                self._changed.wait()
            return bool(self._tasks)

    def give_back(self, tasks: Iterable[_Task]) -> None:
        """Put tasks that were not started in front of the queue again."""
        with self._changed:
            if self.closed.is_set():
                for task in tasks:
                    task.future.cancel()
                return
            self._tasks.extendleft(reversed(list(tasks)))
            self._changed.notify_all()

    def fail(self, fault: WorkersUnavailable) -> None:
        """Let all tasks fail, because no process can run them."""
        with self._changed:
            self._fault = fault
            waiting = list(self._tasks)
            self._tasks.clear()
        for task in waiting:
            task.future.set_exception(fault)

    def _watch(self) -> None:
        """End each process whose task lasts too long by the clock."""
        while not self.closed.wait(_WATCH_S):
            for lane in self._lanes:
                lane.check_time()


class _Lane(threading.Thread):
    """Feeds one process at a time with tasks, and replaces a process that has died.

    Several tasks wait in the pipe, so that the process need not wait for this thread. Replies come
    in order: the first task without a reply is the one that a process died of.
    """

    def __init__(self, pool: WorkerPool) -> None:
        super().__init__(name="knotwork-worker", daemon=True)
        self._pool = pool
        self._sent: deque[_Task] = deque()
        self._deadline = float("inf")
        self._was_too_slow = False
        self._is_replaced = False
        self.process: _Process | None = None

    def run(self) -> None:
        try:
            while self._serve():
                pass
        except WorkersUnavailable as fault:
            self._pool.give_back(self._sent)
            self._pool.fail(fault)

    def _serve(self) -> bool:
        """Serve tasks with one process until it ends; return False if the pool was closed."""
        if self._is_replaced and not self._pool.wait_for_task():
            return False
        self._was_too_slow = False
        self.process = process = _open_process(self._pool.prelude, self._pool.shared)
        self._pool.ready.set()
        if self._pool.closed.is_set():
            _keep(process)
            return False
        try:
            while self._fill(process):
                if self._take(process.receive()):
                    break
            else:
                _keep(process)
                return False
            process.end()
            self._is_replaced = True
            self._pool.give_back(self._clear())
        except (EOFError, OSError):
            status = process.end()
            if self._pool.closed.is_set():
                for task in self._clear():
                    task.future.cancel()
                return False
            self._is_replaced = True
            self._blame(status)
        finally:
            self.process = None
        return True

    def _fill(self, process: _Process) -> bool:
        """Send more tasks; wait for one if none is sent. Return False if the pool was closed."""
        waiting = sum(len(task.message) for task in list(self._sent)[1:])
        while len(self._sent) < _AHEAD_TASKS and waiting < _AHEAD_BYTES:
            task = self._pool.next_task(wait=not self._sent)
            if task is None:
                break
            if self._sent and waiting + len(task.message) > _AHEAD_BYTES:
                self._pool.give_back([task])
                break
            waiting += len(task.message) if self._sent else 0
            self._sent.append(task)
            process.send(task.message)
            if len(self._sent) == 1:
                self._begin()
        return bool(self._sent)

    def _begin(self) -> None:
        """Note that the process works on the first task from now on."""
        if self._sent:
            self._deadline = time.monotonic() + self._pool.limits.clock_s(
                self._sent[0].size, self._sent[0].uri
            )
        else:
            self._deadline = float("inf")

    def _take(self, reply: Reply) -> bool:
        """Settle the first task, or note how far it is; return True if the process exits."""
        if reply.outcome is Outcome.IN_PROGRESS:
            self._sent[0].future.share = reply.value
            return False
        task = self._sent.popleft()
        self._begin()
        if reply.outcome is Outcome.RETURNED:
            task.future.set_result(reply.value)
        elif reply.outcome is Outcome.OUT_OF_MEMORY:
            task.future.set_exception(out_of_memory_error(task.uri, task.size, self._pool.limits))
        else:
            task.future.set_exception(reply.value)
        return reply.is_last

    def _blame(self, status: int | None) -> None:
        """Fail the task that a process died of, or start it once more if the reason is unknown."""
        if not self._sent:
            return
        task, limits = self._sent.popleft(), self._pool.limits
        task.starts += 1
        if self._was_too_slow or status in _TOO_SLOW:
            task.future.set_exception(too_slow_error(task.uri, task.size, limits))
        elif status == MEMORY_EXIT:
            task.future.set_exception(out_of_memory_error(task.uri, task.size, limits))
        elif task.starts < _MOST_STARTS:
            self._sent.appendleft(task)
        else:
            task.future.set_exception(crashed_error(task.uri))
        self._pool.give_back(self._clear())

    def _clear(self) -> Sequence[_Task]:
        tasks = tuple(self._sent)
        self._sent.clear()
        return tasks

    def check_time(self) -> None:
        """End the process if its task lasts longer than it may."""
        process = self.process
        if process is not None and time.monotonic() > self._deadline:
            self._was_too_slow = True
            process.kill()

    def stop(self) -> None:
        """End the process if it works on a task."""
        process = self.process
        if process is not None and self._sent:
            process.kill()


class _Process:
    """One worker process and its pipes."""

    def __init__(self, prelude: bytes) -> None:
        self.prelude = prelude
        path = [os.path.abspath(folder) for folder in sys.path]  # noqa: PTH100 - "" is the folder
        try:
            self._popen = subprocess.Popen(  # noqa: S603 - this interpreter, with its own code
                [sys.executable, "-c", _START, json.dumps(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        except (OSError, ValueError, TypeError) as error:
            raise WorkersUnavailable(str(error)) from error
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._requests, self._replies = self._popen.stdin, self._popen.stdout

    @property
    def id(self) -> int:
        """The id of the process."""
        return self._popen.pid

    def set_up(self, shared: bytes) -> bool:
        """Send what all tasks share; return False if the process has gone.

        Raises WorkersUnavailable if the process cannot use it.
        """
        path = tuple(os.path.abspath(folder) for folder in sys.path)  # noqa: PTH100
        try:
            self.send(pickle.dumps(Setup(path, str(Path.cwd()), self.prelude, shared)))
            reply = self.receive()
        except (EOFError, OSError):
            return False
        if reply.outcome is not Outcome.RETURNED:
            self.kill()
            self.end()
            raise WorkersUnavailable(str(reply.value))
        return True

    def send(self, message: bytes) -> None:
        write_message(self._requests, message)

    def receive(self) -> Reply:
        reply: Reply = pickle.loads(read_message(self._replies))  # noqa: S301 - of our process
        return reply

    def kill(self) -> None:
        self._popen.kill()

    def end(self) -> int | None:
        """Wait for the process, which exits or was killed, and return its status."""
        with suppress(OSError):  # of a message that the process did not read
            self._requests.close()
        try:
            status = self._popen.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            status = self._popen.wait()
        self._replies.close()
        return status


_kept: list[_Process] = []
_keeping = threading.Lock()


def _open_process(prelude: bytes, shared: bytes) -> _Process:
    """Return a process that is set up, the one that was kept if it suits and still runs.

    Raises WorkersUnavailable.
    """
    with _keeping:
        kept = _kept.pop() if _kept else None
    if kept is not None:
        if kept.prelude == prelude and kept.set_up(shared):
            return kept
        kept.end()
    process = _Process(prelude)
    if not process.set_up(shared):
        raise WorkersUnavailable(f"a worker process exited with status {process.end()}")
    return process


def _keep(process: _Process) -> None:
    """Keep an idle process for the next pool, or end it if one is kept already."""
    with _keeping:
        if not _kept:
            _kept.append(process)
            return
    process.end()


def end_kept() -> None:
    """End the process that is kept for the next pool."""
    with _keeping:
        kept = list(_kept)
        _kept.clear()
    for process in kept:
        process.end()


atexit.register(end_kept)


def _forget_kept() -> None:
    """In a process that was forked from this one: leave the kept process to the original."""
    global _keeping  # noqa: PLW0603 - another thread may have held the lock
    _keeping = threading.Lock()
    _kept.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_kept)


def pickled(value: object) -> bytes:
    """Return a value as bytes; functions of the main script go by value.

    Raises one of ``UNSENDABLE``.
    """
    try:
        data = pickle.dumps(value, protocol=5)
    except UNSENDABLE:  # such as a function without a name
        pass
    else:
        if _MAIN_SCRIPT not in data:
            return data
    from cloudpickle import dumps

    return bytes(dumps(value, protocol=5))
