"""Retrievers and steps (a query in, evidence out): protocols, options, and the usual retrievers.

Options are frozen dataclasses whose annotations bound their values. The usual retrievers are BM25,
dense, hybrid, hybrid with generated questions, and graph. An optional part that fails costs only
itself: see `attempt`.

`GraphRetriever` ranks by text evidence, named entities, and bridges between passages. The best
passages by text are the sources of bridges. A relevant sentence of a source activates the entities
it mentions, except those of which a model that read the source stated no fact. An activated entity
leads to the chunks that are *about* it. The score of a path (source, sentence, entity, target)
depends on the relevance of the sentence, the rarity of the entity, the target's aboutness, and on
how much of the question sentence and target cover *together*, without what the target only repeats
of its source.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    TypeVar,
    dataclass_transform,
    get_type_hints,
)

import numpy as np
from numpy.typing import NDArray

from knotwork._inference.embedder import Embedder, to_similarity
from knotwork._retrieval.chunk_entities import (
    find_linked_chunks,
    mentions_by_sentence,
    stated_entities,
)
from knotwork._retrieval.evidence_builder import (
    ChunkFeatures,
    first_stage,
    make_evidence,
    parts_of_base,
    rank,
    sentence_coverage,
)
from knotwork._retrieval.question import Question, can_embed, read_question, require_vectors
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import Scored, Store
from knotwork._text.terms import content_terms
from knotwork.errors import BudgetExceeded, ConfigError, FilterError, StoreError, UnknownName
from knotwork.records import Chunk, Entity, Evidence, Query, Step

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most of an option; the least itself is left out if ``is_open``."""

    least: float
    most: float = math.inf
    is_open: bool = False
    is_whole: bool = False

    def check(self, name: str, value: float | None) -> None:
        """Raise ConfigError for a value outside the bounds; None is no value."""
        if value is None:
            return
        low = value > self.least if self.is_open else value >= self.least
        if low and value <= self.most and not (self.is_whole and isinstance(value, float)):
            return
        if self.is_open:
            allowed = f"above {self.least:g} and at most {self.most:g}"
        elif self.most < math.inf:
            allowed = f"from {self.least:g} to {self.most:g}"
        else:
            allowed = f"{'a whole number of ' if self.is_whole else ''}at least {self.least:g}"
        raise ConfigError(f"`{name}` is `{value}`, but must be {allowed}.")


@dataclass(frozen=True, slots=True)
class OneOf:
    """The valid names of an option; ``kind`` is what errors call it, by default its own name."""

    names: tuple[str, ...]
    kind: str = ""

    def check(self, name: str, value: str) -> None:
        """Raise UnknownName for another name."""
        if value not in self.names:
            raise UnknownName(self.kind or name, value, self.names)


RulesOrModel = Annotated[str, OneOf(("rules", "model"), "method")]
Whole = Annotated[int, Bounds(0, is_whole=True)]
Positive = Annotated[int, Bounds(1, is_whole=True)]
Weight = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]


@lru_cache(maxsize=128)
def _bounds_of(cls: type[Any]) -> tuple[tuple[str, Any], ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple((n, found) for n, h in hints.items() for found in getattr(h, "__metadata__", ()))


def _check(self: object) -> None:
    cls: Any = type(self)
    for name, found in _bounds_of(cls):
        found.check(name, getattr(self, name))


@dataclass_transform(frozen_default=True, kw_only_default=True)
def bounded(cls: type[T]) -> type[T]:
    """Make a class the options of a retriever: a frozen dataclass that checks its values.

    An instance raises ConfigError for a value outside `Bounds`, UnknownName for none of `OneOf`.
    """
    cls.__post_init__ = _check  # type: ignore[attr-defined]
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


class Retriever(Protocol):
    """A way to find evidence for a query in a store.

    A class with options declares them in a class ``Options`` and takes an instance as
    ``options``. One that needs an optional part of the store (`Store.capabilities`) raises
    MissingCapability when it is built (`knotwork._stores.base`).
    """

    name: str

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence for a query; finding nothing is no error."""


class RetrieverStep(Retriever, Protocol):
    """A retriever around another, which its constructor takes as ``base``.

    A step that changes the question ``precedes`` the retriever in a specification, one that changes
    the evidence follows it. ``searches`` is how often it searches for one question, at most.
    """

    precedes: ClassVar[bool]
    searches: ClassVar[int]


@dataclass(frozen=True, slots=True)
class NoOptions:
    """The options of a retriever that has none."""


class ConfiguredRetriever:
    """A retriever over a store, with options.

    A subclass has a ``name``, and, if it has options, a class ``Options`` (see `bounded`) and the
    annotation ``options: Options``.
    """

    name: str
    Options: type[Any] = NoOptions
    options: Any

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self.options = options or self.Options()
        self.weights = weights
        self._prepare()

    def _prepare(self) -> None:
        """Read what the options name. Raises ConfigError if it is invalid."""


class QuestionRetriever(ConfiguredRetriever, ABC):
    """A retriever that reads the question, and then ranks chunks in one state of the store.

    It uses the vector of the question if it ``uses_vectors``, and the entities that the question
    names if it ``uses_links``.
    """

    uses_vectors: ClassVar[bool] = True
    uses_links: ClassVar[bool] = True

    def retrieve(self, query: Query) -> Evidence:
        """Return the best chunks, with their reasons."""
        question = read_question(
            query.text,
            store=self._store,
            embedder=self._embedder if self.uses_vectors else None,
            weights=self.weights,
            link=self.uses_links,
        )
        with self._store.reading():
            return self._rank(query, question)

    @abstractmethod
    def _rank(self, query: Query, question: Question) -> Evidence:
        """Return the evidence for a question that has been read."""


UNREAD_QUESTION_NOTE = (
    "`{embedder}` does not support the language of this question, so its vector means little: "
    "use `auto` or `bm25`, or index with a multilingual model."
)


class Bm25Retriever(QuestionRetriever):
    """Ranks chunks by BM25 over stemmed words and Chinese bigrams."""

    name = "bm25"
    uses_vectors = uses_links = False

    def _rank(self, query: Query, question: Question) -> Evidence:
        ranked = self._store.texts("chunk").search(question.text, k=query.k)
        features = ChunkFeatures(question, self._store, ranked)
        parts = {item.id: {"bm25": item.score} for item in ranked}
        return make_evidence(query, self.name, ranked, parts, features)


class DenseRetriever:
    """Ranks chunks by the cosine of their vector with the question's."""

    name = "dense"

    def __init__(self, *, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    def retrieve(self, query: Query) -> Evidence:
        """Return the chunks nearest to the question."""
        question = read_question(query.text, store=self._store, link=False)
        vector = require_vectors(self._embedder.embed([question.text]), self._embedder)[0]
        with self._store.reading():
            ranked = self._store.vectors("chunk").search(vector, k=query.k)
            features = ChunkFeatures(question, self._store)
            parts = {item.id: {"cosine": item.score} for item in ranked}
            evidence = make_evidence(query, self.name, ranked, parts, features)
        if can_embed(self._embedder, query.text):
            return evidence
        note = UNREAD_QUESTION_NOTE.format(embedder=self._embedder.name)
        return replace(evidence, notes=(*evidence.notes, note))


class HybridRetriever(QuestionRetriever):
    """Ranks chunks by a weighted sum of cosine, best sentence, covered terms and BM25."""

    name = "hybrid"
    uses_links = False

    def _rank(self, query: Query, question: Question) -> Evidence:
        pool, features = first_stage(question, self._store)
        ranked = rank({identifier: features[identifier].base for identifier in pool}, query.k)
        parts = {item.id: parts_of_base(features[item.id]) for item in ranked}
        return make_evidence(query, self.name, ranked, parts, features)


class WrappingRetriever(ConfiguredRetriever):
    """A retriever or step around another one, by default the hybrid one; see `RetrieverStep`."""

    precedes: ClassVar[bool] = False
    searches: ClassVar[int] = 1

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: Retriever | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        super().__init__(store=store, embedder=embedder, options=options)
        self.base = base or HybridRetriever(store=store, embedder=embedder)


QUESTION_INDEX = "question"
"""The name of the text index and of the vector index of generated questions, by chunk id."""

QUESTION_CANDIDATES = 50

NO_QUESTIONS_NOTE = (
    "This index has no generated questions, so only passages were searched. Set index.questions to "
    '"rules" or "model", and index again.'
)


class QuestionsRetriever(QuestionRetriever):
    """Ranks chunks by their text and by the best of the questions they answer.

    A score is that of `hybrid` plus ``weight`` times the cosine with the nearest question of the
    chunk; without vectors, plus ``weight`` times the BM25 of its questions, relative to the best.
    """

    name = "questions"
    uses_links = False

    @bounded
    class Options:
        weight: Weight = 0.3

    options: Options

    def _rank(self, query: Query, question: Question) -> Evidence:
        index = self._store.texts(QUESTION_INDEX)
        matched = dict(index.search(query.text, k=QUESTION_CANDIDATES))
        pool, features = first_stage(question, self._store, also=matched)
        best = max(matched.values(), default=0.0) or 1.0
        matches = {key: score / best for key, score in matched.items()}
        if question.vector is not None:
            found = self._store.vectors(QUESTION_INDEX).products(pool, question.vector)
            matches = {
                key: float(np.clip(to_similarity(near.max(), question.embedder), 0, 1))
                for key, near in found.items()
                if len(near)
            } or matches
        gains = {key: self.options.weight * matches.get(key, 0.0) for key in pool}
        ranked = rank({key: features[key].base + gains[key] for key in pool}, query.k)
        parts = {
            item.id: parts_of_base(features[item.id]) | {"question": gains[item.id]}
            for item in ranked
        }
        evidence = make_evidence(query, self.name, ranked, parts, features)
        if matches or index.count():
            return evidence
        return replace(evidence, notes=(*evidence.notes, NO_QUESTIONS_NOTE))


_UNNAMED = (0.0, "")


class GraphRetriever(QuestionRetriever):
    """Ranks chunks by their own text, by the entities named in the question, and by bridges.

    A score is ``base + max(named, bridge) + support``; ``Hit.scores`` has all parts. The chunk with
    the best ``base + named`` comes first. If the question names no entity and no bridge is found,
    chunks are ranked by their base alone, as `HybridRetriever` does.
    """

    name = "graph"

    def _rank(self, query: Query, question: Question) -> Evidence:
        named = self._named(question)
        most = self.weights.link.candidates
        own_pages = [item.id for link in question.links for item in link.about[:most]]
        pool, features = first_stage(question, self._store, self.weights, also=own_pages)
        seeds = {i: features[i].base + named.get(i, _UNNAMED)[0] for i in pool}
        bridges = build_bridges(seeds, features)
        scores, parts = self._combine(pool, named, bridges, features)
        ranked = rank(scores, query.k)
        return make_evidence(
            query,
            self.name,
            ranked,
            parts,
            features,
            seeds={i: (name,) for i, (_, name) in named.items()},
            paths={
                i: (bridge.step(bridges.sources[bridge.activation.chunk_id]),)
                for i, bridge in bridges.into.items()
                if parts[i]["bridge"]
            },
        )

    def _named(self, question: Question) -> dict[str, tuple[float, str]]:
        """Return the score of chunks for being about an entity of the question, and its name."""
        best: dict[str, tuple[float, str]] = {}
        factor = self.weights.link.named * link_factor(question, self.weights)
        for link in question.links:
            shares = spread(link.about, self.weights.link.spread)
            for item, share in zip(link.about, shares, strict=True):
                score = factor * link.weight * item.score * share
                if item.id not in best or score > best[item.id][0]:
                    best[item.id] = score, link.entity.name
        return best

    def _combine(
        self,
        pool: list[str],
        named: Mapping[str, tuple[float, str]],
        bridges: Bridges,
        features: ChunkFeatures,
    ) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        scores: dict[str, float] = {}
        own: dict[str, float] = {}
        parts: dict[str, dict[str, float]] = {}
        for identifier in dict.fromkeys([*pool, *bridges.into]):
            direct = named.get(identifier, _UNNAMED)[0]
            bridge = bridges.into.get(identifier)
            over = bridge.score if bridge else 0.0
            support = self.weights.bridge.support * bridges.support.get(identifier, 0.0)
            parts[identifier] = {
                "text": features[identifier].base,
                "named": direct if direct >= over else 0.0,
                "bridge": over if over > direct else 0.0,
                "support": support,
            }
            scores[identifier] = sum(parts[identifier].values())
            own[identifier] = features[identifier].base + direct
        nearest = max(own, key=own.__getitem__, default="")
        top = max(scores.values(), default=0.0)
        if nearest and scores[nearest] < top:  # bridges help to find what is behind the first
            above = math.nextafter(top, math.inf)
            parts[nearest]["nearest"] = above - scores[nearest]
            scores[nearest] = above
        return scores, parts


class Activation(NamedTuple):
    """A sentence of a source that activates an entity."""

    value: float
    chunk_id: str
    sentence: int


class Bridge(NamedTuple):
    """The best path into a chunk."""

    score: float
    activation: Activation
    entity: Entity

    def step(self, source: Chunk) -> Step:
        """Return the path as evidence from a chunk with the activating sentence."""
        number = self.activation.sentence
        return Step(
            chunk_id=source.id,
            sentence=source.sentences[number],
            sentence_text=source.sentence_text(number),
            entity_id=self.entity.id,
            entity_name=self.entity.name,
            score=self.score,
        )


class Bridges(NamedTuple):
    """The best path into each target, and the support that each source gets from its targets."""

    into: Mapping[str, Bridge]
    support: Mapping[str, float]
    sources: Mapping[str, Chunk]


def spread(about: Sequence[Scored], exponent: float) -> list[float]:
    """Return n ** -exponent for each chunk, where n chunks are about the entity at least as
    much.
    """
    negated = [-item.score for item in about]
    return [bisect_right(negated, value + 1e-9) ** -exponent for value in negated]


def build_bridges(seeds: Mapping[str, float], features: ChunkFeatures) -> Bridges:
    """Find the bridges that start at the best of ``seeds``, which maps chunk ids to scores."""
    question, store, weights = features.question, features.store, features.weights
    bridge = weights.bridge
    ranked = sorted(seeds, key=lambda identifier: (-seeds[identifier], identifier))
    sources = store.documents.chunks(ranked[: bridge.sources])
    covered = sentence_coverage(question, sources)
    if _stands_in_one_sentence(question.terms, sources, covered):
        return Bridges({}, {}, sources)
    activations, entities, linked = find_activations(
        seeds, sources, features, unstated=bridge.unstated, links=bridge.links
    )
    strongest = sorted(activations, key=lambda e: (-activations[e][0].value, e))
    strongest = strongest[: bridge.entities]
    about = {
        **store.graph.about(strongest, fan=bridge.targets),
        **{key: [Scored(chunk_id, 1.0)] for key, chunk_id in linked.items()},
    }
    shares = {}
    for entity in strongest:
        items = about.get(entity, ())
        spreads = zip(items, spread(items, bridge.spread), strict=True)
        shares[entity] = [i.score**bridge.aboutness * share for i, share in spreads]
    targets = _best_targets(strongest, activations, about, shares, weights)
    features.fetch(targets)
    into: dict[str, Bridge] = {}
    support: dict[str, float] = defaultdict(float)
    best_base = max((features[i].base for i in seeds), default=0.0) or 1.0
    factor = link_factor(question, weights)
    reach = np.array([features[target].covered for target in targets], dtype=np.bool_)
    reach = reach.reshape(len(targets), len(question.terms))
    rest = bridge.rest * np.array([max(features[t].rest, 0.0) for t in targets])

    @cache
    def relevances_to(chunk_id: str, sentence: int) -> Mapping[str, float]:
        repeated = reach & features[chunk_id].covered
        together = covered[chunk_id][sentence] | reach
        values = together @ question.weights - repeated @ question.weights + rest
        return dict(zip(targets, np.maximum(values, 0.0).tolist(), strict=True))

    held = store.documents.chunk_ids_of({chunk.document_id for chunk in sources.values()})
    neighbours = {key: frozenset(held[chunk.document_id]) for key, chunk in sources.items()}
    for entity in strongest:
        reached = [
            (item.id, share)
            for item, share in zip(about.get(entity, ()), shares[entity], strict=True)
            if item.id in targets
        ]
        weight = max(factor, bridge.links_at_length) if entity in linked else factor
        weight *= bridge.strength
        for activation in activations[entity][: bridge.sentences]:
            relevances = relevances_to(activation.chunk_id, activation.sentence)
            for target, share in reached:
                if target == activation.chunk_id:
                    continue
                score = weight * activation.value * share * relevances[target]
                if target in neighbours[activation.chunk_id]:
                    score *= bridge.same_document
                if target not in into or score > into[target].score:
                    into[target] = Bridge(score, activation, entities[entity])
                gain = score * max(features[target].base, 0.0) / best_base
                support[activation.chunk_id] = max(support[activation.chunk_id], gain)
    return Bridges(into, dict(support), sources)


def _stands_in_one_sentence(
    terms: Sequence[str],
    chunks: Mapping[str, Chunk],
    covered: Mapping[str, Sequence[NDArray[np.bool_]]],
) -> bool:
    """Return True if a sentence contains all terms of a question in a row.

    "What is a restartpoint?" leaves nothing for another passage to add: passages related to the one
    that says "restartpoint" would only hide it.
    """
    asked = f" {' '.join(terms)} "
    return bool(terms) and any(
        mask.all() and asked in f" {' '.join(content_terms(chunks[key].sentence_text(number)))} "
        for key, masks in covered.items()
        for number, mask in enumerate(masks)
    )


def link_factor(question: Question, weights: Weights) -> float:
    """Return the weight of links for a question of this length, from 0 to 1."""
    length = len(question.terms) / weights.link.half_length
    return float(1.0 / (1.0 + length**weights.link.length_power))


def find_activations(
    seeds: Mapping[str, float],
    sources: Mapping[str, Chunk],
    features: ChunkFeatures,
    *,
    unstated: float = 1.0,
    links: float = 0.0,
) -> tuple[dict[str, list[Activation]], dict[str, Entity], dict[str, str]]:
    """Return the sentences of ``sources`` that activate each entity, strongest first, and all
    entities; what a link leads to is an entity too, and the chunk is in the last of the three.

    ``unstated`` is the worth of entities of which a model that read the source stated no fact,
    ``links`` that of links.
    """
    question, store, weights = features.question, features.store, features.weights
    best_seed, bridge = max(seeds.values(), default=0.0) or 1.0, weights.bridge
    found = mentions_by_sentence(sources, store, known=weights.link.known)
    entities = store.graph.entities(
        {entity for sentences in found.values() for ids in sentences for entity in ids}
        - question.named
    )
    values: dict[str, list[float]] = {}
    masks = None
    for key, chunk in sources.items():
        # The cosine of each sentence with the question, or else the share that it covers.
        relevances: Sequence[float] = features[key].sentences.tolist()
        if len(relevances) != len(chunk.sentences) or not relevances:
            masks = masks or sentence_coverage(question, sources)
            relevances = [float(mask @ question.weights) for mask in masks[key]]
        values[key] = [seeds[key] / best_seed * max(value, 0.0) for value in relevances]
    stated = stated_entities(sources, store) if unstated < 1 else {}
    activations: dict[str, list[Activation]] = defaultdict(list)
    for key in sources:
        for number, ids in enumerate(found[key]):
            for identifier in ids & entities.keys():
                rare = question.rarity(entities[identifier].chunk_count)
                value = values[key][number] * rare**bridge.rarity
                if identifier not in stated.get(key, entities):
                    value *= unstated
                activations[identifier].append(Activation(value, key, number))
    linked: dict[str, str] = {}
    for key, found_links in (find_linked_chunks(sources, store) if links else {}).items():
        for link in found_links:
            name = f"link to {link.chunk_id}"
            linked[name] = link.chunk_id
            entities.setdefault(name, Entity("", link.words, "", "", 1))
            value = values[key][link.sentence] * (bridge.links_onward if link.is_next else 1.0)
            activations[name].append(Activation(links * value, key, link.sentence))
    for each in activations.values():
        each.sort(key=lambda a: (-a.value, a.chunk_id, a.sentence))
    return activations, entities, linked


def _best_targets(
    entities: Sequence[str],
    activations: Mapping[str, list[Activation]],
    about: Mapping[str, Sequence[Scored]],
    shares: Mapping[str, Sequence[float]],
    weights: Weights,
) -> frozenset[str]:
    promise: dict[str, float] = {}
    for entity in entities:
        strongest = activations[entity][0].value
        for item, share in zip(about.get(entity, ()), shares[entity], strict=True):
            promise[item.id] = max(promise.get(item.id, 0.0), strongest * share)
    ranked = sorted(promise, key=lambda identifier: (-promise[identifier], identifier))
    return frozenset(ranked[: weights.bridge.scored_targets])


FOR_THE_USER = (ConfigError, StoreError, FilterError, BudgetExceeded)
"""Errors that no part may hide: the request, the index or the budget has to change."""

_log = logging.getLogger("knotwork.answers")


def attempt(
    part: str,
    work: Callable[[], T],
    otherwise: T,
    notes: list[str],
    *,
    raises: tuple[type[Exception], ...] = FOR_THE_USER,
) -> T:
    """Return what a part of an answer makes, or ``otherwise`` and a note if it fails.

    Raises errors of the types ``raises``, and a cancellation.
    """
    try:
        return work()
    except raises:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a part raises, the others still answer
        notes.append(note_failure(part, error))
        return otherwise


def note_failure(part: str, error: Exception) -> str:
    """Log the failure of a part, and return the note on it."""
    _log.warning("%s failed", part, exc_info=error)
    return f"{part} failed and was left out: {error or type(error).__name__}"
