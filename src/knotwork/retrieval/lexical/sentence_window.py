"""Sentence window: search by sentences, read the few sentences around the one that was found."""

from __future__ import annotations

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import Evidence, Hit, Query, Span
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.lexical.passages import (
    Passages,
    drop_overlaps,
    merge_hits,
    replace_hits,
)
from knotwork.retrieval.specification import open_base
from knotwork.stores.base import Store


class SentenceWindowRetriever:
    """The hits of another retriever, each cut to the window around its best sentence.

    A window has up to ``size`` sentences on either side, across the borders of chunks, and never
    leaves the document. It is short, so that many sources fit into a small context.
    """

    name = "sentence_window"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        size: int = 3,
    ) -> None:
        if size < 0:
            raise ConfigError(f"`size` is `{size}`, but must be at least 0 sentences.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._size = size
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the windows around the best sentences, those inside another merged with it."""
        evidence = self._base.retrieve(query)
        passages = Passages(self._store)
        hits = drop_overlaps(self._window(hit, passages) for hit in evidence.hits)
        return replace_hits(evidence, hits, query=query, retriever=self.name)

    def _window(self, hit: Hit, passages: Passages) -> Hit:
        if not hit.sentences or hit.matched:
            return hit  # nothing says where to look, or another pattern has cut it before
        best = hit.sentences[0][0]
        near = passages.around(hit.chunk, reach=self._size)
        sentences = sorted({span for chunk in near for span in chunk.sentences})
        if best not in sentences:
            return hit
        place = sentences.index(best)
        around = sentences[max(place - self._size, 0) : place + self._size + 1]
        window = Span(around[0].start, max(span.end for span in around))
        return merge_hits([hit], passages.cut(hit.chunk, window, sentences))
