"""The session of an MCP request: its key and workspace, and the knowledge base its tools use."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar, Unpack

from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Direction, Evidence, GraphPath, PropertyValue, Subgraph
from knotwork.retrieval.filter_parser import FilterSpec
from knotwork.service.access import lease
from knotwork.service.keys import AccessKey
from knotwork.service.questions import ask_events, check_question, search
from knotwork.service.server import Service
from knotwork.service.workspaces import Workspace
from knotwork.synthesis.ask_request import AskEvent, AskRequest

if TYPE_CHECKING:
    from knotwork.indexing.communities.index_reports import Topic
    from knotwork.synthesis.ask_request import AskOptions


Arguments = ParamSpec("Arguments")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class McpSession:
    """Who asks in a request, and which workspace."""

    server: Service
    key: AccessKey
    workspace: str


current_session: ContextVar[McpSession] = ContextVar("seat")
_current_workspace: ContextVar[Workspace] = ContextVar("leased")


def current_workspace() -> Workspace:
    """Return the workspace, within what `SeatedKnowledgeBase.call` runs."""
    return _current_workspace.get()


class SessionKnowledgeBase:
    """The knowledge base of the seat of each request, which its calls alone keep open.

    A `Backing` of the tools. Nothing is brought up to date here: jobs do that.
    """

    @property
    def knowledge_base(self) -> KnowledgeBase:
        """The knowledge base, within what `call` runs."""
        return _current_workspace.get().base

    async def call(
        self, function: Callable[Arguments, T], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        """Run a function in a thread of the server; raises as `Threads.run`."""
        here = current_session.get()
        with lease(here.server, here.workspace) as workspace:

            def run() -> T:
                _current_workspace.set(workspace)
                return function(*args, **kwargs)

            return await here.server.threads.run(run)

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
        """Return the passages that bear on a question."""
        here = current_session.get()
        wanted = AskRequest(
            question,
            retriever,
            k,
            filters=filters,
            min_score=min_score,
            retrieval_query=retrieval_query,
            query_params=query_params,
        )
        asked = check_question(here.server, here.key, wanted)

        def find() -> Evidence:
            return search(_current_workspace.get(), asked)[0]

        return await self.call(find)

    async def ask_events(
        self, question: str, **options: Unpack[AskOptions]
    ) -> AsyncGenerator[AskEvent]:
        """Answer a question within the limits of the server, and yield every step."""
        here = current_session.get()
        asked = check_question(here.server, here.key, AskRequest(question, **options))
        with lease(here.server, here.workspace) as workspace:
            make: Callable[[], Iterator[AskEvent]]
            make = partial(ask_events, here.server, workspace, asked)
            async with aclosing(here.server.threads.iterate(make)) as events:
                async for event in events:
                    yield event

    async def explore(
        self,
        names: str | Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
    ) -> Subgraph:
        """Walk the graph from entities by name."""

        def walk() -> Subgraph:
            base = self.knowledge_base
            return base.explore(names, direction=direction, depth=depth, fan=fan, limit=limit)

        return await self.call(walk)

    async def paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths between two names."""

        def find() -> list[GraphPath]:
            return self.knowledge_base.paths(one, other, limit=limit)

        return await self.call(find)

    async def communities(
        self, about: str = "", *, level: int | None = None, limit: int = 20
    ) -> list[Topic]:
        """Return communities with their reports, as they are."""

        def find() -> list[Topic]:
            return self.knowledge_base.topics(about, level=level, limit=limit)

        return await self.call(find)
