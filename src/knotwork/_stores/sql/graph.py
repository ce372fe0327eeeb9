"""Read the graph: entities, nodes, neighbours, relation links and walks.

What is written to it has the integer keys of its rows, with the names that hashes stand for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from typing import Protocol

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, walk_graph
from knotwork._stores.base import RelationLink, Scored
from knotwork._stores.graph_view import EDGE_CHUNKS, schema_of
from knotwork._stores.sql.adjacency import Adjacency, NeighbourReader
from knotwork._stores.sql.collisions import check_same_name
from knotwork._stores.sql.database import Dialect, Row, SqlDatabase, SqlPart, reports_damage
from knotwork._stores.sql.nodes import NODE_TABLES, NodeReader, relation_key, scan_edges
from knotwork._stores.sql.packing import keys_of, pack_spans, unpack_spans
from knotwork.records import (
    ENTITY_EDGES,
    Direction,
    Edge,
    EdgeType,
    Entity,
    GraphSchema,
    Label,
    Mention,
    Node,
    Relation,
    Span,
    Subgraph,
    entity_id,
    id_to_int,
    int_to_id,
)


class Contributions(Protocol):
    """Writes mentions and relations, and the entities and edges that sum them up.

    Use it inside `SqlDatabase.transaction`.
    """

    def add(self, mentions: Iterable[Mention], relations: Iterable[Relation]) -> None:
        """Add contributions, or replace those with the same key."""

    def remove(self, chunks: Sequence[int]) -> None:
        """Remove the contributions of chunks, and entities and edges without other support."""


class GraphStatements:
    """The statements of `SqlGraph` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.entity_count = f"SELECT count(*) FROM {NODE_TABLES[Label.ENTITY]}"
        self.mentions = f"""
            SELECT m.chunk, e.normal_form, m.name, m.type, m.spans, m.about
            FROM {keys} CROSS JOIN mention m CROSS JOIN entity e
            WHERE m.chunk = j.value AND e.id = m.entity
            ORDER BY m.chunk, m.entity
        """
        self.relations = f"""
            SELECT c.chunk, c.source, r.name, c.target, c.weight, c.start, c."end", c.description
            FROM {keys} CROSS JOIN contribution c CROSS JOIN relation r
            WHERE c.chunk = j.value AND r.id = c.relation
            ORDER BY c.chunk, c.source, r.name, c.target
        """
        chunks = dialect.joined(
            """
                SELECT m.chunk, m.about FROM mention m WHERE m.entity = j.value AND m.about > $1
                ORDER BY m.about DESC, m.chunk LIMIT $2
            """,
            chunk="id",
            about="real",
        )
        self.about = f"SELECT j.value, {chunks} FROM {dialect.keys('$3')}"
        supports = dialect.joined(
            """
                SELECT c.chunk FROM contribution c
                WHERE c.source = j.source AND c.target = j.target AND c.relation = j.relation
                ORDER BY c.chunk LIMIT $1
            """,
            chunk="id",
        )
        rows = dialect.rows("$2", "source", "target", "relation")
        self.supports = f"SELECT j.place, {supports} FROM {rows}"
        self.label_counts = f"""
            SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM section),
                (SELECT count(*) FROM chunk), (SELECT count(*) FROM entity),
                (SELECT count(*) FROM {NODE_TABLES[Label.KEYWORD]})
        """
        self.edge_counts = """
            SELECT (SELECT count(*) FROM section), (SELECT count(*) FROM chunk),
                (SELECT count(*) FROM chunk WHERE parent IS NOT NULL),
                (SELECT count(*) - count(DISTINCT document) FROM chunk WHERE is_parent = 0),
                (SELECT count(*) FROM mention), (SELECT count(*) FROM mention WHERE about > 0)
        """
        self.relation_counts = "SELECT name, edges FROM relation ORDER BY edges DESC, name"


@reports_damage
class SqlGraph(SqlPart):
    """The `GraphStore` of stores in SQL databases; ``contributions`` are written by the engine."""

    def __init__(self, database: SqlDatabase, contributions: Contributions) -> None:
        super().__init__(database)
        self._contributions = contributions
        self._sql = GraphStatements(database.dialect)
        self._nodes = NodeReader(database)
        self._neighbours = NeighbourReader(database)

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        with self._database.transaction():
            self._contributions.add(mentions, relations)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._contributions.remove([key for _, key in keys_of(chunk_ids)])

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        keys = dict(keys_of(ids))
        with self._database.reading():
            found = self._nodes.entities(keys.values())
        return {i: found[key] for i, key in keys.items() if key in found}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        found = self.entities([entity_id(form) for form in normal_forms])
        return {entity.normal_form: entity for entity in found.values()}

    def entity_count(self) -> int:
        ((count,),) = self._database.rows(self._sql.entity_count)
        return int(count)

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        return self._lists(self._sql.mentions, chunk_ids, _mention)

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        return self._lists(self._sql.relations, chunk_ids, _relation)

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        keys = dict(keys_of(entity_ids))
        with self._database.reading():
            bindings = (minimum, max(fan, 0), self._bind(keys.values()))
            ranked: dict[int, str] = dict(self._database.fetch(self._sql.about, bindings))
        found: dict[str, list[Scored]] = {}
        for entity, key in keys.items():
            if listed := ranked[key]:
                words = listed.split()
                found[entity] = list(map(Scored, words[::2], map(float, words[1::2])))
        return found

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        keys = dict(keys_of(ids))
        with self._database.reading():
            found = self._nodes.read(keys.values())
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        with self._database.reading():
            keys = self._nodes.find(label=label, name=name, limit=max(limit, 0))
            found = self._nodes.read(keys)
        return [found[key] for key in keys]

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        keys = dict(keys_of(ids))
        with self._database.reading():
            adjacency = Adjacency(self._neighbours, direction=direction, types=types, fan=fan)
            found = list(adjacency(list(keys.values())))
            edges = iter(self._edges(list(chain.from_iterable(found))))
        parts = zip(keys, found, strict=True)
        return {i: list(islice(edges, len(adjacent))) for i, adjacent in parts if adjacent}

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        with self._database.reading():
            return self._neighbours.links(dict(keys_of(entity_ids)), limit=max(limit, 0))

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        keys = dict(keys_of([end for source, _, target in relations for end in (source, target)]))
        known = [
            (keys[source], keys[target], relation_key(name))
            if source in keys and target in keys
            else (-1, -1, -1)
            for source, name, target in relations
        ]
        with self._database.reading():
            return self._supports(known, limit=limit)

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        for type_ in sorted(EdgeType):
            if types is None or type_ in types:
                yield from scan_edges(self._database, type_)

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
        followed = ENTITY_EDGES if types is None else types
        with self._database.reading():
            keys = [key for _, key in keys_of(seeds)]
            known = self._nodes.read(keys)
            adjacency = Adjacency(
                self._neighbours, direction=direction, types=followed, fan=fan, existing_only=True
            )
            start = [key for key in keys if key in known]
            reached = walk_graph(adjacency, start, depth=depth, limit=limit)
            others = [key for key in reached.nodes if key not in known]
            nodes = known | self._nodes.read(others)
            return Subgraph(
                tuple(nodes[key] for key in reached.nodes),
                tuple(self._edges(reached.edges)),
            )

    def schema(self) -> GraphSchema:
        """Count nodes by label, edges by type and RELATES edges by relation."""
        with self._database.reading():
            ((document, section, chunk, entity, keyword),) = self._database.fetch(
                self._sql.label_counts
            )
            (counts,) = self._database.fetch(self._sql.edge_counts)
            relations: dict[str, int] = dict(self._database.fetch(self._sql.relation_counts))
        return schema_of((document, section, chunk, entity - keyword, keyword), counts, relations)

    def _edges(self, adjacent: Sequence[AdjacentEdge[int]]) -> list[Edge]:
        """Convert adjacent edges to edges with their first supporting chunks."""
        keys = [(e.source, e.target, relation_key(e.relation)) for e in adjacent if e.relation]
        supports = iter(self._supports(keys, limit=EDGE_CHUNKS))
        id_of = cache(int_to_id)  # the edges of a walk share many ends
        edges: list[Edge] = []
        for edge in adjacent:
            source, target = id_of(edge.source), id_of(edge.target)
            chunks: tuple[str, ...] = ()
            if edge.relation:
                chunks = next(supports)
            elif edge.type in (EdgeType.MENTIONS, EdgeType.ABOUT):
                chunks = (source,)
            edges.append(Edge(source, edge.type, target, edge.weight, edge.relation, chunks))
        return edges

    def _supports(
        self, keys: Sequence[tuple[int, int, int]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the first chunks of each (source, target, relation), ascending."""
        if not keys:
            return []
        bound = (limit, self._database.dialect.bind_rows(keys))
        rows = self._database.fetch(self._sql.supports, bound)
        return [tuple((chunks or "").split()) for _, chunks in sorted(rows)]


def _mention(
    chunk_id: str, normal_form: str, name: str, type_: str, spans: bytes, about: float
) -> Mention:
    return Mention(chunk_id, normal_form, name, type_, unpack_spans(spans), about)


def _relation(
    chunk_id: str,
    source: int,
    name: str,
    target: int,
    weight: int,
    start: int | None,
    end: int,
    description: str,
) -> Relation:
    span = None if start is None else Span(start, end)
    return Relation(chunk_id, int_to_id(source), name, int_to_id(target), weight, span, description)


MentionKey = tuple[int, int]
"""Chunk and entity."""

EdgeKey = tuple[int, int, int]
"""Source, target and relation."""

ContributionKey = tuple[int, int, int, int]
"""Chunk, source, target and relation."""


def keyed_mentions(
    mentions: Iterable[Mention], normal_forms: dict[int, str]
) -> dict[MentionKey, Mention]:
    """Return mentions by key, and add the normal forms of their entities to those of a transaction.

    Raises IdCollision if two entities have one key.
    """
    found: dict[MentionKey, Mention] = {}
    for mention in checked(mentions):
        entity = id_to_int(mention.entity_id)
        form = normal_forms.setdefault(entity, mention.normal_form)
        if form != mention.normal_form:
            check_same_name(mention.entity_id, "entity", form, mention.normal_form)
        found[id_to_int(mention.chunk_id), entity] = mention
    return found


@dataclass(slots=True)
class GraphChanges(ABC):
    """How contributions change the entities and edges that sum them up."""

    normal_forms: dict[int, str] = field(default_factory=dict)
    weights: Counter[EdgeKey] = field(default_factory=Counter)
    supports: Counter[EdgeKey] = field(default_factory=Counter)
    relations: dict[int, str] = field(default_factory=dict)

    @abstractmethod
    def mention(self, sign: int, *, entity: int, times: int, name: str, type_: str) -> None:
        """Add a mention, or subtract it."""

    def relation(self, sign: int, *, key: EdgeKey, weight: int) -> None:
        """Add a relation that a chunk states, or subtract it."""
        self.supports[key] += sign
        self.weights[key] += sign * weight

    def add(
        self,
        mentions: Mapping[MentionKey, Mention],
        relations: Mapping[ContributionKey, Relation],
    ) -> None:
        """Add what chunks contribute."""
        for (_, entity), mention in checked(mentions.items()):
            times = max(1, len(mention.spans))
            self.mention(1, entity=entity, times=times, name=mention.name, type_=mention.type)
        for (_, *ends, name), relation in checked(relations.items()):
            self.relation(1, key=(ends[0], ends[1], name), weight=relation.weight)


def mention_row(key: MentionKey, mention: Mention) -> Row:
    """Return the columns of a mention, in the order of its table."""
    times = max(1, len(mention.spans))
    return *key, times, mention.about, mention.name, mention.type, pack_spans(mention.spans)


def contribution_row(key: ContributionKey, relation: Relation) -> Row:
    """Return the columns of a relation that a chunk states, in the order of its table."""
    return *key, relation.weight, *(relation.span or (None, None)), relation.description


def keyed_relations(
    relations: Iterable[Relation], names: dict[int, str]
) -> dict[ContributionKey, Relation]:
    """Return relations by key, and add their names to those of a transaction.

    Raises IdCollision if two names have one key.
    """
    found: dict[ContributionKey, Relation] = {}
    for relation in checked(relations):
        key = relation_key(relation.relation)
        name = names.setdefault(key, relation.relation)
        if name != relation.relation:
            check_same_name(int_to_id(key), "relation", name, relation.relation)
        ends = id_to_int(relation.source), id_to_int(relation.target)
        found[id_to_int(relation.chunk_id), *ends, key] = relation
    return found
