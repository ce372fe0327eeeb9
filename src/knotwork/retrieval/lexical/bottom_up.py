"""Bottom-up: where most of a section was found, read the whole section (auto-merging)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from knotwork.errors import ConfigError
from knotwork.inference.base import Embedder
from knotwork.records import Chunk, Evidence, Hit, Query, Span
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.lexical.passages import Passages, drop_overlaps, merge_hits, replace_hits
from knotwork.retrieval.specification import open_base
from knotwork.stores.base import Store
from knotwork.text.tokens import count_tokens

ASKED_FOR_EACH = 3
"""Hits asked for each passage wanted: merging makes few of many."""

FEWEST = 2
"""Hits of which a section must hold so many to be read whole."""

_LONGEST_TOKEN = 12
"""Characters in a token, at most on average: longer texts need not be counted."""


class BottomUpRetriever:
    """The hits of another retriever; a section most of whose text was found takes their place.

    From the parents of chunks up the section tree, as long as hits cover ``share`` of the
    characters of a node, and it has at most ``tokens``. After the auto-merging retrievers of
    hierarchical indexes; covered text stands for the share of children, so that no other chunk of
    a section has to be read.
    """

    name = "bottom_up"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        share: float = 0.5,
        tokens: int = 1200,
    ) -> None:
        if not 0 < share <= 1 or tokens < 1:
            raise ConfigError("`share` must be above 0 and at most 1, and `tokens` at least 1.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._share = share
        self._tokens = tokens
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the hits, merged from the leaves of the section tree up."""
        evidence = self._base.retrieve(Query(query.text, query.k * ASKED_FOR_EACH))
        passages = Passages(self._store)
        by_document: dict[str, list[Hit]] = {}
        for hit in drop_overlaps(evidence.hits):
            by_document.setdefault(hit.chunk.document_id, []).append(hit)
        merged, trace = [], list(evidence.trace)
        for document_id, hits in by_document.items():
            found = self._merge(document_id, hits, passages)
            merged += found
            if len(found) < len(hits):
                title = hits[0].chunk.document_title or passages.document(document_id).uri
                trace.append(f"{len(hits)} hits of “{title}” became {len(found)}.")
        done = replace_hits(evidence, merged, query=query, retriever=self.name)
        return replace(done, trace=tuple(trace))

    def _merge(self, document_id: str, hits: list[Hit], passages: Passages) -> list[Hit]:
        if len(hits) < FEWEST:
            return hits
        for span, chunk in self._nodes(document_id, hits, passages):
            inside = [hit for hit in hits if _lies_in(hit.chunk.span, span)]
            if len(inside) < FEWEST or _covered(inside) < self._share * (span.end - span.start):
                continue
            best = max(inside, key=lambda hit: (hit.score, hit.chunk.id))
            ranked = [best, *(hit for hit in inside if hit is not best)]
            passage = chunk or passages.cut(best.chunk, span, self._sentences(best, span, passages))
            hits = [hit for hit in hits if hit not in inside]
            hits.append(merge_hits(ranked, passage))
        return hits

    def _nodes(
        self, document_id: str, hits: Sequence[Hit], passages: Passages
    ) -> Iterator[tuple[Span, Chunk | None]]:
        """Yield parents of chunks, then sections, the smallest first, that may be read whole."""
        ids = sorted({hit.chunk.parent_id for hit in hits if hit.chunk.parent_id})
        nodes: list[tuple[Span, Chunk | None]] = [
            (parent.span, parent) for parent in passages.chunks(ids).values()
        ]
        nodes += [(section.span, None) for section in passages.sections(document_id)]
        text = passages.document(document_id).text
        for span, chunk in sorted(nodes, key=lambda node: (node[0].end - node[0].start, node[0])):
            if span.end - span.start > self._tokens * _LONGEST_TOKEN:
                return
            if count_tokens(text[span.start : span.end]) <= self._tokens:
                yield span, chunk

    def _sentences(self, best: Hit, span: Span, passages: Passages) -> list[Span]:
        """Return the sentences of the chunks around a hit that reach into a span."""
        found: dict[Span, None] = {}
        for direction in (-1, 1):
            ordinal = best.chunk.ordinal
            while near := passages.leaves(best.chunk.document_id, ordinal, ordinal):
                if near[0].span.end <= span.start or near[0].span.start >= span.end:
                    break
                found |= dict.fromkeys(near[0].sentences)
                ordinal += direction
                if ordinal < 0:
                    break
        return list(found)


def _lies_in(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _covered(hits: Sequence[Hit]) -> int:
    """Return how many characters hits hold together."""
    total, end = 0, -1
    for span in sorted(hit.chunk.span for hit in hits):
        total += max(span.end - max(span.start, end), 0)
        end = max(end, span.end)
    return total
