"""The registry of retrievers and steps, by name.

To add a retriever or step, write its class and one entry here. A class is given as ``module:class``
and imported when it is first built, so listing the names imports no retriever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from knotwork._retrieval.specification_grammar import calls_of, parse_specification
from knotwork._stores.base import Store


@dataclass(frozen=True, slots=True)
class RetrieverPattern:
    """An entry of the registry: the class of a retriever and what its constructor takes.

    Every constructor takes ``store`` and ``embedder`` as keywords, and ``options``, an instance of
    the dataclass ``Options`` of the class, if it has one. The ``takes_`` flags add ``model``,
    ``reranker`` and ``base``, the retriever around which it is built. ``needs_model`` marks a
    retriever that cannot work without a language model. ``summary`` is a one-line description.
    """

    import_path: str
    summary: str
    takes_base: bool = False
    takes_model: bool = False
    takes_reranker: bool = False
    needs_model: bool = False
    needs_embedder: bool = False


RETRIEVERS: Mapping[str, RetrieverPattern] = {
    "bm25": RetrieverPattern(
        "knotwork._retrieval.basic_retrievers:Bm25Retriever",
        "passages with the question's words (BM25)",
    ),
    "dense": RetrieverPattern(
        "knotwork._retrieval.basic_retrievers:DenseRetriever",
        "passages with vectors near the question's",
        needs_embedder=True,
    ),
    "hybrid": RetrieverPattern(
        "knotwork._retrieval.basic_retrievers:HybridRetriever",
        "words and vectors in one weighted score",
    ),
    "graph": RetrieverPattern(
        "knotwork._retrieval.graph_retriever:GraphRetriever",
        "hybrid, plus named entities and bridges between passages",
    ),
    "pagerank": RetrieverPattern(
        "knotwork._retrieval.pagerank_retriever:PageRankRetriever",
        "passages by personalized PageRank from the question's entities",
    ),
    "sentence_window": RetrieverPattern(
        "knotwork._retrieval.context_expansion:SentenceWindowRetriever",
        "a few sentences around the best one of each passage",
        takes_base=True,
    ),
    "siblings": RetrieverPattern(
        "knotwork._retrieval.context_expansion:SiblingsRetriever",
        "passages extended by their neighbours in the section",
        takes_base=True,
    ),
    "parent_child": RetrieverPattern(
        "knotwork._retrieval.context_expansion:ParentChildRetriever",
        "the larger passages that contain the small ones found",
        takes_base=True,
    ),
    "bottom_up": RetrieverPattern(
        "knotwork._retrieval.context_expansion:BottomUpRetriever",
        "whole sections of which most was found",
        takes_base=True,
    ),
    "top_down": RetrieverPattern(
        "knotwork._retrieval.hierarchical_retrievers:TopDownRetriever",
        "the best documents, then their best sections and passages",
        takes_base=True,
    ),
    "questions": RetrieverPattern(
        "knotwork._retrieval.basic_retrievers:QuestionsRetriever",
        "passages by the questions they answer (index.questions)",
    ),
    "summaries": RetrieverPattern(
        "knotwork._retrieval.hierarchical_retrievers:SummariesRetriever",
        "passages by a summary of their section or community",
        takes_base=True,
    ),
    "paths": RetrieverPattern(
        "knotwork._retrieval.paths.path_retriever:PathsRetriever",
        "cited paths of relations from named entities to the answer",
        takes_reranker=True,
    ),
    "explore": RetrieverPattern(
        "knotwork._retrieval.entity.walk_retrievers:ExploreRetriever",
        "passages along a bounded walk from the question's entities",
    ),
    "entity_vectors": RetrieverPattern(
        "knotwork._retrieval.entity.walk_retrievers:EntityVectorRetriever",
        "passages around the entities with the nearest vectors",
    ),
    "graph_vector": RetrieverPattern(
        "knotwork._retrieval.entity.walk_retrievers:GraphVectorRetriever",
        "hybrid, plus passages near the entities of the best ones",
    ),
    "ontology": RetrieverPattern(
        "knotwork._retrieval.entity.ontology:OntologyRetriever",
        "passages along the relations that an ontology selects",
    ),
    "drill_down": RetrieverPattern(
        "knotwork._retrieval.entity.community_retrievers:DrillDownRetriever",
        "from the nearest communities down to their passages",
    ),
    "communities": RetrieverPattern(
        "knotwork._retrieval.entity.community_retrievers:CommunityReportRetriever",
        "passages cited by the nearest community reports",
    ),
    "cypher_templates": RetrieverPattern(
        "knotwork._retrieval.queries.cypher_templates:CypherTemplatesRetriever",
        "rows of a graph by one of your query templates, chosen and filled",
        takes_model=True,
    ),
    "dynamic_cypher": RetrieverPattern(
        "knotwork._retrieval.queries.query_retrievers:DynamicCypherRetriever",
        "rows of a graph by a query assembled from the question",
        takes_model=True,
    ),
    "text_to_cypher": RetrieverPattern(
        "knotwork._retrieval.queries.query_retrievers:TextToCypherRetriever",
        "rows of a graph by a query that a language model writes",
        takes_model=True,
    ),
    "text_to_sql": RetrieverPattern(
        "knotwork._retrieval.queries.query_retrievers:TextToSqlRetriever",
        "rows of the tables beside the index, by an SQL query",
        takes_model=True,
    ),
}

AUTO = "auto"
AUTO_IS = "graph"
"""The retriever behind `auto`: the best one on the benchmarks (benchmarks/results/retrieval.md)."""
AUTO_OVER_GRAPHS = "paths"
"""The retriever behind `auto` if a graph was imported. Its passages are those of `graph`, unless
the relations of the imported graph very likely lead to an answer."""


@dataclass(frozen=True, slots=True)
class StepPattern:
    """An entry of the registry for a step, a retriever around another.

    Its constructor takes ``base`` and otherwise the same as a retriever's (`RetrieverPattern`).
    ``order`` is its side of the retriever in a specification: "before" or "behind". ``searches`` is
    how often it calls the retriever, at most.
    """

    import_path: str
    summary: str
    order: Literal["before", "behind"]
    takes_model: bool = False
    takes_reranker: bool = False
    searches: int = 1


STEPS: Mapping[str, StepPattern] = {
    "decompose": StepPattern(
        "knotwork._retrieval.steps.decompose:Decompose",
        "split nested and comparing questions and search for each part",
        "before",
        takes_model=True,
        searches=8,
    ),
    "expand": StepPattern(
        "knotwork._retrieval.steps.query_transformation:Expand",
        "also search for words of the best passages and for aliases",
        "before",
        takes_model=True,
        searches=3,
    ),
    "hyde": StepPattern(
        "knotwork._retrieval.steps.query_transformation:Hyde",
        "also search for a hypothetical passage that answers",
        "before",
        takes_model=True,
        searches=3,
    ),
    "rewrite": StepPattern(
        "knotwork._retrieval.steps.query_transformation:Rewrite",
        "remove polite phrases and correct the spelling",
        "before",
        takes_model=True,
    ),
    "budget": StepPattern(
        "knotwork._retrieval.steps.postprocessing:EvidenceBudget",
        "keep the best passages that fit a token budget",
        "behind",
    ),
    "diversify": StepPattern(
        "knotwork._retrieval.steps.diversify:Diversify",
        "rank passages that add something before those that repeat",
        "behind",
    ),
    "prune": StepPattern(
        "knotwork._retrieval.steps.postprocessing:Prune",
        "drop weak passages, and weak sentences of the others",
        "behind",
    ),
    "rerank": StepPattern(
        "knotwork._retrieval.steps.postprocessing:Rerank",
        "reorder the best passages by features, an encoder or a model",
        "behind",
        takes_model=True,
        takes_reranker=True,
    ),
}


def retriever_names(*, model: bool = True) -> list[str]:
    """Return all valid names, `auto` first; with ``model=False`` those that need no model."""
    return [AUTO, *sorted(name for name, p in RETRIEVERS.items() if model or not p.needs_model)]


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
        or (call.name in RETRIEVERS and RETRIEVERS[call.name].takes_model)
        for call in calls_of(parse_specification(specification))
    )


def may_rerank(specification: str) -> bool:
    """Return True if a retriever of this name or specification may call a reranking model.

    Raises ConfigError if the specification cannot be parsed.
    """
    parts: dict[str, RetrieverPattern | StepPattern] = {**RETRIEVERS, **STEPS}
    return any(
        call.name in parts and parts[call.name].takes_reranker
        for call in calls_of(parse_specification(specification))
    )
