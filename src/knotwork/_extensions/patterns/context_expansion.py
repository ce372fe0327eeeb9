"""Context policies: what text around each hit of another retriever is returned, and which ranks.

Sentence windows, siblings in a section, parent chunks, and whole sections of which most was found
(bottom-up, also called auto-merging).

Others rank passages by the document, section or community they belong to. Top-down enters the best
documents and then their best sections. Summaries compare the question with the report of a
passage's community, or, without reports, with the most central sentences of its section: those
nearest to the mean of all (Radev et al., centroid-based summarization, 2004).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from knotwork._inference.embedder import to_similarity
from knotwork._questions.reading import reading_of
from knotwork._retrieval.base import Bounds, Positive, Whole, WrappingRetriever, bounded
from knotwork._retrieval.community_search import find_communities
from knotwork._retrieval.fusion import (
    PassageReader,
    drop_overlaps,
    lift_hit,
    merge_hits,
)
from knotwork._retrieval.question import can_embed, require_vectors
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import count_tokens
from knotwork.records import Chunk, Evidence, Hit, Query, Section, Span

Expansion = tuple[Iterable[Hit], Sequence[str]]


class ExpandingRetriever(WrappingRetriever, ABC):
    """A retriever that widens, narrows or scores the hits of another one again.

    It asks for ``hits_per_passage`` hits for each passage wanted, and for ``fewest_hits`` at least.
    """

    hits_per_passage: ClassVar[int] = 1
    fewest_hits: ClassVar[int] = 0

    def retrieve(self, query: Query) -> Evidence:
        """Return the passages that the hits become, best first."""
        most = max(self.fewest_hits, query.k * self.hits_per_passage)
        evidence = replace(self.base.retrieve(Query(query.text, most)), query=query)
        with self._store.reading():
            hits, lines = self._expand(evidence, PassageReader(self._store))
        ranked = sorted(hits, key=lambda hit: (-hit.score, hit.chunk.id))[: max(query.k, 0)]
        trace = (*evidence.trace, *lines)
        return replace(evidence, hits=tuple(ranked), retriever=self.name, trace=trace)

    @abstractmethod
    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        """Return the passages that the hits become, and lines of the trace about them."""


class SentenceWindowRetriever(ExpandingRetriever):
    """Cuts each hit of another retriever to a window around its best sentence.

    A window has up to ``size`` sentences on either side, across chunk borders but within the
    document. It is short, so many sources fit into a small context.
    """

    name = "sentence_window"

    @bounded
    class Options:
        size: Whole = 3

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        size = self.options.size
        passages.read_around([hit.chunk for hit in evidence.hits], reach=size)
        return drop_overlaps(self._window(hit, passages, size) for hit in evidence.hits), ()

    def _window(self, hit: Hit, passages: PassageReader, size: int) -> Hit:
        if not hit.sentences or hit.matched:
            return hit  # without a best sentence, or already cut by another retriever
        best = hit.sentences[0][0]
        near = passages.around(hit.chunk, reach=size)
        sentences = sorted({span for chunk in near for span in chunk.sentences})
        if best not in sentences:
            return hit
        place = sentences.index(best)
        around = sentences[max(place - size, 0) : place + size + 1]
        window = Span(around[0].start, max(span.end for span in around))
        return merge_hits([hit], passages.cut(hit.chunk, window, sentences))


class SiblingsRetriever(ExpandingRetriever):
    """Extends each hit of another retriever by its neighbours in the section.

    The nearest neighbours are added first, the following one before the preceding one, while the
    passage has at most ``tokens``. ``reach`` is their maximum distance in chunks.
    """

    name = "siblings"
    hits_per_passage = 2  # neighbours that are both found are merged

    @bounded
    class Options:
        reach: Whole = 2
        tokens: Positive = 800

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        reach, tokens = self.options.reach, self.options.tokens
        passages.read_around([hit.chunk for hit in evidence.hits], reach=reach)
        return drop_overlaps(
            add_siblings(hit, passages, reach=reach, tokens=tokens) for hit in evidence.hits
        ), ()


def add_siblings(hit: Hit, passages: PassageReader, *, reach: int, tokens: int) -> Hit:
    """Return a hit with its neighbours in the section, with at most ``tokens`` together.

    A parent, and what was widened before, stays as it is.
    """
    chunk = hit.chunk
    if chunk.is_parent or hit.matched:
        return hit
    near = {c.ordinal: c for c in passages.around(chunk, reach=reach)}
    kept = [chunk]
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
                return merge_hits([hit], passages.join(chunk, kept))
            kept.append(neighbour)
    return merge_hits([hit], passages.join(chunk, kept))


class ParentChildRetriever(ExpandingRetriever):
    """Replaces the hits of another retriever by their parent chunks, with the score of the best
    child.

    An index has parent chunks if it was split by "parent-child" or "sentence-window". A chunk
    without parent is extended by its neighbours in the section, up to ``tokens``.
    """

    name = "parent_child"
    hits_per_passage = 3  # several may have the same parent

    @bounded
    class Options:
        tokens: Positive = 800

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        found = passages.chunks.read(hit.chunk.id for hit in evidence.hits)
        parents = passages.chunks.read(sorted({c.parent_id or "" for c in found.values()} - {""}))
        groups: defaultdict[str, list[Hit]] = defaultdict(list)
        for hit in evidence.hits:
            home = found[hit.chunk.id].parent_id if hit.chunk.id in found else None
            groups[home if home in parents and home else hit.chunk.id].append(hit)
        tokens = self.options.tokens
        reach = max(1, tokens // 100)
        alone = [hits[0].chunk for key, hits in groups.items() if key not in parents]
        passages.read_around(alone, reach=reach)
        return drop_overlaps(
            merge_hits(group, parents[key])
            if key in parents
            else add_siblings(group[0], passages, reach=reach, tokens=tokens)
            for key, group in groups.items()
        ), ()


def _by_document(hits: Iterable[Hit]) -> dict[str, list[Hit]]:
    found: dict[str, list[Hit]] = {}
    for hit in hits:
        found.setdefault(hit.chunk.document_id, []).append(hit)
    return found


FEWEST_HITS_OF_SECTION = 2
"""Minimum number of hits in a section that is returned whole."""

_LONGEST_TOKEN = 12
"""Maximum average characters per token: longer texts exceed the budget without counting."""


class BottomUpRetriever(ExpandingRetriever):
    """Replaces the hits of another retriever by the section that contains them if most of it was
    found.

    From the leaves of the section tree, a node replaces its hits if they cover ``share`` of its
    characters and it has at most ``tokens``. This follows the auto-merging retrievers of
    hierarchical indexes, but measures covered text in place of covered children, so no other chunk
    of a section must be read.
    """

    name = "bottom_up"
    hits_per_passage = 3  # merging leaves few

    @bounded
    class Options:
        share: Annotated[float, Bounds(0, 1, is_open=True)] = 0.5
        tokens: Positive = 1200

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        by_document = _by_document(drop_overlaps(evidence.hits))
        several = [key for key, hits in by_document.items() if len(hits) >= FEWEST_HITS_OF_SECTION]
        passages.sections.read(several)
        passages.documents.read(several)
        merged: list[Hit] = []
        trace: list[str] = []
        for document_id, hits in by_document.items():
            found = self._merge(document_id, hits, passages)
            merged += found
            if len(found) < len(hits):
                title = hits[0].chunk.document_title or passages.documents[document_id].uri
                trace.append(f"{len(hits)} hits of “{title}” became {len(found)}.")
        return merged, trace

    def _merge(self, document_id: str, hits: list[Hit], passages: PassageReader) -> list[Hit]:
        if len(hits) < FEWEST_HITS_OF_SECTION:
            return hits
        for span, chunk in self._nodes(document_id, hits, passages):
            inside = [hit for hit in hits if span.contains(hit.chunk.span)]
            least = self.options.share * (span.end - span.start)
            if len(inside) < FEWEST_HITS_OF_SECTION or _covered(inside) < least:
                continue
            best = max(inside, key=lambda hit: (hit.score, hit.chunk.id))
            ranked = [best, *(hit for hit in inside if hit is not best)]
            passage = chunk or passages.cut(
                best.chunk, span, _sentences_around(best.chunk, span, passages)
            )
            hits = [hit for hit in hits if hit not in inside]
            hits.append(merge_hits(ranked, passage))
        return hits

    def _nodes(
        self, document_id: str, hits: Sequence[Hit], passages: PassageReader
    ) -> Iterator[tuple[Span, Chunk | None]]:
        """Yield parent chunks and sections within the token budget, smallest first."""
        ids = sorted({hit.chunk.parent_id for hit in hits if hit.chunk.parent_id})
        nodes: list[tuple[Span, Chunk | None]] = [
            (parent.span, parent) for parent in passages.chunks.read(ids).values()
        ]
        nodes += [(section.span, None) for section in passages.sections.get(document_id, [])]
        text = passages.documents[document_id].text
        for span, chunk in sorted(nodes, key=lambda node: (node[0].end - node[0].start, node[0])):
            if span.end - span.start > self.options.tokens * _LONGEST_TOKEN:
                return
            if count_tokens(text[slice(*span)]) <= self.options.tokens:
                yield span, chunk


def _sentences_around(chunk: Chunk, span: Span, passages: PassageReader) -> list[Span]:
    """Return the sentences of the chunks around one that overlap a span."""
    found: dict[Span, None] = {}
    for direction in (-1, 1):
        ordinal = chunk.ordinal
        while ordinal >= 0 and (near := passages.leaves(chunk.document_id, ordinal, ordinal)):
            if near[0].span.end <= span.start or near[0].span.start >= span.end:
                break
            found |= dict.fromkeys(near[0].sentences)
            ordinal += direction
    return list(found)


def _covered(hits: Sequence[Hit]) -> int:
    """Return the number of characters that the hits cover together."""
    total, end = 0, -1
    for span in sorted(hit.chunk.span for hit in hits):
        total += max(span.end - max(span.start, end), 0)
        end = max(end, span.end)
    return total


HALVING = 0.5
"""Weight of each hit of a section relative to the one before."""

DOCUMENTS_IN_TRACE = 3


class TopDownRetriever(ExpandingRetriever):
    """Raises the scores of another retriever's hits in the best sections of the best documents.

    The evidence for a section is the sum of its hits' scores, each weighted half of the one before,
    and more if its title matches the question (``titles``). From the root down, the ``documents``
    best documents and the ``sections`` best sections of each level are entered. A hit gains
    ``lift`` times the mean evidence of the nodes entered above it; hits elsewhere gain nothing. So
    neither a title alone nor a single passage decides.
    """

    name = "top_down"
    fewest_hits = 100  # that count as evidence for their sections

    @bounded
    class Options:
        documents: Positive = 5
        sections: Positive = 3
        lift: float = 0.2
        titles: float = 0.3

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        asked = frozenset(reading_of(evidence.query.text).terms)
        by_document = _by_document(evidence.hits)
        roots = {
            document_id: self._gather(hits, hits[0].chunk.document_title, asked)
            for document_id, hits in by_document.items()
        }
        highest = max(roots.values(), default=0.0) or 1.0
        entered = sorted(roots, key=lambda i: (-roots[i], i))[: self.options.documents]
        passages.sections.read(entered)
        lifts: dict[str, float] = {}
        for document_id in entered:
            sections, hits = passages.sections.get(document_id, []), by_document[document_id]
            start = [roots[document_id] / highest]
            lifts |= self._descend(sections, hits, start, highest, asked)
        trace = []
        for document_id in entered[:DOCUMENTS_IN_TRACE]:
            title = by_document[document_id][0].chunk.document_title
            title = title or passages.documents.read([document_id])[document_id].uri
            trace.append(f"Entered “{title}”.")
        lift = self.options.lift
        hits = [lift_hit(h, lift * lifts.get(h.chunk.id, 0.0), "sections") for h in evidence.hits]
        return hits, trace

    def _gather(self, hits: Sequence[Hit], title: str, asked: Collection[str]) -> float:
        """Return the evidence for a section with these hits, given best first."""
        total = sum(max(hit.score, 0.0) * HALVING**rank for rank, hit in enumerate(hits))
        matching = {term for term in content_terms(title) if term in asked}
        return total * (1 + self.options.titles * len(matching) / max(len(asked), 1))

    def _descend(
        self,
        sections: Sequence[Section],
        hits: Sequence[Hit],
        above: list[float],
        highest: float,
        asked: Collection[str],
    ) -> dict[str, float]:
        """Return, by chunk id, the mean evidence of the entered nodes above each hit."""
        children: dict[str | None, list[Section]] = {}
        for section in sections:
            children.setdefault(section.parent_id, []).append(section)
        lifts: dict[str, float] = {}
        open_nodes = [(section, list(hits), above) for section in children.get(None, [])]
        while open_nodes:
            node, inside, values = open_nodes.pop()
            lifts |= {hit.chunk.id: sum(values) / len(values) for hit in inside}
            found = []
            for below in children.get(node.id, []):
                span = below.span
                held = [h for h in inside if span.start <= h.chunk.span.start < span.end]
                if held:
                    found.append((below, held, self._gather(held, below.title, asked)))
            found.sort(key=lambda item: (-item[2], item[0].id))
            for child, held, value in found[: self.options.sections]:
                open_nodes.append((child, held, [*values, value / highest]))
            for _, held, _ in found[self.options.sections :]:
                for hit in held:
                    lifts.pop(hit.chunk.id, None)
        return lifts


REPORTS_READ = 8
SECTIONS_READ = 12
CHUNKS_OF_SECTION = 40
CENTRAL_SENTENCES = 5


class GroupSummary(NamedTuple):
    """A group of chunks with its title and the relevance of its summary, from 0 to 1."""

    title: str
    value: float
    chunk_ids: frozenset[str]


class SummariesRetriever(ExpandingRetriever):
    """Raises the scores of another retriever's hits whose group has a relevant summary.

    ``lift`` is what the best summary adds. ``source`` is "reports" (of communities), "sections"
    (their central sentences) or "auto" (sections if there are no reports).
    """

    name = "summaries"
    fewest_hits = 60  # whose groups have their summaries read

    @bounded
    class Options:
        lift: float = 0.1
        source: str = "auto"

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        found: list[GroupSummary] = []
        if self.options.source in {"auto", "reports"}:
            found = self._reports(evidence)
        if not found and self.options.source in {"auto", "sections"}:
            found = self._sections(evidence, passages)
        found.sort(key=lambda s: (-s.value, s.title, min(s.chunk_ids)))
        values: dict[str, float] = {}
        for summary in found:
            for chunk_id in summary.chunk_ids:
                values[chunk_id] = max(summary.value, values.get(chunk_id, 0.0))
        lift = self.options.lift
        hits = [lift_hit(h, lift * values.get(h.chunk.id, 0.0), "summary") for h in evidence.hits]
        return hits, [f"Looked into “{summary.title}”." for summary in found[:3]]

    def _reports(self, evidence: Evidence) -> list[GroupSummary]:
        held = self._store.capabilities.communities
        ranked = find_communities(
            evidence.query.text,
            store=self._store,
            evidence=evidence,
            embedder=self._embedder,
            most=REPORTS_READ,
        )
        if held is None or not ranked:
            return []
        reports = held.reports([item.id for item in ranked])
        inside: defaultdict[str, set[str]] = defaultdict(set)
        for chunk_id, around in held.of_chunks([h.chunk.id for h in evidence.hits]).items():
            for community_id in around:
                inside[community_id].add(chunk_id)
        return [
            GroupSummary(
                reports[item.id].title if item.id in reports else item.id,
                item.score / ranked[0].score,
                frozenset(inside[item.id]),
            )
            for item in ranked
            if item.id in inside
        ]

    def _sections(self, evidence: Evidence, passages: PassageReader) -> list[GroupSummary]:
        embedder, text = self._embedder, evidence.query.text
        if not evidence.hits or embedder is None or not can_embed(embedder, text):
            return []
        question = require_vectors(embedder.embed([text]), embedder)[0]
        first_hits: dict[str, Chunk] = {}
        for hit in evidence.hits:
            first_hits.setdefault(hit.chunk.section_id, hit.chunk)
        first, reach = list(first_hits.values())[:SECTIONS_READ], CHUNKS_OF_SECTION // 2
        passages.read_around(first, reach=reach)
        near = {chunk.section_id: passages.around(chunk, reach=reach) for chunk in first}
        groups = [[c for c in near[i] if c.section_id == i] for i in near]
        groups = [inside for inside in groups if len(inside) > 1]
        vectors = self._store.vectors("sentence").get(
            dict.fromkeys(chunk.id for inside in groups for chunk in inside)
        )
        found = []
        for inside in groups:
            rows = [vectors[chunk.id] for chunk in inside if len(vectors.get(chunk.id, ()))]
            if rows:
                sentences = np.concatenate(rows)
                central = np.argsort(-(sentences @ sentences.mean(axis=0)), kind="stable")
                cosines = sentences[central[:CENTRAL_SENTENCES]] @ question
                value = float(np.clip(to_similarity(float(cosines.mean()), embedder.name), 0, 1))
                leading = inside[0]
                title = (*leading.headings, leading.document_title or leading.text[:40])[-1]
                found.append(GroupSummary(title, value, frozenset(c.id for c in inside)))
        return [summary for summary in found if summary.value > 0]
