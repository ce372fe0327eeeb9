"""Ways to use recorded triples in retrieval that are measured and not part of the package.

Synonym edges, fact linking and the filter are those of HippoRAG 2 (arXiv 2502.14802), the filter by
similarity instead of a model. They wrap a store or a retriever; one question is asked at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from knotwork._extensions.patterns.pagerank_retriever import PageRankRetriever, PageRankSettings
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import GraphRetriever
from knotwork._retrieval.question import EntityLink, Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, TextWeights
from knotwork._stores.base import FloatMatrix, GraphStore, Scored, Store
from knotwork.records import Entity, Evidence, Label, Query, Relation, Span, content_id

SYNONYM = 0.85
"""Least cosine of two names that may mean one thing."""

SYNONYM_POWER = 3
MOST_SYNONYMS = 30
LINKED_FACTS = 5
FILTER = 0.3
"""Least cosine of a fact with the question."""

_EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the table. ``index`` is "rules", "both" or "triples"; ``alike`` counts names of
    which no fact is stated in full; ``passages`` off takes no passage by its own text or vector.
    """

    name: str
    index: str = "both"
    retriever: str = "auto"
    alike: bool = False
    synonyms: bool = False
    linking: bool = False
    filter: bool = False
    passages: bool = True


@dataclass(slots=True)
class Facts:
    """What a model states in an index, as vectors, and how near the question in hand is to it."""

    relations: list[Relation]
    matrix: FloatMatrix
    entities: dict[str, Entity]
    embed: Callable[[list[str]], FloatMatrix]
    cosines: dict[Relation, float] = field(default_factory=dict)
    nearest: list[tuple[Relation, float]] = field(default_factory=list)
    _names: list[str] | None = None
    _matrix: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0), dtype=np.float32))
    _synonyms: dict[str, list[tuple[str, float]]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, embedder: Embedder, cache: Path) -> Facts:
        chunks = [
            chunk
            for ids in store.documents.chunk_ids_of(store.documents.document_ids()).values()
            for chunk in ids
        ]
        graph: Any = store.graph
        found = graph.relations(chunks)
        relations = [r for chunk in chunks for r in found.get(chunk, ()) if r.description]
        nodes = [
            node
            for label in (Label.ENTITY, Label.KEYWORD)
            for node in store.graph.find(label=label, limit=_EVERYTHING)
        ]
        embed = partial(_embed, embedder=embedder, cache=cache)
        return cls(
            relations,
            embed([relation.description for relation in relations]),
            store.graph.entities([node.id for node in nodes]),
            embed,
        )

    def ask(self, vector: FloatMatrix) -> None:
        """Take up a question."""
        values = self.matrix @ vector
        self.cosines = dict(zip(self.relations, values.tolist(), strict=True))
        best = np.argsort(-values, kind="stable")[:LINKED_FACTS]
        self.nearest = [(self.relations[i], float(values[i])) for i in best]

    def synonyms(self, entity_id: str) -> list[tuple[str, float]]:
        """Return the entities whose names are near, with their cosines."""
        if self._names is None:
            self._names = list(self.entities)
            self._matrix = self.embed([self.entities[i].name for i in self._names])
        if entity_id not in self._synonyms:
            cosines = self._matrix @ self._matrix[self._names.index(entity_id)]
            near = [i for i in np.argsort(-cosines)[: MOST_SYNONYMS + 1] if cosines[i] >= SYNONYM]
            self._synonyms[entity_id] = [
                (self._names[i], float(cosines[i])) for i in near if self._names[i] != entity_id
            ]
        return self._synonyms[entity_id]


def _embed(texts: list[str], embedder: Embedder, cache: Path) -> FloatMatrix:
    path = cache / f"{content_id(embedder.name, *texts)}.npy"
    if not texts:
        return np.zeros((0, embedder.dimension), dtype=np.float32)
    if not path.exists():
        np.save(path, embedder.embed(texts))
    matrix: FloatMatrix = np.load(path)
    return matrix


class _Graph:
    """A graph with edges between synonyms, or without the facts that are far from the question."""

    def __init__(self, graph: GraphStore, facts: Facts, variant: Variant) -> None:
        self._graph: Any = graph
        self._facts, self._variant = facts, variant

    def __getattr__(self, name: str) -> object:
        return getattr(self._graph, name)

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        found = self._graph.relations(chunk_ids)
        if not self._variant.filter:
            return found
        near = self._facts.cosines
        return {
            chunk: [r if near.get(r, 0.0) >= FILTER else replace(r, description="") for r in rs]
            for chunk, rs in found.items()
        }

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        own = self._graph.about(entity_ids, fan=fan, minimum=minimum)
        if not self._variant.synonyms or fan < 2:  # a fan of one asks whether any page is there
            return own
        near = {i: self._facts.synonyms(i) for i in entity_ids}
        ids = {other for pairs in near.values() for other, _ in pairs}
        others = self._graph.about(ids, fan=fan, minimum=minimum)
        merged = {}
        for identifier in entity_ids:
            best = dict(own.get(identifier, ()))
            for other, cosine in near[identifier]:
                for item in others.get(other, ()):
                    value = item.score * cosine**SYNONYM_POWER
                    best[item.id] = max(best.get(item.id, 0.0), value)
            ranked = sorted(best, key=lambda i: (-best[i], i))
            merged[identifier] = [Scored(i, best[i]) for i in ranked[:fan]]
        return {identifier: items for identifier, items in merged.items() if items}


class _Store:
    def __init__(self, store: Store, graph: _Graph) -> None:
        self._store, self.graph = store, graph

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)


def link_facts(question: Question, facts: Facts, variant: Variant, store: Store) -> Question:
    """Return the question with the ends of the nearest facts as if it named them."""
    if not variant.linking:
        return question
    trust: dict[str, float] = {}
    for relation, cosine in facts.nearest:
        if cosine >= (FILTER if variant.filter else 0.0):
            for end in (relation.source, relation.target):
                if end not in question.named:
                    trust[end] = max(trust.get(end, 0.0), cosine)
    about = store.graph.about(list(trust), fan=DEFAULT_WEIGHTS.link.fan)
    nothing = np.zeros(0, dtype=np.intp)
    links: Iterable[EntityLink] = (
        EntityLink(
            facts.entities[end],
            Span(0, 0),
            value,
            question.rarity(facts.entities[end].chunk_count),
            tuple(about.get(end, ())),
            nothing,
        )
        for end, value in trust.items()
    )
    return replace(question, links=(*question.links, *links))


class _LinkedGraphRetriever(GraphRetriever):
    facts: Facts
    variant: Variant

    def _rank(self, query: Query, question: Question) -> Evidence:
        return super()._rank(query, link_facts(question, self.facts, self.variant, self._store))


class _LinkedPageRankRetriever(PageRankRetriever):
    facts: Facts
    variant: Variant

    def _walk_from(self, question: Question, bases: Sequence[Scored]) -> dict[str, float]:
        linked = link_facts(question, self.facts, self.variant, self._store)
        return super()._walk_from(linked, bases)


def build_variant(
    variant: Variant, store: Store, embedder: Embedder | None, facts: Facts
) -> GraphRetriever | PageRankRetriever:
    """Return the retriever of a row."""
    weights = DEFAULT_WEIGHTS
    if variant.alike:
        weights = replace(weights, bridge=replace(weights.bridge, unstated=1.0))
    if not variant.passages:
        weights = replace(weights, text=replace(TextWeights(), dense_candidates=0, text_pool=0))
    wrapped: Any = _Store(store, _Graph(store.graph, facts, variant))
    retriever: _LinkedGraphRetriever | _LinkedPageRankRetriever
    if variant.retriever == "auto":
        retriever = _LinkedGraphRetriever(store=wrapped, embedder=embedder, weights=weights)
    else:
        walk = PageRankSettings() if variant.passages else PageRankSettings(seed_chunks=0)
        retriever = _LinkedPageRankRetriever(
            store=wrapped, embedder=embedder, weights=weights, walk=walk
        )
    retriever.facts, retriever.variant = facts, variant
    return retriever
