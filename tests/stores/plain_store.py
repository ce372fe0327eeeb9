"""What an index is expected to show, computed from all its contributions each time it is asked."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._stores.base import Scored, Store
from knotwork._stores.graph_view import EDGE_CHUNKS, edge_order, entity_type, most_frequent
from knotwork._text.terms import query_terms, terms
from knotwork.records import (
    ENTITY_EDGES,
    Chunk,
    Direction,
    Edge,
    EdgeType,
    Entity,
    Mention,
    Relation,
    relation_edge_type,
)


class PlainGraph:
    """The graph of the documents of a store, and of the contributions of ``loose`` chunks too."""

    def __init__(self, store: Store, loose: Collection[str]) -> None:
        documents = store.documents.document_ids()
        trees = store.documents.sections_of(documents).values()
        self._sections = [section for tree in trees for section in tree]
        held = store.documents.chunk_ids_of(documents).values()
        self._chunks = list(store.documents.chunks([i for ids in held for i in ids]).values())
        given = {*loose, *(chunk.id for chunk in self._chunks)}
        self._mentions = [m for part in store.graph.mentions(given).values() for m in part]
        self._relations = [r for part in store.graph.relations(given).values() for r in part]
        self._nodes = {
            *documents,
            *(part.id for part in (*self._sections, *self._chunks)),
            *(mention.entity_id for mention in self._mentions),
        }

    def entities(self) -> dict[str, Entity]:
        """Return all entities and keywords, by ascending id."""
        grouped: defaultdict[str, list[Mention]] = defaultdict(list)
        for mention in self._mentions:
            grouped[mention.entity_id].append(mention)
        return {key: _aggregate(key, grouped[key]) for key in sorted(grouped)}

    def edges(self) -> list[Edge]:
        """Return all edges with all their chunks, in the order of `GraphStore.edges`."""
        return sorted([*self._structure(), *self._mentioned(), *self._related()], key=edge_order)

    def neighbours(
        self, ids: Collection[str], *, direction: Direction, fan: int | None
    ) -> dict[str, list[Edge]]:
        """Return the edges of each node, as `GraphStore.neighbours` does."""
        edges = self.edges()
        adjacent = _adjacent(edges, direction)
        known = _by_key(edges)
        return {
            key: [_with_first_chunks(known, edge) for edge in strongest_edges(adjacent[key], fan)]
            for key in ids
            if key in adjacent
        }

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction,
        depth: int,
        fan: int,
        limit: int,
        types: Collection[str] | None,
    ) -> list[Edge]:
        """Return the edges of a walk, as `GraphStore.explore` finds them."""
        wanted = ENTITY_EDGES if types is None else types
        known = _by_key(
            edge
            for edge in self.edges()
            if edge.type in wanted and {edge.source, edge.target} <= self._nodes
        )
        adjacent = _adjacent(known.values(), direction)
        reached = walk_graph(
            lambda keys: [strongest_edges(adjacent.get(key, ()), fan) for key in keys],
            [seed for seed in seeds if seed in self._nodes],
            depth=depth,
            limit=limit,
        )
        return [_with_first_chunks(known, edge) for edge in reached.edges]

    def _structure(self) -> Iterator[Edge]:
        for section in self._sections:
            yield Edge(section.parent_id or section.document_id, EdgeType.HAS_SECTION, section.id)
        leaves: defaultdict[str, list[Chunk]] = defaultdict(list)
        for chunk in self._chunks:
            yield Edge(chunk.section_id, EdgeType.HAS_CHUNK, chunk.id)
            if chunk.parent_id is not None:
                yield Edge(chunk.parent_id, EdgeType.HAS_CHILD, chunk.id)
            if not chunk.is_parent:
                leaves[chunk.document_id].append(chunk)
        for order in leaves.values():
            ordered = sorted(order, key=lambda chunk: (chunk.ordinal, chunk.id))
            for chunk, following in pairwise(ordered):
                yield Edge(chunk.id, EdgeType.NEXT, following.id)

    def _mentioned(self) -> Iterator[Edge]:
        for mention in self._mentions:
            chunk, entity = mention.chunk_id, mention.entity_id
            times = max(1, len(mention.spans))
            yield Edge(chunk, EdgeType.MENTIONS, entity, float(times), "", (chunk,))
            if mention.about > 0:
                yield Edge(chunk, EdgeType.ABOUT, entity, mention.about, "", (chunk,))

    def _related(self) -> Iterator[Edge]:
        grouped: defaultdict[tuple[str, str, str], list[Relation]] = defaultdict(list)
        for relation in self._relations:
            grouped[relation.source, relation.target, relation.relation].append(relation)
        for (source, target, name), given in grouped.items():
            weight = float(sum(relation.weight for relation in given))
            chunks = tuple(sorted(relation.chunk_id for relation in given))
            yield Edge(source, relation_edge_type(name), target, weight, name, chunks)


def _aggregate(key: str, mentions: Sequence[Mention]) -> Entity:
    names: Counter[str] = Counter()
    types: Counter[str] = Counter()
    for mention in mentions:
        weight = max(1, len(mention.spans))
        names[mention.name] += weight
        if mention.type:
            types[mention.type] += weight
    type_ = entity_type(types, names.total())
    return Entity(key, most_frequent(names), mentions[0].normal_form, type_, len(mentions))


_EdgeKey = tuple[str, str, str, str]


def _by_key(edges: Iterable[Edge]) -> dict[_EdgeKey, Edge]:
    return {(edge.source, edge.target, edge.type, edge.relation): edge for edge in edges}


def _adjacent(edges: Iterable[Edge], direction: Direction) -> Mapping[str, list[AdjacentEdge[str]]]:
    found: defaultdict[str, list[AdjacentEdge[str]]] = defaultdict(list)
    for edge in edges:
        ends = (edge.source, edge.target, "out"), (edge.target, edge.source, "in")
        for near, far, seen_as in ends:
            if direction in ("both", seen_as):
                found[near].append(
                    AdjacentEdge(
                        -edge.weight, far, edge.type, edge.relation, edge.source, edge.target
                    )
                )
    return found


def _with_first_chunks(edges: Mapping[_EdgeKey, Edge], adjacent: AdjacentEdge[str]) -> Edge:
    edge = edges[adjacent.source, adjacent.target, adjacent.type, adjacent.relation]
    return replace(edge, chunks=edge.chunks[:EDGE_CHUNKS])


class PlainTexts:
    """A text index that applies the formula of BM25 to every item."""

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        self._items: dict[str, Counter[str]] = {}
        self.add(items)

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        self._items.update((identifier, _count(text)) for identifier, text in items)

    def remove(self, ids: Iterable[str]) -> None:
        for identifier in ids:
            self._items.pop(identifier, None)

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        asked = query_terms(query)
        frequencies = self.document_frequencies(asked)
        mean = sum(map(Counter.total, self._items.values())) / max(len(self._items), 1)
        found = [
            Scored(identifier, self._score(count, frequencies, mean))
            for identifier, count in self._items.items()
            if (where is None or identifier in where) and not count.keys().isdisjoint(asked)
        ]
        return sorted(found, key=lambda scored: (-scored.score, scored.id))[:k]

    def _score(self, count: Counter[str], frequencies: Mapping[str, int], mean: float) -> float:
        norm = 1.2 * (0.25 + 0.75 * count.total() / mean)
        score = 0.0
        for term, holders in frequencies.items():
            idf = math.log((len(self._items) - holders + 0.5) / (holders + 0.5))
            weight = idf if idf > 0 else 1e-6
            score += weight * count[term] * 2.2 / (count[term] + norm)
        return score

    def document_frequencies(self, words: Collection[str]) -> dict[str, int]:
        found = {word: sum(word in item for item in self._items.values()) for word in words}
        return {word: count for word, count in found.items() if count}


@lru_cache(maxsize=10_000)
def _count(text: str) -> Counter[str]:
    return Counter(terms(text))
