"""Request and response models that several routes share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from knotwork._extensions.server.responses import hide_paths, hide_paths_within
from knotwork._shapes.base import Shape
from knotwork._shapes.views import View
from knotwork.records import BlockKind, BlockTree, Page, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockShape(Shape):
    """A block of a document, with the blocks inside it in reading order."""

    kind: BlockKind
    span: Span
    label: str
    """Its name: the title of a section, the term of a definition, the language of code …"""
    lead: str
    """The sentence before it that introduces it; may be empty."""
    level: int
    """The level of a section, from 1; 0 for other blocks."""
    children: tuple[BlockShape, ...]

    @classmethod
    def derived(cls, record: BlockTree) -> dict[str, object]:
        return record.block._asdict()


MOST_PASSAGES = 200

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
MOST_FILTER_CHARACTERS = 10_000
FilterText = Annotated[str, Field(max_length=MOST_FILTER_CHARACTERS)]


class UnicodeRequest(BaseModel):
    """A request whose texts can be written as UTF-8."""

    @model_validator(mode="before")
    @classmethod
    def _check_texts(cls, data: Any) -> Any:  # noqa: ANN401  what a client sent
        try:
            json.dumps(data, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise ValueError("A text has half of a surrogate pair, which is not Unicode") from None
        return data


class RequestModel(UnicodeRequest):
    """The base of request bodies: unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")


Retriever = Annotated[
    Annotated[str, Field(max_length=500)] | None,
    Field(description="A name from GET /api/v1/retrievers, or a composition of several."),
]
Passages = Annotated[int | None, Field(ge=1, le=MOST_PASSAGES, description="Maximum of passages.")]
UsesModel = Annotated[bool, Field(description="Whether to use a language model.")]


class SearchOptions(BaseModel):
    """What may be said about a search with its question."""

    k: Passages = None
    filters: FilterText | dict[str, Any] | None = Field(
        default=None,
        description="Filter for documents and pages: a text such as \"author = 'Ann' and date >= "
        '2023", or an object such as {"author": "Ann", "date": {"gte": 2023}}. '
        "GET /api/v1/workspaces/{workspace}/fields lists the fields.",
    )
    min_score: float | None = Field(
        default=None, description="Minimum score of a passage, on the scale of the retriever."
    )
    retrieval_query: Annotated[str, Field(max_length=20_000)] | None = Field(
        default=None,
        description="Read-only Cypher over the passages found. `node` is a chunk and `score` its "
        "score: MATCH (node)-[:MENTIONS]->(e:Entity) RETURN e.name, score. Its rows are the last "
        "of `results`; chunks in these rows are added to the passages.",
    )
    query_params: dict[str, Any] | None = Field(
        default=None, description="Parameters of `retrieval_query`; `$question` is the question."
    )


class SearchRequest(RequestModel, SearchOptions):
    """Find passages."""

    question: Text
    retriever: Retriever = None


class TurnShape(RequestModel):
    """An earlier question of a conversation, and its answer."""

    question: str = Field(max_length=2_000)
    answer: str = Field("", max_length=20_000)


class AnswerOptions(RequestModel):
    """What may be said about an answer with its question."""

    mode: str = Field("auto", max_length=40, description="auto, basic, local, global …")
    use_llm: UsesModel = True
    budget: str = Field(
        "", max_length=40, description='Ceiling in tokens, such as "3k", or in money.'
    )


class AskRequest(SearchRequest, AnswerOptions):
    """Answer a question."""

    expand: bool = Field(default=False, description="Also search by keywords from the model.")
    turns: list[TurnShape] = Field(
        default=[],
        max_length=20,
        description="Earlier questions of the conversation with their answers, oldest first.",
    )


TierName = Literal["none", "lean", "full"]
BUDGET_FIELD = Field(
    "", max_length=40, description='Ceiling in tokens, such as "200k", or in money.'
)
MOST_NAMED = 1_000
PublicText = Annotated[str, BeforeValidator(hide_paths)]
PublicObject = Annotated[dict[str, Any], BeforeValidator(hide_paths_within)]
"""Values without paths of the server."""


class NewWorkspace(RequestModel):
    """Create a workspace."""

    name: str = Field(max_length=64)


class WorkspaceShape(View):
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


class DocumentShape(View):
    """A document of an index, or a file that could not be read."""

    id: str
    uri: str
    title: str
    chunks: int
    size: int
    uploaded: bool
    error_reason: str
    error: PublicText


class DocumentList(BaseModel):
    """A page of documents; ``next`` is the start of the next page, null at the end."""

    documents: list[DocumentShape]
    total: int
    next: int | None


class SectionShape(View):
    """A part of a document under a heading; the root has level 0."""

    id: str
    parent: str | None
    level: int
    title: str
    span: Span


class ChunkShape(View):
    """The positions of a chunk and its sentences."""

    id: str
    section: str
    ordinal: int
    span: Span
    is_parent: bool
    parent: str | None
    sentences: tuple[Span, ...]


class LinkShape(View):
    """Words that lead to a document of the index, and where the linked part begins in its text."""

    span: Span
    document: str
    title: str
    start: int | None


class DocumentDetails(View):
    """A document with its text, which is Markdown written from its ``blocks``, and with its
    sections, chunks and links. All spans are offsets in ``text``.
    """

    id: str
    uri: str
    title: str
    media_type: str
    language: str
    metadata: dict[str, str]
    text: str
    pages: tuple[Page, ...]
    blocks: tuple[BlockShape, ...]
    sections: list[SectionShape]
    chunks: list[ChunkShape]
    links: list[LinkShape]


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


class LinkHere(View):
    """A document that links to this one: the ``words`` of its first link, and where they are."""

    id: str
    title: str
    words: str
    span: Span


class DocumentContents(BaseModel):
    """What a document contributes to the graph: entities by number of mentions, relations by
    weight. Those with ``only_here`` are removed with the document. ``linked_from`` are by uri.
    """

    things: list[ThingHere]
    relations: list[RelationHere]
    linked_from: list[LinkHere]


class JobShape(View):
    """A job: ``state`` is queued, running, stopping, finished, failed or cancelled."""

    id: str
    kind: str
    state: str
    arguments: PublicObject
    created: str
    started: str
    finished: str
    progress: PublicObject
    report: PublicObject
    error: PublicObject


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
    message: PublicText
    fix: PublicText


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
