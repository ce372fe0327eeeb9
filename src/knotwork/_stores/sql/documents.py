"""Store documents, sections, chunks and the ledger of sources in tables, and check new ids.

An id is a 63-bit hash of a natural key: the uri of a document, the place and text of a section or
chunk, the normal form of an entity, the name of a relation. Nodes of all labels share one space of
ids. docs/scale.md has the probabilities. Two things with one id are refused before anything of them
is added.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any

from knotwork._cancellation import checked
from knotwork._stores.base import LedgerEntry
from knotwork._stores.fields import KNOWN_AS, LINKS, document_fields, page_spans
from knotwork._stores.graph_view import chunk_name
from knotwork._stores.sql.database import (
    Row,
    SqlDatabase,
    SqlPart,
    delete_keys,
    insert,
    insert_new,
    key_list,
    optional_id,
    optional_key,
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
    upsert,
)
from knotwork.errors import IdCollision
from knotwork.records import Chunk, Document, Section, Span, id_to_int, int_to_id


def describe_holder(kind: str, name: str) -> str:
    """Return what has an id, for messages: a "document", "section" or "chunk" of the uri ``name``,
    or an "entity" or "relation" of that name.
    """
    return f"a {kind} of `{name}`" if kind in ("section", "chunk") else f"the {kind} `{name}`"


def describe_ids(
    document: Document, sections: Iterable[Section], chunks: Iterable[Chunk]
) -> dict[str, str]:
    """Return the ids of a document and of its parts, each with a description.

    Raises IdCollision if two of them are the same.
    """
    described = {document.id: describe_holder("document", document.uri)}
    for kind, parts in (("section", sections), ("chunk", chunks)):
        text = describe_holder(kind, document.uri)
        for part in parts:
            if part.id in described:
                raise IdCollision(part.id, described[part.id], text)
            described[part.id] = text
    return described


def check_same_name(key: int, kind: str, held: str, new: str) -> None:
    """Raise IdCollision if two names of a kind that have one key are different."""
    if held != new:
        raise IdCollision(int_to_id(key), describe_holder(kind, held), describe_holder(kind, new))


def refuse_held(rows: Iterable[Row], describe: Callable[[int], str]) -> None:
    """Raise IdCollision for the first of the rows: the key of a new id, and the kind and name of
    what has it. ``describe`` returns what is new, by its key.
    """
    for key, kind, name in rows:
        raise IdCollision(int_to_id(key), describe_holder(kind, name), describe(key))


NO_DOCUMENT = -1
_URI = "SELECT uri FROM document WHERE id = $1"
_OF_DOCUMENTS = """
    SELECT j.value, 'document', d.uri
    FROM keys($1) CROSS JOIN document d WHERE d.id = j.value AND d.id <> $2
    UNION ALL SELECT j.value, 'section', (SELECT uri FROM document WHERE id = s.document)
    FROM keys($1) CROSS JOIN section s WHERE s.id = j.value AND s.document <> $2
    UNION ALL SELECT j.value, 'chunk', (SELECT uri FROM document WHERE id = c.document)
    FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value AND c.document <> $2
"""
HELD_BY_DOCUMENTS = f"{_OF_DOCUMENTS} LIMIT 1"
_HELD = f"""
    {_OF_DOCUMENTS} UNION ALL SELECT j.value, 'entity', e.normal_form
    FROM keys($1) CROSS JOIN entity e WHERE e.id = j.value LIMIT 1
"""
_RELATION_NAMES = "SELECT r.id, r.name FROM keys($1) CROSS JOIN relation r WHERE r.id = j.value"
_QUESTION_CHUNKS = "SELECT q.id, q.chunk FROM keys($1) CROSS JOIN question q WHERE q.id = j.value"


class SqlIdChecks:
    """Checks in the open transaction, before anything with a new id is written.

    They are complete if there is one writer; an engine with several repeats what they may overtake.
    """

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database

    def check_document(
        self, document: Document, sections: Collection[Section], chunks: Collection[Chunk]
    ) -> bool:
        """Raise IdCollision if anything but this document has the id of one of its parts.

        Return True if the document is in the index.
        """
        key = id_to_int(document.id)
        row = self._database.row(_URI, (key,))
        if row is not None:
            check_same_name(key, "document", row[0], document.uri)
        described = describe_ids(document, sections, chunks)
        self._check_parts({id_to_int(i): text for i, text in described.items()}, key)
        return row is not None

    def check_relations(self, names: Mapping[int, str]) -> None:
        """Raise IdCollision if a stored relation has the key of another name."""
        if names:
            for key, name in self._database.rows(_RELATION_NAMES, ([*names],)):
                check_same_name(key, "relation", name, names[key])

    def check_questions(self, rows: Sequence[tuple[int, int, int, bytes]]) -> None:
        """Raise IdCollision if two questions have one id; rows begin with it and their chunk."""
        chunks: dict[int, int] = {}
        for key, chunk, *_ in rows:
            if key in chunks:
                raise _question_collision(key, chunks[key], chunk)
            chunks[key] = chunk
        bound = ([*chunks],)
        for key, held in self._database.rows(_QUESTION_CHUNKS, bound) if chunks else ():
            raise _question_collision(key, held, chunks[key])

    def _check_parts(self, new: Mapping[int, str], document: int) -> None:
        refuse_held(self._database.rows(_HELD, ([*new], document)), new.__getitem__)


def _question_collision(key: int, held: int, new: int) -> IdCollision:
    described = (f"a question of the chunk {int_to_id(chunk)}" for chunk in (held, new))
    return IdCollision(int_to_id(key), *described)


_DOCUMENTS = """
    SELECT d.id, d.uri, d.text, d.title, d.media_type, d.language, d.metadata, d.outline
    FROM keys($1) CROSS JOIN document d WHERE d.id = j.value
"""
_SECTIONS = """
    SELECT s.document, s.id, s.parent, s.ordinal, s.level, s.title, s.start, s."end"
    FROM keys($1) CROSS JOIN section s WHERE s.document = j.value
    ORDER BY s.start, s.level, s.ordinal, s.id
"""
_CHUNKS = """
    SELECT c.id, c.document, c.section, c.ordinal, c.start, c."end", c.text, c.sentences,
        c.document_title, c.headings, c.parent, c.is_parent, c.blocks
    FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value
"""
_CHUNK_IDS = """
    SELECT c.document, c.id FROM keys($1) CROSS JOIN chunk c WHERE c.document = j.value
    ORDER BY c.is_parent, c.ordinal, c.id
"""
_DOCUMENT_IDS = "SELECT id FROM document ORDER BY id"
_DOCUMENT_COUNT = "SELECT count(*) FROM document"
_LEAF_COUNT = "SELECT count(*) FROM chunk WHERE is_parent = 0"
_PUT_DOCUMENT = insert(
    "document", "id", "uri", "title", "media_type", "language", "metadata", "outline", "text"
)
_PUT_SECTION = insert(
    "section", "id", "document", "parent", "ordinal", "level", "start", '"end"', "title"
)
_PUT_CHUNK = insert(
    "chunk",
    *("id", "document", "section", "parent", "is_parent", "ordinal", "start", '"end"'),
    *("name", "document_title", "headings", "sentences", "text", "blocks"),
)
_PUT_FIELD = insert_new("document_field", "name", "text", "document")
_PUT_PAGE = insert_new("document_page", "label", "document", "start", '"end"')
_REMOVE = (
    delete_keys("document", "id"),
    *(
        delete_keys(table, "document")
        for table in ("section", "chunk", "document_field", "document_page")
    ),
)


def field_rows(key: int, document: Document) -> list[tuple[str, str, int]]:
    """Return the rows of a document in ``document_field``."""
    found = document_fields(document)
    return [(name, value, key) for name, values in found.items() for value in values]


def page_rows(key: int, document: Document) -> list[tuple[str, int, int, int]]:
    """Return the rows of a document in ``document_page``."""
    return [(page.label, key, page.start, page.end) for page in page_spans(document)]


class SqlDocuments(SqlPart):
    """The `DocumentStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase, checks: SqlIdChecks | None = None) -> None:
        super().__init__(database)
        self._checks = checks or SqlIdChecks(database)

    def put(self, document: Document, sections: Sequence[Section], chunks: Sequence[Chunk]) -> None:
        database, key = self._database, id_to_int(document.id)
        with database.transaction():
            if self._checks.check_document(document, sections, chunks):
                self._write_each(_REMOVE, [key])
            database.write(_PUT_DOCUMENT, _document_row(key, document))
            database.write_many(_PUT_SECTION, map(_section_row, sections))
            database.write_many(_PUT_CHUNK, map(_chunk_row, chunks))
            database.write_many(_PUT_FIELD, field_rows(key, document))
            database.write_many(_PUT_PAGE, page_rows(key, document))

    def remove(self, document_ids: Collection[str]) -> None:
        with self._database.transaction():
            self._write_each(_REMOVE, key_list(document_ids))

    def documents(self, ids: Collection[str]) -> dict[str, Document]:
        return self._by_id(_DOCUMENTS, ids, _document)

    def document_ids(self) -> list[str]:
        return self._ids(_DOCUMENT_IDS)

    def sections_of(self, document_ids: Collection[str]) -> dict[str, list[Section]]:
        return self._lists(_SECTIONS, document_ids, _section)

    def chunks(self, ids: Collection[str]) -> dict[str, Chunk]:
        return self._by_id(_CHUNKS, ids, _chunk)

    def chunk_ids_of(self, document_ids: Collection[str]) -> dict[str, list[str]]:
        return self._lists(_CHUNK_IDS, document_ids, lambda _, key: int_to_id(key))

    def chunk_count(self) -> int:
        return self._once(lambda: self._count(_LEAF_COUNT))

    def document_count(self) -> int:
        return self._count(_DOCUMENT_COUNT)

    def _count(self, sql: str) -> int:
        ((count,),) = self._database.rows(sql)
        return int(count)


def _section(
    document_id: str, key: int, parent: int | None, ordinal: int, level: int, title: str, *span: int
) -> Section:
    return Section(
        int_to_id(key),
        document_id,
        optional_id(parent),
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
    blocks, pages, times, boxes, links, anchors, styles = unpack_outline(outline)
    return Document(
        *(uri, unpack_text(text), title, media_type, language, unpack_json(metadata)),
        *(blocks, pages),
        times=times,
        boxes=boxes,
        links=links,
        anchors=anchors,
        styles=styles,
    )


def _section_row(section: Section) -> tuple[Any, ...]:
    return (
        id_to_int(section.id),
        id_to_int(section.document_id),
        optional_key(section.parent_id),
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
        optional_key(chunk.parent_id),
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
        optional_id(parent),
        bool(is_parent),
        unpack_blocks(blocks),
    )


_COLUMNS = tuple(column.name for column in fields(LedgerEntry))
_LISTED = ", ".join(f"l.{name}" for name in _COLUMNS)
_ENTRIES = f"SELECT {_LISTED} FROM texts($1) CROSS JOIN ledger l WHERE l.uri = j.value"
_NEXT_ENTRIES = f"SELECT {_LISTED} FROM ledger l WHERE l.uri > $1 ORDER BY l.uri LIMIT $2"
_SETTINGS_COUNTS = """
    SELECT settings, count(*) FROM ledger WHERE error_reason = '' GROUP BY settings
"""
_PUT_ENTRY = upsert("ledger", *_COLUMNS, key=["uri"])
_REMOVE_ENTRIES = "DELETE FROM ledger WHERE uri IN (SELECT j.value FROM texts($1))"


class SqlLedger(SqlPart):
    """The `Ledger` of stores in SQL databases."""

    def put(self, entries: Iterable[LedgerEntry]) -> None:
        with self._database.transaction():
            self._database.write_many(_PUT_ENTRY, map(astuple, entries))

    def get(self, uris: Collection[str]) -> dict[str, LedgerEntry]:
        distinct = dict.fromkeys(uris)
        rows = self._database.rows(_ENTRIES, ([*distinct],))
        found = {row[0]: LedgerEntry(*row) for row in checked(rows)}
        return {uri: found[uri] for uri in distinct if uri in found}

    def entries(self) -> Iterator[LedgerEntry]:
        yield from self.get([""]).values()
        for row in self._database.rows_in_pages(_NEXT_ENTRIES, ("",)):
            yield LedgerEntry(*row)

    def settings_counts(self) -> dict[str, int]:
        return dict(self._database.rows(_SETTINGS_COUNTS))

    def remove(self, uris: Collection[str]) -> None:
        with self._database.transaction():
            self._database.write(_REMOVE_ENTRIES, (list(uris),))


FIELD_VALUES = "SELECT DISTINCT text FROM document_field WHERE name = $1"
VALUES_AND_DOCUMENTS = "SELECT text, document FROM document_field WHERE name = $1"
DOCUMENTS_BY_VALUE = """
    SELECT f.text, f.document FROM texts($1) CROSS JOIN document_field f
    WHERE f.text = j.value AND f.name = $2
"""


class SqlLinks(SqlPart):
    """The `LinkStore` of stores in SQL databases."""

    def known_as(self, names: Collection[str]) -> dict[str, list[str]]:
        return self._by_value(KNOWN_AS, names)

    def linking_to(self, fits: Callable[[str], bool]) -> set[str]:
        targets = [target for (target,) in self._database.rows(FIELD_VALUES, (LINKS,))]
        found = self._by_value(LINKS, list(filter(fits, targets)))
        return {i for ids in found.values() for i in ids}

    def linked(self) -> list[tuple[str, str]]:
        rows = self._database.rows(VALUES_AND_DOCUMENTS, (LINKS,))
        return sorted((int_to_id(key), target) for target, key in rows)

    def _by_value(self, name: str, values: Collection[str]) -> dict[str, list[str]]:
        bound = list(dict.fromkeys(values))
        found: defaultdict[str, list[str]] = defaultdict(list)
        for value, key in sorted(self._database.rows(DOCUMENTS_BY_VALUE, (bound, name))):
            found[value].append(int_to_id(key))
        return dict(found)
