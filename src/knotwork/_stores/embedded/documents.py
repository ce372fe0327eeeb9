"""Store documents, sections and chunks in tables."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.packing import (
    keys_of,
    pack_frames,
    pack_outline,
    pack_spans,
    pack_strings,
    pack_text,
    unpack_frames,
    unpack_json,
    unpack_outline,
    unpack_spans,
    unpack_strings,
    unpack_text,
)
from knotwork._stores.graph_view import chunk_name
from knotwork._stores.sql.documents import PUT_FIELD, PUT_PAGE, field_rows, page_rows
from knotwork.records import (
    Chunk,
    Document,
    Section,
    Span,
    id_to_int,
    int_to_id,
)

_PUT_DOCUMENT = "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_SECTION = "INSERT INTO section VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_PUT_CHUNK = "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_DOCUMENT = (
    "SELECT uri, text, title, media_type, language, metadata, outline FROM document WHERE id = ?"
)
_SECTION = 'SELECT id, document, parent, ordinal, level, title, start, "end" FROM section'
_CHUNK = (
    'SELECT document, section, ordinal, start, "end", text, sentences, document_title, headings,'
    " parent, is_parent, frames FROM chunk WHERE id = ?"
)
_CHUNK_IDS = "SELECT id FROM chunk WHERE document = ? ORDER BY is_parent, ordinal, id"


@reports_damage
class EmbeddedDocuments:
    """The `DocumentStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._leaf_count: tuple[int, int] | None = None  # the generation, and the number

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        """Add a document, or replace the one with its id (structure only)."""
        key = id_to_int(document.id)
        with self._database.transaction():
            self._remove(key)
            self._database.write(_PUT_DOCUMENT, _document_row(key, document))
            self._database.write_many(_PUT_SECTION, map(_section_row, sections))
            self._database.write_many(_PUT_CHUNK, map(_chunk_row, chunks))
            self._database.write_many(PUT_FIELD, field_rows(key, document.metadata))
            self._database.write_many(PUT_PAGE, page_rows(key, document))

    def remove(self, document_ids: Collection[str]) -> None:
        """Remove documents, sections and chunks."""
        with self._database.transaction():
            for _, key in keys_of(document_ids):
                self._remove(key)

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        """Return the documents with these ids."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            found = self._database.rows_of_each(_DOCUMENT, keys.values())
            return {i: _document(*rows[0]) for i, rows in zip(keys, found, strict=True) if rows}

    def document_ids(self) -> list[str]:
        """Return all document ids, ascending."""
        return [
            int_to_id(key) for (key,) in self._database.rows("SELECT id FROM document ORDER BY id")
        ]

    def sections(self, document_id: str) -> list[Section]:
        """Return a document's sections in reading order, the root first."""
        order = " WHERE document = ? ORDER BY start, level, ordinal, id"
        keys = [key for _, key in keys_of([document_id])]
        return [
            _section(*row) for key in keys for row in self._database.rows(_SECTION + order, (key,))
        ]

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        """Return the chunks with these ids."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            found = self._database.rows_of_each(_CHUNK, keys.values())
            return {i: _chunk(i, *rows[0]) for i, rows in zip(keys, found, strict=True) if rows}

    def chunk_ids(self, document_id: str) -> list[str]:
        """Return a document's chunk ids: leaves in order, then parents in order."""
        keys = [key for _, key in keys_of([document_id])]
        return [int_to_id(i) for key in keys for (i,) in self._database.rows(_CHUNK_IDS, (key,))]

    def chunk_count(self) -> int:
        """Return the number of leaf chunks."""
        sql = "SELECT count(*) FROM chunk WHERE is_parent = 0"
        if self._database.writing:
            return self._count(sql)
        with self._database.reading():
            generation = self._database.generation()
            cached = self._leaf_count
            if cached is None or cached[0] != generation:
                cached = self._leaf_count = generation, self._count(sql)
            return cached[1]

    def document_count(self) -> int:
        """Return the number of documents."""
        return self._count("SELECT count(*) FROM document")

    def _count(self, sql: str) -> int:
        ((count,),) = self._database.rows(sql)
        return int(count)

    def _remove(self, key: int) -> None:
        self._database.write("DELETE FROM document WHERE id = ?", (key,))
        for table in ("section", "chunk", "document_field", "document_page"):
            self._database.write(f"DELETE FROM {table} WHERE document = ?", (key,))  # noqa: S608


def _section(
    key: int, document: int, parent: int | None, ordinal: int, level: int, title: str, *span: int
) -> Section:
    return Section(
        int_to_id(key),
        int_to_id(document),
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
    uri: str,
    text: bytes,
    title: str,
    media_type: str,
    language: str,
    metadata: str,
    outline: bytes,
) -> Document:
    headings, pages, frames = unpack_outline(outline)
    return Document(
        uri,
        unpack_text(text),
        title,
        media_type,
        language,
        unpack_json(metadata),
        headings,
        pages,
        frames,
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
        chunk.is_parent,
        chunk.ordinal,
        *chunk.span,
        chunk_name(chunk.document_title, chunk.headings),
        chunk.document_title,
        pack_strings(chunk.headings),
        pack_spans(chunk.sentences),
        chunk.text,
        pack_frames(chunk.frames),
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
    frames: bytes,
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
        unpack_frames(frames),
    )
