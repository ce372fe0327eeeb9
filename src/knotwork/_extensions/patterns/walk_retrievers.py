"""Retrievers that walk the graph: from keywords, from entity vectors, or from passages.

Each is a `WalkStart` on one bounded walk over relations, which keeps the best path to each entity
and its score. The result of a walk becomes evidence: passages, the parts of their scores, cited
paths. A passage has a reason: an edge that it states, or an entity that it is about. The reason's
score grows with the score of the edge or entity, falls with the number of passages that share it,
and depends on how much of the question the path and the passage cover *together*: the best single
feature of all that were tried for scoring paths (benchmarks/results/patterns.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.embedder import to_similarity
from knotwork._retrieval.base import Bounds, OneOf, QuestionRetriever, Whole, bounded
from knotwork._retrieval.chunk_entities import (
    chunks_about,
    entities_in_order,
    read_merged_entities_of,
)
from knotwork._retrieval.evidence_builder import (
    ChunkFeatures,
    first_stage,
    make_evidence,
    rank,
    sentence_coverage,
)
from knotwork._retrieval.graph_retriever import find_activations, link_factor, spread
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Scored, Store
from knotwork._stores.indexes import DESCRIPTIONS
from knotwork._text.terms import content_terms, terms
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Direction,
    Edge,
    Entity,
    Evidence,
    GraphPath,
    Hop,
    Query,
)

Mask = NDArray[np.bool_]
EdgeGain = Callable[[Edge, Entity, Entity], float]
"""Weighs an edge walked from one entity to another, from 0 (not walked) to 1."""
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


class WalkStep(NamedTuple):
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
            walk.arrive(step._replace(score=score, start=start))
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


class WalkSeed(NamedTuple):
    """An entity to start from, with a score from 0 to 1 and how it was found."""

    entity: Entity
    score: float
    how: str


def named_seeds(question: Question) -> list[WalkSeed]:
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
    if not seeds:
        return []
    merged = read_merged_entities_of(store, [seed.entity.id for seed in seeds])
    best: dict[str, WalkSeed] = {}
    for seed in seeds:
        for member in merged.members(seed.entity.id):
            if member not in best or seed.score > best[member].score:
                best[member] = seed
    entities = store.graph.entities([i for i in best if i != best[i].entity.id])
    added = [best[i]._replace(entity=entity) for i, entity in entities.items()]
    return merge_seeds(seeds, added, most=len(seeds) + len(added))


def seed_names(seeds: Iterable[WalkSeed]) -> str:
    return ", ".join(f"{seed.entity.name} ({seed.how} {seed.score:.2f})" for seed in seeds)


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
MOST_PATHS = 20


class PassageReason(NamedTuple):
    """Why a passage is evidence: the entity it is about, or the edge it states, with a score."""

    score: float
    entity_id: str
    step: WalkStep | None = None

    @property
    def reached_from(self) -> str:
        """The source of the last edge, or the entity itself without an edge."""
        return self.step.source if self.step else self.entity_id

    def path(self, walk: GraphWalk) -> tuple[WalkStep, ...]:
        """Return the steps from a seed to the entity, or to the edge and over it."""
        way = walk.path_to(self.reached_from)
        return (*way, self.step) if self.step else way


class ActivatingSentence(NamedTuple):
    """The sentence of a passage that activates a seed.

    ``covered`` marks the question's terms in the sentence, ``source_covered`` those in its passage:
    a passage that only repeats these is worth less.
    """

    chunk_id: str
    covered: Mask
    source_covered: Mask


@dataclass(frozen=True, slots=True)
class WalkStart:
    """Where a walk starts, how it weighs edges, and what the evidence says about it.

    ``trace`` returns the lines about a walk. A retriever that has searched passages already gives
    their ``features``; ``pool`` are those that are ranked whether or not the walk leads to them,
    and ``origins`` the sentences that activated the seeds, by entity.
    """

    seeds: Mapping[str, float]
    gain: EdgeGain
    limits: WalkLimits
    trace: Callable[[GraphWalk], Sequence[str]]
    notes: tuple[str, ...] = ()
    features: ChunkFeatures | None = None
    pool: Sequence[str] = ()
    origins: Mapping[str, ActivatingSentence] = field(default_factory=dict)


class WalkRetriever(QuestionRetriever):
    """Ranks chunks that a walk leads to, by their own text and the reason that leads to them.

    ``strength`` is the weight of the reason relative to a passage's own text; ``nothing`` is the
    note if there is no entity to start from. ``Hit.scores`` has both parts.
    """

    strength: ClassVar[float] = 2.2
    nothing: ClassVar[str] = "No entity name shares a word with the question."

    @abstractmethod
    def _start(self, question: Question) -> WalkStart:
        """Return where and how to walk for a question."""

    def _rank(self, query: Query, question: Question) -> Evidence:
        start = self._start(question)
        if not start.seeds and not start.pool:
            return Evidence(query, self.name, notes=(*start.notes, self.nothing))
        walk = walk_from(start.seeds, store=self._store, gain=start.gain, limits=start.limits)
        features = start.features
        if features is None:
            k = DEFAULT_WEIGHTS.text.text_candidates
            text = self._store.texts("chunk").search(question.text, k=k)
            features = ChunkFeatures(question, self._store, text)
        weighed = _weigh_edges(walk, features)
        reasons = self._find_reasons(weighed, features, start.origins)
        scores, parts = {}, {}
        for chunk_id in dict.fromkeys([*start.pool, *reasons]):
            reason = reasons[chunk_id].score if chunk_id in reasons else 0.0
            parts[chunk_id] = {"text": features[chunk_id].base, "graph": reason}
            scores[chunk_id] = sum(parts[chunk_id].values())
        ranked = self._stored(rank(scores, query.k), scores, query.k)
        seeds = {
            i: (weighed.entities[weighed.start_of(reason.reached_from)].name,)
            for i, reason in reasons.items()
        }
        evidence = make_evidence(query, self.name, ranked, parts, features, seeds=seeds)
        return replace(
            evidence,
            paths=self._paths(ranked, reasons, weighed),
            notes=(*evidence.notes, *start.notes),
            trace=tuple(start.trace(walk)),
        )

    def _find_reasons(
        self, walk: GraphWalk, features: ChunkFeatures, origins: Mapping[str, ActivatingSentence]
    ) -> dict[str, PassageReason]:
        """Return the best reason of each passage that the walk leads to, with its final score."""
        question, promised = features.question, self._promised(walk)
        ranked = best_of({i: reasons[0].score for i, reasons in promised.items()}, _PASSAGES)
        features.fetch(ranked)
        factor = self.strength * link_factor(question, DEFAULT_WEIGHTS)
        places = {term: index for index, term in enumerate(question.terms)}
        known: dict[tuple[str, str, str], Mask] = {}
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
                relation = reason.step.edge.relation if reason.step else ""
                key = reason.reached_from, reason.entity_id, relation
                if key not in known:
                    mask = _covered_by(reason, walk, places)
                    known[key] = mask if origin is None else mask | origin.covered
                gained = float((known[key] | own.covered) @ question.weights)
                if origin is not None:
                    gained -= float((own.covered & origin.source_covered) @ question.weights)
                relevance = max(gained + max(own.rest, 0.0), 0.0)
                score = factor * reason.score * relevance
                if best is None or score > best.score:
                    best = PassageReason(score, reason.entity_id, reason.step)
            if best is not None and best.score > 0:
                reasons[chunk_id] = best
        return reasons

    def _promised(self, walk: GraphWalk) -> dict[str, list[PassageReason]]:
        """Return the reasons of passages before their text is read, best first."""
        found: dict[str, dict[tuple[str, bool], PassageReason]] = {}

        def add(chunk_id: str, reason: PassageReason) -> None:
            reasons, key = found.setdefault(chunk_id, {}), (reason.entity_id, reason.step is None)
            if key not in reasons or reason.score > reasons[key].score:
                reasons[key] = reason

        for step in walk.steps:
            share = max(len(step.edge.chunks), 1) ** -_SPREAD
            for chunk_id in step.edge.chunks:
                add(chunk_id, PassageReason(step.score * share, step.target, step))
        strongest = best_of(walk.scores, _ENTITIES)
        for entity, about in chunks_about(self._store, strongest, fan=_FAN).items():
            for item, share in zip(about, spread(about, _SPREAD), strict=True):
                worth = walk.scores[entity] * item.score**_ABOUTNESS * share
                add(item.id, PassageReason(worth, entity))
        return {
            chunk_id: sorted(reasons.values(), key=lambda g: (-g.score, g.entity_id))
            for chunk_id, reasons in found.items()
        }

    def _stored(
        self, ranked: Sequence[Scored], scores: Mapping[str, float], k: int
    ) -> Sequence[Scored]:
        """Return the best passages that are in the index, because a graph may cite other texts."""
        known = self._store.documents.chunks([item.id for item in ranked])
        if len(known) == len(ranked):
            return ranked
        stored = self._store.documents.chunks(list(scores))
        return rank({i: score for i, score in scores.items() if i in stored}, k)

    def _paths(
        self, ranked: Sequence[Scored], reasons: Mapping[str, PassageReason], walk: GraphWalk
    ) -> tuple[GraphPath, ...]:
        """Return the paths to the hits, or of the whole walk if no hit has one: best first, each
        once.

        A hop cites the first hit that states it, or else the first passage of all.
        """
        hits = [item.id for item in ranked]
        found = [reasons[i] for i in hits if i in reasons] or list(reasons.values())
        chosen: dict[tuple[tuple[str, str, str], ...], tuple[Sequence[WalkStep], float]] = {}
        for reason in sorted(found, key=lambda reason: -reason.score):
            path = reason.path(walk)
            key = tuple((s.edge.source, s.edge.relation, s.edge.target) for s in path)
            if path:
                chosen.setdefault(key, (path, reason.score))
        kept = sorted(chosen.items(), key=lambda item: (-item[1][1], item[0]))[:MOST_PATHS]
        stating = {id(s.edge): s.edge.chunks for _, (path, _) in kept for s in path}
        cited = {
            edge: next((hit for hit in hits if hit in chunks), next(iter(chunks), ""))
            for edge, chunks in stating.items()
        }
        spans = {
            (chunk, relation.source, relation.relation, relation.target): relation.span
            for chunk, relations in self._store.graph.relations(
                sorted({*cited.values()} - {""})
            ).items()
            for relation in relations
            if relation.span is not None
        }

        def hop(step: WalkStep) -> Hop:
            edge, chunk_id = step.edge, cited[id(step.edge)]
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

        return tuple(
            GraphPath(tuple(map(hop, path)), score, {"walk": score, "hops": float(len(path))})
            for _, (path, score) in kept
        )


def _weigh_edges(walk: GraphWalk, features: ChunkFeatures) -> GraphWalk:
    """Return the walk with edges weighed by the best base score of the passages that state them.

    The strongest edges are read; the others get the lowest weight of these.
    """
    order = sorted(range(len(walk.steps)), key=lambda n: (-walk.steps[n].score, n))
    stated = {n: walk.steps[n].edge.chunks[:_STATING] for n in order[:_READ_EDGES]}
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


def _covered_by(reason: PassageReason, walk: GraphWalk, places: Mapping[str, int]) -> Mask:
    """Return a mask of the question's terms in the names and relations on the path of a reason."""
    words: list[str] = []
    for step in reason.path(walk):
        words.append(walk.entities[step.source].name)
        if step.edge.relation != CO_OCCURRENCE_RELATION:
            words.append(step.edge.relation)
    if reason.entity_id in walk.entities:
        words.append(walk.entities[reason.entity_id].name)
    mask = np.zeros(len(places), dtype=np.bool_)
    mask[[places[term] for term in terms(" ".join(words)) if term in places]] = True
    return mask


_CO_OCCURS = 0.4
_RELATED = 0.6
_ASKED = 0.4
"""Gain of a relation if the question contains all of its words."""
_RARITY = 1.0 / 3.0


def share_of_words(relation: str, question: Question) -> float:
    """Return the share of a relation's words that the question contains."""
    words = set(content_terms(relation))
    return len(words.intersection(question.terms)) / len(words) if words else 0.0


def gain_by_words(question: Question) -> EdgeGain:
    """Weigh edges by their relation, the words it shares with the question, and rare targets."""
    known = {CO_OCCURRENCE_RELATION: _CO_OCCURS}

    def gain(edge: Edge, _source: Entity, target: Entity) -> float:
        if edge.relation == ALIAS_RELATION:
            return 1.0
        if edge.relation not in known:
            known[edge.relation] = _RELATED + _ASKED * share_of_words(edge.relation, question)
        return float(known[edge.relation] * question.rarity(target.chunk_count) ** _RARITY)

    return gain


class KeywordWalkRetriever(WalkRetriever):
    """A retriever that walks from the entities that share words with the question.

    ``opening`` begins the line of the trace with these entities.
    """

    opening: ClassVar[str]
    options: WalkOptions

    def _start(self, question: Question) -> WalkStart:
        worded = worded_seeds(question, self._store, most=MOST_KEYWORDS)
        found = merge_seeds(named_seeds(question), worded, most=MOST_KEYWORDS)
        seeds = add_merged_seeds(found, self._store)
        gain, lines = self._weigh(question)
        bounds = self.options
        return WalkStart(
            {seed.entity.id: seed.score for seed in seeds},
            gain,
            WalkLimits(
                direction=bounds.direction, depth=bounds.depth, fan=bounds.fan, limit=bounds.limit
            ),
            lambda walk: (
                f"{self.opening} {seed_names(seeds)}.",
                *lines,
                f"{len(walk.steps)} edges walked, {len(walk.scores)} entities reached.",
            ),
        )

    def _weigh(self, question: Question) -> tuple[EdgeGain, Sequence[str]]:
        """Return how edges are weighed, with lines of the trace about it."""
        return gain_by_words(question), ()


class ExploreRetriever(KeywordWalkRetriever):
    """Ranks chunks that support the edges of a bounded walk from the question's keywords.

    Vectors are not searched: an embedder only weighs what the walk found.
    """

    name = "explore"
    opening = "Keywords lead to"
    Options = WalkOptions


_SHOWN_COMMUNITIES = 3
NO_VECTORS_NOTE = (
    "Entities were found by the words of their names, because the question or the entities have no "
    "vectors."
)
_ENTITY_VECTOR_HOP = WalkLimits(depth=1, fan=12, limit=300, beam=16, decay=0.5)
_NEAR = 0.4
"""Worth of an entity near the question relative to one that it names."""
LEAST_SIMILARITY = 0.25
"""Minimum similarity with the question for an entity to count as near."""


class EntityVectorRetriever(WalkRetriever):
    """Ranks chunks around the entities with the vectors nearest to the question's.

    Named entities are found by name. Without vectors, of the question or of entities, the full text
    of names is searched. The trace lists the communities of the entities found.
    """

    name = "entity_vectors"
    nothing = "No entity is near the question."

    @bounded
    class Options:
        entities: int = 12

    options: Options

    def _start(self, question: Question) -> WalkStart:
        most, notes = self.options.entities, tuple[str, ...]()
        found = near_seeds(question, self._store, most=most, least=LEAST_SIMILARITY)
        found = [seed._replace(score=seed.score * _NEAR) for seed in found]
        if question.vector is None or not self._store.vectors("entity").count():
            found, notes = worded_seeds(question, self._store, most=most), (NO_VECTORS_NOTE,)
        seeds = merge_seeds(named_seeds(question), found, most=most)
        return WalkStart(
            {s.entity.id: s.score for s in add_merged_seeds(seeds, self._store)},
            gain_by_words(question),
            _ENTITY_VECTOR_HOP,
            lambda walk: (
                f"Entities nearest to the question: {seed_names(seeds)}.",
                f"{len(walk.steps)} relations around them lead to {len(walk.scores)} entities.",
                *self._communities(seeds),
            ),
            notes,
        )

    def _communities(self, seeds: Sequence[WalkSeed]) -> list[str]:
        """Return trace lines with the lowest communities of the entities."""
        held = self._store.capabilities.communities
        if held is None:
            return []
        around = held.of_entities([seed.entity.id for seed in seeds])
        found = (around.get(seed.entity.id) for seed in seeds)
        chosen = list(dict.fromkeys(ids[-1] for ids in found if ids))[:_SHOWN_COMMUNITIES]
        reports, known = held.reports(chosen), held.communities(chosen)
        return [
            f"Community: {reports[i].title} (level {known[i].level}, {known[i].size} entities)."
            for i in chosen
            if i in reports
        ]


_SOURCES = 5
"""Best passages that activate entities."""
_ACTIVATED = 40
"""Activated entities from which the walk starts."""
_NAMED = 0.5
"""Worth of an entity that the question names relative to an activated one."""


class GraphVectorRetriever(WalkRetriever):
    """Ranks chunks by their own text, and those around the entities of the best of them.

    The first search is by vectors and words, or by words without an embedder.
    """

    name = "graph_vector"
    strength = 3.0
    nothing = "No passage shares a word with the question."

    @bounded
    class Options:
        depth: Whole = 1

    options: Options

    def _start(self, question: Question) -> WalkStart:
        pool, features = first_stage(question, self._store)
        named: dict[str, float] = {}
        for link in question.links:
            for item in link.about:
                worth = DEFAULT_WEIGHTS.link.named * link.weight * item.score
                named[item.id] = max(named.get(item.id, 0.0), worth)
        pages = [item.id for link in question.links for item in link.about[:5]]
        features.fetch(pages)
        scores = {i: features[i].base + named.get(i, 0.0) for i in dict.fromkeys([*pool, *pages])}
        sources = self._store.documents.chunks(best_of(scores, _SOURCES))
        covered = sentence_coverage(question, sources)
        activations, entities, _ = find_activations(scores, sources, features)
        values = {i: found[0].value for i, found in activations.items()}
        seeds = {i: values[i] for i in best_of(values, _ACTIVATED)}
        origins = {}
        for i in seeds:
            source, number = activations[i][0].chunk_id, activations[i][0].sentence
            origins[i] = ActivatingSentence(
                source, covered[source][number], features[source].covered
            )
        titles = [chunk.document_title or chunk.id for chunk in sources.values()]
        names = [entities[i].name for i in seeds]
        return WalkStart(
            seeds | {seed.entity.id: seed.score * _NAMED for seed in named_seeds(question)},
            gain_by_words(question),
            WalkLimits(depth=self.options.depth, fan=8, limit=300, beam=40, decay=0.5),
            lambda walk: (
                f"{len(pool)} passages found by text; the best: {', '.join(titles)}.",
                f"Their sentences lead to {len(names)} entities: {', '.join(names[:8])}.",
                f"{len(walk.steps)} edges walked around these.",
            ),
            features=features,
            pool=pool,
            origins=origins,
        )
