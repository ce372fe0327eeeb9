"""Retrievers by name. A new one is one file and one line here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from knotwork.errors import ConfigError, RetrievalError, UnknownName
from knotwork.inference.base import Embedder
from knotwork.inference.chat import ChatModel
from knotwork.inference.reranking import Reranker
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.grammar import is_expression
from knotwork.retrieval.steps.registry import STEPS, StepPattern
from knotwork.stores.base import Store
from knotwork.stores.queries import StoresPropertyGraphs

Options = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Pattern:
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


RETRIEVERS: Mapping[str, Pattern] = {
    "bm25": Pattern("knotwork.retrieval.basic:Bm25Retriever", "words of the question"),
    "dense": Pattern(
        "knotwork.retrieval.basic:DenseRetriever",
        "vectors near the question's",
        needs_embedder=True,
    ),
    "hybrid": Pattern(
        "knotwork.retrieval.basic:HybridRetriever", "words and vectors as one weighted score"
    ),
    "graph": Pattern(
        "knotwork.retrieval.graph:GraphRetriever",
        "hybrid, the things that are named, and bridges from passage to passage",
    ),
    "pagerank": Pattern(
        "knotwork.retrieval.pagerank:PageRankRetriever",
        "passages that a walk from the things in question reaches most",
    ),
    "sentence_window": Pattern(
        "knotwork.retrieval.lexical.sentence_window:SentenceWindowRetriever",
        "the few sentences around the best one of each passage",
    ),
    "siblings": Pattern(
        "knotwork.retrieval.lexical.siblings:SiblingsRetriever",
        "passages with those beside them in their section",
    ),
    "parent_child": Pattern(
        "knotwork.retrieval.lexical.parent_child:ParentChildRetriever",
        "the larger passages in which small ones were found",
    ),
    "bottom_up": Pattern(
        "knotwork.retrieval.lexical.bottom_up:BottomUpRetriever",
        "whole sections where most of one was found",
    ),
    "top_down": Pattern(
        "knotwork.retrieval.lexical.top_down:TopDownRetriever",
        "the best documents, their best sections, and passages in these",
    ),
    "questions": Pattern(
        "knotwork.retrieval.lexical.questions:QuestionsRetriever",
        "passages by the questions that they answer (index.questions)",
    ),
    "summaries": Pattern(
        "knotwork.retrieval.lexical.summaries:SummariesRetriever",
        "passages by what their section, or their community, is about as a whole",
    ),
    "paths": Pattern(
        "knotwork.retrieval.paths.retriever:PathsRetriever",
        "relations that lead from what is named to what is asked, as cited paths",
        takes_reranker=True,
    ),
    "explore": Pattern(
        "knotwork.retrieval.entity.explore:ExploreRetriever",
        "passages along a bounded walk from the keywords' entities",
    ),
    "entity_vectors": Pattern(
        "knotwork.retrieval.entity.entity_vectors:EntityVectorRetriever",
        "passages around the entities whose vectors are nearest",
    ),
    "graph_vector": Pattern(
        "knotwork.retrieval.entity.graph_vector:GraphVectorRetriever",
        "hybrid, and passages in the neighbourhood of its best ones' entities",
    ),
    "ontology": Pattern(
        "knotwork.retrieval.entity.ontology:OntologyRetriever",
        "passages along the relations that an ontology says to follow",
    ),
    "drill_down": Pattern(
        "knotwork.retrieval.entity.drill_down:DrillDownRetriever",
        "down from the nearest communities to their passages",
    ),
    "communities": Pattern(
        "knotwork.retrieval.entity.community_reports:CommunityReportRetriever",
        "passages that the nearest reports of communities cite, by level",
    ),
    "cypher_templates": Pattern(
        "knotwork.retrieval.queries.cypher_templates:CypherTemplatesRetriever",
        "rows of a graph by one of a person's queries, chosen and filled",
        takes_model=True,
    ),
    "dynamic_cypher": Pattern(
        "knotwork.retrieval.queries.dynamic_cypher:DynamicCypherRetriever",
        "rows of a graph by a query assembled from the question",
        takes_model=True,
    ),
    "text_to_cypher": Pattern(
        "knotwork.retrieval.queries.text_to_cypher:TextToCypherRetriever",
        "rows of a graph by a query that a model writes and repairs",
        takes_model=True,
    ),
    "text_to_sql": Pattern(
        "knotwork.retrieval.queries.text_to_sql:TextToSqlRetriever",
        "rows of the tables beside the index, by SQL",
        takes_model=True,
    ),
}

AUTO = "auto"
AUTO_IS = "graph"
"""What `auto` means: the best retriever on the benchmarks (docs/benchmarks.md)."""
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
    patterns: dict[str, Pattern | StepPattern] = {**RETRIEVERS, **STEPS}
    return any(pattern.takes_reranker for known, pattern in patterns.items() if known in words)


def build_retriever(
    name: str,
    *,
    store: Store,
    embedder: Embedder | None = None,
    model: ChatModel | None = None,
    reranker: Reranker | None = None,
    options: Options | None = None,
) -> Retriever:
    """Build the retriever of this name, or composed as `specification` describes, over a store.

    Raises UnknownName, ConfigError for an option that it does not have or a specification with a
    mistake, RetrievalError when the store or the lack of an embedder or of a model rules it out.
    """
    resolved = resolve_auto(name, store)
    if resolved not in RETRIEVERS:
        if options or not (is_expression(name) or name in STEPS):
            raise UnknownName("retriever", name, retriever_names())
        from knotwork.retrieval.specification import build_specification

        return build_specification(
            name, store=store, embedder=embedder, model=model, reranker=reranker
        )
    pattern = RETRIEVERS[resolved]
    if pattern.needs_model and model is None:
        raise RetrievalError(
            f"The retriever `{name}` needs a language model, and none is set.",
            fix="Set llm.model, or use `auto`.",
        )
    module, _, kind = pattern.place.partition(":")
    make = getattr(import_module(module), kind)
    given: dict[str, object] = {}
    if pattern.takes_model or pattern.needs_model:
        given["model"] = model
    if pattern.takes_reranker:
        given["reranker"] = reranker
    try:
        retriever: Retriever = make(store=store, embedder=embedder, **given, **(options or {}))
    except TypeError as error:
        if not options:
            raise
        raise ConfigError(
            f"The retriever `{name}` cannot be made with these options: {error}."
        ) from error
    missing = retriever.requires - store.capabilities
    if missing:
        needed = ", ".join(f"`{capability}`" for capability in sorted(missing))
        raise RetrievalError(
            f"The retriever `{name}` needs {needed}, which the store {store.url} does not have."
        )
    return retriever
