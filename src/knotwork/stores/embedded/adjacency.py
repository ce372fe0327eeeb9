"""The edges at a node, by type and direction, as `Link`s between integer keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import apsw

from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    Direction,
    EdgeType,
    relation_edge_type,
)
from knotwork.stores.embedded.contributions import relation_key
from knotwork.stores.embedded.packing import pack_keys
from knotwork.stores.traversal import Link, strongest

_Side = tuple[EdgeType, bool]
"""An edge type, and whether it is followed from source to target."""

_NAMES = {True: "out", False: "in"}
_Row = tuple[int, float, str]
"""The other end of an edge, its weight and its relation."""

STRUCTURE: dict[_Side, str] = {
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

_PRESENT = (
    "SELECT 1 FROM chunk WHERE id = ?1 UNION ALL SELECT 1 FROM entity WHERE id = ?1"
    " UNION ALL SELECT 1 FROM section WHERE id = ?1 UNION ALL SELECT 1 FROM document WHERE id = ?1"
    " LIMIT 1"
)
_ALL = -1
_SPARE_EDGES = 24
_GROWTH = 8


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
        self._sides = [out for out in (True, False) if direction in ("both", _NAMES[out])]
        wanted = ENTITY_EDGES if types is None else ENTITY_EDGES.intersection(types)
        self._relates = bool(wanted)
        of_types = _OF_TYPES.get(wanted, "")
        self._relations = {out: sql.format(of_types) for out, sql in _RELATES.items()}
        self._between = {out: sql.format(of_types) for out, sql in _RELATES_BETWEEN.items()}
        self._structure = [
            (type_, out, sql)
            for (type_, out), sql in STRUCTURE.items()
            if out in self._sides and (types is None or type_ in types)
        ]

    def __call__(self, nodes: Sequence[int]) -> Iterator[list[Link[int]]]:
        """Yield the links of each node, strongest first."""
        for node in nodes:
            links = self._relates_links(node) if self._relates else []
            for type_, out, sql in self._structure:
                rows = self._execute(sql, (node,)).fetchall()
                if self._present_only:
                    rows = [row for row in rows if self._is_present(row[0])]
                links += _links(node, rows, out=out, type_=type_)
            yield strongest(links, self._fan)

    def _is_present(self, node: int) -> bool:
        return bool(self._execute(_PRESENT, (node,)).fetchall())

    def _relates_links(self, node: int) -> list[Link[int]]:
        """Return at least the links to the strongest neighbours, all of them to each.

        A neighbour of the merged best is among the best of one direction, so the first rows of
        each direction name them all; weak links to them are then looked up by both ends.
        """
        links: list[Link[int]] = []
        cut: list[bool] = []
        for out in self._sides:
            rows, complete = self._first_rows(node, out=out)
            links += _links(node, rows, out=out)
            if not complete:
                cut.append(out)
        if cut:
            others = dict.fromkeys(link.other for link in strongest(links, self._fan))
            for out in cut:
                links += self._links_between(node, others, out=out)
        return links

    def _first_rows(self, node: int, *, out: bool) -> tuple[list[_Row], bool]:
        sql = self._relations[out]
        if self._fan is None:
            return self._execute(sql, (node, _ALL)).fetchall(), True
        size = 2 * self._fan + _SPARE_EDGES
        while True:
            rows = self._execute(sql, (node, size)).fetchall()
            if len(rows) < size:
                return rows, True
            if len({other for other, _, _ in rows}) > self._fan:
                return rows, False
            size *= _GROWTH

    def _links_between(self, node: int, others: Iterable[int], *, out: bool) -> list[Link[int]]:
        rows = self._execute(self._between[out], (node, pack_keys(others))).fetchall()
        return _links(node, rows, out=out)


def _links(
    node: int, rows: Iterable[_Row], *, out: bool, type_: EdgeType | None = None
) -> list[Link[int]]:
    """Return rows as links; without a type, as the one that each relation makes."""
    return [
        Link(
            -weight,
            other,
            type_ or relation_edge_type(name),
            name,
            *((node, other) if out else (other, node)),
        )
        for other, weight, name in rows
    ]
