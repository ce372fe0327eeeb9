"""Knowledge graph of the memory store; every read aggregates the contributions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._stores.base import RelationLink, Scored
from knotwork._stores.graph_view import (
    EDGE_CHUNKS,
    chunk_node,
    document_node,
    edge_order,
    entity_node,
    entity_type,
    links_of_neighbours,
    most_frequent,
    section_node,
)
from knotwork._stores.memory.collisions import check_entity_ids
from knotwork._stores.memory.state import State, StateAccess
from knotwork.records import (
    ENTITY_EDGES,
    Direction,
    Edge,
    EdgeType,
    Entity,
    GraphSchema,
    Mention,
    Node,
    Relation,
    Subgraph,
    entity_id,
    relation_edge_type,
)


class MemoryGraph:
    """The `GraphStore` of the memory store."""

    def __init__(self, access: StateAccess) -> None:
        self._state, self._transaction = access

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        with self._transaction():
            state = self._state()
            new = list(mentions)
            check_entity_ids(state, new)
            state.mentions.update(((m.chunk_id, m.entity_id), m) for m in new)
            state.relations.update(
                ((r.chunk_id, r.source, r.relation, r.target), r) for r in relations
            )

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        gone = set(chunk_ids)
        with self._transaction():
            state = self._state()
            state.mentions = {k: m for k, m in state.mentions.items() if k[0] not in gone}
            state.relations = {k: r for k, r in state.relations.items() if k[0] not in gone}

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        wanted = set(ids)
        grouped: defaultdict[str, list[Mention]] = defaultdict(list)
        for (_, entity), mention in self._state().mentions.items():
            if entity in wanted:
                grouped[entity].append(mention)
        return {key: _aggregate(key, grouped[key]) for key in sorted(grouped)}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        found = self.entities([entity_id(form) for form in normal_forms])
        return {entity.normal_form: entity for entity in found.values()}

    def entity_count(self) -> int:
        found = self.entities({entity for _, entity in self._state().mentions})
        return sum(not entity.is_keyword for entity in found.values())

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        wanted = set(chunk_ids)
        found: defaultdict[str, list[Mention]] = defaultdict(list)
        for (chunk, _), mention in sorted(self._state().mentions.items(), key=lambda kv: kv[0]):
            if chunk in wanted:
                found[chunk].append(mention)
        return dict(found)

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        wanted = set(chunk_ids)
        found: defaultdict[str, list[Relation]] = defaultdict(list)
        for key, relation in sorted(self._state().relations.items(), key=lambda kv: kv[0]):
            if key[0] in wanted:
                found[key[0]].append(relation)
        return dict(found)

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        return links_of_neighbours(self, entity_ids, limit=limit)

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        edges = self.edges(types=ENTITY_EDGES)
        chunks = {(edge.source, edge.relation, edge.target): edge.chunks for edge in edges}
        return [chunks.get(relation, ())[: max(limit, 0)] for relation in relations]

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        wanted = set(entity_ids)
        found: defaultdict[str, list[Scored]] = defaultdict(list)
        for (chunk, entity), mention in self._state().mentions.items():
            if entity in wanted and mention.about > minimum:
                found[entity].append(Scored(chunk, mention.about))
        ranked = {
            entity: sorted(scored, key=lambda s: (-s.score, s.id))[: max(fan, 0)]
            for entity, scored in found.items()
        }
        return {entity: scored for entity, scored in ranked.items() if scored}

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        stored = self._all_nodes()
        return {key: stored[key] for key in ids if key in stored}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        found = [
            node
            for _, node in sorted(self._all_nodes().items())
            if label in (None, node.label)
            and (name is None or name in (node.name, node.properties.get("normal_form")))
        ]
        return found[: max(limit, 0)]

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        edges = _by_key(self.edges(types=types))
        adjacent = _adjacent_by_node(edges.values(), direction)
        found = {key: strongest_edges(adjacent[key], fan) for key in ids if key in adjacent}
        return {
            key: [_with_first_chunks(edges, edge) for edge in chosen]
            for key, chosen in found.items()
            if chosen
        }

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        state = self._state()
        edges = [*_structure_edges(state), *_mention_edges(state), *_relation_edges(state)]
        edges.sort(key=edge_order)
        yield from (edge for edge in edges if types is None or edge.type in types)

    def explore(
        self,
        seeds: Sequence[str],
        *,
        direction: Direction = "both",
        depth: int = 2,
        fan: int = 8,
        limit: int = 50,
        types: Collection[str] | None = None,
    ) -> Subgraph:
        nodes = self._all_nodes()
        edges = _by_key(
            edge
            for edge in self.edges(types=ENTITY_EDGES if types is None else types)
            if edge.source in nodes and edge.target in nodes
        )
        adjacent = _adjacent_by_node(edges.values(), direction)
        reached = walk_graph(
            lambda keys: [strongest_edges(adjacent.get(key, ()), fan) for key in keys],
            [seed for seed in seeds if seed in nodes],
            depth=depth,
            limit=limit,
        )
        return Subgraph(
            tuple(nodes[key] for key in reached.nodes),
            tuple(_with_first_chunks(edges, edge) for edge in reached.edges),
        )

    def schema(self) -> GraphSchema:
        edges = list(self.edges())
        relations = Counter(edge.relation for edge in edges if edge.type == EdgeType.RELATES)
        return GraphSchema(
            dict(sorted(Counter(node.label for node in self._all_nodes().values()).items())),
            dict(sorted(Counter(edge.type for edge in edges).items())),
            dict(sorted(relations.items(), key=lambda item: (-item[1], item[0]))),
        )

    def _all_nodes(self) -> dict[str, Node]:
        state = self._state()
        entities = self.entities({entity for _, entity in state.mentions})
        nodes = [
            *map(document_node, state.documents.values()),
            *(section_node(s) for tree in state.sections.values() for s in tree),
            *map(chunk_node, state.chunks.values()),
            *map(entity_node, entities.values()),
        ]
        return {node.id: node for node in nodes}


_EdgeKey = tuple[str, str, str, str]


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


def _structure_edges(state: State) -> Iterator[Edge]:
    for tree in state.sections.values():
        for section in tree:
            yield Edge(section.parent_id or section.document_id, EdgeType.HAS_SECTION, section.id)
    leaves: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for chunk in state.chunks.values():
        yield Edge(chunk.section_id, EdgeType.HAS_CHUNK, chunk.id)
        if chunk.parent_id is not None:
            yield Edge(chunk.parent_id, EdgeType.HAS_CHILD, chunk.id)
        if not chunk.is_parent:
            leaves[chunk.document_id].append((chunk.ordinal, chunk.id))
    for order in leaves.values():
        order.sort()
        for (_, chunk_id), (_, following) in pairwise(order):
            yield Edge(chunk_id, EdgeType.NEXT, following)


def _mention_edges(state: State) -> Iterator[Edge]:
    for (chunk, entity), mention in state.mentions.items():
        times = max(1, len(mention.spans))
        yield Edge(chunk, EdgeType.MENTIONS, entity, float(times), "", (chunk,))
        if mention.about > 0:
            yield Edge(chunk, EdgeType.ABOUT, entity, mention.about, "", (chunk,))


def _relation_edges(state: State) -> Iterator[Edge]:
    grouped: defaultdict[tuple[str, str, str], list[Relation]] = defaultdict(list)
    for relation in state.relations.values():
        grouped[relation.source, relation.target, relation.relation].append(relation)
    for (source, target, name), contributions in grouped.items():
        weight = float(sum(contribution.weight for contribution in contributions))
        chunks = tuple(sorted(contribution.chunk_id for contribution in contributions))
        yield Edge(source, relation_edge_type(name), target, weight, name, chunks)


def _by_key(edges: Iterable[Edge]) -> dict[_EdgeKey, Edge]:
    return {(edge.source, edge.target, edge.type, edge.relation): edge for edge in edges}


def _adjacent_by_node(
    edges: Iterable[Edge], direction: Direction
) -> Mapping[str, list[AdjacentEdge[str]]]:
    adjacent: defaultdict[str, list[AdjacentEdge[str]]] = defaultdict(list)
    for edge in edges:
        for near, far, seen_as in (
            (edge.source, edge.target, "out"),
            (edge.target, edge.source, "in"),
        ):
            if direction in ("both", seen_as):
                adjacent[near].append(
                    AdjacentEdge(
                        -edge.weight, far, edge.type, edge.relation, edge.source, edge.target
                    )
                )
    return adjacent


def _with_first_chunks(edges: Mapping[_EdgeKey, Edge], adjacent: AdjacentEdge[str]) -> Edge:
    edge = edges[adjacent.source, adjacent.target, adjacent.type, adjacent.relation]
    return replace(edge, chunks=edge.chunks[:EDGE_CHUNKS])
