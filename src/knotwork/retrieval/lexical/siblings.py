"""Siblings: search chunks, read what stands beside them in their section."""

from __future__ import annotations

from collections.abc import Iterable

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import Chunk, Evidence, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.lexical.passages import (
    Passages,
    drop_overlaps,
    merge_hits,
    replace_hits,
)
from knotwork.retrieval.specification import open_base
from knotwork.stores.base import Store
from knotwork.text.tokens import count_tokens

ASKED_FOR_EACH = 2
"""Hits asked for each passage wanted, since neighbours that are both found become one."""


class SiblingsRetriever:
    """The hits of another retriever, each widened by its neighbours in its section.

    Neighbours join the nearest first, the one behind before the one ahead, as long as the passage
    has at most ``tokens``; ``reach`` is how many chunks away they may be.
    """

    name = "siblings"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        reach: int = 2,
        tokens: int = 800,
    ) -> None:
        if reach < 0 or tokens < 1:
            raise ConfigError("`reach` must be at least 0 chunks, and `tokens` at least 1.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._reach = reach
        self._tokens = tokens
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the widened passages, those inside another merged with it."""
        evidence = self._base.retrieve(Query(query.text, query.k * ASKED_FOR_EACH))
        passages = Passages(self._store)
        hits = []
        for hit in evidence.hits:
            if hit.chunk.is_parent or hit.matched:
                hits.append(hit)
                continue
            beside = siblings_of(hit.chunk, passages, reach=self._reach, tokens=self._tokens)
            hits.append(merge_hits([hit], passages.join(hit.chunk, beside)))
        return replace_hits(evidence, drop_overlaps(hits), query=query, retriever=self.name)


def siblings_of(chunk: Chunk, passages: Passages, *, reach: int, tokens: int) -> list[Chunk]:
    """Return the consecutive chunks of a section around one of them, in order, itself included."""
    near = {c.ordinal: c for c in passages.around(chunk, reach=reach)}
    kept = {chunk.ordinal: chunk}
    left = tokens - count_tokens(chunk.text)
    open_ends = {1, -1}
    for distance in range(1, reach + 1):
        for direction in _in_order(open_ends):
            neighbour = near.get(chunk.ordinal + direction * distance)
            if neighbour is None or neighbour.section_id != chunk.section_id:
                open_ends.discard(direction)
                continue
            left -= count_tokens(neighbour.text)
            if left < 0:
                return [kept[ordinal] for ordinal in sorted(kept)]
            kept[neighbour.ordinal] = neighbour
    return [kept[ordinal] for ordinal in sorted(kept)]


def _in_order(directions: Iterable[int]) -> list[int]:
    return sorted(directions, reverse=True)
