"""Retrievers as tools that an agent can name, each with a line on what it is for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knotwork.errors import RetrievalError
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.inference.reranking import Reranker
from knotwork.records import Evidence, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.registry import RETRIEVERS, build_retriever
from knotwork.stores.base import Store

DEFAULT_TOOLS = ("graph", "hybrid", "bm25")
"""What an agent has where nothing else is said; the first is tried first."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A retriever under a name; ``summary`` tells a planner what it is for."""

    name: str
    summary: str
    retriever: Retriever

    def search(self, text: str, *, k: int) -> Evidence:
        """Return what the retriever finds for a text."""
        return self.retriever.retrieve(Query(text, k))


def make_tools(
    names: Sequence[str],
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
    options: Mapping[str, Mapping[str, object]] | None = None,
) -> dict[str, Tool]:
    """Return tools by name, in the order of the names.

    ``options`` are those of retrievers, by name. Raises as `build_retriever`, and RetrievalError
    without a name.
    """
    if not names:
        raise RetrievalError("An agent needs at least one tool.")
    return {
        name: Tool(
            name,
            RETRIEVERS[name].summary if name in RETRIEVERS else name,
            build_retriever(
                name,
                store=store,
                embedder=embedder,
                model=model,
                reranker=reranker,
                options=(options or {}).get(name),
            ),
        )
        for name in names
    }
