"""Shapes of evidence: passages with the reasons why they were found, and paths in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from knotwork._shapes.answers import ResultShape
from knotwork._shapes.base import Shape, rounded
from knotwork._stores.base import Store
from knotwork.records import Document, Evidence, GraphPath, Hit, Hop, PageBox, Span, Step, TimeSpan


@dataclass(frozen=True, slots=True)
class SentenceShape(Shape):
    """A sentence of a passage that is relevant to the question."""

    span: Span
    relevance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HitShape(Shape):
    """A passage, and why it was found; spans are offsets in the document."""

    rank: int
    chunk_id: str
    document: str
    """Its URI; empty if the document was deleted during the search."""
    document_id: str
    title: str
    section: str
    page: str
    """The label of the page on which it begins; empty without pages."""
    time: TimeSpan | None = None
    """When it is spoken, in a recording or subtitles; null for other documents."""
    box: PageBox | None = None
    """Where it is on its page, in a scan or picture; null for other text."""
    span: Span
    text: str
    score: float
    scores: dict[str, float]
    seeds: tuple[str, ...]
    path: tuple[Step, ...]
    sentences: tuple[SentenceShape, ...]

    @classmethod
    def of(cls, rank: int, hit: Hit, document: Document | None) -> Self:
        """Build the shape of a hit."""
        return cls.copy(
            hit,
            rank=rank,
            chunk_id=hit.chunk.id,
            document=document.uri if document else "",
            document_id=hit.chunk.document_id,
            title=hit.chunk.document_title,
            section=" > ".join(hit.chunk.headings),
            page=document.page_at(hit.chunk.span.start) if document else "",
            time=document.time_of(hit.chunk.span) if document else None,
            box=document.box_of(hit.chunk.span) if document else None,
            span=hit.chunk.span,
            text=hit.chunk.text,
            sentences=tuple(SentenceShape(*sentence) for sentence in hit.sentences),
        )


@dataclass(frozen=True, slots=True)
class PathShape(Shape):
    """A path in the graph."""

    text: str
    score: float
    scores: dict[str, float]
    hops: tuple[Hop, ...]

    @classmethod
    def of(cls, path: GraphPath) -> Self:
        """Build the shape of a path."""
        return cls.copy(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceShape(Shape):
    """The passages, paths and rows that a retriever found, best first."""

    question: str
    filter: str
    """The applied filter as a text; empty for none."""
    retriever: str
    confidence: float
    hits: tuple[HitShape, ...]
    paths: tuple[PathShape, ...]
    results: tuple[ResultShape, ...]
    trace: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, evidence: Evidence, store: Store) -> Self:
        """Build the shape of evidence; reads the documents of the hits."""
        documents = store.documents.documents({hit.chunk.document_id for hit in evidence.hits})
        return cls.copy(
            evidence,
            question=evidence.query.text,
            filter=str(evidence.query.filter or ""),
            confidence=rounded(evidence.confidence),
            hits=tuple(
                HitShape.of(rank, hit, documents.get(hit.chunk.document_id))
                for rank, hit in enumerate(evidence.hits, start=1)
            ),
            paths=tuple(map(PathShape.of, evidence.paths)),
            results=tuple(map(ResultShape.of, evidence.results)),
        )
