"""Read passages wider or narrower than a chunk from its document, and merge their hits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from knotwork._stores.base import Store
from knotwork.records import Chunk, Document, Evidence, Hit, Query, Section, Span


class PassageReader:
    """Reads documents, sections and chunks with a cache; create one for each question."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._documents: dict[str, Document] = {}
        self._chunk_ids: dict[str, list[str]] = {}
        self._chunks: dict[str, Chunk] = {}
        self._sections: dict[str, list[Section]] = {}

    def document(self, identifier: str) -> Document:
        """Return a document that has chunks in the index."""
        self.read_documents([identifier])
        return self._documents[identifier]

    def sections(self, document_id: str) -> list[Section]:
        """Return the sections of a document in reading order, the root first."""
        self.read_sections([document_id])
        return self._sections[document_id]

    def read_documents(self, document_ids: Collection[str]) -> None:
        """Read these documents at once, for `document`, `cut` and `join`."""
        if missing := [i for i in dict.fromkeys(document_ids) if i not in self._documents]:
            self._documents |= self._store.documents.documents(missing)

    def read_sections(self, document_ids: Collection[str]) -> None:
        """Read the sections of these documents at once, for `sections`."""
        if missing := [i for i in dict.fromkeys(document_ids) if i not in self._sections]:
            found = self._store.documents.sections_of(missing)
            self._sections |= {i: found.get(i, []) for i in missing}

    def read_around(self, chunks: Collection[Chunk], *, reach: int) -> None:
        """Read these chunks' documents and the leaf chunks near at once, for `around` and `cut`."""
        self.read_documents([chunk.document_id for chunk in chunks])
        self._read_chunk_ids([chunk.document_id for chunk in chunks])
        self.chunks(
            identifier
            for chunk in chunks
            for identifier in self._near(
                chunk.document_id, chunk.ordinal - reach, chunk.ordinal + reach
            )
        )

    def chunks(self, ids: Iterable[str]) -> dict[str, Chunk]:
        """Return chunks by id; those that do not exist are absent."""
        wanted = list(ids)
        missing = [i for i in dict.fromkeys(wanted) if i not in self._chunks]
        if missing:
            self._chunks |= self._store.documents.chunks(missing)
        return {i: self._chunks[i] for i in wanted if i in self._chunks}

    def leaves(self, document_id: str, first: int, last: int) -> list[Chunk]:
        """Return the leaf chunks with the ordinals from ``first`` to ``last``, in order."""
        self._read_chunk_ids([document_id])
        found = self.chunks(self._near(document_id, first, last))
        return [chunk for chunk in found.values() if not chunk.is_parent]

    def _read_chunk_ids(self, document_ids: Collection[str]) -> None:
        if missing := [i for i in dict.fromkeys(document_ids) if i not in self._chunk_ids]:
            found = self._store.documents.chunk_ids_of(missing)
            self._chunk_ids |= {i: found.get(i, []) for i in missing}

    def _near(self, document_id: str, first: int, last: int) -> list[str]:
        return self._chunk_ids[document_id][max(first, 0) : last + 1]

    def around(self, chunk: Chunk, *, reach: int) -> list[Chunk]:
        """Return the leaf chunks at most ``reach`` positions away, including the chunk itself."""
        return self.leaves(chunk.document_id, chunk.ordinal - reach, chunk.ordinal + reach)

    def cut(self, chunk: Chunk, span: Span, sentences: Iterable[Span]) -> Chunk:
        """Return the text at ``span`` of the document as a passage with the id of ``chunk``."""
        text = self.document(chunk.document_id).text[span.start : span.end]
        inside = sorted({s for s in sentences if span.contains(s)})
        return replace(chunk, span=span, text=text, sentences=tuple(inside))

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


def replace_hits(
    evidence: Evidence, hits: Iterable[Hit], *, query: Query, retriever: str
) -> Evidence:
    """Return the evidence with other hits, ranked and cut to ``query.k``."""
    ranked = sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[: max(query.k, 0)]
    return replace(evidence, query=query, hits=tuple(ranked), retriever=retriever)


def drop_overlaps(hits: Iterable[Hit]) -> list[Hit]:
    """Merge hits whose passage is inside another's, keeping the wider passage; best score first."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id)):
        found = next((n for n, other in enumerate(kept) if _overlap(hit.chunk, other.chunk)), None)
        if found is None:
            kept.append(hit)
        else:
            wider = max(kept[found].chunk, hit.chunk, key=lambda c: c.span.end - c.span.start)
            kept[found] = merge_hits([kept[found], hit], wider)
    return kept


def _overlap(one: Chunk, other: Chunk) -> bool:
    """Return True if one passage is inside the other."""
    if one.document_id != other.document_id:
        return False
    a, b = one.span, other.span
    return a.contains(b) or b.contains(a)


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
