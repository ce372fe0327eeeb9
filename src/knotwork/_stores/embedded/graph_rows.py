"""Convert table rows to nodes and edges of the graph: lookups by key, and full edge scans.

A scan reads in pages, so it may or may not include what others commit while it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.packing import pack_keys
from knotwork._stores.graph_view import document_name, entity_node
from knotwork.records import (
    ENTITY_EDGES,
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

ENTITIES_BY_KEY = (
    "SELECT e.id, e.name, e.normal_form, e.type, e.chunk_count FROM json_each(?) j"
    " CROSS JOIN entity e ON e.id = j.value"
)
_CHUNKS_BY_KEY = (
    'SELECT c.id, c.name, c.document, c.section, c.ordinal, c.start, c."end", c.text'
    " FROM json_each(?) j CROSS JOIN chunk c ON c.id = j.value"
)
_SECTIONS_BY_KEY = (
    'SELECT s.id, s.title, s.document, s.level, s.ordinal, s.start, s."end"'
    " FROM json_each(?) j CROSS JOIN section s ON s.id = j.value"
)
_DOCUMENTS_BY_KEY = (
    "SELECT d.id, d.uri, d.title, d.media_type, d.language"
    " FROM json_each(?) j CROSS JOIN document d ON d.id = j.value"
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
_BY_NAME = {
    Label.DOCUMENT: "title = ?1 OR (id = ?2 AND title = '')",
    Label.SECTION: "title = ?1",
    Label.CHUNK: "name = ?1",
    Label.ENTITY: "name = ?1 OR id = ?2",
    Label.KEYWORD: "name = ?1 OR id = ?2",
}


def read_nodes(database: Database, keys: Iterable[int]) -> dict[int, Node]:
    """Return the nodes with these keys, of any label."""
    found: dict[int, Node] = {}
    missing = list(keys)
    for sql, node_of in _READERS:
        if not missing:
            break
        rows = database.fetch(sql, (pack_keys(missing),))
        for key, *columns in rows:
            found[key] = node_of(int_to_id(key), *columns)
        missing = [key for key in missing if key not in found]
    return found


def find_keys(database: Database, *, label: str | None, name: str | None, limit: int) -> list[int]:
    """Return the keys of the nodes with this label and exact name, ascending."""
    keys: list[int] = []
    for known, table in NODE_TABLES.items():
        if label not in (None, known):
            continue
        if name is None:
            sql = f"SELECT id FROM {table} ORDER BY id LIMIT ?"  # noqa: S608
            rows = database.fetch(sql, (limit,))
        else:
            sql = f"SELECT id FROM {table} AND ({_BY_NAME[known]}) ORDER BY id LIMIT ?3"  # noqa: S608
            # The name may also be the normal form of an entity or the uri of a document.
            is_entity = known in (Label.ENTITY, Label.KEYWORD)
            identifier = entity_id(name) if is_entity else content_id("document", name)
            rows = database.fetch(sql, (name, id_to_int(identifier), limit))
        keys += [key for (key,) in rows]
    return sorted(keys)[:limit]


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
    (ENTITIES_BY_KEY, _entity_node),
    (_CHUNKS_BY_KEY, _chunk_node),
    (_SECTIONS_BY_KEY, _section_node),
    (_DOCUMENTS_BY_KEY, _document_node),
)


SECTION_ROWS = "SELECT coalesce(parent, document), id FROM section ORDER BY 1, 2"
"""Source and target of all HAS_SECTION edges."""
NEXT_ROWS = (
    "SELECT id, following FROM (SELECT id, lead(id) OVER (PARTITION BY document"
    " ORDER BY ordinal, id) AS following FROM chunk WHERE is_parent = 0)"
    " WHERE following IS NOT NULL ORDER BY 1"
)
"""Source and target of all NEXT edges."""
_UNPAGED_ROWS = {EdgeType.HAS_SECTION: SECTION_ROWS, EdgeType.NEXT: NEXT_ROWS}
_PAGED_ROWS = {
    EdgeType.HAS_CHUNK: (
        "SELECT section, id FROM chunk WHERE (section, id) > (?, ?) ORDER BY section, id LIMIT ?"
    ),
    EdgeType.HAS_CHILD: (
        "SELECT parent, id FROM chunk WHERE parent IS NOT NULL AND (parent, id) > (?, ?)"
        " ORDER BY parent, id LIMIT ?"
    ),
}
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


def scan_edges(database: Database, type_: EdgeType) -> Iterator[Edge]:
    """Yield all edges of one type, ordered by source, target and relation."""
    if type_ in (EdgeType.MENTIONS, EdgeType.ABOUT):
        yield from _mention_edges(database, type_)
    elif type_ in ENTITY_EDGES:
        yield from _relation_edges(database, type_)
    else:
        paged = _PAGED_ROWS.get(type_)
        rows = (
            database.rows_in_pages(paged, (-1, -1))
            if paged
            else database.rows(_UNPAGED_ROWS[type_])
        )
        for source, target in rows:
            yield Edge(int_to_id(source), type_, int_to_id(target))


def _mention_edges(database: Database, type_: EdgeType) -> Iterator[Edge]:
    """Yield MENTIONS or ABOUT edges; the chunk at the source supports the edge."""
    for chunk, entity, times, about in database.rows_in_pages(_MENTION_ROWS, (-1, -1)):
        weight = about if type_ is EdgeType.ABOUT else float(times)
        if weight > 0:
            source = int_to_id(chunk)
            yield Edge(source, type_, int_to_id(entity), weight, "", (source,))


def _relation_edges(database: Database, type_: EdgeType) -> Iterator[Edge]:
    """Yield RELATES or CO_OCCURS edges, ordered by both ends and the name of the relation."""
    rows = database.rows_in_pages(_CONTRIBUTION_ROWS, (-1, -1, -1, -1))
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
