"""Run one checked SQL query under limits of time, memory, length of values and size of the result.

SQLite has no memory limit for a connection, so the memory of all connections of the process is
compared with that before the query, every few operations. In between, a query makes few values, and
none is long: statements that make values longer than those in the tables may only make short ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from sys import getsizeof

import apsw

from knotwork._query_memory import POOL, Reservation, result_too_large
from knotwork._sqlite_file import is_damage
from knotwork._stores.sql_guard import CheckedQuery, make_authorizer
from knotwork.errors import QueryRefused, QuerySyntaxError, QueryTimeout, RetrievalError
from knotwork.records import PropertyValue, QueryResult

_MAX_GROWN_BYTES = 65_536
_OPERATIONS_BETWEEN_CHECKS = 500
_OPERATIONS_IF_GROWING = 100
_PROGRAM_IF_GROWING = 1_000
"""Most operations of a compiled statement; SQLite checks nothing until the first jump in it."""
SQL_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 1_000_000,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 50_000,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_WORKER_THREADS: 0,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    apsw.SQLITE_LIMIT_VDBE_OP: 25_000,
}
"""Limits of SQLite for connections that run the statements of users."""


class GuardedQuery:
    """A connection with limits, for one query over the tables ``known``."""

    def __init__(
        self, connection: apsw.Connection, known: Collection[str], *, timeout_s: float
    ) -> None:
        self._connection = connection
        self._timeout_s = timeout_s
        self._started_s = time.monotonic()
        self._refused: list[str] = []
        self._stopped: RetrievalError | None = None
        self._reservation = Reservation(POOL.ceilings.statement_bytes)
        self._used_before = apsw.memory_used()
        self._result_bytes = 0
        # What is sorted stays in memory, where it is counted, and cannot fill the disk.
        connection.pragma("temp_store", "memory")
        connection.authorizer = make_authorizer(known, self._refused)

    def run(
        self, query: CheckedQuery, parameters: Mapping[str, PropertyValue], *, row_limit: int
    ) -> QueryResult:
        """Run the query and return its rows, at most ``row_limit``.

        Raises as `TableFile.run`, and errors of SQLite that mean damage of the file.
        """
        connection, columns = self._connection, list[str]()
        long = any(isinstance(v, str) and len(v) > _MAX_GROWN_BYTES for v in parameters.values())
        grows = query.grows or long
        if grows:
            connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_GROWN_BYTES)
            connection.limit(apsw.SQLITE_LIMIT_VDBE_OP, _PROGRAM_IF_GROWING)
            for name, count, work in _LINEAR_FUNCTIONS:
                connection.create_scalar_function(name, work, count, deterministic=True)
        connection.set_progress_handler(
            self._must_stop, _OPERATIONS_IF_GROWING if grows else _OPERATIONS_BETWEEN_CHECKS
        )
        rows: list[tuple[PropertyValue, ...]] = []
        truncated = False
        try:
            cursor = connection.cursor()
            cursor.exec_trace = partial(_note_columns, columns)
            for row in cursor.execute(query.text, parameters):
                if len(rows) >= row_limit:
                    truncated = True
                    break
                self._count(row)
                rows.append(tuple(row))
        except KeyError as error:
            raise QuerySyntaxError(
                f"The statement uses the parameter `{error.args[0]}`, which is not given."
            ) from error
        except UnicodeEncodeError as error:
            raise QuerySyntaxError(
                "The statement or a parameter contains half a character (a lone surrogate)."
            ) from error
        except apsw.Error as error:
            if is_damage(error):
                raise
            raise self._query_error(error, grows=grows) from error
        finally:
            self._reservation.close()
        return QueryResult(
            "sql",
            query.text,
            tuple(columns),
            tuple(rows),
            dict(parameters),
            truncated=truncated,
            seconds=time.monotonic() - self._started_s,
        )

    def _must_stop(self) -> bool:
        """Return True if the query has used up its time or memory; SQLite then interrupts it."""
        if time.monotonic() - self._started_s > self._timeout_s:
            self._stopped = QueryTimeout(f"The statement took longer than {self._timeout_s:g} s.")
        else:
            try:
                self._reserve()
            except QueryRefused as error:
                self._stopped = error
        return self._stopped is not None

    def _reserve(self) -> None:
        used = max(apsw.memory_used() - self._used_before, 0) + self._result_bytes
        if used > self._reservation.reserved:
            self._reservation.grow(used)

    def _count(self, row: Sequence[object]) -> None:
        """Count a row of the result. Raises QueryRefused if the result becomes too large."""
        self._result_bytes += 64 + sum(map(getsizeof, row))
        if self._result_bytes > POOL.ceilings.result_bytes:
            raise result_too_large(POOL.ceilings.result_bytes)
        self._reserve()

    def _query_error(self, error: apsw.Error, *, grows: bool) -> RetrievalError:
        """Translate an error of SQLite."""
        if self._stopped is not None:
            return self._stopped
        if self._refused:
            return QueryRefused(f"The statement is refused: it would use {self._refused[0]}.")
        if isinstance(error, apsw.TooBigError):
            limit = _MAX_GROWN_BYTES if grows else SQL_LIMITS[apsw.SQLITE_LIMIT_LENGTH]
            return QueryRefused(
                f"The statement is refused: a value would have more than {limit:,} bytes.",
                fix="Select fewer or shorter values, as with substr().",
            )
        if isinstance(error, apsw.NoMemError):
            return QueryRefused(
                "The statement is refused: it is too long or needs too much memory."
            )
        if isinstance(error, apsw.ReadOnlyError | apsw.AuthError):
            return QueryRefused(f"The statement is refused: {error}.")
        return QuerySyntaxError(f"Invalid statement: {error}.")


def _note_columns(
    columns: list[str], cursor: apsw.Cursor, statement: str, bindings: object
) -> bool:
    del statement, bindings
    columns[:] = [str(item[0]) for item in cursor.get_description()]
    return True


def _trim(trim: Callable[[str, str], str], text: object, letters: object) -> str | None:
    if text is None or letters is None:
        return None
    return trim(_text(text), "".join(dict.fromkeys(_text(letters))))


def _instr(text: object, part: object) -> int | None:
    return None if text is None or part is None else _text(text).find(_text(part)) + 1


def _replace(text: object, old: object, new: object) -> str | None:
    if text is None or old is None or new is None:
        return None
    whole, part, other = _text(text), _text(old), _text(new)
    if not part:
        return whole
    if len(whole) + whole.count(part) * max(len(other) - len(part), 0) > _MAX_GROWN_BYTES:
        raise apsw.TooBigError
    return whole.replace(part, other)


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


_LINEAR_FUNCTIONS: tuple[tuple[str, int, Callable[..., object]], ...] = (
    ("instr", 2, _instr),
    ("ltrim", 2, partial(_trim, str.lstrip)),
    ("replace", 3, _replace),
    ("rtrim", 2, partial(_trim, str.rstrip)),
    ("trim", 2, partial(_trim, str.strip)),
)
"""Functions that compare each character with each one of another value in SQLite, but not here.

They take the place of those of SQLite if values may be long: (name, number of arguments, function).
"""
