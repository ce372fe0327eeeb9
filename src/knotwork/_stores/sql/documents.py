"""Store documents, sections, chunks and the ledger of sources in tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import astuple, fields
from typing import Any

from knotwork._cancellation import checked
from knotwork._stores.base import LedgerEntry
from knotwork._stores.fields import document_fields, page_spans
from knotwork._stores.graph_view import chunk_name
from knotwork._stores.sql.collisions import SqlIdChecks
from knotwork._stores.sql.database import (
    Dialect,
    SqlDatabase,
    SqlPart,
    delete_keys,
    insert,
    insert_new,
    reports_damage,
    upsert,
)
from knotwork._stores.sql.packing import (
    keys_of,
    pack_blocks,
    pack_outline,
    pack_spans,
    pack_strings,
    pack_text,
    unpack_blocks,
    unpack_json,
    unpack_outline,
    unpack_spans,
    unpack_strings,
    unpack_text,
)
from knotwork.records import Chunk, Document, Section, Span, id_to_int, int_to_id

PUT_FIELD = insert_new("document_field", "name", "text", "document")
PUT_PAGE = insert_new("document_page", "label", "document", "start", '"end"')


def field_rows(key: int, document: Document) -> list[tuple[str, str, int]]:
    """Return the field rows of a document, for `PUT_FIELD`."""
    found = document_fields(document)
    return [(name, value, key) for name, values in found.items() for value in values]


def page_rows(key: int, document: Document) -> list[tuple[str, int, int, int]]:
    """Return the page rows of a document, for `PUT_PAGE`."""
    return [(page.label, key, page.start, page.end) for page in page_spans(document)]


class DocumentStatements:
    """The statements of `SqlDocuments` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys = dialect.keys("$1")
        self.documents = f"""
            SELECT d.id, d.uri, d.text, d.title, d.media_type, d.language, d.metadata, d.outline
            FROM {keys} CROSS JOIN document d WHERE d.id = j.value
        """
        self.sections = f"""
            SELECT s.document, s.id, s.parent, s.ordinal, s.level, s.title, s.start, s."end"
            FROM {keys} CROSS JOIN section s WHERE s.document = j.value
            ORDER BY s.start, s.level, s.ordinal, s.id
        """
        self.chunks = f"""
            SELECT c.id, c.document, c.section, c.ordinal, c.start, c."end", c.text, c.sentences,
                c.document_title, c.headings, c.parent, c.is_parent, c.blocks
            FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value
        """
        self.chunk_ids = f"""
            SELECT c.document, c.id FROM {keys} CROSS JOIN chunk c WHERE c.document = j.value
            ORDER BY c.is_parent, c.ordinal, c.id
        """
        self.document_ids = "SELECT id FROM document ORDER BY id"
        self.document_count = "SELECT count(*) FROM document"
        self.leaf_count = "SELECT count(*) FROM chunk WHERE is_parent = 0"
        self.put_document = insert(
            "document",
            *("id", "uri", "title", "media_type", "language", "metadata", "outline", "text"),
        )
        self.put_section = insert(
            "section",
            *("id", "document", "parent", "ordinal", "level", "start", '"end"', "title"),
        )
        self.put_chunk = insert(
            "chunk",
            *("id", "document", "section", "parent", "is_parent", "ordinal", "start", '"end"'),
            *("name", "document_title", "headings", "sentences", "text", "blocks"),
        )
        self.put_field = PUT_FIELD
        self.put_page = PUT_PAGE
        self.remove = {"document": delete_keys(dialect, "document", "id")} | {
            table: delete_keys(dialect, table, "document")
            for table in ("section", "chunk", "document_field", "document_page")
        }


@reports_damage
class SqlDocuments(SqlPart):
    """The `DocumentStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase, checks: SqlIdChecks | None = None) -> None:
        super().__init__(database)
        self._checks = checks or SqlIdChecks(database)
        self._sql = DocumentStatements(database.dialect)

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        database, sql = self._database, self._sql
        key = id_to_int(document.id)
        with database.transaction():
            if self._checks.check_document(document, sections, chunks):
                self._remove([key])
            database.write(sql.put_document, _document_row(key, document))
            database.write_many(sql.put_section, map(_section_row, sections))
            database.write_many(sql.put_chunk, map(_chunk_row, chunks))
            database.write_many(sql.put_field, field_rows(key, document))
            database.write_many(sql.put_page, page_rows(key, document))

    def remove(self, document_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._remove(key for _, key in keys_of(document_ids))

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        return self._by_id(self._sql.documents, ids, _document)

    def document_ids(self) -> list[str]:
        return self._ids(self._sql.document_ids)

    def sections_of(self, document_ids: Collection[str]) -> dict[str, list[Section]]:
        return self._lists(self._sql.sections, document_ids, _section)

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        return self._by_id(self._sql.chunks, ids, _chunk)

    def chunk_ids_of(self, document_ids: Collection[str]) -> dict[str, list[str]]:
        return self._lists(self._sql.chunk_ids, document_ids, lambda _, key: int_to_id(key))

    def chunk_count(self) -> int:
        return self._once(lambda: self._count(self._sql.leaf_count))

    def document_count(self) -> int:
        return self._count(self._sql.document_count)

    def _count(self, sql: str) -> int:
        ((count,),) = self._database.rows(sql)
        return int(count)

    def _remove(self, keys: Iterable[int]) -> None:
        bound = (self._bind(keys),)
        for sql in self._sql.remove.values():
            self._database.write(sql, bound)


def _section(
    document_id: str, key: int, parent: int | None, ordinal: int, level: int, title: str, *span: int
) -> Section:
    return Section(
        int_to_id(key),
        document_id,
        None if parent is None else int_to_id(parent),
        ordinal,
        level,
        title,
        Span(*span),
    )


def _document_row(key: int, document: Document) -> tuple[Any, ...]:
    metadata = json.dumps(dict(document.metadata), ensure_ascii=False)
    return (
        key,
        document.uri,
        document.title,
        document.media_type,
        document.language,
        metadata,
        pack_outline(document),
        pack_text(document.text),
    )


def _document(
    _: str,
    uri: str,
    text: bytes,
    title: str,
    media_type: str,
    language: str,
    metadata: str,
    outline: bytes,
) -> Document:
    known = unpack_outline(outline)
    return Document(
        uri,
        unpack_text(text),
        title,
        media_type,
        language,
        unpack_json(metadata),
        known.blocks,
        known.pages,
        times=known.times,
        boxes=known.boxes,
        links=known.links,
        anchors=known.anchors,
    )


def _section_row(section: Section) -> tuple[Any, ...]:
    return (
        id_to_int(section.id),
        id_to_int(section.document_id),
        None if section.parent_id is None else id_to_int(section.parent_id),
        section.ordinal,
        section.level,
        *section.span,
        section.title,
    )


def _chunk_row(chunk: Chunk) -> tuple[Any, ...]:
    return (
        id_to_int(chunk.id),
        id_to_int(chunk.document_id),
        id_to_int(chunk.section_id),
        None if chunk.parent_id is None else id_to_int(chunk.parent_id),
        int(chunk.is_parent),
        chunk.ordinal,
        *chunk.span,
        chunk_name(chunk.document_title, chunk.headings),
        chunk.document_title,
        pack_strings(chunk.headings),
        pack_spans(chunk.sentences),
        chunk.text,
        pack_blocks(chunk.blocks),
    )


def _chunk(  # noqa: PLR0913, PLR0917  one parameter a column
    identifier: str,
    document: int,
    section: int,
    ordinal: int,
    start: int,
    end: int,
    text: str,
    sentences: bytes,
    document_title: str,
    headings: str,
    parent: int | None,
    is_parent: int,
    blocks: bytes,
) -> Chunk:
    return Chunk(
        identifier,
        int_to_id(document),
        int_to_id(section),
        ordinal,
        Span(start, end),
        text,
        unpack_spans(sentences),
        document_title,
        unpack_strings(headings),
        None if parent is None else int_to_id(parent),
        bool(is_parent),
        unpack_blocks(blocks),
    )


_COLUMNS = tuple(column.name for column in fields(LedgerEntry))


class LedgerStatements:
    """The statements of `SqlLedger` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        columns = ", ".join(f"l.{name}" for name in _COLUMNS)
        texts = dialect.texts("$1")
        self.entries = f"SELECT {columns} FROM {texts} CROSS JOIN ledger l WHERE l.uri = j.value"
        self.next_entries = f"""
            SELECT {columns} FROM ledger l WHERE l.uri > $1 ORDER BY l.uri LIMIT $2
        """
        self.settings_counts = """
            SELECT settings, count(*) FROM ledger WHERE error_reason = '' GROUP BY settings
        """
        self.put = upsert("ledger", *_COLUMNS, key=["uri"])
        self.remove = f"DELETE FROM ledger WHERE uri IN (SELECT j.value FROM {texts})"


@reports_damage
class SqlLedger:
    """The `Ledger` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._bind = database.dialect.bind_texts
        self._sql = LedgerStatements(database.dialect)

    def put(self, entries: Iterable[LedgerEntry]) -> None:
        with self._database.transaction():
            self._database.write_many(self._sql.put, map(astuple, entries))

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        distinct = dict.fromkeys(uris)
        rows = self._database.rows(self._sql.entries, (self._bind(distinct),))
        found = {row[0]: LedgerEntry(*row) for row in checked(rows)}
        return {uri: found[uri] for uri in distinct if uri in found}

    def entries(self) -> Iterator[LedgerEntry]:
        yield from self.get([""]).values()
        for row in self._database.rows_in_pages(self._sql.next_entries, ("",)):
            yield LedgerEntry(*row)

    def settings_counts(self) -> dict[str, int]:
        return dict(self._database.rows(self._sql.settings_counts))

    def remove(self, uris: Collection[str]) -> None:
        with self._database.transaction():
            self._database.write(self._sql.remove, (self._bind(uris),))
