"""Retrievers and steps (a query in, evidence out): protocols, options, and the basic retrievers.

Options are frozen dataclasses whose annotations bound their values. The basic retrievers are BM25,
dense, hybrid, and hybrid with generated questions. An optional part that fails costs only itself:
see `attempt`.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, dataclass_transform, get_type_hints

import numpy as np

from knotwork._inference.embedder import Embedder, to_similarity
from knotwork._retrieval.evidence_builder import (
    ChunkFeatures,
    first_stage,
    make_evidence,
    parts_of_base,
    rank,
)
from knotwork._retrieval.question import Question, can_embed, read_question, require_vectors
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import Store
from knotwork.errors import BudgetExceeded, ConfigError, FilterError, StoreError, UnknownName
from knotwork.records import Evidence, Query

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
    ) -> None:
        self._store = store
        self._embedder = embedder
        self.options = options or self.Options()
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

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
        weights: Weights = DEFAULT_WEIGHTS,
    ) -> None:
        super().__init__(store=store, embedder=embedder, options=options)
        self.weights = weights

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
