"""Nodes of any label, by key or by name, and scans of all edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import Any

from knotwork._stores.graph_view import chunk_node, document_node, entity_node, section_node
from knotwork._stores.sql.database import Dialect, SqlDatabase
from knotwork.records import (
    ENTITY_EDGES,
    KEYWORD_TYPES,
    Chunk,
    Document,
    Edge,
    EdgeType,
    Entity,
    Label,
    Node,
    Section,
    Span,
    content_id,
    entity_id,
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


_NAMES = {
    Label.DOCUMENT: "title = $1",
    Label.SECTION: "title = $1",
    Label.CHUNK: "name = $1",
    Label.ENTITY: "name = $1",
    Label.KEYWORD: "name = $1",
}
_OTHER_NAMES = {
    Label.DOCUMENT: "id = $2 AND title = ''",
    Label.ENTITY: "id = $2",
    Label.KEYWORD: "id = $2",
}
"""What a key says of nodes with another name: the uri of a document, the normal form of an entity.
"""


class NodeStatements:
    """The statements of `NodeReader` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.entities = f"""
            SELECT e.id, e.name, e.normal_form, e.type, e.chunk_count
            FROM {keys} CROSS JOIN entity e WHERE e.id = j.value
        """
        self.chunks = f"""
            SELECT c.id, c.name, c.document, c.section, c.ordinal, c.start, c."end", c.text
            FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value
        """
        self.sections = f"""
            SELECT s.id, s.title, s.document, s.level, s.ordinal, s.start, s."end"
            FROM {keys} CROSS JOIN section s WHERE s.id = j.value
        """
        self.documents = f"""
            SELECT d.id, d.uri, d.title, d.media_type, d.language
            FROM {keys} CROSS JOIN document d WHERE d.id = j.value
        """
        self.labelled: Mapping[Label, str] = {
            label: f"SELECT id FROM {table} ORDER BY id LIMIT $1"
            for label, table in NODE_TABLES.items()
        }
        self.named: Mapping[Label, str] = {
            label: f"""
                SELECT id FROM {table} AND ({_NAMES[label]} OR {_OTHER_NAMES[label]})
                ORDER BY id LIMIT $3
            """
            if label in _OTHER_NAMES
            else f"SELECT id FROM {table} AND {_NAMES[label]} ORDER BY id LIMIT $2"
            for label, table in NODE_TABLES.items()
        }


class NodeReader:
    """Reads nodes. Use it inside `SqlDatabase.reading`."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._sql = sql = NodeStatements(database.dialect)
        self._readers: tuple[tuple[str, Callable[..., Node]], ...] = (
            (sql.entities, entity_of_row),
            (sql.chunks, chunk_of_row),
            (sql.sections, section_of_row),
            (sql.documents, document_of_row),
        )

    def read(self, keys: Iterable[int]) -> dict[int, Node]:
        """Return the nodes with these keys, of any label."""
        found: dict[int, Node] = {}
        missing = list(keys)
        for sql, node_of in self._readers:
            if not missing:
                break
            bound = self._database.dialect.bind_keys(missing)
            for key, *columns in self._database.fetch(sql, (bound,)):
                found[key] = node_of(int_to_id(key), *columns)
            missing = [key for key in missing if key not in found]
        return found

    def entities(self, keys: Iterable[int]) -> dict[int, Entity]:
        """Return the entities with these keys."""
        bound = self._database.dialect.bind_keys(keys)
        rows = self._database.fetch(self._sql.entities, (bound,))
        return {key: Entity(int_to_id(key), *columns) for key, *columns in rows}

    def find(self, *, label: str | None, name: str | None, limit: int) -> list[int]:
        """Return the keys of the nodes with this label and exact name, ascending."""
        keys: list[int] = []
        for known in NODE_TABLES:
            if label not in (None, known):
                continue
            if name is None:
                rows = self._database.fetch(self._sql.labelled[known], (limit,))
            else:
                values = (name, *_keys_of_name(known, name), limit)
                rows = self._database.fetch(self._sql.named[known], values)
            keys += [key for (key,) in rows]
        return sorted(keys)[:limit]


def _keys_of_name(label: Label, name: str) -> tuple[int, ...]:
    """Return the key that a name has as the normal form of an entity or the uri of a document."""
    if label not in _OTHER_NAMES:
        return ()
    is_document = label is Label.DOCUMENT
    return (id_to_int(content_id("document", name) if is_document else entity_id(name)),)


def entity_of_row(identifier: str, *columns: Any) -> Node:  # noqa: ANN401  a row
    """Return the node of an entity: its name, normal form, type and number of chunks."""
    return entity_node(Entity(identifier, *columns))


def chunk_of_row(
    identifier: str,
    name: str,
    document: int,
    section: int,
    ordinal: int,
    start: int,
    end: int,
    text: str,
) -> Node:
    """Return the node of a chunk."""
    ends = int_to_id(document), int_to_id(section)
    return chunk_node(Chunk(identifier, *ends, ordinal, Span(start, end), text, (), name))


def section_of_row(
    identifier: str, title: str, document: int, level: int, ordinal: int, *span: int
) -> Node:
    """Return the node of a section."""
    document_id = int_to_id(document)
    return section_node(Section(identifier, document_id, None, ordinal, level, title, Span(*span)))


def document_of_row(_: str, uri: str, title: str, media_type: str, language: str) -> Node:
    """Return the node of a document, whose id follows from its uri."""
    return document_node(Document(uri, "", title, media_type, language))
