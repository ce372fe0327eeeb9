"""Full scans of the edges, page by page: what others commit meanwhile may or may not be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby

from knotwork.records import Edge, EdgeType, int_to_id, relation_edge_type
from knotwork.stores.embedded.database import Bindings, Database, Row

_PAGE_ROWS = 10_000

_SECTIONS = "SELECT coalesce(parent, document) AS source, id AS target FROM section ORDER BY 1, 2"
_CHUNKS = "SELECT section, id FROM chunk WHERE (section, id) > (?, ?) ORDER BY section, id LIMIT ?"
_CHILDREN = (
    "SELECT parent, id FROM chunk WHERE parent IS NOT NULL AND (parent, id) > (?, ?)"
    " ORDER BY parent, id LIMIT ?"
)
_FOLLOWING = (
    "SELECT id, following FROM (SELECT id, lead(id) OVER (PARTITION BY document"
    " ORDER BY ordinal, id) AS following FROM chunk WHERE is_parent = 0)"
    " WHERE following IS NOT NULL ORDER BY 1"
)
_MENTIONS = (
    "SELECT chunk, entity, times, about FROM mention WHERE (chunk, entity) > (?, ?)"
    " ORDER BY chunk, entity LIMIT ?"
)
_CONTRIBUTIONS = (
    "SELECT c.source, c.target, c.relation, c.chunk, e.weight, r.name FROM contribution c"
    " INDEXED BY contribution_by_edge"
    " JOIN edge e ON e.source = c.source AND e.target = c.target AND e.relation = c.relation"
    " JOIN relation r ON r.id = c.relation"
    " WHERE (c.source, c.target, c.relation, c.chunk) > (?, ?, ?, ?)"
    " ORDER BY c.source, c.target, c.relation, c.chunk LIMIT ?"
)


def paged(database: Database, sql: str, start: Bindings) -> Iterator[Row]:
    """Yield the rows of ``sql`` in pages; its first columns are its key, and its parameters."""
    position = tuple(start)
    while True:
        rows = database.rows(sql, (*position, _PAGE_ROWS))
        yield from rows
        if len(rows) < _PAGE_ROWS:
            return
        position = rows[-1][: len(position)]


def scan(database: Database, type_: str) -> Iterator[Edge]:
    """Yield all edges of one type, ordered by source, target and relation."""
    yield from _SCANS[EdgeType(type_)](database)


def _sections(database: Database) -> Iterator[Edge]:
    yield from _structure(EdgeType.HAS_SECTION, iter(database.rows(_SECTIONS)))


def _chunks(database: Database) -> Iterator[Edge]:
    yield from _structure(EdgeType.HAS_CHUNK, paged(database, _CHUNKS, (-1, -1)))


def _children(database: Database) -> Iterator[Edge]:
    yield from _structure(EdgeType.HAS_CHILD, paged(database, _CHILDREN, (-1, -1)))


def _following(database: Database) -> Iterator[Edge]:
    yield from _structure(EdgeType.NEXT, iter(database.rows(_FOLLOWING)))


def _structure(type_: EdgeType, rows: Iterator[Row]) -> Iterator[Edge]:
    for source, target in rows:
        yield Edge(int_to_id(source), type_, int_to_id(target))


def _mentions(database: Database) -> Iterator[Edge]:
    for chunk, entity, times, _ in paged(database, _MENTIONS, (-1, -1)):
        yield mention_edge(EdgeType.MENTIONS, chunk, entity, float(times))


def _about(database: Database) -> Iterator[Edge]:
    for chunk, entity, _, about in paged(database, _MENTIONS, (-1, -1)):
        if about > 0:
            yield mention_edge(EdgeType.ABOUT, chunk, entity, about)


def mention_edge(type_: EdgeType, chunk: int, entity: int, weight: float) -> Edge:
    """Return a MENTIONS or ABOUT edge, which its own chunk supports."""
    return Edge(int_to_id(chunk), type_, int_to_id(entity), weight, "", (int_to_id(chunk),))


def _relations(database: Database, type_: EdgeType) -> Iterator[Edge]:
    """Yield RELATES or CO_OCCURS edges, of two ends by the name of the relation."""
    rows = paged(database, _CONTRIBUTIONS, (-1, -1, -1, -1))
    for (source, target), between in groupby(rows, key=lambda row: row[:2]):
        edges: dict[str, tuple[int, list[str]]] = {}
        for _, _, _, chunk, weight, name in between:
            if relation_edge_type(name) != type_:
                continue
            edges.setdefault(name, (weight, []))[1].append(int_to_id(chunk))
        for name, (weight, chunks) in sorted(edges.items()):
            yield Edge(
                int_to_id(source),
                type_,
                int_to_id(target),
                float(weight),
                name,
                tuple(chunks),
            )


_SCANS: dict[EdgeType, Callable[[Database], Iterator[Edge]]] = {
    EdgeType.ABOUT: _about,
    EdgeType.CO_OCCURS: partial(_relations, type_=EdgeType.CO_OCCURS),
    EdgeType.HAS_CHILD: _children,
    EdgeType.HAS_CHUNK: _chunks,
    EdgeType.HAS_SECTION: _sections,
    EdgeType.MENTIONS: _mentions,
    EdgeType.NEXT: _following,
    EdgeType.RELATES: partial(_relations, type_=EdgeType.RELATES),
}
