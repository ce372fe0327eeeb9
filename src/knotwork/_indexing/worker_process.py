"""Run tasks in a process of its own, each under limits of memory and processor time.

The process reads messages from standard input and writes one to standard output for each, and any
number before it that say how far it is: a length of 8 bytes, then a pickle. It exits when its
parent has, and when it has had no task for a while.

A task that exceeds its processor time is ended by the system (``SIGXCPU``), and takes the process
with it. One that exceeds its memory raises MemoryError. Limits are those of ``resource``: on
Windows, which has none, the parent ends a task that lasts too long, and memory has no limit. On
macOS, which does not enforce them, a thread watches the memory instead.
"""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import IO, Any

from knotwork._indexing.file_progress import listening
from knotwork._indexing.process_limits import data_bytes, kept_bytes, limit_process, resource

MEMORY_EXIT = 86
"""The exit status of a process that used more memory than its limit."""

IDLE_S = 60.0
"""Seconds without a task after which the process exits."""

_WATCH_S = 1.0
_GARBAGE_OBJECTS = 20_000
"""New objects after which the process collects garbage: few of its objects are in cycles."""
_LENGTH_BYTES = 8
_KEPT_SHARE = 4
"""A process that keeps more than one part in so many of the memory of a task is replaced."""


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
    """A task: ``function(argument, shared)``, in memory of ``memory_bytes`` and so many seconds."""

    function: Callable[[Any, Any], Any]
    argument: object
    memory_bytes: int
    processor_s: int


class Outcome(StrEnum):
    """How a task or a setup ended, or that a task goes on."""

    IN_PROGRESS = "in progress"
    """The task goes on; the value is the share of its file that was read, from 0 to 1."""
    RETURNED = "returned"
    RAISED = "raised"
    OUT_OF_MEMORY = "out of memory"


@dataclass(frozen=True, slots=True)
class Reply:
    """What a process answers; after a reply that ``is_last`` it exits."""

    outcome: Outcome
    value: Any = None
    is_last: bool = False


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(data)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes:
    """Wait for a message and return it. Raises EOFError if the other side has gone."""
    length = int.from_bytes(_read(stream, _LENGTH_BYTES), "big")
    return _read(stream, length)


def _read(stream: IO[bytes], length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


def main() -> None:
    """Serve the parent process until it closes the connection."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # What a parser prints must not get into the replies.
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - of no use as a path
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    # The parent is asked to stop and ends this process; a signal to the whole group must not make
    # a file fail.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    gc.set_threshold(_GARBAGE_OBJECTS)
    worker = _Worker()
    threading.Thread(target=worker.watch, args=(os.getppid(),), daemon=True).start()
    try:
        while worker.answer(read_message(requests), replies):
            pass
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has gone
    os._exit(0)


class _Worker:
    def __init__(self) -> None:
        self._shared: Any = None
        self._own_bytes = 0
        self._ceiling_bytes = sys.maxsize
        self._busy = False
        self._is_begun = False
        self._is_full = False
        self._since = time.monotonic()

    def answer(self, data: bytes, replies: IO[bytes]) -> bool:
        """Serve one message; return False if the process should exit."""
        self._busy = True
        message = pickle.loads(data)  # noqa: S301 - of the parent
        if isinstance(message, Setup):
            reply = self._set_up(message)
        else:
            with listening(partial(_write_share, replies)):
                reply = self._run(message)
        write_message(replies, reply)
        self._since = time.monotonic()
        self._busy = False
        return not self._is_full

    def _set_up(self, setup: Setup) -> bytes:
        sys.path[:] = setup.path
        try:
            os.chdir(setup.folder)
            if not self._is_begun:
                pickle.loads(setup.prelude)()  # noqa: S301
            self._is_begun = True
            self._shared = pickle.loads(setup.shared)  # noqa: S301
        except Exception as error:  # noqa: BLE001 - a class that this process cannot import
            return pickle.dumps(Reply(Outcome.RAISED, f"{type(error).__name__}: {error}"))
        if not self._own_bytes:
            self._own_bytes = data_bytes()
        return pickle.dumps(Reply(Outcome.RETURNED))

    def _run(self, call: Call) -> bytes:
        self._ceiling_bytes = self._own_bytes + call.memory_bytes
        try:
            limit_process(self._ceiling_bytes, call.processor_s)
            try:
                value = call.function(call.argument, self._shared)
                reply = Reply(Outcome.RETURNED, value)
            except MemoryError:
                raise
            except Exception as error:  # noqa: BLE001 - raised again in the parent
                reply = Reply(Outcome.RAISED, error)
            own_bytes = self._own_bytes + kept_bytes()
            self._is_full = data_bytes() > own_bytes + call.memory_bytes // _KEPT_SHARE
            return _pickled(Reply(reply.outcome, reply.value, is_last=self._is_full))
        except MemoryError:
            # The error itself needs no memory to speak of, but the heap may be full to the byte.
            self._ceiling_bytes = sys.maxsize
            limit_process(sys.maxsize, call.processor_s)
            self._is_full = True
            return pickle.dumps(Reply(Outcome.OUT_OF_MEMORY, is_last=True))

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
                if used > self._ceiling_bytes + kept_bytes():
                    os._exit(MEMORY_EXIT)


def _write_share(replies: IO[bytes], share: float) -> None:
    write_message(replies, pickle.dumps(Reply(Outcome.IN_PROGRESS, share)))


def _pickled(reply: Reply) -> bytes:
    """Return a reply as bytes; one that holds what cannot be pickled says so instead."""
    stream = io.BytesIO()
    try:
        pickle.Pickler(stream, protocol=5).dump(reply)
    except (pickle.PicklingError, TypeError, AttributeError):
        from cloudpickle import dumps

        try:
            return bytes(dumps(reply, protocol=5))
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            failed = TypeError(f"the result cannot be sent to another process: {error}")
            return pickle.dumps(Reply(Outcome.RAISED, failed, is_last=reply.is_last))
    return stream.getvalue()


if __name__ == "__main__":
    main()
