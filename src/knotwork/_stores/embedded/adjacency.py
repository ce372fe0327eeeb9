"""Read the edges of many nodes at once: one statement for each kind of edge, not for each node."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from knotwork._cancellation import checked
from knotwork._graph.walk import AdjacentEdge, strongest_edges
from knotwork._stores.base import RelationLink
from knotwork._stores.embedded.contributions import relation_key
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.packing import pack_keys
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

_STRUCTURE_EDGES: dict[_Side, str] = {
    (EdgeType.HAS_SECTION, True): (
        "SELECT j.value, s.id, 1.0 FROM json_each(?1) j"
        " CROSS JOIN section s ON s.document = j.value AND s.parent IS NULL"
        " UNION ALL SELECT j.value, s.id, 1.0 FROM json_each(?1) j"
        " CROSS JOIN section s ON s.parent = j.value"
    ),
    (EdgeType.HAS_SECTION, False): (
        "SELECT j.value, coalesce(s.parent, s.document), 1.0 FROM json_each(?1) j"
        " CROSS JOIN section s ON s.id = j.value"
    ),
    (EdgeType.HAS_CHUNK, True): (
        "SELECT j.value, c.id, 1.0 FROM json_each(?1) j CROSS JOIN chunk c ON c.section = j.value"
    ),
    (EdgeType.HAS_CHUNK, False): (
        "SELECT j.value, c.section, 1.0 FROM json_each(?1) j CROSS JOIN chunk c ON c.id = j.value"
    ),
    (EdgeType.HAS_CHILD, True): (
        "SELECT j.value, c.id, 1.0 FROM json_each(?1) j CROSS JOIN chunk c ON c.parent = j.value"
    ),
    (EdgeType.HAS_CHILD, False): (
        "SELECT j.value, c.parent, 1.0 FROM json_each(?1) j"
        " CROSS JOIN chunk c ON c.id = j.value AND c.parent IS NOT NULL"
    ),
    (EdgeType.NEXT, True): (
        "SELECT * FROM (SELECT a.id, (SELECT b.id FROM chunk b WHERE b.document = a.document"
        " AND b.is_parent = 0 AND (b.ordinal, b.id) > (a.ordinal, a.id)"
        " ORDER BY b.ordinal, b.id LIMIT 1) AS other, 1.0 FROM json_each(?1) j"
        " CROSS JOIN chunk a ON a.id = j.value AND a.is_parent = 0) WHERE other IS NOT NULL"
    ),
    (EdgeType.NEXT, False): (
        "SELECT * FROM (SELECT a.id, (SELECT b.id FROM chunk b WHERE b.document = a.document"
        " AND b.is_parent = 0 AND (b.ordinal, b.id) < (a.ordinal, a.id)"
        " ORDER BY b.ordinal DESC, b.id DESC LIMIT 1) AS other, 1.0 FROM json_each(?1) j"
        " CROSS JOIN chunk a ON a.id = j.value AND a.is_parent = 0) WHERE other IS NOT NULL"
    ),
    (EdgeType.MENTIONS, True): (
        "SELECT m.chunk, m.entity, m.times FROM json_each(?1) j"
        " CROSS JOIN mention m ON m.chunk = j.value"
    ),
    (EdgeType.MENTIONS, False): (
        "SELECT m.entity, m.chunk, m.times FROM json_each(?1) j"
        " CROSS JOIN mention m ON m.entity = j.value"
    ),
    (EdgeType.ABOUT, True): (
        "SELECT m.chunk, m.entity, m.about FROM json_each(?1) j"
        " CROSS JOIN mention m ON m.chunk = j.value AND m.about > 0"
    ),
    (EdgeType.ABOUT, False): (
        "SELECT m.entity, m.chunk, m.about FROM json_each(?1) j"
        " CROSS JOIN mention m ON m.entity = j.value AND m.about > 0"
    ),
}
"""For each edge type without relations, a query of the near and far ends and the weights of edges.
"""

_STRONGEST = {
    True: (
        "(SELECT group_concat(format('%d %d %d', relation, target, weight), ' ')"
        " FROM (SELECT relation, target, weight FROM edge WHERE source = j.value {}"
        " ORDER BY weight DESC, target, relation LIMIT ?2))"
    ),
    False: (
        "(SELECT group_concat(format('%d %d %d', relation, source, weight), ' ')"
        " FROM (SELECT relation, source, weight FROM edge WHERE target = j.value {}"
        " ORDER BY weight DESC, source, relation LIMIT ?2))"
    ),
}
"""The strongest edges of a node in one direction, as one text: SQLite has no LATERAL."""

_BETWEEN = (
    "SELECT e.source, e.target, e.relation, e.weight FROM json_each(?1) j CROSS JOIN edge e"
    " ON e.source = j.value ->> 0 AND e.target = j.value ->> 1 {}"
)
_RELATION_NAMES = "SELECT r.id, r.name FROM json_each(?1) j CROSS JOIN relation r ON r.id = j.value"
_CO_OCCURRENCE = relation_key(CO_OCCURRENCE_RELATION)
_OF_TYPES: dict[frozenset[str], str] = {
    frozenset({EdgeType.RELATES}): f"AND relation <> {_CO_OCCURRENCE}",
    frozenset({EdgeType.CO_OCCURS}): f"AND relation = {_CO_OCCURRENCE}",
}
"""An extra condition on the edges if only relations or only co-occurrences are requested."""

_EXISTING = (
    "SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM chunk WHERE id = value)"
    " OR EXISTS (SELECT 1 FROM entity WHERE id = value)"
    " OR EXISTS (SELECT 1 FROM section WHERE id = value)"
    " OR EXISTS (SELECT 1 FROM document WHERE id = value)"
)
_NO_LIMIT = -1
_SPARE_EDGES = 24
_PAGE_GROWTH = 8
_MOST_NAMES = 50_000


class _RelationEdge(NamedTuple):
    """A relation or co-occurrence as seen from one end."""

    relation: int
    other: int
    weight: int


class Adjacency:
    """Read the edges of nodes in one direction or both, of some types, limited to a fan.

    Of the relations and co-occurrences of a node, it reads only as many rows as the fan needs.
    ``existing_only`` skips edges to nodes that are not stored, as a mention may be written before
    its document; the ends of relations always exist. Call it inside `Database.reading`.
    """

    def __init__(
        self,
        database: Database,
        names: RelationNames,
        *,
        direction: Direction,
        types: Collection[str] | None,
        fan: int | None,
        existing_only: bool = False,
    ) -> None:
        self._database = database
        self._names = names
        self._fan = fan
        self._existing_only = existing_only
        self._sides = [out for out in (True, False) if direction in ("both", _DIRECTION_NAMES[out])]
        wanted = ENTITY_EDGES if types is None else ENTITY_EDGES.intersection(types)
        self._has_relations = bool(wanted)
        self._of_types = _OF_TYPES.get(wanted, "")
        self._structure = [
            (type_, out, sql)
            for (type_, out), sql in _STRUCTURE_EDGES.items()
            if out in self._sides and (types is None or type_ in types)
        ]

    def __call__(self, nodes: Sequence[int]) -> Iterator[list[AdjacentEdge[int]]]:
        """Yield the edges of each node, strongest first."""
        edges: defaultdict[int, list[AdjacentEdge[int]]] = defaultdict(list)
        if self._has_relations:
            self._add_relations(nodes, edges)
        if self._structure:
            self._add_structure(nodes, edges)
        for node in checked(nodes):
            yield strongest_edges(edges[node], self._fan)

    def _add_structure(
        self, nodes: Sequence[int], edges: Mapping[int, list[AdjacentEdge[int]]]
    ) -> None:
        """Add the edges of all types without relations."""
        packed = (pack_keys(nodes),)
        found = [
            (type_, out, row)
            for type_, out, sql in self._structure
            for row in self._database.fetch(sql, packed)
        ]
        if self._existing_only:
            others = dict.fromkeys(other for _, _, (_, other, _) in found)
            rows = self._database.fetch(_EXISTING, (pack_keys(others),)) if others else []
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
        sql = _BETWEEN.format(self._of_types)
        rows = self._database.fetch(sql, (pack_keys(wanted),))
        between: defaultdict[tuple[int, bool], list[_RelationEdge]] = defaultdict(list)
        for source, target, relation, weight in checked(rows):
            for node, out in wanted[source, target]:
                edge = _RelationEdge(relation, target if out else source, weight)
                between[node, out].append(edge)
        for (node, out), weaker in between.items():
            edges[node].extend(self._adjacent(node, weaker, out=out))

    def _first_rows(
        self, nodes: Sequence[int], *, out: bool
    ) -> Iterator[tuple[int, list[_RelationEdge], bool]]:
        """Yield the first edges of each node, to more than ``fan`` others, and True if all."""
        size = _NO_LIMIT if self._fan is None else 2 * self._fan + _SPARE_EDGES
        remaining: Sequence[int] = nodes
        while remaining:
            (found,) = _strongest(
                self._database, remaining, [out], limit=size, condition=self._of_types
            )
            self._names.read(edge.relation for edges in found.values() for edge in edges)
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
        self, node: int, edges: Sequence[_RelationEdge], *, out: bool
    ) -> Iterator[AdjacentEdge[int]]:
        """Convert relations to edges with the names of the relations."""
        names = self._names.read(edge.relation for edge in edges)
        for relation, other, weight in edges:
            name = names[relation]
            source, target = (node, other) if out else (other, node)
            yield AdjacentEdge(-weight, other, relation_edge_type(name), name, source, target)


class RelationNames:
    """The names of relations, kept between reads: a key is the hash of its name."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._names: dict[int, str] = {}

    def read(self, relations: Iterable[int]) -> Mapping[int, str]:
        """Return names by key, at least those of ``relations``; use inside `Database.reading`."""
        names = self._names
        if missing := set(relations) - names.keys():
            found: dict[int, str] = dict(
                self._database.fetch(_RELATION_NAMES, (pack_keys(missing),))
            )
            if lost := missing - found.keys():
                raise self._database.damaged(f"{len(lost)} relations have no name")
            names = found | names if len(names) < _MOST_NAMES else found
            self._names = names
        return names


def read_relation_links(
    database: Database, names: RelationNames, keys: Iterable[tuple[str, int]], *, limit: int
) -> dict[str, list[RelationLink]]:
    """Return the relations of each (id, key); see `GraphStore.relation_links`."""
    identifiers = dict(keys)
    nodes = list(identifiers.values())
    sides = _strongest(database, nodes, [True, False], limit=max(limit, 0))
    name_of = names.read(e.relation for side in sides for edges in side.values() for e in edges)
    found: dict[str, list[RelationLink]] = {}
    for identifier, node in checked(identifiers.items()):
        links = [
            RelationLink(name_of[relation], forward, int_to_id(other), float(weight))
            for forward, side in zip((True, False), sides, strict=True)
            for relation, other, weight in side.get(node, ())
        ]
        if links:
            found[identifier] = links
    return found


def _strongest(
    database: Database,
    nodes: Sequence[int],
    sides: Sequence[bool],
    *,
    limit: int,
    condition: str = "",
) -> list[dict[int, list[_RelationEdge]]]:
    """Return, for each side, the ``limit`` strongest relations of each node, all if negative."""
    columns = ", ".join(_STRONGEST[out].format(condition) for out in sides)
    sql = f"SELECT j.value, {columns} FROM json_each(?1) j"  # noqa: S608
    found: list[dict[int, list[_RelationEdge]]] = [{} for _ in sides]
    for node, *lists in checked(database.fetch(sql, (pack_keys(nodes), limit))):
        for side, listed in zip(found, lists, strict=True):
            if listed:
                numbers = map(int, listed.split())
                side[node] = list(map(_RelationEdge, numbers, numbers, numbers))
    return found
