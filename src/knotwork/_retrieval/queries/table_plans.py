"""Plan queries for questions about one table: sums, counts, extremes, filters, groups.

Precision comes first. A plan is made only if every word of the question is accounted for, every
name means one column, and no other table fits as well. Otherwise passages answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from knotwork._questions.amounts import AmountComparison, Operator
from knotwork._questions.reading import reading_of
from knotwork._retrieval.queries.comparisons import conditions_of, require_no_negation
from knotwork._retrieval.queries.query_plans import PropertyCondition
from knotwork._retrieval.queries.schema_linker import SchemaLinker, split_name
from knotwork._retrieval.queries.table_queries import (
    NUMERIC,
    ColumnValues,
    NamedColumn,
    TableQuery,
    TableReading,
    TableWording,
    choose_query,
    is_asked_for,
    is_grouping,
    read_table_wording,
    unaccounted,
)
from knotwork._retrieval.queries.target_schema import KindShape, PropertyShape, TargetSchema
from knotwork._stores.table_file import TableShape
from knotwork._text.names import STOP_NAMES
from knotwork.errors import QueryRefused
from knotwork.records import Span

LEAST_SHARE = 0.5
"""Minimum share of the words of a header or table name that the question must contain."""
_HINT_CHARACTERS = 12
"""Maximum distance between a value and the name of its column that only describes it."""
_COMPARED_CHARACTERS = 30
_NUMBER_AFTER = re.compile(
    r"\s*(?:number|no\.?|#|:|：|=|is)?\s*#?(\d{1,18})(?![\w.,])", re.IGNORECASE
)
_BRACKETS = re.compile(r"[(（\[].*?[)）\]]")

Found = Mapping[str, Sequence[tuple[str, str, str]]]
"""Texts in columns by form, as `TableFile.find_values` returns them."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A part of a question with the texts in columns that it means, by column."""

    span: Span
    columns: Mapping[str, tuple[str, ...]]


def plan_query(
    text: str, tables: Sequence[TableShape], forms: Mapping[str, Span], found: Found
) -> TableQuery | None:
    """Return the only query that a question can mean, or None.

    ``forms`` are the parts of the question that may be values, ``found`` the stored values among
    them.
    """
    wording = read_table_wording(text)
    if not wording.is_clear:
        return None
    plans: list[tuple[bool, TableQuery]] = []
    for table in tables:
        reader = _TableReader(text, wording, table, _values_in(table, forms, found))
        try:
            reading = reader.read()
        except QueryRefused:
            continue
        query = choose_query(reading) if reading is not None else None
        if reading is not None and query is not None:
            plans.append((reading.names_table, query))
    chosen = [plan for names_table, plan in plans if names_table] or [plan for _, plan in plans]
    return chosen[0] if len(chosen) == 1 else None


def _values_in(table: TableShape, forms: Mapping[str, Span], found: Found) -> list[_Value]:
    """Return the values of a table that a question mentions; longer ones win."""
    by_span: dict[Span, dict[str, dict[str, None]]] = {}
    for form, places in found.items():
        for name, column, value in places:
            if name == table.name and form in forms:
                by_span.setdefault(forms[form], {}).setdefault(column, {})[value] = None
    kept: list[_Value] = []
    for span in sorted(by_span, key=lambda s: (s.start - s.end, s.start)):
        if not any(span.overlaps(other.span) for other in kept):
            columns = {column: tuple(values) for column, values in by_span[span].items()}
            kept.append(_Value(span, columns))
    return sorted(kept, key=lambda value: value.span)


class _TableReader:
    """Reads a question as one about a certain table."""

    def __init__(
        self, text: str, wording: TableWording, table: TableShape, values: Sequence[_Value]
    ) -> None:
        self._text = text
        self._wording = wording
        self._table = table
        self._comparisons = reading_of(text).comparisons
        self._values = [value for value in values if self._may_be_meant(value)]
        taken = [*(c.span for c in self._comparisons), *(v.span for v in self._values)]
        mentions = SchemaLinker(_schema_of(table)).link(text, taken=taken)
        kinds = dict(table.columns)
        columns = [
            NamedColumn(m.name, kinds[m.name], m.span, m.score)
            for m in mentions
            if m.element == "property"
            and m.score >= LEAST_SHARE
            # A part of a name may be a word that states what to compute.
            and (m.score >= 1 or not any(m.span.overlaps(o) for o in wording.covered))
        ]
        self._free = _best_columns(columns)
        self._tables = [m.span for m in mentions if m.element == "kind" and m.score >= LEAST_SHARE]
        self._covered = [*wording.covered, *taken, *self._tables, *(c.span for c in self._free)]

    def read(self) -> TableReading | None:
        """Return the reading, or None if words of the question are not accounted for.

        Raises QueryRefused for a condition that cannot be applied.
        """
        require_no_negation(self._text, [value.span for value in self._values])
        compared = tuple(self._compare())
        texts = tuple(self._match_values())
        conditions = (*compared, *self._equal_numbers())
        if unaccounted(self._text, self._covered):
            return None
        groups = [
            column
            for column in self._free
            if column.kind not in NUMERIC and is_grouping(self._text, column.span)
        ]
        if len(groups) > 1:
            return None
        group = groups[0].name if groups else ""
        rest = tuple(column for column in self._free if column not in groups)
        rows = [c.name for c in rest if any(c.span.overlaps(span) for span in self._tables)]
        query = TableQuery(self._table, texts=texts, conditions=conditions, group=group)
        asked = any(is_asked_for(self._text, span) for span in self._tables)
        return TableReading(query, rest, self._wording, bool(self._tables), tuple(rows), asked)

    def _may_be_meant(self, value: _Value) -> bool:
        """Return True if a part of the question can mean a value."""
        taken = [*self._wording.covered, *(c.span for c in self._comparisons)]
        surface = self._text[value.span.start : value.span.end]
        return surface.lower() not in STOP_NAMES and not any(
            value.span.overlaps(span) for span in taken
        )

    def _compare(self) -> Iterator[PropertyCondition]:
        """Yield conditions for all comparisons. Raises QueryRefused for one without a column."""
        used: list[NamedColumn] = []
        for comparison in self._comparisons:
            column = self._compared_column(comparison)
            used += [column] if column in self._free else []
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
        times = [
            NamedColumn(name, kind, comparison.span)
            for name, kind in self._table.columns
            if comparison.is_time
            and _holds_times(name, kind)
            and conditions_of(comparison, PropertyShape(name, kind))
        ]
        if len(times) != 1:
            raise QueryRefused(f"No column can be compared with “{comparison.surface}”.")
        return times[0]

    def _match_values(self) -> Iterator[ColumnValues]:
        """Yield conditions for all values; several values of one column are alternatives.

        Raises QueryRefused for a value of several columns if none is named next to it.
        """
        by_column: dict[str, dict[str, None]] = {}
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
            by_column.setdefault(name, {}).update(dict.fromkeys(value.columns[name]))
        for name, values in by_column.items():
            yield ColumnValues(name, tuple(values))

    def _equal_numbers(self) -> Iterator[PropertyCondition]:
        """Yield conditions for numbers right after a column, as in "order id 7"."""
        for column in list(self._free):
            match = _NUMBER_AFTER.match(self._text, column.span.end)
            if match is not None and column.kind in NUMERIC:
                self._covered.append(Span(*match.span()))
                self._free.remove(column)
                yield PropertyCondition(column.name, int(match[1]))


def _schema_of(table: TableShape) -> TargetSchema:
    """Return the schema of a table; headers without brackets are synonyms of its columns."""
    columns = tuple(PropertyShape(name, kind) for name, kind in table.columns)
    bare = (_BRACKETS.sub("", label).strip() for label in table.labels)
    words = {name: (text,) for (name, _), text in zip(table.columns, bare, strict=True) if text}
    return TargetSchema("sql", (KindShape(table.name, table.rows, columns),), words=words)


def _best_columns(mentions: Sequence[NamedColumn]) -> list[NamedColumn]:
    """Return the best of overlapping columns; equally good ones are left out."""
    kept: list[NamedColumn] = []
    order = sorted(mentions, key=lambda m: (-m.score, m.span.start - m.span.end, m.span.start))
    for mention in order:
        is_rival = any(
            other.name != mention.name
            and other.score == mention.score
            and other.span == mention.span
            for other in order
        )
        if not is_rival and not any(mention.span.overlaps(other.span) for other in kept):
            kept.append(mention)
    return sorted(kept, key=lambda column: column.span)


def _holds_times(name: str, kind: str) -> bool:
    is_year = "year" in split_name(name).split() or name in ("年份", "年")
    return kind == "date" or (kind == "integer" and is_year)
