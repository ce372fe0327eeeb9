"""Retrievers that return more, or less, text around each hit of another retriever.

Sentence windows, siblings in a section, parent chunks, and whole sections of which most was found
(bottom-up, also called auto-merging).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from knotwork.errors import ConfigError
from knotwork.inference.embedder import Embedder
from knotwork.records import Chunk, Evidence, Hit, Query, Span
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.passage_reader import (
    PassageReader,
    chunk_ids_of,
    drop_overlaps,
    group_hits,
    merge_hits,
    replace_hits,
)
from knotwork.retrieval.retriever_builder import open_base
from knotwork.stores.base import Store
from knotwork.text.token_counts import count_tokens


class SentenceWindowRetriever:
    """The hits of another retriever, each cut to the window around its best sentence.

    A window has up to ``size`` sentences on either side, across the borders of chunks, and never
    leaves the document. It is short, so that many sources fit into a small context.
    """

    name = "sentence_window"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        size: int = 3

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if options.size < 0:
            raise ConfigError(f"`size` is `{options.size}`, but must be at least 0 sentences.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._size = options.size
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the windows around the best sentences, those inside another merged with it."""
        evidence = self._base.retrieve(query)
        passages = PassageReader(self._store)
        hits = drop_overlaps(self._window(hit, passages) for hit in evidence.hits)
        return replace_hits(evidence, hits, query=query, retriever=self.name)

    def _window(self, hit: Hit, passages: PassageReader) -> Hit:
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


HITS_PER_SIBLINGS = 2
"""Hits asked for each passage wanted, since neighbours that are both found become one."""


class SiblingsRetriever:
    """The hits of another retriever, each widened by its neighbours in its section.

    Neighbours join the nearest first, the one behind before the one ahead, as long as the passage
    has at most ``tokens``; ``reach`` is how many chunks away they may be.
    """

    name = "siblings"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        reach: int = 2
        tokens: int = 800

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if options.reach < 0 or options.tokens < 1:
            raise ConfigError("`reach` must be at least 0 chunks, and `tokens` at least 1.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._reach = options.reach
        self._tokens = options.tokens
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the widened passages, those inside another merged with it."""
        evidence = self._base.retrieve(Query(query.text, query.k * HITS_PER_SIBLINGS))
        passages = PassageReader(self._store)
        hits = []
        for hit in evidence.hits:
            if hit.chunk.is_parent or hit.matched:
                hits.append(hit)
                continue
            beside = siblings_of(hit.chunk, passages, reach=self._reach, tokens=self._tokens)
            hits.append(merge_hits([hit], passages.join(hit.chunk, beside)))
        return replace_hits(evidence, drop_overlaps(hits), query=query, retriever=self.name)


def siblings_of(chunk: Chunk, passages: PassageReader, *, reach: int, tokens: int) -> list[Chunk]:
    """Return the consecutive chunks of a section around one of them, in order, itself included."""
    near = {c.ordinal: c for c in passages.around(chunk, reach=reach)}
    kept = {chunk.ordinal: chunk}
    left = tokens - count_tokens(chunk.text)
    open_ends = {1, -1}
    for distance in range(1, reach + 1):
        for direction in _behind_first(open_ends):
            neighbour = near.get(chunk.ordinal + direction * distance)
            if neighbour is None or neighbour.section_id != chunk.section_id:
                open_ends.discard(direction)
                continue
            left -= count_tokens(neighbour.text)
            if left < 0:
                return [kept[ordinal] for ordinal in sorted(kept)]
            kept[neighbour.ordinal] = neighbour
    return [kept[ordinal] for ordinal in sorted(kept)]


def _behind_first(directions: Iterable[int]) -> list[int]:
    return sorted(directions, reverse=True)


HITS_PER_PARENT = 3
"""Children asked for each parent wanted, since several may lie in one."""


class ParentChildRetriever:
    """The parents of the hits of another retriever, each with the score of its best child.

    An index has parents when it was split by "parent-child" or "sentence-window". A chunk without
    one gets its neighbours in its section, up to ``tokens``.
    """

    name = "parent_child"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        tokens: int = 800

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._tokens = options.tokens
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return one hit for each parent that has a hit among its children."""
        evidence = self._base.retrieve(Query(query.text, query.k * HITS_PER_PARENT))
        passages = PassageReader(self._store)
        found = passages.chunks(chunk_ids_of(evidence.hits))
        parents = passages.chunks(sorted({c.parent_id for c in found.values() if c.parent_id}))
        home = {i: c.parent_id for i, c in found.items() if c.parent_id in parents and c.parent_id}
        hits = [
            merge_hits(group, parents[key]) if key in parents else self._widen(group[0], passages)
            for key, group in group_hits(evidence.hits, home).items()
        ]
        return replace_hits(evidence, drop_overlaps(hits), query=query, retriever=self.name)

    def _widen(self, hit: Hit, passages: PassageReader) -> Hit:
        if hit.chunk.is_parent or hit.matched:
            return hit
        beside: list[Chunk] = siblings_of(
            hit.chunk, passages, reach=max(1, self._tokens // 100), tokens=self._tokens
        )
        return merge_hits([hit], passages.join(hit.chunk, beside))


HITS_PER_SECTION = 3
"""Hits asked for each passage wanted: merging makes few of many."""

FEWEST_HITS_OF_SECTION = 2
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

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        share: float = 0.5
        tokens: int = 1200

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if not 0 < options.share <= 1 or options.tokens < 1:
            raise ConfigError("`share` must be above 0 and at most 1, and `tokens` at least 1.")
        self._store = store
        self._base = open_base(base, store=store, embedder=embedder)
        self._share = options.share
        self._tokens = options.tokens
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return the hits, merged from the leaves of the section tree up."""
        evidence = self._base.retrieve(Query(query.text, query.k * HITS_PER_SECTION))
        passages = PassageReader(self._store)
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

    def _merge(self, document_id: str, hits: list[Hit], passages: PassageReader) -> list[Hit]:
        if len(hits) < FEWEST_HITS_OF_SECTION:
            return hits
        for span, chunk in self._nodes(document_id, hits, passages):
            inside = [hit for hit in hits if _lies_in(hit.chunk.span, span)]
            if len(inside) < FEWEST_HITS_OF_SECTION or _covered(inside) < self._share * (
                span.end - span.start
            ):
                continue
            best = max(inside, key=lambda hit: (hit.score, hit.chunk.id))
            ranked = [best, *(hit for hit in inside if hit is not best)]
            passage = chunk or passages.cut(best.chunk, span, self._sentences(best, span, passages))
            hits = [hit for hit in hits if hit not in inside]
            hits.append(merge_hits(ranked, passage))
        return hits

    def _nodes(
        self, document_id: str, hits: Sequence[Hit], passages: PassageReader
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

    def _sentences(self, best: Hit, span: Span, passages: PassageReader) -> list[Span]:
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
