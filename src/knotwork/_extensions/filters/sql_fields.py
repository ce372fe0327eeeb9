"""Select documents and chunks by the fields of documents, in tables.

Python compares a filter condition with each distinct value of its field, so that all stores compare
in the same way. SQL then finds the documents with the matching values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import reduce
from operator import and_, or_

import numpy as np

from knotwork._extensions.filters.matching import Matcher, check_fields, holds_versions
from knotwork._stores.fields import (
    BUILT_IN_FIELDS,
    FILE_DATE,
    FORMAT,
    LANGUAGE,
    PAGE,
    TITLE,
    EntityForm,
    FieldInfo,
    Selection,
    Totals,
    field_name,
)
from knotwork._stores.graph_view import entity_type, most_frequent, schema_of
from knotwork._stores.id_sets import IdSet
from knotwork._stores.sql.database import SqlPart
from knotwork._stores.sql.documents import DOCUMENTS_BY_VALUE, FIELD_VALUES, VALUES_AND_DOCUMENTS
from knotwork.records import (
    KEYWORD_TYPES,
    AllOf,
    AnyOf,
    Condition,
    Filter,
    Not,
    id_to_int,
    int_to_id,
)

_SHOWN_VALUES = 5

_FEW_SHARE = 0.1
"""Share of the documents below which reading their chunks is faster than reading all chunks."""


def _summary(fields: str, pages: str) -> tuple[str, str, str, str]:
    """Return the statements that summarize the fields ``f`` and the pages ``p`` of two sources:
    documents with each field, values of each, documents with pages, documents with each label.
    """
    return (
        f"SELECT f.name, count(DISTINCT f.document) FROM {fields} GROUP BY f.name",
        f"""
            SELECT e.name, e.text, e.times
            FROM (
                SELECT v.name, v.text, v.times, row_number()
                    OVER (PARTITION BY v.name ORDER BY v.times DESC, v.text) AS place
                FROM (
                    SELECT f.name, f.text, count(*) AS times FROM {fields} GROUP BY f.name, f.text
                ) v
            ) e
            WHERE e.place <= {_SHOWN_VALUES}
        """,
        f"SELECT count(DISTINCT p.document) FROM {pages}",
        f"SELECT p.label, count(DISTINCT p.document) FROM {pages} GROUP BY p.label",
    )


class SqlFields(SqlPart):
    """The `FieldStore` of stores in SQL databases."""

    # The distinct names of fields take one index lookup each (a loose index scan).
    _FIELD_NAMES = """
        WITH RECURSIVE field (name) AS (
            SELECT min(name) FROM document_field
            UNION ALL
            SELECT (SELECT min(f.name) FROM document_field f WHERE f.name > field.name)
            FROM field WHERE field.name IS NOT NULL
        )
        SELECT name FROM field WHERE name IS NOT NULL
        UNION ALL SELECT 'page' WHERE EXISTS (SELECT 1 FROM document_page)
    """
    _SUMMARY = _summary("document_field f", "document_page p")
    _SUMMARY_AMONG = _summary(
        "keys($1) CROSS JOIN document_field f WHERE f.document = j.value",
        "keys($1) CROSS JOIN document_page p WHERE p.document = j.value",
    )
    _PAGES = "SELECT label, document FROM document_page"
    _PAGES_OF = """
        SELECT p.label, p.document FROM keys($1) CROSS JOIN document_page p
        WHERE p.document = j.value
    """
    _LABELS = "SELECT DISTINCT label FROM document_page"
    _DOCUMENT_COUNT = "SELECT count(*) FROM document"
    _DOCUMENTS = "SELECT id FROM document"
    _TITLES = "SELECT title, id FROM document WHERE title <> ''"
    _LANGUAGES = "SELECT language, id FROM document"
    _FORMATS = "SELECT uri, media_type, id FROM document"
    _URIS = "SELECT uri, id FROM document"
    _FILE_TIMES = "SELECT document_id, modified_ns FROM ledger WHERE modified_ns > 0"
    _CHUNKS = "SELECT id FROM chunk"
    _CHUNKS_AND_DOCUMENTS = "SELECT id, document FROM chunk"
    _CHUNKS_OF = """
        SELECT c.id, c.document FROM keys($1) CROSS JOIN chunk c WHERE c.document = j.value
    """
    _CHUNKS_ON = """
        SELECT c.id FROM texts($1) CROSS JOIN document_page p CROSS JOIN chunk c
        WHERE p.label = j.value AND c.document = p.document
        AND c.start < p."end" AND p.start < c."end"
    """
    _DOCUMENTS_OF = """
        SELECT DISTINCT c.document FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value
    """
    _MENTIONED = """
        SELECT DISTINCT m.entity FROM keys($1) CROSS JOIN mention m WHERE m.chunk = j.value
    """
    _SECTIONS_OF = """
        SELECT count(*) FROM keys($1) CROSS JOIN section s WHERE s.document = j.value
    """
    _CHUNK_TOTALS = """
        SELECT count(c.parent), count(CASE WHEN c.is_parent = 0 THEN 1 END),
            count(DISTINCT CASE WHEN c.is_parent = 0 THEN c.document END)
        FROM keys($1) CROSS JOIN chunk c WHERE c.id = j.value
    """
    _ENTITY_FORMS = """
        SELECT m.entity, m.name, m.type, sum(m.times), count(*),
            count(CASE WHEN m.about > 0 THEN 1 END)
        FROM keys($1) CROSS JOIN mention m WHERE m.chunk = j.value
        GROUP BY m.entity, m.name, m.type
    """
    _RELATIONS_OF = """
        SELECT DISTINCT r.name, c.source, c.target
        FROM keys($1) CROSS JOIN contribution c CROSS JOIN relation r
        WHERE c.chunk = j.value AND r.id = c.relation
    """

    def fields(self, among: IdSet | None = None) -> list[FieldInfo]:
        fetch = self._database.rows
        counts, values, paged_documents, labels = (
            self._SUMMARY if among is None else self._SUMMARY_AMONG
        )
        bound = () if among is None else (among.keys.tolist(),)
        with self._database.reading():
            examples: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
            for name, value, count in fetch(values, bound):
                examples[name].append((value, count))
            found = {
                name: _summarize_field(name, count, examples[name])
                for name, count in fetch(counts, bound)
            }
            shown = None if among is None else set(among.keys.tolist())
            for name in BUILT_IN_FIELDS:
                known = self._pairs(name)
                if pairs := dict.fromkeys(p for p in known if shown is None or p[1] in shown):
                    times = Counter(value for value, _ in pairs)
                    keys = {key for _, key in pairs}
                    found[name] = _summarize_field(name, len(keys), times.items())
            ((paged,),) = fetch(paged_documents, bound)
            if paged:
                found[PAGE] = _summarize_field(PAGE, paged, fetch(labels, bound))
        return [found[name] for name in sorted(found)]

    def values(self, name: str, among: IdSet | None = None) -> dict[str, tuple[str, ...]]:
        name = field_name(name)
        found: defaultdict[int, dict[str, None]] = defaultdict(dict)
        kept = None if among is None else set(among.keys.tolist())
        with self._database.reading():
            rows: Iterable[tuple[str, int]]
            if name == PAGE:
                bound = () if among is None else (among.keys.tolist(),)
                rows = self._database.rows(self._PAGES if among is None else self._PAGES_OF, bound)
            elif name in BUILT_IN_FIELDS:
                rows = self._pairs(name)
            else:
                rows = self._database.rows(VALUES_AND_DOCUMENTS, (name,))
            for value, key in rows:
                if kept is None or key in kept:
                    found[key][value] = None
        return {int_to_id(key): tuple(values) for key, values in found.items()}

    def select(self, wanted: Filter) -> Selection:
        with self._database.reading():
            check_fields(wanted, [name for (name,) in self._database.rows(self._FIELD_NAMES)])
            if self._is_of_documents(wanted):
                return self._passages_of(self._meeting(wanted, chunks=False))
            chunks = self._meeting(wanted, chunks=True)
            return Selection(self._keys(self._DOCUMENTS_OF, chunks), chunks)

    def mentioned(self, chunks: IdSet) -> IdSet:
        return self._keys(self._MENTIONED, chunks)

    def totals(self, selection: Selection) -> Totals:
        fetch = self._database.rows
        documents, chunks = ((ids.keys.tolist(),) for ids in selection)
        forms: defaultdict[int, list[tuple[str, str, int, int]]] = defaultdict(list)
        about = 0
        with self._database.reading():
            for key, name, type_, times, count, main in fetch(self._ENTITY_FORMS, chunks):
                forms[key].append((name, type_, int(times), count))
                about += main
            ((sections,),) = fetch(self._SECTIONS_OF, documents)
            ((inner, leaves, with_leaves),) = fetch(self._CHUNK_TOTALS, chunks)
            stated = Counter(name for name, _, _ in fetch(self._RELATIONS_OF, chunks))
        entities = {int_to_id(key): _sum_up(found) for key, found in forms.items()}
        keywords = sum(form.type in KEYWORD_TYPES for form in entities.values())
        mentions = sum(form.chunks for form in entities.values())
        size, many = len(selection.chunks), len(entities)
        labels = (len(selection.documents), sections, size, many - keywords, keywords)
        structure = (sections, size, inner, leaves - with_leaves, mentions, about)
        relations = dict(sorted(stated.items(), key=lambda item: (-item[1], item[0])))
        return Totals(leaves, entities, schema_of(labels, structure, relations))

    def _is_of_documents(self, wanted: Filter) -> bool:
        if isinstance(wanted, Condition):
            return field_name(wanted.field) != PAGE
        parts = (wanted.part,) if isinstance(wanted, Not) else wanted.parts
        return all(map(self._is_of_documents, parts))

    def _meeting(self, wanted: Filter, *, chunks: bool) -> IdSet:
        """Return the documents or the chunks that meet a filter."""
        if chunks and self._is_of_documents(wanted):
            return self._passages_of(self._meeting(wanted, chunks=False)).chunks
        match wanted:
            case AllOf(parts):
                return reduce(and_, [self._meeting(part, chunks=chunks) for part in parts])
            case AnyOf(parts):
                return reduce(or_, [self._meeting(part, chunks=chunks) for part in parts])
            case Not(part):
                rows = self._database.rows(self._CHUNKS if chunks else self._DOCUMENTS)
                return IdSet(key for (key,) in rows) - self._meeting(part, chunks=chunks)
            case Condition():
                return self._on_pages(wanted) if chunks else self._matching(wanted)

    def _on_pages(self, condition: Condition) -> IdSet:
        labels = [name for (name,) in self._database.rows(self._LABELS)]
        bound = list(filter(Matcher(condition).matches, labels))
        return IdSet({key for (key,) in self._database.rows(self._CHUNKS_ON, (bound,))})

    def _passages_of(self, documents: IdSet) -> Selection:
        """Return the chunks of these documents, and the documents that have chunks."""
        ((total,),) = self._database.rows(self._DOCUMENT_COUNT)
        if len(documents) < _FEW_SHARE * total:
            rows = self._database.rows(self._CHUNKS_OF, (documents.keys.tolist(),))
        else:
            rows = self._database.rows(self._CHUNKS_AND_DOCUMENTS)
        keys = np.array(rows, dtype=np.int64).reshape(-1, 2)
        keys = keys[np.isin(keys[:, 1], documents.keys)]
        return Selection(IdSet(keys[:, 1]), IdSet(keys[:, 0]))

    def _matching(self, condition: Condition) -> IdSet:
        name = field_name(condition.field)
        if name in BUILT_IN_FIELDS:
            matcher, pairs = Matcher(condition), list(self._pairs(name))
            matcher.check([value for value, _ in pairs[:1]])
            return IdSet({key for value, key in pairs if matcher.matches(value)})
        values = [value for (value,) in self._database.rows(FIELD_VALUES, (name,))]
        matcher = Matcher(condition, versions=holds_versions(name, values))
        matcher.check(values)
        bound = list(filter(matcher.matches, values))
        rows = self._database.rows(DOCUMENTS_BY_VALUE, (bound, name))
        return IdSet({key for _, key in rows})

    def _pairs(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield (value, document key) pairs of a built-in field, possibly with duplicates."""
        database = self._database
        if name == FILE_DATE:
            dated = {id_to_int(i): changed for i, changed in database.rows(self._FILE_TIMES) if i}
            for (key,) in database.rows(self._DOCUMENTS):
                if key in dated:
                    yield _file_day(dated[key]), key
            return
        if name == TITLE:
            yield from database.rows(self._TITLES)
        elif name == LANGUAGE:
            for language, key in database.rows(self._LANGUAGES):
                yield from ((value, key) for value in _language_values(language))
        elif name == FORMAT:
            for uri, kind, key in database.rows(self._FORMATS):
                yield from ((value, key) for value in _format_values(uri, kind))
        else:
            yield from database.rows(self._URIS)
        yield from database.rows(VALUES_AND_DOCUMENTS, (name,))

    def _keys(self, sql: str, given: IdSet) -> IdSet:
        return IdSet({key for (key,) in self._database.rows(sql, (given.keys.tolist(),))})


def _sum_up(forms: Sequence[tuple[str, str, int, int]]) -> EntityForm:
    if len(forms) == 1:
        ((name, type_, _, chunks),) = forms
        return EntityForm(name, type_, chunks)
    names, types = Counter[str](), Counter[str]()
    for name, type_, times, _ in forms:
        names[name] += times
        types[type_] += times
    del types[""]
    total = sum(chunks for *_, chunks in forms)
    return EntityForm(most_frequent(names), entity_type(types, names.total()), total)


def _summarize_field(name: str, documents: int, counts: Iterable[tuple[str, int]]) -> FieldInfo:
    """Return the summary of a field with its five most frequent values, ties by value."""
    ranked = sorted(counts, key=lambda item: (-item[1], item[0]))
    return FieldInfo(name, documents, tuple(value for value, _ in ranked[:_SHOWN_VALUES]))


def _file_day(modified_ns: int) -> str:
    """Return the UTC day of a timestamp in nanoseconds, as YYYY-MM-DD."""
    return datetime.fromtimestamp(modified_ns // 10**9, UTC).date().isoformat()


def _format_values(uri: str, media_type: str) -> tuple[str, ...]:
    """Return the values of ``format``: for "text/html" and "a.htm" that type, "html" and "htm"."""
    name = uri.rpartition("/")[2]
    suffix = name.rpartition(".")[2] if "." in name else ""
    values = (media_type, media_type.rpartition("/")[2], suffix)
    return tuple(dict.fromkeys(value for value in values if value))


def _language_values(language: str) -> tuple[str, ...]:
    """Return the values of ``language`` for a detected language, which may be empty."""
    return (language,) if language else ()
