"""Entity-vector local search: the entities nearest to the question, and all that hangs on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from knotwork.inference.base import Embedder
from knotwork.records import Community, Evidence, Query
from knotwork.retrieval.entity.answering import TrailReader
from knotwork.retrieval.entity.explore import WordGain
from knotwork.retrieval.entity.grounding import DEFAULT_GROUNDING, GroundingSettings
from knotwork.retrieval.entity.seeds import (
    Seed,
    add_other_names,
    entities_of,
    merge_seeds,
    named_seeds,
    near_seeds,
    scores_of,
    seed_names,
    worded_seeds,
)
from knotwork.retrieval.entity.walks import WalkLimits, walk_from
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.reports import communities_of
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Store

_ENTITIES = "entity"
_SHOWN_COMMUNITIES = 3
NO_VECTORS_NOTE = (
    "Entities were found by the words of their names: there is no vector of the question, or none "
    "of entities."
)


_HOP = WalkLimits(depth=1, fan=12, limit=300, beam=16, decay=0.5)


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """``entities`` nearest to the question count; relations are walked one hop around them."""

    entities: int = 12
    near: float = 0.4
    """Worth of an entity near the question beside one that it names."""
    least: float = 0.25
    """Cosine with the question from which an entity counts as near."""
    hop: WalkLimits = _HOP


class EntityVectorRetriever:
    """Chunks around the entities whose vectors lie nearest to the question's.

    Names that the question writes out are found by themselves; where the index holds no vectors of
    entities, or the question has none, the full text of names stands in. The communities of the
    entities found are told in the trace.
    """

    name = "entity_vectors"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        entities: int = 12,
        weights: Weights = DEFAULT_WEIGHTS,
        grounding: GroundingSettings = DEFAULT_GROUNDING,
        settings: LocalSettings | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._weights = weights
        self._reader = TrailReader(self.name, store, weights, grounding)
        self._settings = replace(settings or LocalSettings(), entities=entities)

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks about the entities found and their relations, with paths."""
        question = read_question(
            query.text, store=self._store, embedder=self._embedder, weights=self._weights
        )
        seeds, notes = self._seeds(question)
        if not seeds:
            return Evidence(query, self.name, notes=(*notes, "No entity is near the question."))
        trail = walk_from(
            scores_of(add_other_names(seeds, self._store)),
            store=self._store,
            gain=WordGain(question),
            limits=self._settings.hop,
        )
        evidence = self._reader.read(query, question, trail)
        trace = (
            f"Entities nearest to the question: {seed_names(seeds)}.",
            f"{len(trail.strides)} relations around them lead to {len(trail.scores)} entities.",
            *self._communities(seeds),
        )
        return replace(evidence, notes=(*evidence.notes, *notes), trace=trace)

    def _seeds(self, question: Question) -> tuple[list[Seed], tuple[str, ...]]:
        most = self._settings.entities
        notes: tuple[str, ...] = ()
        found = near_seeds(question, self._store, most=most, least=self._settings.least)
        found = [replace(seed, score=seed.score * self._settings.near) for seed in found]
        if question.vector is None or not self._store.vectors(_ENTITIES).count():
            found, notes = worded_seeds(question, self._store, most=most), (NO_VECTORS_NOTE,)
        return merge_seeds(named_seeds(question), found, most=most), notes

    def _communities(self, seeds: list[Seed]) -> list[str]:
        """Tell which communities the entities belong to, the lowest of each."""
        held = communities_of(self._store)
        if held is None:
            return []
        around = held.of_entities(entities_of(seeds))
        lowest = dict.fromkeys(around[i][-1] for i in entities_of(seeds) if around.get(i))
        chosen = list(lowest)[:_SHOWN_COMMUNITIES]
        reports, known = held.reports(chosen), held.communities(chosen)
        return [
            f"Community: {reports[i].title} ({_extent(known[i])})." for i in chosen if i in reports
        ]


def _extent(community: Community) -> str:
    return f"level {community.level}, {community.size} entities"
