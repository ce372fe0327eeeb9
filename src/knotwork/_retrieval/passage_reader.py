"""Read passages wider or narrower than a chunk from its document, and merge their hits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from knotwork._stores.base import Store
from knotwork.records import Chunk, Document, Evidence, Hit, Section, Span

T = TypeVar("T")


class _Cache(dict[str, T]):
    """Values by id, read from the store in batches."""

    def __init__(self, read: Callable[[Collection[str]], Mapping[str, T]]) -> None:
        super().__init__()
        self._read = read

    def read(self, ids: Iterable[str]) -> dict[str, T]:
        """Return the values of these ids, in their order; those that do not exist are absent."""
        wanted = dict.fromkeys(ids)
        if missing := [key for key in wanted if key not in self]:
            self.update(self._read(missing))
        return {key: self[key] for key in wanted if key in self}


class PassageReader:
    """Reads documents, sections and chunks with a cache; create one for each question."""

    def __init__(self, store: Store) -> None:
        self.documents: _Cache[Document] = _Cache(store.documents.documents)
        self.chunks: _Cache[Chunk] = _Cache(store.documents.chunks)
        self.sections: _Cache[list[Section]] = _Cache(store.documents.sections_of)
        """The sections of each document in reading order, the root first."""
        self._chunk_ids: _Cache[list[str]] = _Cache(store.documents.chunk_ids_of)

    def read_around(self, chunks: Collection[Chunk], *, reach: int) -> None:
        """Read these chunks' documents and the leaf chunks near at once, for `around` and `cut`."""
        self.documents.read(chunk.document_id for chunk in chunks)
        held = self._chunk_ids.read(chunk.document_id for chunk in chunks)
        self.chunks.read(
            identifier
            for chunk in chunks
            for identifier in held.get(chunk.document_id, [])[
                max(chunk.ordinal - reach, 0) : chunk.ordinal + reach + 1
            ]
        )

    def leaves(self, document_id: str, first: int, last: int) -> list[Chunk]:
        """Return the leaf chunks with the ordinals from ``first`` to ``last``, in order."""
        held = self._chunk_ids.read([document_id]).get(document_id, [])
        found = self.chunks.read(held[max(first, 0) : last + 1])
        return [chunk for chunk in found.values() if not chunk.is_parent]

    def around(self, chunk: Chunk, *, reach: int) -> list[Chunk]:
        """Return the leaf chunks at most ``reach`` positions away, including the chunk itself."""
        return self.leaves(chunk.document_id, chunk.ordinal - reach, chunk.ordinal + reach)

    def cut(self, chunk: Chunk, span: Span, sentences: Iterable[Span]) -> Chunk:
        """Return the text at ``span`` of the document as a passage with the id of ``chunk``."""
        document = self.documents.read([chunk.document_id])[chunk.document_id]
        inside = sorted({s for s in sentences if span.contains(s)})
        return replace(chunk, span=span, text=document.text[slice(*span)], sentences=tuple(inside))

    def join(self, best: Chunk, parts: Sequence[Chunk]) -> Chunk:
        """Return the passage that spans consecutive chunks, with the id of ``best``."""
        span = Span(min(c.span.start for c in parts), max(c.span.end for c in parts))
        if span == best.span:
            return best
        return self.cut(best, span, (s for chunk in parts for s in chunk.sentences))


def merge_hits(hits: Sequence[Hit], passage: Chunk) -> Hit:
    """Return one hit for a passage in place of the hits it contains, which are given best first.

    It has the score of the first hit, and the seeds and sentences of all.
    """
    first = hits[0]
    relevance: dict[Span, float] = {}
    held = set(passage.sentences)
    for hit in hits:
        for span, value in hit.sentences:
            if span in held:
                relevance[span] = max(value, relevance.get(span, 0.0))
    matched = (i for hit in hits for i in hit.matched or (hit.chunk.id,))
    return replace(
        first,
        chunk=passage,
        seeds=tuple(dict.fromkeys(seed for hit in hits for seed in hit.seeds)),
        path=next((hit.path for hit in hits if hit.path), ()),
        sentences=tuple(sorted(relevance.items(), key=lambda item: (-item[1], item[0]))),
        matched=tuple(dict.fromkeys(matched)),
    )


def drop_overlaps(hits: Iterable[Hit]) -> list[Hit]:
    """Merge hits whose passage is inside another's, keeping the wider passage; best score first."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)):
        document, span = hit.chunk.document_id, hit.chunk.span
        same = ((n, k.chunk.span) for n, k in enumerate(kept) if k.chunk.document_id == document)
        inside = (n for n, other in same if other.contains(span) or span.contains(other))
        if (found := next(inside, None)) is None:
            kept.append(hit)
        else:
            wider = max(kept[found].chunk, hit.chunk, key=lambda c: c.span.end - c.span.start)
            kept[found] = merge_hits([kept[found], hit], wider)
    return kept


def lift_hit(hit: Hit, gain: float, part: str) -> Hit:
    """Return a hit with a gain in its score, named ``part`` in its scores."""
    return replace(hit, score=hit.score + gain, scores={**hit.scores, part: gain})


def raise_hits(
    evidence: Evidence, gains: Mapping[str, float], *, part: str, store: Store
) -> tuple[Hit, ...]:
    """Return the best hits after the chunks in ``gains`` have gained, found before or not."""
    known = {hit.chunk.id: hit for hit in evidence.hits}
    chunks = store.documents.chunks([i for i in gains if i not in known])
    hits = [*known.values(), *(Hit(chunk, 0.0) for chunk in chunks.values())]
    raised = (lift_hit(h, gains[h.chunk.id], part) if h.chunk.id in gains else h for h in hits)
    return tuple(sorted(raised, key=lambda h: (-h.score, h.chunk.id))[: evidence.query.k])
