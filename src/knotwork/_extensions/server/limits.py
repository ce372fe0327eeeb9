"""Limit what callers use: threads, requests per minute, bytes being received, and log messages."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from knotwork._indexing.loaders.loader import format_size
from knotwork.errors import Overloaded, RequestTimeout, TooManyRequests

P = ParamSpec("P")
T = TypeVar("T")

_RETRY_AFTER_S = 2.0

holding: ContextVar[Callable[[], Callable[[], None]] | None] = ContextVar("holding", default=None)
"""If set, called for each function that starts; the result is called when the function ends.

This keeps a workspace open while a function uses it, even after the request has timed out.
"""


calling: ContextVar[str] = ContextVar("calling", default="")
"""The caller of the current request, for `Threads` to share its threads between callers."""


class Threads:
    """Run blocking functions in threads, for one event loop.

    ``threads`` functions run at a time, and ``waiting`` more may wait. One caller gets at most
    three quarters of the threads, and its other functions wait for these, so that there is one for
    everybody else. After ``timeout_s`` the caller gets an error, but the function keeps its thread
    until it returns.
    """

    def __init__(self, *, threads: int, waiting: int, timeout_s: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="knotwork-request")
        self._free = asyncio.Semaphore(threads)
        self._share = threads - threads // 4
        self._shares: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._most = threads + waiting
        self._timeout_s = timeout_s
        self._is_closed = False
        self.open = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a thread, and return or raise what it does.

        Raises Overloaded if too many are waiting, RequestTimeout.
        """
        async with self._begin(partial(function, *args, **kwargs)) as work:
            try:
                async with asyncio.timeout(self._timeout_s):
                    return await asyncio.shield(work)
            except TimeoutError:
                if work.done() and not work.cancelled():
                    raise
                raise self._too_slow() from None

    async def iterate(self, make: Callable[[], Iterator[T]]) -> AsyncGenerator[T]:
        """Create an iterator in a thread, and yield its items.

        If the caller stops early, the iterator ends at its next item. Raises like `run`.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
        stopped = False

        def put(item: tuple[T] | None) -> None:
            with suppress(RuntimeError):  # the event loop is closed, and nobody waits
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work_through() -> None:
            try:
                with closing(make()) as items:  # type: ignore[type-var]
                    for item in items:
                        if stopped:
                            return
                        put((item,))
            finally:
                put(None)

        # Not one timeout around the loop: each item may be awaited by a different task.
        end = loop.time() + self._timeout_s
        async with self._begin(work_through) as work:
            try:
                while True:
                    try:
                        item = await asyncio.wait_for(queue.get(), end - loop.time())
                    except TimeoutError:
                        raise self._too_slow() from None
                    if item is None:
                        break
                    yield item[0]
                await work
            finally:
                stopped = True

    def close(self) -> None:
        """Begin no more functions, and wait for those that run."""
        self._is_closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)

    @asynccontextmanager
    async def _begin(self, function: Callable[[], T]) -> AsyncIterator[asyncio.Task[T]]:
        """Let a function run for the block; unless it has begun by its end, it never does."""
        if self._is_closed:
            raise Overloaded("The server is stopping.", fix="Try again later.")
        if self.open >= self._most:
            raise Overloaded(
                f"The server is busy with {self.open:,} requests.",
                fix="Try again in a moment.",
                retry_after_s=_RETRY_AFTER_S,
            )
        self.open += 1
        hold, share = holding.get(), asyncio.Semaphore(self._share)
        share = self._shares.setdefault(calling.get(), share)
        release = hold() if hold is not None else lambda: None
        in_context = partial(contextvars.copy_context().run, function)
        has_begun = False

        async def work() -> T:
            nonlocal has_begun
            async with share, self._free:
                has_begun = True
                return await asyncio.get_running_loop().run_in_executor(self._pool, in_context)

        def end(ended: asyncio.Task[T]) -> None:
            self.open -= 1
            release()  # when the work ends, not when the caller stops waiting
            if not ended.cancelled():
                ended.exception()  # retrieved, so that asyncio does not log it

        task = asyncio.create_task(work())
        task.add_done_callback(end)
        try:
            yield task
        finally:
            if not has_begun:
                task.cancel()
                await asyncio.wait([task])

    def _too_slow(self) -> RequestTimeout:
        return RequestTimeout(
            f"The request took longer than {self._timeout_s:g} s.",
            fix="Request less, or raise service.timeout_s.",
            retry_after_s=_RETRY_AFTER_S,
        )


_MOST_CALLERS = 10_000
_MINUTE_S = 60.0


class RateLimiter:
    """A token bucket per caller: ``per_minute`` requests, a sixth of them at once; 0 for no limit.

    Not thread-safe. The callers that have been idle longest are dropped.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / _MINUTE_S
        self._burst = max(per_minute / 6, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count a request. Raises TooManyRequests with the time until the next one is allowed."""
        if not self._rate:
            return
        now = self._clock()
        tokens, updated = self._buckets.get(caller, (self._burst, now))
        level = min(self._burst, tokens + (now - updated) * self._rate)
        if level < 1:
            raise TooManyRequests(
                f"More than {self._rate * _MINUTE_S:.0f} requests per minute.",
                fix="Slow down, or raise service.requests_per_minute.",
                retry_after_s=(1 - level) / self._rate,
            )
        self._buckets[caller] = level - 1, now
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)


class ByteQuota:
    """A limit on bytes held at a time: by all clients, and by each one. Not thread-safe.

    ``what`` names the bytes in errors, as in "uploads".
    """

    def __init__(self, most: int, most_per_client: int, what: str) -> None:
        self._most = most
        self._most_per_client = most_per_client
        self._what = what
        self._clients: Counter[str] = Counter()

    @property
    def held(self) -> int:
        """The number of bytes held by all clients."""
        return self._clients.total()

    def check(self, client: str, size: int) -> None:
        """Raise TooManyRequests or Overloaded if a client may not hold ``size`` more bytes."""
        if self._clients[client] + size > self._most_per_client:
            raise TooManyRequests(
                f"This client is sending more than {format_size(self._most_per_client)} of "
                f"{self._what} at a time.",
                fix="Send less at a time, or wait until earlier requests have ended.",
                retry_after_s=_RETRY_AFTER_S,
            )
        if self.held + size > self._most:
            raise Overloaded(
                f"The server is receiving {format_size(self.held)} of {self._what} already.",
                fix="Try again in a moment.",
                retry_after_s=_RETRY_AFTER_S,
            )

    @contextmanager
    def hold(self, client: str) -> Iterator[HeldBytes]:
        """Count the bytes of one request until the block ends."""
        held = HeldBytes(self, client)
        try:
            yield held
        finally:
            held.release(held.size)

    def count(self, client: str, size: int) -> None:
        """Change the number of bytes that a client holds by ``size``."""
        self._clients[client] += size
        if self._clients[client] <= 0:
            del self._clients[client]


@dataclass(slots=True)
class HeldBytes:
    """The bytes that one request holds of a `ByteQuota`."""

    quota: ByteQuota
    client: str
    size: int = 0

    def add(self, size: int) -> None:
        """Hold more bytes; raises like `ByteQuota.check`."""
        self.quota.check(self.client, size)
        self.release(-size)

    def release(self, size: int) -> None:
        """Hold fewer bytes."""
        self.quota.count(self.client, -size)
        self.size -= size


_INTERVAL_S = 10.0
_MOST_KINDS = 1_000


class QuietLog:
    """Log one message of a kind at a time, and count those that follow within ten seconds.

    A client that is refused again and again must not be able to fill the disk with log lines.
    Not thread-safe, but concurrent use only miscounts.
    """

    def __init__(self, log: logging.Logger, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}

    def write(
        self, level: int, kind: str, message: str, *, error: BaseException | None = None
    ) -> None:
        """Log a message, unless one of its ``kind`` was logged less than ten seconds ago.

        ``error`` adds its traceback.
        """
        now = self._clock()
        logged_s, skipped = self._kinds.get(kind, (-_INTERVAL_S, 0))
        if now - logged_s < _INTERVAL_S:
            self._kinds[kind] = logged_s, skipped + 1
            return
        if len(self._kinds) >= _MOST_KINDS:
            self._kinds.clear()
        self._kinds[kind] = now, 0
        more = f" ({skipped:,} more like it before)" if skipped else ""
        self._log.log(level, "%s%s", message, more, exc_info=error)
