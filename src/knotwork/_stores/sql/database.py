"""The database under the parts of a store, and how these parts report damage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import wraps
from inspect import isfunction
from typing import Any, Protocol, TypeVar

from knotwork._sqlite_file import DamagedValue
from knotwork._stores.sql.dialect import Dialect
from knotwork.errors import IndexDamaged

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
        ...

    def rows_once(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows; inside one `reading`, run it only once.

        The values of ``bindings`` are hashable.
        """
        ...

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
        ...

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


def read_pages(
    read: Callable[[str, Bindings], list[Row]], sql: str, start: Bindings
) -> Iterator[Row]:
    """Yield the rows of a query in pages; see `SqlDatabase.rows_in_pages`."""
    position = tuple(start)
    while True:
        rows = read(sql, (*position, _PAGE_ROWS))
        yield from rows
        if len(rows) < _PAGE_ROWS:
            return
        position = rows[-1][: len(position)]


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
