"""The database under the parts of a store, and how these parts report damage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from inspect import isfunction
from typing import Any, Protocol, TypeVar

from knotwork._cancellation import checked
from knotwork._sqlite_file import DamagedValue
from knotwork._stores.sql.dialect import Bound, Dialect
from knotwork._stores.sql.packing import keys_of
from knotwork.errors import IndexDamaged
from knotwork.records import int_to_id

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
