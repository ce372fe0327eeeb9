"""Retrievers by name. A new one is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from knotwork.errors import RetrievalError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.basic import Bm25Retriever, DenseRetriever, HybridRetriever
from knotwork.retrieval.graph import GraphRetriever
from knotwork.stores.base import Store


def _make_pagerank(*, store: Store, embedder: Embedder | None = None) -> Retriever:
    """Import what stands on SciPy only when it is asked for: other searches start in less time."""
    from knotwork.retrieval.pagerank import PageRankRetriever

    return PageRankRetriever(store=store, embedder=embedder)


RETRIEVERS: Mapping[str, Callable[..., Retriever]] = {
    "bm25": Bm25Retriever,
    "dense": DenseRetriever,
    "hybrid": HybridRetriever,
    "graph": GraphRetriever,
    "pagerank": _make_pagerank,
}

AUTO = "auto"
AUTO_IS = "graph"
"""What `auto` means: the best retriever on the benchmarks (docs/benchmarks.md)."""


def retriever_names() -> list[str]:
    """Return all valid names, `auto` first."""
    return [AUTO, *sorted(RETRIEVERS)]


def build_retriever(name: str, *, store: Store, embedder: Embedder | None = None) -> Retriever:
    """Build the retriever of this name over a store.

    Raises UnknownName, or RetrievalError when the store or the lack of an embedder rules it out.
    """
    resolved = AUTO_IS if name == AUTO else name
    if resolved not in RETRIEVERS:
        raise UnknownName("retriever", name, retriever_names())
    retriever = RETRIEVERS[resolved](store=store, embedder=embedder)
    missing = retriever.requires - store.capabilities
    if missing:
        needed = ", ".join(f"`{capability}`" for capability in sorted(missing))
        raise RetrievalError(
            f"The retriever `{name}` needs {needed}, which the store {store.url} does not have."
        )
    return retriever
