"""Request and response models of workspaces, documents, uploads and jobs."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from knotwork._service.document_graph import DocumentGraph
from knotwork._service.job_store import Job
from knotwork._service.schemas.answers import RequestModel
from knotwork._stores.base import LedgerEntry
from knotwork.records import Chunk, Document, Page, Section, Span

TierName = Literal["none", "lean", "full"]
BUDGET_FIELD = Field(
    "", max_length=40, description='Ceiling in tokens, such as "200k", or in money.'
)
MOST_NAMED = 1_000


class NewWorkspace(RequestModel):
    """Create a workspace."""

    name: str = Field(max_length=64)


class WorkspaceShape(BaseModel):
    """A workspace, and the role of the key in it."""

    name: str
    role: str


class WorkspaceDetails(WorkspaceShape):
    """A workspace with its statistics."""

    documents: int
    chunks: int
    entities: int
    failed: int
    embedder: str
    model: str = Field(description="The language model for indexing; empty for none.")
    tier: str = Field(description="The default tier: how much the model does.")
    labels: dict[str, int]
    edge_types: dict[str, int]
    relations: dict[str, int]
    has_communities: bool
    is_busy: bool


class DocumentShape(BaseModel):
    """A document of an index, or a file that could not be read."""

    id: str
    uri: str
    title: str
    chunks: int
    size: int
    uploaded: bool
    error_reason: str
    error: str

    @classmethod
    def of(cls, entry: LedgerEntry, title: str, *, uploaded: bool) -> Self:
        """Build the JSON of a ledger entry."""
        return cls(
            id=Document(entry.uri, "").id,
            uri=entry.uri,
            title=title,
            chunks=entry.chunks,
            size=max(entry.size, 0),
            uploaded=uploaded,
            error_reason=entry.error_reason,
            error=entry.error,
        )


class DocumentList(BaseModel):
    """A page of documents; ``next`` is the start of the next page, null at the end."""

    documents: list[DocumentShape]
    total: int
    next: int | None


class SectionShape(BaseModel):
    """A part of a document under a heading; the root has level 0."""

    id: str
    parent: str | None
    level: int
    title: str
    span: Span

    @classmethod
    def of(cls, section: Section) -> Self:
        """Build the JSON of a section."""
        return cls(
            id=section.id,
            parent=section.parent_id,
            level=section.level,
            title=section.title,
            span=section.span,
        )


class ChunkShape(BaseModel):
    """The positions of a chunk and its sentences."""

    id: str
    section: str
    ordinal: int
    span: Span
    is_parent: bool
    parent: str | None
    sentences: tuple[Span, ...]

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Build the JSON of a chunk."""
        return cls(
            id=chunk.id,
            section=chunk.section_id,
            ordinal=chunk.ordinal,
            span=chunk.span,
            is_parent=chunk.is_parent,
            parent=chunk.parent_id,
            sentences=chunk.sentences,
        )


class DocumentDetails(BaseModel):
    """A document with its text, sections and chunks; all spans are offsets in ``text``."""

    id: str
    uri: str
    title: str
    media_type: str
    language: str
    metadata: dict[str, str]
    text: str
    pages: tuple[Page, ...]
    sections: list[SectionShape]
    chunks: list[ChunkShape]

    @classmethod
    def of(cls, document: Document, sections: list[Section], chunks: list[Chunk]) -> Self:
        """Build the JSON of a document."""
        return cls(
            id=document.id,
            uri=document.uri,
            title=document.title,
            media_type=document.media_type,
            language=document.language,
            metadata=dict(document.metadata),
            text=document.text,
            pages=document.pages,
            sections=[SectionShape.of(section) for section in sections],
            chunks=[ChunkShape.of(chunk) for chunk in chunks],
        )


class ThingHere(BaseModel):
    """An entity that a document mentions; ``only_here``: no other document mentions it."""

    id: str
    name: str
    type: str
    spans: tuple[Span, ...]
    only_here: bool


class RelationHere(BaseModel):
    """A relation that a document states; ``only_here``: no other document states it."""

    source: str
    source_name: str
    relation: str
    target: str
    target_name: str
    weight: float
    chunks: list[str]
    only_here: bool


class DocumentContents(BaseModel):
    """What a document contributes to the graph: entities by number of mentions, relations by
    weight. Those with ``only_here`` are removed with the document.
    """

    things: list[ThingHere]
    relations: list[RelationHere]

    @classmethod
    def of(cls, contents: DocumentGraph) -> Self:
        """Build the JSON of the contents of a document."""
        return cls(
            things=[
                ThingHere(
                    id=found.entity.id,
                    name=found.entity.name,
                    type=found.entity.type,
                    spans=found.spans,
                    only_here=found.only_here,
                )
                for found in contents.things
            ],
            relations=[
                RelationHere(
                    source=stated.edge.source,
                    source_name=contents.names.get(stated.edge.source, ""),
                    relation=stated.edge.relation,
                    target=stated.edge.target,
                    target_name=contents.names.get(stated.edge.target, ""),
                    weight=stated.edge.weight,
                    chunks=list(stated.chunk_ids),
                    only_here=stated.only_here,
                )
                for stated in contents.relations
            ],
        )


class JobShape(BaseModel):
    """A job: ``state`` is queued, running, finished, failed or cancelled."""

    id: str
    kind: str
    state: str
    arguments: dict[str, Any]
    created: str
    started: str
    finished: str
    progress: dict[str, Any]
    report: dict[str, Any]
    error: dict[str, Any]

    @classmethod
    def of(cls, job: Job) -> Self:
        """Build the JSON of a job."""
        return cls(
            id=job.id,
            kind=job.kind,
            state=job.state,
            arguments=dict(job.arguments),
            created=job.created,
            started=job.started,
            finished=job.finished,
            progress=dict(job.progress),
            report=dict(job.report),
            error=dict(job.error),
        )


class UploadedFile(BaseModel):
    """An accepted file of an upload; ``uri`` is that of its document."""

    name: str
    uri: str
    document_id: str
    size: int


class RefusedFile(BaseModel):
    """A rejected file of an upload, and the reason."""

    name: str
    reason: str
    message: str
    fix: str


class Upload(BaseModel):
    """The result of an upload; ``job`` indexes the files, null if not requested."""

    files: list[UploadedFile]
    refused: list[RefusedFile]
    job: JobShape | None


class IndexRequest(RequestModel):
    """Index new and changed uploads."""

    tier: TierName | None = None
    budget: str = BUDGET_FIELD
    retry: bool = Field(default=False, description="Retry files that could not be read before.")


class ReindexRequest(RequestModel):
    """Update documents, or all of them: changed files are indexed again, failures are retried."""

    documents: list[str] = Field(default=[], max_length=MOST_NAMED, description="URIs; empty: all.")
    tier: TierName | None = None
    budget: str = BUDGET_FIELD


class DeleteRequest(RequestModel):
    """Remove documents."""

    documents: list[str] = Field(min_length=1, max_length=MOST_NAMED, description="URIs.")


class CommunitiesRequest(RequestModel):
    """Update communities."""

    rebuild: bool = Field(default=False, description="Rebuild all communities from scratch.")
