"""The asynchronous knowledge base: each method runs in a worker thread beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Generator,
    Iterator,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from knotwork._cancellation import Cancellation
from knotwork._knowledge_base.base import KnowledgeBase
from knotwork._knowledge_base.base import open as open_knowledge_base
from knotwork._knowledge_base.communities import Communities
from knotwork._knowledge_base.entities import Entities
from knotwork._knowledge_base.graph import KnowledgeGraph
from knotwork._knowledge_base.tables import Tables
from knotwork.errors import StoreError

Arguments = ParamSpec("Arguments")
T = TypeVar("T")
Blocking = TypeVar("Blocking")

THREADS = 8
AHEAD_ITEMS = 16
"""How many events a run may be ahead of its consumer."""


class WorkerThreads:
    """The threads of one knowledge base: as many for calls as for runs that yield events.

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
        work = partial(_call_cancellably, function, cancellation)
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

    async def iterate(self, begin: Callable[[], Iterator[T]]) -> AsyncGenerator[T]:
        """Yield the items of the generator that ``begin`` returns, run in one thread.

        Raises StoreError if the threads are closed before the generator ends.
        """
        loop = asyncio.get_running_loop()
        channel: _Channel[T] = _Channel(loop)
        job = self._runs.submit(contextvars.copy_context().run, channel.fill, begin)
        job.add_done_callback(lambda _: loop.call_soon_threadsafe(channel.end))
        self._stops.add(channel.stop)
        try:
            async for item in channel.items():
                yield item
            if channel.is_stopped:
                raise StoreError("The index was closed before this call had finished.")
        finally:
            channel.stop()
            self._stops.discard(channel.stop)
            if not job.cancel():
                await asyncio.shield(asyncio.wrap_future(job))

    def stop_runs(self) -> None:
        """Make all runs and calls stop."""
        for stop in tuple(self._stops):
            stop()

    def close(self) -> None:
        """Wait for every thread."""
        self._runs.shutdown()
        self._calls.shutdown()


class AwaitableMembers(Generic[Blocking]):
    """An object whose methods run those of another in worker threads, under the same names."""

    def __init__(self, blocking: Blocking, workers: WorkerThreads) -> None:
        self._blocking = blocking
        self._workers = workers


def awaited(
    method: Callable[Concatenate[Blocking, Arguments], T], *, waits: bool = False
) -> Callable[Concatenate[AwaitableMembers[Blocking], Arguments], Coroutine[Any, Any, T]]:
    """Return the method that awaits this one; ``waits`` is as for `WorkerThreads.call`."""

    @wraps(method)
    async def call(
        self: AwaitableMembers[Blocking], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        bound: Callable[Arguments, T] = getattr(self._blocking, method.__name__)
        return await self._workers.call(partial(bound, *args, **kwargs), waits=waits)

    return call


def iterated(
    method: Callable[Concatenate[Blocking, Arguments], Iterator[T]],
) -> Callable[Concatenate[AwaitableMembers[Blocking], Arguments], AsyncGenerator[T]]:
    """Return the method that yields the events of this one."""

    @wraps(method)
    def iterate(
        self: AwaitableMembers[Blocking], /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> AsyncGenerator[T]:
        bound: Callable[Arguments, Iterator[T]] = getattr(self._blocking, method.__name__)
        return self._workers.iterate(partial(bound, *args, **kwargs))

    return iterate


class AsyncKnowledgeGraph(AwaitableMembers[KnowledgeGraph]):
    """The graph of the index; each method awaits its namesake of `KnowledgeGraph`."""

    cypher = awaited(KnowledgeGraph.cypher)
    explore = awaited(KnowledgeGraph.explore)
    describe = awaited(KnowledgeGraph.describe)
    links = awaited(KnowledgeGraph.links)
    dead_links = awaited(KnowledgeGraph.dead_links)
    conflicts = awaited(KnowledgeGraph.conflicts)
    shortest_paths = awaited(KnowledgeGraph.shortest_paths)
    import_files = awaited(KnowledgeGraph.import_files, waits=True)
    import_graph = awaited(KnowledgeGraph.import_graph)
    import_events = iterated(KnowledgeGraph.import_events)
    query = awaited(KnowledgeGraph.query)
    connect = awaited(KnowledgeGraph.connect)
    disconnect = awaited(KnowledgeGraph.disconnect)
    connections = awaited(KnowledgeGraph.connections)
    mirror = awaited(KnowledgeGraph.mirror, waits=True)
    mirror_events = iterated(KnowledgeGraph.mirror_events)
    verify_mirror = awaited(KnowledgeGraph.verify_mirror, waits=True)
    verify_events = iterated(KnowledgeGraph.verify_events)


class AsyncEntities(AwaitableMembers[Entities]):
    """The aliases and homonyms of the index; each method awaits its namesake of `Entities`."""

    aliases = awaited(Entities.aliases)
    homonyms = awaited(Entities.homonyms)
    find_aliases = awaited(Entities.find_aliases)
    merge = awaited(Entities.merge)
    split = awaited(Entities.split)


class AsyncCommunities(AwaitableMembers[Communities]):
    """The communities of the index; each method awaits its namesake of `Communities`."""

    is_current = awaited(Communities.is_current)
    update = awaited(Communities.update)
    list = awaited(Communities.list)
    stored = awaited(Communities.stored)
    member_names = awaited(Communities.member_names)


class AsyncTables(AwaitableMembers[Tables]):
    """The tables beside the index; each method awaits its namesake of `Tables`."""

    list = awaited(Tables.list)
    query = awaited(Tables.query)
    add = awaited(Tables.add)
    remove = awaited(Tables.remove)


class AsyncKnowledgeBase(AwaitableMembers[KnowledgeBase]):
    """A knowledge base for asyncio: each method awaits its namesake of `KnowledgeBase`.

    So do the methods of its parts. Attributes, such as the store and the settings, are those of
    ``knowledge_base``.

    Calls run in at most ``threads`` worker threads. Runs that yield events have as many threads of
    their own, so that calls made while a run is open cannot starve; further ones are queued.
    Cancelling a call, or closing events early (with `contextlib.aclosing`), stops it within about
    two seconds. What it has finished is kept, and a change that it has begun is rolled back. A call
    that has events, such as `index`, has stopped when its cancelled task ends.
    """

    graph: AsyncKnowledgeGraph
    """The awaitable methods of `KnowledgeBase.graph`."""
    entities: AsyncEntities
    """The awaitable methods of `KnowledgeBase.entities`."""
    communities: AsyncCommunities
    """The awaitable methods of `KnowledgeBase.communities`."""
    tables: AsyncTables
    """The awaitable methods of `KnowledgeBase.tables`."""

    def __init__(self, knowledge_base: KnowledgeBase, *, threads: int = THREADS) -> None:
        super().__init__(knowledge_base, WorkerThreads(threads))
        self.knowledge_base = knowledge_base
        self.graph = AsyncKnowledgeGraph(knowledge_base.graph, self._workers)
        self.entities = AsyncEntities(knowledge_base.entities, self._workers)
        self.communities = AsyncCommunities(knowledge_base.communities, self._workers)
        self.tables = AsyncTables(knowledge_base.tables, self._workers)

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

    index = awaited(KnowledgeBase.index, waits=True)
    index_events = iterated(KnowledgeBase.index_events)
    watch = iterated(KnowledgeBase.watch)
    index_documents = awaited(KnowledgeBase.index_documents)
    estimate = awaited(KnowledgeBase.estimate)
    import_from = awaited(KnowledgeBase.import_from)
    delete = awaited(KnowledgeBase.delete)
    embed = awaited(KnowledgeBase.embed, waits=True)
    embed_events = iterated(KnowledgeBase.embed_events)
    search = awaited(KnowledgeBase.search)
    ask = awaited(KnowledgeBase.ask, waits=True)
    ask_events = iterated(KnowledgeBase.ask_events)
    fields = awaited(KnowledgeBase.fields)
    filtered_store = awaited(KnowledgeBase.filtered_store)
    backup = awaited(KnowledgeBase.backup, waits=True)
    backup_events = iterated(KnowledgeBase.backup_events)
    copy = awaited(KnowledgeBase.copy, waits=True)
    copy_events = iterated(KnowledgeBase.copy_events)
    export_wiki = awaited(KnowledgeBase.export_wiki, waits=True)
    export_wiki_events = iterated(KnowledgeBase.export_wiki_events)
    document = awaited(KnowledgeBase.document)
    documents = awaited(KnowledgeBase.documents)
    stats = awaited(KnowledgeBase.stats)


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


def _call_cancellably(function: Callable[[], T], cancellation: Cancellation) -> T:
    try:
        with cancellation.scope():
            return function()
    except KeyboardInterrupt:
        if not cancellation.is_cancelled:
            raise
        # Raised where the result is awaited. A KeyboardInterrupt there would end the event loop.
        raise StoreError("The index was closed before this call had finished.") from None


class _Channel(Generic[T]):
    """A bounded queue from a worker thread to an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: asyncio.Queue[tuple[T] | None] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD_ITEMS)
        self._cancellation = Cancellation()

    @property
    def is_stopped(self) -> bool:
        """Whether the consumer wants no more items."""
        return self._cancellation.is_cancelled

    def fill(self, begin: Callable[[], Iterator[T]]) -> None:
        """Run the generator in the worker thread until it ends or the channel is stopped."""
        if self.is_stopped:
            return
        try:
            with self._cancellation.scope(), closing(cast("Generator[T]", begin())) as made:
                for item in made:
                    self._room.acquire()
                    if self.is_stopped:
                        return
                    self._loop.call_soon_threadsafe(self._waiting.put_nowait, (item,))
        except KeyboardInterrupt:
            if not self.is_stopped:
                raise

    def end(self) -> None:
        """Signal the consumer that there are no more items."""
        self._waiting.put_nowait(None)

    def stop(self) -> None:
        """Make the worker thread stop."""
        self._cancellation.cancel()
        self._room.release()

    async def items(self) -> AsyncIterator[T]:
        """Yield the items in order until `end`."""
        while (item := await self._waiting.get()) is not None:
            self._room.release()
            yield item[0]
