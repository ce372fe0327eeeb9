"""Scan all edges of the graph.

A scan reads in pages, so it may or may not include what others commit while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from knotwork._stores.sql.database import SqlDatabase
from knotwork._stores.sql.graph_tables import NEXT_ROWS, SECTION_ROWS
from knotwork.records import ENTITY_EDGES, Edge, EdgeType, int_to_id, relation_edge_type


class EdgeStatements:
    """The statements of `scan_edges`, the same in all dialects."""

    whole: Mapping[EdgeType, str] = {EdgeType.HAS_SECTION: SECTION_ROWS, EdgeType.NEXT: NEXT_ROWS}
    paged: Mapping[EdgeType, str] = {
        EdgeType.HAS_CHUNK: """
            SELECT section, id FROM chunk WHERE (section, id) > ($1, $2)
            ORDER BY section, id LIMIT $3
        """,
        EdgeType.HAS_CHILD: """
            SELECT parent, id FROM chunk WHERE parent IS NOT NULL AND (parent, id) > ($1, $2)
            ORDER BY parent, id LIMIT $3
        """,
    }
    mentions = """
        SELECT chunk, entity, times, about FROM mention WHERE (chunk, entity) > ($1, $2)
        ORDER BY chunk, entity LIMIT $3
    """
    contributions = """
        SELECT c.source, c.target, c.relation, c.chunk, e.weight, r.name
        FROM contribution c CROSS JOIN edge e CROSS JOIN relation r
        WHERE (c.source, c.target, c.relation, c.chunk) > ($1, $2, $3, $4)
        AND e.source = c.source AND e.target = c.target AND e.relation = c.relation
        AND r.id = c.relation
        ORDER BY c.source, c.target, c.relation, c.chunk LIMIT $5
    """


def scan_edges(database: SqlDatabase, type_: EdgeType) -> Iterator[Edge]:
    """Yield all edges of one type, ordered by source, target and relation."""
    if type_ in (EdgeType.MENTIONS, EdgeType.ABOUT):
        yield from _mention_edges(database, type_)
    elif type_ in ENTITY_EDGES:
        yield from _relation_edges(database, type_)
    else:
        paged = EdgeStatements.paged.get(type_)
        rows = (
            database.rows_in_pages(paged, (-1, -1))
            if paged
            else database.rows(EdgeStatements.whole[type_])
        )
        for source, target in rows:
            yield Edge(int_to_id(source), type_, int_to_id(target))


def _mention_edges(database: SqlDatabase, type_: EdgeType) -> Iterator[Edge]:
    """Yield MENTIONS or ABOUT edges; the chunk at the source supports the edge."""
    for chunk, entity, times, about in database.rows_in_pages(EdgeStatements.mentions, (-1, -1)):
        weight = about if type_ is EdgeType.ABOUT else float(times)
        if weight > 0:
            source = int_to_id(chunk)
            yield Edge(source, type_, int_to_id(entity), weight, "", (source,))


def _relation_edges(database: SqlDatabase, type_: EdgeType) -> Iterator[Edge]:
    """Yield RELATES or CO_OCCURS edges, ordered by both ends and the name of the relation."""
    rows = database.rows_in_pages(EdgeStatements.contributions, (-1, -1, -1, -1))
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
