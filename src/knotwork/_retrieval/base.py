"""Retrievers and steps (a query in, evidence out): protocols, options, and their base class.

Options are frozen dataclasses whose annotations bound their values.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Protocol, TypeVar, dataclass_transform, get_type_hints

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import Store
from knotwork.errors import ConfigError, UnknownName
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
    weights: Weights = DEFAULT_WEIGHTS

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
