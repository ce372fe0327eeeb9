"""What the tools and resources ask: a knowledge base, as a server of one or of many gives it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar, Unpack

from knotwork.knowledge_base.base import KnowledgeBase
from knotwork.records import Direction, Evidence, GraphPath, PropertyValue, Subgraph

if TYPE_CHECKING:
    from knotwork.indexing.communities.survey import Topic
    from knotwork.retrieval.filters import FilterSpec
    from knotwork.synthesis.asking import AskOptions
    from knotwork.synthesis.events import AskEvent

Arguments = ParamSpec("Arguments")
T = TypeVar("T")


class Backing(Protocol):
    """The part of `AsyncKnowledgeBase` that tools need; each means what its namesake does.

    A server of several indexes gives one that means, in each request, the index of that request.
    """

    @property
    def knowledge_base(self) -> KnowledgeBase:
        """The knowledge base; asked for only within what `call` runs."""
        ...

    async def call(
        self, function: Callable[Arguments, T], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> T:
        """Run a function in a worker thread."""
        ...

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
        ...

    def ask_events(
        self,
        question: str,
        *,
        retriever: str | None = None,
        k: int | None = None,
        filters: FilterSpec | None = None,
        min_score: float | None = None,
        retrieval_query: str | None = None,
        query_params: Mapping[str, PropertyValue] | None = None,
        **options: Unpack[AskOptions],
    ) -> AsyncGenerator[AskEvent]:
        """Answer a question, and yield every step."""
        ...

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
        ...

    async def paths(self, one: str, other: str, *, limit: int = 5) -> list[GraphPath]:
        """Return the shortest paths between two names."""
        ...

    async def communities(
        self, about: str = "", *, level: int | None = None, limit: int = 20
    ) -> list[Topic]:
        """Return communities with their reports."""
        ...
