"""Single flight: make one call for equal requests at the same time.

Other threads wait for its result; other processes wait until it is cached.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from typing import Generic, TypeVar

from knotwork.errors import KnotworkError, StoreReadOnly

T = TypeVar("T")

_FIRST_WAIT_S = 0.005
_LONGEST_WAIT_S = 0.2
_TAKEN = frozenset({errno.EACCES, errno.EAGAIN})
_IMPOSSIBLE = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class SingleFlight(Generic[T]):
    """Makes one call a key at a time, among the threads of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[bytes, Future[T]] = {}

    def run(self, key: bytes, action: Callable[[], T]) -> tuple[T, bool]:
        """Return the result of ``action``, or of an equal one under way, and whether it was ours.

        A KnotworkError is raised in all threads that wait for it: what failed for one, and for all
        of its attempts, would fail for the others too. When a call is interrupted or hits a fault
        of the program, the next thread makes it.
        """
        while True:
            flight, ours = self._join(key)
            if ours:
                return self._fly(key, flight, action), True
            try:
                return flight.result(), False
            except CancelledError:
                continue

    def _join(self, key: bytes) -> tuple[Future[T], bool]:
        with self._lock:
            flight = self._flights.get(key)
            if flight is not None:
                return flight, False
            flight = self._flights[key] = Future()
            return flight, True

    def _fly(self, key: bytes, flight: Future[T], action: Callable[[], T]) -> T:
        try:
            result = action()
        except KnotworkError as error:
            self._land(key)
            flight.set_exception(error)
            raise
        except BaseException:
            self._land(key)
            flight.cancel()
            raise
        self._land(key)
        flight.set_result(result)
        return result

    def _land(self, key: bytes) -> None:
        with self._lock:
            del self._flights[key]


class KeyLocks:
    """One holder a key at a time, among the processes of this machine.

    Each key is a byte of one file, locked by the operating system: it lets go when a process is
    killed. Such locks are by process, so have one object a file in each. Where there are none
    (some network drives, Windows) all may hold at once, and equal calls of several processes are
    made by each. Without a path there are no locks. Raises StoreReadOnly when the file cannot be
    made.
    """

    def __init__(self, path: str | None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._lock = threading.Lock()
        self._file = -1

    @contextmanager
    def hold(self, key: bytes) -> Iterator[None]:
        """Wait until no other process holds ``key``, then hold it."""
        place = int.from_bytes(key[:8], "big") >> 2
        wait_s = _FIRST_WAIT_S
        while not self._take(place):
            self._sleep(wait_s)
            wait_s = min(wait_s * 1.5, _LONGEST_WAIT_S)
        try:
            yield
        finally:
            self._let_go(place)

    def close(self) -> None:
        """Let go of all keys."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _take(self, place: int) -> bool:
        if sys.platform == "win32" or self._path is None:
            return True
        import fcntl

        descriptor = self._descriptor()
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            if error.errno not in _IMPOSSIBLE:
                raise
        return True

    def _let_go(self, place: int) -> None:
        if sys.platform == "win32":
            return
        import fcntl

        with self._lock:
            if self._file < 0:
                return
            try:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
            except OSError as error:
                if error.errno not in _IMPOSSIBLE:
                    raise

    def _descriptor(self) -> int:
        assert self._path is not None
        with self._lock:
            if self._file < 0:
                try:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
                except OSError as error:
                    raise StoreReadOnly(
                        f"`{self._path}` may not be written ({error.strerror}).",
                        fix="Check who may write it and its folder.",
                    ) from error
            return self._file
