"""Keyword exploration: from the words of the question to entities, along edges, to passages."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from knotwork.inference.base import Embedder
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    Direction,
    Edge,
    Entity,
    Evidence,
    Query,
)
from knotwork.retrieval.entity.answering import TrailReader
from knotwork.retrieval.entity.grounding import DEFAULT_GROUNDING, GroundingSettings
from knotwork.retrieval.entity.seeds import (
    keyword_seeds,
    scores_of,
    seed_names,
)
from knotwork.retrieval.entity.walks import WalkLimits, walk_from
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Store
from knotwork.text.terms import content_terms

_CO_OCCURS = 0.4
_RELATED = 0.6
_ASKED = 0.4
"""What a relation gains when the question holds all of its words."""
_RARITY = 1.0 / 3.0


class ExploreRetriever:
    """Chunks that support the edges of a bounded walk from the question's keywords.

    ``direction`` is "out", "in" or "both"; ``depth``, ``fan`` and ``limit`` bound the walk. Nothing
    is searched by vector: an embedder only weighs what the walk found.
    """

    name = "explore"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 16,
        limit: int = 400,
        weights: Weights = DEFAULT_WEIGHTS,
        grounding: GroundingSettings = DEFAULT_GROUNDING,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits = WalkLimits(direction=direction, depth=depth, fan=fan, limit=limit)
        self._weights = weights
        self._reader = TrailReader(self.name, store, weights, grounding)

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks that support what is reached, with the paths that were walked."""
        question = read_question(
            query.text, store=self._store, embedder=self._embedder, weights=self._weights
        )
        seeds = keyword_seeds(question, self._store)
        if not seeds:
            return Evidence(query, self.name, notes=("No entity has a word of the question.",))
        trail = walk_from(
            scores_of(seeds), store=self._store, gain=WordGain(question), limits=self._limits
        )
        evidence = self._reader.read(query, question, trail)
        trace = (
            f"Keywords lead to {seed_names(seeds)}.",
            f"{len(trail.strides)} edges walked, {len(trail.scores)} entities reached.",
        )
        return replace(evidence, trace=trace)


class WordGain:
    """An edge leads on by its relation, the words it shares with the question, and rare ends."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._terms = frozenset(question.terms)
        self._known: dict[str, float] = {}

    def __call__(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the gain of an edge; see `Gain`."""
        del source
        if edge.relation == ALIAS_RELATION:
            return 1.0
        if edge.relation not in self._known:
            self._known[edge.relation] = relation_worth(edge.relation, self._terms)
        rare = self._question.rarity(target.chunk_count)
        return float(self._known[edge.relation] * rare**_RARITY)


def relation_worth(relation: str, asked: Collection[str]) -> float:
    """Return what a relation is worth to a question of these terms, from 0 to 1."""
    if relation == CO_OCCURRENCE_RELATION:
        return _CO_OCCURS
    words = set(content_terms(relation))
    if not words:
        return _RELATED
    return _RELATED + _ASKED * len(words & set(asked)) / len(words)
