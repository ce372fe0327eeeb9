"""A ceiling on the text of the evidence."""

from __future__ import annotations

from dataclasses import replace

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.fusion import keep_within
from knotwork.stores.base import Store


class Budget:
    """The best passages that have at most ``tokens`` together, as the project counts them."""

    name = "budget"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        tokens: int = 2_000,
    ) -> None:
        del store, embedder
        if tokens < 1:
            raise ConfigError(f"`tokens` is `{tokens}`, but must be at least 1.")
        self._base = base
        self._tokens = tokens
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the retriever without what does not fit."""
        evidence = self._base.retrieve(query)
        return replace(evidence, hits=tuple(keep_within(evidence.hits, tokens=self._tokens)))
