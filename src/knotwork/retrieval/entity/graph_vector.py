"""Graph-enhanced vector search: from passages over their entities' neighbourhood to passages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Query
from knotwork.retrieval.candidates import first_stage
from knotwork.retrieval.entity.activation import Activated, activate_entities
from knotwork.retrieval.entity.answering import TrailReader
from knotwork.retrieval.entity.explore import WordGain
from knotwork.retrieval.entity.grounding import GroundingSettings
from knotwork.retrieval.entity.seeds import named_seeds, scores_of
from knotwork.retrieval.entity.walks import WalkLimits, walk_from
from knotwork.retrieval.features import ChunkFeatures
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Store

_GROUNDING = GroundingSettings(strength=3.0)
_HOP = WalkLimits(depth=1, fan=8, limit=300, beam=40, decay=0.5)


@dataclass(frozen=True, slots=True)
class NeighbourhoodSettings:
    """``sources`` best passages activate at most ``entities``, from which the walk goes on."""

    sources: int = 5
    entities: int = 40
    named: float = 0.5
    """Worth of an entity that the question names, beside one that a passage activates."""
    hop: WalkLimits = _HOP


class GraphVectorRetriever:
    """Chunks found by their own text, and those that lie around the entities of the best of these.

    The first search is by vectors and words, by words alone without an embedder. Each hit tells
    what is of its text and what of the graph.
    """

    name = "graph_vector"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        depth: int = 1,
        weights: Weights = DEFAULT_WEIGHTS,
        grounding: GroundingSettings = _GROUNDING,
        settings: NeighbourhoodSettings | None = None,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._weights = weights
        self._reader = TrailReader(self.name, store, weights, grounding)
        settings = settings or NeighbourhoodSettings()
        self._settings = replace(settings, hop=replace(settings.hop, depth=depth))

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks, with the paths to those that the graph brought."""
        question = read_question(
            query.text, store=self._store, embedder=self._embedder, weights=self._weights
        )
        pool, text = first_stage(question, self._store, self._weights)
        features = ChunkFeatures(question, self._store, self._weights, text)
        features.fetch(pool)
        activated = activate_entities(
            question,
            self._first_scores(question, pool, features),
            features,
            self._store,
            self._weights,
            sources=self._settings.sources,
            most=self._settings.entities,
        )
        seeds = {
            i: score * self._settings.named for i, score in scores_of(named_seeds(question)).items()
        }
        trail = walk_from(
            {**activated.scores, **seeds},
            store=self._store,
            gain=WordGain(question),
            limits=self._settings.hop,
        )
        evidence = self._reader.read(
            query, question, trail, features=features, pool=pool, origins=activated.origins
        )
        return replace(evidence, trace=self._trace(activated, len(pool), len(trail.strides)))

    def _first_scores(
        self, question: Question, pool: list[str], features: ChunkFeatures
    ) -> Mapping[str, float]:
        """Return what each passage of the pool is worth as a source."""
        named: dict[str, float] = {}
        for link in question.links:
            for item in link.about:
                worth = self._weights.link.named * link.weight * item.score
                named[item.id] = max(named.get(item.id, 0.0), worth)
        pages = [item.id for link in question.links for item in link.about[:5]]
        features.fetch(pages)
        return {i: features[i].base + named.get(i, 0.0) for i in dict.fromkeys([*pool, *pages])}

    def _trace(self, activated: Activated, found: int, edges: int) -> tuple[str, ...]:
        titles = [chunk.document_title or chunk.id for chunk in activated.sources.values()]
        names = [activated.entities[i].name for i in activated.origins]
        return (
            f"{found} passages found by text; the best: {', '.join(titles)}.",
            f"Their sentences lead to {len(names)} entities: {', '.join(names[:8])}.",
            f"{edges} edges walked around these.",
        )
