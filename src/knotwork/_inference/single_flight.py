"""Make a single call for equal requests that arrive at the same time.

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
    """Lets one thread of this process at a time make the call of a key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[bytes, Future[T]] = {}

    def run(self, key: bytes, action: Callable[[], T]) -> tuple[T, bool]:
        """Return the result of ``action``, or of an equal call in progress, and whether it is ours.

        A KnotworkError is raised in all waiting threads: what failed after all attempts would fail
        for them too. If a call is interrupted or raises any other exception, the next thread makes
        it.
        """
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if ours := flight is None:
                    flight = self._flights[key] = Future()
            if ours:
                return self._fly(key, flight, action), True
            try:
                return flight.result(), False
            except CancelledError:
                continue

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
    """Locks by key among the processes of this machine.

    Each key is a byte of one file, locked by the operating system, which releases it when a process
    is killed. Such locks belong to a process, so use one object per file and process. Without lock
    support (some network drives, Windows) several processes may hold a key at once, and each makes
    its own call. Without a path there are no locks. Raises StoreReadOnly if the file cannot be
    created.
    """

    def __init__(self, path: str | None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._lock = threading.Lock()
        self._file = -1

    @contextmanager
    def hold(self, key: bytes) -> Iterator[None]:
        """Wait until no other process holds ``key``, then hold it."""
        offset = int.from_bytes(key[:8], "big") >> 2
        wait_s = _FIRST_WAIT_S
        while not self._acquire(offset):
            self._sleep(wait_s)
            wait_s = min(wait_s * 1.5, _LONGEST_WAIT_S)
        try:
            yield
        finally:
            self._release(offset)

    def close(self) -> None:
        """Release all keys."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _acquire(self, offset: int) -> bool:
        if sys.platform == "win32" or self._path is None:
            return True
        import fcntl

        descriptor = self._descriptor()
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            if error.errno not in _IMPOSSIBLE:
                raise
        return True

    def _release(self, offset: int) -> None:
        if sys.platform == "win32":
            return
        import fcntl

        with self._lock:
            if self._file < 0:
                return
            try:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, offset)
            except OSError as error:
                if error.errno not in _IMPOSSIBLE:
                    raise

    def _descriptor(self) -> int:
        assert self._path is not None
        with self._lock:
            if self._file < 0:
                try:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                except OSError as error:
                    raise StoreReadOnly(
                        f"`{self._path}` is not writable ({error.strerror}).",
                        fix="Check the permissions of the file and its folder.",
                    ) from error
            return self._file
