"""Look up entities by the names a person writes, and read all that is known of one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from knotwork.errors import UnknownName
from knotwork.records import ALIAS_RELATION, Chunk, Document, Edge, EdgeType, Entity, Label, Span
from knotwork.retrieval.chunk_entities import read_merged_entities_of
from knotwork.retrieval.community_search import communities_of
from knotwork.stores.base import Store
from knotwork.stores.extensions import StoresReadings
from knotwork.text.names import normal_form
from knotwork.text.terms import terms

_VALUES = frozenset({"DATE", "NUMBER", "IDENTIFIER"})
"""Types of entities that say little about what they are named beside."""


@dataclass(frozen=True, slots=True)
class DossierPassage:
    """A chunk that mentions an entity; ``marks`` are spans of the document where it does."""

    chunk: Chunk
    document: Document
    marks: tuple[Span, ...]
    about: float


@dataclass(frozen=True, slots=True)
class Dossier:
    """What is known of an entity: ``edges`` are its relations, then its co-occurrences; ``others``
    are their far ends, by id. ``nearby`` are entities and keywords of the same passages that no
    edge joins to it, entities first, the most particular to these passages first; headings and
    parts of other names are left out. ``communities`` are the titles of
    those that hold it, from the topmost to the lowest.
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
    """Return the dossier of an entity: its strongest relations, the passages that are most about
    it, and at most ``nearby`` other entities of these; None for an entity that does not exist.
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
    description, source = _describe(store, entity_id)
    read = _read_passages(store, entity_id, limit=passages)
    return Dossier(
        entity=found[entity_id],
        names=_other_names(store, found[entity_id]),
        description=description,
        description_source=source,
        edges=tuple(edges),
        others=store.graph.entities(ends),
        passages=tuple(read),
        nearby=tuple(_read_nearby(store, read, known={entity_id, *ends}, most=nearby)),
        communities=tuple(_community_titles(store, entity_id)),
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
    things = read_merged_entities_of(store, [entity.id])
    members = [key for key in things.members(things.of(entity.id)) if key != entity.id]
    named = store.graph.entities(members)
    return tuple(dict.fromkeys(named[key].name for key in members if key in named))


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
    marks = _marks(store, entity_id, ids)
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
    """Return entities of passages, by the cosine of being in these and being in any."""
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


def _community_titles(store: Store, entity_id: str) -> list[str]:
    held = communities_of(store)
    ids = held.of_entities([entity_id]).get(entity_id, []) if held else []
    reports = held.reports(ids) if held else {}
    return list(dict.fromkeys(reports[key].title for key in ids if key in reports))


def _marks(store: Store, entity_id: str, ids: Sequence[str]) -> dict[str, tuple[Span, ...]]:
    return {
        chunk: mention.spans
        for chunk, mentions in store.graph.mentions(ids).items()
        for mention in mentions
        if mention.entity_id == entity_id
    }


MAX_ALIASES = 8
_TEXT_HITS = 10
_MOST_SUGGESTIONS = 8
_SCANNED_NAMES = 50_000


def resolve_names(store: Store, names: Sequence[str]) -> list[str]:
    """Return the ids of the entities meant by these names, in order, each followed by its other
    names: fuller ones, and those that the index has decided are names of the same thing.

    A name means the entity of its normal form; failing that, the best entity of the full text
    that has all its words. Raises UnknownName with the nearest names if nothing fits.
    """
    forms = {name: normal_form(name) for name in names}
    found = store.graph.lookup([form for form in forms.values() if form])
    seeds: dict[str, None] = {}
    for name, form in forms.items():
        seed = found[form].id if form in found else _by_words(store, name)
        if seed is None:
            raise UnknownName("entity", name, nearest=_suggest_names(store, name))
        seeds[seed] = None
        things = read_merged_entities_of(store, [seed])
        others = (*_fuller_names(store, seed), *things.members(things.of(seed)))
        seeds.update(dict.fromkeys(others))
    return list(seeds)


def _fuller_names(store: Store, entity_id: str) -> list[str]:
    edges = store.graph.neighbours([entity_id], direction="out", types=[EdgeType.RELATES])
    aliases = [e.target for e in edges.get(entity_id, []) if e.relation == ALIAS_RELATION]
    return aliases[:MAX_ALIASES]


def _by_words(store: Store, name: str) -> str | None:
    wanted = set(terms(name))
    if not wanted:
        return None
    hits = store.texts("entity").search(name, k=_TEXT_HITS)
    entities = store.graph.entities([hit.id for hit in hits])
    for hit in hits:
        if hit.id in entities and wanted <= set(terms(entities[hit.id].name)):
            return hit.id
    return None


def _suggest_names(store: Store, name: str) -> list[str]:
    hits = store.texts("entity").search(name, k=_MOST_SUGGESTIONS)
    entities = store.graph.entities([hit.id for hit in hits])
    by_words = [entities[hit.id].name for hit in hits if hit.id in entities]
    known = {node.name for node in store.graph.find(label=Label.ENTITY, limit=_SCANNED_NAMES)}
    by_letters = get_close_matches(name, known, n=_MOST_SUGGESTIONS)
    return list(dict.fromkeys([*by_letters, *by_words]))[:_MOST_SUGGESTIONS]
