"""Tables in an SQLite file of their own: never the index, and read-only for statements."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from knotwork.records import PropertyValue, QueryResult
from knotwork.stores.tables.guard import check_statement, make_authorizer

Cell = str | int | float | None

_LONGEST_VALUE = 1_000_000
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
_NOT_PLAIN = re.compile(r"\W+")
_SQL_TYPES = {"text": "TEXT", "integer": "INTEGER", "number": "REAL"}
_KINDS = {sql: kind for kind, sql in _SQL_TYPES.items()}
_REGISTRY_NAME = "knotwork_tables"
_REGISTRY = "CREATE TABLE IF NOT EXISTS knotwork_tables (name TEXT PRIMARY KEY, source TEXT)"


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table: where it came from, its columns with their types, and how many rows it has.

    Types are "text", "integer" and "number".
    """

    name: str
    source: str
    columns: tuple[tuple[str, str], ...]
    rows: int


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
        plain = plain_name(name) or "table"
        names = _distinct([plain_name(column) or "column" for column, _ in columns])
        types = [kind for _, kind in columns]
        listed = ", ".join(f'"{n}" {_SQL_TYPES[t]}' for n, t in zip(names, types, strict=True))
        blanks = ", ".join("?" for _ in names)
        try:
            connection = apsw.Connection(str(self.path))
        except apsw.Error as error:
            raise StoreError(f"The tables in `{self.path}` cannot be written: {error}.") from error
        try:
            with connection:
                connection.execute(_REGISTRY)
                connection.execute(f'DROP TABLE IF EXISTS "{plain}"')
                connection.execute(f'CREATE TABLE "{plain}" ({listed})')
                insert = f'INSERT INTO "{plain}" VALUES ({blanks})'  # noqa: S608  plain names
                width = len(names)
                connection.executemany(
                    insert, ((*row[:width], *[None] * (width - len(row))) for row in rows)
                )
                count = int(
                    connection.execute(f'SELECT count(*) FROM "{plain}"').get  # noqa: S608
                )
                connection.execute(
                    "INSERT OR REPLACE INTO knotwork_tables VALUES (?, ?)", (plain, source)
                )
        except apsw.Error as error:
            raise StoreError(f"The table `{plain}` cannot be written: {error}.") from error
        finally:
            connection.close()
        return TableShape(plain, source, tuple(zip(names, types, strict=True)), count)

    def remove(self, name: str) -> None:
        """Remove a table. Raises UnknownName."""
        known = [shape.name for shape in self.tables()]
        if name not in known:
            raise UnknownName("table", name, known)
        connection = apsw.Connection(str(self.path))
        try:
            with connection:
                connection.execute(f'DROP TABLE "{name}"')
                connection.execute("DELETE FROM knotwork_tables WHERE name = ?", (name,))
        finally:
            connection.close()

    def tables(self) -> list[TableShape]:
        """Return all tables, ordered by name; none where there is no file."""
        if not self.path.exists():
            return []
        connection = self._open()
        try:
            shapes = []
            for name, source in connection.execute(
                "SELECT name, source FROM knotwork_tables ORDER BY name"
            ).fetchall():
                columns = connection.execute(
                    "SELECT name, type FROM pragma_table_info(?)", (name,)
                ).fetchall()
                count = connection.execute(f'SELECT count(*) FROM "{name}"').get  # noqa: S608
                kinds = tuple((str(n), _KINDS[str(t)]) for n, t in columns)
                shapes.append(TableShape(str(name), str(source), kinds, int(count)))
            return shapes
        finally:
            connection.close()

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
        known = [shape.name for shape in self.tables()]
        if not known:
            raise StoreNotFound("There are no tables.", fix="Add some: knotwork tables add FILE")
        connection = self._open()
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

    def _open(self) -> apsw.Connection:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
        for limit, most in _LIMITS.items():
            connection.limit(limit, most)
        return connection


def plain_name(name: str) -> str:
    """Return a name as a table or column has it: letters, digits and underscores, lower case."""
    plain = _NOT_PLAIN.sub("_", name.strip()).strip("_").lower()
    if plain in ("", _REGISTRY_NAME) or plain.startswith("sqlite"):
        return f"table_{plain}" if plain else ""
    return f"_{plain}" if plain[0].isdigit() else plain


def _distinct(names: Sequence[str]) -> list[str]:
    seen: Counter[str] = Counter()
    taken = set(names)
    found: list[str] = []
    for name in names:
        seen[name] += 1
        chosen = name
        while seen[name] > 1 and chosen in (*taken, *found):
            chosen = f"{name}_{seen[name]}"
            seen[name] += chosen in taken
        found.append(chosen)
    return found


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
