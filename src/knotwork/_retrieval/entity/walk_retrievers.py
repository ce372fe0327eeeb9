"""Retrievers that walk the graph: from keywords, from entity vectors, or from passages.

Each is a `WalkStart` on one walk. The result of a walk becomes evidence: passages, the parts of
their scores, cited paths. A passage has a reason: an edge that it states, or an entity that it is
about. The reason's score grows with the score of the edge or entity, falls with the number of
passages that share it, and depends on how much of the question the path and the passage cover
*together*: the best single feature of all that were tried for scoring paths
(benchmarks/results/patterns.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from knotwork._retrieval.base import QuestionRetriever
from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.chunk_features import ChunkFeatures, first_stage, text_candidates
from knotwork._retrieval.entity.graph_walks import (
    MOST_KEYWORDS,
    ActivatingSentence,
    EdgeGain,
    GraphWalk,
    WalkLimits,
    WalkOptions,
    WalkSeed,
    WalkStep,
    activate_entities,
    add_merged_seeds,
    best_of,
    merge_seeds,
    named_seeds,
    near_seeds,
    seed_names,
    walk_from,
    worded_seeds,
)
from knotwork._retrieval.evidence_builder import make_evidence, rank
from knotwork._retrieval.graph_retriever import link_factor, spread
from knotwork._retrieval.options import Whole, bounded
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Scored
from knotwork._text.terms import content_terms, terms
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    Edge,
    Entity,
    Evidence,
    GraphPath,
    Hop,
    Query,
)

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
MOST_PATHS = 20


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

    def path(self, walk: GraphWalk) -> tuple[WalkStep, ...]:
        """Return the steps from a seed to the entity, or to the edge and over it."""
        way = walk.path_to(self.reached_from)
        return (*way, self.step) if self.step else way


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
            text = text_candidates(question, self._store, k=k)
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
        evidence = make_evidence(
            query, self.name, ranked, parts, features, self._store, seeds=seeds
        )
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
        cited = {id(s.edge): _cited(s.edge.chunks, hits) for _, (path, _) in kept for s in path}
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


def _cited(stating: Collection[str], preferred: Sequence[str]) -> str:
    held = set(stating)
    return next((chunk for chunk in preferred if chunk in held), "") or next(iter(stating), "")


_CO_OCCURS = 0.4
_RELATED = 0.6
_ASKED = 0.4
"""Gain of a relation if the question contains all of its words."""
_RARITY = 1.0 / 3.0


class WordGain:
    """Weighs edges by their relation, the words it shares with the question, and rare targets."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._known = {ALIAS_RELATION: 1.0, CO_OCCURRENCE_RELATION: _CO_OCCURS}

    def __call__(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the gain of an edge; see `EdgeGain`."""
        del source
        if edge.relation == ALIAS_RELATION:
            return 1.0
        if edge.relation not in self._known:
            words = set(content_terms(edge.relation))
            asked = len(words & set(self._question.terms)) / len(words) if words else 0.0
            self._known[edge.relation] = _RELATED + _ASKED * asked
        rarity = self._question.rarity(target.chunk_count)
        return float(self._known[edge.relation] * rarity**_RARITY)


class KeywordWalkRetriever(WalkRetriever):
    """A retriever that walks from the entities that share words with the question.

    ``opening`` begins the line of the trace with these entities.
    """

    opening: ClassVar[str]
    options: WalkOptions

    def _start(self, question: Question) -> WalkStart:
        worded = worded_seeds(question, self._store, most=MOST_KEYWORDS)
        found = merge_seeds(named_seeds(question), worded, most=MOST_KEYWORDS)
        seeds = add_merged_seeds(found, self._store) if found else []
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
        return WordGain(question), ()


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
        found = [replace(seed, score=seed.score * _NEAR) for seed in found]
        if question.vector is None or not self._store.vectors("entity").count():
            found, notes = worded_seeds(question, self._store, most=most), (NO_VECTORS_NOTE,)
        seeds = merge_seeds(named_seeds(question), found, most=most)
        around = add_merged_seeds(seeds, self._store) if seeds else []
        return WalkStart(
            {seed.entity.id: seed.score for seed in around},
            WordGain(question),
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
        pool, text = first_stage(question, self._store)
        features = ChunkFeatures(question, self._store, text)
        features.fetch(pool)
        named: dict[str, float] = {}
        for link in question.links:
            for item in link.about:
                worth = DEFAULT_WEIGHTS.link.named * link.weight * item.score
                named[item.id] = max(named.get(item.id, 0.0), worth)
        pages = [item.id for link in question.links for item in link.about[:5]]
        features.fetch(pages)
        scores = {i: features[i].base + named.get(i, 0.0) for i in dict.fromkeys([*pool, *pages])}
        origins, entities, sources = activate_entities(
            question, scores, features, self._store, sources=_SOURCES, most=_ACTIVATED
        )
        titles = [chunk.document_title or chunk.id for chunk in sources.values()]
        names = [entities[i].name for i in origins]
        return WalkStart(
            {i: origin.score for i, origin in origins.items()}
            | {seed.entity.id: seed.score * _NAMED for seed in named_seeds(question)},
            WordGain(question),
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
