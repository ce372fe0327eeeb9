"""What the graph holds around a question: its entities, what is said of them, their relations.

Every fact leads to the sentences that support it, so that an answer drawn from the graph cites the
documents as any other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from knotwork.records import (
    CO_OCCURRENCE_RELATION,
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
from knotwork.retrieval.mentions import mentions_by_sentence
from knotwork.retrieval.question import Question, read_question
from knotwork.retrieval.weights import DEFAULT_WEIGHTS, Weights
from knotwork.stores.base import Store
from knotwork.stores.readings import StoresReadings
from knotwork.stores.relations import ReadsRelations
from knotwork.text.terms import content_terms

MOST_ENTITIES = 8
_NAMED = 5
_READ_HITS = 3
_NEIGHBOURS = 12
_CHUNKS_OF_FACT = 3
_LEAST_RARITY = 0.15
"""What stands nearly everywhere says nothing about the question."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line about an entity, or about two; ``worth`` is its bearing on the question."""

    text: str
    supports: tuple[Support, ...]
    worth: float


@dataclass(frozen=True, slots=True)
class Surroundings:
    """``entities`` are those of the question, the most important first; ``facts`` best first.

    ``names_any`` says that the question itself names one of them for certain.
    """

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    names_any: bool = False


def read_surroundings(
    text: str, evidence: Evidence, *, store: Store, weights: Weights = DEFAULT_WEIGHTS
) -> Surroundings:
    """Return the entities of a question with their descriptions and relations.

    These are the ones it names, and those that the best sentences of the evidence name. No model is
    asked, and nothing is embedded.
    """
    question = read_question(text, store=store, embedder=None, weights=weights)
    ranked = _rank_entities(question, evidence, store, weights)
    entities = store.graph.entities(ranked)
    chosen = tuple(entities[i] for i in ranked if i in entities)
    reader = _FactReader(store, question, {hit.chunk.id for hit in evidence.hits})
    facts = [*reader.descriptions(chosen, ranked), *reader.relations(chosen, ranked)]
    facts.sort(key=lambda fact: (-fact.worth, fact.text))
    names_any = any(link.trust == 1.0 for link in question.links)
    return Surroundings(chosen, tuple(facts), names_any)


def _rank_entities(
    question: Question, evidence: Evidence, store: Store, weights: Weights
) -> dict[str, float]:
    """Return the worth, from 0 to 1, of the entities around a question, the best first."""
    links = sorted(question.links, key=lambda link: -link.weight)[:_NAMED]
    named = {link.entity.id: link.weight for link in links}
    hits = evidence.hits[:_READ_HITS]
    chunks = {hit.chunk.id: hit.chunk for hit in hits if not hit.chunk.is_parent}
    mentioned = mentions_by_sentence(chunks, store, known=weights.link.known)
    top = max((hit.score for hit in hits), default=0.0)
    worths: defaultdict[str, float] = defaultdict(float)
    for hit in hits:
        places = {span: place for place, span in enumerate(hit.chunk.sentences)}
        for span, relevance in hit.sentences:
            if top <= 0 or hit.chunk.id not in mentioned or span not in places:
                continue
            value = max(hit.score, 0.0) / top * max(relevance, 0.0)
            for near in mentioned[hit.chunk.id][places[span]]:
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

    def __init__(self, store: Store, question: Question, found: Collection[str]) -> None:
        self._store = store
        self._terms = set(question.terms)
        self._found = found

    def descriptions(self, entities: Sequence[Entity], worths: Mapping[str, float]) -> list[Fact]:
        """Return a line for each entity that a model described: its summary, or what it said."""
        if not isinstance(self._store, StoresReadings):
            return []
        ids = [entity.id for entity in entities]
        single = self._store.readings.descriptions(ids)
        summaries = self._store.readings.summaries(ids)
        chunk_ids = {
            entity.id: self._nearest(item.chunk_id for item in single.get(entity.id, ()))
            for entity in entities
        }
        supports = _SupportReader(self._store, {c for found in chunk_ids.values() for c in found})
        facts = []
        for entity in entities:
            told = {item.chunk_id: item.text for item in single.get(entity.id, ())}
            nearest = chunk_ids[entity.id]
            if entity.id in summaries:
                text = summaries[entity.id].text
            else:
                text = " ".join(dict.fromkeys(told[chunk] for chunk in nearest[:2]))
            found = supports.of((entity.id,), nearest)
            if text.strip() and found:
                kind = f" ({entity.type})" if entity.type else ""
                line = f"{entity.name}{kind}: {text}"
                facts.append(Fact(line, found, 1.0 + worths[entity.id]))
        return facts

    def relations(self, entities: Sequence[Entity], worths: Mapping[str, float]) -> list[Fact]:
        """Return a line for each relation between the entities, and for the best around them."""
        around = self._store.graph.neighbours(
            [entity.id for entity in entities], types=[EdgeType.RELATES], fan=_NEIGHBOURS
        )
        edges = {
            (edge.source, edge.relation, edge.target): edge
            for entity in entities
            for edge in around.get(entity.id, ())
            if edge.relation and edge.relation != CO_OCCURRENCE_RELATION
        }
        ends = self._store.graph.entities({i for e in edges.values() for i in (e.source, e.target)})
        nearest = {key: self._nearest(edge.chunks) for key, edge in edges.items()}
        chunk_ids = {chunk for found in nearest.values() for chunk in found}
        supports = _SupportReader(self._store, chunk_ids)
        told = self._told(chunk_ids)
        facts = []
        for key, edge in edges.items():
            found = supports.of((edge.source, edge.target), nearest[key])
            if edge.source not in ends or edge.target not in ends or not found:
                continue
            line = f"{ends[edge.source].name} — {edge.relation} → {ends[edge.target].name}"
            described = [
                relation
                for chunk in nearest[key]
                for relation in told.get((chunk, *key), ())
                if relation.description
            ]
            if described:
                line += f": {described[0].description}"
                if described[0].span is not None:
                    found = (Support(described[0].chunk_id, described[0].span),)
            facts.append(Fact(line, found, self._worth(line, edge, worths)))
        return facts

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

    def _worth(self, line: str, edge: Edge, worths: Mapping[str, float]) -> float:
        between = [worths[end] for end in (edge.source, edge.target) if end in worths]
        shared = len(self._terms & set(content_terms(line))) / max(len(self._terms), 1)
        is_inside = 0.5 if len(between) > 1 else 0.0
        return is_inside + shared + 0.5 * max(between)

    def _nearest(self, chunk_ids: Iterable[str]) -> list[str]:
        """Return a few chunks, those that the search found first."""
        ordered = sorted(set(chunk_ids), key=lambda chunk: (chunk not in self._found, chunk))
        return ordered[:_CHUNKS_OF_FACT]


class _SupportReader:
    """Finds the sentences of chunks that name entities."""

    def __init__(self, store: Store, chunk_ids: Collection[str]) -> None:
        self._chunks = store.documents.chunks(chunk_ids)
        self._mentions = store.graph.mentions(chunk_ids)

    def of(self, entity_ids: Sequence[str], chunk_ids: Sequence[str]) -> tuple[Support, ...]:
        """Return the sentence of the first chunk that names most of the entities."""
        best: tuple[int, Support] | None = None
        for chunk_id in chunk_ids:
            if chunk_id not in self._chunks:
                continue
            named, span = _best_sentence(
                self._chunks[chunk_id], self._mentions.get(chunk_id, ()), entity_ids
            )
            if best is None or named > best[0]:
                best = named, Support(chunk_id, span)
        return (best[1],) if best else ()


def _best_sentence(
    chunk: Chunk, mentions: Iterable[Mention], entity_ids: Sequence[str]
) -> tuple[int, Span]:
    sentences = chunk.sentences or (chunk.span,)
    starts = [span.start for span in sentences]
    named: defaultdict[int, set[str]] = defaultdict(set)
    for mention in mentions:
        if mention.entity_id in entity_ids:
            for span in mention.spans:
                named[max(bisect_right(starts, span.start) - 1, 0)].add(mention.entity_id)
    if not named:
        return 0, sentences[0]
    place = min(named, key=lambda number: (-len(named[number]), number))
    return len(named[place]), sentences[place]
