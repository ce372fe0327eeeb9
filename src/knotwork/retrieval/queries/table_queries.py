"""Choose what to compute from the rows of a table: values, counts, sums, means, extremes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from knotwork.records import Span
from knotwork.retrieval.queries.linking import split_name
from knotwork.retrieval.queries.plans import PropertyCondition, Returned
from knotwork.retrieval.queries.table_wording import DIMENSION_WORDS, Extreme, TableWording
from knotwork.stores.tables import TableShape

NUMERIC = ("integer", "number")
_PERSON = ("name", "employee", "person", "customer", "姓名", "员工", "客户")


@dataclass(frozen=True, slots=True)
class ColumnValues:
    """A column that must hold one of these texts."""

    column: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableQuery:
    """A query of one table.

    ``returned`` is THING for whole rows and VALUE for ``columns``; an aggregate is of
    ``columns[0]``, or of rows for COUNT without a column. With ``group`` there is a row for each of
    its values. ``order`` is the column by which rows are sorted, or "" for the aggregate of a
    group; only the first ``limit`` are wanted, 0 being all. With ``is_single`` several values do
    not answer.
    """

    table: TableShape
    returned: Returned = Returned.THING
    columns: tuple[str, ...] = ()
    texts: tuple[ColumnValues, ...] = ()
    conditions: tuple[PropertyCondition, ...] = ()
    group: str = ""
    order: str | None = None
    descending: bool = True
    limit: int = 0
    is_single: bool = False


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """A part of a question that means a column; ``score`` is the share of its words there."""

    name: str
    kind: str
    span: Span
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class TableReading:
    """A question read as one about a table.

    ``query`` has its conditions, and the group if it asks for each; ``columns`` are those that it
    names besides. ``names_table`` is True if it has a word of the table's name, ``names_rows`` are
    the columns that such a word names too. ``asks_for_rows`` is True if it asks which rows.
    """

    query: TableQuery
    columns: tuple[NamedColumn, ...]
    wording: TableWording
    names_table: bool
    names_rows: tuple[str, ...] = ()
    asks_for_rows: bool = False

    def without(self, *names: str) -> TableReading:
        """Return the reading without these columns."""
        return replace(self, columns=tuple(c for c in self.columns if c.name not in names))

    def of_kinds(self, *kinds: str) -> list[str]:
        """Return the named columns of these types."""
        return [column.name for column in self.columns if column.kind in kinds]


def choose_query(reading: TableReading) -> TableQuery | None:
    """Return the query that the words of a question ask for, or None if it is not sure."""
    if reading.wording.extreme is not None:
        return _ask_extreme(reading, reading.wording.extreme)
    if reading.wording.operation is not None:
        return _aggregate(reading)
    return None if reading.query.group else _ask_values(reading)


def _aggregate(reading: TableReading) -> TableQuery | None:
    """Return a query for a count, a sum or a mean."""
    query, operation = reading.query, reading.wording.operation
    numeric, others = reading.of_kinds(*NUMERIC), reading.of_kinds("text", "date")
    if operation is Returned.COUNT:
        return _count(reading, numeric, others)
    if operation is None or len(numeric) != 1 or others:
        return None
    return replace(query, returned=operation, columns=(numeric[0],))


def _count(
    reading: TableReading, numeric: Sequence[str], others: Sequence[str]
) -> TableQuery | None:
    """Return a query for how many rows, values or, of a column of numbers, units there are."""
    query = replace(reading.query, returned=Returned.COUNT)
    if not reading.columns:
        return query if reading.names_table or query.group else None
    if len(reading.columns) != 1:
        return None
    if numeric:
        return replace(query, returned=Returned.SUM, columns=(numeric[0],))
    # "How many employees" in a table of employees that has a column of that name.
    return query if others[0] in reading.names_rows else replace(query, columns=(others[0],))


def _ask_extreme(reading: TableReading, extreme: Extreme) -> TableQuery | None:
    """Return a query for the most or the least of something, or the latest or earliest."""
    wording, answers = reading.wording, reading.of_kinds("text")
    if len(answers) > 1:
        return None
    order = _ordered_by(reading, extreme.dimension)
    query = replace(reading.query, descending=extreme.descending, limit=wording.limit)
    reading = replace(reading, query=query)
    if wording.operation is not None or order is None:
        return _best_group(reading, answers) if extreme.dimension == "size" else None
    if query.group or reading.without(order, *answers).columns:
        return None
    if answers:
        columns = (answers[0], order)
        return replace(query, returned=Returned.VALUE, columns=columns, order=order)
    return _best_row(reading, order)


def _best_row(reading: TableReading, order: str) -> TableQuery | None:
    """Return a query for the rows at the end of a scale, or for the end itself."""
    query, wording = reading.query, reading.wording
    is_size = wording.extreme is not None and wording.extreme.dimension == "size"
    if reading.names_table and (not is_size or wording.limit > 1 or reading.asks_for_rows):
        return replace(query, order=order)
    if wording.limit > 1:
        return None
    if wording.asks_who:
        person = _person(query.table)
        columns = (person, order)
        return (
            replace(query, returned=Returned.VALUE, columns=columns, order=order)
            if person
            else None
        )
    end = Returned.MAXIMUM if query.descending else Returned.MINIMUM
    is_named = any(column.name == order for column in reading.columns)
    return replace(query, returned=end, columns=(order,), limit=0) if is_named else None


def _best_group(reading: TableReading, answers: Sequence[str]) -> TableQuery | None:
    """Return a query for the groups with the largest or smallest aggregate."""
    query = reading.query
    if len(answers) + bool(query.group) != 1:
        return None
    query = replace(query, group=query.group or answers[0], order="")
    rest = replace(reading.without(*answers), query=query)
    if reading.wording.operation is not None:
        return _aggregate(rest)
    # "The most orders" are rows, if the table has that name.
    is_count = rest.names_table and not rest.columns
    return replace(query, returned=Returned.COUNT) if is_count else None


def _ordered_by(reading: TableReading, dimension: str) -> str | None:
    """Return the column that the end of a scale is of, or None if it is not known for sure."""
    kinds = ("date", *NUMERIC) if dimension == "time" else NUMERIC
    named = reading.of_kinds(*kinds)
    if dimension != "size":
        fitting = [
            name
            for name, kind in reading.query.table.columns
            if kind in kinds and _measures(name, kind, dimension)
        ]
        named = [name for name in named if name in fitting] or fitting
    return named[0] if len(named) == 1 else None


def _measures(name: str, kind: str, dimension: str) -> bool:
    words = DIMENSION_WORDS[dimension]
    is_date = dimension == "time" and kind == "date"
    return is_date or name in words or not set(words).isdisjoint(split_name(name).split())


def _ask_values(reading: TableReading) -> TableQuery | None:
    """Return a query for columns of rows, or for whole rows, under some condition."""
    query, wording = reading.query, reading.wording
    if not (query.texts or query.conditions):
        return None
    columns = tuple(dict.fromkeys(column.name for column in reading.columns))
    if not columns and wording.asks_when:
        dates = [name for name, kind in query.table.columns if kind == "date"]
        columns = tuple(dates) if len(dates) == 1 else ()
    elif not columns and wording.asks_who:
        person = _person(query.table)
        columns = (person,) if person else ()
    if columns and not set(columns) <= set(reading.names_rows):
        single = wording.asks_for_one
        return replace(query, returned=Returned.VALUE, columns=columns, is_single=single)
    is_plain = not (wording.asks_when or wording.asks_who)
    return query if reading.names_table and is_plain else None


def _person(table: TableShape) -> str:
    """Return the one column that names persons, or ""."""
    found = [
        name
        for name, kind in table.columns
        if kind == "text"
        and (name in _PERSON or not set(_PERSON).isdisjoint(split_name(name).split()))
    ]
    return found[0] if len(found) == 1 else ""
