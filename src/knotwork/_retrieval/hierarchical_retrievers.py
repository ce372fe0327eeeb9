"""Retrievers that rank passages by the document, section or community they belong to.

Top-down enters the best documents and then their best sections. Summaries compare the question with
the report of a passage's community, or, without reports, with the most central sentences of its
section: those nearest to the mean of all (Radev et al., centroid-based summarization, 2004).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from knotwork._inference.embedder import to_similarity
from knotwork._questions.reading import reading_of
from knotwork._retrieval.community_search import find_communities
from knotwork._retrieval.passage_reader import PassageReader, replace_hits
from knotwork._retrieval.question import can_embed
from knotwork._retrieval.wrapping_retriever import ExpandingRetriever, Expansion, WrappingRetriever
from knotwork._stores.base import FloatMatrix
from knotwork._text.terms import content_terms
from knotwork.errors import ConfigError
from knotwork.records import Chunk, Evidence, Hit, Query, Section

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

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        documents: int = 5
        sections: int = 3
        lift: float = 0.2
        titles: float = 0.3

        def __post_init__(self) -> None:
            if self.documents < 1 or self.sections < 1:
                raise ConfigError("`documents` and `sections` must be at least 1.")

    options: Options

    def _expand(self, evidence: Evidence, passages: PassageReader) -> Expansion:
        asked = frozenset(reading_of(evidence.query.text).terms)
        by_document: dict[str, list[Hit]] = {}
        for hit in evidence.hits:
            by_document.setdefault(hit.chunk.document_id, []).append(hit)
        roots = {
            document_id: self._gather(hits, hits[0].chunk.document_title, asked)
            for document_id, hits in by_document.items()
        }
        highest = max(roots.values(), default=0.0) or 1.0
        entered = sorted(roots, key=lambda i: (-roots[i], i))[: self.options.documents]
        passages.read_sections(entered)
        lifts: dict[str, float] = {}
        for document_id in entered:
            hits = by_document[document_id]
            sections = passages.sections(document_id)
            start = [roots[document_id] / highest]
            lifts |= self._descend(sections, hits, start, highest, asked)
        trace = []
        for document_id in entered[:DOCUMENTS_IN_TRACE]:
            title = by_document[document_id][0].chunk.document_title
            trace.append(f"Entered “{title or passages.document(document_id).uri}”.")
        hits = [self._lifted(hit, lifts.get(hit.chunk.id, 0.0)) for hit in evidence.hits]
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
            found = self._below(children.get(node.id, []), inside, asked)
            for child, held, value in found[: self.options.sections]:
                open_nodes.append((child, held, [*values, value / highest]))
            for _, held, _ in found[self.options.sections :]:
                for hit in held:
                    lifts.pop(hit.chunk.id, None)
        return lifts

    def _below(
        self, sections: Sequence[Section], hits: Sequence[Hit], asked: Collection[str]
    ) -> list[tuple[Section, list[Hit], float]]:
        """Return subsections with their hits and their evidence, best first."""
        found = []
        for section in sections:
            held = [
                hit for hit in hits if section.span.start <= hit.chunk.span.start < section.span.end
            ]
            if held:
                found.append((section, held, self._gather(held, section.title, asked)))
        return sorted(found, key=lambda item: (-item[2], item[0].id))

    def _lifted(self, hit: Hit, value: float) -> Hit:
        gain = self.options.lift * value
        scores: Mapping[str, float] = hit.scores | {"sections": gain}
        return replace(hit, score=hit.score + gain, scores=dict(scores))


SUMMARIES_HITS = 60
"""Hits of the base retriever whose groups have their summaries read."""

REPORTS_READ = 8
SECTIONS_READ = 12
CHUNKS_OF_SECTION = 40
CENTRAL_SENTENCES = 5


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group of chunks with its title and the relevance of its summary, from 0 to 1."""

    title: str
    value: float
    chunk_ids: frozenset[str]


class SummariesRetriever(WrappingRetriever):
    """Raises the scores of another retriever's hits whose group has a relevant summary.

    ``lift`` is what the best summary adds. ``source`` is "reports" (of communities), "sections"
    (their central sentences) or "auto" (sections if there are no reports).
    """

    name = "summaries"

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Options of this retriever in a specification."""

        lift: float = 0.1
        source: str = "auto"

    options: Options

    def retrieve(self, query: Query) -> Evidence:
        """Return chunks by their own score and that of their group's summary."""
        evidence = self._base.retrieve(Query(query.text, max(SUMMARIES_HITS, query.k)))
        summaries = self._summaries(query, evidence)
        values: dict[str, float] = {}
        for summary in summaries:
            for chunk_id in summary.chunk_ids:
                values[chunk_id] = max(summary.value, values.get(chunk_id, 0.0))
        hits = [self._lifted(hit, values.get(hit.chunk.id, 0.0)) for hit in evidence.hits]
        trace = [f"Looked into “{summary.title}”." for summary in summaries[:3]]
        done = replace_hits(evidence, hits, query=query, retriever=self.name)
        return replace(done, trace=(*evidence.trace, *trace))

    def _lifted(self, hit: Hit, value: float) -> Hit:
        gain = self.options.lift * value
        return replace(hit, score=hit.score + gain, scores=hit.scores | {"summary": gain})

    def _summaries(self, query: Query, evidence: Evidence) -> list[GroupSummary]:
        """Return the summaries relevant to the question, best first."""
        found: list[GroupSummary] = []
        if self.options.source in {"auto", "reports"}:
            found = self._reports(query, evidence)
        if not found and self.options.source in {"auto", "sections"}:
            found = self._sections(query, evidence)
        return sorted(found, key=lambda s: (-s.value, s.title, min(s.chunk_ids)))

    def _reports(self, query: Query, evidence: Evidence) -> list[GroupSummary]:
        held = self._store.capabilities.communities
        ranked = find_communities(
            query.text,
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

    def _sections(self, query: Query, evidence: Evidence) -> list[GroupSummary]:
        embedder = self._embedder
        if not evidence.hits or embedder is None or not can_embed(embedder, query.text):
            return []
        vector = embedder.embed([query.text])[0]
        passages = PassageReader(self._store)
        first_hits: dict[str, Hit] = {}
        for hit in evidence.hits:
            first_hits.setdefault(hit.chunk.section_id, hit)
        first = [hit.chunk for hit in list(first_hits.values())[:SECTIONS_READ]]
        with self._store.reading():
            passages.read_around(first, reach=CHUNKS_OF_SECTION // 2)
            near = [passages.around(chunk, reach=CHUNKS_OF_SECTION // 2) for chunk in first]
            groups = [
                [c for c in around if c.section_id == chunk.section_id]
                for chunk, around in zip(first, near, strict=True)
            ]
            groups = [inside for inside in groups if len(inside) > 1]
            ids = dict.fromkeys(chunk.id for inside in groups for chunk in inside)
            vectors = self._store.vectors("sentence").get(ids)
        found = [self._sum_up(inside, vectors, vector, embedder=embedder.name) for inside in groups]
        return [summary for summary in found if summary.value > 0]

    def _sum_up(
        self,
        chunks: Sequence[Chunk],
        vectors: Mapping[str, FloatMatrix],
        question: FloatMatrix,
        *,
        embedder: str,
    ) -> GroupSummary:
        """Return the mean similarity of the chunks' central sentences to the question."""
        ids = [chunk.id for chunk in chunks]
        rows = [vectors[i] for i in ids if len(vectors.get(i, ()))]
        first = chunks[0]
        title = (*first.headings, first.document_title or first.text[:40])[-1]
        if not rows:
            return GroupSummary(title, 0.0, frozenset(ids))
        sentences = np.concatenate(rows)
        central = np.argsort(-(sentences @ sentences.mean(axis=0)), kind="stable")
        cosines = sentences[central[:CENTRAL_SENTENCES]] @ question
        nearest = to_similarity(float(cosines.mean()), embedder)
        return GroupSummary(title, float(np.clip(nearest, 0.0, 1.0)), frozenset(ids))
