"""Parent and child: search small chunks, read the large ones that they lie in."""

from __future__ import annotations

from knotwork.inference.base import Embedder
from knotwork.records import Chunk, Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.lexical.passages import (
    Passages,
    drop_overlaps,
    group_hits,
    ids_of,
    merge_hits,
    replace_hits,
)
from knotwork.retrieval.lexical.siblings import siblings_of
from knotwork.retrieval.specification import open_base
from knotwork.stores.base import Store

ASKED_FOR_EACH = 3
"""Children asked for each parent wanted, since several may lie in one."""


class ParentChildRetriever:
    """The parents of the hits of another retriever, each with the score of its best child.

    An index has parents when it was split by "parent-child" or "sentence-window". A chunk without
    one gets its neighbours in its section, up to ``tokens``.
    """

    name = "parent_child"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        tokens: int = 800,
    ) -> None:
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._tokens = tokens
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return one hit for each parent that has a hit among its children."""
        evidence = self._base.retrieve(Query(query.text, query.k * ASKED_FOR_EACH))
        passages = Passages(self._store)
        found = passages.chunks(ids_of(evidence.hits))
        parents = passages.chunks(sorted({c.parent_id for c in found.values() if c.parent_id}))
        home = {i: c.parent_id for i, c in found.items() if c.parent_id in parents and c.parent_id}
        hits = [
            merge_hits(group, parents[key]) if key in parents else self._widen(group[0], passages)
            for key, group in group_hits(evidence.hits, home).items()
        ]
        return replace_hits(evidence, drop_overlaps(hits), query=query, retriever=self.name)

    def _widen(self, hit: Hit, passages: Passages) -> Hit:
        if hit.chunk.is_parent or hit.matched:
            return hit
        beside: list[Chunk] = siblings_of(
            hit.chunk, passages, reach=max(1, self._tokens // 100), tokens=self._tokens
        )
        return merge_hits([hit], passages.join(hit.chunk, beside))
