"""An asynchronous knowledge base: every method runs in worker threads beside the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, closing
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Generic, ParamSpec, Self, TypeVar, Unpack, cast

from knotwork._config import Settings
from knotwork._indexing.report import EventKind, IndexEvent, IndexReport
from knotwork._inference.chat import ChatModel
from knotwork._inference.cross_encoders import Reranker
from knotwork._inference.embedder import Embedder
from knotwork._knowledge_base.base import KnowledgeBase, Statistics
from knotwork._knowledge_base.base import open as open_knowledge_base
from knotwork._stores.base import LedgerEntry
from knotwork._stores.property_graphs import OWN_GRAPH
from knotwork.errors import StoreError
from knotwork.records import Answer, Direction, Document, Evidence, GraphPath, QueryResult, Subgraph
from knotwork.records._query_results import PropertyValue

if TYPE_CHECKING:
    from knotwork._indexing.communities.index_reports import Topic
    from knotwork._indexing.reembedding import EmbedEvent, EmbedReport
    from knotwork._indexing.resolution.resolver import SameNames
    from knotwork._indexing.runs import IndexOptions
    from knotwork._retrieval.filter_parser import FilterSpec
    from knotwork._stores.fields import FieldInfo
    from knotwork._synthesis.ask_request import AskEvent, AskOptions, AskRequest


Arguments = ParamSpec("Arguments")
T = TypeVar("T")

THREADS = 8
AHEAD_ITEMS = 16
"""How many events a run may be ahead of its consumer."""


class AsyncKnowledgeBase:
    """A knowledge base for asyncio: each method awaits its namesake of `KnowledgeBase`.

    Calls run in at most ``threads`` worker threads. Runs with events (`ask`, `index`, `embed`) have
    as many threads of their own, so that calls made while a run is open cannot starve; further ones
    are queued. Cancelling `ask` or `index`, or closing their events early (with
    `contextlib.aclosing`), stops the run at its next step and keeps what it has finished. Any other
    cancelled call continues in its thread, and its result is dropped.
    """

    def __init__(self, knowledge_base: KnowledgeBase, *, threads: int = THREADS) -> None:
        self.knowledge_base = knowledge_base
        self._calls = ThreadPoolExecutor(threads, thread_name_prefix="knotwork-call")
        self._runs = ThreadPoolExecutor(threads, thread_name_prefix="knotwork-run")
        self._stops: set[Callable[[], None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop all runs at their next step, wait for every thread, and close the index."""
        for stop in tuple(self._stops):
            stop()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._runs.shutdown()
        self._calls.shutdown()
        self.knowledge_base.close()

    async def call(
        self, function: Callable[Arguments, T], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        """Run any function, such as a method of ``knowledge_base``, in a worker thread."""
        context = contextvars.copy_context()
        bound = partial(context.run, partial(function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._calls, bound)

    async def index(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> IndexReport:
        """Update the index from files: see `KnowledgeBase.index`."""
        async with aclosing(self.index_events(paths, **options)) as events:
            report = [e.report async for e in events if e.kind is EventKind.FINISHED]
        return cast("IndexReport", report[-1])

    def index_events(
        self, paths: str | Path | Sequence[str | Path], **options: Unpack[IndexOptions]
    ) -> AsyncGenerator[IndexEvent]:
        """Yield each step of `index`: see `KnowledgeBase.index_events`."""
        return self._run(partial(self.knowledge_base.index_events, paths, **options))

    async def index_documents(
        self,
        documents: Iterable[Document],
        *,
        remove_others: bool = False,
        **options: Unpack[IndexOptions],
    ) -> IndexReport:
        """Update the index from documents in memory: see `KnowledgeBase.index_documents`."""
        run = self.knowledge_base.index_documents
        return await self.call(run, documents, remove_others=remove_others, **options)

    async def embed(self, model: str | Embedder = "") -> EmbedReport:
        """Embed the index again with another model: see `KnowledgeBase.embed`."""
        async with aclosing(self.embed_events(model)) as events:
            reports = [event.report async for event in events if event.report is not None]
        return reports[-1]

    def embed_events(self, model: str | Embedder = "") -> AsyncGenerator[EmbedEvent]:
        """Yield each step of `embed`: see `KnowledgeBase.embed_events`."""
        return self._run(partial(self.knowledge_base.embed_events, model))

    async def delete(self, names: str | Path | Iterable[str | Path]) -> tuple[str, ...]:
        """Remove documents, and return their uris: see `KnowledgeBase.delete`."""
        return await self.call(self.knowledge_base.delete, names)

    async def search(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
    ) -> Evidence:
        """Return the passages that are relevant to a question: see `KnowledgeBase.search`."""
        return await self.call(
            self.knowledge_base.search,
            question,
            retriever=retriever,
            k=k,
            filters=filters,
            min_score=min_score,
            retrieval_query=retrieval_query,
            query_params=query_params,
        )

    async def fields(self) -> list[FieldInfo]:
        """Return the fields that filters can compare: see `KnowledgeBase.fields`."""
        return await self.call(self.knowledge_base.fields)

    async def ask(self, question: str | AskRequest, **options: Unpack[AskOptions]) -> Answer:
        """Answer a question from the documents: see `KnowledgeBase.ask`."""
        async with aclosing(self.ask_events(question, **options)) as events:
            answers = [event.answer async for event in events if event.answer is not None]
        return answers[-1]

    def ask_events(
        self, question: str | AskRequest, **options: Unpack[AskOptions]
    ) -> AsyncGenerator[AskEvent]:
        """Yield each step of `ask`: see `KnowledgeBase.ask_events`."""
        return self._run(partial(self.knowledge_base.ask_events, question, **options))

    async def explore(
        self,
        names: str | Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
    ) -> Subgraph:
        """Walk the graph from entities by name: see `KnowledgeBase.explore`."""
        walk = self.knowledge_base.explore
        return await self.call(walk, names, direction=direction, depth=depth, fan=fan, limit=limit)

    async def paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths between two names: see `KnowledgeBase.paths`."""
        return await self.call(self.knowledge_base.paths, one, other, limit=limit)

    async def communities(
        self, about: str = "", *, level: int | None = None, limit: int = 20, rebuild: bool = False
    ) -> list[Topic]:
        """Return communities with their reports: see `KnowledgeBase.communities`."""
        find = self.knowledge_base.communities
        return await self.call(find, about, level=level, limit=limit, rebuild=rebuild)

    async def same_names(self, about: str | Sequence[str] = ()) -> SameNames:
        """Return entities with several names, and the decisions: see `KnowledgeBase.same_names`."""
        return await self.call(self.knowledge_base.same_names, about)

    async def cypher(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        graph: str = OWN_GRAPH,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a read-only openCypher statement: see `KnowledgeBase.cypher`."""
        run = self.knowledge_base.cypher
        return await self.call(
            run, statement, parameters, graph=graph, row_limit=row_limit, timeout_s=timeout_s
        )

    async def documents(self) -> list[LedgerEntry]:
        """Return the ledger entries of all sources: see `KnowledgeBase.documents`."""
        return await self.call(self.knowledge_base.documents)

    async def stats(self) -> Statistics:
        """Return the size and schema of the index: see `KnowledgeBase.stats`."""
        return await self.call(self.knowledge_base.stats)

    async def _run(self, begin: Callable[[], Iterator[T]]) -> AsyncGenerator[T]:
        """Yield the items of the generator that ``begin`` returns, run in one worker thread.

        Raises StoreError if the index is closed before the generator ends.
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


@asynccontextmanager
async def open_async(
    path: str | Path | None = None,
    *,
    threads: int = THREADS,
    settings: Settings | str | Path | None = None,
    read_only: bool = False,
    embedder: Embedder | None = None,
    chat_model: ChatModel | None = None,
    reranker: Reranker | None = None,
    **overrides: object,
) -> AsyncIterator[AsyncKnowledgeBase]:
    """Open a knowledge base for asyncio as `knotwork.open` does, and close it on exit."""
    begin = partial(
        open_knowledge_base,
        path,
        settings=settings,
        read_only=read_only,
        embedder=embedder,
        chat_model=chat_model,
        reranker=reranker,
        **overrides,
    )
    async with AsyncKnowledgeBase(await asyncio.to_thread(begin), threads=threads) as opened:
        yield opened


class _Channel(Generic[T]):
    """A bounded queue from a worker thread to an event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: asyncio.Queue[T | _End] = asyncio.Queue()
        self._room = threading.Semaphore(AHEAD_ITEMS)
        self._stopped = threading.Event()

    @property
    def is_stopped(self) -> bool:
        """Whether the consumer wants no more items."""
        return self._stopped.is_set()

    def fill(self, begin: Callable[[], Iterator[T]]) -> None:
        """Run the generator in the worker thread until it ends or the channel is stopped."""
        if self.is_stopped:
            return
        with closing(cast("Generator[T]", begin())) as made:
            for item in made:
                self._room.acquire()
                if self.is_stopped:
                    return
                self._loop.call_soon_threadsafe(self._waiting.put_nowait, item)

    def end(self) -> None:
        """Signal the consumer that there are no more items."""
        self._waiting.put_nowait(_END)

    def stop(self) -> None:
        """Make the worker thread stop at its next item."""
        self._stopped.set()
        self._room.release()

    async def items(self) -> AsyncIterator[T]:
        """Yield the items in order until `end`."""
        while not isinstance(item := await self._waiting.get(), _End):
            self._room.release()
            yield item


class _End:
    """The type of the marker after the last item."""


_END = _End()
