"""Graph retrieval: text evidence, the entities a question names, and bridges between passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Query, Step
from knotwork.retrieval.basic import rank
from knotwork.retrieval.bridging import Bridge, Bridges, build_bridges, link_factor, spread
from knotwork.retrieval.candidates import first_stage
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.hits import make_evidence
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Store


@dataclass(frozen=True, slots=True)
class _Named:
    """How much a chunk is about an entity that the question names."""

    score: float
    name: str


class GraphRetriever:
    """Chunks by their own text, by the entities named in the question, and by bridges.

    A score is ``base + max(named, bridge) + support``; every part is in ``Hit.scores``. A question
    that names nothing and finds no bridge is ranked by its base alone, as `HybridRetriever` does.
    """

    name = "graph"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._weights = weights

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks, each with the seeds and the path that led to it."""
        question = read_question(
            query.text, store=self._store, embedder=self._embedder, weights=self._weights
        )
        pool, text = first_stage(question, self._store, self._weights)
        named = self._named(question)
        pool = list(dict.fromkeys([*pool, *self._named_candidates(question)]))
        features = ChunkFeatures(question, self._store, self._weights, text)
        features.fetch(pool)
        seeds = {i: features[i].base + _score(named, i) for i in pool}
        bridges = build_bridges(question, seeds, features, self._store, self._weights)
        scores, parts = self._combine(pool, named, bridges, features)
        ranked = rank(scores, query.k)
        return make_evidence(
            query,
            self.name,
            ranked,
            parts,
            features,
            self._store,
            seeds={i: (found.name,) for i, found in named.items()},
            paths={i: (_step(bridge, bridges),) for i, bridge in bridges.into.items()},
        )

    def _named(self, question: Question) -> dict[str, _Named]:
        best: dict[str, _Named] = {}
        factor = self._weights.link.named * link_factor(question, self._weights)
        for link in question.links:
            shares = spread(link.about, self._weights.link.spread)
            for item, share in zip(link.about, shares, strict=True):
                score = factor * link.weight * item.score * share
                if item.id not in best or score > best[item.id].score:
                    best[item.id] = _Named(score, link.entity.name)
        return best

    def _named_candidates(self, question: Question) -> list[str]:
        return [
            item.id
            for link in question.links
            for item in link.about[: self._weights.link.candidates]
        ]

    def _combine(
        self,
        pool: list[str],
        named: Mapping[str, _Named],
        bridges: Bridges,
        features: ChunkFeatures,
    ) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        scores: dict[str, float] = {}
        parts: dict[str, dict[str, float]] = {}
        for identifier in dict.fromkeys([*pool, *bridges.into]):
            direct = _score(named, identifier)
            bridge = bridges.into.get(identifier)
            over = bridge.score if bridge else 0.0
            support = self._weights.bridge.support * bridges.support.get(identifier, 0.0)
            parts[identifier] = {
                "text": features[identifier].base,
                "named": direct if direct >= over else 0.0,
                "bridge": over if over > direct else 0.0,
                "support": support,
            }
            scores[identifier] = sum(parts[identifier].values())
        return scores, parts


def _score(named: Mapping[str, _Named], identifier: str) -> float:
    return named[identifier].score if identifier in named else 0.0


def _step(bridge: Bridge, bridges: Bridges) -> Step:
    chunk = bridges.sources[bridge.activation.chunk_id]
    number = bridge.activation.sentence
    return Step(
        chunk_id=chunk.id,
        sentence=chunk.sentences[number],
        sentence_text=chunk.sentence_text(number),
        entity_id=bridge.entity.id,
        entity_name=bridge.entity.name,
        score=bridge.score,
    )
