"""The database under the parts of a store: what engines write differently, how parts report damage.

A statement has the parameters ``$1, $2, …``, each at first in ascending order, since SQLite numbers
names of parameters as they appear. Names of columns that are SQL words (``end``) are quoted. Texts
compare by code points: a server gives their columns the collation "C". Joins whose tables must be
read in order, keys first, are CROSS JOINs with all their conditions in WHERE: SQLite keeps that
order, and others may choose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from inspect import isfunction
from typing import Any, Literal, Protocol, TypeVar

from knotwork._cancellation import checked
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.sql.packing import keys_of
from knotwork.errors import IndexDamaged
from knotwork.records import int_to_id

Bound = Any
"""A value that an engine binds to one parameter, such as the JSON text or array of many keys."""


Form = Literal["id", "integer", "real"]
"""How a column is written in a text: as an id of 16 hexadecimal digits, or as a number."""


class Dialect(Protocol):
    """The fragments in which engines differ, and the values bound to them.

    The items of FROM are tables ``j`` with the columns ``place``, the position of a value from 0,
    and ``value``, or those that were named.
    """

    def keys(self, parameter: str) -> str:
        """Return the item of FROM that lists the keys bound by `bind_keys`."""

    def texts(self, parameter: str) -> str:
        """Return the item of FROM that lists the texts bound by `bind_texts`."""

    def rows(self, parameter: str, *columns: str) -> str:
        """Return the item of FROM that lists the rows of integers bound by `bind_rows`."""

    def joined(self, query: str, **columns: Form) -> str:
        """Return a scalar expression: the columns of all rows of ``query`` as one text.

        Values are in the order of the query, divided by spaces; a real number is written in full,
        and no rows are NULL. ``query`` may refer to ``j``, and so have an ORDER BY and a LIMIT for
        each of many keys.
        """

    def bind_keys(self, keys: Iterable[int]) -> Bound:
        """Return the value to bind for keys."""

    def bind_texts(self, texts: Iterable[str]) -> Bound:
        """Return the value to bind for texts."""

    def bind_rows(self, rows: Iterable[Sequence[int]]) -> Bound:
        """Return the value to bind for rows of integers."""


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


def delete_keys(dialect: Dialect, table: str, column: str) -> str:
    """Return a statement that deletes the rows with one of many keys in a column."""
    return f"DELETE FROM {table} WHERE {column} IN (SELECT j.value FROM {dialect.keys('$1')})"


Part = TypeVar("Part")
T = TypeVar("T")

_PAGE_ROWS = 10_000

Row = tuple[Any, ...]
Bindings = Sequence[Any]
"""The values of parameters, in order: numbers, text, bytes, None and what a `Dialect` binds."""


class SqlDatabase(Protocol):
    """A database with the tables of an index, for any number of threads.

    All methods raise StoreError for errors of the engine. Long work is stopped by a cancellation.
    """

    @property
    def dialect(self) -> Dialect:
        """What the engine writes differently."""
        ...

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

    def fetch(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows; use inside `reading` or `transaction`."""
        ...

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

    def write(self, sql: str, bindings: Bindings = ()) -> None:
        """Run a statement inside the open transaction."""

    def write_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        """Run a statement for each of many rows inside the open transaction."""

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


class SqlPart:
    """A part of a store in the tables of a database, and how it reads many rows at once.

    The first column of a query by ids is the key of an id. ``make`` gets the id and the other
    columns.
    """

    def __init__(self, database: SqlDatabase) -> None:
        self._database = database
        self._bind = database.dialect.bind_keys
        self._kept: tuple[int, Any] | None = None

    def _bound(self, ids: Collection[str]) -> tuple[Bound]:
        """Return the bindings of a query whose only parameter is the keys of ids."""
        return (self._bind(key for _, key in keys_of(ids)),)

    def _ids(self, sql: str, bindings: Bindings = ()) -> list[str]:
        """Return the ids in the only column of a query."""
        return [int_to_id(key) for (key,) in self._database.rows(sql, bindings)]

    def _by_id(self, sql: str, ids: Collection[str], make: Callable[..., T]) -> dict[str, T]:
        """Return the value of each id that has one, in the order of the ids."""
        rows = self._database.rows(sql, self._bound(ids))
        found = {key: columns for key, *columns in rows}
        known = ((i, key) for i, key in keys_of(ids) if key in found)
        return {i: make(i, *found[key]) for i, key in checked(known)}

    def _lists(self, sql: str, ids: Collection[str], make: Callable[..., T]) -> dict[str, list[T]]:
        """Return the values of each id that has any, in the order of the ids and of the rows."""
        names = {key: identifier for identifier, key in keys_of(ids)}
        found: defaultdict[int, list[T]] = defaultdict(list)
        for key, *columns in checked(self._database.rows(sql, self._bound(ids))):
            found[key].append(make(names[key], *columns))
        return {identifier: found[key] for key, identifier in names.items() if key in found}

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
