"""Registry of retrievers and of the steps around them, by name.

A new retriever or step is one class and one entry here. Classes are named as ``module:class`` and
imported when they are built, so that listing the names imports no retriever.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from knotwork.stores.base import Store
from knotwork.stores.property_graphs import StoresPropertyGraphs

Options = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class RetrieverPattern:
    """A retriever by the ``module:class`` that makes it, imported when it is asked for.

    It is made with ``store`` and ``embedder``, with ``model`` where ``takes_model``, ``reranker``
    where ``takes_reranker``, and with the options of whoever asks, as keywords. ``needs_model``
    says that it is nothing without one. ``summary`` tells in a line what it is for.
    """

    place: str
    summary: str
    takes_model: bool = False
    takes_reranker: bool = False
    needs_model: bool = False
    needs_embedder: bool = False


RETRIEVERS: Mapping[str, RetrieverPattern] = {
    "bm25": RetrieverPattern(
        "knotwork.retrieval.basic_retrievers:Bm25Retriever", "words of the question"
    ),
    "dense": RetrieverPattern(
        "knotwork.retrieval.basic_retrievers:DenseRetriever",
        "vectors near the question's",
        needs_embedder=True,
    ),
    "hybrid": RetrieverPattern(
        "knotwork.retrieval.basic_retrievers:HybridRetriever",
        "words and vectors as one weighted score",
    ),
    "graph": RetrieverPattern(
        "knotwork.retrieval.graph_retriever:GraphRetriever",
        "hybrid, the things that are named, and bridges from passage to passage",
    ),
    "pagerank": RetrieverPattern(
        "knotwork.retrieval.pagerank_retriever:PageRankRetriever",
        "passages that a walk from the things in question reaches most",
    ),
    "sentence_window": RetrieverPattern(
        "knotwork.retrieval.context_expansion:SentenceWindowRetriever",
        "the few sentences around the best one of each passage",
    ),
    "siblings": RetrieverPattern(
        "knotwork.retrieval.context_expansion:SiblingsRetriever",
        "passages with those beside them in their section",
    ),
    "parent_child": RetrieverPattern(
        "knotwork.retrieval.context_expansion:ParentChildRetriever",
        "the larger passages in which small ones were found",
    ),
    "bottom_up": RetrieverPattern(
        "knotwork.retrieval.context_expansion:BottomUpRetriever",
        "whole sections where most of one was found",
    ),
    "top_down": RetrieverPattern(
        "knotwork.retrieval.hierarchical_retrievers:TopDownRetriever",
        "the best documents, their best sections, and passages in these",
    ),
    "questions": RetrieverPattern(
        "knotwork.retrieval.basic_retrievers:QuestionsRetriever",
        "passages by the questions that they answer (index.questions)",
    ),
    "summaries": RetrieverPattern(
        "knotwork.retrieval.hierarchical_retrievers:SummariesRetriever",
        "passages by what their section, or their community, is about as a whole",
    ),
    "paths": RetrieverPattern(
        "knotwork.retrieval.paths.path_retriever:PathsRetriever",
        "relations that lead from what is named to what is asked, as cited paths",
        takes_reranker=True,
    ),
    "explore": RetrieverPattern(
        "knotwork.retrieval.entity.walk_retrievers:ExploreRetriever",
        "passages along a bounded walk from the keywords' entities",
    ),
    "entity_vectors": RetrieverPattern(
        "knotwork.retrieval.entity.walk_retrievers:EntityVectorRetriever",
        "passages around the entities whose vectors are nearest",
    ),
    "graph_vector": RetrieverPattern(
        "knotwork.retrieval.entity.walk_retrievers:GraphVectorRetriever",
        "hybrid, and passages in the neighbourhood of its best ones' entities",
    ),
    "ontology": RetrieverPattern(
        "knotwork.retrieval.entity.ontology:OntologyRetriever",
        "passages along the relations that an ontology says to follow",
    ),
    "drill_down": RetrieverPattern(
        "knotwork.retrieval.entity.community_retrievers:DrillDownRetriever",
        "down from the nearest communities to their passages",
    ),
    "communities": RetrieverPattern(
        "knotwork.retrieval.entity.community_retrievers:CommunityReportRetriever",
        "passages that the nearest reports of communities cite, by level",
    ),
    "cypher_templates": RetrieverPattern(
        "knotwork.retrieval.queries.cypher_templates:CypherTemplatesRetriever",
        "rows of a graph by one of a person's queries, chosen and filled",
        takes_model=True,
    ),
    "dynamic_cypher": RetrieverPattern(
        "knotwork.retrieval.queries.query_retrievers:DynamicCypherRetriever",
        "rows of a graph by a query assembled from the question",
        takes_model=True,
    ),
    "text_to_cypher": RetrieverPattern(
        "knotwork.retrieval.queries.query_retrievers:TextToCypherRetriever",
        "rows of a graph by a query that a model writes and repairs",
        takes_model=True,
    ),
    "text_to_sql": RetrieverPattern(
        "knotwork.retrieval.queries.query_retrievers:TextToSqlRetriever",
        "rows of the tables beside the index, by SQL",
        takes_model=True,
    ),
}

AUTO = "auto"
AUTO_IS = "graph"
"""What `auto` means: the best retriever on the benchmarks (benchmarks/results/retrieval.md)."""
AUTO_OVER_GRAPHS = "paths"
"""What `auto` means where a graph was imported: its passages are those of `graph`, but where the
relations of the imported graph very likely lead to an answer."""


def retriever_names(*, model: bool = True) -> list[str]:
    """Return all valid names, `auto` first; without ``model`` those that need none."""
    return [AUTO, *sorted(name for name, p in RETRIEVERS.items() if model or not p.needs_model)]


def resolve_auto(name: str, store: Store) -> str:
    """Return what a name stands for on a store: `auto` is another retriever's name."""
    if name != AUTO:
        return name
    holds_graphs = isinstance(store, StoresPropertyGraphs) and store.property_graphs.names()
    return AUTO_OVER_GRAPHS if holds_graphs else AUTO_IS


def may_ask_model(name: str) -> bool:
    """Return whether a retriever of this name or specification may ask a language model."""
    words = re.findall(r"[\w-]+", name)
    found = [RETRIEVERS[word] for word in words if word in RETRIEVERS]
    return "model" in words or any(p.takes_model or p.needs_model for p in found)


def may_rerank(name: str) -> bool:
    """Return whether a retriever of this name or specification may ask a reranking model."""
    words = set(re.findall(r"[\w-]+", name))
    patterns: dict[str, RetrieverPattern | StepPattern] = {**RETRIEVERS, **STEPS}
    return any(pattern.takes_reranker for known, pattern in patterns.items() if known in words)


@dataclass(frozen=True, slots=True)
class StepPattern:
    """A step by the ``module:class`` that makes it, imported when it is asked for.

    It is a retriever around another: made with ``base``, ``store``, ``embedder``, with ``model``
    where ``takes_model``, ``reranker`` where ``takes_reranker``, and with options as keywords.
    ``order`` says on which side of the retriever it stands in a specification, ``searches`` how
    often it asks the retriever at most.
    """

    place: str
    summary: str
    order: Literal["before", "behind"]
    takes_model: bool = False
    takes_reranker: bool = False
    searches: int = 1


STEPS: Mapping[str, StepPattern] = {
    "decompose": StepPattern(
        "knotwork.retrieval.steps.decompose:Decompose",
        "parts of a nested or comparing question, one after the other",
        "before",
        takes_model=True,
        searches=8,
    ),
    "expand": StepPattern(
        "knotwork.retrieval.steps.query_transformation:Expand",
        "words of the best passages, and other names of the things in question, are searched too",
        "before",
        takes_model=True,
        searches=3,
    ),
    "hyde": StepPattern(
        "knotwork.retrieval.steps.query_transformation:Hyde",
        "a passage that may answer is searched for beside the question",
        "before",
        takes_model=True,
        searches=3,
    ),
    "rewrite": StepPattern(
        "knotwork.retrieval.steps.query_transformation:Rewrite",
        "the question without phrases of politeness, its words as the index spells them",
        "before",
        takes_model=True,
    ),
    "budget": StepPattern(
        "knotwork.retrieval.steps.postprocessing:EvidenceBudget",
        "the best passages that fit into a number of tokens",
        "behind",
    ),
    "diversify": StepPattern(
        "knotwork.retrieval.steps.diversify:Diversify",
        "passages that say something new before those that repeat",
        "behind",
    ),
    "prune": StepPattern(
        "knotwork.retrieval.steps.postprocessing:Prune",
        "only passages not far behind the best, only sentences that bear on the question",
        "behind",
    ),
    "rerank": StepPattern(
        "knotwork.retrieval.steps.postprocessing:Rerank",
        "the best passages looked at again, with the question, by features, a model or an encoder",
        "behind",
        takes_model=True,
        takes_reranker=True,
    ),
}
