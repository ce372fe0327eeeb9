"""The database under the parts of a store: the language of statements, how parts report damage.

A statement has the parameters ``$1, $2, …``, each at first in ascending order, since SQLite numbers
names of parameters as they appear. Names of columns that are SQL words (``end``) are quoted. Texts
compare by code points: a server gives their columns the collation "C". Joins whose tables must be
read in order, keys first, are CROSS JOINs with all their conditions in WHERE: SQLite keeps that
order, and others may choose.

Engines write two things differently, and rephrase them (`rephrase`):

- ``keys($1)``, ``texts($1)`` and ``rows($1, a, b)`` are items of FROM: tables ``j`` that list the
  whole numbers, texts or tuples of numbers in a list bound to the parameter. They have the columns
  ``place``, the position of a value from 0, and ``value``, or those that are named.
- ``joined[query | id a, real b]`` is a scalar expression: the columns of all rows of the query as
  one text. Values are in the order of the query, divided by spaces: an ``id`` has 16 hexadecimal
  digits, an ``integer`` is in decimal, a ``real`` number in full. No rows are NULL. The query may
  refer to ``j``, and so have an ORDER BY and a LIMIT for each of many keys.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from inspect import isfunction
from typing import Any, Protocol, TypeVar

from knotwork._cancellation import checked
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.sql.packing import keys_of
from knotwork.errors import IndexDamaged
from knotwork.records import int_to_id

Part = TypeVar("Part")
T = TypeVar("T")
Row = tuple[Any, ...]
Bindings = Sequence[Any]
"""The values of parameters, in order: numbers, text, bytes, None, and lists of many values."""

_PAGE_ROWS = 10_000
_MARK = re.compile(
    r"\b(keys|texts|rows)\((\$\d+)((?:, \w+)*)\)|\bjoined\[([^|]*)\|([^\]]*)\]", re.ASCII
)


def rephrase(
    sql: str,
    *,
    listed: Callable[[str, str, Sequence[str]], str],
    joined: Callable[[str, Mapping[str, str]], str],
) -> str:
    """Return a statement in the words of an engine.

    ``listed`` writes a list from its kind, its parameter and the names of its columns, ``joined``
    the text of a query from the form of each of its columns.
    """

    def write(found: re.Match[str]) -> str:
        kind, parameter, names, query, columns = found.groups()
        if query is None:
            return listed(kind, parameter, names.replace(",", "").split())
        forms = (column.split() for column in columns.split(","))
        return joined(query, {name: form for form, name in forms})

    return _MARK.sub(write, sql)


def insert(table: str, *columns: str) -> str:
    """Return a statement that adds a row with these columns."""
    places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({places})"


def insert_new(table: str, *columns: str) -> str:
    """Return a statement that adds a row unless one with its key exists."""
    return f"{insert(table, *columns)} ON CONFLICT DO NOTHING"


def upsert(table: str, *columns: str, key: Sequence[str]) -> str:
    """Return a statement that adds a row, or replaces the one with its key."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key)
    return f"{insert(table, *columns)} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"


def delete_keys(table: str, column: str) -> str:
    """Return a statement that deletes the rows with one of many keys in a column."""
    return f"DELETE FROM {table} WHERE {column} IN (SELECT j.value FROM keys($1))"


class SqlDatabase(Protocol):
    """A database with the tables of an index, for any number of threads.

    All methods raise StoreError for errors of the engine. Long work is stopped by a cancellation.
    """

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows."""
        ...

    def row(self, sql: str, bindings: Bindings = ()) -> Row | None:
        """Run a query and return its first row, if any."""
        found = self.rows(sql, bindings)
        return found[0] if found else None

    @property
    def kept(self) -> dict[tuple[str, Bindings], list[Row]] | None:
        """What `rows_once` has read in the open `reading` of this thread; None outside of one."""
        ...

    def rows_once(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows; inside one `reading`, run it only once.

        The values of ``bindings`` are hashable.
        """
        kept = self.kept
        if kept is None:
            return self.rows(sql, bindings)
        if (sql, bindings) not in kept:
            kept[sql, bindings] = self.rows(sql, bindings)
        return kept[sql, bindings]

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        """Yield the rows of a query as they are read; use inside `reading` or `transaction`."""
        ...

    def rows_in_pages(self, sql: str, start: Bindings) -> Iterator[Row]:
        """Yield the rows of a query in pages, without one transaction for all.

        The first columns are the sort key. The parameters of the query are the key after which a
        page begins, first ``start``, and the number of rows.
        """
        position = tuple(start)
        while True:
            rows = self.rows(sql, (*position, _PAGE_ROWS))
            yield from rows
            if len(rows) < _PAGE_ROWS:
                return
            position = rows[-1][: len(position)]

    def write(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a statement inside the open transaction, and return the rows that it returns."""
        ...

    def write_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run a statement for each of many rows inside the open transaction."""

    def add_rows(self, table: str, columns: Mapping[str, str], rows: Iterable[Bindings]) -> None:
        """Add new rows inside the open transaction; ``columns`` has the type of each column."""

    @property
    def writing(self) -> bool:
        """Whether this thread is inside a write transaction."""
        ...

    def reading(self) -> AbstractContextManager[None]:
        """Read one consistent state of the index, also while others write; nested use joins it."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """Commit all writes of the block or none; nested use joins the outer transaction."""
        ...

    def generation(self) -> int:
        """Return the number of committed writes."""
        ...

    def damaged(self, detail: object) -> IndexDamaged:
        """Return the error for damage, with its place."""
        ...

    def close(self) -> None:
        """Close all connections."""


def reports_damage(part: type[Part]) -> type[Part]:
    """Make all public methods of a part raise IndexDamaged for a value that cannot be decoded."""
    for name, method in list(vars(part).items()):
        if isfunction(method) and not name.startswith("_"):
            setattr(part, name, _reporting_damage(method))
    return part


def _reporting_damage(method: Callable[..., T]) -> Callable[..., T]:
    @wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> T:  # noqa: ANN401  any method of a part
        try:
            return method(self, *args, **options)
        except DamagedValue as error:
            raise self._database.damaged(error) from error

    return call


class SqlPart:
    """A part of a store in the tables of a database, and how it reads many rows at once.

    The first column of a query by ids is the key of an id. ``make`` gets the id and the other
    columns. Parts report damage (`reports_damage`).
    """

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._kept: tuple[int, Any] | None = None

    def __init_subclass__(cls) -> None:
        reports_damage(cls)

    def _ids(self, sql: str, bindings: Bindings = ()) -> list[str]:
        return [int_to_id(key) for (key,) in self._database.rows(sql, bindings)]

    def _by_id(self, sql: str, ids: Collection[str], make: Callable[..., T]) -> dict[str, T]:
        """Return the value of each id that has one, in the order of the ids."""
        keys = dict(keys_of(ids))
        found = {key: columns for key, *columns in self._database.rows(sql, ([*keys.values()],))}
        known = ((i, key) for i, key in keys.items() if key in found)
        return {i: make(i, *found[key]) for i, key in checked(known)}

    def _lists(self, sql: str, ids: Collection[str], make: Callable[..., T]) -> dict[str, list[T]]:
        """Return the values of each id that has any, in the order of the ids and of the rows."""
        names = {key: identifier for identifier, key in keys_of(ids)}
        found: defaultdict[int, list[T]] = defaultdict(list)
        for key, *columns in checked(self._database.rows(sql, ([*names],))):
            found[key].append(make(names[key], *columns))
        return {identifier: found[key] for key, identifier in names.items() if key in found}

    def _write_each(self, statements: Iterable[str], keys: list[int]) -> None:
        for sql in statements:
            self._database.write(sql, (keys,))

    def _once(self, compute: Callable[[], T]) -> T:
        """Return what is computed from a state of the index, once while it stays."""
        if self._database.writing:
            return compute()
        with self._database.reading():
            generation = self._database.generation()
            if self._kept is None or self._kept[0] != generation:
                self._kept = generation, compute()
            found: T = self._kept[1]
            return found
