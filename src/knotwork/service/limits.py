"""Limit concurrency and request rate: a bounded worker pool, and a token bucket for each caller."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from contextvars import ContextVar
from functools import partial
from typing import ParamSpec, TypeVar

from knotwork.errors import Overloaded, RequestTimeout, TooManyRequests

P = ParamSpec("P")
T = TypeVar("T")

_RETRY_AFTER_S = 2.0

holding: ContextVar[Callable[[], Callable[[], None]] | None] = ContextVar("holding", default=None)
"""Called for each function that is run, if set; what it returns is called when that is done.

So what a function works on is not closed while it runs, even when nobody waits for it any more.
"""


class Threads:
    """Runs functions that block; safe to use from one event loop.

    ``threads`` run at a time and ``waiting`` more may wait. A function that takes longer than
    ``timeout_s`` is not waited for any more, and keeps its thread until it is done.
    """

    def __init__(self, *, threads: int, waiting: int, timeout_s: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="knotwork-request")
        self._most = threads + waiting
        self._timeout_s = timeout_s
        self.open = 0

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the function does, or raise what it raises.

        Raises Overloaded when too many wait, RequestTimeout.
        """
        future = self._submit(partial(function, *args, **kwargs))
        try:
            async with asyncio.timeout(self._timeout_s):
                return await future
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise
            raise self._too_slow() from None

    async def iterate(self, make: Callable[[], Iterator[T]]) -> AsyncGenerator[T]:
        """Yield what an iterator yields, which one thread makes and runs through.

        Whoever stops early ends the iterator at its next item. Raises as `run`.
        """
        loop = asyncio.get_running_loop()
        queue: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
        stopped = False

        def put(item: tuple[T] | None) -> None:
            with suppress(RuntimeError):  # the loop is gone: so is whoever waits
                loop.call_soon_threadsafe(queue.put_nowait, item)

        def work() -> None:
            try:
                with closing(make()) as items:  # type: ignore[type-var]
                    for item in items:
                        if stopped:
                            return
                        put((item,))
            finally:
                put(None)

        future = self._submit(work)
        # Not one timeout around all: each item may be asked for by another task.
        end = loop.time() + self._timeout_s
        try:
            while (item := await self._next(queue, end - loop.time())) is not None:
                yield item[0]
            await future
        finally:
            stopped = True
            future.add_done_callback(_forget)

    def close(self) -> None:
        """Let those that run finish, and run no more."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _submit(self, function: Callable[[], T]) -> asyncio.Future[T]:
        if self.open >= self._most:
            raise Overloaded(
                f"{self.open:,} requests are worked on or wait, and no more are taken.",
                fix="Try again in a moment.",
                retry_after_s=_RETRY_AFTER_S,
            )
        self.open += 1
        loop = asyncio.get_running_loop()
        hold = holding.get()
        let_go = hold() if hold is not None else None
        try:
            running = self._pool.submit(contextvars.copy_context().run, function)
        except RuntimeError:
            self.open -= 1
            if let_go is not None:
                let_go()
            raise Overloaded("The server is stopping.", fix="Try again later.") from None

        def finished(_: object) -> None:
            if let_go is not None:
                let_go()
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(self._count_down)

        # Counted when the work ends, not when nobody waits for it any more.
        running.add_done_callback(finished)
        return asyncio.wrap_future(running)

    async def _next(self, queue: asyncio.Queue[tuple[T] | None], left_s: float) -> tuple[T] | None:
        try:
            return await asyncio.wait_for(queue.get(), left_s)
        except TimeoutError:
            raise self._too_slow() from None

    def _count_down(self) -> None:
        self.open -= 1

    def _too_slow(self) -> RequestTimeout:
        return RequestTimeout(
            f"The request took longer than {self._timeout_s:g} s.",
            fix="Ask for less, or raise service.timeout_s.",
            retry_after_s=_RETRY_AFTER_S,
        )


def _forget(future: asyncio.Future[None]) -> None:
    """Look at the error of what nobody waits for, so that it is not reported as overlooked."""
    if not future.cancelled():
        future.exception()


_MOST_CALLERS = 10_000
_MINUTE_S = 60.0


class RateLimiter:
    """Lets each caller ask ``per_minute`` times, a sixth of that at once; 0 is no limit.

    Used by one thread. Callers that have long been silent are forgotten.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / _MINUTE_S
        self._burst = max(per_minute / 6, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count a request. Raises TooManyRequests, which says when the next one is free."""
        if not self._rate:
            return
        now = self._clock()
        level = self._level(caller, now)
        if level < 1:
            raise TooManyRequests(
                f"More than {self._rate * _MINUTE_S:.0f} requests in a minute.",
                fix="Ask more slowly, or raise service.requests_per_minute.",
                retry_after_s=(1 - level) / self._rate,
            )
        self._buckets[caller] = level - 1, now
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)

    def _level(self, caller: str, now: float) -> float:
        level, then = self._buckets.get(caller, (self._burst, now))
        return min(self._burst, level + (now - then) * self._rate)
