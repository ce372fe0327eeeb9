"""Request and response models of workspaces, documents, uploads and jobs."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field

from knotwork.records import Chunk, Document, Section
from knotwork.service.document_graph import DocumentGraph
from knotwork.service.job_store import Job
from knotwork.service.schemas.answers import Offsets, RequestModel
from knotwork.stores.base import LedgerEntry
from knotwork.stores.fields import FieldInfo

TierName = Literal["none", "lean", "full"]
BUDGET_FIELD = Field(
    "", max_length=40, description='The most to spend: tokens, as "200k", or money.'
)
MOST_NAMED = 1_000


class NewWorkspace(RequestModel):
    """Make a workspace."""

    name: str = Field(max_length=64)


class WorkspaceShape(BaseModel):
    """A workspace, and what the key may do in it."""

    name: str
    role: str


class WorkspaceDetails(WorkspaceShape):
    """A workspace with what it holds, in numbers."""

    documents: int
    chunks: int
    entities: int
    failed: int
    embedder: str
    model: str = Field(description="The language model that reads for the index; empty for none.")
    tier: str = Field(description="How much it does where nothing else is said.")
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
        """Return what is known of a source as JSON."""
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
    """A page of documents; ``next`` is where the next one begins, null at the end."""

    documents: list[DocumentShape]
    total: int
    next: int | None


class SectionShape(BaseModel):
    """A part of a document under a heading; the root is of level 0."""

    id: str
    parent: str | None
    level: int
    title: str
    span: Offsets

    @classmethod
    def of(cls, section: Section) -> Self:
        """Return a section as JSON."""
        return cls(
            id=section.id,
            parent=section.parent_id,
            level=section.level,
            title=section.title,
            span=list(section.span),
        )


class ChunkShape(BaseModel):
    """Where a passage begins and ends, and its sentences."""

    id: str
    section: str
    ordinal: int
    span: Offsets
    is_parent: bool
    parent: str | None
    sentences: list[Offsets]

    @classmethod
    def of(cls, chunk: Chunk) -> Self:
        """Return the boundaries of a chunk as JSON."""
        return cls(
            id=chunk.id,
            section=chunk.section_id,
            ordinal=chunk.ordinal,
            span=list(chunk.span),
            is_parent=chunk.is_parent,
            parent=chunk.parent_id,
            sentences=[list(span) for span in chunk.sentences],
        )


class PageShape(BaseModel):
    """Where a page begins."""

    label: str
    start: int


class FieldShape(BaseModel):
    """A field of documents that filters can compare."""

    name: str
    documents: int = Field(description="How many documents have it.")
    examples: list[str] = Field(description="Its most frequent values.")

    @classmethod
    def of(cls, field: FieldInfo) -> Self:
        """Return a field as JSON."""
        return cls(name=field.name, documents=field.documents, examples=list(field.examples))


class DocumentDetails(BaseModel):
    """A document with its text, its parts and its passages; all spans are offsets in ``text``."""

    id: str
    uri: str
    title: str
    media_type: str
    language: str
    metadata: dict[str, str]
    text: str
    pages: list[PageShape]
    sections: list[SectionShape]
    chunks: list[ChunkShape]

    @classmethod
    def of(cls, document: Document, sections: list[Section], chunks: list[Chunk]) -> Self:
        """Return a document as JSON."""
        return cls(
            id=document.id,
            uri=document.uri,
            title=document.title,
            media_type=document.media_type,
            language=document.language,
            metadata=dict(document.metadata),
            text=document.text,
            pages=[PageShape(label=page.label, start=page.start) for page in document.pages],
            sections=[SectionShape.of(section) for section in sections],
            chunks=[ChunkShape.of(chunk) for chunk in chunks],
        )


class ThingHere(BaseModel):
    """A thing that a document names; ``only_here`` says that no other one does."""

    id: str
    name: str
    type: str
    spans: list[Offsets]
    only_here: bool


class RelationHere(BaseModel):
    """A relation that a document states; ``only_here`` says that no other one does."""

    source: str
    source_name: str
    relation: str
    target: str
    target_name: str
    weight: float
    chunks: list[str]
    only_here: bool


class DocumentContents(BaseModel):
    """What the graph has from a document: things by how often they are named, relations by
    weight. What is ``only_here`` goes with the document.
    """

    things: list[ThingHere]
    relations: list[RelationHere]

    @classmethod
    def of(cls, contents: DocumentGraph) -> Self:
        """Return what comes from a document as JSON."""
        return cls(
            things=[
                ThingHere(
                    id=found.entity.id,
                    name=found.entity.name,
                    type=found.entity.type,
                    spans=[list(span) for span in found.spans],
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
        """Return a job as JSON."""
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
    """A file of an upload that was taken; ``uri`` is what its document will be called."""

    name: str
    uri: str
    document_id: str
    size: int


class RefusedFile(BaseModel):
    """A file of an upload that was not taken, and why."""

    name: str
    reason: str
    message: str
    fix: str


class Upload(BaseModel):
    """What became of an upload; the job indexes the files, null where none was wanted."""

    files: list[UploadedFile]
    refused: list[RefusedFile]
    job: JobShape | None


class IndexRequest(RequestModel):
    """Index what was uploaded, as far as it changed."""

    tier: TierName | None = None
    budget: str = BUDGET_FIELD
    retry: bool = Field(default=False, description="Read again what could not be read before.")


class ReindexRequest(RequestModel):
    """Look again at documents, or at all; what changed is indexed again, failures are retried."""

    documents: list[str] = Field(
        default=[], max_length=MOST_NAMED, description="Uris; none is all."
    )
    tier: TierName | None = None
    budget: str = BUDGET_FIELD


class DeleteRequest(RequestModel):
    """Remove documents."""

    documents: list[str] = Field(min_length=1, max_length=MOST_NAMED, description="Uris.")


class CommunitiesRequest(RequestModel):
    """Bring communities up to date."""

    rebuild: bool = Field(default=False, description="Rebuild all communities; none is kept.")
