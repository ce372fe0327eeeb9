"""The asynchronous knowledge base: each method runs in a worker thread beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial, update_wrapper, wraps
from typing import Any, Generic, ParamSpec, Self, TypeVar, cast

from knotwork._cancellation import Cancellation
from knotwork._knowledge_base.base import KnowledgeBase
from knotwork._knowledge_base.base import open as open_knowledge_base
from knotwork._run import Progress, Run, Verb
from knotwork.errors import StoreError

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

THREADS = 8
AHEAD_ITEMS = 16
"""How many steps a run may be ahead of its consumer."""

_CLOSED = "The index was closed before this call had finished."


class WorkerThreads:
    """The threads of one knowledge base: as many for calls as for runs.

    A run keeps its thread while its consumer works. In one pool for all, as `asyncio.to_thread` has
    it, open runs would leave no thread to the calls that their consumers wait for.
    """

    def __init__(self, threads: int) -> None:
        self._calls = ThreadPoolExecutor(threads, thread_name_prefix="knotwork-call")
        self._runs = ThreadPoolExecutor(threads, thread_name_prefix="knotwork-run")
        self._stops: set[Callable[[], None]] = set()

    async def call(self, function: Callable[[], T], *, waits: bool = False) -> T:
        """Run a function and return its result. If this task is cancelled, the function stops.

        With ``waits``, the task ends when the function has stopped.
        """
        cancellation = Cancellation()

        def work() -> T:
            try:
                with cancellation.scope():
                    return function()
            except KeyboardInterrupt:
                if not cancellation.is_cancelled:
                    raise
                # Raised where the result is awaited: a KeyboardInterrupt there would end the loop.
                raise StoreError(_CLOSED) from None

        job = self._calls.submit(contextvars.copy_context().run, work)
        self._stops.add(cancellation.cancel)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            cancellation.cancel()
            if waits and not job.cancelled():
                await asyncio.gather(asyncio.wrap_future(job), return_exceptions=True)
            raise
        finally:
            self._stops.discard(cancellation.cancel)

    async def iterate(self, run: Run[T]) -> AsyncGenerator[Progress]:
        """Yield the steps of a run, which are done in one thread.

        Raises StoreError if the threads are closed before the run ends.
        """
        loop = asyncio.get_running_loop()
        waiting: asyncio.Queue[Progress | None] = asyncio.Queue()
        room = threading.Semaphore(AHEAD_ITEMS)
        cancellation = Cancellation()

        def stop() -> None:
            cancellation.cancel()
            room.release()

        def work() -> None:
            try:
                with cancellation.scope(), run:
                    for step in run if not cancellation.is_cancelled else ():
                        room.acquire()
                        if cancellation.is_cancelled:
                            return
                        loop.call_soon_threadsafe(waiting.put_nowait, step)
            except KeyboardInterrupt:
                if not cancellation.is_cancelled:
                    raise

        job = self._runs.submit(contextvars.copy_context().run, work)
        job.add_done_callback(lambda _: loop.call_soon_threadsafe(waiting.put_nowait, None))
        self._stops.add(stop)
        try:
            while (step := await waiting.get()) is not None:
                room.release()
                yield step
            if cancellation.is_cancelled:
                raise StoreError(_CLOSED)
        finally:
            stop()
            self._stops.discard(stop)
            if job.cancel():
                run.close()
            else:
                await asyncio.shield(asyncio.wrap_future(job))

    def stop_runs(self) -> None:
        """Make all runs and calls stop."""
        for stop in tuple(self._stops):
            stop()

    def close(self) -> None:
        """Wait for every thread."""
        self._runs.shutdown()
        self._calls.shutdown()


class AsyncRun(Generic[T]):
    """A `Run` in a worker thread: ``async for`` yields its steps, and `result` does the rest."""

    def __init__(self, run: Run[T], workers: WorkerThreads) -> None:
        self._run = run
        self._steps = workers.iterate(run)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Progress:
        return await anext(self._steps)

    async def result(self) -> T:
        """Do what is left, and return the result. Raises as `Run.result`."""
        async for _ in self._steps:
            pass
        return self._run.result()

    async def aclose(self) -> None:
        """Stop the run, and wait until it has stopped."""
        await self._steps.aclose()


class AsyncVerb(Generic[Arguments, T]):
    """A `Verb` in a worker thread: await its call for the result, or `run` it step by step."""

    def __init__(self, verb: Verb[Arguments, T], workers: WorkerThreads) -> None:
        self._verb = verb
        self._workers = workers
        update_wrapper(self, verb)

    async def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> T:
        """Do all of the work, and return its result."""
        return await self._workers.call(partial(self._verb, *args, **kwargs), waits=True)

    def run(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> AsyncRun[T]:
        """Return the work as a run, which yields its progress."""
        return AsyncRun(self._verb.run(*args, **kwargs), self._workers)


class AsyncMembers:
    """An object whose methods run those of another in worker threads, under the same names."""

    def __init__(self, blocking: object, workers: WorkerThreads) -> None:
        self._blocking = blocking
        self._workers = workers

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a method of any kind
        member = None if name.startswith("_") else getattr(type(self._blocking), name, None)
        if isinstance(member, Verb):
            return AsyncVerb(getattr(self._blocking, name), self._workers)
        if not callable(member):
            raise AttributeError(  # noqa: TRY004 - what `getattr` must raise
                f"`{name}` is not a method of {type(self._blocking).__name__}."
            )
        method = getattr(self._blocking, name)

        @wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - those of the method
            return await self._workers.call(partial(method, *args, **kwargs))

        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(type(self._blocking))})


class AsyncKnowledgeBase(AsyncMembers):
    """A knowledge base for asyncio: each method awaits its namesake of `KnowledgeBase`.

    So do the methods of its parts. Attributes, such as the store and the settings, are those of
    ``knowledge_base``.

    Calls run in at most ``threads`` worker threads. Runs have as many threads of their own, so that
    calls made while a run is open cannot starve; further ones are queued. Cancelling a call, or
    closing a run early (with `contextlib.aclosing`), stops it within about two seconds. What it has
    finished is kept, and a change that it has begun is rolled back. A call that has runs, such as
    `index`, has stopped when its cancelled task ends.
    """

    def __init__(self, knowledge_base: KnowledgeBase, *, threads: int = THREADS) -> None:
        super().__init__(knowledge_base, WorkerThreads(threads))
        self.knowledge_base = knowledge_base
        self.graph = AsyncMembers(knowledge_base.graph, self._workers)
        self.entities = AsyncMembers(knowledge_base.entities, self._workers)
        self.communities = AsyncMembers(knowledge_base.communities, self._workers)
        self.tables = AsyncMembers(knowledge_base.tables, self._workers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop all runs and calls, wait for every thread, and close the index."""
        self._workers.stop_runs()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._workers.close()
        self.knowledge_base.close()

    async def call(
        self, function: Callable[Arguments, T], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        """Run any function, such as one that uses ``knowledge_base``, in a worker thread."""
        return await self._workers.call(partial(function, *args, **kwargs))


def _opened(
    begin: Callable[Arguments, KnowledgeBase],
) -> Callable[Arguments, AbstractAsyncContextManager[AsyncKnowledgeBase]]:
    @asynccontextmanager
    @wraps(begin, assigned=())
    async def open_async(
        *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> AsyncIterator[AsyncKnowledgeBase]:
        """Open a knowledge base for asyncio as `knotwork.open` does, and close it on exit.

        ``threads`` is as for `AsyncKnowledgeBase`.
        """
        threads = cast("int", kwargs.pop("threads", THREADS))
        opened = await asyncio.to_thread(begin, *args, **kwargs)
        async with AsyncKnowledgeBase(opened, threads=threads) as knowledge_base:
            yield knowledge_base

    return open_async


open_async = _opened(open_knowledge_base)
