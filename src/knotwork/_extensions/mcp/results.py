"""Typed results of the MCP tools: compact views of the shared shapes, and each as text.

A view has fewer keys, entities by name, and the URI of a resource instead of a document's id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import Field

from knotwork._shapes.answers import AnswerShape, CitationShape
from knotwork._shapes.base import rounded
from knotwork._shapes.evidence import EvidenceShape, HitShape, PathShape
from knotwork._shapes.graph import CommunityShape
from knotwork._shapes.views import View
from knotwork._stores.base import Store
from knotwork.records import RETRIEVAL_QUERY, Answer, Edge, EdgeType, Evidence, Strength, Subgraph
from knotwork.records._documents import Span
from knotwork.records._evidence import lead_gap

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


PASSAGE_CHARACTERS = 700
FEWEST_CHARACTERS = 160
ALL_PASSAGES_CHARACTERS = 12_000
"""Limit for all passages of one result; with many, each is cut. The object has the full text."""

SUBGRAPH_CHARACTERS = 6_000
"""Limit for the text of a subgraph. The object has all of it."""

MOST_LINES = 60


def format_passages(found: SearchResult) -> str:
    """Return the numbered passages with their positions, then paths, rows and notes."""
    if not (found.passages or found.paths or found.results):
        return "\n".join(["Nothing was found.", *found.notes])
    share = ALL_PASSAGES_CHARACTERS // max(len(found.passages), 1)
    most = min(max(share, FEWEST_CHARACTERS), PASSAGE_CHARACTERS)
    parts = [
        f"[{number}] {_location(item.document, item.section)}, characters {item.start}-{item.end}\n"
        f"{_shorten(item.text, most)}"
        for number, item in enumerate(found.passages, start=1)
    ]
    parts += [f"Path: {path.text}" for path in found.paths]
    parts += [format_rows(rows) for rows in found.results]
    return "\n\n".join([*parts, *found.notes])


def format_answer(reply: AnswerResult) -> str:
    """Return the answer with its confidence, queries and sources."""
    lead = f"{reply.short}{lead_gap(reply.text)}" if reply.short else ""
    lines = [lead + reply.text, ""]
    if not reply.answered and reply.reason:
        lines.append(f"Reason: {reply.reason}")
    if reply.answered and reply.confidence is not None:
        lines.append(f"Confidence: {reply.confidence:.2f} ({reply.strength})")
    for rows in reply.results:
        lines.append(f"Query{_query_scope(rows)}: {' '.join(rows.statement.split())}")
        if rows.source == RETRIEVAL_QUERY:  # the rows of other queries are in the answer's text
            lines.append(format_rows(rows))
    if reply.sources:
        lines.append("Sources:" if reply.answered else "Nearest passages:")
    lines += [
        f"[{source.number}] {_location(source.document, source.section)}, characters "
        f"{source.start}-{source.end}: “{_shorten(source.quote, 200)}”"
        for source in reply.sources
    ]
    return "\n".join([*lines, *reply.notes]).rstrip()


def format_paths(found: PathsResult) -> str:
    """Return one line per path."""
    if not found.paths:
        return "No path of at most five relations found."
    return _join_lines(path.text for path in found.paths)


def format_communities(found: CommunitiesResult) -> str:
    """Return the title and the findings of each community report."""
    if not found.communities:
        return (
            "No matching community. An index has its communities after `knotwork communities`, or "
            "once its server has built them."
        )
    parts = [
        "\n".join([
            f"{item.title} (level {item.level}, {item.size} entities, {item.resource})",
            *(f"• {finding.text}" for finding in item.findings),
        ])
        for item in found.communities
    ]  # fmt: skip
    return "\n\n".join(parts)


def format_names(names: NamesResult) -> str:
    """Return one line per merged entity, per pair kept apart, and per ambiguous name."""
    lines = [" = ".join(thing.names) for thing in names.things]
    lines += [f"{pair.first} ≠ {pair.second}: {pair.reason}" for pair in names.apart]
    lines += [
        f"{item.name} is the name of {len(item.documents)} entities, in "
        + "; in ".join(", ".join(documents) for documents in item.documents)
        for item in names.homonyms
    ]
    nothing = "No merged names." if names.compared else "Entity resolution has not run."
    return _join_lines(lines) if lines else nothing


def format_rows(found: QueryRows) -> str:
    """Return a header and one line per row, with values separated by bars."""
    lines = [" | ".join(found.columns)]
    lines += [" | ".join(_shorten(str(value), 200) for value in row) for row in found.rows]
    if found.truncated:
        lines.append("There are more rows.")
    return _join_lines(lines) if found.rows else "No rows."


def format_index_report(done: IndexResult) -> str:
    """Return the counts of an indexing run and the files that could not be read."""
    counts = (
        f"{done.added} added, {done.changed} changed, {done.unchanged} unchanged, "
        f"{len(done.removed)} removed. The index has {done.documents} documents."
    )
    unread = (f"Not read: {item.uri}: {item.message}" for item in done.unread)
    return _join_lines([counts, *unread, *done.notes])


def _location(document: str, section: str) -> str:
    return f"{document}, {section}" if section else document


def _query_scope(rows: QueryRows) -> str:
    bound = ", ".join(f"{name} = {value!r}" for name, value in rows.parameters.items())
    place = f" on {rows.place}" if rows.place else ""
    return f"{place} with {bound}" if bound else place


def _shorten(text: str, most: int) -> str:
    """Return a text on one line, cut to at most ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def _join_lines(lines: Iterable[str]) -> str:
    """Join at most `MOST_LINES` lines, and say how many are left out."""
    listed = list(lines)
    rest = len(listed) - MOST_LINES
    return "\n".join([*listed[:MOST_LINES], f"… and {rest} more."] if rest > 0 else listed)
