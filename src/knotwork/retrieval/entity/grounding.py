"""From entities and edges that a walk reached back to the passages that support them.

A passage is grounded by an edge that it states, or by an entity that it is about. What this is
worth grows with the score of the edge or entity, falls with the number of passages that share it,
and counts as far as the way there and the passage *together* cover the question: of all ideas
tried for scoring paths, that was the best single one (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knotwork.records import CO_OCCURRENCE_RELATION
from knotwork.retrieval.bridging import link_factor, spread
from knotwork.retrieval.entity.activation import Origin
from knotwork.retrieval.entity.walks import Stride, Trail
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.question import Question
from knotwork.retrieval.things import chunks_about
from knotwork.retrieval.weights import Weights
from knotwork.stores.base import Store
from knotwork.text.terms import terms

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class GroundingSettings:
    """Constants of grounding.

    ``entities`` lead to ``fan`` passages each; ``passages`` in all are looked at closely.
    ``strength`` is the weight of the ground beside a passage's own text.
    """

    strength: float = 2.2
    entities: int = 60
    fan: int = 50
    passages: int = 150
    aboutness: float = 0.4
    spread: float = 0.25
    edge: float = 1.0
    """Worth of a passage that states an edge beside one that is about what the edge leads to."""
    read_edges: int = 100
    """Edges whose passages are read to weigh them by what these say."""
    stating: int = 2
    stated: float = 0.5
    """Share of an edge's score that depends on the passages that state it."""


DEFAULT_GROUNDING = GroundingSettings()


def weigh_edges(trail: Trail, features: ChunkFeatures, settings: GroundingSettings) -> Trail:
    """Return the trail with edges weighed by how well the best passage that states them answers.

    The strongest ``read_edges`` are read; the others count as the weakest of these.
    """
    order = sorted(range(len(trail.strides)), key=lambda n: (-trail.strides[n].score, n))
    read = order[: settings.read_edges]
    stated = {n: trail.strides[n].edge.chunks[: settings.stating] for n in read}
    features.fetch([chunk for chunks in stated.values() for chunk in chunks])
    found = {
        n: max((features[chunk].base for chunk in chunks), default=0.0)
        for n, chunks in stated.items()
    }
    top = max(found.values(), default=0.0)
    if top <= 0:
        return trail
    share = settings.stated
    factors = {n: 1 - share + share * max(value, 0.0) / top for n, value in found.items()}
    weakest = min(factors.values())
    return trail.reweighed({n: factors.get(n, weakest) for n in order})


@dataclass(frozen=True, slots=True)
class Ground:
    """Why a passage is here: the entity it is about, or the edge it states; ``score`` of that."""

    score: float
    entity_id: str
    stride: Stride | None = None

    @property
    def reached_from(self) -> str:
        """The entity from which the last edge was walked; the entity itself where none was."""
        return self.stride.source if self.stride else self.entity_id


def ground_passages(
    trail: Trail,
    features: ChunkFeatures,
    store: Store,
    weights: Weights,
    *,
    settings: GroundingSettings = DEFAULT_GROUNDING,
    origins: Mapping[str, Origin],
) -> dict[str, Ground]:
    """Return the best ground of each passage that the walk leads to, with its final score."""
    question = features.question
    promised = _promised(trail, store, settings)
    ranked = sorted(promised, key=lambda i: (-promised[i][0].score, i))[: settings.passages]
    features.fetch(ranked)
    covered = _Coverage(question, trail)
    factor = settings.strength * link_factor(question, weights)
    grounds: dict[str, Ground] = {}
    for chunk_id in ranked:
        if chunk_id not in features:
            continue
        own = features[chunk_id]
        best: Ground | None = None
        for ground in promised[chunk_id]:
            origin = origins.get(trail.start_of(ground.reached_from))
            if origin is not None and origin.chunk_id == chunk_id:
                continue  # a passage is no evidence of itself
            gained = float((covered.of(ground, origin) | own.covered) @ question.weights)
            if origin is not None:
                gained -= float((own.covered & origin.known) @ question.weights)
            relevance = max(gained + max(own.rest, 0.0), 0.0)
            score = factor * ground.score * relevance
            if best is None or score > best.score:
                best = Ground(score, ground.entity_id, ground.stride)
        if best is not None and best.score > 0:
            grounds[chunk_id] = best
    return grounds


def _promised(trail: Trail, store: Store, settings: GroundingSettings) -> dict[str, list[Ground]]:
    """Return the grounds of passages before they are read, best first."""
    found: dict[str, dict[tuple[str, bool], Ground]] = {}

    def add(chunk_id: str, ground: Ground) -> None:
        grounds = found.setdefault(chunk_id, {})
        key = ground.entity_id, ground.stride is None
        if key not in grounds or ground.score > grounds[key].score:
            grounds[key] = ground

    for stride in trail.strides:
        share = max(len(stride.edge.chunks), 1) ** -settings.spread
        for chunk_id in stride.edge.chunks:
            add(chunk_id, Ground(settings.edge * stride.score * share, stride.target, stride))
    scores = trail.scores
    strongest = sorted(scores, key=lambda i: (-scores[i], i))[: settings.entities]
    for entity, about in chunks_about(store, strongest, fan=settings.fan).items():
        shares = spread(about, settings.spread)
        for item, share in zip(about, shares, strict=True):
            worth = scores[entity] * item.score**settings.aboutness * share
            add(item.id, Ground(worth, entity))
    return {
        chunk_id: sorted(grounds.values(), key=lambda g: (-g.score, g.entity_id))
        for chunk_id, grounds in found.items()
    }


class _Coverage:
    """The terms of the question that the way to an entity holds: names and relations on it."""

    def __init__(self, question: Question, trail: Trail) -> None:
        self._places = {term: index for index, term in enumerate(question.terms)}
        self._trail = trail
        self._known: dict[tuple[str, str, str], Mask] = {}

    def of(self, ground: Ground, origin: Origin | None) -> Mask:
        stride = ground.stride
        key = ground.reached_from, ground.entity_id, stride.edge.relation if stride else ""
        if key not in self._known:
            way = self._trail.way_to(ground.reached_from)
            mask = self._mask([*way, stride] if stride else way, ground.entity_id)
            self._known[key] = mask if origin is None else mask | origin.told
        return self._known[key]

    def _mask(self, way: Sequence[Stride], entity_id: str) -> Mask:
        mask = np.zeros(len(self._places), dtype=np.bool_)
        for term in terms(" ".join(self._words(way, entity_id))):
            if term in self._places:
                mask[self._places[term]] = True
        return mask

    def _words(self, way: Iterable[Stride], entity_id: str) -> Iterable[str]:
        for stride in way:
            yield self._trail.entities[stride.source].name
            if stride.edge.relation != CO_OCCURRENCE_RELATION:
                yield stride.edge.relation
        if entity_id in self._trail.entities:
            yield self._trail.entities[entity_id].name
