"""Rows of the tables as nodes and edges of the graph: lookups by key, and full edge scans.

A scan reads page by page: what others commit meanwhile may or may not be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import Any

import apsw

from knotwork.records import (
    KEYWORD_TYPES,
    Edge,
    EdgeType,
    Entity,
    Label,
    Node,
    content_id,
    entity_id,
    id_to_int,
    int_to_id,
    relation_edge_type,
)
from knotwork.stores.embedded.database import Bindings, Database, Row
from knotwork.stores.embedded.packing import pack_keys
from knotwork.stores.graph_view import document_name, entity_node

_ENTITY = (
    "SELECT e.id, e.name, e.normal_form, e.type, e.chunk_count FROM json_each(?) j"
    " CROSS JOIN entity e ON e.id = j.value"
)
_CHUNK = (
    'SELECT c.id, c.name, c.document, c.section, c.ordinal, c.start, c."end", c.text'
    " FROM json_each(?) j CROSS JOIN chunk c ON c.id = j.value"
)
_SECTION = (
    'SELECT s.id, s.title, s.document, s.level, s.ordinal, s.start, s."end"'
    " FROM json_each(?) j CROSS JOIN section s ON s.id = j.value"
)
_DOCUMENT = (
    "SELECT d.id, d.uri, d.title, d.media_type, d.language"
    " FROM json_each(?) j CROSS JOIN document d ON d.id = j.value"
)

KEYWORDS = ", ".join(f"'{type_}'" for type_ in sorted(KEYWORD_TYPES))
"""The types of keywords, as the list of an SQL ``IN``."""

NODE_TABLES = {
    Label.DOCUMENT: "document WHERE true",
    Label.SECTION: "section WHERE true",
    Label.CHUNK: "chunk WHERE true",
    Label.ENTITY: f"entity WHERE type NOT IN ({KEYWORDS})",
    Label.KEYWORD: f"entity WHERE type IN ({KEYWORDS})",
}
"""Where the rows of each label are; conditions can be added."""
_BY_NAME = {
    Label.DOCUMENT: "title = ?1 OR (id = ?2 AND title = '')",
    Label.SECTION: "title = ?1",
    Label.CHUNK: "name = ?1",
    Label.ENTITY: "name = ?1 OR id = ?2",
    Label.KEYWORD: "name = ?1 OR id = ?2",
}


def read_nodes(connection: apsw.Connection, keys: Iterable[int]) -> dict[int, Node]:
    """Return the nodes with these keys, whatever their label."""
    found: dict[int, Node] = {}
    missing = list(keys)
    for sql, node_of in _READERS:
        if not missing:
            break
        rows: list[Any] = connection.execute(sql, (pack_keys(missing),)).fetchall()
        for key, *columns in rows:
            found[key] = node_of(int_to_id(key), *columns)
        missing = [key for key in missing if key not in found]
    return found


def find_keys(
    connection: apsw.Connection, *, label: str | None, name: str | None, limit: int
) -> list[int]:
    """Return the keys of the nodes with this label and exact name, ascending."""
    keys: list[int] = []
    for known, table in NODE_TABLES.items():
        if label not in (None, known):
            continue
        if name is None:
            sql = f"SELECT id FROM {table} ORDER BY id LIMIT ?"  # noqa: S608
            rows = connection.execute(sql, (limit,))
        else:
            sql = f"SELECT id FROM {table} AND ({_BY_NAME[known]}) ORDER BY id LIMIT ?3"  # noqa: S608
            rows = connection.execute(sql, (name, _key_by_name(known, name), limit))
        keys += [key for (key,) in rows]
    return sorted(keys)[:limit]


def _key_by_name(label: Label, name: str) -> int:
    """Return the key of what is identified by ``name`` itself: a normal form or an address."""
    is_entity = label in (Label.ENTITY, Label.KEYWORD)
    named = entity_id(name) if is_entity else content_id("document", name)
    return id_to_int(named)


def _entity_node(identifier: str, *columns: Any) -> Node:  # noqa: ANN401  a row
    return entity_node(Entity(identifier, *columns))


def _chunk_node(
    identifier: str,
    name: str,
    document: int,
    section: int,
    ordinal: int,
    start: int,
    end: int,
    text: str,
) -> Node:
    properties: dict[str, str | int | float] = {
        "document": int_to_id(document),
        "section": int_to_id(section),
        "ordinal": ordinal,
        "start": start,
        "end": end,
        "text": text,
    }
    return Node(identifier, Label.CHUNK, name, properties)


def _section_node(
    identifier: str, title: str, document: int, level: int, ordinal: int, start: int, end: int
) -> Node:
    properties: dict[str, str | int | float] = {
        "document": int_to_id(document),
        "level": level,
        "ordinal": ordinal,
        "start": start,
        "end": end,
    }
    return Node(identifier, Label.SECTION, title, properties)


def _document_node(identifier: str, uri: str, title: str, media_type: str, language: str) -> Node:
    properties: dict[str, str | int | float] = {
        "uri": uri,
        "media_type": media_type,
        "language": language,
    }
    return Node(identifier, Label.DOCUMENT, document_name(uri, title), properties)


_READERS: tuple[tuple[str, Callable[..., Node]], ...] = (
    (_ENTITY, _entity_node),
    (_CHUNK, _chunk_node),
    (_SECTION, _section_node),
    (_DOCUMENT, _document_node),
)


_PAGE_ROWS = 10_000

_SECTION_ROWS = (
    "SELECT coalesce(parent, document) AS source, id AS target FROM section ORDER BY 1, 2"
)
_CHUNK_ROWS = (
    "SELECT section, id FROM chunk WHERE (section, id) > (?, ?) ORDER BY section, id LIMIT ?"
)
_CHILD_ROWS = (
    "SELECT parent, id FROM chunk WHERE parent IS NOT NULL AND (parent, id) > (?, ?)"
    " ORDER BY parent, id LIMIT ?"
)
_NEXT_ROWS = (
    "SELECT id, following FROM (SELECT id, lead(id) OVER (PARTITION BY document"
    " ORDER BY ordinal, id) AS following FROM chunk WHERE is_parent = 0)"
    " WHERE following IS NOT NULL ORDER BY 1"
)
_MENTION_ROWS = (
    "SELECT chunk, entity, times, about FROM mention WHERE (chunk, entity) > (?, ?)"
    " ORDER BY chunk, entity LIMIT ?"
)
_CONTRIBUTION_ROWS = (
    "SELECT c.source, c.target, c.relation, c.chunk, e.weight, r.name FROM contribution c"
    " INDEXED BY contribution_by_edge"
    " JOIN edge e ON e.source = c.source AND e.target = c.target AND e.relation = c.relation"
    " JOIN relation r ON r.id = c.relation"
    " WHERE (c.source, c.target, c.relation, c.chunk) > (?, ?, ?, ?)"
    " ORDER BY c.source, c.target, c.relation, c.chunk LIMIT ?"
)


def fetch_pages(database: Database, sql: str, start: Bindings) -> Iterator[Row]:
    """Yield the rows of ``sql`` in pages; its first columns are its key, and its parameters."""
    position = tuple(start)
    while True:
        rows = database.rows(sql, (*position, _PAGE_ROWS))
        yield from rows
        if len(rows) < _PAGE_ROWS:
            return
        position = rows[-1][: len(position)]


def scan_edges(database: Database, type_: str) -> Iterator[Edge]:
    """Yield all edges of one type, ordered by source, target and relation."""
    yield from _SCANS[EdgeType(type_)](database)


def _section_edges(database: Database) -> Iterator[Edge]:
    yield from _structure_edges(EdgeType.HAS_SECTION, iter(database.rows(_SECTION_ROWS)))


def _chunk_edges(database: Database) -> Iterator[Edge]:
    yield from _structure_edges(EdgeType.HAS_CHUNK, fetch_pages(database, _CHUNK_ROWS, (-1, -1)))


def _child_edges(database: Database) -> Iterator[Edge]:
    yield from _structure_edges(EdgeType.HAS_CHILD, fetch_pages(database, _CHILD_ROWS, (-1, -1)))


def _next_edges(database: Database) -> Iterator[Edge]:
    yield from _structure_edges(EdgeType.NEXT, iter(database.rows(_NEXT_ROWS)))


def _structure_edges(type_: EdgeType, rows: Iterator[Row]) -> Iterator[Edge]:
    for source, target in rows:
        yield Edge(int_to_id(source), type_, int_to_id(target))


def _mention_edges(database: Database) -> Iterator[Edge]:
    for chunk, entity, times, _ in fetch_pages(database, _MENTION_ROWS, (-1, -1)):
        yield _mention_edge(EdgeType.MENTIONS, chunk, entity, float(times))


def _about_edges(database: Database) -> Iterator[Edge]:
    for chunk, entity, _, about in fetch_pages(database, _MENTION_ROWS, (-1, -1)):
        if about > 0:
            yield _mention_edge(EdgeType.ABOUT, chunk, entity, about)


def _mention_edge(type_: EdgeType, chunk: int, entity: int, weight: float) -> Edge:
    """Return a MENTIONS or ABOUT edge, which its own chunk supports."""
    return Edge(int_to_id(chunk), type_, int_to_id(entity), weight, "", (int_to_id(chunk),))


def _relation_edges(database: Database, type_: EdgeType) -> Iterator[Edge]:
    """Yield RELATES or CO_OCCURS edges, of two ends by the name of the relation."""
    rows = fetch_pages(database, _CONTRIBUTION_ROWS, (-1, -1, -1, -1))
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
    EdgeType.ABOUT: _about_edges,
    EdgeType.CO_OCCURS: partial(_relation_edges, type_=EdgeType.CO_OCCURS),
    EdgeType.HAS_CHILD: _child_edges,
    EdgeType.HAS_CHUNK: _chunk_edges,
    EdgeType.HAS_SECTION: _section_edges,
    EdgeType.MENTIONS: _mention_edges,
    EdgeType.NEXT: _next_edges,
    EdgeType.RELATES: partial(_relation_edges, type_=EdgeType.RELATES),
}
