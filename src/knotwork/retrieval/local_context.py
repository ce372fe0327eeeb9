"""The graph around a question: its entities, their descriptions and relations.

Every fact leads to the sentences that support it, so that an answer drawn from the graph cites the
documents as any other. Entities that are merged share their facts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knotwork.records import (
    Chunk,
    Edge,
    EdgeType,
    Entity,
    Evidence,
    Mention,
    Relation,
    Span,
    Support,
)
from knotwork.retrieval.chunk_entities import (
    MergedEntities,
    mentions_by_sentence,
    read_merged_entities,
)
from knotwork.retrieval.chunk_features import SHOWN_SENTENCES
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Store
from knotwork.stores.extensions import ReadsRelations, StoresReadings
from knotwork.stores.resolutions import read_senses
from knotwork.text.terms import content_terms

MOST_ENTITIES = 8
_NAMED = 5
_READ_HITS = 3
_NEIGHBOURS = 12
_CHUNKS_OF_FACT = 3
_MOST_NAMES = 4
_WORTH_OF_NAMES = 0.5
_LEAST_RARITY = 0.15
"""What stands nearly everywhere says nothing about the question."""


@dataclass(frozen=True, slots=True)
class GraphFact:
    """One line about an entity, or about two; ``worth`` is its bearing on the question."""

    text: str
    supports: tuple[Support, ...]
    worth: float


@dataclass(frozen=True, slots=True)
class LocalContext:
    """``entities`` are those of the question, the most important first, and of those that are
    one thing the canonical one alone; ``facts`` best first.
    """

    entities: tuple[Entity, ...]
    facts: tuple[GraphFact, ...]


def read_local_context(
    text: str, evidence: Evidence, *, store: Store, weights: Weights = DEFAULT_WEIGHTS
) -> LocalContext:
    """Return the entities of a question with their descriptions and relations.

    These are the ones it names, and those that the best sentences of the evidence name. No model is
    asked, and nothing is embedded.
    """
    question = read_question(text, store=store, embedder=None, weights=weights)
    things = read_merged_entities(store)
    ranked = _rank_entities(question, evidence, store, weights, things)
    entities = store.graph.entities(ranked)
    chosen = tuple(entities[i] for i in ranked if i in entities)
    reader = _FactReader(store, question, {hit.chunk.id for hit in evidence.hits}, things)
    facts = [*reader.descriptions(chosen, ranked), *reader.relations(chosen, ranked)]
    facts.sort(key=lambda fact: (-fact.worth, fact.text))
    return LocalContext(chosen, tuple(facts))


def _rank_entities(
    question: Question, evidence: Evidence, store: Store, weights: Weights, things: MergedEntities
) -> dict[str, float]:
    """Return the worth, from 0 to 1, of the things around a question, the best first."""
    links = sorted(question.links, key=lambda link: -link.weight)[:_NAMED]
    named: dict[str, float] = {}
    for link in links:  # the best name of a thing comes first
        named.setdefault(things.of(link.entity.id), link.weight)
    hits = evidence.hits[:_READ_HITS]
    chunks = {hit.chunk.id: hit.chunk for hit in hits if not hit.chunk.is_parent}
    mentioned = mentions_by_sentence(chunks, store, known=weights.link.known)
    top = max((hit.score for hit in hits), default=0.0)
    worths: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        places = {span: place for place, span in enumerate(hit.chunk.sentences)}
        for span, relevance in hit.sentences[:SHOWN_SENTENCES]:
            if top <= 0 or hit.chunk.id not in mentioned or span not in places:
                continue
            value = max(hit.score, 0.0) / top * max(relevance, 0.0)
            for near in map(things.of, mentioned[hit.chunk.id][places[span]]):
                worths[near] = max(worths[near], value)
    counts = store.graph.entities([i for i in worths if i not in named])
    for identifier, entity in counts.items():
        rare = question.rarity(entity.chunk_count)
        if rare >= _LEAST_RARITY:
            named.setdefault(identifier, 0.5 * rare * worths[identifier])
    best = sorted(named, key=lambda i: (-named[i], i))[:MOST_ENTITIES]
    return {identifier: named[identifier] for identifier in best}


class _FactReader:
    """Reads facts of the graph, each with the sentences that support it."""

    def __init__(
        self, store: Store, question: Question, found: Collection[str], things: MergedEntities
    ) -> None:
        self._store = store
        self._terms = set(question.terms)
        self._found = found
        self._things = things

    def descriptions(
        self, entities: Sequence[Entity], worths: Mapping[str, float]
    ) -> list[GraphFact]:
        """Return a line for each thing that a model described, or that has several names.

        It holds the names, and the summary, or what was said of any of them. Of a name that means
        several things it tells the one that the chunk nearest to the question means.
        """
        members = {entity.id: self._things.members(entity.id) for entity in entities}
        told, summaries = self._read_descriptions(members)
        several = [i for thing, i in members.items() if len(i) > 1 and not told[thing]]
        about = self._store.graph.about([e for i in several for e in i], fan=_CHUNKS_OF_FACT)
        chunk_ids = {
            thing: self._nearest(
                told[thing] or (c.id for entity in ids for c in about.get(entity, ()))
            )
            for thing, ids in members.items()
        }
        for thing, senses in read_senses(self._store, list(members)).items():
            chunk_ids[thing] = _of_one_meaning(chunk_ids[thing], senses)
            summaries.pop(thing, None)  # from before it was known to mean several things
        chunks = {chunk for found in chunk_ids.values() for chunk in found}
        supports = _SupportReader(self._store, chunks, self._things)
        names = self._names(members)
        facts = []
        for entity in entities:
            nearest, said = chunk_ids[entity.id], told[entity.id]
            lines = [text for chunk in nearest[:2] for text in said.get(chunk, ())]
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
        """Return what chunks say of each thing, and the summaries that there are.

        A thing's summary is kept with the first of its entities that is described.
        """
        told: dict[str, dict[str, list[str]]] = {thing: {} for thing in members}
        if not isinstance(self._store, StoresReadings):
            return told, {}
        every = [entity for ids in members.values() for entity in ids]
        single = self._store.readings.descriptions(every)
        summaries = self._store.readings.summaries(every)
        texts: dict[str, str] = {}
        for thing, ids in members.items():
            described = [entity for entity in ids if single.get(entity)]
            for entity in described:
                for item in single[entity]:
                    told[thing].setdefault(item.chunk_id, []).append(item.text)
            if described and described[0] in summaries:
                texts[thing] = summaries[described[0]].text
        return told, texts

    def _names(self, members: Mapping[str, Sequence[str]]) -> dict[str, str]:
        """Return the names of each thing in one text: the canonical one, then the frequent ones."""
        every = self._store.graph.entities([entity for ids in members.values() for entity in ids])
        named = {}
        for thing, (first, *others) in members.items():
            known = sorted(
                (every[entity] for entity in others if entity in every),
                key=lambda entity: (-entity.chunk_count, entity.id),
            )
            names = [every[first].name, *(entity.name for entity in known)]
            named[thing] = " / ".join(list(dict.fromkeys(names))[:_MOST_NAMES])
        return named

    def relations(self, entities: Sequence[Entity], worths: Mapping[str, float]) -> list[GraphFact]:
        """Return a line for each relation between the things, and for the best around them."""
        lines = self._read_lines(entities)
        ends = self._store.graph.entities({end for key in lines for end in (key[0], key[2])})
        nearest = {
            key: self._nearest(chunk for edge in edges for chunk in edge.chunks)
            for key, edges in lines.items()
        }
        chunk_ids = {chunk for found in nearest.values() for chunk in found}
        supports = _SupportReader(self._store, chunk_ids, self._things)
        told = self._told(chunk_ids)
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
                for contributed in told.get((chunk, edge.source, relation, edge.target), ())
                if contributed.description
            ]
            if described:
                text += f": {described[0].description}"
                if described[0].span is not None:
                    found = (Support(described[0].chunk_id, described[0].span),)
            facts.append(GraphFact(text, found, self._worth(text, (source, target), worths)))
        return facts

    def _read_lines(self, entities: Sequence[Entity]) -> dict[tuple[str, str, str], list[Edge]]:
        """Return the best relations around things; those within one do not count."""
        members = {entity.id: self._things.members(entity.id) for entity in entities}
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
            key = self._things.of(source), relation, self._things.of(target)
            if key[0] != key[2] or source == target:
                lines[key].append(edge)
        return lines

    def _told(self, chunk_ids: Collection[str]) -> dict[tuple[str, ...], list[Relation]]:
        """Return the relations of chunks as they were contributed, where the store tells."""
        graph = self._store.graph
        told: defaultdict[tuple[str, ...], list[Relation]] = defaultdict(list)
        if isinstance(graph, ReadsRelations):
            for chunk, relations in graph.relations(chunk_ids).items():
                for relation in relations:
                    key = chunk, relation.source, relation.relation, relation.target
                    told[key].append(relation)
        return told

    def _worth(self, line: str, ends: Sequence[str], worths: Mapping[str, float]) -> float:
        between = [worths[end] for end in ends if end in worths]
        shared = len(self._terms & set(content_terms(line))) / max(len(self._terms), 1)
        is_inside = 0.5 if len(between) > 1 else 0.0
        return is_inside + shared + 0.5 * max(between)

    def _nearest(self, chunk_ids: Iterable[str]) -> list[str]:
        """Return a few chunks, those that the search found first."""
        ordered = sorted(set(chunk_ids), key=lambda chunk: (chunk not in self._found, chunk))
        return ordered[:_CHUNKS_OF_FACT]


def _of_one_meaning(chunk_ids: Sequence[str], senses: Mapping[str, int]) -> list[str]:
    """Return the chunks that mean the same thing as the first one."""
    return [c for c in chunk_ids if senses.get(c, 0) == senses.get(chunk_ids[0], 0)]


class _SupportReader:
    """Finds the sentences of chunks that name things."""

    def __init__(self, store: Store, chunk_ids: Collection[str], things: MergedEntities) -> None:
        self._chunks = store.documents.chunks(chunk_ids)
        self._mentions = store.graph.mentions(chunk_ids)
        self._things = things

    def of(self, things: Sequence[str], chunk_ids: Sequence[str]) -> tuple[Support, ...]:
        """Return the sentence of the first chunk that names most of the things."""
        names = {e: thing for thing in things for e in self._things.members(thing)}
        best: tuple[int, Support] | None = None
        for chunk_id in chunk_ids:
            if chunk_id not in self._chunks:
                continue
            named, span = _best_sentence(
                self._chunks[chunk_id], self._mentions.get(chunk_id, ()), names
            )
            if best is None or named > best[0]:
                best = named, Support(chunk_id, span)
        return (best[1],) if best else ()


def _best_sentence(
    chunk: Chunk, mentions: Iterable[Mention], names: Mapping[str, str]
) -> tuple[int, Span]:
    """Return the sentence that names most things, and how many; ``names`` are of entities."""
    sentences = chunk.sentences or (chunk.span,)
    starts = [span.start for span in sentences]
    named: defaultdict[int, set[str]] = defaultdict(set)
    for mention in mentions:
        if mention.entity_id in names:
            for span in mention.spans:
                place = max(bisect_right(starts, span.start) - 1, 0)
                named[place].add(names[mention.entity_id])
    if not named:
        return 0, sentences[0]
    place = min(named, key=lambda number: (-len(named[number]), number))
    return len(named[place]), sentences[place]
