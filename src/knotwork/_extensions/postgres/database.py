"""A PostgreSQL database: one connection for each thread in a block, transactions and time-outs.

A block that reads is a REPEATABLE READ transaction, so that all its statements see one state. A
block that writes is READ COMMITTED, so that a statement after a lock sees what the writer before it
has committed. Documents are written side by side. What several documents share, such as entities,
is written by one transaction at a time: `lock_shared` is held until its end, and parts call it as
late as they can.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.pq import TransactionStatus

from knotwork._cancellation import check_cancelled, checked, checks_due, finishing, sleep
from knotwork._config import StoreSettings
from knotwork._extensions.postgres.connection import (
    Address,
    Connection,
    Pool,
    configure,
    connect,
    damaged,
    is_broken,
    number_rows,
    streaming_cursor,
    translate,
    translated_errors,
)
from knotwork._extensions.postgres.schema import prepare_schema
from knotwork._stores.sql.database import Bindings, Row, SqlDatabase, rephrase
from knotwork.errors import IndexDamaged, StoreError, StoreReadOnly, StoreUnavailable

_FORMATS: Mapping[str, str] = {
    "id": "lpad(to_hex({}), 16, '0')",
    "integer": "{}::bigint::text",
    "real": "{}::double precision::text",
}
"""How columns become texts; PostgreSQL writes as many digits of a real number as it needs."""


@lru_cache(maxsize=1_024)
def postgres_text(sql: str) -> str:
    """Return a shared statement as PostgreSQL takes it; tuples are bound as one flat array."""
    return rephrase(sql, listed=_listed, joined=_joined)


def _listed(kind: str, parameter: str, names: Sequence[str]) -> str:
    array = f"{parameter}::{'text' if kind == 'texts' else 'bigint'}[]"
    if kind != "rows":
        numbered = f"unnest({array}) WITH ORDINALITY AS u (value, place)"
        return f"(SELECT place - 1 AS place, value FROM {numbered}) j"  # noqa: S608
    width = len(names)
    columns = (f"({array})[{width} * place + {n}] AS {name}" for n, name in enumerate(names, 1))
    series = f"generate_series(0, cardinality({array}) / {width} - 1) AS u (place)"
    return f"(SELECT place, {', '.join(columns)} FROM {series}) j"  # noqa: S608


def _joined(query: str, columns: Mapping[str, str]) -> str:
    row = " || ' ' || ".join(_FORMATS[form].format(name) for name, form in columns.items())
    return f"(SELECT string_agg({row}, ' ') FROM ({query}) q)"  # noqa: S608


def _bound(bindings: Bindings) -> Bindings:
    """Return the values of parameters, with lists of tuples as flat lists."""
    return [
        list(chain.from_iterable(value))
        if type(value) is list and value and type(value[0]) is tuple
        else value
        for value in bindings
    ]


_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
    " SELECT pg_advisory_xact_lock_shared({lock}, {number})"
)
_WRITE_ALONE = _WRITE.replace("lock_shared", "lock")
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 1.0
_GENERATION = "generation"
_COMPACTED_EVERY = 256

SHARED_LOCK = 0x4B4E4F54
"""The advisory lock of what several documents share; its second number is that of the schema."""

COMPACTING_LOCK = SHARED_LOCK + 1
REPLACING_LOCK = SHARED_LOCK + 2
"""The lock that every write transaction shares, except one that replaces whole tables."""

_TOTALS = "SELECT name, sum(value)::bigint FROM total GROUP BY name"
_ADD_TOTALS = (
    "INSERT INTO total (name, value) SELECT name, value"
    " FROM unnest($1::text[], $2::bigint[]) AS u (name, value) RETURNING id"
)
_LOCK = "SELECT pg_advisory_xact_lock($1::int, $2::int)"
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1::int, $2::int)"
_COMPACT_TOTALS = (
    "WITH gone AS (DELETE FROM total RETURNING name, value)"
    " INSERT INTO total (name, value) SELECT name, sum(value) FROM gone GROUP BY name"
)

_WRITTEN_TABLE = re.compile(r"(?:INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)")
_AGGREGATES = re.compile(r"\b(?:FROM|JOIN)\s+(?:entity|edge|relation)\b")
_OF_ONE_DOCUMENT = re.compile(
    r"document|section|chunk|document_field|document_page|ledger|(?:aside_)?mention|"
    r"(?:aside_)?contribution|question|chunk_reading|description|(?:text|vector)_\w+"
)


@lru_cache(maxsize=1_024)
def _writes_shared(sql: str) -> bool:
    table = _WRITTEN_TABLE.search(sql)
    return table is not None and not _OF_ONE_DOCUMENT.fullmatch(table.group(1))


@lru_cache(maxsize=1_024)
def _reads_aggregates(sql: str) -> bool:
    return _AGGREGATES.search(sql) is not None


class _Thread(threading.local):
    """The connection of a thread inside a block, and what it has done there.

    ``kept`` are the rows that `rows_once` has read while the thread reads one state, ``held`` those
    of `rows_held`. ``totals`` are changes of totals that the commit will write.
    """

    connection: Connection | None = None
    writing: bool = False
    wrote: bool = False
    kept: dict[tuple[str, Bindings], list[Row]] | None = None
    totals: Counter[str]
    locks: set[int]
    held: dict[str, list[Row]]

    def __init__(self) -> None:
        self.totals, self.locks, self.held = Counter(), set(), {}


class PostgresDatabase(SqlDatabase):
    """The `SqlDatabase` of an index on a server, for any number of threads and processes.

    ``settle`` and ``abandon`` are set by the part that keeps aggregates: they bring those of an
    open transaction up to date, or forget what it noted. ``committed`` are called after a
    transaction that wrote, outside of it.
    """

    def __init__(
        self, address: Address, *, read_only: bool, create: bool, limits: StoreSettings
    ) -> None:
        self.label = address.label
        self.schema = address.schema
        self.read_only = read_only
        self.settle: Callable[[], None] = _nothing
        self.abandon: Callable[[], None] = _nothing
        self.committed: list[Callable[[], None]] = []
        self._address = address
        self._limits = limits
        self._closed = False
        self._process = os.getpid()
        self._thread = _Thread()
        self._of_parent_process: list[object] = []
        with translated_errors(self.label):
            found = prepare_schema(address, create=create and not read_only, read_only=read_only)
        self.number = found.number
        self.is_owner = found.is_owner
        self._extensions = found.extensions
        self._watchers: list[list[str]] = []
        self._pool = self._open_pool()

    def _open_pool(self) -> Pool:
        return Pool(self._address, limits=self._limits, configured=self._configure)

    def _configure(self, connection: Connection) -> None:
        configure(
            connection,
            schema=self.schema,
            extensions=self._extensions,
            limits=self._limits,
            read_only=self.read_only,
        )
        connection.watchers = self._watchers

    @contextmanager
    def watched(self) -> Iterator[list[str]]:
        """Yield a list to which all statements are added that are sent in the block."""
        sent: list[str] = []
        self._watchers.append(sent)
        try:
            yield sent
        finally:
            self._watchers[:] = [other for other in self._watchers if other is not sent]

    def _local(self) -> _Thread:
        """Return the state of this thread. A child process opens connections of its own."""
        if self._process != os.getpid():
            self._of_parent_process += [self._thread, self._pool]
            self._thread, self._process = _Thread(), os.getpid()
            self._pool = self._open_pool()
        if self._closed:
            raise StoreError(f"The index `{self.label}` is closed.", fix="Open it again.")
        return self._thread

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        checks_due()
        thread = self._local()
        with translated_errors(self.label):
            if thread.connection is not None:
                return self._run(thread.connection, sql, bindings)
            found: list[Row] = self._retried(lambda c: self._run(c, sql, bindings))
            return found

    @property
    def kept(self) -> dict[tuple[str, Bindings], list[Row]] | None:
        return self._local().kept

    def rows_held(self, sql: str) -> list[Row]:
        """Return the rows of a query about the whole index, also in a transaction read only once.

        A lock, a change of the schema and `forget_held` make it read again.
        """
        thread = self._local()
        if not thread.writing:
            return self.rows_once(sql)
        if sql not in thread.held:
            thread.held[sql] = self.rows(sql)
        return thread.held[sql]

    def forget_held(self) -> None:
        """Read what `rows_held` returns again, after the open transaction has changed it."""
        self._thread.held.clear()

    def stream(self, sql: str, bindings: Bindings = ()) -> Iterator[Row]:
        connection = self._local().connection
        assert connection is not None
        with translated_errors(self.label), streaming_cursor(connection) as cursor:
            cursor.execute(postgres_text(sql), _bound(bindings), binary=True)
            yield from checked(cursor)

    def write(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        checks_due()
        connection = self._in_transaction(sql)
        with translated_errors(self.label):
            cursor = connection.execute(postgres_text(sql), _bound(bindings), binary=True)
            if cursor.rowcount > 0:
                self._thread.wrote = True
            return cursor.fetchall() if cursor.description is not None else []

    def write_many(self, sql: str, rows: Iterable[Bindings]) -> None:
        listed = list(checked(rows))
        if not listed:
            return
        connection = self._in_transaction(sql)
        with translated_errors(self.label), connection.cursor() as cursor:
            cursor.executemany(sql, listed)
            if cursor.rowcount > 0:
                self._thread.wrote = True

    def add_rows(self, table: str, columns: Mapping[str, str], rows: Iterable[Bindings]) -> None:
        listed = list(checked(rows))
        if not listed:
            return
        with self._copying(table, columns) as copy:
            copy.set_types(list(columns.values()))
            for row in listed:
                copy.write_row(row)

    def copy_numbers(self, table: str, **columns: NDArray[np.signedinteger]) -> None:
        """Add rows of numbers inside the open transaction, from an array for each column."""
        with self._copying(table, columns) as copy:
            copy.write(number_rows(*columns.values()))

    @contextmanager
    def _copying(self, table: str, columns: Iterable[str]) -> Iterator[psycopg.Copy]:
        connection = self._in_transaction(f"INSERT INTO {table}")
        sql = f"COPY {table} ({', '.join(columns)}) FROM STDIN (FORMAT BINARY)"
        with translated_errors(self.label), connection.cursor() as cursor:
            with cursor.copy(sql) as copy:
                yield copy
            if cursor.rowcount > 0:
                self._thread.wrote = True

    @property
    def writing(self) -> bool:
        return self._thread.writing and self._process == os.getpid()

    @contextmanager
    def reading(self) -> Iterator[None]:
        thread = self._local()
        if thread.connection is not None:
            yield
            return
        with translated_errors(self.label):
            thread.connection = self._retried(_begin(_READ), keep=True)
        thread.kept = {}
        try:
            yield
        finally:
            self._end(thread, "COMMIT")

    def transaction(self) -> AbstractContextManager[None]:
        """Commit all writes of the block or none; nested use joins the outer transaction.

        Raises StoreBusy if another writer holds a lock for too long, StoreReadOnly if the index was
        opened for reading, StoreUnavailable if the connection breaks: the block is rolled back.
        """
        return self._writing(_WRITE)

    def alone(self) -> AbstractContextManager[None]:
        return self._writing(_WRITE_ALONE)

    @contextmanager
    def _writing(self, begin: str) -> Iterator[None]:
        thread = self._local()
        if thread.writing:
            yield
            return
        if self.read_only:
            raise StoreReadOnly(
                f"The index `{self.label}` was opened for reading only.",
                fix="In Python, open it without `read_only`.",
            )
        if thread.connection is not None:
            raise StoreError(
                "A transaction cannot begin inside a block that reads one state.",
                fix="Write outside of `reading`.",
            )
        check_cancelled()
        with translated_errors(self.label):
            begin = begin.format(lock=REPLACING_LOCK, number=self.number)
            thread.connection = self._retried(_begin(begin), keep=True)
        thread.writing = True
        did_write = False
        try:
            yield
            check_cancelled()
            self.settle()
            did_write = thread.wrote or any(thread.totals.values())
            with finishing(math.inf):
                self._commit(did_write=did_write)
        finally:
            self.abandon()
            self._end(thread, "ROLLBACK")
        if did_write:
            for call in self.committed:
                call()

    def define(self, change: Callable[[Connection], None]) -> None:
        """Change the schema inside the open transaction, alone."""
        self.lock_shared()
        connection = self._in_transaction("")
        with translated_errors(self.label):
            change(connection)
        self._thread.wrote = True
        self.forget_held()

    def lock_shared(self) -> None:
        """Write what several documents share alone, until the end of the open transaction."""
        self._lock(SHARED_LOCK)

    def lock_replacing(self) -> None:
        """Wait for all other writers, and keep them out until the end of the open transaction.

        Call it before `lock_shared`, which the others may wait for.
        """
        self._lock(REPLACING_LOCK)

    def _lock(self, lock: int) -> None:
        locks = self._local().locks
        if lock not in locks:
            connection = self._in_transaction("")
            with translated_errors(self.label):
                connection.execute(_LOCK, (lock, self.number))
            locks.add(lock)
            self.forget_held()

    def total(self, name: str) -> int:
        """Return a total, such as the number of items of an index."""
        totals: dict[str, int] = dict(self.rows_held(_TOTALS))
        return totals.get(name, 0) + self._thread.totals[name]

    def add_total(self, name: str, change: int) -> None:
        """Change a total when the open transaction is committed."""
        self._thread.totals[name] += change

    def generation(self) -> int:
        return self.total(_GENERATION)

    def damaged(self, detail: Any) -> IndexDamaged:  # noqa: ANN401
        return damaged(self.label, detail)

    def close(self) -> None:
        if not self._closed and self._process == os.getpid():
            with suppress(psycopg.Error):
                self._pool.close(timeout=1.0)
        self._closed = True

    def separate(self) -> Connection:
        """Open a connection outside of the pool, for statements that no transaction may hold."""
        connection = connect(self._address)
        self._configure(connection)
        return connection

    def _run(self, connection: Connection, sql: str, bindings: Bindings) -> list[Row]:
        thread = self._thread
        if thread.writing and _reads_aggregates(sql):
            self.lock_shared()
            self.settle()
        return connection.execute(postgres_text(sql), _bound(bindings), binary=True).fetchall()

    def _in_transaction(self, sql: str) -> Connection:
        """Return the connection. Raises StoreError if the transaction was ended by an error."""
        thread = self._local()
        connection = thread.connection
        if connection is None or not thread.writing:
            raise StoreError("A write needs an open transaction.")
        if connection.info.transaction_status not in (
            TransactionStatus.INTRANS,
            TransactionStatus.ACTIVE,
        ):
            raise StoreError(
                f"The transaction on `{self.label}` was rolled back after an error.",
                fix="Leave the transaction and start a new one.",
            )
        if sql and _writes_shared(sql):
            self.lock_shared()
        return connection

    def _retried(self, use: Callable[[Connection], Any], *, keep: bool = False) -> Any:  # noqa: ANN401  what `use` returns
        """Use a connection of the pool, and another one if it turns out to be broken.

        ``use`` is run again, so it must not have written. With ``keep``, the connection is not
        given back, and is the result.
        """
        end = time.monotonic() + self._limits.retry_s
        pause = _FIRST_PAUSE_S
        while True:
            connection = self._pool.take()
            kept = False
            try:
                found = use(connection)
                kept = keep
            except psycopg.Error as error:
                if not is_broken(error):
                    raise
                connection.close()
                if time.monotonic() + pause >= end:
                    raise
            else:
                return connection if keep else found
            finally:
                if not kept:
                    self._pool.putconn(connection)
            sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def _commit(self, *, did_write: bool) -> None:
        """Commit the open transaction. Raises StoreError if an error in it has ended it."""
        thread, connection = self._thread, self._in_transaction("")
        compacted = False
        with translated_errors(self.label):
            if did_write:
                changes = {name: value for name, value in thread.totals.items() if value}
                changes[_GENERATION] = 1
                added = connection.execute(
                    _ADD_TOTALS, (list(changes), list(changes.values())), binary=True
                ).fetchall()
                compacted = any(number % _COMPACTED_EVERY == 0 for (number,) in added)
            if compacted:
                key = (COMPACTING_LOCK, self.number)
                ((alone,),) = connection.execute(_TRY_LOCK, key).fetchall()
                if alone:
                    connection.execute(_COMPACT_TOTALS)
        try:
            connection.execute("COMMIT", prepare=False)
        except psycopg.Error as error:
            if not is_broken(error):
                raise translate(error, self.label) from error
            raise StoreUnavailable(
                f"The connection to `{self.label}` broke during a commit, which was made as a "
                "whole or not at all.",
                fix="Run the same again: what was committed is not repeated.",
            ) from error

    def _end(self, thread: _Thread, how: str) -> None:
        connection = thread.connection
        thread.connection, thread.kept = None, None
        thread.writing = thread.wrote = False
        thread.totals, thread.locks, thread.held = Counter(), set(), {}
        if connection is None:
            return
        with finishing(), suppress(psycopg.Error):
            if connection.info.transaction_status != TransactionStatus.IDLE:
                connection.execute(how, prepare=False)
        if self._process == os.getpid():
            self._pool.putconn(connection)


def _begin(sql: str) -> Callable[[Connection], None]:
    def begin(connection: Connection) -> None:
        connection.execute(sql, prepare=False)

    return begin


def _nothing() -> None:
    """Do nothing: a database without aggregates has none to settle."""
