"""Entities and relations that one document contributes to the graph."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.records import Edge, EdgeType, Entity, Mention, Span
from knotwork.stores.base import Store

MOST_NEIGHBOURS = 200
"""Neighbours of a thing, at most, among whose relations those of a document are looked for."""

_SHOWN_CHUNKS = 16
"""So many chunks of an edge a store tells: with fewer, they are all there are."""


@dataclass(frozen=True, slots=True)
class DocumentEntity:
    """A thing that a document names, where it does, and whether no other document does."""

    entity: Entity
    spans: tuple[Span, ...]
    only_here: bool


@dataclass(frozen=True, slots=True)
class DocumentRelation:
    """A relation that a document states, in which of its chunks, and whether only it does."""

    edge: Edge
    chunk_ids: tuple[str, ...]
    only_here: bool


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """What comes from a document: things by how often it names them, relations by weight."""

    things: tuple[DocumentEntity, ...]
    relations: tuple[DocumentRelation, ...]
    names: dict[str, str]
    """The names of the ends of the relations, by id."""


def read_document_graph(store: Store, document_id: str) -> DocumentGraph:
    """Return what the graph has from a document; of one that is not there, nothing."""
    chunk_ids = set(store.documents.chunk_ids(document_id))
    by_entity: dict[str, list[Mention]] = {}
    for mentions in store.graph.mentions(chunk_ids).values():
        for mention in mentions:
            by_entity.setdefault(mention.entity_id, []).append(mention)
    entities = store.graph.entities(by_entity)
    things = [
        DocumentEntity(
            entity=entity,
            spans=tuple(sorted({span for m in by_entity[entity.id] for span in m.spans})),
            only_here=entity.chunk_count <= len(by_entity[entity.id]),
        )
        for entity in entities.values()
        if not entity.is_keyword
    ]
    relations = _relations(store, entities, chunk_ids)
    ends = {end for stated in relations for end in (stated.edge.source, stated.edge.target)}
    return DocumentGraph(
        things=tuple(sorted(things, key=lambda t: (-len(t.spans), t.entity.name, t.entity.id))),
        relations=tuple(relations),
        names={e.id: e.name for e in store.graph.entities(ends).values()},
    )


def _relations(
    store: Store, entities: dict[str, Entity], chunk_ids: set[str]
) -> list[DocumentRelation]:
    around = store.graph.neighbours(
        entities, direction="out", types=[EdgeType.RELATES], fan=MOST_NEIGHBOURS
    )
    found = []
    for edge in (edge for edges in around.values() for edge in edges):
        here = tuple(chunk for chunk in edge.chunks if chunk in chunk_ids)
        if here:
            alone = len(here) == len(edge.chunks) < _SHOWN_CHUNKS
            found.append(DocumentRelation(edge, here, only_here=alone))
    order = [(-s.edge.weight, s.edge.source, s.edge.relation, s.edge.target) for s in found]
    return [stated for _, stated in sorted(zip(order, found, strict=True), key=lambda p: p[0])]
