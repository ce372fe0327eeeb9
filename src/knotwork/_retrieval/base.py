"""Define the protocols of retrievers and steps (a query in, evidence out), and their base class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from knotwork._inference.embedder import Embedder
from knotwork._retrieval.options import bounded
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork._stores.base import Store
from knotwork.records import Evidence, Query


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


@bounded
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
