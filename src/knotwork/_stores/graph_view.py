"""Nodes and edges of the property graph, the same on every store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    KEYWORD_TYPES,
    Chunk,
    Community,
    CommunityReport,
    Document,
    Edge,
    EdgeType,
    Entity,
    GraphSchema,
    Label,
    Node,
    QueriedLabel,
    Section,
    content_id,
    entity_label,
)


def chunk_name(document_title: str, headings: Sequence[str]) -> str:
    """Return the name of a chunk's node: its innermost heading, or else the document title."""
    return headings[-1] if headings else document_title


def document_node(document: Document) -> Node:
    """Convert a document to a node."""
    return Node(
        document.id,
        Label.DOCUMENT,
        document.title or document.uri,
        {"uri": document.uri, "media_type": document.media_type, "language": document.language},
    )


def section_node(section: Section) -> Node:
    """Convert a section to a node."""
    return Node(
        section.id,
        Label.SECTION,
        section.title,
        {
            "document": section.document_id,
            "level": section.level,
            "ordinal": section.ordinal,
            "start": section.span.start,
            "end": section.span.end,
        },
    )


def chunk_node(chunk: Chunk) -> Node:
    """Convert a chunk to a node."""
    return Node(
        chunk.id,
        Label.CHUNK,
        chunk_name(chunk.document_title, chunk.headings),
        {
            "document": chunk.document_id,
            "section": chunk.section_id,
            "ordinal": chunk.ordinal,
            "start": chunk.span.start,
            "end": chunk.span.end,
            "text": chunk.text,
        },
    )


def entity_node(entity: Entity) -> Node:
    """Convert an entity to a node."""
    return Node(
        entity.id,
        entity_label(entity.type),
        entity.name,
        {
            "type": entity.type,
            "normal_form": entity.normal_form,
            "chunk_count": entity.chunk_count,
        },
    )


def community_node(community: Community, report: CommunityReport | None) -> Node:
    """Convert a community to a node, with its report if there is one."""
    properties: dict[str, str | int | float] = {
        "level": community.level,
        "entity_count": community.size,
        "chunk_count": len(community.chunk_ids),
    }
    if report is not None:
        properties |= {
            "title": report.title,
            "summary": report.summary,
            "rating": report.rating,
            "language": report.language,
        }
    name = report.title if report else ""
    return Node(community.id, QueriedLabel.COMMUNITY, name, properties)


def question_id(chunk_id: str, text: str) -> str:
    """Return the id of a question that a chunk answers."""
    return content_id("question", chunk_id, text)


def question_node(chunk_id: str, ordinal: int, text: str) -> Node:
    """Convert a question that a chunk answers to a node."""
    return Node(
        question_id(chunk_id, text),
        QueriedLabel.QUESTION,
        text,
        {"chunk": chunk_id, "ordinal": ordinal},
    )


def most_frequent(forms: Mapping[str, int]) -> str:
    """Return the most frequent form, ties by the smallest; an empty string without forms."""
    return min(forms, key=lambda form: (-forms[form], form), default="")


def entity_type(types: Mapping[str, int], mentions: int) -> str:
    """Return the type of an entity from the number of its mentions with each type.

    An entity is a keyword only if all its mentions are keywords.
    """
    named = {type_: times for type_, times in types.items() if type_ not in KEYWORD_TYPES}
    if named or sum(types.values()) < mentions:
        return most_frequent(named)
    return most_frequent(types)


_COUNTED_LABELS = (Label.DOCUMENT, Label.SECTION, Label.CHUNK, Label.ENTITY, Label.KEYWORD)
_COUNTED_EDGES = (
    *(EdgeType.HAS_SECTION, EdgeType.HAS_CHUNK, EdgeType.HAS_CHILD, EdgeType.NEXT),
    *(EdgeType.MENTIONS, EdgeType.ABOUT, EdgeType.RELATES, EdgeType.CO_OCCURS),
)


def schema_of(
    labels: Iterable[int], structure: Iterable[int], relations: Mapping[str, int]
) -> GraphSchema:
    """Return a schema from its counts, most frequent relation first.

    ``labels`` are the numbers of documents, sections, chunks, entities and keywords, ``structure``
    of HAS_SECTION, HAS_CHUNK, HAS_CHILD, NEXT, MENTIONS and ABOUT.
    """
    stated = dict(relations)
    co_occurring = stated.pop(CO_OCCURRENCE_RELATION, 0)
    nodes = zip(_COUNTED_LABELS, labels, strict=True)
    edges = zip(_COUNTED_EDGES, (*structure, sum(stated.values()), co_occurring), strict=True)
    return GraphSchema(
        {label: count for label, count in sorted(nodes) if count},
        {type_: count for type_, count in sorted(edges) if count},
        stated,
    )


EDGE_CHUNKS = 16
"""Number of supporting chunks, smallest ids first, that an edge lists outside a full scan."""


def edge_order(edge: Edge) -> tuple[str, str, str, str]:
    """Return the sort key of a full scan."""
    return edge.type, edge.source, edge.target, edge.relation
