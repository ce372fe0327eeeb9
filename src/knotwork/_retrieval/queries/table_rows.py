"""Answer from the tables beside an index: rows of a query, and the file rows behind them.

Precision comes first. A plan for a question about one table (a sum, a count, an extreme, ...)
is made only if every word of the question is accounted for, every name means one column, and no
other table fits as well. Otherwise passages answer.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from knotwork._questions.amounts import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.queries.comparisons import conditions_of, require_no_negation
from knotwork._retrieval.queries.query_plans import PropertyCondition, Returned
from knotwork._retrieval.queries.query_rows import ROWS_SCORE
from knotwork._retrieval.queries.schema_linker import SchemaLinker, SchemaMention, split_name
from knotwork._retrieval.queries.sql_target import compare_column, quote_column
from knotwork._retrieval.queries.table_queries import (
    MEASURE_VERBS,
    NUMERIC,
    ColumnValues,
    NamedColumn,
    TableQuery,
    TableReading,
    choose_query,
    is_asked_for,
    is_counted,
    is_grouping,
    is_key,
    is_measured,
    measures,
    people_in,
    read_table_wording,
    unaccounted,
)
from knotwork._retrieval.queries.target_schema import KindShape, PropertyShape, TargetSchema
from knotwork._stores.base import Store
from knotwork._stores.index_tables import tables_of
from knotwork._stores.table_file import TableFile, TableShape
from knotwork._text.names import STOP_NAMES, name_candidates
from knotwork._text.terms import content_terms, terms
from knotwork.errors import QueryRefused
from knotwork.records import (
    Chunk,
    Document,
    Evidence,
    Hit,
    PropertyValue,
    QueryResult,
    RowSource,
    Span,
)

LEAST_SHARE = 0.5
"""Minimum share of the words of a header or table name that the question must contain."""
_HINT_CHARACTERS = 12
"""Maximum distance between a value and the name of its column that only describes it."""
_COMPARED_CHARACTERS = 30
_IS = re.compile(
    r"\s*(?:(?:number|no\.?|#|:|：|=|is|are|was|were|of|equals|equal to|exactly|号|是|为|等于|正好)"
    r"\s*)*",
    re.IGNORECASE,
)
_NOT_IN = re.compile(
    r"(?:\b(?:not|except|excluding|other than|apart from|outside)(?: (?:of|in|from|at|for|by|the))*"
    r"|不在|不是|不属于|除了?)\s*$",
    re.IGNORECASE,
)
_MISSING = re.compile(
    r"(?:(?P<no>(?P<date>\b(?:not|never)(?: yet)?(?: been)?|还没|尚未|未被?)"
    r"|\b(?:without|no|lack(?:s|ing)?|missing)(?: (?:an?|any|the))?|没有?|无|缺少?)"
    r"|\b(?:with|ha(?:ve|s|d)) (?:an?|any)|(?<!没)有)\s*$",
    re.IGNORECASE,
)
"""What says before a column that it is empty, or that it is not; "not" only before a date."""
_CURRENCIES = {
    name: re.compile(form, re.IGNORECASE)
    for name, form in {
        "EUR": r"€|\beuros?\b|\beur\b|欧元",
        "USD": r"\$|\bdollars?\b|\busd\b|美元",
        "GBP": r"£|\bpounds\b|\bgbp\b|英镑",
        "CNY": r"\byuan\b|\b(?:cny|rmb)\b|人民币|(?<![美欧日])元",
    }.items()
}
_DATE_ENDING = re.compile(r"(?<=\S)(?: (?:date|on|at)|日期|时间)$", re.IGNORECASE)
_COUNT_ENDING = re.compile(r"(?<=..)(?:数量|总数|个数|数)$")
_DIGITS = re.compile(r"\d+")
_BRACKETS = re.compile(r"[(（\[].*?[)）\]]")

Found = Mapping[str, Sequence[tuple[str, str, str]]]
"""Texts in columns by form, as `TableFile.find_values` returns them."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A part of a question with the texts in columns that it means, by column."""

    span: Span
    columns: Mapping[str, tuple[str, ...]]


def plan_queries(
    text: str, tables: Sequence[TableShape], forms: Mapping[str, Span], found: Found
) -> Iterator[TableQuery]:
    """Yield what a question can mean: the only query, and one to run if that has no rows.

    ``forms`` are the parts of the question that may be values, ``found`` the stored values among
    them. "The average rating" is first a column of that name, and then the mean of the column.
    """
    for keeps_names in (True, False):
        named, others = list[TableQuery](), list[TableQuery]()
        for table in tables:
            values = _values_in(table, forms, found)
            reader = _TableReader(text, table, values, keeps_names=keeps_names)
            try:
                reading = reader.read()
            except QueryRefused:
                continue
            if reading is not None and (query := choose_query(reading)) is not None:
                (named if reading.names_table else others).append(query)
        if len(chosen := named or others) == 1:
            yield chosen[0]


def _values_in(table: TableShape, forms: Mapping[str, Span], found: Found) -> list[_Value]:
    """Return the values of a table that a question mentions; longer ones win."""
    by_span: dict[Span, dict[str, dict[str, None]]] = {}
    for form, places in found.items():
        for name, column, value in places:
            if name == table.name and form in forms:
                by_span.setdefault(forms[form], {}).setdefault(column, {})[value] = None
    kept: list[_Value] = []
    for span in sorted(by_span, key=lambda s: (s.start - s.end, s.start)):
        if not _overlap(span, (other.span for other in kept)):
            columns = {column: tuple(values) for column, values in by_span[span].items()}
            kept.append(_Value(span, columns))
    return sorted(kept, key=lambda value: value.span)


class _TableReader:
    """Reads a question as one about a certain table."""

    def __init__(
        self, text: str, table: TableShape, values: Sequence[_Value], *, keeps_names: bool
    ) -> None:
        asked = reading_of(text)
        self._text = text
        self._table = table
        self._keeps_names = keeps_names
        self._comparisons = asked.comparisons
        linker, kinds = SchemaLinker(_schema_of(table)), dict(table.columns)
        compared = [comparison.span for comparison in self._comparisons]
        whole = [
            m
            for m in linker.link(text, taken=compared)
            if m.element == "property" and m.score >= 1 and _holds_numbers_of(text, m)
        ]
        names = [m.span for m in whole]
        # "First floor" is a value rather than what comes first.
        held = [v.span for v in values if " " in text[v.span.start : v.span.end]]
        self._wording = read_table_wording(text, [*held, *(names if keeps_names else ())])
        self._computes = keeps_names or self._wording != read_table_wording(text, [*held, *names])
        self._numbers = [
            amount
            for amount in asked.amounts
            if amount.number is not None
            and not _overlap(amount.span, [*compared, *names, *self._wording.covered])
        ]
        self._values = [value for value in values if self._may_be_meant(value, names)]
        taken = [*compared, *(v.span for v in self._values)]
        numbers = [amount.span for amount in self._numbers]
        mentions = linker.link(text, taken=[*taken, *numbers])
        columns = [
            NamedColumn(m.name, kinds[m.name], m.span, m.score)
            for m in mentions
            if m.element == "property"
            and m.score >= LEAST_SHARE
            # A part of a name may be a word that states what to compute.
            and (m.score >= 1 or not _overlap(m.span, self._wording.covered))
        ]
        self._tables = [m.span for m in mentions if m.element == "kind" and m.score >= LEAST_SHARE]
        # Whoever has a name in the table is a student, an employee, …
        self._tables += people_in(text, table) if not self._tables else []
        # "Members" is a table rather than a part of "member id".
        columns = [c for c in columns if c.score >= 1 or not _overlap(c.span, self._tables)]
        self._covered = [*self._wording.covered, *taken, *self._tables]
        self._free = _best_columns(columns)
        self._covered += [column.span for column in self._free]
        self._free = list({column.name: column for column in reversed(self._free)}.values())
        apart = [c for c in self._free if not _overlap(c.span, self._wording.covered)]
        if any(column.kind in NUMERIC for column in apart):
            self._free = apart  # "the average mark in maths", beside a column of average marks

    def read(self) -> TableReading | None:
        """Return the reading, or None if words of the question are not accounted for.

        Raises QueryRefused for a condition that cannot be applied.
        """
        if not self._wording.is_clear or not self._computes:
            return None
        if not self._keeps_names and (self._comparisons or self._numbers):
            return None  # a compared column is meant by its name
        used = {column.name for column in self._free}
        compared = tuple(self._compare())
        texts = tuple(self._match_values())
        conditions = (*compared, *self._equal_numbers())
        texts += tuple(self._match_missing())
        require_no_negation(self._text, self._covered)
        self._require_currencies(used | {condition.property for condition in conditions})
        if unaccounted(self._text, self._covered):
            return None
        texts_or_days = (column for column in self._free if column.kind not in NUMERIC)
        groups = [column for column in texts_or_days if is_grouping(self._text, column.span)]
        if len(groups) > 1:
            return None
        group = groups[0].name if groups else ""
        rest = tuple(column for column in self._free if column not in groups)
        rows = [column.name for column in rest if _overlap(column.span, self._tables)]
        counted = [v for v in self._values if is_counted(self._text, v.span)]
        key = self._table.columns[0][0]
        if not (rest or self._tables) and any(key in value.columns for value in counted):
            # "How many saws" is the sum of a column of counts.
            amounts = [c for c in self._table.columns if c[1] in NUMERIC and measures(*c, "count")]
            rest = tuple(NamedColumn(*column, Span(0, 0)) for column in amounts)
        query = TableQuery(self._table, texts=texts, conditions=conditions, group=group)
        asked = any(is_asked_for(self._text, span) for span in self._tables)
        # "How many sloops" and "which sloops" are about the rows with that value.
        which = any(is_asked_for(self._text, v.span) for v in self._values)
        names = bool(self._tables or counted) or which
        return TableReading(query, rest, self._wording, names, tuple(rows), asked)

    def _may_be_meant(self, value: _Value, names: Sequence[Span]) -> bool:
        """Return True if a part of the question can mean a value, and none of the ``names``."""
        taken = [*self._wording.covered, *names, *(c.span for c in self._comparisons)]
        surface = self._text[value.span.start : value.span.end]
        return surface.lower() not in STOP_NAMES and not _overlap(value.span, taken)

    def _compare(self) -> Iterator[PropertyCondition]:
        """Yield conditions for all comparisons. Raises QueryRefused for one without a column."""
        used: list[NamedColumn] = []
        for comparison in self._comparisons:
            column = self._compared_column(comparison)
            used += [column] if column in self._free else []
            self._cover_unit(column.name, comparison.span)
            yield from conditions_of(comparison, PropertyShape(column.name, column.kind))
        self._free = [column for column in self._free if column not in used]

    def _compared_column(self, comparison: AmountComparison) -> NamedColumn:
        """Return the column that a comparison is about.

        It is the nearest named column, or for a time the only column with times. Raises
        QueryRefused.
        """
        is_year = comparison.is_time and comparison.operator is Operator.EQUALS
        fitting = [
            column
            for column in self._free
            if conditions_of(comparison, PropertyShape(column.name, column.kind))
            and column.span.distance(comparison.span) <= _COMPARED_CHARACTERS
            and (not is_year or _holds_times(column.name, column.kind))
        ]
        if fitting:
            return min(fitting, key=lambda column: column.span.distance(comparison.span))
        written = self._text[max(comparison.span.start - 4, 0) : comparison.span.end + 1]
        fitting = [
            NamedColumn(name, kind, comparison.span)
            for name, kind in self._table.columns
            if conditions_of(comparison, PropertyShape(name, kind))
            and ((comparison.is_time and _holds_times(name, kind)) or is_measured(name, written))
        ]
        # The date of an order is the order date rather than the delivery date.
        named = set(terms(split_name(self._table.name)))
        fitting = [c for c in fitting if named & set(terms(split_name(c.name)))] or fitting
        if len(fitting) != 1:
            raise QueryRefused(f"No column can be compared with “{comparison.surface}”.")
        return fitting[0]

    def _match_values(self) -> Iterator[ColumnValues]:
        """Yield conditions for all values; several values of one column are alternatives.

        Raises QueryRefused for a value of several columns if none is named next to it.
        """
        by_column: dict[tuple[str, bool], dict[str, None]] = {}
        for value in self._values:
            hints = [
                column
                for column in self._free
                if column.name in value.columns
                and column.span.distance(value.span) <= _HINT_CHARACTERS
            ]
            if not hints and len(value.columns) > 1:
                raise QueryRefused("A value occurs in several columns.")
            name = hints[0].name if hints else next(iter(value.columns))
            self._free = [column for column in self._free if column not in hints[:1]]
            denied = _NOT_IN.search(self._text[: value.span.start])
            if denied:
                self._covered.append(Span(*denied.span()))
            held = by_column.setdefault((name, bool(denied)), {})
            held.update(dict.fromkeys(value.columns[name]))
        for (name, differs), values in by_column.items():
            yield ColumnValues(name, tuple(values), differs)

    def _match_missing(self) -> Iterator[ColumnValues]:
        """Yield conditions that a column is empty, or that it is not, as in "without an owner"."""
        for column in list(self._free):
            found = _MISSING.search(self._text[: column.span.start])
            is_date = column.kind == "date"
            if found and (is_date or not found["date"]) and not _overlap(column.span, self._tables):
                self._covered.append(Span(*found.span()))
                self._free.remove(column)
                yield ColumnValues(column.name, (), differs=not found["no"])

    def _equal_numbers(self) -> Iterator[PropertyCondition]:
        """Yield conditions for numbers next to a column, as in "order id 7" and "4 stars".

        A number behind the name of the table is that of its first column, as in "order 7".
        """
        key, kind = self._table.columns[0]
        keys = [NamedColumn(key, kind, span) for span in self._tables if is_key(key)]
        for amount in self._numbers:
            for column in [*self._free, *keys]:
                if column.span.distance(amount.span) > _COMPARED_CHARACTERS:
                    continue
                before = self._text[column.span.end : amount.span.start]
                after = self._text[amount.span.end : column.span.start]
                is_next = column.span.end <= amount.span.start and _IS.fullmatch(before)
                is_before = amount.span.end <= column.span.start and not after.strip()
                if column.kind in NUMERIC and (is_next or (is_before and column not in keys)):
                    self._covered.append(amount.span)
                    self._cover_unit(column.name, amount.span)
                    self._free = [other for other in self._free if other != column]
                    value = amount.number or 0.0
                    held = int(value) if value.is_integer() else value
                    yield PropertyCondition(column.name, held)
                    break

    def _cover_unit(self, column: str, amount: Span) -> None:
        """Account for the unit behind an amount if the header of its column has it in brackets."""
        for unit in _BRACKETS.findall(self._label(column)):
            written = rf"\s*{re.escape(unit[1:-1].strip())}s?(?![a-z])"
            if found := re.compile(written, re.IGNORECASE).match(self._text, amount.end):
                self._covered.append(Span(*found.span()))

    def _require_currencies(self, columns: Iterable[str]) -> None:
        """Raise QueryRefused for a question in another currency than the header of a column."""
        asked = _currencies_in(self._text)
        for column in columns if asked else ():
            held = _currencies_in(self._label(column))
            if not asked & held and (held or _BRACKETS.search(self._label(column))):
                raise QueryRefused(f"The column “{column}” is in another currency.")

    def _label(self, column: str) -> str:
        names = [name for name, _ in self._table.columns]
        return dict(zip(names, self._table.labels, strict=False)).get(column, column)


def _overlap(span: Span, others: Iterable[Span]) -> bool:
    return any(span.overlaps(other) for other in others)


def _currencies_in(text: str) -> set[str]:
    return {name for name, form in _CURRENCIES.items() if form.search(text)}


def _holds_numbers_of(text: str, column: SchemaMention) -> bool:
    """Return True if the name of a column has all digits of the words that mention it."""
    written = text[column.span.start : column.span.end]
    return set(_DIGITS.findall(written)) <= set(_DIGITS.findall(column.name))


def _schema_of(table: TableShape) -> TargetSchema:
    """Return the schema of a table; headers without brackets are synonyms of its columns.

    "Hire date" and "购买日期" are also "hire" and "购买", unless that is the name of the table, and
    "房间数量" is also "房间".
    """
    named = set(terms(split_name(table.name)))
    columns = tuple(PropertyShape(name, kind) for name, kind in table.columns)
    words: dict[str, tuple[str, ...]] = {}
    for (name, kind), label in zip(table.columns, table.labels, strict=True):
        bare = _BRACKETS.sub("", label).strip()
        ending = _COUNT_ENDING if kind == "integer" else _DATE_ENDING
        event = ending.sub("", bare) if kind in ("date", "integer") else ""
        event = "" if named & set(terms(event)) else event
        verb = next((v for d, v in MEASURE_VERBS.items() if measures(name, kind, d)), "")
        # "Order no" is "order number", and "order" alone is something else.
        is_whole = len(content_terms(bare)) == len(terms(bare))
        forms = (bare if is_whole else "", split_name(bare), event, verb)
        words[name] = tuple(text for text in dict.fromkeys(forms) if text)
    return TargetSchema("sql", (KindShape(table.name, table.rows, columns),), words=words)


def _best_columns(mentions: Sequence[NamedColumn]) -> list[NamedColumn]:
    """Return the best of overlapping columns; equally good ones are left out."""
    kept: list[NamedColumn] = []
    # "Sold" and "units" mean the units sold rather than the unit price.
    total: defaultdict[str, float] = defaultdict(float)
    for (name, _), score in {(m.name, m.span): m.score for m in mentions}.items():
        total[name] += score
    order = sorted(mentions, key=lambda m: (-m.score, m.span.start - m.span.end, m.span.start))
    for mention in order:
        is_rival = any(
            other.name != mention.name
            and other.score == mention.score
            and total[other.name] >= total[mention.name]
            and other.span == mention.span
            for other in order
        )
        if not is_rival and not _overlap(mention.span, (other.span for other in kept)):
            kept.append(mention)
    return sorted(kept, key=lambda column: column.span)


def _holds_times(name: str, kind: str) -> bool:
    return kind == "date" or (kind == "integer" and measures(name, kind, "year"))


CONFIDENCE = 0.9
"""Confidence of a query that accounts for every word of the question."""
CITED_ROWS = 6
ROW_LIMIT = 200
RUN_TIMEOUT_S = 5.0
_LONGEST_VALUE = 8
"""Maximum number of words in a value that a question mentions."""
_SOURCE = "tables"

Parameters = dict[str, PropertyValue]


class TableRows:
    """Answers questions that are clearly about one of the tables beside an index."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tables = tables_of(store)

    def add_rows(self, evidence: Evidence, question: str) -> Evidence:
        """Return the evidence with the rows that answer a question, unchanged without any."""
        result = self.ask(question)
        if result is None:
            return evidence
        found = _find_chunks(self._store, result.row_sources)
        top = max((hit.score for hit in evidence.hits), default=1.0)
        cited = {chunk.id for chunk, _ in found}
        hits = [
            Hit(chunk, top, {ROWS_SCORE: top}, sentences=tuple((span, 1.0) for span in spans))
            for chunk, spans in found
        ]
        hits += [hit for hit in evidence.hits if hit.chunk.id not in cited]
        confidence = max(evidence.confidence, result.confidence)
        return replace(
            evidence,
            hits=tuple(hits[: max(evidence.query.k, len(found))]),
            results=(result, *evidence.results),
            confidence=confidence,
        )

    def ask(self, question: str) -> QueryResult | None:
        """Return the rows that answer a question, or None if it is not clearly about one table."""
        if self._tables is None or not self._tables.exists():
            return None
        shapes = self._current(self._tables.tables())
        if not shapes:
            return None
        forms = _forms_of(question)
        found = self._tables.find_values(list(forms))
        results = (self._run(q, self._tables) for q in plan_queries(question, shapes, forms, found))
        return next((result for result in results if result is not None), None)

    def _current(self, shapes: Sequence[TableShape]) -> list[TableShape]:
        """Return the tables of files, and those of documents in their indexed revision."""
        known = self._store.ledger.get([shape.document for shape in shapes if shape.document])
        current = {uri: entry.revision for uri, entry in known.items()}
        return [s for s in shapes if not s.document or current.get(s.document) == s.revision]

    def _run(self, query: TableQuery, tables: TableFile) -> QueryResult | None:
        text, parameters = write_query(query)
        result = tables.run(text, parameters, row_limit=ROW_LIMIT, timeout_s=RUN_TIMEOUT_S)
        is_aggregate = query.returned not in (Returned.THING, Returned.VALUE)
        if result.is_empty and not (is_aggregate and result.rows and result.rows[0][-1] == 0):
            return None
        if query.is_single and len(result.rows) > 1:
            return None  # "what is the department of Ann" has one answer
        names = {str(row[0]) for row in result.rows}
        if query.order and query.limit > 1 and len(names) < len(result.rows):
            return None  # "the top three products" must be different products
        text, values = write_sources(query, result)
        sources = tables.run(text, values, row_limit=1, timeout_s=RUN_TIMEOUT_S).rows[0]
        if query.columns and query.order == "" and int(sources[0]) == len(result.rows):
            held = ColumnValues(query.group, tuple(str(row[0]) for row in result.rows))
            columns = (query.group, query.columns[0])  # one row each: they are shown as they are
            query = replace(query, returned=Returned.VALUE, columns=columns, group="", limit=0)
            return self._run(replace(query, texts=(*query.texts, held), order=columns[1]), tables)
        # If no row was counted, the table is cited by its first row.
        rows = [int(row) for row in str(sources[1] or sources[2] or "").split(",") if row]
        shape = query.table
        return replace(
            result,
            seconds=0.0,
            source=_SOURCE,
            place=f"the table {shape.name} ({shape.document or shape.source})",
            confidence=CONFIDENCE,
            row_sources=tuple(tables.row_sources(shape, rows)),
            row_count=int(sources[0]),
            is_listing=not is_aggregate and int(sources[0]) == len(result.rows),
        )


def write_query(query: TableQuery) -> tuple[str, Parameters]:
    """Return the statement of a query, and its parameters."""
    head, where, parameters = _where(query)
    table, selected = quote_column(query.table.name), _selected(query)
    if not query.group:
        lines = [*head, f"SELECT {selected}", f"FROM {table}", *where, _order(query)]
        return "\n".join(filter(None, lines)), parameters
    group = quote_column(query.group)
    lines = [f"SELECT {selected}", f"FROM {table}", *where, f"GROUP BY {group}"]
    if query.limit:
        # Groups with the same value at the end of the scale are all wanted.
        lines = [
            f"WITH grouped({group}, value) AS (",
            *lines,
            f") SELECT {group}, value AS {_aggregate_label(query)} FROM grouped",  # noqa: S608
            f"WHERE value IN (SELECT value FROM grouped {_end_of(query, 'value')})",  # noqa: S608
        ]
    sorting = f"2 {_direction(query)}, 1" if query.order is not None else "1"
    return "\n".join([*lines, f"ORDER BY {sorting}"]), parameters


def write_sources(query: TableQuery, result: QueryResult) -> tuple[str, Parameters]:
    """Return the statement that counts the rows behind a result and lists the first of them."""
    head, where, parameters = _where(query)
    table = quote_column(query.table.name)
    condition = ""
    if query.group:
        shown = [row[0] for row in result.rows[:CITED_ROWS]]
        names = [f"g{number}" for number in range(len(shown))]
        parameters |= dict(zip(names, shown, strict=True))
        listed = ", ".join(f"${name}" for name in names)
        condition = f"{quote_column(query.group)} IN ({listed})"
    elif query.returned in (Returned.MAXIMUM, Returned.MINIMUM):
        parameters["end"] = result.rows[0][0]
        condition = f"{quote_column(query.columns[0])} = $end"
    if condition:
        where = [*where, f"{'AND' if where else 'WHERE'} {condition}"]
    order = _order(query) if query.order else ""
    rows = f"FROM {table} {' '.join(where)}"
    first = f"SELECT rowid {rows} {order} LIMIT {CITED_ROWS}"
    statement = (
        f"{' '.join(head)} SELECT (SELECT count(*) {rows}),"  # noqa: S608
        f" (SELECT group_concat(rowid) FROM ({first})), (SELECT min(rowid) FROM {table})"
    )
    return statement, parameters


def _selected(query: TableQuery) -> str:
    column = quote_column(query.columns[0]) if query.columns else ""
    if query.returned is Returned.THING:
        return "*"
    if query.returned is Returned.VALUE:
        return ", ".join(map(quote_column, query.columns))
    if query.returned is Returned.COUNT:
        value = f"count(DISTINCT {column})" if column else "count(*)"
    else:
        value = f"{query.returned}({column})"
    value += f" AS {_aggregate_label(query)}"
    return f"{quote_column(query.group)}, {value}" if query.group else value


def _aggregate_label(query: TableQuery) -> str:
    is_count = query.returned is Returned.COUNT
    return quote_column("count" if is_count else f"{query.returned} {query.columns[0]}")


def _where(query: TableQuery) -> tuple[list[str], list[str], Parameters]:
    """Return what stands before the statement, its conditions, and its parameters.

    Each condition is written once: with an end of a scale, they select the rows of ``held``.
    """
    parameters: Parameters = {}
    conditions = []
    for item in query.texts:
        names = [f"p{len(parameters) + number}" for number in range(len(item.values))]
        parameters |= dict(zip(names, item.values, strict=True))
        listed = ", ".join(f"${name}" for name in names)
        if not names:
            test = f"IS {'NOT ' * item.differs}NULL"
        elif len(names) == 1:
            test = f"{'<>' if item.differs else '='} {listed}"
        else:
            test = f"{'NOT ' * item.differs}IN ({listed})"
        conditions.append(f"{quote_column(item.column)} {test}")
    conditions += [
        compare_column(quote_column(condition.property), condition, parameters)
        for condition in query.conditions
    ]
    if sorted_by := query.order or query.group:
        conditions.append(f"{quote_column(sorted_by)} IS NOT NULL")
    where = [f"WHERE {' AND '.join(conditions)}"] if conditions else []
    if not (query.order and query.limit):
        return [], where, parameters
    table, column = quote_column(query.table.name), quote_column(query.order)
    head = [f"WITH held(line) AS (SELECT rowid FROM {table} {' '.join(where)})"]  # noqa: S608
    end = f"SELECT {column} FROM {table} WHERE rowid IN held {_end_of(query, column)}"  # noqa: S608
    return head, [f"WHERE rowid IN held AND {column} IN ({end})"], parameters


def _end_of(query: TableQuery, column: str) -> str:
    """Return the ending that selects the values at the end of a scale; equal ones all match."""
    ending = f"ORDER BY {column} {_direction(query)} LIMIT {query.limit}"
    # The second highest value is that behind all that are equal to the highest.
    return ending if query.rank == 1 else f"GROUP BY {column} {ending} OFFSET {query.rank - 1}"


def _order(query: TableQuery) -> str:
    """Return the ending that sorts single rows."""
    if query.order:
        return f"ORDER BY {quote_column(query.order)} {_direction(query)}, rowid"
    if query.returned is Returned.VALUE:
        return f"GROUP BY {', '.join(map(quote_column, query.columns))} ORDER BY min(rowid)"
    return "ORDER BY rowid" if query.returned is Returned.THING else ""


def _direction(query: TableQuery) -> str:
    return "DESC" if query.descending else "ASC"


def _forms_of(question: str) -> dict[str, Span]:
    """Return forms under which values in the question may be stored, with their spans."""
    forms = dict(name_candidates(question, max_words=_LONGEST_VALUE))
    for span in list(forms.values()):
        if stems := " ".join(terms(question[span.start : span.end])):
            forms.setdefault(f"stems {stems}", span)
    return forms


def _find_chunks(
    store: Store, sources: Sequence[RowSource]
) -> list[tuple[Chunk, tuple[Span, ...]]]:
    """Return the chunks that contain rows of documents, each with the spans of these rows."""
    found: dict[str, tuple[Chunk, list[Span]]] = {}
    document_of = {source.document: Document(source.document, "").id for source in sources}
    held = store.documents.chunk_ids_of(document_of.values())
    for source in (source for source in sources if source.span.start < source.span.end):
        ids = held.get(document_of[source.document], [])
        if chunk := _chunk_at(store, ids, source.span.start):
            found.setdefault(chunk.id, (chunk, []))[1].append(source.span)
    return [(chunk, tuple(spans)) for chunk, spans in found.values()]


def _chunk_at(store: Store, ids: Sequence[str], start: int) -> Chunk | None:
    """Return the leaf chunk at a character. ``ids`` has leaves in order, then parents."""
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        chunk = store.documents.chunks([ids[middle]])[ids[middle]]
        if chunk.is_parent or chunk.span.start > start:
            high = middle
        elif chunk.span.end <= start:
            low = middle + 1
        else:
            return chunk
    return None
