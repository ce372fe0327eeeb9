"""Join hits: of several retrievers, of several searches of one, and of passages that overlap.

A `PassageReader` reads passages that are wider or narrower than a chunk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, TypeVar

from knotwork._retrieval.base import OneOf, Retriever, bounded
from knotwork._stores.base import Store
from knotwork._text.token_counts import count_tokens
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Document, Evidence, Hit, Query, Section, Span

FUSION_DEPTH = 50
"""Minimum number of hits requested from each retriever."""

RANK_OFFSET = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009)."""

FUSION_METHODS = ("scores", "rank")


class FusedRetriever:
    """Ranks the hits of several retrievers together.

    ``parts`` are weights and retrievers. With ``by="scores"`` a hit's score is the weighted mean of
    its scores, each relative to the best of its retriever; with ``by="rank"`` it is that of
    reciprocal rank fusion. ``Hit.scores`` has the share of each retriever by name. If ``tokens`` is
    positive, the hits have at most that many tokens together.
    """

    name = "fuse"

    @bounded
    class Options:
        by: Annotated[str, OneOf(FUSION_METHODS, "way to fuse")] = "scores"
        tokens: int = 0

    def __init__(
        self,
        *,
        parts: Sequence[tuple[float, Retriever]],
        options: Options | None = None,
    ) -> None:
        options = options or self.Options()
        if not parts:
            raise ConfigError("A fusion needs at least one retriever.")
        labels: list[str] = []  # names, with a number from the second occurrence on
        seen: Counter[str] = Counter()
        for _, retriever in parts:
            seen[retriever.name] += 1
            number = seen[retriever.name]
            labels.append(retriever.name if number == 1 else f"{retriever.name} {number}")
        self._parts = list(zip(labels, parts, strict=True))
        self._by = options.by
        self._tokens = options.tokens
        self.name = " + ".join(label for label, _ in self._parts)

    def retrieve(self, query: Query) -> Evidence:
        """Return the fused evidence; a retriever without hits lowers no score relative to
        another.
        """
        asked = Query(query.text, max(FUSION_DEPTH, query.k))
        found = [(label, w, retriever.retrieve(asked)) for label, (w, retriever) in self._parts]
        hits = fuse_hits(found, by=self._by)
        kept = hits[: max(query.k, 0)]
        evidences = [evidence for _, _, evidence in found]
        embedders = {evidence.embedder for evidence in evidences}
        return Evidence(
            query,
            self.name,
            tuple(keep_within(kept, tokens=self._tokens) if self._tokens else kept),
            max(evidence.confidence for evidence in evidences),
            tuple(dict.fromkeys(note for e in evidences for note in e.notes)),
            paths=tuple(path for e in evidences for path in e.paths),
            results=tuple(result for e in evidences for result in e.results),
            trace=tuple(f"{label}: {line}" for label, _, e in found for line in e.trace),
            embedder=embedders.pop() if len(embedders) == 1 else "",
        )


def raise_scores(found: dict[str, Hit], scored: Iterable[tuple[Hit, float]], *, part: str) -> None:
    """Add hits with new scores to those ``found``, by chunk id; the higher score of a chunk stays.

    ``part`` is the name in ``Hit.scores`` for what a new score adds.
    """
    for hit, score in scored:
        known = found.get(hit.chunk.id)
        if known is None:
            found[hit.chunk.id] = replace(hit, score=score, scores={part: score})
        elif score > known.score:
            scores = {**known.scores, part: score - known.score}
            found[hit.chunk.id] = replace(known, score=score, scores=scores)


def fuse_hits(found: Sequence[tuple[str, float, Evidence]], *, by: str = "scores") -> list[Hit]:
    """Return the hits of labelled, weighted evidence, each chunk once, best first.

    Of a passage inside another only the wider one is kept.
    """
    total = sum(weight for _, weight, _ in found) or 1.0
    gathered: dict[str, list[Hit]] = {}
    shares: dict[str, dict[str, float]] = {}
    for label, weight, evidence in found:
        best = max((hit.score for hit in evidence.hits), default=0.0)
        for rank, hit in enumerate(evidence.hits, start=1):
            value = hit.score / best if best > 0 else 0.0
            value = value if by == "scores" else 1.0 / (RANK_OFFSET + rank)
            gathered.setdefault(hit.chunk.id, []).append(hit)
            share = shares.setdefault(hit.chunk.id, {})
            share[label] = share.get(label, 0.0) + weight * value / total
    hits = []
    for identifier, same in gathered.items():
        widest = max(same, key=lambda hit: hit.chunk.span.end - hit.chunk.span.start).chunk
        parts = shares[identifier]
        merged = replace(same[0], score=sum(parts.values()), scores=parts)
        if len(same) > 1:
            # The chunks from which hits were cut, or none if all are whole chunks.
            cut = any(hit.matched for hit in same)
            matched = dict.fromkeys(i for hit in same for i in hit.matched or (hit.chunk.id,))
            merged = merge_hits([merged, *same[1:]], widest)
            merged = replace(merged, matched=tuple(matched) if cut else ())
        hits.append(merged)
    if any(hit.matched for hit in hits):
        hits = drop_overlaps(hits)
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))


def keep_within(hits: Iterable[Hit], *, tokens: int) -> list[Hit]:
    """Return the best hits whose texts have at most ``tokens`` together.

    A hit that does not fit is skipped, and shorter ones after it may still fit.
    """
    kept, left = [], tokens
    for hit in hits:
        size = count_tokens(hit.chunk.text)
        if size <= left:
            kept.append(hit)
            left -= size
    return kept


SEARCH_DEPTH = 30
"""Minimum number of hits requested for each text."""


def search_deep(base: Retriever, query: Query) -> Evidence:
    """Search with enough hits for the result to be fused with other searches."""
    return base.retrieve(Query(query.text, max(SEARCH_DEPTH, query.k)))


def search_also(
    base: Retriever, own: Evidence, query: Query, text: str, weight: float, *, label: str
) -> Evidence:
    """Return the evidence for a question, fused with that for a further text, if there is one.

    ``own`` is from `search_deep` and has the weight 1. A hit's score is the weighted sum of its
    scores, each relative to the best of its search, on the scale of the question's own scores.
    """
    if not text:
        return cut_evidence(own, query)
    also = search_deep(base, replace(query, text=text))
    best = max((hit.score for hit in own.hits), default=1.0)
    scale = (best if best > 0 else 1.0) * (1.0 + weight)
    hits = [
        replace(h, score=h.score * scale, scores={n: v * scale for n, v in h.scores.items()})
        for h in fuse_hits([(base.name, 1.0, own), (label, weight, also)])
    ]
    return cut_evidence(replace(own, hits=tuple(hits)), query)


def cut_evidence(evidence: Evidence, query: Query) -> Evidence:
    """Return the evidence with the best ``query.k`` hits, as evidence for ``query``."""
    return replace(evidence, query=query, hits=evidence.hits[: max(query.k, 0)])


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
