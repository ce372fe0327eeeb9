"""Retrievers that walk the graph: from keywords, from entity vectors, or from passages.

The result of a walk becomes evidence: passages, the parts of their scores, cited paths. A passage
has a reason: an edge that it states, or an entity that it is about. The reason's score grows with
the score of the edge or entity, falls with the number of passages that share it, and depends on how
much of the question the path and the passage cover *together*: the best single feature of all that
were tried for scoring paths (benchmarks/results/patterns.md).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from knotwork._retrieval.base import QuestionRetriever
from knotwork._retrieval.chunk_entities import chunks_about
from knotwork._retrieval.chunk_features import ChunkFeatures, first_stage, text_candidates
from knotwork._retrieval.entity.graph_walks import (
    ActivatedEntities,
    ActivatingSentence,
    EdgeGain,
    GraphWalk,
    WalkLimits,
    WalkSeed,
    WalkStep,
    activate_entities,
    add_merged_seeds,
    keyword_seeds,
    merge_seeds,
    named_seeds,
    near_seeds,
    seed_entity_ids,
    seed_names,
    seed_scores,
    walk_from,
    worded_seeds,
)
from knotwork._retrieval.evidence_builder import make_evidence, rank
from knotwork._retrieval.graph_retriever import link_factor, spread
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Scored, Store
from knotwork._text.terms import content_terms, terms
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    Direction,
    Edge,
    Entity,
    Evidence,
    GraphPath,
    Hop,
    Query,
    Span,
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


_CO_OCCURS = 0.4
_RELATED = 0.6
_ASKED = 0.4
"""Gain of a relation if the question contains all of its words."""
_RARITY = 1.0 / 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkOptions:
    """Options of a walk in a specification."""

    depth: int = 2
    fan: int = 16
    limit: int = 400

    def __post_init__(self) -> None:
        _ = self.limits  # refuses invalid values

    @property
    def limits(self) -> WalkLimits:
        """The limits of the walk."""
        return WalkLimits(depth=self.depth, fan=self.fan, limit=self.limit)


class KeywordWalkRetriever(QuestionRetriever):
    """A retriever that walks from the entities that share words with the question.

    ``opening`` begins the line of the trace with these entities.
    """

    opening: ClassVar[str]
    options: WalkOptions

    def _rank(self, query: Query, question: Question) -> Evidence:
        seeds = keyword_seeds(question, self._store)
        if not seeds:
            return Evidence(
                query, self.name, notes=("No entity name shares a word with the question.",)
            )
        gain, lines = self._weigh(question)
        walk = walk_from(
            seed_scores(seeds), store=self._store, gain=gain, limits=self.options.limits
        )
        evidence = WalkReader(self.name, self._store).read(query, question, walk)
        trace = (
            f"{self.opening} {seed_names(seeds)}.",
            *lines,
            f"{len(walk.steps)} edges walked, {len(walk.scores)} entities reached.",
        )
        return replace(evidence, trace=trace)

    @abstractmethod
    def _weigh(self, question: Question) -> tuple[EdgeGain, Sequence[str]]:
        """Return how edges are weighed, with lines of the trace about it."""


class ExploreRetriever(KeywordWalkRetriever):
    """Ranks chunks that support the edges of a bounded walk from the question's keywords.

    ``direction`` is "out", "in" or "both"; ``depth``, ``fan`` and ``limit`` bound the walk. Vectors
    are not searched: an embedder only weighs what the walk found.
    """

    name = "explore"
    opening = "Keywords lead to"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options(WalkOptions):
        """Options of this retriever in a specification."""

        direction: Direction = "both"

        @property
        def limits(self) -> WalkLimits:
            """The limits of the walk."""
            return WalkLimits(
                direction=self.direction, depth=self.depth, fan=self.fan, limit=self.limit
            )

    options: Options

    def _weigh(self, question: Question) -> tuple[EdgeGain, Sequence[str]]:
        return WordGain(question), ()


class WordGain:
    """Weighs edges by their relation, the words it shares with the question, and rare targets."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._terms = frozenset(question.terms)
        self._known: dict[str, float] = {}

    def __call__(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the gain of an edge; see `EdgeGain`."""
        del source
        if edge.relation == ALIAS_RELATION:
            return 1.0
        if edge.relation not in self._known:
            self._known[edge.relation] = relation_worth(edge.relation, self._terms)
        rarity = self._question.rarity(target.chunk_count)
        return float(self._known[edge.relation] * rarity**_RARITY)


def relation_worth(relation: str, asked: Collection[str]) -> float:
    """Return the worth of a relation for a question with these terms, from 0 to 1."""
    if relation == CO_OCCURRENCE_RELATION:
        return _CO_OCCURS
    words = set(content_terms(relation))
    if not words:
        return _RELATED
    return _RELATED + _ASKED * len(words & set(asked)) / len(words)


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


class EntityVectorRetriever(QuestionRetriever):
    """Ranks chunks around the entities with the vectors nearest to the question's.

    Named entities are found by name. Without vectors, of the question or of entities, the full text
    of names is searched. The trace lists the communities of the entities found.
    """

    name = "entity_vectors"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        entities: int = 12

    options: Options

    def _rank(self, query: Query, question: Question) -> Evidence:
        seeds, notes = self._seeds(question)
        if not seeds:
            return Evidence(query, self.name, notes=(*notes, "No entity is near the question."))
        walk = walk_from(
            seed_scores(add_merged_seeds(seeds, self._store)),
            store=self._store,
            gain=WordGain(question),
            limits=_ENTITY_VECTOR_HOP,
        )
        evidence = WalkReader(self.name, self._store).read(query, question, walk)
        trace = (
            f"Entities nearest to the question: {seed_names(seeds)}.",
            f"{len(walk.steps)} relations around them lead to {len(walk.scores)} entities.",
            *self._communities(seeds),
        )
        return replace(evidence, notes=(*evidence.notes, *notes), trace=trace)

    def _seeds(self, question: Question) -> tuple[list[WalkSeed], tuple[str, ...]]:
        most = self.options.entities
        notes: tuple[str, ...] = ()
        found = near_seeds(question, self._store, most=most, least=LEAST_SIMILARITY)
        found = [replace(seed, score=seed.score * _NEAR) for seed in found]
        if question.vector is None or not self._store.vectors("entity").count():
            found, notes = worded_seeds(question, self._store, most=most), (NO_VECTORS_NOTE,)
        return merge_seeds(named_seeds(question), found, most=most), notes

    def _communities(self, seeds: list[WalkSeed]) -> list[str]:
        """Return trace lines with the lowest communities of the entities."""
        held = self._store.capabilities.communities
        if held is None:
            return []
        around = held.of_entities(seed_entity_ids(seeds))
        lowest = dict.fromkeys(around[i][-1] for i in seed_entity_ids(seeds) if around.get(i))
        chosen = list(lowest)[:_SHOWN_COMMUNITIES]
        reports, known = held.reports(chosen), held.communities(chosen)
        return [
            f"Community: {reports[i].title} (level {known[i].level}, {known[i].size} entities)."
            for i in chosen
            if i in reports
        ]


_STRENGTH = 3.0
_SOURCES = 5
"""Best passages that activate entities."""
_ACTIVATED = 40
"""Activated entities from which the walk starts."""
_NAMED = 0.5
"""Worth of an entity that the question names relative to an activated one."""


class GraphVectorRetriever(QuestionRetriever):
    """Ranks chunks by their own text, and those around the entities of the best of them.

    The first search is by vectors and words, or by words without an embedder. ``Hit.scores`` has
    the share of the text and of the graph.
    """

    name = "graph_vector"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        depth: int = 1

        def __post_init__(self) -> None:
            _ = self.limits  # refuses invalid values

        @property
        def limits(self) -> WalkLimits:
            """The limits of the walk."""
            return WalkLimits(depth=self.depth, fan=8, limit=300, beam=40, decay=0.5)

    options: Options

    def _rank(self, query: Query, question: Question) -> Evidence:
        pool, text = first_stage(question, self._store)
        features = ChunkFeatures(question, self._store, text)
        features.fetch(pool)
        activated = activate_entities(
            question,
            self._first_scores(question, pool, features),
            features,
            self._store,
            sources=_SOURCES,
            most=_ACTIVATED,
        )
        seeds = {i: score * _NAMED for i, score in seed_scores(named_seeds(question)).items()}
        walk = walk_from(
            {**activated.scores, **seeds},
            store=self._store,
            gain=WordGain(question),
            limits=self.options.limits,
        )
        evidence = WalkReader(self.name, self._store, _STRENGTH).read(
            query, question, walk, features=features, pool=pool, origins=activated.origins
        )
        return replace(evidence, trace=self._trace(activated, len(pool), len(walk.steps)))

    def _first_scores(
        self, question: Question, pool: list[str], features: ChunkFeatures
    ) -> Mapping[str, float]:
        """Return the score of each passage as a source."""
        named: dict[str, float] = {}
        for link in question.links:
            for item in link.about:
                worth = DEFAULT_WEIGHTS.link.named * link.weight * item.score
                named[item.id] = max(named.get(item.id, 0.0), worth)
        pages = [item.id for link in question.links for item in link.about[:5]]
        features.fetch(pages)
        return {i: features[i].base + named.get(i, 0.0) for i in dict.fromkeys([*pool, *pages])}

    def _trace(self, activated: ActivatedEntities, found: int, edges: int) -> tuple[str, ...]:
        titles = [chunk.document_title or chunk.id for chunk in activated.sources.values()]
        names = [activated.entities[i].name for i in activated.origins]
        return (
            f"{found} passages found by text; the best: {', '.join(titles)}.",
            f"Their sentences lead to {len(names)} entities: {', '.join(names[:8])}.",
            f"{edges} edges walked around these.",
        )
