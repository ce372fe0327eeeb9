"""Resolve the names of entities and read the dossier of an entity."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from knotwork._retrieval.chunk_entities import entities_in_order, read_merged_entities_of
from knotwork._stores.base import Store
from knotwork._text.names import normal_form
from knotwork._text.terms import terms
from knotwork.errors import UnknownName
from knotwork.records import ALIAS_RELATION, Chunk, Document, Edge, EdgeType, Entity, Label, Span

_VALUES = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
"""Entity types that say little about the entities they occur with."""


@dataclass(frozen=True, slots=True)
class DossierPassage:
    """A chunk that mentions an entity, with the spans of its mentions in the document."""

    chunk: Chunk
    document: Document
    marks: tuple[Span, ...]
    about: float


@dataclass(frozen=True, slots=True)
class Dossier:
    """An entity with its description, relations, passages and communities.

    ``names`` are its aliases. ``edges`` are its relations, then its co-occurrences, and ``others``
    the entities at their far ends, by id. ``nearby`` are other entities of the same passages, the
    most specific to these passages first, then keywords; headings and parts of other names are
    left out. ``communities`` are titles, from the topmost level to the lowest.
    """

    entity: Entity
    names: tuple[str, ...]
    description: str
    description_source: str
    edges: tuple[Edge, ...]
    others: dict[str, Entity]
    passages: tuple[DossierPassage, ...]
    nearby: tuple[Entity, ...] = ()
    communities: tuple[str, ...] = ()


def read_dossier(
    store: Store, entity_id: str, *, relations: int, passages: int, nearby: int = 0
) -> Dossier | None:
    """Return the dossier of an entity, or None if the entity does not exist.

    It has at most this many ``relations``, ``passages`` and ``nearby`` entities, best first.
    """
    found = store.graph.entities([entity_id])
    if entity_id not in found:
        return None
    edges = [
        edge
        for kind in (EdgeType.RELATES, EdgeType.CO_OCCURS)
        for edge in store.graph.neighbours([entity_id], types=[kind], fan=relations).get(
            entity_id, []
        )
    ][:relations]
    ends = {end for edge in edges for end in (edge.source, edge.target)} - {entity_id}
    others = read_merged_entities_of(store, [entity_id]).members(entity_id)
    merged = store.graph.entities([key for key in others if key != entity_id])
    description, source = _describe(store, entity_id)
    read = _read_passages(store, entity_id, limit=passages)
    held = store.capabilities.communities
    inside = held.of_entities([entity_id]).get(entity_id, []) if held else []
    reports = held.reports(inside) if held else {}
    return Dossier(
        entity=found[entity_id],
        names=tuple(dict.fromkeys(merged[key].name for key in others if key in merged)),
        description=description,
        description_source=source,
        edges=tuple(edges),
        others=store.graph.entities(ends),
        passages=tuple(read),
        nearby=tuple(_read_nearby(store, read, known={entity_id, *ends}, most=nearby)),
        communities=tuple(dict.fromkeys(reports[i].title for i in inside if i in reports)),
    )


def _describe(store: Store, entity_id: str) -> tuple[str, str]:
    readings = store.capabilities.readings
    if readings is None:
        return "", ""
    summary = readings.summaries([entity_id]).get(entity_id)
    if summary is not None:
        return summary.text, summary.source
    descriptions = readings.descriptions([entity_id]).get(entity_id, [])
    return (descriptions[0].text, "") if descriptions else ("", "")


def _read_passages(store: Store, entity_id: str, *, limit: int) -> list[DossierPassage]:
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
    marks = {
        chunk: mention.spans
        for chunk, mentions in store.graph.mentions(ids).items()
        for mention in mentions
        if mention.entity_id == entity_id
    }
    return [
        DossierPassage(
            chunks[key], documents[chunks[key].document_id], marks.get(key, ()), scores[key]
        )
        for key in ids
        if key in chunks and chunks[key].document_id in documents
    ]


def _read_nearby(
    store: Store, passages: Sequence[DossierPassage], *, known: set[str], most: int
) -> list[Entity]:
    if most <= 0:
        return []
    mentions = store.graph.mentions([passage.chunk.id for passage in passages])
    shared = Counter(m.entity_id for found in mentions.values() for m in found)
    entities = store.graph.entities(set(shared) | known)
    titles = {
        title.casefold()
        for chunk in (passage.chunk for passage in passages)
        for title in (*chunk.headings, chunk.document_title)
    }
    ranked = sorted(
        (entity for entity in entities.values() if entity.id not in known),
        key=lambda entity: (
            entity.is_keyword,
            -shared[entity.id] / math.sqrt(entity.chunk_count),
            entity.name,
        ),
    )
    named = [entities[key].name for key in known if key in entities]
    chosen: list[Entity] = []
    for entity in ranked:
        is_part = any(entity.name in name for name in named)
        if entity.type not in _VALUES and entity.name.casefold() not in titles and not is_part:
            chosen.append(entity)
            named.append(entity.name)
    return chosen[:most]


MAX_ALIASES = 8
_TEXT_HITS = 10
_MOST_SUGGESTIONS = 8
_SCANNED_NAMES = 50_000


def resolve_names(store: Store, names: Sequence[str]) -> list[str]:
    """Return the ids of the entities with these names, each followed by its aliases.

    Aliases are fuller names and merged entities. A name matches the entity with its normal form,
    or else the best full-text match with all its words. Raises UnknownName with the nearest names
    if nothing matches.
    """
    forms = {name: normal_form(name) for name in names}
    found = store.graph.lookup([form for form in forms.values() if form])
    seeds: dict[str, None] = {}
    for name, form in forms.items():
        seed = found[form].id if form in found else _by_words(store, name)
        if seed is None:
            raise UnknownName("entity", name, nearest=_suggest_names(store, name))
        seeds[seed] = None
        merged = read_merged_entities_of(store, [seed])
        edges = store.graph.neighbours([seed], direction="out", types=[EdgeType.RELATES])
        aliases = [e.target for e in edges.get(seed, []) if e.relation == ALIAS_RELATION]
        seeds.update(dict.fromkeys((*aliases[:MAX_ALIASES], *merged.members(seed))))
    return list(seeds)


def _by_words(store: Store, name: str) -> str | None:
    wanted = set(terms(name))
    if not wanted:
        return None
    found = entities_in_order(store.texts("entity").search(name, k=_TEXT_HITS), store)
    return next((key for key, e in found.items() if wanted <= set(terms(e.name))), None)


def _suggest_names(store: Store, name: str) -> list[str]:
    found = entities_in_order(store.texts("entity").search(name, k=_MOST_SUGGESTIONS), store)
    by_words = [entity.name for entity in found.values()]
    known = {node.name for node in store.graph.find(label=Label.ENTITY, limit=_SCANNED_NAMES)}
    by_letters = get_close_matches(name, known, n=_MOST_SUGGESTIONS)
    return list(dict.fromkeys([*by_letters, *by_words]))[:_MOST_SUGGESTIONS]
