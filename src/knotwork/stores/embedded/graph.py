"""Read the graph: entities, nodes, neighbours, relation links and walks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import apsw

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
from knotwork.stores.base import Scored
from knotwork.stores.embedded.contributions import (
    relation_key,
    remove_contributions,
    write_contributions,
)
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.graph_rows import NODE_TABLES, find_keys, read_nodes, scan_edges
from knotwork.stores.embedded.packing import keys_of, pack_keys, unpack_spans
from knotwork.stores.extensions import RelationLink
from knotwork.stores.graph_view import EDGE_CHUNKS, AdjacentEdge, strongest_edges, walk_graph

_ENTITIES = (
    "SELECT e.id, e.name, e.normal_form, e.type, e.chunk_count FROM json_each(?) j"
    " CROSS JOIN entity e ON e.id = j.value"
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
    "SELECT chunk, about FROM mention WHERE entity = ? AND about > ?"
    " ORDER BY about DESC, chunk LIMIT ?"
)
_MOST_ABOUT = (
    "SELECT j.value, m.chunk, m.about FROM json_each(?1) j CROSS JOIN mention m"
    " ON m.entity = j.value AND m.chunk = (SELECT chunk FROM mention"
    " WHERE entity = j.value AND about > ?2 ORDER BY about DESC, chunk LIMIT 1)"
)
"""The same for one chunk of each of many entities."""
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


class EmbeddedGraph:
    """The `GraphStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def upsert(
        self, *, mentions: Iterable[Mention] = (), relations: Iterable[Relation] = ()
    ) -> None:
        """Add contributions; one with the key of an earlier one replaces it."""
        with self._database.transaction():
            write_contributions(self._database, mentions, relations)

    def remove_chunks(self, chunk_ids: Collection[str]) -> None:
        """Remove all contributions of these chunks, and what is then supported by none."""
        with self._database.transaction():
            remove_contributions(self._database, [key for _, key in keys_of(chunk_ids)])

    def entities(self, ids: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these ids."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            rows = self._database.fetch(_ENTITIES, (pack_keys(keys.values()),))
        found = {key: columns for key, *columns in rows}
        return {i: Entity(i, *found[key]) for i, key in keys.items() if key in found}

    def lookup(self, normal_forms: Collection[str]) -> dict[str, Entity]:
        """Return the entities with these normal forms, by normal form."""
        found = self.entities([entity_id(form) for form in normal_forms])
        return {entity.normal_form: entity for entity in found.values()}

    def entity_count(self) -> int:
        """Return the number of entities."""
        ((count,),) = self._database.rows(f"SELECT count(*) FROM {NODE_TABLES[Label.ENTITY]}")  # noqa: S608
        return int(count)

    def mentions(self, chunk_ids: Collection[str]) -> dict[str, list[Mention]]:
        """Return each chunk's mentions, ordered by entity id."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_MENTIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Mention]] = defaultdict(list)
        for key, normal_form, name, type_, spans, about in rows:
            mention = Mention(int_to_id(key), normal_form, name, type_, unpack_spans(spans), about)
            grouped[key].append(mention)
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def relations(self, chunk_ids: Collection[str]) -> dict[str, list[Relation]]:
        """Return each chunk's relations, ordered by source, relation and target."""
        keys = dict(keys_of(chunk_ids))
        with self._database.reading():
            rows = self._database.fetch(_RELATIONS, (pack_keys(keys.values()),))
        grouped: defaultdict[int, list[Relation]] = defaultdict(list)
        for key, source, name, target, weight, start, end, description in rows:
            span = None if start is None else Span(start, end)
            ends = int_to_id(source), int_to_id(target)
            grouped[key].append(
                Relation(int_to_id(key), ends[0], name, ends[1], weight, span, description)
            )
        return {chunk: grouped[key] for chunk, key in keys.items() if key in grouped}

    def about(
        self, entity_ids: Collection[str], *, fan: int, minimum: float = 0.0
    ) -> dict[str, list[Scored]]:
        """Return, for each entity, the ``fan`` chunks most about it (more than ``minimum``)."""
        if fan == 1:
            return self._most_about(dict(keys_of(entity_ids)), minimum)
        ranked: dict[str, list[Scored]] = {}
        with self._database.reading():
            for entity, key in keys_of(entity_ids):
                rows = self._database.fetch(_ABOUT, (key, minimum, max(fan, 0)))
                if rows:
                    ranked[entity] = [Scored(int_to_id(chunk), about) for chunk, about in rows]
        return ranked

    def _most_about(self, keys: Mapping[str, int], minimum: float) -> dict[str, list[Scored]]:
        with self._database.reading():
            rows = self._database.fetch(_MOST_ABOUT, (pack_keys(keys.values()), minimum))
        best = {key: [Scored(int_to_id(chunk), about)] for key, chunk, about in rows}
        return {entity: best[key] for entity, key in keys.items() if key in best}

    def nodes(self, ids: Collection[str]) -> dict[str, Node]:
        """Return nodes of any label."""
        keys = dict(keys_of(ids))
        with self._database.reading() as connection:
            found = read_nodes(connection, keys.values())
        return {identifier: found[key] for identifier, key in keys.items() if key in found}

    def find(
        self, *, label: str | None = None, name: str | None = None, limit: int = 100
    ) -> list[Node]:
        """Return nodes by label and/or exact name (entities: by normal form too), by id."""
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
        """Return each node's edges, strongest first, to at most ``fan`` neighbours a node."""
        keys = dict(keys_of(ids))
        with self._database.reading() as connection:
            adjacent = Adjacency(connection, direction=direction, types=types, fan=fan)
            found = zip(keys, adjacent(list(keys.values())), strict=True)
            return {i: self._edges(links) for i, links in found if links}

    def relation_links(
        self, entity_ids: Collection[str], *, limit: int
    ) -> dict[str, list[RelationLink]]:
        """Return the strongest relations and co-occurrences at each entity, without chunks."""
        with self._database.reading() as connection:
            return read_relation_links(connection, keys_of(entity_ids), limit=limit)

    def relation_chunks(
        self, relations: Sequence[tuple[str, str, str]], *, limit: int
    ) -> list[tuple[str, ...]]:
        """Return the first chunks that state each (source, relation, target), in order."""
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
        """Scan all edges with all their chunks, ordered by (type, source, target, relation)."""
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
            adjacent = Adjacency(
                connection, direction=direction, types=followed, fan=fan, present_only=True
            )
            start = [key for key in keys if key in known]
            reached = walk_graph(adjacent, start, depth=depth, limit=limit)
            nodes = read_nodes(connection, reached.nodes)
            return Subgraph(
                tuple(nodes[key] for key in reached.nodes),
                tuple(self._edges(reached.links)),
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

    def _edges(self, links: Sequence[AdjacentEdge[int]]) -> list[Edge]:
        """Return links as edges, each with its first supporting chunks."""
        supports = iter(self._supports([link for link in links if link.relation]))
        ids = _Ids()
        edges: list[Edge] = []
        for link in links:
            source, target = ids[link.source], ids[link.target]
            chunks: tuple[str, ...] = ()
            if link.relation:
                chunks = next(supports)
            elif link.type in (EdgeType.MENTIONS, EdgeType.ABOUT):
                chunks = (source,)
            edges.append(Edge(source, link.type, target, link.weight, link.relation, chunks))
        return edges

    def _supports(self, links: Sequence[AdjacentEdge[int]]) -> list[tuple[str, ...]]:
        """Return the first chunks of edges with a relation, in their order."""
        keys = [(link.source, link.target, relation_key(link.relation)) for link in links]
        rows = self._database.fetch(_SUPPORTS, (pack_keys(keys), EDGE_CHUNKS))
        return [tuple(sorted(chunks.split())) for _, chunks in sorted(rows)]


class _Ids(dict[int, str]):
    """Ids by key, each made once: the edges of a walk share their ends."""

    def __missing__(self, key: int) -> str:
        self[key] = int_to_id(key)
        return self[key]


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
"""For each type without a relation, a query for the other ends and weights of a node's edges."""

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
"""What an edge must be besides, where relations or co-occurrences alone are asked for."""

_NODE_EXISTS = (
    "SELECT 1 FROM chunk WHERE id = ?1 UNION ALL SELECT 1 FROM entity WHERE id = ?1"
    " UNION ALL SELECT 1 FROM section WHERE id = ?1 UNION ALL SELECT 1 FROM document WHERE id = ?1"
    " LIMIT 1"
)
_NO_LIMIT = -1
_SPARE_EDGES = 24
_PAGE_GROWTH = 8


class Adjacency:
    """Finds the links of nodes in one direction (or both), of some types, cut to a fan.

    The relations and co-occurrences of a node with many are read only as far as the fan needs.
    ``present_only`` leaves out links to what is not stored (a chunk may be mentioned before its
    document is put); the ends of relations always are.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        *,
        direction: Direction,
        types: Collection[str] | None,
        fan: int | None,
        present_only: bool = False,
    ) -> None:
        self._execute: Callable[..., Any] = connection.execute
        self._fan = fan
        self._present_only = present_only
        self._sides = [out for out in (True, False) if direction in ("both", _DIRECTION_NAMES[out])]
        wanted = ENTITY_EDGES if types is None else ENTITY_EDGES.intersection(types)
        self._relates = bool(wanted)
        of_types = _OF_TYPES.get(wanted, "")
        self._relations = {out: sql.format(of_types) for out, sql in _RELATES.items()}
        self._between = {out: sql.format(of_types) for out, sql in _RELATES_BETWEEN.items()}
        self._structure = [
            (type_, out, sql)
            for (type_, out), sql in _STRUCTURE_EDGES.items()
            if out in self._sides and (types is None or type_ in types)
        ]

    def __call__(self, nodes: Sequence[int]) -> Iterator[list[AdjacentEdge[int]]]:
        """Yield the links of each node, strongest first."""
        for node in nodes:
            links = self._relates_links(node) if self._relates else []
            for type_, out, sql in self._structure:
                rows = self._execute(sql, (node,)).fetchall()
                if self._present_only:
                    rows = [row for row in rows if self._is_present(row[0])]
                links += _adjacent_edges(node, rows, out=out, type_=type_)
            yield strongest_edges(links, self._fan)

    def _is_present(self, node: int) -> bool:
        return bool(self._execute(_NODE_EXISTS, (node,)).fetchall())

    def _relates_links(self, node: int) -> list[AdjacentEdge[int]]:
        """Return at least the links to the strongest neighbours, all of them to each.

        A neighbour of the merged best is among the best of one direction, so the first rows of
        each direction name them all; weak links to them are then looked up by both ends.
        """
        links: list[AdjacentEdge[int]] = []
        cut: list[bool] = []
        for out in self._sides:
            rows, complete = self._first_rows(node, out=out)
            links += _adjacent_edges(node, rows, out=out)
            if not complete:
                cut.append(out)
        if cut:
            others = dict.fromkeys(link.other for link in strongest_edges(links, self._fan))
            for out in cut:
                links += self._links_between(node, others, out=out)
        return links

    def _first_rows(self, node: int, *, out: bool) -> tuple[list[_EdgeRow], bool]:
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

    def _links_between(
        self, node: int, others: Iterable[int], *, out: bool
    ) -> list[AdjacentEdge[int]]:
        rows = self._execute(self._between[out], (node, pack_keys(others))).fetchall()
        return _adjacent_edges(node, rows, out=out)


def _adjacent_edges(
    node: int, rows: Iterable[_EdgeRow], *, out: bool, type_: EdgeType | None = None
) -> list[AdjacentEdge[int]]:
    """Return rows as links; without a type, as the one that each relation makes."""
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
    """Return the links of each id with its key, as `LinksRelations` describes."""
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
