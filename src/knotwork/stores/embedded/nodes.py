"""Rows of any table as nodes of the property graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import apsw

from knotwork.records import (
    KEYWORD_TYPES,
    Entity,
    Label,
    Node,
    content_id,
    entity_id,
    id_to_int,
    int_to_id,
)
from knotwork.stores.embedded.packing import pack_keys
from knotwork.stores.nodes import document_name, entity_node

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

TABLES = {
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
    for known, table in TABLES.items():
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


def _entity(identifier: str, *columns: Any) -> Node:  # noqa: ANN401  a row
    return entity_node(Entity(identifier, *columns))


def _chunk(
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


def _section(
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


def _document(identifier: str, uri: str, title: str, media_type: str, language: str) -> Node:
    properties: dict[str, str | int | float] = {
        "uri": uri,
        "media_type": media_type,
        "language": language,
    }
    return Node(identifier, Label.DOCUMENT, document_name(uri, title), properties)


_READERS: tuple[tuple[str, Callable[..., Node]], ...] = (
    (_ENTITY, _entity),
    (_CHUNK, _chunk),
    (_SECTION, _section),
    (_DOCUMENT, _document),
)
