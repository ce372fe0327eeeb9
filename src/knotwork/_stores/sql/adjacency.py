"""Read the edges of many nodes at once: one statement for each kind of edge, not for each node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, strongest_edges
from knotwork._stores.base import RelationLink
from knotwork._stores.sql.database import SqlDatabase
from knotwork._stores.sql.dialect import Dialect
from knotwork._stores.sql.graph_tables import relation_key
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
    query of ``strongest`` has a text for each node: relation, other end and weight of its edges.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.structure = _structure_statements(dialect.keys("$1"))
        self.strongest = {
            (out, types): _strongest(dialect, condition, out=out)
            for out in (True, False)
            for types, condition in _OF_TYPES.items()
        }
        self.between = {
            types: f"""
                SELECT e.source, e.target, e.relation, e.weight
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


def _strongest(dialect: Dialect, condition: str, *, out: bool) -> str:
    """Return the query of the strongest edges of each of many nodes, in one direction."""
    near, far = ("source", "target") if out else ("target", "source")
    edges = dialect.joined(
        f"""
            SELECT e.relation, e.{far} AS other, e.weight FROM edge e
            WHERE e.{near} = j.value {condition}
            ORDER BY e.weight DESC, e.{far}, e.relation LIMIT $1
        """,
        relation="integer",
        other="integer",
        weight="integer",
    )
    return f"SELECT j.value, {edges} FROM {dialect.keys('$2')}"


class _RelationEdge(NamedTuple):
    """A relation or co-occurrence as seen from one end."""

    relation: int
    other: int
    weight: int


class NeighbourReader:
    """Reads relations and co-occurrences of many nodes. Use it inside `SqlDatabase.reading`."""

    def __init__(self, database: SqlDatabase) -> None:
        self.database = database
        self.statements = AdjacencyStatements(database.dialect)

    def strongest(
        self,
        nodes: Collection[int],
        *,
        out: bool,
        limit: int,
        types: frozenset[str] = ENTITY_EDGES,
    ) -> dict[int, list[_RelationEdge]]:
        """Return the ``limit`` strongest edges of each node in a direction, strongest first."""
        bound = (limit, self.database.dialect.bind_keys(nodes))
        rows = self.database.fetch(self.statements.strongest[out, types], bound)
        found: dict[int, list[_RelationEdge]] = {}
        for node, listed in checked(rows):
            if listed:
                numbers = map(int, listed.split())
                found[node] = list(map(_RelationEdge, numbers, numbers, numbers))
        return found

    def names(self, relations: Collection[int]) -> dict[int, str]:
        """Return the names of relations, by key."""
        bound = self.database.dialect.bind_keys(relations)
        names: dict[int, str] = dict(self.database.fetch(self.statements.relation_names, (bound,)))
        if lost := set(relations) - names.keys():
            raise self.database.damaged(f"{len(lost)} relations have no name")
        return names

    def links(self, keys: Mapping[str, int], *, limit: int) -> dict[str, list[RelationLink]]:
        """Return the relations of each id, by their keys; see `GraphStore.relation_links`."""
        nodes = keys.values()
        sides = {out: self.strongest(nodes, out=out, limit=limit) for out in (True, False)}
        relations = {
            e.relation for side in sides.values() for found in side.values() for e in found
        }
        names = self.names(relations) if relations else {}
        found: dict[str, list[RelationLink]] = {}
        for identifier, node in checked(keys.items()):
            links = [
                RelationLink(names[relation], forward, int_to_id(other), float(weight))
                for forward, side in sides.items()
                for relation, other, weight in side.get(node, ())
            ]
            if links:
                found[identifier] = links
        return found


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
        self._structure = [
            (type_, out, sql)
            for (type_, out), sql in reader.statements.structure.items()
            if out in self._sides and (types is None or type_ in types)
        ]

    def __call__(self, nodes: Sequence[int]) -> Iterator[list[AdjacentEdge[int]]]:
        """Yield the edges of each node, strongest first."""
        edges: defaultdict[int, list[AdjacentEdge[int]]] = defaultdict(list)
        if self._relations:
            self._add_relations(nodes, edges)
        if self._structure:
            self._add_structure(nodes, edges)
        for node in checked(nodes):
            yield strongest_edges(edges[node], self._fan)

    def _add_structure(
        self, nodes: Sequence[int], edges: Mapping[int, list[AdjacentEdge[int]]]
    ) -> None:
        """Add the edges of all types without relations."""
        bind = self._database.dialect.bind_keys
        bound = (bind(nodes),)
        found = [
            (type_, out, row)
            for type_, out, sql in self._structure
            for row in self._database.fetch(sql, bound)
        ]
        if self._existing_only:
            others = dict.fromkeys(other for _, _, (_, other, _) in found)
            sql = self._reader.statements.existing
            rows = self._database.fetch(sql, (bind(others),)) if others else []
            existing = {key for (key,) in rows}
            found = [item for item in found if item[2][1] in existing]
        for type_, out, (node, other, weight) in checked(found):
            source, target = (node, other) if out else (other, node)
            edges[node].append(AdjacentEdge(-weight, other, type_, "", source, target))

    def _add_relations(
        self, nodes: Sequence[int], edges: Mapping[int, list[AdjacentEdge[int]]]
    ) -> None:
        """Add all edges to the strongest neighbours of each node, and possibly some to others.

        Each of the strongest neighbours is among the strongest of at least one direction, so the
        first rows of each direction contain all of them. Their weaker edges are then read by both
        ends.
        """
        incomplete: list[tuple[int, bool]] = []
        for out in self._sides:
            for node, found, is_complete in self._first_rows(nodes, out=out):
                edges[node].extend(self._adjacent(node, found, out=out))
                if not is_complete:
                    incomplete.append((node, out))
        wanted: defaultdict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
        for node, out in incomplete:
            for other in {edge.other for edge in strongest_edges(edges[node], self._fan)}:
                wanted[(node, other) if out else (other, node)].append((node, out))
        if not wanted:
            return
        sql = self._reader.statements.between[self._relations]
        rows = self._database.fetch(sql, (self._database.dialect.bind_rows(wanted),))
        self._read_names(relation for _, _, relation, _ in rows)
        for source, target, relation, weight in checked(rows):
            for node, out in wanted[source, target]:
                found = [_RelationEdge(relation, target if out else source, weight)]
                edges[node].extend(self._adjacent(node, found, out=out))

    def _first_rows(
        self, nodes: Sequence[int], *, out: bool
    ) -> Iterator[tuple[int, list[_RelationEdge], bool]]:
        """Yield the first edges of each node, to more than ``fan`` others, and True if all."""
        size = _NO_LIMIT if self._fan is None else 2 * self._fan + _SPARE_EDGES
        remaining: Sequence[int] = nodes
        while remaining:
            found = self._reader.strongest(remaining, out=out, limit=size, types=self._relations)
            self._read_names(edge.relation for edges in found.values() for edge in edges)
            remaining = []
            for node, edges in found.items():
                if self._fan is None or len(edges) < size:
                    yield node, edges, True
                elif len({edge.other for edge in edges}) > self._fan:
                    yield node, edges, False
                else:
                    remaining.append(node)
            size *= _PAGE_GROWTH

    def _adjacent(
        self, node: int, edges: Iterable[_RelationEdge], *, out: bool
    ) -> Iterator[AdjacentEdge[int]]:
        """Convert relations to edges with the names of the relations."""
        for relation, other, weight in edges:
            name = self._names[relation]
            source, target = (node, other) if out else (other, node)
            yield AdjacentEdge(-weight, other, relation_edge_type(name), name, source, target)

    def _read_names(self, relations: Iterable[int]) -> None:
        """Read the names of these relations, unless they are known."""
        if missing := set(relations) - self._names.keys():
            self._names |= self._reader.names(missing)
