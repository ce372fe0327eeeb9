"""Read the edges of many nodes at once: one statement for each kind of edge, not for each node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, groupby, repeat
from operator import itemgetter, neg
from typing import NamedTuple

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, strongest_edges
from knotwork._stores.base import RelationLink
from knotwork._stores.sql.database import Dialect, Row, SqlDatabase
from knotwork._stores.sql.nodes import relation_key
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Direction,
    EdgeType,
    int_to_id,
    relation_edge_type,
)

_Side = tuple[EdgeType, bool]
"""An edge type, and whether it is followed from source to target."""

_DIRECTION_NAMES = {True: "out", False: "in"}

_NO_LIMIT = 1 << 62
_SPARE_EDGES = 24
_PAGE_GROWTH = 8
_MOST_NAMES = 50_000
"""Names of relations that are kept between reads."""

_CO_OCCURRENCE = relation_key(CO_OCCURRENCE_RELATION)
_OF_TYPES: Mapping[frozenset[str], str] = {
    frozenset(ENTITY_EDGES): "",
    frozenset({EdgeType.RELATES}): f"AND e.relation <> {_CO_OCCURRENCE}",
    frozenset({EdgeType.CO_OCCURS}): f"AND e.relation = {_CO_OCCURRENCE}",
}
"""The condition on relations and co-occurrences, by the types that are requested."""


class AdjacencyStatements:
    """The statements that read the edges of many nodes, in one dialect.

    ``structure`` has the near end, the far end and the weight of edges without relations. Each
    query of ``strongest`` has a text for each node: relation, other end and weight of its edges;
    ``strongest_of_both`` has one for the outgoing and one for the incoming edges.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.structure = _structure_statements(dialect.keys("$1"))
        self.strongest = {
            (out, types): _strongest(dialect, [out], condition)
            for out in (True, False)
            for types, condition in _OF_TYPES.items()
        }
        self.strongest_of_both = _strongest(dialect, [True, False])
        self.between = {
            types: f"""
                SELECT j.place, e.relation, e.weight
                FROM {dialect.rows("$1", "source", "target")} CROSS JOIN edge e
                WHERE e.source = j.source AND e.target = j.target {condition}
            """
            for types, condition in _OF_TYPES.items()
        }
        self.relation_names = f"""
            SELECT r.id, r.name FROM {dialect.keys("$1")} CROSS JOIN relation r WHERE r.id = j.value
        """
        self.existing = f"""
            SELECT j.value FROM {dialect.keys("$1")}
            WHERE EXISTS (SELECT 1 FROM chunk c WHERE c.id = j.value)
            OR EXISTS (SELECT 1 FROM entity e WHERE e.id = j.value)
            OR EXISTS (SELECT 1 FROM section s WHERE s.id = j.value)
            OR EXISTS (SELECT 1 FROM document d WHERE d.id = j.value)
        """


def _structure_statements(keys: str) -> dict[_Side, str]:
    one = "CAST(1 AS double precision)"
    before, after = (
        f"""
            SELECT n.id, n.other, {one}
            FROM (
                SELECT a.id, (
                    SELECT b.id FROM chunk b
                    WHERE b.document = a.document AND b.is_parent = 0
                    AND (b.ordinal, b.id) {comparison} (a.ordinal, a.id)
                    ORDER BY b.ordinal {order}, b.id {order} LIMIT 1
                ) AS other
                FROM {keys} CROSS JOIN chunk a WHERE a.id = j.value AND a.is_parent = 0
            ) n
            WHERE n.other IS NOT NULL
        """
        for comparison, order in (("<", "DESC"), (">", "ASC"))
    )
    return {
        (EdgeType.HAS_SECTION, True): f"""
            SELECT j.value, s.id, {one}
            FROM {keys} CROSS JOIN section s WHERE s.document = j.value AND s.parent IS NULL
            UNION ALL SELECT j.value, s.id, {one}
            FROM {keys} CROSS JOIN section s WHERE s.parent = j.value
        """,
        (EdgeType.HAS_SECTION, False): f"""
            SELECT j.value, coalesce(s.parent, s.document), {one}
            FROM {keys} CROSS JOIN section s WHERE s.id = j.value
        """,
        (EdgeType.HAS_CHUNK, True): f"""
            SELECT j.value, c.id, {one} FROM {keys} CROSS JOIN chunk c WHERE c.section = j.value
        """,
        (EdgeType.HAS_CHUNK, False): f"""
            SELECT j.value, c.section, {one} FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value
        """,
        (EdgeType.HAS_CHILD, True): f"""
            SELECT j.value, c.id, {one} FROM {keys} CROSS JOIN chunk c WHERE c.parent = j.value
        """,
        (EdgeType.HAS_CHILD, False): f"""
            SELECT j.value, c.parent, {one}
            FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value AND c.parent IS NOT NULL
        """,
        (EdgeType.NEXT, True): after,
        (EdgeType.NEXT, False): before,
        (EdgeType.MENTIONS, True): f"""
            SELECT m.chunk, m.entity, m.times
            FROM {keys} CROSS JOIN mention m WHERE m.chunk = j.value
        """,
        (EdgeType.MENTIONS, False): f"""
            SELECT m.entity, m.chunk, m.times
            FROM {keys} CROSS JOIN mention m WHERE m.entity = j.value
        """,
        (EdgeType.ABOUT, True): f"""
            SELECT m.chunk, m.entity, m.about
            FROM {keys} CROSS JOIN mention m WHERE m.chunk = j.value AND m.about > 0
        """,
        (EdgeType.ABOUT, False): f"""
            SELECT m.entity, m.chunk, m.about
            FROM {keys} CROSS JOIN mention m WHERE m.entity = j.value AND m.about > 0
        """,
    }


def _strongest(dialect: Dialect, sides: Iterable[bool], condition: str = "") -> str:
    """Return the query of the strongest edges of each of many nodes, with a text for each side."""
    ends = [("source", "target") if out else ("target", "source") for out in sides]
    columns = ", ".join(
        dialect.joined(
            f"""
                SELECT e.relation, e.{far} AS other, e.weight FROM edge e
                WHERE e.{near} = j.value {condition}
                ORDER BY e.weight DESC, e.{far}, e.relation LIMIT $1
            """,
            relation="integer",
            other="integer",
            weight="integer",
        )
        for near, far in ends
    )
    return f"SELECT j.value, {columns} FROM {dialect.keys('$2')}"


class _Relations(NamedTuple):
    """Relations and co-occurrences of one node, in columns of equal length."""

    relations: list[int]
    others: list[int]
    weights: list[int]


class NeighbourReader:
    """Reads relations and co-occurrences of many nodes. Use it inside `SqlDatabase.reading`.

    Names of relations are kept between reads: a key is the hash of its name.
    """

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database
        self.statements = AdjacencyStatements(database.dialect)
        self._names: dict[int, str] = {}

    def strongest(
        self,
        nodes: Collection[int],
        *,
        out: bool,
        limit: int,
        types: frozenset[str] = ENTITY_EDGES,
    ) -> dict[int, _Relations]:
        """Return the ``limit`` strongest edges of each node in a direction, strongest first."""
        bound = (limit, self.database.dialect.bind_keys(nodes))
        rows = self.database.fetch(self.statements.strongest[out, types], bound)
        return {node: _unlist(listed) for node, listed in checked(rows) if listed}

    def names(self, relations: Iterable[int]) -> Mapping[int, str]:
        """Return names by key, at least those of ``relations``."""
        names = self._names if len(self._names) < _MOST_NAMES else {}
        if missing := set(relations) - names.keys():
            bound = self.database.dialect.bind_keys(missing)
            found: dict[int, str] = dict(
                self.database.fetch(self.statements.relation_names, (bound,))
            )
            if lost := missing - found.keys():
                raise self.database.damaged(f"{len(lost)} relations have no name")
            names = self._names = names | found
        return names

    def links(self, keys: Mapping[str, int], *, limit: int) -> dict[str, list[RelationLink]]:
        """Return the relations of each id, by their keys; see `GraphStore.relation_links`."""
        bound = (limit, self.database.dialect.bind_keys(keys.values()))
        rows = self.database.fetch(self.statements.strongest_of_both, bound)
        sides: dict[int, list[tuple[bool, _Relations]]] = {
            node: [
                (forward, _unlist(text)) for forward, text in ((True, out), (False, into)) if text
            ]
            for node, out, into in checked(rows)
        }
        every = (edges.relations for of_node in sides.values() for _, edges in of_node)
        names = self.names(chain.from_iterable(every))
        found: dict[str, list[RelationLink]] = {}
        for identifier, node in checked(keys.items()):
            links = [
                RelationLink(names[relation], forward, int_to_id(other), float(weight))
                for forward, edges in sides.get(node, ())
                for relation, other, weight in zip(*edges, strict=True)
            ]
            if links:
                found[identifier] = links
        return found


def _unlist(listed: str) -> _Relations:
    """Return the columns of the edges in a text of ``AdjacencyStatements.strongest``."""
    numbers = list(map(int, listed.split()))
    return _Relations(numbers[::3], numbers[1::3], numbers[2::3])


class Adjacency:
    """Read the edges of nodes in one direction or both, of some types, limited to a fan.

    Of the relations and co-occurrences of a node, it reads only as many rows as the fan needs.
    ``existing_only`` skips edges to nodes that are not stored, as a mention may be written before
    its document; the ends of relations always exist. Call it inside `SqlDatabase.reading`.
    """

    def __init__(
        self,
        reader: NeighbourReader,
        *,
        direction: Direction,
        types: Collection[str] | None,
        fan: int | None,
        existing_only: bool = False,
    ) -> None:
        self._reader = reader
        self._database = reader.database
        self._fan = fan
        self._existing_only = existing_only
        self._sides = [out for out in (True, False) if direction in ("both", _DIRECTION_NAMES[out])]
        self._relations = ENTITY_EDGES if types is None else ENTITY_EDGES.intersection(types)
        self._names: dict[int, str] = {}
        self._types: dict[int, EdgeType] = {}
        self._structure = [
            (type_, out, sql)
            for (type_, out), sql in reader.statements.structure.items()
            if out in self._sides and (types is None or type_ in types)
        ]

    def __call__(self, nodes: Sequence[int]) -> Iterator[list[AdjacentEdge[int]]]:
        """Yield the edges of each node, strongest first."""
        edges: defaultdict[int, list[AdjacentEdge[int]]] = defaultdict(list)
        relations = self._read_relations(nodes) if self._relations else {}
        if self._structure:
            self._add_structure(nodes, edges)
        for node in checked(nodes):
            related = (
                self._adjacent(node, columns, out=out) for out, columns in relations.get(node, ())
            )
            yield strongest_edges(chain(edges.get(node, ()), *related), self._fan)

    def _add_structure(
        self, nodes: Sequence[int], edges: Mapping[int, list[AdjacentEdge[int]]]
    ) -> None:
        """Add the edges of all types without relations."""
        bound = (self._database.dialect.bind_keys(nodes),)
        found: Sequence[Sequence[Row]]
        found = [self._database.fetch(sql, bound) for _, _, sql in self._structure]
        if self._existing_only:
            found = self._existing(found)
        for (type_, out, _), rows in zip(self._structure, found, strict=True):
            for node, of_node in checked(groupby(rows, key=itemgetter(0))):
                edges[node].extend(
                    AdjacentEdge(-weight, other, type_, "", node, other)
                    if out
                    else AdjacentEdge(-weight, other, type_, "", other, node)
                    for _, other, weight in of_node
                )

    def _existing(self, found: Sequence[Sequence[Row]]) -> Sequence[Sequence[Row]]:
        """Return the rows whose far end is stored."""
        others = {other for rows in found for _, other, _ in rows}
        if not others:
            return found
        bound = (self._database.dialect.bind_keys(others),)
        stored = {key for (key,) in self._database.fetch(self._reader.statements.existing, bound)}
        return [[row for row in rows if row[1] in stored] for rows in found]

    def _read_relations(self, nodes: Sequence[int]) -> dict[int, list[tuple[bool, _Relations]]]:
        """Return all relations with the strongest neighbours of each node, and some with others.

        Each of the strongest neighbours is among the strongest of at least one direction, so the
        first rows of each direction contain all of them. Their weaker edges are then read by both
        ends. Edges stay columns until their node is visited: many small objects are slow to keep.
        """
        found: defaultdict[int, list[tuple[bool, _Relations]]] = defaultdict(list)
        incomplete: defaultdict[int, list[bool]] = defaultdict(list)
        for out in self._sides:
            for node, first, is_complete in self._first_rows(nodes, out=out):
                found[node].append((out, first))
                if not is_complete:
                    incomplete[node].append(out)
        pairs: list[tuple[int, int]] = []
        owners: list[tuple[_Relations, int]] = []
        for node, sides in checked(incomplete.items()):
            others = self._strongest_others(columns for _, columns in found[node])
            for out in sides:
                weaker = _Relations([], [], [])
                found[node].append((out, weaker))
                pairs += [(node, other) if out else (other, node) for other in others]
                owners += [(weaker, other) for other in others]
        if pairs:
            sql = self._reader.statements.between[self._relations]
            rows = self._database.fetch(sql, (self._database.dialect.bind_rows(pairs),))
            self._read_names({relation for _, relation, _ in rows})
            for place, relation, weight in checked(rows):
                weaker, other = owners[place]
                weaker.relations.append(relation)
                weaker.others.append(other)
                weaker.weights.append(weight)
        return found

    def _strongest_others(self, edges: Iterable[_Relations]) -> list[int]:
        """Return the neighbours with the strongest edges, as many as the fan."""
        best: dict[int, int] = {}
        for _, others, weights in edges:
            for other, weight in zip(others, weights, strict=True):
                if weight > best.get(other, -1):
                    best[other] = weight
        return sorted(best, key=lambda other: (-best[other], other))[: self._fan]

    def _first_rows(
        self, nodes: Sequence[int], *, out: bool
    ) -> Iterator[tuple[int, _Relations, bool]]:
        """Yield the first edges of each node, to more than ``fan`` others, and True if all."""
        size = _NO_LIMIT if self._fan is None else 2 * self._fan + _SPARE_EDGES
        remaining: Sequence[int] = nodes
        while remaining:
            found = self._reader.strongest(remaining, out=out, limit=size, types=self._relations)
            self._read_names(set[int]().union(*(edges.relations for edges in found.values())))
            remaining = []
            for node, edges in found.items():
                if self._fan is None or len(edges.others) < size:
                    yield node, edges, True
                elif len(set(edges.others)) > self._fan:
                    yield node, edges, False
                else:
                    remaining.append(node)
            size *= _PAGE_GROWTH

    def _adjacent(self, node: int, edges: _Relations, *, out: bool) -> Iterator[AdjacentEdge[int]]:
        """Convert relations to edges with the names of the relations."""
        relations, others, weights = edges
        return map(
            AdjacentEdge,
            map(neg, weights),
            others,
            map(self._types.__getitem__, relations),
            map(self._names.__getitem__, relations),
            repeat(node) if out else others,
            others if out else repeat(node),
        )

    def _read_names(self, relations: AbstractSet[int]) -> None:
        """Read the names of these relations, unless they are known."""
        if missing := relations - self._names.keys():
            names = self._reader.names(missing)
            for key in missing:
                self._names[key] = name = names[key]
                self._types[key] = relation_edge_type(name)
