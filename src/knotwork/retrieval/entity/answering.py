"""The last part of every pattern that walks: passages, their scores in parts, and paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork.records import Evidence, GraphPath, Query
from knotwork.retrieval.basic import rank
from knotwork.retrieval.candidates import text_candidates
from knotwork.retrieval.entity.activation import Origin
from knotwork.retrieval.entity.grounding import (
    DEFAULT_GROUNDING,
    Ground,
    GroundingSettings,
    ground_passages,
    weigh_edges,
)
from knotwork.retrieval.entity.routes import make_paths
from knotwork.retrieval.entity.walks import Stride, Trail
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.hits import make_evidence
from knotwork.retrieval.question import Question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Scored, Store


@dataclass(frozen=True, slots=True)
class TrailReader:
    """Turns what a walk reached into evidence, for the retriever called ``name``."""

    name: str
    store: Store
    weights: Weights = DEFAULT_WEIGHTS
    settings: GroundingSettings = DEFAULT_GROUNDING

    def read(
        self,
        query: Query,
        question: Question,
        trail: Trail,
        *,
        features: ChunkFeatures | None = None,
        pool: Iterable[str] = (),
        origins: Mapping[str, Origin] | None = None,
    ) -> Evidence:
        """Return the passages that a walk leads to, and those of ``pool``, with paths and seeds.

        A score is what the text of a passage says for itself plus its ground; both are in
        ``Hit.scores``. ``origins`` are the sentences from which the walk set out, where it did so.
        """
        if features is None:
            k = self.weights.text.text_candidates
            bm25 = text_candidates(question, self.store, k=k)
            features = ChunkFeatures(question, self.store, self.weights, bm25)
        trail = weigh_edges(trail, features, self.settings)
        grounds = ground_passages(
            trail, features, self.store, self.weights, settings=self.settings, origins=origins or {}
        )
        scores, parts = {}, {}
        for chunk_id in dict.fromkeys([*pool, *grounds]):
            ground = grounds[chunk_id].score if chunk_id in grounds else 0.0
            parts[chunk_id] = {"text": features[chunk_id].base, "graph": ground}
            scores[chunk_id] = sum(parts[chunk_id].values())
        ranked = self._stored(rank(scores, query.k), scores, query.k)
        seeds = {i: (_seed_name(ground, trail),) for i, ground in grounds.items()}
        evidence = make_evidence(query, self.name, ranked, parts, features, self.store, seeds=seeds)
        return replace(evidence, paths=self._paths(ranked, grounds, trail))

    def _stored(
        self, ranked: Sequence[Scored], scores: Mapping[str, float], k: int
    ) -> Sequence[Scored]:
        """Return the best that are passages of the index: a graph may cite other texts."""
        known = self.store.documents.chunks([item.id for item in ranked])
        if len(known) == len(ranked):
            return ranked
        stored = self.store.documents.chunks(list(scores))
        return rank({i: score for i, score in scores.items() if i in stored}, k)

    def _paths(
        self, ranked: Sequence[Scored], grounds: Mapping[str, Ground], trail: Trail
    ) -> tuple[GraphPath, ...]:
        """Return the ways to the hits; where no passage is stored, the best ways of the walk."""
        found = [grounds[item.id] for item in ranked if item.id in grounds]
        ways = [(_way(ground, trail), ground.score) for ground in found or grounds.values()]
        return make_paths(ways, trail, self.store, preferred=[item.id for item in ranked])


def _seed_name(ground: Ground, trail: Trail) -> str:
    return trail.entities[trail.start_of(ground.reached_from)].name


def _way(ground: Ground, trail: Trail) -> tuple[Stride, ...]:
    way = trail.way_to(ground.reached_from)
    return (*way, ground.stride) if ground.stride else way
