"""Typed results of the MCP tools, and functions that build them from records.

Field names match the `--json` output of the command line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pydantic import BaseModel, Field

from knotwork._indexing.report import IndexReport
from knotwork._stores.base import Store
from knotwork.records import (
    Answer,
    Chunk,
    Document,
    Edge,
    EdgeType,
    Evidence,
    GraphPath,
    QueryResult,
    Strength,
    Subgraph,
)
from knotwork.records._documents import Span

if TYPE_CHECKING:
    from knotwork._indexing.communities.index_reports import Topic
    from knotwork._indexing.resolution.resolver import NamedHomonym, SameNames


class PassageResult(BaseModel):
    """A passage of a document."""

    document: str = Field(description="URI of the document")
    title: str
    section: str
    start: int = Field(description="Offset of the first character in the text of the document")
    end: int = Field(description="Offset after the last character")
    text: str
    score: float
    chunk_id: str
    resource: str = Field(description="URI of the resource with exactly this passage")


class PathHop(BaseModel):
    """One relation of a path, with the passage that states it."""

    source: str
    relation: str
    target: str
    chunk_id: str


class PathResult(BaseModel):
    """A path in the knowledge graph."""

    text: str
    score: float
    links: list[PathHop]


class PathsResult(BaseModel):
    """Paths of at most five relations between two entities, best first."""

    paths: list[PathResult]


class QueryRows(BaseModel):
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


class SearchResult(BaseModel):
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


class AnswerSource(BaseModel):
    """A source of an answer: characters `start` to `end` of the document are the quote."""

    number: int
    document: str
    title: str
    section: str
    page: str
    start: int
    end: int
    quote: str
    chunk_id: str
    score: float
    resource: str


class AnswerResult(BaseModel):
    """An answer. [1], [2], … in its text refer to its sources."""

    question: str
    text: str
    short: str = Field(description="The answer in a few words, if it is certain; else empty")
    answered: bool = Field(description="False if the documents contain no answer; see reason")
    reason: str
    confidence: float | None = Field(
        description="0 to 1: the estimated probability that it is right; null for outlines, counts"
    )
    strength: Strength | None = Field(
        description="The confidence as a word: strong, weak or none; null if confidence is null"
    )
    sources: list[AnswerSource]
    results: list[QueryRows] = Field(
        description="The rows of the query that answers the question, and of retrieval_query"
    )
    mode: str
    model: str = Field(description="The model that wrote it; empty if sentences are quoted")
    notes: list[str]


class EntityResult(BaseModel):
    """An entity of the knowledge graph."""

    id: str
    name: str
    label: str
    type: str


class RelationResult(BaseModel):
    """A relation between two entities, with the chunks that state it."""

    source: str
    relation: str
    target: str
    weight: float
    chunk_ids: list[str]


class SubgraphResult(BaseModel):
    """A part of the graph, strongest first: relations that chunks state between entities, and
    co-occurrences, pairs of entities in one sentence.
    """

    things: list[EntityResult]
    relations: list[RelationResult]
    co_occurrences: list[RelationResult]


class ReportFinding(BaseModel):
    """A finding of a community report, and the passages that support it."""

    text: str
    resources: list[str]


class CommunityResult(BaseModel):
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


class CommunitiesResult(BaseModel):
    """Communities with their reports."""

    communities: list[CommunityResult]


class MergedEntity(BaseModel):
    """An entity with several names."""

    names: list[str]
    chunks: int


class SplitPair(BaseModel):
    """Two names that are kept as different entities."""

    first: str
    second: str
    reason: str


class HomonymResult(BaseModel):
    """A name shared by several entities, with the documents of each."""

    name: str
    documents: list[list[str]]


class NamesResult(BaseModel):
    """Merged entities, names kept apart, and names shared by several entities."""

    things: list[MergedEntity]
    apart: list[SplitPair]
    homonyms: list[HomonymResult]
    compared: bool = Field(description="Whether entity resolution has run")


class FailedFile(BaseModel):
    """A file that could not be read, and why."""

    uri: str
    reason: str
    message: str


class IndexResult(BaseModel):
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


def to_search_result(evidence: Evidence, store: Store) -> SearchResult:
    """Build a search result; hits of deleted documents are left out."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    documents = store.documents.documents(ids)
    return SearchResult(
        question=evidence.query.text,
        retriever=evidence.retriever,
        confidence=round(evidence.confidence, 4),
        passages=[
            _to_passage(hit.chunk, hit.score, documents[hit.chunk.document_id])
            for hit in evidence.hits
            if hit.chunk.document_id in documents
        ],
        paths=[_to_path(path) for path in evidence.paths],
        results=[to_query_rows(result) for result in evidence.results],
        notes=list(evidence.notes),
    )


def _to_passage(chunk: Chunk, score: float, document: Document) -> PassageResult:
    return PassageResult(
        document=document.uri,
        title=chunk.document_title,
        section=" > ".join(chunk.headings),
        start=chunk.span.start,
        end=chunk.span.end,
        text=chunk.text,
        score=round(score, 4),
        chunk_id=chunk.id,
        resource=document_resource_uri(document.uri, chunk.span),
    )


def to_paths_result(paths: Sequence[GraphPath]) -> PathsResult:
    """Build the result of the tool `shortest_paths`."""
    return PathsResult(paths=[_to_path(path) for path in paths])


def _to_path(path: GraphPath) -> PathResult:
    links = [
        PathHop(
            source=hop.source_name if hop.forward else hop.target_name,
            relation=hop.relation,
            target=hop.target_name if hop.forward else hop.source_name,
            chunk_id=hop.chunk_id,
        )
        for hop in path.hops
    ]
    return PathResult(text=path.text, score=round(path.score, 4), links=links)


def to_query_rows(result: QueryResult) -> QueryRows:
    """Build the rows of a query."""
    return QueryRows(
        language=result.language,
        statement=result.statement,
        columns=list(result.columns),
        rows=[list(row) for row in result.rows],
        truncated=result.truncated,
        place=result.place,
        source=result.source,
        parameters=dict(result.parameters),
    )


def to_answer_result(answer: Answer) -> AnswerResult:
    """Build an answer with the resource of each source."""
    return AnswerResult(
        question=answer.question,
        text=answer.text,
        short=answer.short,
        answered=answer.answered,
        reason=answer.reason,
        confidence=None if answer.confidence is None else round(answer.confidence, 4),
        strength=answer.strength,
        sources=[
            AnswerSource(
                number=citation.number,
                document=citation.document,
                title=citation.title,
                section=citation.section,
                page=citation.page,
                start=citation.span.start,
                end=citation.span.end,
                quote=citation.quote,
                chunk_id=citation.chunk_id,
                score=round(citation.score, 4),
                resource=document_resource_uri(citation.document, citation.span),
            )
            for citation in answer.citations
        ],
        results=[to_query_rows(result) for result in answer.results],
        mode=answer.mode,
        model=answer.model,
        notes=list(answer.notes),
    )


def to_subgraph_result(subgraph: Subgraph) -> SubgraphResult:
    """Build a subgraph, with stated relations and co-occurrences separate."""
    names = {node.id: node.name for node in subgraph.nodes}
    return SubgraphResult(
        things=[
            EntityResult(
                id=node.id,
                name=node.name,
                label=node.label,
                type=str(node.properties.get("type", "")),
            )
            for node in subgraph.nodes
        ],
        relations=[
            _to_relation(edge, names) for edge in subgraph.edges if edge.type != EdgeType.CO_OCCURS
        ],
        co_occurrences=[
            _to_relation(edge, names) for edge in subgraph.edges if edge.type == EdgeType.CO_OCCURS
        ],
    )


def _to_relation(edge: Edge, names: Mapping[str, str]) -> RelationResult:
    return RelationResult(
        source=names[edge.source],
        relation=edge.relation or edge.type,
        target=names[edge.target],
        weight=edge.weight,
        chunk_ids=list(edge.chunks),
    )


def to_communities_result(topics: Sequence[Topic], store: Store) -> CommunitiesResult:
    """Build communities with their reports and the names of up to 8 members each."""
    chunks = store.documents.chunks({c for topic in topics for c in topic.report.chunk_ids})
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    members = {i for topic in topics for i in topic.community.entity_ids[:8]}
    names = {key: entity.name for key, entity in store.graph.entities(members).items()}
    uris = {key: documents[chunk.document_id].uri for key, chunk in chunks.items()}
    return CommunitiesResult(
        communities=[
            CommunityResult(
                id=topic.community.id,
                level=topic.community.level,
                parent=topic.community.parent_id,
                size=topic.community.size,
                members=[names[i] for i in topic.community.entity_ids[:8] if i in names],
                title=topic.report.title,
                summary=topic.report.summary,
                rating=topic.report.rating,
                findings=[
                    ReportFinding(
                        text=finding.text,
                        resources=[
                            document_resource_uri(uris[support.chunk_id], support.span)
                            for support in finding.supports
                            if support.chunk_id in uris
                        ],
                    )
                    for finding in topic.report.findings
                ],
                resource=report_resource_uri(topic.community.id),
            )
            for topic in topics
        ]
    )


def to_names_result(same: SameNames, homonyms: Sequence[NamedHomonym]) -> NamesResult:
    """Build the result of the tool `names`."""
    return NamesResult(
        things=[
            MergedEntity(names=list(thing.names), chunks=thing.chunks) for thing in same.things
        ],
        apart=[
            SplitPair(first=pair.first, second=pair.second, reason=pair.decision.reason)
            for pair in same.apart
        ],
        homonyms=[
            HomonymResult(name=homonym.name, documents=[list(d) for d in homonym.documents])
            for homonym in homonyms
        ],
        compared=same.compared,
    )


def to_index_result(report: IndexReport) -> IndexResult:
    """Build the result of an indexing run."""
    return IndexResult(
        added=report.added,
        changed=report.changed,
        unchanged=report.unchanged,
        removed=list(report.removed),
        unread=[
            FailedFile(uri=failure.uri, reason=failure.reason, message=failure.message)
            for failure in report.failures
        ],
        documents=report.total_documents,
        chunks=report.total_chunks,
        entities=report.total_entities,
        notes=list(report.notes),
    )
