"""Retrievers that walk the graph: from keywords, from entity vectors, or from passages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import QuestionRetriever
from knotwork._retrieval.chunk_features import ChunkFeatures, first_stage
from knotwork._retrieval.entity.graph_walks import (
    ActivatedEntities,
    EdgeGain,
    WalkLimits,
    WalkSeed,
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
from knotwork._retrieval.entity.walk_evidence import WalkReader
from knotwork._retrieval.question import Question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Store
from knotwork._text.terms import content_terms
from knotwork.records import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    Direction,
    Edge,
    Entity,
    Evidence,
    Query,
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


_ENTITIES = "entity"
_SHOWN_COMMUNITIES = 3
NO_VECTORS_NOTE = (
    "Entities were found by the words of their names, because the question or the entities have no "
    "vectors."
)


_ENTITY_VECTOR_HOP = WalkLimits(depth=1, fan=12, limit=300, beam=16, decay=0.5)


@dataclass(frozen=True, slots=True)
class EntityVectorSettings:
    """The ``entities`` nearest to the question count, and relations are walked one hop around
    them.
    """

    entities: int = 12
    near: float = 0.4
    """Worth of an entity near the question relative to one that it names."""
    least: float = 0.25
    """Minimum cosine with the question for an entity to count as near."""
    hop: WalkLimits = _ENTITY_VECTOR_HOP


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

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        settings: EntityVectorSettings | None = None,
        options: Options | None = None,
    ) -> None:
        super().__init__(store=store, embedder=embedder, options=options)
        self._settings = replace(settings or EntityVectorSettings(), entities=self.options.entities)

    def _rank(self, query: Query, question: Question) -> Evidence:
        seeds, notes = self._seeds(question)
        if not seeds:
            return Evidence(query, self.name, notes=(*notes, "No entity is near the question."))
        walk = walk_from(
            seed_scores(add_merged_seeds(seeds, self._store)),
            store=self._store,
            gain=WordGain(question),
            limits=self._settings.hop,
        )
        evidence = WalkReader(self.name, self._store).read(query, question, walk)
        trace = (
            f"Entities nearest to the question: {seed_names(seeds)}.",
            f"{len(walk.steps)} relations around them lead to {len(walk.scores)} entities.",
            *self._communities(seeds),
        )
        return replace(evidence, notes=(*evidence.notes, *notes), trace=trace)

    def _seeds(self, question: Question) -> tuple[list[WalkSeed], tuple[str, ...]]:
        most = self._settings.entities
        notes: tuple[str, ...] = ()
        found = near_seeds(question, self._store, most=most, least=self._settings.least)
        found = [replace(seed, score=seed.score * self._settings.near) for seed in found]
        if question.vector is None or not self._store.vectors(_ENTITIES).count():
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
