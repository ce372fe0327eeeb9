"""Shapes of evidence: passages with the reasons why they were found, and paths in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from knotwork._shapes.answers import ResultShape
from knotwork._shapes.base import Rounded, Shape
from knotwork._stores.base import Store
from knotwork.records import Chunk, Evidence, Hit, Hop, PageBox, Span, Step, TimeSpan


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
    def derived(cls, record: Hit) -> dict[str, object]:
        sentences = tuple(SentenceShape(*sentence) for sentence in record.sentences)
        return place_of(record.chunk) | {"sentences": sentences}


def place_of(chunk: Chunk) -> dict[str, object]:
    """Return what says which passage a chunk is, with its text."""
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "title": chunk.document_title,
        "section": " > ".join(chunk.headings),
        "span": chunk.span,
        "text": chunk.text,
    }


@dataclass(frozen=True, slots=True)
class PathShape(Shape):
    """A path in the graph."""

    text: str
    score: float
    scores: dict[str, float]
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceShape(Shape):
    """The passages, paths and rows that a retriever found, best first."""

    question: str
    filter: str
    """The applied filter as a text; empty for none."""
    retriever: str
    confidence: Rounded
    hits: tuple[HitShape, ...]
    paths: tuple[PathShape, ...]
    results: tuple[ResultShape, ...]
    trace: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def derived(cls, record: Evidence) -> dict[str, object]:
        query = record.query
        return {"question": query.text, "filter": str(query.filter or "")}

    @classmethod
    def found(cls, evidence: Evidence, store: Store) -> Self:
        """Build the shape of evidence; reads the documents of the hits."""
        documents = store.documents.documents({hit.chunk.document_id for hit in evidence.hits})
        hits = []
        for rank, hit in enumerate(evidence.hits, start=1):
            document, span = documents.get(hit.chunk.document_id), hit.chunk.span
            hits.append(
                HitShape.of(
                    hit,
                    rank=rank,
                    document=document.uri if document else "",
                    page=document.page_at(span.start) if document else "",
                    time=document.time_of(span) if document else None,
                    box=document.box_of(span) if document else None,
                )
            )
        return cls.of(evidence, hits=tuple(hits))
