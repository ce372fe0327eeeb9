"""Turn the result of a walk into evidence: passages, the parts of their scores, cited paths.

A passage has a ground: an edge that it states, or an entity that it is about. The ground's score
grows with the score of the edge or entity, falls with the number of passages that share it, and
depends on how much of the question the path and the passage cover *together*: the best single
feature of all that were tried for scoring paths (benchmarks/results/patterns.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.chunk_features import ChunkFeatures, text_candidates
from knotwork._retrieval.entity.graph_walks import ActivatingSentence, Stride, Trail
from knotwork._retrieval.evidence_builder import make_evidence, rank
from knotwork._retrieval.graph_retriever import link_factor, spread
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Scored, Store
from knotwork._text.terms import terms
from knotwork.records import CO_OCCURRENCE_RELATION, Evidence, GraphPath, Hop, Query, Span

Mask = NDArray[np.bool_]


_ENTITIES = 60
"""Reached entities that lead to passages, the strongest first."""
_FAN = 50
"""Passages of each of these entities."""
_PASSAGES = 150
"""Passages whose text is read."""
_ABOUTNESS = 0.4
_SPREAD = 0.25
_READ_EDGES = 100
"""Edges whose passages are read to weigh them."""
_STATING = 2
_STATED = 0.5
"""Share of an edge's score that depends on the passages that state it."""


def weigh_edges(trail: Trail, features: ChunkFeatures) -> Trail:
    """Return the trail with edges weighed by the best base score of the passages that state them.

    The strongest edges are read; the others get the lowest weight of these.
    """
    order = sorted(range(len(trail.strides)), key=lambda n: (-trail.strides[n].score, n))
    read = order[:_READ_EDGES]
    stated = {n: trail.strides[n].edge.chunks[:_STATING] for n in read}
    features.fetch([chunk for chunks in stated.values() for chunk in chunks])
    found = {
        n: max((features[chunk].base for chunk in chunks), default=0.0)
        for n, chunks in stated.items()
    }
    top = max(found.values(), default=0.0)
    if top <= 0:
        return trail
    factors = {n: 1 - _STATED + _STATED * max(value, 0.0) / top for n, value in found.items()}
    weakest = min(factors.values())
    return trail.reweighed({n: factors.get(n, weakest) for n in order})


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a passage is evidence: the entity it is about, or the edge it states, with a score."""

    score: float
    entity_id: str
    stride: Stride | None = None

    @property
    def reached_from(self) -> str:
        """The source of the last edge, or the entity itself without an edge."""
        return self.stride.source if self.stride else self.entity_id


def ground_passages(
    trail: Trail,
    features: ChunkFeatures,
    store: Store,
    *,
    strength: float,
    origins: Mapping[str, ActivatingSentence],
) -> dict[str, Ground]:
    """Return the best ground of each passage that the walk leads to, with its final score.

    ``strength`` is the weight of the ground relative to a passage's own text.
    """
    question = features.question
    promised = _promised(trail, store)
    ranked = sorted(promised, key=lambda i: (-promised[i][0].score, i))[:_PASSAGES]
    features.fetch(ranked)
    covered = _Coverage(question, trail)
    factor = strength * link_factor(question, DEFAULT_WEIGHTS)
    grounds: dict[str, Ground] = {}
    for chunk_id in ranked:
        if chunk_id not in features:
            continue
        own = features[chunk_id]
        best: Ground | None = None
        for ground in promised[chunk_id]:
            origin = origins.get(trail.start_of(ground.reached_from))
            if origin is not None and origin.chunk_id == chunk_id:
                continue  # a passage does not support itself
            gained = float((covered.of(ground, origin) | own.covered) @ question.weights)
            if origin is not None:
                gained -= float((own.covered & origin.source_covered) @ question.weights)
            relevance = max(gained + max(own.rest, 0.0), 0.0)
            score = factor * ground.score * relevance
            if best is None or score > best.score:
                best = Ground(score, ground.entity_id, ground.stride)
        if best is not None and best.score > 0:
            grounds[chunk_id] = best
    return grounds


def _promised(trail: Trail, store: Store) -> dict[str, list[Ground]]:
    """Return the grounds of passages before their text is read, best first."""
    found: dict[str, dict[tuple[str, bool], Ground]] = {}

    def add(chunk_id: str, ground: Ground) -> None:
        grounds = found.setdefault(chunk_id, {})
        key = ground.entity_id, ground.stride is None
        if key not in grounds or ground.score > grounds[key].score:
            grounds[key] = ground

    for stride in trail.strides:
        share = max(len(stride.edge.chunks), 1) ** -_SPREAD
        for chunk_id in stride.edge.chunks:
            add(chunk_id, Ground(stride.score * share, stride.target, stride))
    scores = trail.scores
    strongest = sorted(scores, key=lambda i: (-scores[i], i))[:_ENTITIES]
    for entity, about in chunks_about(store, strongest, fan=_FAN).items():
        shares = spread(about, _SPREAD)
        for item, share in zip(about, shares, strict=True):
            worth = scores[entity] * item.score**_ABOUTNESS * share
            add(item.id, Ground(worth, entity))
    return {
        chunk_id: sorted(grounds.values(), key=lambda g: (-g.score, g.entity_id))
        for chunk_id, grounds in found.items()
    }


class _Coverage:
    """Masks of the question's terms in the names and relations on the path to an entity."""

    def __init__(self, question: Question, trail: Trail) -> None:
        self._places = {term: index for index, term in enumerate(question.terms)}
        self._trail = trail
        self._known: dict[tuple[str, str, str], Mask] = {}

    def of(self, ground: Ground, origin: ActivatingSentence | None) -> Mask:
        """Return the mask of a ground, including the sentence that the walk started from."""
        stride = ground.stride
        key = ground.reached_from, ground.entity_id, stride.edge.relation if stride else ""
        if key not in self._known:
            mask = self._mask(_path_of(ground, self._trail), ground.entity_id)
            self._known[key] = mask if origin is None else mask | origin.covered
        return self._known[key]

    def _mask(self, path: Sequence[Stride], entity_id: str) -> Mask:
        mask = np.zeros(len(self._places), dtype=np.bool_)
        for term in terms(" ".join(self._words(path, entity_id))):
            if term in self._places:
                mask[self._places[term]] = True
        return mask

    def _words(self, path: Iterable[Stride], entity_id: str) -> Iterable[str]:
        for stride in path:
            yield self._trail.entities[stride.source].name
            if stride.edge.relation != CO_OCCURRENCE_RELATION:
                yield stride.edge.relation
        if entity_id in self._trail.entities:
            yield self._trail.entities[entity_id].name


@dataclass(frozen=True, slots=True)
class TrailReader:
    """Turns the trail of a walk into the evidence of the retriever ``name``.

    ``strength`` is that of `ground_passages`.
    """

    name: str
    store: Store
    strength: float = 2.2

    def read(
        self,
        query: Query,
        question: Question,
        trail: Trail,
        *,
        features: ChunkFeatures | None = None,
        pool: Iterable[str] = (),
        origins: Mapping[str, ActivatingSentence] | None = None,
    ) -> Evidence:
        """Return the passages that a walk leads to, and those of ``pool``, with paths and seeds.

        A score is the base score of a passage's text plus its ground; ``Hit.scores`` has both.
        ``origins`` are the sentences that activated the seeds, by entity.
        """
        if features is None:
            k = DEFAULT_WEIGHTS.text.text_candidates
            features = ChunkFeatures(
                question, self.store, text_candidates(question, self.store, k=k)
            )
        trail = weigh_edges(trail, features)
        grounds = ground_passages(
            trail, features, self.store, strength=self.strength, origins=origins or {}
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
        """Return the best passages that are in the index, because a graph may cite other texts."""
        known = self.store.documents.chunks([item.id for item in ranked])
        if len(known) == len(ranked):
            return ranked
        stored = self.store.documents.chunks(list(scores))
        return rank({i: score for i, score in scores.items() if i in stored}, k)

    def _paths(
        self, ranked: Sequence[Scored], grounds: Mapping[str, Ground], trail: Trail
    ) -> tuple[GraphPath, ...]:
        """Return the paths to the hits, or the best paths of the walk if no hit has one."""
        found = [grounds[item.id] for item in ranked if item.id in grounds]
        paths = [(_path_of(ground, trail), ground.score) for ground in found or grounds.values()]
        return make_paths(paths, trail, self.store, preferred=[item.id for item in ranked])


def _seed_name(ground: Ground, trail: Trail) -> str:
    return trail.entities[trail.start_of(ground.reached_from)].name


def _path_of(ground: Ground, trail: Trail) -> tuple[Stride, ...]:
    path = trail.path_to(ground.reached_from)
    return (*path, ground.stride) if ground.stride else path


MOST_PATHS = 20


def make_paths(
    paths: Iterable[tuple[Sequence[Stride], float]],
    trail: Trail,
    store: Store,
    *,
    preferred: Sequence[str] = (),
    most: int = MOST_PATHS,
) -> tuple[GraphPath, ...]:
    """Return scored paths, best first, each once.

    A hop cites the first passage of ``preferred`` that states it, or else the first passage of all.
    """
    chosen: dict[tuple[tuple[str, str, str], ...], tuple[Sequence[Stride], float]] = {}
    for path, score in sorted(paths, key=lambda item: -item[1]):
        key = tuple((s.edge.source, s.edge.relation, s.edge.target) for s in path)
        if path and key not in chosen:
            chosen[key] = path, score
    kept = sorted(chosen.items(), key=lambda item: (-item[1][1], item[0]))[:most]
    cited = {id(stride.edge): _cited(stride, preferred) for _, (path, _) in kept for stride in path}
    spans = _spans({chunk for chunk in cited.values() if chunk}, store)
    return tuple(
        GraphPath(
            tuple(_hop(stride, cited[id(stride.edge)], spans, trail) for stride in path),
            score,
            {"walk": score, "hops": float(len(path))},
        )
        for _, (path, score) in kept
    )


def _cited(stride: Stride, preferred: Sequence[str]) -> str:
    supporting = set(stride.edge.chunks)
    first = next((chunk for chunk in preferred if chunk in supporting), "")
    return first or next(iter(stride.edge.chunks), "")


_Key = tuple[str, str, str, str]


def _spans(chunk_ids: set[str], store: Store) -> dict[_Key, Span]:
    return {
        (chunk, relation.source, relation.relation, relation.target): relation.span
        for chunk, relations in store.graph.relations(sorted(chunk_ids)).items()
        for relation in relations
        if relation.span is not None
    }


def _hop(stride: Stride, chunk_id: str, spans: dict[_Key, Span], trail: Trail) -> Hop:
    edge = stride.edge
    return Hop(
        source=stride.source,
        source_name=trail.entities[stride.source].name,
        relation=edge.relation,
        target=stride.target,
        target_name=trail.entities[stride.target].name,
        forward=stride.forward,
        chunk_id=chunk_id,
        span=spans.get((chunk_id, edge.source, edge.relation, edge.target)),
        weight=edge.weight,
    )
