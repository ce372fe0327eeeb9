"""Base classes of retrievers and steps around another retriever."""

from __future__ import annotations

from typing import Any

from knotwork._inference.chat import ChatModel
from knotwork._inference.embedder import Embedder
from knotwork._retrieval.base import ConfiguredRetriever, Retriever
from knotwork._retrieval.basic_retrievers import HybridRetriever
from knotwork._stores.base import Store
from knotwork.errors import RetrievalError


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
