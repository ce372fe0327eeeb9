"""Fields of documents in a table by name and value, and filters as sets of keys.

A condition is compared with each distinct value of its field, in Python, so that every store
compares alike; the documents that have the values found come from the index of the table. Title,
uri, language and format are read from the documents themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import reduce
from operator import and_, or_

import numpy as np

from knotwork.records import AllOf, AnyOf, Condition, Filter, Not, id_to_int
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import pack_keys
from knotwork.stores.fields import (
    BUILT_IN,
    FILE_DATE,
    FORMAT,
    LANGUAGE,
    PAGE,
    TITLE,
    FieldInfo,
    Selection,
    check_fields,
    field_name,
    file_day,
    format_values,
    language_values,
    summarize_field,
)
from knotwork.stores.id_sets import IdSet
from knotwork.stores.matching import Matcher

_KNOWN = (
    "WITH RECURSIVE field (name) AS (SELECT min(name) FROM document_field UNION ALL"
    " SELECT (SELECT min(f.name) FROM document_field f WHERE f.name > field.name) FROM field"
    " WHERE field.name IS NOT NULL) SELECT name FROM field WHERE name IS NOT NULL"
    " UNION ALL SELECT 'page' WHERE EXISTS (SELECT 1 FROM document_page)"
)
"""The names of fields, one look into the index of the table for each."""

_FEW_SHARE = 0.1
"""Of the documents, what is read faster one by one than with all others."""

_NAMES = "SELECT name, count(DISTINCT document) FROM document_field GROUP BY name"
_PAGED = "SELECT count(DISTINCT document) FROM document_page"
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


class EmbeddedFields:
    """The `FieldStore` of the embedded store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def fields(self) -> list[FieldInfo]:
        """Return the fields that the index has, by name."""
        with self._database.reading():
            documents: dict[str, int] = dict(self._database.fetch(_NAMES))
            found = {
                name: summarize_field(name, count, self._database.fetch(_EXAMPLES, (name,)))
                for name, count in documents.items()
            }
            for name in BUILT_IN:
                held = list(self._pairs(name))
                if held:
                    values = Counter(value for value, _ in dict.fromkeys(held))
                    keys = {key for _, key in held}
                    found[name] = summarize_field(name, len(keys), values.items())
            ((paged,),) = self._database.fetch(_PAGED)
            if paged:
                labels = self._database.fetch(
                    "SELECT label, count(DISTINCT document) FROM document_page GROUP BY label"
                )
                found[PAGE] = summarize_field(PAGE, paged, labels)
        return [found[name] for name in sorted(found)]

    def select(self, wanted: Filter) -> Selection:
        """Return what a filter leaves. Raises UnknownName for a field that the index lacks."""
        with self._database.reading():
            check_fields(wanted, [name for (name,) in self._database.fetch(_KNOWN)])
            if self._is_of_documents(wanted):
                return self._passages_of(self._documents(wanted))
            chunks = self._chunks(wanted)
            return Selection(self._keys(_DOCUMENTS_OF, chunks), chunks)

    def mentioned(self, chunks: IdSet) -> IdSet:
        """Return the ids of the entities that any of these chunks mention."""
        with self._database.reading():
            return self._keys(_MENTIONED, chunks)

    def _is_of_documents(self, wanted: Filter) -> bool:
        """Return whether a filter compares no pages, so that it keeps or drops whole documents."""
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
        """Return the chunks of documents, and those of the documents that have any."""
        ((every,),) = self._database.fetch("SELECT count(*) FROM document")
        if len(documents) < _FEW_SHARE * every:
            rows = self._database.fetch(_CHUNKS_OF, (pack_keys(documents.keys.tolist()),))
        else:
            rows = self._database.fetch("SELECT id, document FROM chunk")
        keys = np.array(rows, dtype=np.int64).reshape(-1, 2)
        keys = keys[np.isin(keys[:, 1], documents.keys)]
        return Selection(IdSet(keys[:, 1]), IdSet(keys[:, 0]))

    def _matching(self, condition: Condition) -> IdSet:
        """Return the documents that fulfil a condition."""
        name = field_name(condition.field)
        matches = Matcher(condition).matches
        if name in BUILT_IN:
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
        """Yield the values of a built-in field, each with its document; one may come twice."""
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
