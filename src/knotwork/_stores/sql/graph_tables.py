"""The nodes and structural edges of the graph, as parts of statements, and scans of all edges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby

from knotwork._stores.sql.database import SqlDatabase
from knotwork.records import (
    ENTITY_EDGES,
    KEYWORD_TYPES,
    Edge,
    EdgeType,
    Label,
    content_id,
    id_to_int,
    int_to_id,
    relation_edge_type,
)

_KEYWORDS = ", ".join(f"'{type_}'" for type_ in sorted(KEYWORD_TYPES))
"""The types of keywords, as the list of an SQL ``IN``."""

NODE_TABLES = {
    Label.DOCUMENT: "document WHERE true",
    Label.SECTION: "section WHERE true",
    Label.CHUNK: "chunk WHERE true",
    Label.ENTITY: f"entity WHERE type NOT IN ({_KEYWORDS})",
    Label.KEYWORD: f"entity WHERE type IN ({_KEYWORDS})",
}
"""The table of each label with a WHERE clause, to which conditions can be added."""

SECTION_ROWS = "SELECT coalesce(parent, document), id FROM section ORDER BY 1, 2"
"""Source and target of all HAS_SECTION edges."""

NEXT_ROWS = """
    SELECT n.id, n.following
    FROM (
        SELECT id, lead(id) OVER (PARTITION BY document ORDER BY ordinal, id) AS following
        FROM chunk WHERE is_parent = 0
    ) n
    WHERE n.following IS NOT NULL ORDER BY n.id
"""
"""Source and target of all NEXT edges."""


@lru_cache(maxsize=1 << 16)
def relation_key(name: str) -> int:
    """Return the integer key of a relation, a hash of its name."""
    return id_to_int(content_id("relation", name))


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
