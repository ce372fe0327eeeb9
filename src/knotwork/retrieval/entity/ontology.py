"""Ontology-driven traversal: a walk that follows what an ontology says leads on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from knotwork.inference.base import Embedder
from knotwork.records import Edge, Entity, Evidence, Query
from knotwork.retrieval.entity.answering import TrailReader
from knotwork.retrieval.entity.grounding import DEFAULT_GROUNDING, GroundingSettings
from knotwork.retrieval.entity.ontology_derived import derive_ontology
from knotwork.retrieval.entity.ontology_rules import Ontology, default_ontology, load_ontology
from knotwork.retrieval.entity.seeds import (
    keyword_seeds,
    scores_of,
    seed_names,
)
from knotwork.retrieval.entity.walks import WalkLimits, walk_from
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Capability, Store
from knotwork.text.terms import content_terms

BUILT_IN = "default"
DERIVED = "derived"
_RARITY = 1.0 / 3.0
_UNASKED = 0.7
"""What an edge is worth of which the question holds no word."""
_WANTED = 1.3
"""What it gains when it leads to the type of entity that the question asks for."""


class OntologyRetriever:
    """Chunks along the relations that an ontology says to follow from each type of entity.

    ``ontology`` is the path of a TOML file, "default" (the built-in one, for the types that the
    rules of extraction know) or "derived" (from the statistics of the index).
    """

    name = "ontology"
    requires = frozenset({Capability.TEXT, Capability.GRAPH})

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        ontology: str | Path | Ontology = BUILT_IN,
        depth: int = 2,
        fan: int = 16,
        limit: int = 400,
        weights: Weights = DEFAULT_WEIGHTS,
        grounding: GroundingSettings = DEFAULT_GROUNDING,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._limits = WalkLimits(depth=depth, fan=fan, limit=limit)
        self._weights = weights
        self._reader = TrailReader(self.name, store, weights, grounding)
        self._derived: tuple[int, Ontology] | None = None
        self._given: Ontology | None = None
        if isinstance(ontology, Ontology):
            self._given = ontology
        elif str(ontology) != DERIVED:
            built_in = str(ontology) == BUILT_IN
            self._given = default_ontology() if built_in else load_ontology(ontology)

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks that support what is reached, with the paths that were walked."""
        question = read_question(
            query.text, store=self._store, embedder=self._embedder, weights=self._weights
        )
        seeds = keyword_seeds(question, self._store)
        if not seeds:
            return Evidence(query, self.name, notes=("No entity has a word of the question.",))
        ontology = self._ontology()
        gain = OntologyGain(ontology, question)
        trail = walk_from(scores_of(seeds), store=self._store, gain=gain, limits=self._limits)
        evidence = self._reader.read(query, question, trail)
        types = ", ".join(sorted(gain.wanted)) or "none in particular"
        trace = (
            f"The question leads to {seed_names(seeds)}.",
            f"Wanted types: {types}; ontology `{ontology.name}`, {len(ontology.rules)} rules.",
            f"{len(trail.strides)} edges walked, {len(trail.scores)} entities reached.",
        )
        return replace(evidence, trace=trace)

    def _ontology(self) -> Ontology:
        """Return the ontology given, or the one derived from the index as it is now."""
        if self._given is not None:
            return self._given
        generation = self._store.generation()
        if self._derived is None or self._derived[0] != generation:
            self._derived = generation, derive_ontology(self._store)
        return self._derived[1]


class OntologyGain:
    """An edge leads on by its rule, by the words it shares with the question, to what is wanted."""

    def __init__(self, ontology: Ontology, question: Question) -> None:
        self._ontology = ontology
        self._question = question
        self._asked = frozenset(question.terms)
        self._shared: dict[str, float] = {}
        self.wanted = ontology.wanted_types(question.text)

    def __call__(self, edge: Edge, source: Entity, target: Entity) -> float:
        """Return the gain of an edge; see `Gain`."""
        weight = self._ontology.weight(edge, source, target)
        if weight <= 0.0:
            return 0.0
        if edge.relation not in self._shared:
            words = set(content_terms(edge.relation))
            share = len(words & self._asked) / len(words) if words else 0.0
            self._shared[edge.relation] = _UNASKED + (1.0 - _UNASKED) * share
        rare = self._question.rarity(target.chunk_count) ** _RARITY
        fits = _WANTED if target.type.casefold() in self.wanted else 1.0
        return float(weight * self._shared[edge.relation] * rare * fits)
