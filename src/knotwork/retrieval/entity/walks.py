"""Bounded walks over relations that tell how strongly, and on which way, each entity is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from knotwork.errors import ConfigError
from knotwork.records import ENTITY_EDGES, Direction, Edge, Entity
from knotwork.stores.base import Store

DIRECTIONS: tuple[Direction, ...] = ("both", "in", "out")


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """How far a walk goes.

    ``fan`` neighbours of each entity are looked at, the strongest; ``beam`` entities go on after
    each of ``depth`` hops; the walk ends with ``limit`` edges. An entity reached is worth ``decay``
    of the one before it, times the gain of the edge.
    """

    direction: Direction = "both"
    depth: int = 2
    fan: int = 16
    limit: int = 400
    beam: int = 24
    decay: float = 0.7

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            valid = ", ".join(f"`{name}`" for name in DIRECTIONS)
            raise ConfigError(f"`{self.direction}` is no direction of a walk. Valid: {valid}.")
        for name in ("depth", "fan", "limit", "beam"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 0:
                raise ConfigError(f"The {name} of a walk is {value!r}, not a whole number from 0.")
        if not 0.0 < self.decay <= 1.0:
            raise ConfigError(f"The decay of a walk is {self.decay!r}, not above 0 and up to 1.")


class Gain(Protocol):
    """Says how well an edge leads on, from 0 (not at all) to 1."""

    def __call__(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the gain of walking ``edge`` from ``source`` to ``target``, either of its ends."""


@dataclass(frozen=True, slots=True)
class Stride:
    """An edge as it was walked; ``score`` is that of what lies beyond it, ``start`` what it had."""

    edge: Edge
    source: str
    target: str
    score: float
    start: float

    @property
    def forward(self) -> bool:
        """Return whether the edge itself goes the way that was walked."""
        return self.edge.source == self.source


@dataclass(slots=True)
class Trail:
    """What a walk reached: scores and entities, the best way into each, all edges in order."""

    scores: dict[str, float]
    entities: dict[str, Entity]
    started: Mapping[str, float]
    arrivals: dict[str, Stride] = field(default_factory=dict)
    strides: list[Stride] = field(default_factory=list)

    def way_to(self, entity_id: str) -> tuple[Stride, ...]:
        """Return the strides from a seed to an entity; none for a seed."""
        way: list[Stride] = []
        while entity_id in self.arrivals:  # scores fall along a way: it never comes back
            way.append(self.arrivals[entity_id])
            entity_id = way[-1].source
        return tuple(reversed(way))

    def reweighed(self, factors: Mapping[int, float]) -> Trail:
        """Return the trail with the scores of strides, by their place, times a factor each.

        What lies beyond a stride changes with it; every entity has its best way again.
        """
        trail = Trail(dict(self.started), self.entities, self.started)
        for place, stride in enumerate(self.strides):
            start = trail.scores.get(stride.source, 0.0)
            share = stride.score / stride.start if stride.start > 0 else 0.0
            score = start * share * factors.get(place, 1.0)
            moved = replace(stride, score=score, start=start)
            trail.strides.append(moved)
            if score > trail.scores.get(stride.target, 0.0):
                trail.scores[stride.target] = score
                trail.arrivals[stride.target] = moved
        return trail

    def start_of(self, entity_id: str) -> str:
        """Return the seed from which an entity was reached best."""
        while entity_id in self.arrivals:
            entity_id = self.arrivals[entity_id].source
        return entity_id


def walk_from(seeds: Mapping[str, float], *, store: Store, gain: Gain, limits: WalkLimits) -> Trail:
    """Walk from entities with their scores, breadth first, the best of each hop going on.

    An entity keeps the score of its best way (max-propagation, which findings on multi-hop
    questions place above summing as PageRank does); an edge with no gain is not walked.
    """
    entities = store.graph.entities(list(seeds))
    started = {i: seeds[i] for i in seeds if i in entities}
    trail = Trail(dict(started), entities, started)
    frontier = _best(trail.scores, limits.beam)
    taken: set[tuple[str, str, str]] = set()
    for _ in range(limits.depth):
        reached = _hop(frontier, trail, taken, store, gain, limits)
        if len(trail.strides) >= limits.limit:
            break
        frontier = _best(reached, limits.beam)
    return trail


def _hop(
    frontier: list[str],
    trail: Trail,
    taken: set[tuple[str, str, str]],
    store: Store,
    gain: Gain,
    limits: WalkLimits,
) -> dict[str, float]:
    """Walk the edges of the frontier; return what was reached, or reached better."""
    around = store.graph.neighbours(
        frontier, direction=limits.direction, types=ENTITY_EDGES, fan=limits.fan
    )
    ends = {end for edges in around.values() for e in edges for end in (e.source, e.target)}
    trail.entities.update(store.graph.entities(ends - trail.entities.keys()))
    reached: dict[str, float] = {}
    for source in frontier:
        for edge in around.get(source, ()):
            target = edge.target if edge.source == source else edge.source
            key = edge.source, edge.target, edge.relation
            if key in taken or target not in trail.entities:
                continue
            worth = gain(edge, trail.entities[source], trail.entities[target])
            if worth <= 0.0:
                continue
            if len(trail.strides) >= limits.limit:
                return reached
            taken.add(key)
            score = trail.scores[source] * limits.decay * min(worth, 1.0)
            stride = Stride(edge, source, target, score, trail.scores[source])
            trail.strides.append(stride)
            if score > trail.scores.get(target, 0.0):
                trail.scores[target] = reached[target] = score
                trail.arrivals[target] = stride
    return reached


def _best(scores: Mapping[str, float], most: int) -> list[str]:
    return sorted(scores, key=lambda i: (-scores[i], i))[:most]
