"""All that is known of one entity, with the passages that speak of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.errors import NotFound
from knotwork.records import Chunk, Document, Edge, EdgeType, Entity, Span
from knotwork.retrieval.things import read_things_of
from knotwork.stores.base import Store
from knotwork.stores.readings import StoresReadings


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that mentions an entity; ``marks`` are spans of the document where it does."""

    chunk: Chunk
    document: Document
    marks: tuple[Span, ...]
    about: float


@dataclass(frozen=True, slots=True)
class Dossier:
    """What is known of an entity: ``edges`` are its relations, then its co-occurrences; ``others``
    are their far ends, by id.
    """

    entity: Entity
    names: tuple[str, ...]
    description: str
    description_source: str
    edges: tuple[Edge, ...]
    others: dict[str, Entity]
    passages: tuple[Passage, ...]


def read_dossier(store: Store, entity_id: str, *, relations: int, passages: int) -> Dossier:
    """Return what is known of an entity: its strongest relations, and the passages that are most
    about it. Raises NotFound.
    """
    found = store.graph.entities([entity_id])
    if entity_id not in found:
        raise NotFound(
            f"There is no entity `{entity_id}`.",
            fix="It may have gone with its document. Find others: GET …/entities?name=…",
        )
    edges = [
        edge
        for kind in (EdgeType.RELATES, EdgeType.CO_OCCURS)
        for edge in store.graph.neighbours([entity_id], types=[kind], fan=relations).get(
            entity_id, []
        )
    ][:relations]
    ends = {end for edge in edges for end in (edge.source, edge.target)} - {entity_id}
    description, source = _describe(store, entity_id)
    return Dossier(
        entity=found[entity_id],
        names=_other_names(store, found[entity_id]),
        description=description,
        description_source=source,
        edges=tuple(edges),
        others=store.graph.entities(ends),
        passages=tuple(_read_passages(store, entity_id, limit=passages)),
    )


def _describe(store: Store, entity_id: str) -> tuple[str, str]:
    """Return what a model wrote of an entity, and who wrote it."""
    if not isinstance(store, StoresReadings):
        return "", ""
    summary = store.readings.summaries([entity_id]).get(entity_id)
    if summary is not None:
        return summary.text, summary.source
    told = store.readings.descriptions([entity_id]).get(entity_id, [])
    return (told[0].text, "") if told else ("", "")


def _other_names(store: Store, entity: Entity) -> tuple[str, ...]:
    things = read_things_of(store, [entity.id])
    members = [key for key in things.members(things.of(entity.id)) if key != entity.id]
    named = store.graph.entities(members)
    return tuple(dict.fromkeys(named[key].name for key in members if key in named))


def _read_passages(store: Store, entity_id: str, *, limit: int) -> list[Passage]:
    about = store.graph.about([entity_id], fan=limit).get(entity_id, [])
    scores = {item.id: item.score for item in about}
    if len(scores) < limit:
        edges = store.graph.neighbours(
            [entity_id], direction="in", types=[EdgeType.MENTIONS], fan=limit
        )
        for edge in edges.get(entity_id, []):
            scores.setdefault(edge.source, 0.0)
    ids = list(scores)[:limit]
    chunks = store.documents.chunks(ids)
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    marks = _marks(store, entity_id, ids)
    return [
        Passage(chunks[key], documents[chunks[key].document_id], marks.get(key, ()), scores[key])
        for key in ids
        if key in chunks and chunks[key].document_id in documents
    ]


def _marks(store: Store, entity_id: str, ids: Sequence[str]) -> dict[str, tuple[Span, ...]]:
    return {
        chunk: mention.spans
        for chunk, mentions in store.graph.mentions(ids).items()
        for mention in mentions
        if mention.entity_id == entity_id
    }
