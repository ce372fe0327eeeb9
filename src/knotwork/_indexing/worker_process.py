"""Run tasks in a process of its own, each under limits of memory and time.

The process reads messages from standard input and writes one to standard output for each, and any
number before it that say how far it is: a length of 8 bytes, then a pickle. It exits when its
parent has, and when it has had no task for a while.

A task that exceeds its processor time is ended by the system (``SIGXCPU``), one that lasts too long
by a thread that needs no interpreter; both take the process with them. A task that exceeds its
memory raises MemoryError. Limits of memory and processor time are those of ``resource``, which
Windows lacks. On macOS, which does not enforce them, a thread watches the memory instead.

Limits follow the size of a file, which says little about how long it takes to recognise a page in
it. So a loader may raise them (`allow_more`). Memory that it keeps from one file to the next
(`keeping`), such as that of a model, counts towards the limit of no file. Outside of such a process
these do nothing.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import IO, Any

from knotwork._run import FilePart, listening

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows has no limits
    resource = None

UNSENDABLE = (pickle.PicklingError, TypeError, AttributeError)
"""Raised for a value that cannot be sent to another process."""

MEMORY_EXIT = 86
"""The exit status of a process that used more memory than its limit."""

SLOW_EXIT = 1
"""The exit status of a process whose task lasted too long; `faulthandler` has no other one."""

_FAULT_EXIT = 2

IDLE_S = 60.0
"""Seconds without a task after which the process exits."""

_WATCH_S = 1.0
_GARBAGE_OBJECTS = 20_000
"""New objects after which the process collects garbage: few of its objects are in cycles."""
_LENGTH_BYTES = 8
_KEPT_SHARE = 4
"""A process that keeps more than one part in so many of the memory of a task is replaced."""
_MAIN_SCRIPT = b"__main__"
"""The module of what the user's script defines, which no other process can import."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a process needs before its first task, with pickled values.

    ``prelude`` is a function without arguments that is called once in the life of a process.
    ``shared`` is the second argument of all tasks.
    """

    path: tuple[str, ...]
    folder: str
    prelude: bytes
    shared: bytes


@dataclass(frozen=True, slots=True)
class Call:
    """A task: ``function(argument, shared)``, with the memory and the seconds that it may take."""

    function: Callable[[Any, Any], Any]
    argument: object
    memory_bytes: int
    processor_s: int
    clock_s: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What a process answers: a value, the error of a task, or how far the task is.

    A task out of memory has a MemoryError. ``part`` of its file was read if the task goes on. After
    a reply that ``is_last`` the process exits.
    """

    value: Any = None
    error: Exception | None = None
    part: FilePart | None = None
    is_last: bool = False


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(data)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """Wait for a message and return it. Raises EOFError if the other side has gone."""
    data = stream.read(_LENGTH_BYTES)
    length = int.from_bytes(data, "big")
    if len(data) < _LENGTH_BYTES or len(data := stream.read(length)) < length:
        raise EOFError
    return data


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


_kept_bytes = 0
_is_limited = False


def allow_more(seconds: int) -> None:
    """Raise the limit of processor time, if this process has one of ours, by so many seconds."""
    if resource is not None and _is_limited:
        _raise_limit(resource.RLIMIT_CPU, seconds)


@contextmanager
def keeping(at_most: int, *, to_use: int = 0) -> Iterator[None]:
    """Keep what the block takes, and let it take ``at_most`` bytes more than the file may.

    ``to_use`` bytes stay allowed beside it: what is kept may need them whenever it is used.
    """
    global _kept_bytes  # noqa: PLW0603
    before, outer = _data_bytes(), _kept_bytes
    _kept_bytes += at_most
    if resource is not None:
        _raise_limit(resource.RLIMIT_DATA, at_most)
    try:
        yield
    finally:
        taken = min(at_most, max(0, _data_bytes() - before)) if before else at_most
        _kept_bytes = outer + taken + to_use
        if resource is not None:
            _raise_limit(resource.RLIMIT_DATA, taken + to_use - at_most)


def _limit_process(memory_bytes: int, processor_s: int) -> None:
    """Limit this process from here on: memory in all, and so much more processor time."""
    global _is_limited  # noqa: PLW0603 - a limit is one of the whole process
    if resource is None:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + processor_s)
    _is_limited = True
    _set_limit(resource.RLIMIT_DATA, memory_bytes + _kept_bytes)
    _set_limit(resource.RLIMIT_CORE, 0)


def _raise_limit(kind: int, more: int) -> None:
    assert resource is not None
    soft, _ = resource.getrlimit(kind)
    if soft != resource.RLIM_INFINITY:
        _set_limit(kind, soft + more)


def _set_limit(kind: int, value: int) -> None:
    """Set the soft limit of a resource, at most its hard limit."""
    assert resource is not None
    _, hard = resource.getrlimit(kind)
    unlimited = resource.RLIM_INFINITY
    soft = value if hard == unlimited else min(value, hard)
    resource.setrlimit(kind, (unlimited if soft >= sys.maxsize else soft, hard))


def _data_bytes() -> int:
    """Return the memory that counts towards the limit; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123 - read for each task
            return int(file.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def main() -> None:
    """Serve the parent process until it closes the connection."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # What a parser prints must not get into the replies.
    nothing = open(os.devnull, "rb+")  # noqa: PTH123, SIM115 - open until the process ends
    os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    # The parent is asked to stop and ends this process; a signal to the whole group must not make
    # a file fail.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    gc.set_threshold(_GARBAGE_OBJECTS)
    worker = _Worker(replies, nothing)
    threading.Thread(target=worker.watch, args=(os.getppid(),), daemon=True).start()
    try:
        while worker.answer(read_message(requests)):
            pass
    except (EOFError, BrokenPipeError, ConnectionResetError):
        os._exit(0)  # the parent has gone
    except BaseException:  # noqa: BLE001 - its status must not be that of a slow task
        os._exit(_FAULT_EXIT)
    os._exit(0)


class _Worker:
    def __init__(self, replies: IO[bytes], nothing: IO[bytes]) -> None:
        self._replies = replies
        self._nothing = nothing
        self._shared: Any = None
        self._own_bytes = 0
        self._ceiling_bytes = sys.maxsize
        self._busy = False
        self._is_begun = False
        self._since = time.monotonic()

    def answer(self, data: bytes) -> bool:
        """Serve one message; return False if the process should exit."""
        self._busy = True
        message = pickle.loads(data)  # noqa: S301 - of the parent
        if isinstance(message, Setup):
            reply = self._set_up(message)
            sent = pickle.dumps(reply)
        else:
            with listening(self._report):
                reply, sent = self._run(message)
        write_message(self._replies, sent)
        self._since = time.monotonic()
        self._busy = False
        return not reply.is_last

    def _set_up(self, setup: Setup) -> Reply:
        sys.path[:] = setup.path
        try:
            os.chdir(setup.folder)
            if not self._is_begun:
                pickle.loads(setup.prelude)()  # noqa: S301
            self._is_begun = True
            self._shared = pickle.loads(setup.shared)  # noqa: S301
        except Exception as error:  # noqa: BLE001 - a class that this process cannot import
            return Reply(error=RuntimeError(f"{type(error).__name__}: {error}"))
        self._own_bytes = self._own_bytes or _data_bytes()
        return Reply()

    def _run(self, call: Call) -> tuple[Reply, bytes]:
        """Run a task, and return the reply, also as bytes: these count towards its memory."""
        self._ceiling_bytes = self._own_bytes + call.memory_bytes
        faulthandler.dump_traceback_later(call.clock_s, exit=True, file=self._nothing)
        try:
            _limit_process(self._ceiling_bytes, call.processor_s)
            value = error = None
            try:
                value = call.function(call.argument, self._shared)
            except MemoryError:
                raise
            except Exception as found:  # noqa: BLE001 - raised again in the parent
                error = found
            most_bytes = self._own_bytes + _kept_bytes + call.memory_bytes // _KEPT_SHARE
            reply = Reply(value, error, is_last=_data_bytes() > most_bytes)
            return reply, _pickled(reply)
        except MemoryError:
            # The error itself needs no memory to speak of, but the heap may be full to the byte.
            self._ceiling_bytes = sys.maxsize
            _limit_process(sys.maxsize, call.processor_s)
            reply = Reply(error=MemoryError(), is_last=True)
            return reply, pickle.dumps(reply)
        finally:
            faulthandler.cancel_dump_traceback_later()

    def _report(self, part: FilePart) -> None:
        write_message(self._replies, pickle.dumps(Reply(part=part)))

    def watch(self, parent: int) -> None:
        """Exit when the parent has, when idle for long, or when memory exceeds its limit."""
        while True:
            time.sleep(_WATCH_S)
            if not self._busy and time.monotonic() - self._since > IDLE_S:
                os._exit(0)
            if resource is not None and os.getppid() != parent:
                os._exit(0)
            if sys.platform == "darwin" and self._busy and resource is not None:
                used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                if used > self._ceiling_bytes + _kept_bytes:
                    os._exit(MEMORY_EXIT)


def _pickled(reply: Reply) -> bytes:
    """Return a reply as bytes; one that holds what cannot be pickled says so instead."""
    try:
        return pickle.dumps(reply, protocol=5)
    except UNSENDABLE:
        try:
            return pickled(reply)
        except UNSENDABLE as error:
            failed = TypeError(f"the result cannot be sent to another process: {error}")
            return pickle.dumps(Reply(error=failed, is_last=reply.is_last))


if __name__ == "__main__":
    main()
