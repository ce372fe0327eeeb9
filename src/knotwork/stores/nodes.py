"""What each kind of record looks like as a node of the property graph; the same on every store."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.records import Chunk, Document, Entity, Label, Node, Section


def document_name(uri: str, title: str) -> str:
    """Return the name of a document's node."""
    return title or uri


def chunk_name(document_title: str, headings: Sequence[str]) -> str:
    """Return the name of a chunk's node: the innermost title above it."""
    return headings[-1] if headings else document_title


def document_node(document: Document) -> Node:
    """Show a document as a node."""
    return Node(
        document.id,
        Label.DOCUMENT,
        document_name(document.uri, document.title),
        {"uri": document.uri, "media_type": document.media_type, "language": document.language},
    )


def section_node(section: Section) -> Node:
    """Show a section as a node."""
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
    """Show a chunk as a node."""
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
    """Show an entity as a node."""
    return Node(
        entity.id,
        Label.ENTITY,
        entity.name,
        {
            "type": entity.type,
            "normal_form": entity.normal_form,
            "chunk_count": entity.chunk_count,
        },
    )
