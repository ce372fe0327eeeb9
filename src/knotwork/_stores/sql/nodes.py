"""Read nodes of any label: entities, chunks, sections and documents, by key or by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from knotwork._stores.graph_view import chunk_node, document_node, entity_node, section_node
from knotwork._stores.sql.database import SqlDatabase
from knotwork._stores.sql.dialect import Dialect
from knotwork._stores.sql.graph_tables import NODE_TABLES
from knotwork.records import (
    Chunk,
    Document,
    Entity,
    Label,
    Node,
    Section,
    Span,
    content_id,
    entity_id,
    id_to_int,
    int_to_id,
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
