"""Read the graph: entities, nodes, neighbours, relation links and walks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Any

import apsw

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, strongest_edges, walk_graph
from knotwork._stores.base import RelationLink, Scored
from knotwork._stores.embedded.contributions import (
    relation_key,
    remove_contributions,
    write_contributions,
)
from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.graph_rows import (
    ENTITIES_BY_KEY,
    find_keys,
    read_nodes,
    scan_edges,
)
from knotwork._stores.embedded.packing import keys_of, pack_keys, unpack_spans
from knotwork._stores.graph_view import EDGE_CHUNKS
from knotwork._stores.sql.graph_tables import NODE_TABLES
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
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
    int_to_id,
    relation_edge_type,
)

_MENTIONS = (
    "SELECT m.chunk, e.normal_form, m.name, m.type, m.spans, m.about FROM json_each(?) j"
    " CROSS JOIN mention m ON m.chunk = j.value CROSS JOIN entity e ON e.id = m.entity"
    " ORDER BY m.chunk, m.entity"
)
_RELATIONS = (
    'SELECT c.chunk, c.source, r.name, c.target, c.weight, c.start, c."end", c.description'
    " FROM json_each(?) j CROSS JOIN contribution c ON c.chunk = j.value"
    " CROSS JOIN relation r ON r.id = c.relation ORDER BY c.chunk, c.source, r.name, c.target"
)
_ABOUT = (
    "SELECT j.value, (SELECT group_concat(format('%016x %!.17g', chunk, about), ' ') FROM"
    " (SELECT chunk, about FROM mention WHERE entity = j.value AND about > ?2"
    " ORDER BY about DESC, chunk LIMIT ?3)) FROM json_each(?1) j"
)
"""The first chunks of each of many entities, as one text: SQLite has no LATERAL. 17 digits are the
number itself."""
_SUPPORTS = (
    "SELECT j.key, (SELECT group_concat(printf('%016x', chunk), ' ') FROM"
    " (SELECT chunk FROM contribution WHERE source = j.value ->> 0 AND target = j.value ->> 1"
    " AND relation = j.value ->> 2 ORDER BY chunk LIMIT ?2)) FROM json_each(?1) j"
)
_LABEL_COUNTS = (
    "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM section),"  # noqa: S608
    " (SELECT count(*) FROM chunk), (SELECT count(*) FROM entity),"
    f" (SELECT count(*) FROM {NODE_TABLES[Label.KEYWORD]})"
)
_EDGE_COUNTS = (
    "SELECT (SELECT count(*) FROM section), (SELECT count(*) FROM chunk),"
    " (SELECT count(*) FROM chunk WHERE parent IS NOT NULL),"
    " (SELECT count(*) - count(DISTINCT document) FROM chunk WHERE is_parent = 0),"
    " (SELECT count(*) FROM mention), (SELECT count(*) FROM mention WHERE about > 0)"
)


@reports_damage
class EmbeddedGraph:
    """The `GraphStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        """Add contributions, or replace those with the same key."""
        with self._database.transaction():
            write_contributions(self._database, mentions, relations)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove the contributions of these chunks, and nodes and edges without other support."""
        with self._database.transaction():
            remove_contributions(self._database, [key for _, key in keys_of(chunk_ids)])

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these ids."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            rows = self._database.fetch(ENTITIES_BY_KEY, (pack_keys(keys.values()),))
        found = {key: columns for key, *columns in rows}
        return {i: Entity(i, *found[key]) for i, key in keys.items() if key in found}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these normal forms, by normal form."""
        found = self.entities([entity_id(form) for form in normal_forms])
        return {entity.normal_form: entity for entity in found.values()}

    def entity_count(self) -> int:
        """Return the number of entities without keywords."""
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {NODE_TABLES[Label.ENTITY]}")  # noqa: S608
        return int(count)

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        """Return each chunk's mentions, ordered by entity id."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_MENTIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Mention]] = defaultdict(list)
        for key, normal_form, name, type_, spans, about in checked(rows):
            mention = Mention(int_to_id(key), normal_form, name, type_, unpack_spans(spans), about)
            grouped[key].append(mention)
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_RELATIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Relation]] = defaultdict(list)
        for key, source, name, target, weight, start, end, description in checked(rows):
            span = None if start is None else Span(start, end)
            ends = int_to_id(source), int_to_id(target)
            grouped[key].append(
                Relation(int_to_id(key), ends[0], name, ends[1], weight, span, description)
            )
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        """Return the ``fan`` chunks of each entity with the highest ``about`` over ``minimum``."""
        keys = dict(keys_of(entity_ids))
        with self._database.reading():
            bindings = (pack_keys(keys.values()), minimum, max(fan, 0))
            ranked: dict[int, str] = dict(self._database.fetch(_ABOUT, bindings))
        found: dict[str, list[Scored]] = {}
        for entity, key in keys.items():
            if listed := ranked[key]:
                words = listed.split()
                found[entity] = list(map(Scored, words[::2], map(float, words[1::2])))
        return found

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes of any label."""
        keys = dict(keys_of(ids))
        with self._database.reading() as connection:
            found = read_nodes(connection, keys.values())
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        """Return nodes of a label, a name or both, ordered by id; see `GraphStore.find`."""
        with self._database.reading() as connection:
            keys = find_keys(connection, label=label, name=name, limit=max(limit, 0))
            found = read_nodes(connection, keys)
        return [found[key] for key in keys]

    def neighbours(
        self,
        ids: Collection[str],
        *,
        direction: Direction = "both",
        types: Collection[str] | None = None,
        fan: int | None = None,
    ) -> dict[str, list[Edge]]:
        """Return the edges of each node to its ``fan`` strongest neighbours, strongest first."""
        keys = dict(keys_of(ids))
        with self._database.reading() as connection:
            adjacency = Adjacency(connection, direction=direction, types=types, fan=fan)
            found = zip(keys, adjacency(list(keys.values())), strict=True)
            return {i: self._edges(adjacent) for i, adjacent in found if adjacent}

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the strongest relations and co-occurrences of each entity, without chunks."""
        with self._database.reading() as connection:
            return read_relation_links(connection, keys_of(entity_ids), limit=limit)

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the ``limit`` chunks with the smallest ids of each (source, relation, target)."""
        keys = dict(keys_of([end for source, _, target in relations for end in (source, target)]))
        known = [
            (keys[source], keys[target], relation_key(name))
            if source in keys and target in keys
            else (-1, -1, -1)
            for source, name, target in relations
        ]
        with self._database.reading():
            rows = self._database.fetch(_SUPPORTS, (pack_keys(known), limit))
        return [tuple(sorted((chunks or "").split())) for _, chunks in sorted(rows)]

    def edges(self, *, types: Collection[str] | None = None) -> Iterator[Edge]:
        """Yield all edges with all their chunks, ordered by (type, source, target, relation)."""
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
        """Walk breadth first from ``seeds``; see `GraphStore.explore`."""
        followed = ENTITY_EDGES if types is None else types
        with self._database.reading() as connection:
            keys = [key for _, key in keys_of(seeds)]
            known = read_nodes(connection, keys)
            adjacency = Adjacency(
                connection, direction=direction, types=followed, fan=fan, existing_only=True
            )
            start = [key for key in keys if key in known]
            reached = walk_graph(adjacency, start, depth=depth, limit=limit)
            nodes = read_nodes(connection, reached.nodes)
            return Subgraph(
                tuple(nodes[key] for key in reached.nodes),
                tuple(self._edges(reached.edges)),
            )

    def schema(self) -> GraphSchema:
        """Count nodes by label, edges by type and RELATES edges by relation."""
        with self._database.reading():
            ((document, section, chunk, entity, keyword),) = self._database.rows(_LABEL_COUNTS)
            (counts,) = self._database.rows(_EDGE_COUNTS)
            relations: dict[str, int] = dict(
                self._database.rows("SELECT name, edges FROM relation ORDER BY edges DESC, name")
            )
        co_occurring = relations.pop(CO_OCCURRENCE_RELATION, 0)
        labels = (
            (Label.CHUNK, chunk),
            (Label.DOCUMENT, document),
            (Label.ENTITY, entity - keyword),
            (Label.KEYWORD, keyword),
            (Label.SECTION, section),
        )
        types = (
            EdgeType.HAS_SECTION,
            EdgeType.HAS_CHUNK,
            EdgeType.HAS_CHILD,
            EdgeType.NEXT,
            EdgeType.MENTIONS,
            EdgeType.ABOUT,
        )
        edge_types = sorted(
            [
                *zip(types, counts, strict=True),
                (EdgeType.RELATES, sum(relations.values())),
                (EdgeType.CO_OCCURS, co_occurring),
            ]
        )
        return GraphSchema(
            {label: count for label, count in labels if count},
            {type_: count for type_, count in edge_types if count},
            relations,
        )

    def _edges(self, adjacent: Sequence[AdjacentEdge[int]]) -> list[Edge]:
        """Convert adjacent edges to edges with their first supporting chunks."""
        keys = [(e.source, e.target, relation_key(e.relation)) for e in adjacent if e.relation]
        rows = self._database.fetch(_SUPPORTS, (pack_keys(keys), EDGE_CHUNKS))
        supports = (tuple(sorted(chunks.split())) for _, chunks in sorted(rows))
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


_Side = tuple[EdgeType, bool]
"""An edge type, and whether it is followed from source to target."""

_DIRECTION_NAMES = {True: "out", False: "in"}
_EdgeRow = tuple[int, float, str]
"""The other end of an edge, its weight and its relation."""

_STRUCTURE_EDGES: dict[_Side, str] = {
    (EdgeType.HAS_SECTION, True): (
        "SELECT id, 1.0, '' FROM section WHERE document = ?1 AND parent IS NULL"
        " UNION ALL SELECT id, 1.0, '' FROM section WHERE parent = ?1"
    ),
    (
        EdgeType.HAS_SECTION,
        False,
    ): "SELECT coalesce(parent, document), 1.0, '' FROM section WHERE id = ?",
    (EdgeType.HAS_CHUNK, True): "SELECT id, 1.0, '' FROM chunk WHERE section = ?",
    (EdgeType.HAS_CHUNK, False): "SELECT section, 1.0, '' FROM chunk WHERE id = ?",
    (EdgeType.HAS_CHILD, True): "SELECT id, 1.0, '' FROM chunk WHERE parent = ?",
    (EdgeType.HAS_CHILD, False): (
        "SELECT parent, 1.0, '' FROM chunk WHERE id = ? AND parent IS NOT NULL"
    ),
    (EdgeType.NEXT, True): (
        "SELECT b.id, 1.0, '' FROM chunk a JOIN chunk b"
        " ON b.document = a.document AND b.is_parent = 0 AND (b.ordinal, b.id) > (a.ordinal, a.id)"
        " WHERE a.id = ? AND a.is_parent = 0 ORDER BY b.ordinal, b.id LIMIT 1"
    ),
    (EdgeType.NEXT, False): (
        "SELECT b.id, 1.0, '' FROM chunk a JOIN chunk b"
        " ON b.document = a.document AND b.is_parent = 0 AND (b.ordinal, b.id) < (a.ordinal, a.id)"
        " WHERE a.id = ? AND a.is_parent = 0 ORDER BY b.ordinal DESC, b.id DESC LIMIT 1"
    ),
    (EdgeType.MENTIONS, True): "SELECT entity, times, '' FROM mention WHERE chunk = ?",
    (EdgeType.MENTIONS, False): "SELECT chunk, times, '' FROM mention WHERE entity = ?",
    (EdgeType.ABOUT, True): "SELECT entity, about, '' FROM mention WHERE chunk = ? AND about > 0",
    (EdgeType.ABOUT, False): "SELECT chunk, about, '' FROM mention WHERE entity = ? AND about > 0",
}
"""For each edge type without relations, a query of the far ends and weights of a node's edges."""

_RELATES = {
    True: (
        "SELECT e.target, e.weight, r.name FROM edge e JOIN relation r ON r.id = e.relation"
        " WHERE e.source = ?1 {} ORDER BY e.weight DESC, e.target LIMIT ?2"
    ),
    False: (
        "SELECT e.source, e.weight, r.name FROM edge e JOIN relation r ON r.id = e.relation"
        " WHERE e.target = ?1 {} ORDER BY e.weight DESC, e.source LIMIT ?2"
    ),
}
_RELATES_BETWEEN = {
    True: (
        "SELECT e.target, e.weight, r.name FROM json_each(?2) j"
        " CROSS JOIN edge e ON e.source = ?1 AND e.target = j.value"
        " CROSS JOIN relation r ON r.id = e.relation WHERE true {}"
    ),
    False: (
        "SELECT e.source, e.weight, r.name FROM json_each(?2) j"
        " CROSS JOIN edge e ON e.source = j.value AND e.target = ?1"
        " CROSS JOIN relation r ON r.id = e.relation WHERE true {}"
    ),
}
_CO_OCCURRENCE = relation_key(CO_OCCURRENCE_RELATION)
_OF_TYPES: dict[frozenset[str], str] = {
    frozenset({EdgeType.RELATES}): f"AND e.relation <> {_CO_OCCURRENCE}",
    frozenset({EdgeType.CO_OCCURS}): f"AND e.relation = {_CO_OCCURRENCE}",
}
"""An extra condition on the edges if only relations or only co-occurrences are requested."""

_NODE_EXISTS = (
    "SELECT 1 FROM chunk WHERE id = ?1 UNION ALL SELECT 1 FROM entity WHERE id = ?1"
    " UNION ALL SELECT 1 FROM section WHERE id = ?1 UNION ALL SELECT 1 FROM document WHERE id = ?1"
    " LIMIT 1"
)
_NO_LIMIT = -1
_SPARE_EDGES = 24
_PAGE_GROWTH = 8


class Adjacency:
    """Read the edges of nodes in one direction or both, of some types, limited to a fan.

    Of the relations and co-occurrences of a node, it reads only as many rows as the fan needs.
    ``existing_only`` skips edges to nodes that are not stored, as a mention may be written before
    its document; the ends of relations always exist.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        direction: Direction,
        types: Collection[str] | None,
        fan: int | None,
        existing_only: bool = False,
    ) -> None:
        self._execute: Callable[..., Any] = connection.execute
        self._fan = fan
        self._existing_only = existing_only
        self._sides = [out for out in (True, False) if direction in ("both", _DIRECTION_NAMES[out])]
        wanted = ENTITY_EDGES if types is None else ENTITY_EDGES.intersection(types)
        self._has_relations = bool(wanted)
        of_types = _OF_TYPES.get(wanted, "")
        self._relations = {out: sql.format(of_types) for out, sql in _RELATES.items()}
        self._between = {out: sql.format(of_types) for out, sql in _RELATES_BETWEEN.items()}
        self._structure = [
            (type_, out, sql)
            for (type_, out), sql in _STRUCTURE_EDGES.items()
            if out in self._sides and (types is None or type_ in types)
        ]

    def __call__(self, nodes: Sequence[int]) -> Iterator[list[AdjacentEdge[int]]]:
        """Yield the edges of each node, strongest first."""
        for node in checked(nodes):
            edges = self._relation_edges(node) if self._has_relations else []
            for type_, out, sql in self._structure:
                rows = self._execute(sql, (node,)).fetchall()
                if self._existing_only:
                    rows = [
                        row for row in rows if self._execute(_NODE_EXISTS, (row[0],)).fetchall()
                    ]
                edges += _adjacent_edges(node, rows, out=out, type_=type_)
            yield strongest_edges(edges, self._fan)

    def _relation_edges(self, node: int) -> list[AdjacentEdge[int]]:
        """Return all edges to the strongest neighbours, and possibly some to others.

        Each of the strongest neighbours is among the strongest of at least one direction, so the
        first rows of each direction contain all of them. Their weaker edges are then read by both
        ends.
        """
        edges: list[AdjacentEdge[int]] = []
        incomplete: list[bool] = []
        for out in self._sides:
            rows, is_complete = self._first_rows(node, out=out)
            edges += _adjacent_edges(node, rows, out=out)
            if not is_complete:
                incomplete.append(out)
        if incomplete:
            others = dict.fromkeys(edge.other for edge in strongest_edges(edges, self._fan))
            for out in incomplete:
                rows = self._execute(self._between[out], (node, pack_keys(others))).fetchall()
                edges += _adjacent_edges(node, rows, out=out)
        return edges

    def _first_rows(self, node: int, *, out: bool) -> tuple[list[_EdgeRow], bool]:
        """Return the first rows, for more than ``fan`` neighbours, and True if they are all."""
        sql = self._relations[out]
        if self._fan is None:
            return self._execute(sql, (node, _NO_LIMIT)).fetchall(), True
        size = 2 * self._fan + _SPARE_EDGES
        while True:
            rows = self._execute(sql, (node, size)).fetchall()
            if len(rows) < size:
                return rows, True
            if len({other for other, _, _ in rows}) > self._fan:
                return rows, False
            size *= _PAGE_GROWTH


def _adjacent_edges(
    node: int, rows: Iterable[_EdgeRow], *, out: bool, type_: EdgeType | None = None
) -> list[AdjacentEdge[int]]:
    """Convert rows to edges; without ``type_``, the relation of a row determines its type."""
    return [
        AdjacentEdge(
            -weight,
            other,
            type_ or relation_edge_type(name),
            name,
            *((node, other) if out else (other, node)),
        )
        for other, weight, name in rows
    ]


_LINKS_OUT = (
    "SELECT relation, target, weight FROM edge WHERE source = ?"
    " ORDER BY weight DESC, target, relation LIMIT ?"
)
_LINKS_IN = (
    "SELECT relation, source, weight FROM edge WHERE target = ?"
    " ORDER BY weight DESC, source, relation LIMIT ?"
)
_RELATION_NAME = "SELECT name FROM relation WHERE id = ?"


def read_relation_links(
    connection: apsw.Connection, keys: Iterable[tuple[str, int]], *, limit: int
) -> dict[str, list[RelationLink]]:
    """Return the relations of each (id, key); see `GraphStore.relation_links`."""
    execute: Callable[..., Any] = connection.execute

    @cache
    def name_of(relation: int) -> str:
        ((name,),) = execute(_RELATION_NAME, (relation,)).fetchall()
        return str(name)

    found: dict[str, list[RelationLink]] = {}
    for identifier, key in keys:
        links = [
            RelationLink(name_of(relation), forward, int_to_id(other), float(weight))
            for sql, forward in ((_LINKS_OUT, True), (_LINKS_IN, False))
            for relation, other, weight in execute(sql, (key, max(limit, 0))).fetchall()
        ]
        if links:
            found[identifier] = links
    return found
