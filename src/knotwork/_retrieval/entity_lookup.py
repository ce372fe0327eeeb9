"""Read what the graph knows of entities: by their names, as a dossier, or around a question.

A local context has the entities of a question with their descriptions and relations. Every fact has
the sentences that support it, so an answer made of facts cites the documents like any other. Merged
entities share their facts.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from knotwork._retrieval.chunk_entities import (
    MergedEntities,
    entities_in_order,
    mention_places,
    mentions_by_sentence,
    read_merged_entities,
    read_merged_entities_of,
)
from knotwork._retrieval.evidence_builder import SHOWN_SENTENCES
from knotwork._retrieval.question import Question, read_question
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork._stores.base import Store
from knotwork._stores.corrections import entity_text, read_corrections
from knotwork._stores.resolutions import read_senses
from knotwork._text.names import normal_form
from knotwork._text.terms import content_terms, terms
from knotwork.errors import UnknownName
from knotwork.records import (
    ALIAS_RELATION,
    Chunk,
    Document,
    Edge,
    EdgeType,
    Entity,
    Evidence,
    Label,
    Relation,
    Span,
    Support,
)

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
    read = _read_passages(store, entity_id, limit=passages)
    held = store.capabilities.communities
    inside = held.of_entities([entity_id]).get(entity_id, []) if held else []
    reports = held.reports(inside) if held else {}
    return Dossier(
        entity=found[entity_id],
        names=tuple(dict.fromkeys(merged[key].name for key in others if key in merged)),
        description=_describe(store, entity_id),
        edges=tuple(edges),
        others=store.graph.entities(ends),
        passages=tuple(read),
        nearby=tuple(_read_nearby(store, read, known={entity_id, *ends}, most=nearby)),
        communities=tuple(dict.fromkeys(reports[i].title for i in inside if i in reports)),
    )


def _describe(store: Store, entity_id: str) -> str:
    readings = store.capabilities.readings
    if readings is None:
        return ""
    found = readings.summaries([entity_id]).get(entity_id)
    told = [found] if found else readings.descriptions([entity_id]).get(entity_id, [])
    return told[0].text if told else ""


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
            raise UnknownName("entity", name, nearest=suggest_names(store, name))
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
    text_of = entity_text(read_corrections(store))
    return next((key for key, e in found.items() if wanted <= set(terms(text_of(e)))), None)


def suggest_names(store: Store, name: str) -> list[str]:
    """Return the names of entities that are nearest to an unknown one."""
    found = entities_in_order(store.texts("entity").search(name, k=_MOST_SUGGESTIONS), store)
    by_words = [entity.name for entity in found.values()]
    known = {node.name for node in store.graph.find(label=Label.ENTITY, limit=_SCANNED_NAMES)}
    by_letters = get_close_matches(name, known, n=_MOST_SUGGESTIONS)
    return list(dict.fromkeys([*by_letters, *by_words]))[:_MOST_SUGGESTIONS]


MOST_ENTITIES = 8
_NAMED = 5
_READ_HITS = 3
_NEIGHBOURS = 12
_CHUNKS_OF_FACT = 3
_MOST_NAMES = 4
_WORTH_OF_NAMES = 0.5
_LEAST_RARITY = 0.15
"""More frequent entities are left out: they occur nearly everywhere."""


@dataclass(frozen=True, slots=True)
class GraphFact:
    """One line about an entity or a relation; ``worth`` is its relevance to the question."""

    text: str
    supports: tuple[Support, ...]
    worth: float


@dataclass(frozen=True, slots=True)
class LocalContext:
    """The entities of a question, most important first, and facts about them, best first.

    Of merged entities only the canonical one is listed.
    """

    entities: tuple[Entity, ...]
    facts: tuple[GraphFact, ...]


def read_local_context(text: str, evidence: Evidence, *, store: Store) -> LocalContext:
    """Return the entities of a question with their descriptions and relations.

    These are the entities that the question or the best sentences of the evidence mention. No
    model is called and nothing is embedded.
    """
    question = read_question(text, store=store)
    merged = read_merged_entities(store)
    ranked = _rank_entities(question, evidence, store, merged)
    entities = store.graph.entities(ranked)
    chosen = tuple(entities[i] for i in ranked if i in entities)
    reader = _FactReader(store, question, {hit.chunk.id for hit in evidence.hits}, merged)
    facts = [*reader.descriptions(chosen, ranked), *reader.relations(chosen, ranked)]
    facts.sort(key=lambda fact: (-fact.worth, fact.text))
    return LocalContext(chosen, tuple(facts))


def _rank_entities(
    question: Question, evidence: Evidence, store: Store, merged: MergedEntities
) -> dict[str, float]:
    """Return the worth, from 0 to 1, of the entities around a question, best first."""
    links = sorted(question.links, key=lambda link: -link.weight)[:_NAMED]
    named: dict[str, float] = {}
    for link in links:  # the best link to a group of merged entities counts
        named.setdefault(merged.canonical(link.entity.id), link.weight)
    hits = evidence.hits[:_READ_HITS]
    chunks = {hit.chunk.id: hit.chunk for hit in hits if not hit.chunk.is_parent}
    mentioned = mentions_by_sentence(chunks, store, known=DEFAULT_WEIGHTS.link.known)
    top = max((hit.score for hit in hits), default=0.0)
    worths: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        numbers = {span: number for number, span in enumerate(hit.chunk.sentences)}
        for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
            if top <= 0 or hit.chunk.id not in mentioned or span not in numbers:
                continue
            worth = max(hit.score, 0.0) / top * max(relevance, 0.0)
            for near in map(merged.canonical, mentioned[hit.chunk.id][numbers[span]]):
                worths[near] = max(worths[near], worth)
    unnamed = store.graph.entities([i for i in worths if i not in named])
    for identifier, entity in unnamed.items():
        rarity = question.rarity(entity.chunk_count)
        if rarity >= _LEAST_RARITY:
            named.setdefault(identifier, 0.5 * rarity * worths[identifier])
    best = sorted(named, key=lambda i: (-named[i], i))[:MOST_ENTITIES]
    return {identifier: named[identifier] for identifier in best}


class _FactReader:
    """Reads facts with the sentences that support them, preferably from the ``found`` chunks."""

    def __init__(
        self, store: Store, question: Question, found: Collection[str], merged: MergedEntities
    ) -> None:
        self._store = store
        self._terms = set(question.terms)
        self._found = found
        self._merged = merged

    def descriptions(
        self, entities: Sequence[Entity], worths: Mapping[str, float]
    ) -> list[GraphFact]:
        """Return a line for each entity that has a description or several names.

        It consists of the names and the summary, or else the descriptions by chunk. For a homonym
        only the sense of the best chunk counts.
        """
        members = {entity.id: self._merged.members(entity.id) for entity in entities}
        described, summaries = self._read_descriptions(members)
        bare = [ids for key, ids in members.items() if len(ids) > 1 and not described[key]]
        about = self._store.graph.about([e for ids in bare for e in ids], fan=_CHUNKS_OF_FACT)
        chunk_ids = {
            key: self._best_chunks(
                described[key] or (c.id for entity in ids for c in about.get(entity, ()))
            )
            for key, ids in members.items()
        }
        for key, senses in read_senses(self._store, list(members)).items():
            best = chunk_ids[key]
            chunk_ids[key] = [c for c in best if senses.get(c, 0) == senses.get(best[0], 0)]
            summaries.pop(key, None)  # written before the homonym was split
        supports = _SupportReader(
            self._store, {chunk for best in chunk_ids.values() for chunk in best}, self._merged
        )
        names = self._names(members)
        facts = []
        for entity in entities:
            nearest = chunk_ids[entity.id]
            lines = [text for chunk in nearest[:2] for text in described[entity.id].get(chunk, ())]
            text = summaries.get(entity.id) or " ".join(dict.fromkeys(lines))
            found = supports.of((entity.id,), nearest)
            if found and (text.strip() or len(members[entity.id]) > 1):
                kind = f" ({entity.type})" if entity.type and not entity.is_keyword else ""
                line = f"{names[entity.id]}{kind}" + (f": {text}" if text.strip() else "")
                worth = 1.0 if text.strip() else _WORTH_OF_NAMES
                facts.append(GraphFact(line, found, worth + worths[entity.id]))
        return facts

    def _read_descriptions(
        self, members: Mapping[str, Sequence[str]]
    ) -> tuple[dict[str, dict[str, list[str]]], dict[str, str]]:
        """Return the descriptions of each entity by chunk, and the summaries.

        The summary of merged entities is stored with the first one that has a description.
        """
        by_chunk: dict[str, dict[str, list[str]]] = {key: {} for key in members}
        readings = self._store.capabilities.readings
        if readings is None:
            return by_chunk, {}
        every = [entity for ids in members.values() for entity in ids]
        descriptions = readings.descriptions(every)
        stored = readings.summaries(every)
        summaries: dict[str, str] = {}
        for key, ids in members.items():
            described = [entity for entity in ids if descriptions.get(entity)]
            for entity in described:
                for item in descriptions[entity]:
                    by_chunk[key].setdefault(item.chunk_id, []).append(item.text)
            if described and described[0] in stored:
                summaries[key] = stored[described[0]].text
        return by_chunk, summaries

    def _names(self, members: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the names of each entity joined by " / ": canonical first, then by frequency."""
        every = self._store.graph.entities([entity for ids in members.values() for entity in ids])
        named = {}
        for key, (first, *others) in members.items():
            known = [every[entity] for entity in others if entity in every]
            known.sort(key=lambda entity: (-entity.chunk_count, entity.id))
            names = dict.fromkeys(entity.name for entity in (every[first], *known))
            named[key] = " / ".join(list(names)[:_MOST_NAMES])
        return named

    def relations(self, entities: Sequence[Entity], worths: Mapping[str, float]) -> list[GraphFact]:
        """Return a line for each of the strongest relations of the entities."""
        lines = self._read_edges(entities)
        ends = self._store.graph.entities({end for key in lines for end in (key[0], key[2])})
        nearest = {
            key: self._best_chunks(chunk for edge in edges for chunk in edge.chunks)
            for key, edges in lines.items()
        }
        chunk_ids = {chunk for found in nearest.values() for chunk in found}
        supports = _SupportReader(self._store, chunk_ids, self._merged)
        contributions: defaultdict[tuple[str, ...], list[Relation]] = defaultdict(list)
        for chunk, extracted in self._store.graph.relations(chunk_ids).items():
            for one in extracted:
                contributions[chunk, one.source, one.relation, one.target].append(one)
        facts = []
        for key, edges in lines.items():
            source, relation, target = key
            found = supports.of((source, target), nearest[key])
            if source not in ends or target not in ends or not found:
                continue
            text = f"{ends[source].name} — {relation} → {ends[target].name}"
            described = [
                contributed
                for chunk in nearest[key]
                for edge in edges
                for contributed in contributions[chunk, edge.source, relation, edge.target]
                if contributed.description
            ]
            if described:
                text += f": {described[0].description}"
                if described[0].span is not None:
                    found = (Support(described[0].chunk_id, described[0].span),)
            between = [worths[end] for end in (source, target) if end in worths]
            shared = len(self._terms & set(content_terms(text))) / max(len(self._terms), 1)
            worth = 0.5 * (len(between) > 1) + shared + 0.5 * max(between)
            facts.append(GraphFact(text, found, worth))
        return facts

    def _read_edges(self, entities: Sequence[Entity]) -> dict[tuple[str, str, str], list[Edge]]:
        """Return the strongest edges by source, relation and target, as canonical ids.

        Relations between two merged entities are left out.
        """
        members = {entity.id: self._merged.members(entity.id) for entity in entities}
        around = self._store.graph.neighbours(
            [entity for ids in members.values() for entity in ids],
            types=[EdgeType.RELATES],
            fan=_NEIGHBOURS,
        )
        edges = {
            (edge.source, edge.relation, edge.target): edge
            for ids in members.values()
            for entity in ids
            for edge in around.get(entity, ())
            if edge.relation
        }
        lines: defaultdict[tuple[str, str, str], list[Edge]] = defaultdict(list)
        for (source, relation, target), edge in edges.items():
            key = self._merged.canonical(source), relation, self._merged.canonical(target)
            if key[0] != key[2] or source == target:
                lines[key].append(edge)
        return lines

    def _best_chunks(self, chunk_ids: Iterable[str]) -> list[str]:
        """Return at most `_CHUNKS_OF_FACT` chunks, those that the search found first."""
        ordered = sorted(set(chunk_ids), key=lambda chunk: (chunk not in self._found, chunk))
        return ordered[:_CHUNKS_OF_FACT]


def find_supports(store: Store, edges: Sequence[Edge]) -> list[Support | None]:
    """Return the sentence that states each relation, None for one without any.

    It is the one that an extractor named, or that with most of the two entities.
    """
    chunk_ids = {chunk for edge in edges for chunk in edge.chunks[:_CHUNKS_OF_FACT]}
    named = {
        (one.source, one.relation, one.target): Support(chunk, one.span)
        for chunk, extracted in store.graph.relations(chunk_ids).items()
        for one in extracted
        if one.span is not None
    }
    reader = _SupportReader(store, chunk_ids, read_merged_entities(store))
    found: list[Support | None] = []
    for edge in edges:
        nearest = reader.of((edge.source, edge.target), edge.chunks[:_CHUNKS_OF_FACT])
        exact = named.get((edge.source, edge.relation, edge.target))
        found.append(exact or next(iter(nearest), None))
    return found


class _SupportReader:
    """Finds the sentences that mention entities."""

    def __init__(self, store: Store, chunk_ids: Collection[str], merged: MergedEntities) -> None:
        self._chunks = store.documents.chunks(chunk_ids)
        self._places = mention_places(self._chunks, store)
        self._merged = merged

    def of(self, entity_ids: Sequence[str], chunk_ids: Sequence[str]) -> tuple[Support, ...]:
        """Return the sentence with most of the entities, in the first chunk that has as many."""
        best: tuple[int, Support] | None = None
        for chunk in (self._chunks[key] for key in chunk_ids if key in self._chunks):
            found: Counter[int] = Counter()
            for key in entity_ids:
                held = (self._places.get((chunk.id, e), ()) for e in self._merged.members(key))
                found.update({number for numbers in held for number in numbers})
            number = min(found, key=lambda n: (-found[n], n), default=0)
            if best is None or found[number] > best[0]:
                span = (chunk.sentences or (chunk.span,))[number]
                best = found[number], Support(chunk.id, span)
        return (best[1],) if best else ()
