"""Tables in an SQLite file of their own: never the index, and read-only for statements."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import apsw

from knotwork.errors import (
    QueryRefused,
    QuerySyntaxError,
    QueryTimeout,
    StoreError,
    StoreNotFound,
    UnknownName,
)
from knotwork.records import Cell, PropertyValue, QueryResult, RowSource, Span, Table
from knotwork.stores.tables.guard import check_statement, make_authorizer
from knotwork.stores.tables.layout import (
    REGISTRY,
    TableShape,
    create_table,
    drop_documents,
    drop_table,
    fill_table,
    finish_table,
    free_name,
    has_registry,
    plain_name,
    put_table,
    registered,
    shape_of,
)

_LONGEST_VALUE = 1_000_000
_BUSY_TIMEOUT_MS = 10_000
_STEPS_BETWEEN_LOOKS = 2_000
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: _LONGEST_VALUE,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 50_000,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
}
TABLES_SUFFIX = "-tables"


def tables_path(store_url: str) -> Path | None:
    """Return where the tables beside an index are kept; None for an index in memory."""
    if store_url.startswith("memory:") or "://" in store_url:
        return None
    path = Path(store_url)
    return path.with_name(path.name + TABLES_SUFFIX)


class TableFile:
    """Tables in one file. Statements run on a connection that cannot write, under a guard."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(
        self,
        name: str,
        columns: Sequence[tuple[str, str]],
        rows: Iterable[Sequence[Cell]],
        *,
        source: str = "",
    ) -> TableShape:
        """Put a table in the place of the one with its name, and return what it became.

        Names of table and columns are made plain and distinct. Raises StoreError when the file
        cannot be written.
        """
        labels = [column for column, _ in columns]
        kinds = [kind for _, kind in columns]
        with self._writing() as connection:
            shape = create_table(connection, name, labels, kinds, source=source)
            width = len(labels)
            padded = ((*row[:width], *[None] * (width - len(row))) for row in rows)
            fill_table(connection, shape, enumerate(padded, start=1))
            return finish_table(connection, shape)

    def put_table(self, name: str, table: Table, *, source: str = "") -> TableShape:
        """Put a table that was read from a file in the place of the one with its name."""
        with self._writing() as connection:
            return put_table(connection, name, table, source=source)

    def put_document(
        self, document: str, revision: str, tables: Sequence[tuple[str, Table]]
    ) -> list[TableShape]:
        """Put the named tables of a document in the place of those that it had.

        A table is not put in the place of another document's: it gets a number behind its name.
        """
        with self._writing() as connection:
            drop_documents(connection, [document])
            taken = {str(n) for (n,) in connection.execute("SELECT name FROM knotwork_tables")}
            shapes = []
            for name, table in tables:
                chosen = free_name(plain_name(name) or "table", taken)
                taken.add(chosen)
                shapes.append(
                    put_table(
                        connection,
                        chosen,
                        table,
                        source=document,
                        document=document,
                        revision=revision,
                    )
                )
            return shapes

    def holds(self, document: str) -> bool:
        """Return whether there are tables of a document."""
        return any(shape.document == document for shape in self.tables())

    def remove_documents(self, documents: Collection[str]) -> None:
        """Remove the tables of documents."""
        with self._writing() as connection:
            drop_documents(connection, documents)

    def remove(self, name: str) -> None:
        """Remove a table. Raises UnknownName."""
        known = [shape.name for shape in self.tables()]
        if name not in known:
            raise UnknownName("table", name, known)
        with self._writing() as connection:
            drop_table(connection, name)

    def tables(self) -> list[TableShape]:
        """Return all tables, ordered by name; none where there is no file."""
        if not self.path.exists():
            return []
        with self._reading() as connection:
            return [shape_of(connection, str(n), str(s)) for n, s in registered(connection)]

    def find_values(self, forms: Sequence[str]) -> dict[str, list[tuple[str, str, str]]]:
        """Return the texts in columns that have these normal forms or stems, by form.

        Each comes with its table and column. Numbers and dates are not found here.
        """
        found: dict[str, list[tuple[str, str, str]]] = {}
        if not self.path.exists():
            return found
        with self._reading() as connection:
            if not has_registry(connection):
                return found
            for form, *where in connection.execute(
                'SELECT form, name, "column", value FROM knotwork_values'
                " WHERE form IN (SELECT value FROM json_each(?))",
                (json.dumps(list(forms)),),
            ):
                found.setdefault(str(form), []).append((where[0], where[1], where[2]))
        return found

    def row_sources(self, shape: TableShape, rows: Sequence[int]) -> list[RowSource]:
        """Return where rows of a table stand, by their rowids, in the order given."""
        spans: dict[int, Span] = {}
        with self._reading() as connection:
            if has_registry(connection):
                for row, start, end in connection.execute(
                    'SELECT row, start, "end" FROM knotwork_lines WHERE name = ?'
                    " AND row IN (SELECT value FROM json_each(?))",
                    (shape.name, json.dumps(list(rows))),
                ):
                    spans[int(row)] = Span(int(start), int(end))
        place = shape.document or shape.source
        return [RowSource(place, shape.name, row, spans.get(row, Span(0, 0))) for row in rows]

    def generation(self) -> int:
        """Return a number that changes when the file does."""
        return self.path.stat().st_mtime_ns if self.path.exists() else 0

    def run(
        self,
        statement: str,
        parameters: Mapping[str, PropertyValue] | None = None,
        *,
        row_limit: int = 1_000,
        timeout_s: float = 10.0,
    ) -> QueryResult:
        """Run a query and return its rows, at most ``row_limit``.

        Parameters are written as ``$name``. Raises QueryRefused for a statement that could do
        anything but read these tables, QuerySyntaxError for one that SQLite does not understand,
        QueryTimeout, StoreNotFound without tables.
        """
        text = check_statement(statement)
        connection = self._open() if self.path.exists() else None
        known = [str(name) for name, _ in registered(connection)] if connection else []
        if connection is None or not known:
            if connection is not None:
                connection.close()
            raise StoreNotFound("There are no tables.", fix="Add some: knotwork tables add FILE")
        refused: list[str] = []
        started_s = time.monotonic()
        overdue = False

        def is_overdue() -> bool:
            nonlocal overdue
            overdue = time.monotonic() - started_s > timeout_s
            return overdue

        try:
            connection.authorizer = make_authorizer(known, refused)
            connection.set_progress_handler(is_overdue, _STEPS_BETWEEN_LOOKS)
            cursor = connection.cursor()
            columns: list[str] = []
            cursor.exec_trace = partial(_note_columns, columns)
            rows: list[tuple[PropertyValue, ...]] = []
            truncated = False
            for row in cursor.execute(text, dict(parameters or {})):
                if len(rows) >= row_limit:
                    truncated = True
                    break
                rows.append(tuple(row))
        except apsw.Error as error:
            raise _explain(error, refused, overdue=overdue, timeout_s=timeout_s) from error
        finally:
            connection.close()
        return QueryResult(
            "sql",
            text,
            tuple(columns),
            tuple(rows),
            dict(parameters or {}),
            truncated=truncated,
            seconds=time.monotonic() - started_s,
        )

    @contextmanager
    def _writing(self) -> Iterator[apsw.Connection]:
        """Open the file to write, in one transaction. Raises StoreError when that fails."""
        try:
            connection = apsw.Connection(str(self.path))
            connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        except apsw.Error as error:
            raise StoreError(f"The tables in `{self.path}` cannot be written: {error}.") from error
        try:
            with connection:
                connection.execute(REGISTRY)
                yield connection
        except apsw.Error as error:
            raise StoreError(f"The tables in `{self.path}` cannot be written: {error}.") from error
        finally:
            connection.close()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        connection = self._open()
        try:
            yield connection
        finally:
            connection.close()

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.set_busy_timeout(_BUSY_TIMEOUT_MS)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        for limit, most in _LIMITS.items():
            connection.limit(limit, most)
        return connection


def _note_columns(
    columns: list[str], cursor: apsw.Cursor, statement: str, bindings: object
) -> bool:
    del statement, bindings
    columns[:] = [str(item[0]) for item in cursor.get_description()]
    return True


def _explain(
    error: apsw.Error, refused: Sequence[str], *, overdue: bool, timeout_s: float
) -> QueryRefused | QuerySyntaxError | QueryTimeout:
    """Return the error of a statement in our own words."""
    if overdue:
        return QueryTimeout(f"The statement took longer than {timeout_s:g} s.")
    if refused:
        return QueryRefused(f"The statement is refused: it would use {refused[0]}.")
    if isinstance(error, apsw.TooBigError | apsw.NoMemError | apsw.ReadOnlyError | apsw.AuthError):
        return QueryRefused(f"The statement is refused: {error}.")
    return QuerySyntaxError(f"The statement does not work: {error}.")
