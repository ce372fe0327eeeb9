"""Store documents, sections, chunks, document fields and the ledger in tables.

Python compares a filter condition with each distinct value of its field, so that all stores compare
in the same way. SQL then finds the documents with the matching values.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from functools import reduce
from operator import and_, or_
from types import MappingProxyType
from typing import Any

import numpy as np

from knotwork._stores.base import LedgerEntry
from knotwork._stores.embedded.collisions import check_document_ids
from knotwork._stores.embedded.database import Database, reports_damage
from knotwork._stores.embedded.packing import (
    keys_of,
    pack_frames,
    pack_keys,
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
from knotwork._stores.embedded.schema import PUT_FIELD, PUT_PAGE, field_rows, page_rows
from knotwork._stores.fields import (
    BUILT_IN_FIELDS,
    FILE_DATE,
    FORMAT,
    LANGUAGE,
    PAGE,
    TITLE,
    FieldInfo,
    Matcher,
    Selection,
    check_fields,
    field_name,
    file_day,
    format_values,
    language_values,
    summarize_field,
)
from knotwork._stores.graph_view import chunk_name
from knotwork._stores.id_sets import IdSet
from knotwork.records import (
    AllOf,
    AnyOf,
    Chunk,
    Condition,
    Document,
    Filter,
    Not,
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
            check_document_ids(self._database, document, sections, chunks)
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


_FIELD_NAMES = (
    "WITH RECURSIVE field (name) AS (SELECT min(name) FROM document_field UNION ALL"
    " SELECT (SELECT min(f.name) FROM document_field f WHERE f.name > field.name) FROM field"
    " WHERE field.name IS NOT NULL) SELECT name FROM field WHERE name IS NOT NULL"
    " UNION ALL SELECT 'page' WHERE EXISTS (SELECT 1 FROM document_page)"
)
"""The distinct names of fields, with one index lookup each (a loose index scan)."""

_FEW_SHARE = 0.1
"""Share of the documents below which reading their chunks is faster than reading all chunks."""

_FIELD_COUNTS = "SELECT name, count(DISTINCT document) FROM document_field GROUP BY name"
_PAGED_DOCUMENTS = "SELECT count(DISTINCT document) FROM document_page"
_EXAMPLES = (
    "SELECT text, count(*) FROM document_field WHERE name = ? GROUP BY text"
    " ORDER BY 2 DESC, 1 LIMIT 5"
)
_CHUNKS_OF = (
    "SELECT c.id, c.document FROM json_each(?) j CROSS JOIN chunk c ON c.document = j.value"
)
_CHUNKS_ON = (
    "SELECT c.id FROM json_each(?) j CROSS JOIN document_page p ON p.label = j.value"
    ' CROSS JOIN chunk c ON c.document = p.document AND c.start < p."end" AND p.start < c."end"'
)
_DOCUMENTS_OF = (
    "SELECT DISTINCT c.document FROM json_each(?) j CROSS JOIN chunk c ON c.id = j.value"
)
_MENTIONED = (
    "SELECT DISTINCT m.entity FROM json_each(?) j CROSS JOIN mention m ON m.chunk = j.value"
)


@reports_damage
class EmbeddedFields:
    """The `FieldStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def fields(self) -> list[FieldInfo]:
        """Return the fields of the index, ordered by name."""
        with self._database.reading():
            documents: dict[str, int] = dict(self._database.fetch(_FIELD_COUNTS))
            found = {
                name: summarize_field(name, count, self._database.fetch(_EXAMPLES, (name,)))
                for name, count in documents.items()
            }
            for name in BUILT_IN_FIELDS:
                if pairs := dict.fromkeys(self._pairs(name)):
                    values = Counter(value for value, _ in pairs)
                    keys = {key for _, key in pairs}
                    found[name] = summarize_field(name, len(keys), values.items())
            ((paged,),) = self._database.fetch(_PAGED_DOCUMENTS)
            if paged:
                labels = self._database.fetch(
                    "SELECT label, count(DISTINCT document) FROM document_page GROUP BY label"
                )
                found[PAGE] = summarize_field(PAGE, paged, labels)
        return [found[name] for name in sorted(found)]

    def select(self, wanted: Filter) -> Selection:
        """Return the documents and chunks that pass a filter; see `FieldStore.select`."""
        with self._database.reading():
            check_fields(wanted, [name for (name,) in self._database.fetch(_FIELD_NAMES)])
            if self._is_of_documents(wanted):
                return self._passages_of(self._documents(wanted))
            chunks = self._chunks(wanted)
            return Selection(self._keys(_DOCUMENTS_OF, chunks), chunks)

    def mentioned(self, chunks: IdSet) -> IdSet:
        """Return the ids of the entities that these chunks mention."""
        with self._database.reading():
            return self._keys(_MENTIONED, chunks)

    def _is_of_documents(self, wanted: Filter) -> bool:
        """Return True if a filter has no condition on pages, and so selects whole documents."""
        if isinstance(wanted, Condition):
            return field_name(wanted.field) != PAGE
        parts = (wanted.part,) if isinstance(wanted, Not) else wanted.parts
        return all(map(self._is_of_documents, parts))

    def _documents(self, wanted: Filter) -> IdSet:
        match wanted:
            case AllOf(parts):
                return reduce(and_, map(self._documents, parts))
            case AnyOf(parts):
                return reduce(or_, map(self._documents, parts))
            case Not(part):
                return self._all("document") - self._documents(part)
            case Condition():
                return self._matching(wanted)

    def _chunks(self, wanted: Filter) -> IdSet:
        if self._is_of_documents(wanted):
            return self._passages_of(self._documents(wanted)).chunks
        match wanted:
            case AllOf(parts):
                return reduce(and_, map(self._chunks, parts))
            case AnyOf(parts):
                return reduce(or_, map(self._chunks, parts))
            case Not(part):
                return self._all("chunk") - self._chunks(part)
            case Condition():
                labels = self._database.fetch("SELECT DISTINCT label FROM document_page")
                matches = Matcher(wanted).matches
                return self._keys(_CHUNKS_ON, [label for (label,) in labels if matches(label)])

    def _passages_of(self, documents: IdSet) -> Selection:
        """Return the chunks of these documents, and the documents that have chunks."""
        ((total,),) = self._database.fetch("SELECT count(*) FROM document")
        if len(documents) < _FEW_SHARE * total:
            rows = self._database.fetch(_CHUNKS_OF, (pack_keys(documents.keys.tolist()),))
        else:
            rows = self._database.fetch("SELECT id, document FROM chunk")
        keys = np.array(rows, dtype=np.int64).reshape(-1, 2)
        keys = keys[np.isin(keys[:, 1], documents.keys)]
        return Selection(IdSet(keys[:, 1]), IdSet(keys[:, 0]))

    def _matching(self, condition: Condition) -> IdSet:
        """Return the documents that meet a condition."""
        name = field_name(condition.field)
        matches = Matcher(condition).matches
        if name in BUILT_IN_FIELDS:
            return IdSet({key for value, key in self._pairs(name) if matches(value)})
        values = self._database.fetch(
            "SELECT DISTINCT text FROM document_field WHERE name = ?", (name,)
        )
        rows = self._database.fetch(
            "SELECT f.document FROM json_each(?) j"
            " CROSS JOIN document_field f ON f.name = ? AND f.text = j.value",
            (pack_keys(value for (value,) in values if matches(value)), name),
        )
        return IdSet({key for (key,) in rows})

    def _pairs(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield (value, document key) pairs of a built-in field, possibly with duplicates."""
        if name == FILE_DATE:
            sql = "SELECT l.document_id, l.modified_ns FROM ledger l WHERE l.modified_ns > 0"
            dated = {id_to_int(i): changed for i, changed in self._database.fetch(sql) if i}
            for (key,) in self._database.fetch("SELECT id FROM document"):
                if key in dated:
                    yield file_day(dated[key]), key
            return
        if name == TITLE:
            yield from self._database.fetch("SELECT title, id FROM document WHERE title != ''")
        elif name == LANGUAGE:
            for language, key in self._database.fetch("SELECT language, id FROM document"):
                yield from ((value, key) for value in language_values(language))
        elif name == FORMAT:
            for uri, kind, key in self._database.fetch("SELECT uri, media_type, id FROM document"):
                yield from ((value, key) for value in format_values(uri, kind))
        else:
            yield from self._database.fetch("SELECT uri, id FROM document")
        yield from self._database.fetch(
            "SELECT text, document FROM document_field WHERE name = ?", (name,)
        )

    def _all(self, table: str) -> IdSet:
        return IdSet(key for (key,) in self._database.fetch(f"SELECT id FROM {table}"))  # noqa: S608

    def _keys(self, sql: str, given: IdSet | Collection[str]) -> IdSet:
        packed = pack_keys(given.keys.tolist() if isinstance(given, IdSet) else given)
        return IdSet({key for (key,) in self._database.fetch(sql, (packed,))})


_LEDGER_COLUMNS = ", ".join(column.name for column in fields(LedgerEntry))
_LEDGER_PLACES = ", ".join("?" for _ in fields(LedgerEntry))
_PUT_ENTRY = f"INSERT OR REPLACE INTO ledger ({_LEDGER_COLUMNS}) VALUES ({_LEDGER_PLACES})"  # noqa: S608
_ENTRY = f"SELECT {_LEDGER_COLUMNS} FROM ledger WHERE uri = ?"  # noqa: S608
_NEXT_ENTRIES = f"SELECT {_LEDGER_COLUMNS} FROM ledger WHERE uri > ? ORDER BY uri LIMIT ?"  # noqa: S608
_SETTINGS_COUNTS = "SELECT settings, count(*) FROM ledger WHERE error_reason = '' GROUP BY settings"


@reports_damage
class EmbeddedLedger:
    """The `Ledger` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, entries: Iterable[LedgerEntry]) -> None:
        """Add or replace entries."""
        with self._database.transaction():
            self._database.write_many(_PUT_ENTRY, map(astuple, entries))

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the entries of these sources."""
        distinct = list(dict.fromkeys(uris))
        with self._database.reading():
            found = self._database.rows_of_each(_ENTRY, distinct)
            return {
                u: LedgerEntry(*rows[0]) for u, rows in zip(distinct, found, strict=True) if rows
            }

    def entries(self) -> Iterator[LedgerEntry]:
        """Yield all entries ordered by uri."""
        for row in self._database.rows(_ENTRY, ("",)):
            yield LedgerEntry(*row)
        for row in self._database.rows_in_pages(_NEXT_ENTRIES, ("",)):
            yield LedgerEntry(*row)

    def settings_counts(self) -> dict[str, int]:
        """Return the number of entries without an error, by their settings."""
        return dict(self._database.rows(_SETTINGS_COUNTS))

    def remove(self, uris: Collection[str]) -> None:
        """Remove entries."""
        with self._database.transaction():
            self._database.write_many("DELETE FROM ledger WHERE uri = ?", ((uri,) for uri in uris))


def read_meta(database: Database) -> Mapping[str, str]:
    """Return all settings stored with the index."""
    return MappingProxyType(dict(database.rows_once("SELECT key, value FROM meta ORDER BY key")))


def write_meta(database: Database, values: Mapping[str, str]) -> None:
    """Add or replace settings."""
    with database.transaction():
        database.write_many("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
