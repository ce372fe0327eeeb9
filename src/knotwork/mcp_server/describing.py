"""Records of Knotwork as the objects that the tools return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from knotwork.indexing.report import IndexReport
from knotwork.mcp_server import shapes
from knotwork.records import (
    Answer,
    Chunk,
    Document,
    Edge,
    EdgeType,
    Evidence,
    GraphPath,
    QueryResult,
    Subgraph,
)
from knotwork.records.documents import Span
from knotwork.stores.base import Store

if TYPE_CHECKING:
    from knotwork.indexing.communities.survey import Topic
    from knotwork.indexing.resolution.listing import NamedHomonym, SameNames

SCHEME = "knotwork"
_SAFE = "/:@!$'()*,;=+~"
"""Characters of a document's uri that stand as they are in the uri of its resource."""


def document_resource(uri: str, span: Span | None = None) -> str:
    """Return the uri of the resource that holds a document's text, or these characters of it."""
    place = f"{SCHEME}://documents/{quote(uri, safe=_SAFE)}"
    return place if span is None else f"{place}?start={span.start}&end={span.end}"


def report_resource(community_id: str) -> str:
    """Return the uri of the resource that holds the report of a community."""
    return f"{SCHEME}://reports/{community_id}"


def describe_evidence(evidence: Evidence, store: Store) -> shapes.Passages:
    """Return what was found, with the uris of the documents."""
    ids = {hit.chunk.document_id for hit in evidence.hits}
    documents = store.documents.documents(ids)
    return shapes.Passages(
        question=evidence.query.text,
        retriever=evidence.retriever,
        confidence=round(evidence.confidence, 4),
        passages=[
            _describe_passage(hit.chunk, hit.score, documents[hit.chunk.document_id])
            for hit in evidence.hits
            if hit.chunk.document_id in documents
        ],
        paths=[_describe_path(path) for path in evidence.paths],
        results=[describe_rows(result) for result in evidence.results],
        notes=list(evidence.notes),
    )


def _describe_passage(chunk: Chunk, score: float, document: Document) -> shapes.Passage:
    return shapes.Passage(
        document=document.uri,
        title=chunk.document_title,
        section=" > ".join(chunk.headings),
        start=chunk.span.start,
        end=chunk.span.end,
        text=chunk.text,
        score=round(score, 4),
        chunk_id=chunk.id,
        resource=document_resource(document.uri, chunk.span),
    )


def describe_paths(paths: Sequence[GraphPath]) -> shapes.Connections:
    """Return paths between two names."""
    return shapes.Connections(paths=[_describe_path(path) for path in paths])


def _describe_path(path: GraphPath) -> shapes.Trail:
    links = [
        shapes.Link(
            source=hop.source_name if hop.forward else hop.target_name,
            relation=hop.relation,
            target=hop.target_name if hop.forward else hop.source_name,
            chunk_id=hop.chunk_id,
        )
        for hop in path.hops
    ]
    return shapes.Trail(text=path.text, score=round(path.score, 4), links=links)


def describe_rows(result: QueryResult) -> shapes.Rows:
    """Return the rows of a statement."""
    return shapes.Rows(
        language=result.language,
        statement=result.statement,
        columns=list(result.columns),
        rows=[list(row) for row in result.rows],
        truncated=result.truncated,
        place=result.place,
        source=result.source,
        parameters=dict(result.parameters),
    )


def describe_answer(answer: Answer) -> shapes.Reply:
    """Return an answer."""
    return shapes.Reply(
        question=answer.question,
        text=answer.text,
        short=answer.short,
        answered=answer.answered,
        reason=answer.reason,
        confidence=None if answer.confidence is None else round(answer.confidence, 4),
        strength=answer.strength,
        sources=[
            shapes.Source(
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
                resource=document_resource(citation.document, citation.span),
            )
            for citation in answer.citations
        ],
        results=[describe_rows(result) for result in answer.results],
        mode=answer.mode,
        model=answer.model,
        notes=list(answer.notes),
    )


def describe_subgraph(subgraph: Subgraph) -> shapes.Neighbourhood:
    """Return what lies around names."""
    names = {node.id: node.name for node in subgraph.nodes}
    return shapes.Neighbourhood(
        things=[
            shapes.Thing(
                id=node.id,
                name=node.name,
                label=node.label,
                type=str(node.properties.get("type", "")),
            )
            for node in subgraph.nodes
        ],
        relations=[
            _describe_relation(edge, names)
            for edge in subgraph.edges
            if edge.type != EdgeType.CO_OCCURS
        ],
        co_occurrences=[
            _describe_relation(edge, names)
            for edge in subgraph.edges
            if edge.type == EdgeType.CO_OCCURS
        ],
    )


def _describe_relation(edge: Edge, names: Mapping[str, str]) -> shapes.Relation:
    return shapes.Relation(
        source=names[edge.source],
        relation=edge.relation or edge.type,
        target=names[edge.target],
        weight=edge.weight,
        chunk_ids=list(edge.chunks),
    )


def describe_topics(topics: Sequence[Topic], store: Store) -> shapes.Reports:
    """Return communities with their reports."""
    chunks = store.documents.chunks({c for topic in topics for c in topic.report.chunk_ids})
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    members = {i for topic in topics for i in topic.community.entity_ids[:8]}
    names = {key: entity.name for key, entity in store.graph.entities(members).items()}
    uris = {key: documents[chunk.document_id].uri for key, chunk in chunks.items()}
    return shapes.Reports(
        communities=[
            shapes.Report(
                id=topic.community.id,
                level=topic.community.level,
                parent=topic.community.parent_id,
                size=topic.community.size,
                members=[names[i] for i in topic.community.entity_ids[:8] if i in names],
                title=topic.report.title,
                summary=topic.report.summary,
                rating=topic.report.rating,
                findings=[
                    shapes.Finding(
                        text=finding.text,
                        resources=[
                            document_resource(uris[support.chunk_id], support.span)
                            for support in finding.supports
                            if support.chunk_id in uris
                        ],
                    )
                    for finding in topic.report.findings
                ],
                resource=report_resource(topic.community.id),
            )
            for topic in topics
        ]
    )


def describe_names(same: SameNames, homonyms: Sequence[NamedHomonym]) -> shapes.Names:
    """Return which names mean one thing, and which mean several."""
    return shapes.Names(
        things=[
            shapes.SameThing(names=list(thing.names), chunks=thing.chunks) for thing in same.things
        ],
        apart=[
            shapes.ApartPair(first=pair.first, second=pair.second, reason=pair.decision.reason)
            for pair in same.apart
        ],
        homonyms=[
            shapes.Homonym(name=homonym.name, documents=[list(d) for d in homonym.documents])
            for homonym in homonyms
        ],
        compared=same.compared,
    )


def describe_report(report: IndexReport) -> shapes.Indexed:
    """Return what a run of indexing did."""
    return shapes.Indexed(
        added=report.added,
        changed=report.changed,
        unchanged=report.unchanged,
        removed=list(report.removed),
        unread=[
            shapes.Unread(uri=failure.uri, reason=failure.reason, message=failure.message)
            for failure in report.failures
        ],
        documents=report.total_documents,
        chunks=report.total_chunks,
        entities=report.total_entities,
        notes=list(report.notes),
    )
