"""Summaries: find what a group of passages is about as a whole, then look inside it.

Where the index holds reports of communities, these are the summaries. Elsewhere a section is summed
up by its most central sentences, those nearest to the mean of all (Radev et al., centroid-based
summarization, 2004); that needs vectors.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from knotwork.inference.base import Embedder
from knotwork.inference.similarity import to_similarity
from knotwork.records import Chunk, Evidence, Hit, Query
from knotwork.retrieval.base import Retriever
from knotwork.retrieval.lexical.passages import Passages, replace_hits
from knotwork.retrieval.question import can_embed
from knotwork.retrieval.reports import communities_of, find_communities
from knotwork.retrieval.specification import open_base
from knotwork.stores.base import FloatMatrix, Store

BREADTH = 60
"""Hits of the retriever below from whose groups the summaries are taken."""

REPORTS_READ = 8
SECTIONS_READ = 12
CHUNKS_OF_SECTION = 40
CENTRAL_SENTENCES = 5


@dataclass(frozen=True, slots=True)
class Summary:
    """How well a group's summary answers to the question, from 0 to 1, and its passages found."""

    title: str
    value: float
    chunk_ids: frozenset[str]


class SummariesRetriever:
    """The hits of another retriever, lifted by how well the summary of their group answers.

    ``lift`` is what the best summary adds; ``source`` is "auto", "reports" (of communities) or
    "sections" (their central sentences).
    """

    name = "summaries"

    def __init__(
        self,
        *,
        store: Store,
        embedder: Embedder | None = None,
        base: str | Retriever = "hybrid",
        lift: float = 0.1,
        source: str = "auto",
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._base = open_base(base, store=store, embedder=embedder)
        self._lift = lift
        self._source = source
        self.requires = self._base.requires

    def retrieve(self, query: Query) -> Evidence:
        """Return chunks by their own score and by the summary of the group that they stand in."""
        evidence = self._base.retrieve(Query(query.text, max(BREADTH, query.k)))
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
        gain = self._lift * value
        return replace(hit, score=hit.score + gain, scores=hit.scores | {"summary": gain})

    def _summaries(self, query: Query, evidence: Evidence) -> list[Summary]:
        """Return the summaries relevant to the question, best first."""
        found: list[Summary] = []
        if self._source in {"auto", "reports"}:
            found = self._reports(query, evidence)
        if not found and self._source in {"auto", "sections"}:
            found = self._sections(query, evidence)
        return sorted(found, key=lambda s: (-s.value, s.title, min(s.chunk_ids)))

    def _reports(self, query: Query, evidence: Evidence) -> list[Summary]:
        held = communities_of(self._store)
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
            Summary(
                reports[item.id].title if item.id in reports else item.id,
                item.score / ranked[0].score,
                frozenset(inside[item.id]),
            )
            for item in ranked
            if item.id in inside
        ]

    def _sections(self, query: Query, evidence: Evidence) -> list[Summary]:
        embedder = self._embedder
        if not evidence.hits or embedder is None or not can_embed(embedder, query.text):
            return []
        vector = embedder.embed([query.text])[0]
        passages = Passages(self._store)
        first_hits: dict[str, Hit] = {}
        for hit in evidence.hits:
            first_hits.setdefault(hit.chunk.section_id, hit)
        found = []
        for hit in list(first_hits.values())[:SECTIONS_READ]:
            near = passages.around(hit.chunk, reach=CHUNKS_OF_SECTION // 2)
            inside = [chunk for chunk in near if chunk.section_id == hit.chunk.section_id]
            if len(inside) > 1:
                found.append(self._sum_up(inside, vector, embedder=embedder.name))
        return [summary for summary in found if summary.value > 0]

    def _sum_up(self, chunks: Sequence[Chunk], question: FloatMatrix, *, embedder: str) -> Summary:
        """Return how near the central sentences of chunks are to the question, on average."""
        ids = [chunk.id for chunk in chunks]
        rows = [m for m in self._store.vectors("sentence").get(ids).values() if len(m)]
        first = chunks[0]
        title = (*first.headings, first.document_title or first.text[:40])[-1]
        if not rows:
            return Summary(title, 0.0, frozenset(ids))
        sentences = np.concatenate(rows)
        central = np.argsort(-(sentences @ sentences.mean(axis=0)), kind="stable")
        cosines = sentences[central[:CENTRAL_SENTENCES]] @ question
        nearest = to_similarity(float(cosines.mean()), embedder)
        return Summary(title, float(np.clip(nearest, 0.0, 1.0)), frozenset(ids))
