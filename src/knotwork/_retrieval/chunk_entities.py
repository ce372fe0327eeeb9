"""Map chunks to their entities, to those merged with them, and to what their links lead to.

Mentions are located by sentence. Described relations exist only for chunks that a model has read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

from knotwork._stores.base import Scored, Store
from knotwork._stores.capabilities import ResolutionStore
from knotwork._stores.links import DocumentParts, target_documents
from knotwork._stores.resolutions import read_groups
from knotwork._text.languages import HAN_CHARACTER, segment
from knotwork._text.names import STOP_NAMES, name_candidates
from knotwork.records import Chunk, Entity, Link

OWN_PAGE = 0.95
"""Aboutness from which a chunk is the entity's own page; the entity leads nowhere else."""

SHORT_NAME_WORDS = 3
SHORT_NAME_HAN = 5


def mentions_by_sentence(
    chunks: Mapping[str, Chunk], store: Store, *, known: float
) -> dict[str, list[set[str]]]:
    """Return the ids of the entities each sentence mentions, the chunk's own subject left out.

    Beside the mentions found when the chunk was indexed these are all names, in any case, of
    entities that some chunk is about by ``known`` or more: documents indexed later may have
    brought them.
    """
    mentions = store.graph.mentions(list(chunks))
    candidates = {chunk_id: _short_names(chunk) for chunk_id, chunk in chunks.items()}
    entities = store.graph.lookup({form for found in candidates.values() for form in found})
    described = store.graph.about([e.id for e in entities.values()], fan=1, minimum=known - 1e-9)
    ids = {form: e.id for form, e in entities.items() if described.get(e.id)}
    result: dict[str, list[set[str]]] = {}
    for chunk_id, chunk in chunks.items():
        starts = [span.start for span in chunk.sentences]
        sentences: list[set[str]] = [set() for _ in starts]
        own = {m.entity_id for m in mentions.get(chunk_id, ()) if m.about >= OWN_PAGE}
        places = [(m.entity_id, s.start) for m in mentions.get(chunk_id, ()) for s in m.spans]
        places += [(ids[form], s) for form, s in candidates[chunk_id].items() if form in ids]
        for identifier, start in places:
            number = bisect_right(starts, start) - 1
            if number >= 0 and identifier not in own:
                sentences[number].add(identifier)
        result[chunk_id] = sentences
    return result


def _short_names(chunk: Chunk) -> dict[str, int]:
    """Return candidates for short names in any case, with their start in the document.

    Longer names have capitals or are words of a Chinese segmentation, and were found during
    indexing. A Chinese name must begin and end at word borders: this leaves a quarter of the
    character sequences and excludes those that two adjacent words form together.
    """
    text, start = chunk.text, chunk.span.start
    borders = None
    if HAN_CHARACTER.search(text):
        borders = frozenset(place for word in segment(text) for place in (word.start, word.end))
    candidates = name_candidates(
        text, max_words=SHORT_NAME_WORDS, max_han=SHORT_NAME_HAN, borders=borders
    )
    found = {}
    for form, span in candidates:
        words = text[span.start : span.end].lower().split()
        has_loose_end = words[0] in STOP_NAMES or words[-1] in STOP_NAMES
        if (len(form) > 3 or not form.isascii()) and not has_loose_end:
            found[form] = span.start + start
    return found


def mention_places(
    chunks: Mapping[str, Chunk], store: Store
) -> dict[tuple[str, str], frozenset[int]]:
    """Return the numbers of the sentences that mention an entity, by the ids of chunk and entity.

    They are as found when the chunk was indexed. A chunk without sentences is one by itself.
    """
    found: dict[tuple[str, str], frozenset[int]] = {}
    for chunk_id, mentions in store.graph.mentions(list(chunks)).items():
        chunk = chunks[chunk_id]
        starts = [span.start for span in chunk.sentences or (chunk.span,)]
        for mention in mentions:
            numbers = frozenset(bisect_right(starts, span.start) - 1 for span in mention.spans)
            found[chunk_id, mention.entity_id] = numbers - {-1}
    return found


def stated_entities(chunk_ids: Collection[str], store: Store) -> dict[str, frozenset[str]]:
    """Return the ends of each chunk's described relations, as entity ids.

    Only a model describes relations. Chunks that no model has read, or with no relation, are
    absent.
    """
    ends = {
        chunk_id: frozenset(
            end
            for relation in relations
            if relation.description
            for end in (relation.source, relation.target)
        )
        for chunk_id, relations in store.graph.relations(chunk_ids).items()
    }
    return {chunk_id: found for chunk_id, found in ends.items() if found}


class MergedEntities:
    """The groups of merged entities, each known by the id of its canonical entity.

    ``groups`` maps each merged entity to its canonical one; all other entities stay by themselves.
    """

    def __init__(self, groups: Mapping[str, str]) -> None:
        self._groups = groups
        self._aliases: defaultdict[str, list[str]] = defaultdict(list)
        for entity, canonical in sorted(groups.items()):
            if entity != canonical:
                self._aliases[canonical].append(entity)

    def canonical(self, entity_id: str) -> str:
        """Return the canonical entity of an entity, often itself."""
        return self._groups.get(entity_id, entity_id)

    def members(self, entity_id: str) -> tuple[str, ...]:
        """Return all entities merged with this one, the canonical one first, the rest by id."""
        canonical = self.canonical(entity_id)
        return canonical, *self._aliases.get(canonical, ())


_NOTHING_MERGED = MergedEntities({})

_merged: WeakKeyDictionary[ResolutionStore, tuple[int, MergedEntities]] = WeakKeyDictionary()
"""The merged entities of each store and the generation at which they were read."""


def read_merged_entities(store: Store) -> MergedEntities:
    """Return the merged entities of an index, read once per generation of the store.

    Decisions of a transaction count from its commit. An index without decisions merges nothing.
    """
    resolutions = store.capabilities.resolutions
    if resolutions is None:
        return _NOTHING_MERGED
    generation = store.generation()
    known = _merged.get(resolutions)
    if known is None or known[0] != generation:
        known = _merged[resolutions] = generation, MergedEntities(read_groups(store))
    return known[1]


def read_merged_entities_of(store: Store, entity_ids: Collection[str]) -> MergedEntities:
    """Return the merged entities of an index, or none if none of ``entity_ids`` is merged.

    Unlike `read_merged_entities` it reads only the decisions on these entities in that case.
    """
    resolutions = store.capabilities.resolutions
    if resolutions is None:
        return _NOTHING_MERGED
    decisions = resolutions.of_entities(entity_ids).values()
    is_any_merged = any(decision.joins for found in decisions for decision in found)
    return read_merged_entities(store) if is_any_merged else _NOTHING_MERGED


def chunks_about(store: Store, entity_ids: Sequence[str], *, fan: int) -> dict[str, list[Scored]]:
    """Return the ``fan`` chunks most about each entity or one merged with it, best first."""
    merged = read_merged_entities_of(store, entity_ids)
    if merged is _NOTHING_MERGED:
        about = store.graph.about(list(dict.fromkeys(entity_ids)), fan=fan)
        return {key: list(found) for key, found in about.items()}
    members = {key: merged.members(key) for key in entity_ids}
    every = dict.fromkeys(entity for entities in members.values() for entity in entities)
    about = store.graph.about(list(every), fan=fan)
    found: dict[str, list[Scored]] = {}
    for key, entities in members.items():
        if len(entities) == 1:
            if key in about:
                found[key] = list(about[key])
            continue
        best: dict[str, float] = {}
        for chunk_id, score in (item for entity in entities for item in about.get(entity, ())):
            best[chunk_id] = max(score, best.get(chunk_id, 0.0))
        ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
        if ranked:
            found[key] = [Scored(*item) for item in ranked[:fan]]
    return found


def entities_in_order(hits: Sequence[Scored], store: Store) -> dict[str, Entity]:
    """Return the entities of hits by id, in the order of the hits."""
    entities = store.graph.entities([hit.id for hit in hits])
    return {hit.id: entities[hit.id] for hit in hits if hit.id in entities}


_MOST_LINKS = 40
"""Links of a chunk that are followed: one with more lists what there is."""


class LinkedChunk(NamedTuple):
    """A chunk that a link in a sentence of another one leads to."""

    sentence: int
    words: str
    chunk_id: str
    is_next: bool = False
    """Whether it only follows the one that the link names, in the same section."""


def find_linked_chunks(chunks: Mapping[str, Chunk], store: Store) -> dict[str, list[LinkedChunk]]:
    """Return what the links in each of these chunks lead to, but for the chunk itself."""
    ids = {chunk.document_id for chunk in chunks.values()}
    sources = store.documents.documents(ids) if store.capabilities.links is not None else {}
    if not any(source.links for source in sources.values()):
        return {}
    marked: dict[str, list[tuple[int, Link]]] = {}
    for key, chunk in chunks.items():
        ends = [sentence.end for sentence in chunk.sentences]
        inside = [k for k in sources[chunk.document_id].links if chunk.span.contains(k.span)]
        placed = ((bisect_right(ends, k.span.start), k) for k in inside[:_MOST_LINKS])
        marked[key] = [(sentence, link) for sentence, link in placed if sentence < len(ends)]
    by_document: dict[str, set[Link]] = {}
    for key, found_links in marked.items():
        held = by_document.setdefault(chunks[key].document_id, set())
        held.update(link for _, link in found_links)
    given = [
        replace(sources[key], links=tuple(links)) for key, links in by_document.items() if links
    ]
    targets = target_documents(store, given)
    parts = {document.id: DocumentParts(document) for document in targets.values()}
    led: list[tuple[str, int, str, Place]] = []
    for key, links in marked.items():
        source = sources[chunks[key].document_id]
        for sentence, link in links:
            if target := targets.get((source.uri, link.target)):
                start = parts[target.id].place(link.part) if link.part else None
                words = source.text[slice(*link.span)]
                led.append((key, sentence, words, Place(target.id, start or 0)))
    there = find_chunks_at(store, {place for *_, place in led})
    found: dict[str, list[LinkedChunk]] = {}
    for key, sentence, words, place in led:
        for number, reached in enumerate(there[place]):
            if reached != key:
                linked = LinkedChunk(sentence, words, reached, number > 0)
                found.setdefault(key, []).append(linked)
    return found


class Place(NamedTuple):
    """A place in a document, as an offset in its text."""

    document_id: str
    start: int


def find_chunks_at(store: Store, places: Collection[Place]) -> dict[Place, list[str]]:
    """Return the chunk that has each place, or the nearest one before it, and the next one of its
    section: what a link leads to may go on there.

    All places are searched at once, by bisection of the chunks of their documents, which are in
    the order of the text.
    """
    held = store.documents.chunk_ids_of({place.document_id for place in places})
    ids = {place: held.get(place.document_id, []) for place in places}
    low = dict.fromkeys(places, 0)
    high = {place: len(ids[place]) if place.start else 1 for place in places}
    while still := [place for place in places if low[place] + 1 < high[place]]:
        middle = {place: (low[place] + high[place]) // 2 for place in still}
        read = store.documents.chunks({ids[place][number] for place, number in middle.items()})
        for place, number in middle.items():
            chunk = read[ids[place][number]]
            is_behind = chunk.is_parent or chunk.span.start > place.start
            (high if is_behind else low)[place] = number
    near = {place: ids[place][number : number + 2] for place, number in low.items()}
    read = store.documents.chunks({key for keys in near.values() for key in keys})
    sections = {key: (chunk.section_id, chunk.is_parent) for key, chunk in read.items()}
    return {
        place: [key for key in keys if sections[key] == sections[keys[0]]]
        for place, keys in near.items()
    }
