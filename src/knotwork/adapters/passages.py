"""What every adapter hands on beside a text, so that it can be cited: where exactly it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Citation, Document, Evidence, Hit
from knotwork.records.documents import Span


class Place(TypedDict):
    """Where a passage stands: these characters (``start`` to ``end``) of the text of ``document``,
    a uri. ``score`` is that of the retriever; ``section`` and ``page`` may be empty.
    """

    document: str
    title: str
    section: str
    page: str
    start: int
    end: int
    score: float
    chunk_id: str


def place_hits(evidence: Evidence, knowledge_base: KnowledgeBase) -> Iterator[tuple[Hit, Place]]:
    """Yield the hits, best first, with their places."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    documents = knowledge_base.store.documents.documents(ids)
    for hit in evidence.hits:
        document = documents.get(hit.chunk.document_id)
        if document is not None:  # it may have been deleted since
            yield hit, _place_hit(hit, document)


def _place_hit(hit: Hit, document: Document) -> Place:
    chunk = hit.chunk
    return Place(
        document=document.uri,
        title=chunk.document_title,
        section=" > ".join(chunk.headings),
        page=_page_of(document, chunk.span),
        start=chunk.span.start,
        end=chunk.span.end,
        score=hit.score,
        chunk_id=chunk.id,
    )


def _page_of(document: Document, span: Span) -> str:
    """Return what a person calls the page on which a span begins; empty where there are none."""
    begun = [page.label for page in document.pages if page.start <= span.start]
    return begun[-1] if begun else ""


def place_citation(citation: Citation) -> Place:
    """Return the place of a citation."""
    return Place(
        document=citation.document,
        title=citation.title,
        section=citation.section,
        page=citation.page,
        start=citation.span.start,
        end=citation.span.end,
        score=citation.score,
        chunk_id=citation.chunk_id,
    )
