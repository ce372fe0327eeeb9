"""Bounded walks over relations, and the entities at which they start.

Seeds are entities that a question names, shares words with or is near by vector, or that the
sentences of the best passages activate. A walk keeps the best path to each entity and its score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Protocol

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.embedder import to_similarity
from knotwork._retrieval.chunk_entities import entities_in_order, read_merged_entities_of
from knotwork._retrieval.chunk_features import ChunkFeatures, sentence_coverage
from knotwork._retrieval.graph_retriever import find_activations
from knotwork._retrieval.options import Bounds, OneOf, Whole, bounded
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Scored, Store
from knotwork._stores.vectors import DESCRIPTIONS
from knotwork._text.terms import content_terms
from knotwork.records import ENTITY_EDGES, Chunk, Direction, Edge, Entity

DIRECTIONS: tuple[Direction, ...] = ("both", "in", "out")


@bounded
class WalkOptions:
    """The bounds of a walk that a specification may state.

    Of each entity the ``fan`` strongest neighbours are visited, in ``depth`` hops; the walk ends at
    ``limit`` edges.
    """

    direction: Annotated[Direction, OneOf(DIRECTIONS)] = "both"
    depth: Whole = 2
    fan: Whole = 16
    limit: Whole = 400


@bounded
class WalkLimits(WalkOptions):
    """The bounds of a walk.

    After each hop the ``beam`` best entities continue. An entity has ``decay`` of the score of the
    one before it, times the gain of the edge.
    """

    beam: Whole = 24
    decay: Annotated[float, Bounds(0, 1, is_open=True)] = 0.7


class EdgeGain(Protocol):
    """Weighs edges during a walk, from 0 (not walked) to 1."""

    def __call__(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the gain of walking ``edge`` from ``source`` to ``target``, its two ends."""


@dataclass(frozen=True, slots=True)
class WalkStep:
    """An edge as walked, with the scores of its target (``score``) and of its source
    (``start``).
    """

    edge: Edge
    source: str
    target: str
    score: float
    start: float

    @property
    def forward(self) -> bool:
        """True if the edge points in the direction of the walk."""
        return self.edge.source == self.source


@dataclass(slots=True)
class GraphWalk:
    """The result of a walk: scores, entities, the best arrival at each, and all edges in order."""

    scores: dict[str, float]
    entities: dict[str, Entity]
    started: Mapping[str, float]
    arrivals: dict[str, WalkStep] = field(default_factory=dict)
    steps: list[WalkStep] = field(default_factory=list)

    def path_to(self, entity_id: str) -> tuple[WalkStep, ...]:
        """Return the steps from a seed to an entity; a seed has none."""
        path: list[WalkStep] = []
        while entity_id in self.arrivals:  # ends, because scores fall along a path
            path.append(self.arrivals[entity_id])
            entity_id = path[-1].source
        return tuple(reversed(path))

    def arrive(self, step: WalkStep) -> bool:
        """Add a step; return True if it is the best arrival at its target so far."""
        self.steps.append(step)
        if step.score <= self.scores.get(step.target, 0.0):
            return False
        self.scores[step.target], self.arrivals[step.target] = step.score, step
        return True

    def reweighed(self, factors: Mapping[int, float]) -> GraphWalk:
        """Return the walk with the score of each step times a factor, by the number of the
        step.

        Scores after a step change with it, and every entity gets its best arrival again.
        """
        walk = GraphWalk(dict(self.started), self.entities, self.started)
        for number, step in enumerate(self.steps):
            start = walk.scores.get(step.source, 0.0)
            share = step.score / step.start if step.start > 0 else 0.0
            score = start * share * factors.get(number, 1.0)
            walk.arrive(replace(step, score=score, start=start))
        return walk

    def start_of(self, entity_id: str) -> str:
        """Return the seed of the best path to an entity."""
        while entity_id in self.arrivals:
            entity_id = self.arrivals[entity_id].source
        return entity_id


def walk_from(
    seeds: Mapping[str, float], *, store: Store, gain: EdgeGain, limits: WalkLimits
) -> GraphWalk:
    """Walk breadth first from entities with scores, continuing from the best of each hop.

    An entity has the score of its best path: on multi-hop questions this maximum does better than
    the sum that PageRank computes. An edge with a gain of 0 is not walked.
    """
    entities = store.graph.entities(list(seeds))
    started = {i: seeds[i] for i in seeds if i in entities}
    walk = GraphWalk(dict(started), entities, started)
    reached, taken = walk.scores, set[tuple[str, str, str]]()
    for _ in range(limits.depth):
        frontier = best_of(reached, limits.beam)
        around = store.graph.neighbours(
            frontier, direction=limits.direction, types=ENTITY_EDGES, fan=limits.fan
        )
        ends = {end for edges in around.values() for e in edges for end in (e.source, e.target)}
        entities.update(store.graph.entities(ends - entities.keys()))
        reached = {}
        for source, edge in ((i, edge) for i in frontier for edge in around.get(i, ())):
            target = edge.target if edge.source == source else edge.source
            key = edge.source, edge.target, edge.relation
            if key in taken or target not in entities:
                continue
            worth = gain(edge, entities[source], entities[target])
            if worth <= 0.0:
                continue
            if len(walk.steps) >= limits.limit:
                return walk
            taken.add(key)
            score = walk.scores[source] * limits.decay * min(worth, 1.0)
            if walk.arrive(WalkStep(edge, source, target, score, walk.scores[source])):
                reached[target] = score
        if len(walk.steps) >= limits.limit:
            break
    return walk


def best_of(scores: Mapping[str, float], most: int) -> list[str]:
    """Return the ids with the best scores, ties by ascending id."""
    return sorted(scores, key=lambda i: (-scores[i], i))[:most]


MOST_KEYWORDS = 8
"""Maximum number of seeds from the words of a question, not counting merged entities."""
_WORDED_CANDIDATES = 60
_WORDED_TRUST = 0.5
"""Worth of an entity that shares words with the question relative to one that it names."""


@dataclass(frozen=True, slots=True)
class WalkSeed:
    """An entity to start from, with a score from 0 to 1 and how it was found."""

    entity: Entity
    score: float
    how: str


def named_seeds(question: Question) -> list[WalkSeed]:
    """Return the entities that the question names."""
    return [WalkSeed(k.entity, k.weight, "named") for k in question.links if k.weight > 0]


def worded_seeds(question: Question, store: Store, *, most: int) -> list[WalkSeed]:
    """Return entities whose names share words with the question, by the full text of names.

    A score grows with the share of the name in the question and with the information of these
    words.
    """
    shares = dict(zip(question.terms, question.weights.tolist(), strict=True))
    hits = store.texts("entity").search(question.text, k=max(_WORDED_CANDIDATES, most))
    found = []
    for identifier, entity in entities_in_order(hits, store).items():
        words = set(content_terms(entity.name))
        shared = words & shares.keys()
        if not shared or identifier in question.named:
            continue
        information = sum(shares[word] for word in shared)
        score = _WORDED_TRUST * (len(shared) / len(words)) * math.sqrt(information)
        found.append(WalkSeed(entity, score * question.rarity(entity.chunk_count), "words"))
    return merge_seeds(found, most=most)


def near_seeds(
    question: Question, store: Store, *, most: int, least: float = 0.0
) -> list[WalkSeed]:
    """Return the entities with the nearest vectors, scored by cosine and rarity.

    An entity has a vector of its name, and one of its description if a model has described it; the
    nearer one counts. ``least`` is the minimum similarity, from 0 (unrelated) to 1 (equal).
    """
    if question.vector is None:
        return []
    best: dict[str, float] = {}
    for index in ("entity", DESCRIPTIONS):
        for hit in store.vectors(index).search(question.vector, k=most):
            best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
    nearest = sorted(best.items(), key=lambda item: (-item[1], item[0]))[:most]
    hits = [Scored(key, to_similarity(score, question.embedder)) for key, score in nearest]
    hits = [hit for hit in hits if hit.score > least]
    cosines = dict(hits)
    return [
        WalkSeed(entity, cosines[i] * question.rarity(entity.chunk_count), "vector")
        for i, entity in entities_in_order(hits, store).items()
    ]


def merge_seeds(*lists: Iterable[WalkSeed], most: int) -> list[WalkSeed]:
    """Return the best seed of each entity, best first."""
    merged: dict[str, WalkSeed] = {}
    for seed in (seed for seeds in lists for seed in seeds):
        known = merged.setdefault(seed.entity.id, seed)
        merged[seed.entity.id] = seed if seed.score > known.score else known
    return sorted(merged.values(), key=lambda seed: (-seed.score, seed.entity.id))[: max(most, 0)]


def add_merged_seeds(seeds: Sequence[WalkSeed], store: Store) -> list[WalkSeed]:
    """Add the entities merged with the seeds, each with the score of its seed."""
    merged = read_merged_entities_of(store, [seed.entity.id for seed in seeds])
    best: dict[str, WalkSeed] = {}
    for seed in seeds:
        for member in merged.members(seed.entity.id):
            if member not in best or seed.score > best[member].score:
                best[member] = seed
    entities = store.graph.entities([i for i in best if i != best[i].entity.id])
    added = [replace(best[i], entity=entity) for i, entity in entities.items()]
    return merge_seeds(seeds, added, most=len(seeds) + len(added))


def seed_names(seeds: Iterable[WalkSeed]) -> str:
    """Return the seeds as readable text, in order."""
    return ", ".join(f"{seed.entity.name} ({seed.how} {seed.score:.2f})" for seed in seeds)


Mask = NDArray[np.bool_]
_EQUAL_ENTITIES = replace(DEFAULT_WEIGHTS, bridge=replace(DEFAULT_WEIGHTS.bridge, unstated=1.0))
"""Weights with which entities count the same whether or not a model stated a fact of them."""


@dataclass(frozen=True, slots=True)
class ActivatingSentence:
    """The sentence that activates an entity.

    ``covered`` marks the question's terms in the sentence, ``source_covered`` those in its passage:
    a passage that only repeats these is worth less.
    """

    score: float
    chunk_id: str
    covered: Mask
    source_covered: Mask


def activate_entities(
    question: Question,
    seeds: Mapping[str, float],
    features: ChunkFeatures,
    store: Store,
    *,
    sources: int,
    most: int,
) -> tuple[dict[str, ActivatingSentence], Mapping[str, Entity], Mapping[str, Chunk]]:
    """Return the sentences by which the best of ``seeds``, scores by chunk id, activate entities.

    They are by entity, strongest first; the entities and the source passages follow. A sentence
    activates the entities it mentions by the score of its passage, its similarity to the question
    and their rarity. Entities that the question names are left out.
    """
    chunks = store.documents.chunks(best_of(seeds, sources))
    covered = sentence_coverage(question, chunks)
    found, entities = find_activations(question, seeds, chunks, features, store, _EQUAL_ENTITIES)
    values = {i: activations[0].value for i, activations in found.items()}
    origins = {}
    for identifier in best_of(values, most):
        first = found[identifier][0]
        masks = covered[first.chunk_id][first.sentence], features[first.chunk_id].covered
        origins[identifier] = ActivatingSentence(first.value, first.chunk_id, *masks)
    return origins, entities, chunks
