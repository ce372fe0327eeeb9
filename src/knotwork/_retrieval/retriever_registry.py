"""The registries of retrievers and steps, and which of them may call a model.

To add a retriever or step, write its class and one row here. Its class is imported when it is
first built, so listing the names imports no retriever. The parameters of its constructor decide
what it is given: see `build_retriever`.
"""

from __future__ import annotations

from dataclasses import replace

from knotwork._registry import Entry, Registry, takes
from knotwork._retrieval.base import Retriever, RetrieverStep
from knotwork._retrieval.specification_grammar import calls_of, parse_specification
from knotwork._stores.base import Store

AUTO = "auto"
AUTO_IS = "graph"
"""The retriever behind `auto`: the best one on the benchmarks (benchmarks/results/retrieval.md)."""
AUTO_OVER_GRAPHS = "paths"
"""The retriever behind `auto` if a graph was imported. Its passages are those of `graph`, unless
the relations of the imported graph very likely lead to an answer."""

FUSE = "fuse"
"""The name under which a sum takes options: ``fuse(bm25 + dense, by=rank, tokens=2000)``."""


def _entries(table: str) -> tuple[Entry, ...]:
    """Return the entries of a table whose modules are below `_retrieval`."""
    return tuple(
        replace(entry, target=f"knotwork._retrieval.{entry.target}") for entry in Entry.read(table)
    )


_RETRIEVERS = _entries(
    """
bm25 = basic_retrievers:Bm25Retriever
    passages with the question's words (BM25)
dense = basic_retrievers:DenseRetriever embedder
    passages with vectors near the question's
hybrid = basic_retrievers:HybridRetriever
    words and vectors in one weighted score
graph = graph_retriever:GraphRetriever
    hybrid, plus named entities and bridges between passages
pagerank = pagerank_retriever:PageRankRetriever
    passages by personalized PageRank from the question's entities
sentence_window = context_expansion:SentenceWindowRetriever
    a few sentences around the best one of each passage
siblings = context_expansion:SiblingsRetriever
    passages extended by their neighbours in the section
parent_child = context_expansion:ParentChildRetriever
    the larger passages that contain the small ones found
bottom_up = context_expansion:BottomUpRetriever
    whole sections of which most was found
top_down = context_expansion:TopDownRetriever
    the best documents, then their best sections and passages
questions = basic_retrievers:QuestionsRetriever
    passages by the questions they answer (index.questions)
summaries = context_expansion:SummariesRetriever
    passages by a summary of their section or community
"""
)
USUAL_RETRIEVERS = ("bm25", "dense", "hybrid")
"""Shown first. The others are the patterns of docs/patterns.md, which are for special cases."""
_STEPS = _entries(
    """
decompose = steps.decompose:Decompose
    split nested and comparing questions and search for each part
expand = steps.query_transformation:Expand
    also search for words of the best passages and for aliases
hyde = steps.query_transformation:Hyde
    also search for a hypothetical passage that answers
rewrite = steps.query_transformation:Rewrite
    remove polite phrases and correct the spelling
budget = steps.postprocessing:EvidenceBudget
    keep the best passages that fit a token budget
diversify = steps.postprocessing:Diversify
    rank passages that add something before those that repeat
prune = steps.postprocessing:Prune
    drop weak passages, and weak sentences of the others
rerank = steps.postprocessing:Rerank
    reorder the best passages by features, an encoder or a model
"""
)

RETRIEVERS: Registry[Retriever] = Registry(
    "retrievers",
    _RETRIEVERS,
    kind="retriever",
    protocol=Retriever,
    reserved={AUTO, FUSE, *(step.name for step in _STEPS)},
    per_store=True,
)
STEPS: Registry[RetrieverStep] = Registry(
    "steps",
    _STEPS,
    kind="step",
    protocol=RetrieverStep,
    reserved={AUTO, FUSE, *(retriever.name for retriever in _RETRIEVERS)},
    per_store=True,
)


def retriever_names() -> list[str]:
    """Return all valid names, those of plugins included, `auto` first."""
    return [AUTO, *RETRIEVERS.names()]


def resolve_auto(name: str, store: Store) -> str:
    """Return ``name``, or the retriever that `auto` selects on this store."""
    if name != AUTO:
        return name
    graphs = store.capabilities.property_graphs
    return AUTO_OVER_GRAPHS if graphs is not None and graphs.names() else AUTO_IS


def may_ask_model(specification: str) -> bool:
    """Return True if a retriever of this name or specification may call a language model.

    Raises ConfigError if the specification cannot be parsed.
    """
    return any(
        call.options.get("by") == "model"
        or (call.name in RETRIEVERS and takes(RETRIEVERS.load(call.name), "model"))
        for call in calls_of(parse_specification(specification))
    )


def may_rerank(specification: str) -> bool:
    """Return True if a retriever of this name or specification may call a reranking model.

    Raises ConfigError if the specification cannot be parsed.
    """
    return any(
        takes(parts.load(call.name), "reranker")
        for call in calls_of(parse_specification(specification))
        for parts in (RETRIEVERS, STEPS)
        if call.name in parts
    )
