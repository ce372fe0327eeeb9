"""Entities and relations that one document contributes to the graph."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork._stores.base import Store
from knotwork.records import Edge, EdgeType, Entity, Mention, Span

MOST_NEIGHBOURS = 200
"""Most neighbours of an entity among which relations of a document are searched."""

_SHOWN_CHUNKS = 16
"""A store returns at most this many chunks of an edge. An edge with fewer has no others."""


@dataclass(frozen=True, slots=True)
class DocumentEntity:
    """An entity that a document mentions. ``only_here``: no other document mentions it."""

    entity: Entity
    spans: tuple[Span, ...]
    only_here: bool


@dataclass(frozen=True, slots=True)
class DocumentRelation:
    """A relation that chunks of a document state. ``only_here``: no other document states it."""

    edge: Edge
    chunk_ids: tuple[str, ...]
    only_here: bool


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """The entities of a document, most mentioned first, and its relations, strongest first."""

    things: tuple[DocumentEntity, ...]
    relations: tuple[DocumentRelation, ...]
    names: dict[str, str]
    """The names of the entities at the ends of the relations, by id."""


def read_document_graph(store: Store, document_id: str) -> DocumentGraph:
    """Return what a document contributes to the graph; nothing for an unknown document."""
    chunk_ids = set(store.documents.chunk_ids_of([document_id]).get(document_id, []))
    by_entity: dict[str, list[Mention]] = {}
    for mentions in store.graph.mentions(chunk_ids).values():
        for mention in mentions:
            by_entity.setdefault(mention.entity_id, []).append(mention)
    entities = store.graph.entities(by_entity)
    mentioned = [
        DocumentEntity(
            entity=entity,
            spans=tuple(sorted({span for m in by_entity[entity.id] for span in m.spans})),
            only_here=entity.chunk_count <= len(by_entity[entity.id]),
        )
        for entity in entities.values()
        if not entity.is_keyword
    ]
    relations = _read_relations(store, entities, chunk_ids)
    ends = {end for stated in relations for end in (stated.edge.source, stated.edge.target)}
    return DocumentGraph(
        things=tuple(sorted(mentioned, key=lambda e: (-len(e.spans), e.entity.name, e.entity.id))),
        relations=tuple(relations),
        names={e.id: e.name for e in store.graph.entities(ends).values()},
    )


def _read_relations(
    store: Store, entities: dict[str, Entity], chunk_ids: set[str]
) -> list[DocumentRelation]:
    """Return the relations that any of the chunks states, strongest first."""
    outgoing = store.graph.neighbours(
        entities, direction="out", types=[EdgeType.RELATES], fan=MOST_NEIGHBOURS
    )
    found = []
    for edge in (edge for edges in outgoing.values() for edge in edges):
        here = tuple(chunk for chunk in edge.chunks if chunk in chunk_ids)
        if here:
            only_here = len(here) == len(edge.chunks) < _SHOWN_CHUNKS
            found.append(DocumentRelation(edge, here, only_here=only_here))
    return sorted(
        found, key=lambda r: (-r.edge.weight, r.edge.source, r.edge.relation, r.edge.target)
    )
