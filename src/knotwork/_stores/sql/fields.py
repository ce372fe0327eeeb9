"""Select documents and chunks by the fields of documents, in tables.

Python compares a filter condition with each distinct value of its field, so that all stores compare
in the same way. SQL then finds the documents with the matching values.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from operator import and_, or_

import numpy as np

from knotwork._stores.fields import (
    BUILT_IN_FIELDS,
    FILE_DATE,
    FORMAT,
    KNOWN_AS,
    LANGUAGE,
    LINKS,
    PAGE,
    SHOWN_VALUES,
    TITLE,
    EntityForm,
    FieldInfo,
    Matcher,
    Selection,
    Totals,
    check_fields,
    field_name,
    file_day,
    format_values,
    holds_versions,
    language_values,
    summarize_field,
)
from knotwork._stores.graph_view import entity_type, most_frequent, schema_of
from knotwork._stores.id_sets import IdSet
from knotwork._stores.sql.database import Bound, Dialect, SqlDatabase, reports_damage
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

_FEW_SHARE = 0.1
"""Share of the documents below which reading their chunks is faster than reading all chunks."""


class FieldSummary:
    """The statements that summarize the fields ``f`` and the pages ``p`` of two sources."""

    def __init__(self, fields: str, pages: str) -> None:
        self.counts = f"SELECT f.name, count(DISTINCT f.document) FROM {fields} GROUP BY f.name"
        self.examples = f"""
            SELECT e.name, e.text, e.times
            FROM (
                SELECT v.name, v.text, v.times, row_number()
                    OVER (PARTITION BY v.name ORDER BY v.times DESC, v.text) AS place
                FROM (
                    SELECT f.name, f.text, count(*) AS times FROM {fields} GROUP BY f.name, f.text
                ) v
            ) e
            WHERE e.place <= {SHOWN_VALUES}
        """
        self.paged_documents = f"SELECT count(DISTINCT p.document) FROM {pages}"
        self.label_counts = f"""
            SELECT p.label, count(DISTINCT p.document) FROM {pages} GROUP BY p.label
        """


class FieldStatements:
    """The statements of `SqlFields` in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        keys, texts = dialect.keys("$1"), dialect.texts("$1")
        # The distinct names of fields take one index lookup each (a loose index scan).
        self.field_names = """
            WITH RECURSIVE field (name) AS (
                SELECT min(name) FROM document_field
                UNION ALL
                SELECT (SELECT min(f.name) FROM document_field f WHERE f.name > field.name)
                FROM field WHERE field.name IS NOT NULL
            )
            SELECT name FROM field WHERE name IS NOT NULL
            UNION ALL SELECT 'page' WHERE EXISTS (SELECT 1 FROM document_page)
        """
        self.summary = FieldSummary("document_field f", "document_page p")
        among = f"{keys} CROSS JOIN"
        self.summary_among = FieldSummary(
            f"{among} document_field f WHERE f.document = j.value",
            f"{among} document_page p WHERE p.document = j.value",
        )
        self.labels = "SELECT DISTINCT label FROM document_page"
        self.values = "SELECT DISTINCT text FROM document_field WHERE name = $1"
        self.values_and_documents = "SELECT text, document FROM document_field WHERE name = $1"
        self.by_value = f"""
            SELECT f.text, f.document FROM {texts} CROSS JOIN document_field f
            WHERE f.text = j.value AND f.name = $2
        """
        self.document_count = "SELECT count(*) FROM document"
        self.documents = "SELECT id FROM document"
        self.titles = "SELECT title, id FROM document WHERE title <> ''"
        self.languages = "SELECT language, id FROM document"
        self.formats = "SELECT uri, media_type, id FROM document"
        self.uris = "SELECT uri, id FROM document"
        self.file_times = "SELECT document_id, modified_ns FROM ledger WHERE modified_ns > 0"
        self.chunks = "SELECT id FROM chunk"
        self.chunks_and_documents = "SELECT id, document FROM chunk"
        self.chunks_of = f"""
            SELECT c.id, c.document FROM {keys} CROSS JOIN chunk c WHERE c.document = j.value
        """
        self.chunks_on = f"""
            SELECT c.id FROM {texts} CROSS JOIN document_page p CROSS JOIN chunk c
            WHERE p.label = j.value AND c.document = p.document
            AND c.start < p."end" AND p.start < c."end"
        """
        self.documents_of = f"""
            SELECT DISTINCT c.document FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value
        """
        self.mentioned = f"""
            SELECT DISTINCT m.entity FROM {keys} CROSS JOIN mention m WHERE m.chunk = j.value
        """
        self.sections_of = f"""
            SELECT count(*) FROM {keys} CROSS JOIN section s WHERE s.document = j.value
        """
        self.chunk_totals = f"""
            SELECT count(c.parent), count(CASE WHEN c.is_parent = 0 THEN 1 END),
                count(DISTINCT CASE WHEN c.is_parent = 0 THEN c.document END)
            FROM {keys} CROSS JOIN chunk c WHERE c.id = j.value
        """
        self.entity_forms = f"""
            SELECT m.entity, m.name, m.type, sum(m.times), count(*),
                count(CASE WHEN m.about > 0 THEN 1 END)
            FROM {keys} CROSS JOIN mention m WHERE m.chunk = j.value
            GROUP BY m.entity, m.name, m.type
        """
        self.relations_of = f"""
            SELECT DISTINCT r.name, c.source, c.target
            FROM {keys} CROSS JOIN contribution c CROSS JOIN relation r
            WHERE c.chunk = j.value AND r.id = c.relation
        """


@reports_damage
class SqlFields:
    """The `FieldStore` and the `LinkStore` of stores in SQL databases."""

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._sql = FieldStatements(database.dialect)

    def fields(self, among: IdSet | None = None) -> list[FieldInfo]:
        fetch, sql = self._database.fetch, self._sql.summary
        bound: tuple[Bound, ...] = ()
        if among is not None:
            sql, bound = self._sql.summary_among, (self._bind(among),)
        with self._database.reading():
            examples: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
            for name, value, count in fetch(sql.examples, bound):
                examples[name].append((value, count))
            found = {
                name: summarize_field(name, count, examples[name])
                for name, count in fetch(sql.counts, bound)
            }
            shown = None if among is None else set(among.keys.tolist())
            for name in BUILT_IN_FIELDS:
                known = self._pairs(name)
                if pairs := dict.fromkeys(p for p in known if shown is None or p[1] in shown):
                    values = Counter(value for value, _ in pairs)
                    keys = {key for _, key in pairs}
                    found[name] = summarize_field(name, len(keys), values.items())
            ((paged,),) = fetch(sql.paged_documents, bound)
            if paged:
                labels = fetch(sql.label_counts, bound)
                found[PAGE] = summarize_field(PAGE, paged, labels)
        return [found[name] for name in sorted(found)]

    def select(self, wanted: Filter) -> Selection:
        with self._database.reading():
            check_fields(wanted, [name for (name,) in self._database.fetch(self._sql.field_names)])
            if self._is_of_documents(wanted):
                return self._passages_of(self._documents(wanted))
            chunks = self._chunks(wanted)
            return Selection(self._keys(self._sql.documents_of, chunks), chunks)

    def mentioned(self, chunks: IdSet) -> IdSet:
        with self._database.reading():
            return self._keys(self._sql.mentioned, chunks)

    def totals(self, selection: Selection) -> Totals:
        fetch, sql = self._database.fetch, self._sql
        documents, chunks = ((self._bind(ids),) for ids in selection)
        forms: defaultdict[int, list[tuple[str, str, int, int]]] = defaultdict(list)
        about = 0
        with self._database.reading():
            for key, name, type_, times, count, main in fetch(sql.entity_forms, chunks):
                forms[key].append((name, type_, int(times), count))
                about += main
            ((sections,),) = fetch(sql.sections_of, documents)
            ((inner, leaves, with_leaves),) = fetch(sql.chunk_totals, chunks)
            stated = Counter(name for name, _, _ in fetch(sql.relations_of, chunks))
        entities = {int_to_id(key): _sum_up(found) for key, found in forms.items()}
        keywords = sum(form.type in KEYWORD_TYPES for form in entities.values())
        mentions = sum(form.chunks for form in entities.values())
        size, many = len(selection.chunks), len(entities)
        labels = (len(selection.documents), sections, size, many - keywords, keywords)
        structure = (sections, size, inner, leaves - with_leaves, mentions, about)
        relations = dict(sorted(stated.items(), key=lambda item: (-item[1], item[0])))
        return Totals(leaves, entities, schema_of(labels, structure, relations))

    def known_as(self, names: Collection[str]) -> dict[str, list[str]]:
        return self._by_value(KNOWN_AS, names)

    def linking_to(self, fits: Callable[[str], bool]) -> set[str]:
        targets = [target for (target,) in self._database.rows(self._sql.values, (LINKS,))]
        found = self._by_value(LINKS, list(filter(fits, targets)))
        return {i for ids in found.values() for i in ids}

    def linked(self) -> list[tuple[str, str]]:
        rows = self._database.rows(self._sql.values_and_documents, (LINKS,))
        return sorted((int_to_id(key), target) for target, key in rows)

    def _by_value(self, name: str, values: Collection[str]) -> dict[str, list[str]]:
        bound = self._database.dialect.bind_texts(dict.fromkeys(values))
        found: defaultdict[str, list[str]] = defaultdict(list)
        for value, key in sorted(self._database.rows(self._sql.by_value, (bound, name))):
            found[value].append(int_to_id(key))
        return dict(found)

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
                return self._all(self._sql.documents) - self._documents(part)
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
                return self._all(self._sql.chunks) - self._chunks(part)
            case Condition():
                matches = Matcher(wanted).matches
                labels = [name for (name,) in self._database.fetch(self._sql.labels)]
                bound = self._database.dialect.bind_texts(filter(matches, labels))
                rows = self._database.fetch(self._sql.chunks_on, (bound,))
                return IdSet({key for (key,) in rows})

    def _passages_of(self, documents: IdSet) -> Selection:
        """Return the chunks of these documents, and the documents that have chunks."""
        ((total,),) = self._database.fetch(self._sql.document_count)
        if len(documents) < _FEW_SHARE * total:
            bound = self._database.dialect.bind_keys(documents.keys.tolist())
            rows = self._database.fetch(self._sql.chunks_of, (bound,))
        else:
            rows = self._database.fetch(self._sql.chunks_and_documents)
        keys = np.array(rows, dtype=np.int64).reshape(-1, 2)
        keys = keys[np.isin(keys[:, 1], documents.keys)]
        return Selection(IdSet(keys[:, 1]), IdSet(keys[:, 0]))

    def _matching(self, condition: Condition) -> IdSet:
        """Return the documents that meet a condition."""
        name = field_name(condition.field)
        if name in BUILT_IN_FIELDS:
            matcher, pairs = Matcher(condition), list(self._pairs(name))
            matcher.check([value for value, _ in pairs[:1]])
            return IdSet({key for value, key in pairs if matcher.matches(value)})
        values = [value for (value,) in self._database.fetch(self._sql.values, (name,))]
        matcher = Matcher(condition, versions=holds_versions(name, values))
        matcher.check(values)
        bound = self._database.dialect.bind_texts(filter(matcher.matches, values))
        rows = self._database.fetch(self._sql.by_value, (bound, name))
        return IdSet({key for _, key in rows})

    def _pairs(self, name: str) -> Iterator[tuple[str, int]]:
        """Yield (value, document key) pairs of a built-in field, possibly with duplicates."""
        database, sql = self._database, self._sql
        if name == FILE_DATE:
            dated = {id_to_int(i): changed for i, changed in database.fetch(sql.file_times) if i}
            for (key,) in database.fetch(sql.documents):
                if key in dated:
                    yield file_day(dated[key]), key
            return
        if name == TITLE:
            yield from database.fetch(sql.titles)
        elif name == LANGUAGE:
            for language, key in database.fetch(sql.languages):
                yield from ((value, key) for value in language_values(language))
        elif name == FORMAT:
            for uri, kind, key in database.fetch(sql.formats):
                yield from ((value, key) for value in format_values(uri, kind))
        else:
            yield from database.fetch(sql.uris)
        yield from database.fetch(sql.values_and_documents, (name,))

    def _all(self, sql: str) -> IdSet:
        return IdSet(key for (key,) in self._database.fetch(sql))

    def _keys(self, sql: str, given: IdSet) -> IdSet:
        return IdSet({key for (key,) in self._database.fetch(sql, (self._bind(given),))})

    def _bind(self, ids: IdSet) -> Bound:
        return self._database.dialect.bind_keys(ids.keys.tolist())


def _sum_up(forms: Sequence[tuple[str, str, int, int]]) -> EntityForm:
    """Return an entity from the mentions and chunks of each name and type that it has."""
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
