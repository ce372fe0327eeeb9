"""Turn the result of a walk into evidence: passages, the parts of their scores, cited paths.

A passage has a reason: an edge that it states, or an entity that it is about. The reason's score
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
from knotwork._retrieval.entity.graph_walks import ActivatingSentence, GraphWalk, WalkStep
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


def weigh_edges(walk: GraphWalk, features: ChunkFeatures) -> GraphWalk:
    """Return the walk with edges weighed by the best base score of the passages that state them.

    The strongest edges are read; the others get the lowest weight of these.
    """
    order = sorted(range(len(walk.steps)), key=lambda n: (-walk.steps[n].score, n))
    read = order[:_READ_EDGES]
    stated = {n: walk.steps[n].edge.chunks[:_STATING] for n in read}
    features.fetch([chunk for chunks in stated.values() for chunk in chunks])
    found = {
        n: max((features[chunk].base for chunk in chunks), default=0.0)
        for n, chunks in stated.items()
    }
    top = max(found.values(), default=0.0)
    if top <= 0:
        return walk
    factors = {n: 1 - _STATED + _STATED * max(value, 0.0) / top for n, value in found.items()}
    weakest = min(factors.values())
    return walk.reweighed({n: factors.get(n, weakest) for n in order})


@dataclass(frozen=True, slots=True)
class PassageReason:
    """Why a passage is evidence: the entity it is about, or the edge it states, with a score."""

    score: float
    entity_id: str
    step: WalkStep | None = None

    @property
    def reached_from(self) -> str:
        """The source of the last edge, or the entity itself without an edge."""
        return self.step.source if self.step else self.entity_id


def find_reasons(
    walk: GraphWalk,
    features: ChunkFeatures,
    store: Store,
    *,
    strength: float,
    origins: Mapping[str, ActivatingSentence],
) -> dict[str, PassageReason]:
    """Return the best reason of each passage that the walk leads to, with its final score.

    ``strength`` is the weight of the reason relative to a passage's own text.
    """
    question = features.question
    promised = _promised(walk, store)
    ranked = sorted(promised, key=lambda i: (-promised[i][0].score, i))[:_PASSAGES]
    features.fetch(ranked)
    covered = _Coverage(question, walk)
    factor = strength * link_factor(question, DEFAULT_WEIGHTS)
    reasons: dict[str, PassageReason] = {}
    for chunk_id in ranked:
        if chunk_id not in features:
            continue
        own = features[chunk_id]
        best: PassageReason | None = None
        for reason in promised[chunk_id]:
            origin = origins.get(walk.start_of(reason.reached_from))
            if origin is not None and origin.chunk_id == chunk_id:
                continue  # a passage does not support itself
            gained = float((covered.of(reason, origin) | own.covered) @ question.weights)
            if origin is not None:
                gained -= float((own.covered & origin.source_covered) @ question.weights)
            relevance = max(gained + max(own.rest, 0.0), 0.0)
            score = factor * reason.score * relevance
            if best is None or score > best.score:
                best = PassageReason(score, reason.entity_id, reason.step)
        if best is not None and best.score > 0:
            reasons[chunk_id] = best
    return reasons


def _promised(walk: GraphWalk, store: Store) -> dict[str, list[PassageReason]]:
    """Return the reasons of passages before their text is read, best first."""
    found: dict[str, dict[tuple[str, bool], PassageReason]] = {}

    def add(chunk_id: str, reason: PassageReason) -> None:
        reasons = found.setdefault(chunk_id, {})
        key = reason.entity_id, reason.step is None
        if key not in reasons or reason.score > reasons[key].score:
            reasons[key] = reason

    for step in walk.steps:
        share = max(len(step.edge.chunks), 1) ** -_SPREAD
        for chunk_id in step.edge.chunks:
            add(chunk_id, PassageReason(step.score * share, step.target, step))
    scores = walk.scores
    strongest = sorted(scores, key=lambda i: (-scores[i], i))[:_ENTITIES]
    for entity, about in chunks_about(store, strongest, fan=_FAN).items():
        shares = spread(about, _SPREAD)
        for item, share in zip(about, shares, strict=True):
            worth = scores[entity] * item.score**_ABOUTNESS * share
            add(item.id, PassageReason(worth, entity))
    return {
        chunk_id: sorted(reasons.values(), key=lambda g: (-g.score, g.entity_id))
        for chunk_id, reasons in found.items()
    }


class _Coverage:
    """Masks of the question's terms in the names and relations on the path to an entity."""

    def __init__(self, question: Question, walk: GraphWalk) -> None:
        self._places = {term: index for index, term in enumerate(question.terms)}
        self._walk = walk
        self._known: dict[tuple[str, str, str], Mask] = {}

    def of(self, reason: PassageReason, origin: ActivatingSentence | None) -> Mask:
        """Return the mask of a reason, including the sentence that the walk started from."""
        step = reason.step
        key = reason.reached_from, reason.entity_id, step.edge.relation if step else ""
        if key not in self._known:
            mask = self._mask(_path_of(reason, self._walk), reason.entity_id)
            self._known[key] = mask if origin is None else mask | origin.covered
        return self._known[key]

    def _mask(self, path: Sequence[WalkStep], entity_id: str) -> Mask:
        mask = np.zeros(len(self._places), dtype=np.bool_)
        for term in terms(" ".join(self._words(path, entity_id))):
            if term in self._places:
                mask[self._places[term]] = True
        return mask

    def _words(self, path: Iterable[WalkStep], entity_id: str) -> Iterable[str]:
        for step in path:
            yield self._walk.entities[step.source].name
            if step.edge.relation != CO_OCCURRENCE_RELATION:
                yield step.edge.relation
        if entity_id in self._walk.entities:
            yield self._walk.entities[entity_id].name


@dataclass(frozen=True, slots=True)
class WalkReader:
    """Turns a walk into the evidence of the retriever ``name``.

    ``strength`` is that of `find_reasons`.
    """

    name: str
    store: Store
    strength: float = 2.2

    def read(
        self,
        query: Query,
        question: Question,
        walk: GraphWalk,
        *,
        features: ChunkFeatures | None = None,
        pool: Iterable[str] = (),
        origins: Mapping[str, ActivatingSentence] | None = None,
    ) -> Evidence:
        """Return the passages that a walk leads to, and those of ``pool``, with paths and seeds.

        A score is the base score of a passage's text plus its reason; ``Hit.scores`` has both.
        ``origins`` are the sentences that activated the seeds, by entity.
        """
        if features is None:
            k = DEFAULT_WEIGHTS.text.text_candidates
            features = ChunkFeatures(
                question, self.store, text_candidates(question, self.store, k=k)
            )
        walk = weigh_edges(walk, features)
        reasons = find_reasons(
            walk, features, self.store, strength=self.strength, origins=origins or {}
        )
        scores, parts = {}, {}
        for chunk_id in dict.fromkeys([*pool, *reasons]):
            reason = reasons[chunk_id].score if chunk_id in reasons else 0.0
            parts[chunk_id] = {"text": features[chunk_id].base, "graph": reason}
            scores[chunk_id] = sum(parts[chunk_id].values())
        ranked = self._stored(rank(scores, query.k), scores, query.k)
        seeds = {
            i: (walk.entities[walk.start_of(reason.reached_from)].name,)
            for i, reason in reasons.items()
        }
        evidence = make_evidence(query, self.name, ranked, parts, features, self.store, seeds=seeds)
        return replace(evidence, paths=self._paths(ranked, reasons, walk))

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
        self, ranked: Sequence[Scored], reasons: Mapping[str, PassageReason], walk: GraphWalk
    ) -> tuple[GraphPath, ...]:
        """Return the paths to the hits, or the best paths of the walk if no hit has one."""
        found = [reasons[item.id] for item in ranked if item.id in reasons]
        paths = [(_path_of(reason, walk), reason.score) for reason in found or reasons.values()]
        return make_paths(paths, walk, self.store, preferred=[item.id for item in ranked])


def _path_of(reason: PassageReason, walk: GraphWalk) -> tuple[WalkStep, ...]:
    path = walk.path_to(reason.reached_from)
    return (*path, reason.step) if reason.step else path


MOST_PATHS = 20


def make_paths(
    paths: Iterable[tuple[Sequence[WalkStep], float]],
    walk: GraphWalk,
    store: Store,
    *,
    preferred: Sequence[str] = (),
) -> tuple[GraphPath, ...]:
    """Return scored paths, best first, each once.

    A hop cites the first passage of ``preferred`` that states it, or else the first passage of all.
    """
    chosen: dict[tuple[tuple[str, str, str], ...], tuple[Sequence[WalkStep], float]] = {}
    for path, score in sorted(paths, key=lambda item: -item[1]):
        key = tuple((s.edge.source, s.edge.relation, s.edge.target) for s in path)
        if path and key not in chosen:
            chosen[key] = path, score
    kept = sorted(chosen.items(), key=lambda item: (-item[1][1], item[0]))[:MOST_PATHS]
    cited = {id(step.edge): _cited(step, preferred) for _, (path, _) in kept for step in path}
    spans = {
        (chunk, relation.source, relation.relation, relation.target): relation.span
        for chunk, relations in store.graph.relations(sorted({*cited.values()} - {""})).items()
        for relation in relations
        if relation.span is not None
    }
    return tuple(
        GraphPath(
            tuple(_hop(step, cited[id(step.edge)], spans, walk) for step in path),
            score,
            {"walk": score, "hops": float(len(path))},
        )
        for _, (path, score) in kept
    )


def _cited(step: WalkStep, preferred: Sequence[str]) -> str:
    supporting = set(step.edge.chunks)
    first = next((chunk for chunk in preferred if chunk in supporting), "")
    return first or next(iter(step.edge.chunks), "")


_Key = tuple[str, str, str, str]


def _hop(step: WalkStep, chunk_id: str, spans: dict[_Key, Span], walk: GraphWalk) -> Hop:
    edge = step.edge
    return Hop(
        source=step.source,
        source_name=walk.entities[step.source].name,
        relation=edge.relation,
        target=step.target,
        target_name=walk.entities[step.target].name,
        forward=step.forward,
        chunk_id=chunk_id,
        span=spans.get((chunk_id, edge.source, edge.relation, edge.target)),
        weight=edge.weight,
    )
