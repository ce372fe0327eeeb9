"""Base class of retrievers with options."""

from __future__ import annotations

from typing import Any

from knotwork._inference.embedder import Embedder
from knotwork._stores.base import Store


class ConfiguredRetriever:
    """A retriever over a store, with options.

    A subclass has a ``name``, a dataclass ``Options`` that refuses invalid values, and the
    annotation ``options: Options``.
    """

    name: str
    Options: type[Any]
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
