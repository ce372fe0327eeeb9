"""Entities and relations that one document contributes to the graph, and who links to it."""

from __future__ import annotations

from knotwork._extensions.server.schemas.workspaces import (
    DocumentContents,
    LinkHere,
    RelationHere,
    ThingHere,
)
from knotwork._shapes.base import fields_of
from knotwork._stores.base import Store
from knotwork._stores.links import links_to
from knotwork.records import Document, Edge, EdgeType, Entity, Mention, content_id

MOST_NEIGHBOURS = 200
"""Most neighbours of an entity among which relations of a document are searched."""

_SHOWN_CHUNKS = 16
"""A store returns at most this many chunks of an edge. An edge with fewer has no others."""


def read_document_graph(store: Store, document: Document) -> DocumentContents:
    """Return what a document contributes to the graph, and the documents that link to it.

    Entities are sorted by the number of their mentions, relations by their strength.
    """
    chunk_ids = set(store.documents.chunk_ids_of([document.id]).get(document.id, []))
    by_entity: dict[str, list[Mention]] = {}
    for mentions in store.graph.mentions(chunk_ids).values():
        for mention in mentions:
            by_entity.setdefault(mention.entity_id, []).append(mention)
    entities = store.graph.entities(by_entity)
    mentioned = [
        ThingHere(
            **fields_of(entity, "id", "name", "type"),
            spans=tuple(sorted({span for m in by_entity[entity.id] for span in m.spans})),
            only_here=entity.chunk_count <= len(by_entity[entity.id]),
        )
        for entity in entities.values()
        if not entity.is_keyword
    ]
    return DocumentContents(
        things=sorted(mentioned, key=lambda thing: (-len(thing.spans), thing.name, thing.id)),
        relations=_read_relations(store, entities, chunk_ids),
        linked_from=_read_linking(store, document),
    )


def _read_linking(store: Store, document: Document) -> list[LinkHere]:
    """Return the documents that link to this one, each with the first such link."""
    first = {content_id("document", x.source): x for x in reversed(links_to(store, document))}
    others = sorted(store.documents.documents(first).values(), key=lambda other: other.uri)
    return [LinkHere.of(first[x.id], id=x.id, title=x.title or x.uri) for x in others]


def _read_relations(
    store: Store, entities: dict[str, Entity], chunk_ids: set[str]
) -> list[RelationHere]:
    """Return the relations that any of the chunks states, strongest first."""
    outgoing = store.graph.neighbours(
        entities, direction="out", types=[EdgeType.RELATES], fan=MOST_NEIGHBOURS
    )
    found: list[tuple[Edge, list[str]]] = []
    for edge in (edge for edges in outgoing.values() for edge in edges):
        here = [chunk for chunk in edge.chunks if chunk in chunk_ids]
        if here:
            found.append((edge, here))
    found.sort(key=lambda item: (-item[0].weight, item[0].source, item[0].relation, item[0].target))
    ends = store.graph.entities({end for edge, _ in found for end in (edge.source, edge.target)})
    names = {entity.id: entity.name for entity in ends.values()}
    return [
        RelationHere(
            **fields_of(edge, "source", "relation", "target", "weight"),
            source_name=names.get(edge.source, ""),
            target_name=names.get(edge.target, ""),
            chunks=here,
            only_here=len(here) == len(edge.chunks) < _SHOWN_CHUNKS,
        )
        for edge, here in found
    ]
