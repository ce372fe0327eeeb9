"""Typed results of the MCP tools: compact views of the shared shapes.

A view has fewer keys, entities by name, and the URI of a resource instead of a document's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import Field

from knotwork._shapes.answers import AnswerShape, CitationShape
from knotwork._shapes.base import rounded
from knotwork._shapes.communities import CommunityShape
from knotwork._shapes.evidence import EvidenceShape, HitShape, PathShape
from knotwork._shapes.views import View
from knotwork._stores.base import Store
from knotwork.records import Answer, Edge, EdgeType, Evidence, Strength, Subgraph
from knotwork.records._documents import Span

_TIME = "Seconds in the recording where it is spoken; null for other documents"
_BOX = (
    "Left, top, right and bottom edge on a scanned page, as shares of its width and height; "
    "null for other documents"
)


class _Place(View):
    document: str = Field(description="URI of the document")
    title: str
    section: str
    page: str
    start: int = Field(description="Offset of the first character in the text of the document")
    end: int = Field(description="Offset after the last character")
    score: float
    chunk_id: str
    start_s: float | None = Field(description=_TIME)
    end_s: float | None = Field(description=_TIME)
    box: list[float] | None = Field(description=_BOX)
    resource: str = Field(description="URI of the resource with exactly this passage")


class PassageResult(_Place):
    """A passage of a document."""

    text: str


class PathHop(View):
    """One relation of a path, with the passage that states it."""

    source: str
    relation: str
    target: str
    chunk_id: str


class PathResult(View):
    """A path in the knowledge graph."""

    text: str
    score: float
    links: list[PathHop]


class PathsResult(View):
    """Paths of at most five relations between two entities, best first."""

    paths: list[PathResult]


class QueryRows(View):
    """The rows that a query returned."""

    language: str
    statement: str
    columns: list[str]
    rows: list[list[Any]]
    truncated: bool = Field(description="Whether there are more rows than the limit")
    place: str = Field(description="The graph or the tables that the statement read")
    source: str = Field(
        description="The retriever that wrote the statement, or retrieval_query; may be empty"
    )
    parameters: dict[str, Any]


class SearchResult(View):
    """The evidence found for a question, best first."""

    question: str
    retriever: str
    confidence: float = Field(
        description="0 to 1: the estimated probability that the passages contain an answer"
    )
    passages: list[PassageResult]
    paths: list[PathResult]
    results: list[QueryRows]
    notes: list[str]


class AnswerSource(_Place):
    """A source of an answer: characters `start` to `end` of the document are the quote."""

    number: int
    quote: str


class AnswerPart(View):
    """A part of a document that answers, as it is in the document."""

    kind: str = Field(description="sentence, item, list, row, table, definition, code or section")
    markdown: str
    citation: int = Field(description="Number of its source")


class AnswerResult(View):
    """An answer. [1], [2], … in its text refer to its sources."""

    question: str
    text: str = Field(description="Markdown")
    short: str = Field(description="The answer in a few words, if it is certain; else empty")
    answered: bool = Field(description="False if the documents contain no answer; see reason")
    reason: str
    confidence: float | None = Field(
        description="0 to 1: the estimated probability that it is right; null for outlines, counts"
    )
    strength: Strength | None = Field(
        description="The confidence as a word: strong, weak or none; null if confidence is null"
    )
    pieces: list[AnswerPart] = Field(
        description="The parts of documents that the text consists of; empty if a model wrote it"
    )
    sources: list[AnswerSource]
    results: list[QueryRows] = Field(
        description="The rows of the query that answers the question, and of retrieval_query"
    )
    mode: str
    model: str = Field(description="The model that wrote it; empty if sentences are quoted")
    notes: list[str]


class EntityResult(View):
    """An entity of the knowledge graph."""

    id: str
    name: str
    label: str
    type: str


class RelationResult(View):
    """A relation between two entities, with the chunks that state it."""

    source: str
    relation: str
    target: str
    weight: float
    chunk_ids: list[str]


class SubgraphResult(View):
    """A part of the graph, strongest first: relations that chunks state between entities, and
    co-occurrences, pairs of entities in one sentence.
    """

    things: list[EntityResult]
    relations: list[RelationResult]
    co_occurrences: list[RelationResult]


class ReportFinding(View):
    """A finding of a community report, and the passages that support it."""

    text: str
    resources: list[str]


class CommunityResult(View):
    """A group of closely related entities, with its report."""

    id: str
    level: int = Field(description="0 is the top level")
    parent: str | None
    size: int = Field(description="Number of entities")
    members: list[str] = Field(description="Names of the most important entities")
    title: str
    summary: str
    rating: float
    findings: list[ReportFinding]
    resource: str


class CommunitiesResult(View):
    """Communities with their reports."""

    communities: list[CommunityResult]


class MergedEntity(View):
    """An entity with several names."""

    names: list[str]
    chunks: int


class SplitPair(View):
    """Two names that are kept as different entities."""

    first: str
    second: str
    reason: str


class HomonymResult(View):
    """A name shared by several entities, with the documents of each."""

    name: str
    documents: list[list[str]]


class NamesResult(View):
    """Merged entities, names kept apart, and names shared by several entities."""

    things: list[MergedEntity]
    apart: list[SplitPair]
    homonyms: list[HomonymResult]
    compared: bool = Field(description="Whether entity resolution has run")


class FailedFile(View):
    """A file that could not be read, and why."""

    uri: str
    reason: str
    message: str


class IndexResult(View):
    """The result of an indexing run."""

    added: int
    changed: int
    unchanged: int
    removed: list[str]
    unread: list[FailedFile]
    documents: int = Field(description="Documents in the index now")
    chunks: int
    entities: int
    notes: list[str]


SCHEME = "knotwork"
_UNQUOTED = "/:@!$'()*,;=+~"
"""Characters of a document URI that are not percent-encoded in the URI of its resource."""


def document_resource_uri(uri: str, span: Span | None = None) -> str:
    """Return the URI of the resource with the text of a document, or with one span of it."""
    resource = f"{SCHEME}://documents/{quote(uri, safe=_UNQUOTED)}"
    return resource if span is None else f"{resource}?start={span.start}&end={span.end}"


def report_resource_uri(community_id: str) -> str:
    """Return the URI of the resource with the report of a community."""
    return f"{SCHEME}://reports/{community_id}"


Place = TypeVar("Place", PassageResult, AnswerSource)


def to_search_result(evidence: Evidence, store: Store) -> SearchResult:
    """Build a search result; hits of deleted documents are left out."""
    shape = EvidenceShape.found(evidence, store)
    return SearchResult.of(
        shape,
        passages=[_locate(PassageResult, hit) for hit in shape.hits if hit.document],
        paths=[to_path_result(path) for path in shape.paths],
    )


def to_answer_result(answer: Answer) -> AnswerResult:
    """Build an answer with the resource of each source."""
    shape = AnswerShape.of(answer)
    sources = [_locate(AnswerSource, citation) for citation in shape.citations]
    return AnswerResult.of(shape, text=shape.answer, sources=sources)


def _locate(view: type[Place], shape: HitShape | CitationShape) -> Place:
    return view.of(
        shape,
        start=shape.span.start,
        end=shape.span.end,
        score=rounded(shape.score),
        start_s=shape.time.start_s if shape.time else None,
        end_s=shape.time.end_s if shape.time else None,
        box=shape.box.edges if shape.box else None,
        resource=document_resource_uri(shape.document, shape.span),
    )


def to_path_result(path: PathShape) -> PathResult:
    """Build a path, each relation from the entity that it starts from."""
    links = [
        PathHop(
            source=hop.source_name if hop.forward else hop.target_name,
            relation=hop.relation,
            target=hop.target_name if hop.forward else hop.source_name,
            chunk_id=hop.chunk_id,
        )
        for hop in path.hops
    ]
    return PathResult(text=path.text, score=rounded(path.score), links=links)


def to_subgraph_result(subgraph: Subgraph) -> SubgraphResult:
    """Build a subgraph, with stated relations and co-occurrences separate."""
    names = {node.id: node.name for node in subgraph.nodes}
    stated = [edge for edge in subgraph.edges if edge.type != EdgeType.CO_OCCURS]
    together = [edge for edge in subgraph.edges if edge.type == EdgeType.CO_OCCURS]
    return SubgraphResult(
        things=[
            EntityResult.of(node, type=str(node.properties.get("type", "")))
            for node in subgraph.nodes
        ],
        relations=[_to_relation(edge, names) for edge in stated],
        co_occurrences=[_to_relation(edge, names) for edge in together],
    )


def _to_relation(edge: Edge, names: Mapping[str, str]) -> RelationResult:
    return RelationResult(
        source=names[edge.source],
        relation=edge.relation or edge.type,
        target=names[edge.target],
        weight=edge.weight,
        chunk_ids=list(edge.chunks),
    )


def to_community_result(community: CommunityShape) -> CommunityResult:
    """Build a community with its report and the names of its most important members."""
    findings = [
        ReportFinding(
            text=finding.text,
            resources=[document_resource_uri(s.document, s.span) for s in finding.supports],
        )
        for finding in community.findings
    ]
    return CommunityResult.of(
        community,
        members=[member.name for member in community.members],
        findings=findings,
        resource=report_resource_uri(community.id),
    )
