"""Stop long work on request.

Whoever starts work opens `Cancellation.scope` around it. The work calls `check_cancelled` in its
loops, without being handed the object: it follows the context of the thread. Outside a scope, all
functions here do nothing, or wait as usual.

`Cancelled` is a KeyboardInterrupt: work that keeps what it has finished on Ctrl-C does the same on
a cancellation, and nothing that handles `Exception` mistakes it for a failure.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from functools import partial
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

FINISH_S = 1.0
"""Seconds that cancelled work has to keep what it has finished."""

_POLL_S = 0.05
_MESSAGE = "The work was cancelled."


class Cancelled(KeyboardInterrupt):
    """The work was asked to stop. What it has finished is kept."""


class Cancellation:
    """A request to stop the work of one run. Any thread or signal handler may cancel it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._requested = False
        self._finish_by = -math.inf

    def cancel(self) -> None:
        """Ask the work to stop."""
        self._requested = True  # no lock, since a signal handler may interrupt one

    @property
    def is_cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._requested

    @property
    def is_due(self) -> bool:
        """True if the work must stop now: it was cancelled, and is not inside `finishing`."""
        return self._requested and self._clock() >= self._finish_by

    def check(self) -> None:
        """Raise Cancelled if the work must stop now. Subclasses may also pause it here."""
        if self._requested and self.is_due:
            raise Cancelled(_MESSAGE)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Make this the cancellation of all work that this thread does in the block."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def finishing(self, seconds: float = math.inf) -> Iterator[None]:
        """Let the block go on after a cancellation, for at most ``seconds``."""
        outer = self._finish_by
        self._finish_by = max(outer, self._clock() + seconds)
        try:
            yield
        finally:
            self._finish_by = outer


_NEVER = Cancellation()
_current: ContextVar[Cancellation] = ContextVar("cancellation", default=_NEVER)
_waits: ContextVar[Cancellation] = ContextVar("waits", default=_NEVER)


def current_cancellation() -> Cancellation:
    """Return the cancellation of the work in this thread; outside a scope, one that never is."""
    return _current.get()


def check_cancelled() -> None:
    """Raise Cancelled if the work in this thread must stop now."""
    _current.get().check()


def checks_due() -> bool:
    """Raise Cancelled if the work in this thread must stop now, and return False otherwise.

    For callbacks in the middle of a step, such as SQLite's, in which the work must not be paused.
    """
    current = _current.get()
    if current._requested and current.is_due:  # noqa: SLF001  of this module, and called often
        raise Cancelled(_MESSAGE)
    return False


def check_wait() -> None:
    """Raise Cancelled if the work in this thread must stop, or must not wait any longer.

    Use it where a call waits to be sent: see ``waits`` of `in_context`.
    """
    checks_due()
    if _waits.get().is_cancelled:
        raise Cancelled(_MESSAGE)


def checked(items: Iterable[T]) -> Iterator[T]:
    """Yield the items. Raises Cancelled before the next one if the work must stop now."""
    check = _current.get().check
    for item in items:
        check()
        yield item


def finishing(seconds: float = FINISH_S) -> AbstractContextManager[None]:
    """Let the block go on after a cancellation, for at most ``seconds``."""
    current = _current.get()
    return nullcontext() if current is _NEVER else current.finishing(seconds)


def wait_for(future: Future[T]) -> T:
    """Return the result of a future, or raise its exception. Raises Cancelled while it waits."""
    current = _current.get()
    if current is _NEVER:
        return future.result()
    while not future.done():
        current.check()
        with suppress(TimeoutError):
            future.exception(_POLL_S)
    return future.result()


def in_context(
    function: Callable[Arguments, T], *, waits: Cancellation | None = None
) -> Callable[Arguments, T]:
    """Return a function for a thread pool that can be cancelled with the work in this thread.

    To cancel ``waits`` ends its waits (`check_wait`), but no call that is in progress, which is
    paid for. Wrap it for each submission, since two threads cannot share the context.
    """
    context = contextvars.copy_context()
    if waits is not None:
        context.run(_waits.set, waits)
    return partial(context.run, function)


def run_apart(function: Callable[[], T]) -> T:
    """Run a call that cannot be interrupted in a thread of its own, and return its result.

    Raises Cancelled while the call runs. It then ends by itself, and its result is dropped: use
    this only for calls that change nothing. Outside a scope, the call runs in this thread.
    """
    if _current.get() is _NEVER:
        return function()
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  raised by `wait_for`
            future.set_exception(error)

    # A daemon, so that the process can end before the call does.
    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="knotwork-call", daemon=True).start()
    return wait_for(future)


def sleep(seconds: float) -> None:
    """Wait this long. Raises Cancelled as soon as the work must stop, or must not wait."""
    current = _current.get()
    if current is _waits.get() is _NEVER:
        time.sleep(seconds)
        return
    end = time.monotonic() + seconds
    while True:
        current.check()
        check_wait()
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, _POLL_S))
