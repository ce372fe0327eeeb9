"""Base classes of retrievers and steps around another retriever."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from knotwork._inference.chat import ChatModel
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import ConfiguredRetriever, Retriever
from knotwork._retrieval.basic_retrievers import HybridRetriever
from knotwork._retrieval.passage_reader import PassageReader, replace_hits
from knotwork._stores.base import Store
from knotwork.errors import ModelError, RetrievalError
from knotwork.records import Evidence, Hit, Query

T = TypeVar("T")
Expansion = tuple[Iterable[Hit], Sequence[str]]


class WrappingRetriever(ConfiguredRetriever):
    """A retriever around another one, by default the hybrid one."""

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: Retriever | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        super().__init__(store=store, embedder=embedder, options=options)
        self._base = base or HybridRetriever(store=store, embedder=embedder)


class ExpandingRetriever(WrappingRetriever, ABC):
    """A retriever that widens, narrows or scores the hits of another one again.

    It asks for ``hits_per_passage`` hits for each passage wanted, and for ``fewest_hits`` at least.
    """

    hits_per_passage: ClassVar[int] = 1
    fewest_hits: ClassVar[int] = 0

    def retrieve(self, query: Query) -> Evidence:
        """Return the passages that the hits become, best first."""
        most = max(self.fewest_hits, query.k * self.hits_per_passage)
        evidence = replace(self._base.retrieve(Query(query.text, most)), query=query)
        with self._store.reading():
            hits, lines = self._expand(evidence, PassageReader(self._store))
        done = replace_hits(evidence, hits, query=query, retriever=self.name)
        return replace(done, trace=(*evidence.trace, *lines))

    @abstractmethod
    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        """Return the passages that the hits become, and lines of the trace about them."""


class ModelStep(WrappingRetriever):
    """A step that asks a language model if its option ``by`` is "model".

    Raises RetrievalError if that model is missing.
    """

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        model: ChatModel | None = None,
        options: Any = None,  # noqa: ANN401  an instance of `Options`
    ) -> None:
        super().__init__(store=store, embedder=embedder, base=base, options=options)
        self._model = model if self.options.by == "model" else None
        if self.options.by == "model" and model is None:
            raise RetrievalError(
                f"`{self.name}(by=model)` needs a language model, but none is configured.",
                fix="Set llm.model, or leave out `by=model`.",
            )

    def _try(
        self, ask: Callable[[ChatModel], T], otherwise: T, failure: str
    ) -> tuple[T, tuple[str, ...]]:
        """Return the model's reply; ``otherwise`` without a model, or with a note if it fails."""
        if self._model is None:
            return otherwise, ()
        try:
            return ask(self._model), ()
        except ModelError as error:
            return otherwise, (f"{failure}: {error.message}",)
