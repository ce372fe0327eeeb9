"""Retrievers that return more, or less, text around each hit of another retriever.

Sentence windows, siblings in a section, parent chunks, and whole sections of which most was found
(bottom-up, also called auto-merging).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knotwork._retrieval.passage_reader import (
    PassageReader,
    chunk_ids_of,
    drop_overlaps,
    group_hits,
    merge_hits,
)
from knotwork._retrieval.wrapping_retriever import ExpandingRetriever, Expansion
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Evidence, Hit, Span


class SentenceWindowRetriever(ExpandingRetriever):
    """Cuts each hit of another retriever to a window around its best sentence.

    A window has up to ``size`` sentences on either side, across chunk borders but within the
    document. It is short, so many sources fit into a small context.
    """

    name = "sentence_window"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        size: int = 3

        def __post_init__(self) -> None:
            if self.size < 0:
                raise ConfigError(f"`size` is `{self.size}`, but must be at least 0 sentences.")

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        passages.read_around([hit.chunk for hit in evidence.hits], reach=self.options.size)
        passages.read_documents([hit.chunk.document_id for hit in evidence.hits])
        return drop_overlaps(self._window(hit, passages) for hit in evidence.hits), ()

    def _window(self, hit: Hit, passages: PassageReader) -> Hit:
        if not hit.sentences or hit.matched:
            return hit  # without a best sentence, or already cut by another retriever
        best = hit.sentences[0][0]
        near = passages.around(hit.chunk, reach=self.options.size)
        sentences = sorted({span for chunk in near for span in chunk.sentences})
        if best not in sentences:
            return hit
        place = sentences.index(best)
        around = sentences[max(place - self.options.size, 0) : place + self.options.size + 1]
        window = Span(around[0].start, max(span.end for span in around))
        return merge_hits([hit], passages.cut(hit.chunk, window, sentences))


class SiblingsRetriever(ExpandingRetriever):
    """Extends each hit of another retriever by its neighbours in the section.

    The nearest neighbours are added first, the following one before the preceding one, while the
    passage has at most ``tokens``. ``reach`` is their maximum distance in chunks.
    """

    name = "siblings"
    hits_per_passage = 2  # neighbours that are both found are merged

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        reach: int = 2
        tokens: int = 800

        def __post_init__(self) -> None:
            if self.reach < 0 or self.tokens < 1:
                raise ConfigError("`reach` must be at least 0 chunks, and `tokens` at least 1.")

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        passages.read_around([hit.chunk for hit in evidence.hits], reach=self.options.reach)
        passages.read_documents([hit.chunk.document_id for hit in evidence.hits])
        reach, tokens = self.options.reach, self.options.tokens
        return drop_overlaps(
            add_siblings(hit, passages, reach=reach, tokens=tokens) for hit in evidence.hits
        ), ()


def add_siblings(hit: Hit, passages: PassageReader, *, reach: int, tokens: int) -> Hit:
    """Return a hit with its neighbours; a parent, and what was widened before, stays as it is."""
    if hit.chunk.is_parent or hit.matched:
        return hit
    beside = siblings_of(hit.chunk, passages, reach=reach, tokens=tokens)
    return merge_hits([hit], passages.join(hit.chunk, beside))


def siblings_of(chunk: Chunk, passages: PassageReader, *, reach: int, tokens: int) -> list[Chunk]:
    """Return the chunk and its neighbours in the section, in order, with at most ``tokens``
    together.
    """
    near = {c.ordinal: c for c in passages.around(chunk, reach=reach)}
    kept = {chunk.ordinal: chunk}
    left = tokens - count_tokens(chunk.text)
    open_ends = {1, -1}
    for distance in range(1, reach + 1):
        for direction in sorted(open_ends, reverse=True):
            neighbour = near.get(chunk.ordinal + direction * distance)
            if neighbour is None or neighbour.section_id != chunk.section_id:
                open_ends.discard(direction)
                continue
            left -= count_tokens(neighbour.text)
            if left < 0:
                return [kept[ordinal] for ordinal in sorted(kept)]
            kept[neighbour.ordinal] = neighbour
    return [kept[ordinal] for ordinal in sorted(kept)]


class ParentChildRetriever(ExpandingRetriever):
    """Replaces the hits of another retriever by their parent chunks, with the score of the best
    child.

    An index has parent chunks if it was split by "parent-child" or "sentence-window". A chunk
    without parent is extended by its neighbours in the section, up to ``tokens``.
    """

    name = "parent_child"
    hits_per_passage = 3  # several may have the same parent

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        tokens: int = 800

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        found = passages.chunks(chunk_ids_of(evidence.hits))
        parents = passages.chunks(sorted({c.parent_id for c in found.values() if c.parent_id}))
        home = {i: c.parent_id for i, c in found.items() if c.parent_id in parents and c.parent_id}
        alone = [hit.chunk for hit in evidence.hits if hit.chunk.id not in home]
        tokens = self.options.tokens
        reach = max(1, tokens // 100)
        passages.read_around(alone, reach=reach)
        passages.read_documents([chunk.document_id for chunk in alone])
        hits = [
            merge_hits(group, parents[key])
            if key in parents
            else add_siblings(group[0], passages, reach=reach, tokens=tokens)
            for key, group in group_hits(evidence.hits, home).items()
        ]
        return drop_overlaps(hits), ()


FEWEST_HITS_OF_SECTION = 2
"""Minimum number of hits in a section that is returned whole."""

_LONGEST_TOKEN = 12
"""Maximum average characters per token: longer texts exceed the budget without counting."""


class BottomUpRetriever(ExpandingRetriever):
    """Replaces the hits of another retriever by their section if most of its text was found.

    From parent chunks up the section tree, a node replaces its hits if they cover ``share`` of its
    characters and it has at most ``tokens``. This follows the auto-merging retrievers of
    hierarchical indexes, but measures covered text in place of covered children, so no other chunk
    of a section must be read.
    """

    name = "bottom_up"
    hits_per_passage = 3  # merging leaves few

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        share: float = 0.5
        tokens: int = 1200

        def __post_init__(self) -> None:
            if not 0 < self.share <= 1 or self.tokens < 1:
                raise ConfigError("`share` must be above 0 and at most 1, and `tokens` at least 1.")

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        by_document: dict[str, list[Hit]] = {}
        for hit in drop_overlaps(evidence.hits):
            by_document.setdefault(hit.chunk.document_id, []).append(hit)
        several = [key for key, hits in by_document.items() if len(hits) >= FEWEST_HITS_OF_SECTION]
        passages.read_sections(several)
        passages.read_documents(several)
        merged: list[Hit] = []
        trace: list[str] = []
        for document_id, hits in by_document.items():
            found = self._merge(document_id, hits, passages)
            merged += found
            if len(found) < len(hits):
                title = hits[0].chunk.document_title or passages.document(document_id).uri
                trace.append(f"{len(hits)} hits of “{title}” became {len(found)}.")
        return merged, trace

    def _merge(self, document_id: str, hits: list[Hit], passages: PassageReader) -> list[Hit]:
        if len(hits) < FEWEST_HITS_OF_SECTION:
            return hits
        for span, chunk in self._nodes(document_id, hits, passages):
            inside = [hit for hit in hits if span.contains(hit.chunk.span)]
            if len(inside) < FEWEST_HITS_OF_SECTION or _covered(inside) < self.options.share * (
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
        """Yield parent chunks and sections within the token budget, smallest first."""
        ids = sorted({hit.chunk.parent_id for hit in hits if hit.chunk.parent_id})
        nodes: list[tuple[Span, Chunk | None]] = [
            (parent.span, parent) for parent in passages.chunks(ids).values()
        ]
        nodes += [(section.span, None) for section in passages.sections(document_id)]
        text = passages.document(document_id).text
        for span, chunk in sorted(nodes, key=lambda node: (node[0].end - node[0].start, node[0])):
            if span.end - span.start > self.options.tokens * _LONGEST_TOKEN:
                return
            if count_tokens(text[span.start : span.end]) <= self.options.tokens:
                yield span, chunk

    def _sentences(self, best: Hit, span: Span, passages: PassageReader) -> list[Span]:
        """Return the sentences of the chunks around a hit that overlap a span."""
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


def _covered(hits: Sequence[Hit]) -> int:
    """Return the number of characters that the hits cover together."""
    total, end = 0, -1
    for span in sorted(hit.chunk.span for hit in hits):
        total += max(span.end - max(span.start, end), 0)
        end = max(end, span.end)
    return total
