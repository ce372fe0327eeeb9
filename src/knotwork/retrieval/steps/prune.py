"""Pruning: leave out what is far behind the best."""

from __future__ import annotations

from dataclasses import replace

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.stores.base import Store


class Prune:
    """Hits with at least ``share`` of the best one's score, and of each the sentences with at least
    ``sentences`` of the relevance of its best one.

    An answer is then made of less, and a question that one passage answers gets one.
    """

    name = "prune"

    def __init__(
        self,
        *,
        store: Store,
        base: Retriever,
        embedder: Embedder | None = None,
        share: float = 0.25,
        sentences: float = 0.5,
    ) -> None:
        del store, embedder
        for option, value in (("share", share), ("sentences", sentences)):
            if not 0 <= value <= 1:
                raise ConfigError(f"`{option}` is `{value}`, but must be from 0 to 1.")
        self._base = base
        self._share = share
        self._sentences = sentences
        self.requires = base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the evidence of the retriever without its tail."""
        evidence = self._base.retrieve(query)
        best = max((hit.score for hit in evidence.hits), default=0.0)
        kept = tuple(
            self._without_weak_sentences(hit)
            for hit in evidence.hits
            if hit.score >= self._share * best
        )
        left = len(evidence.hits) - len(kept)
        trace = (*evidence.trace, f"Left out {left} of {len(evidence.hits)} hits.")
        return replace(evidence, hits=kept, trace=trace if left else evidence.trace)

    def _without_weak_sentences(self, hit: Hit) -> Hit:
        best = max((value for _, value in hit.sentences), default=0.0)
        kept = tuple(item for item in hit.sentences if item[1] >= self._sentences * best)
        return replace(hit, sentences=kept)
