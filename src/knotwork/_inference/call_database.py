"""The SQLite database of model calls, and the ledger of their cost.

The database is a file beside the index, used by many threads and processes at once, so that a
reader of the index can cache a call while another process writes the index. Threads that write at
the same time share one transaction (group commit). The ledger sums calls by stage, source and
model, in the transaction that stores the reply.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Literal

import apsw

from knotwork._inference.call_costs import PriceTable
from knotwork._inference.chat import ChatRequest, TokenUsage
from knotwork._sqlite_file import (
    Bindings,
    Migration,
    Row,
    SqliteFile,
    is_empty,
    sync_commits,
    write_transaction,
)
from knotwork._sqlite_pages import READ_WRITE
from knotwork.errors import StoreError

Write = Callable[[apsw.Connection], None]

APPLICATION_ID = 0x4B4E4F43
"""``KNOC``: identifies a SQLite file as a call database of Knotwork."""

_WAL_LIMIT_BYTES = 16 * 1024 * 1024


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "0001-first-tables",
        """
        CREATE TABLE reply (
            id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
            stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL,
            text BLOB NOT NULL, finish_reason TEXT NOT NULL,
            input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, calls INTEGER NOT NULL,
            digest BLOB NOT NULL
        );
        CREATE INDEX reply_by_source ON reply (source);
        CREATE TABLE rejected (
            id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
            stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL,
            text BLOB NOT NULL, finish_reason TEXT NOT NULL,
            reason TEXT NOT NULL, attempts INTEGER NOT NULL
        );
        CREATE INDEX rejected_by_source ON rejected (source);
        CREATE TABLE spent (
            stage TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL,
            calls INTEGER NOT NULL, rejected INTEGER NOT NULL,
            input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
            reused INTEGER NOT NULL,
            saved_input_tokens INTEGER NOT NULL, saved_output_tokens INTEGER NOT NULL,
            PRIMARY KEY (stage, source, model)
        ) WITHOUT ROWID;
        """,
    ),
)


@dataclass(slots=True)
class _Waiting:
    """The write of a waiting thread, and its outcome."""

    work: Write
    is_done: bool = False
    error: Exception | None = None


class CallDatabase:
    """An open call database: one connection, used by one thread at a time.

    ``:memory:`` opens a database without a file. Raises StoreNotFound if the folder does not exist,
    SchemaMismatch if the file is not a call database or is from a later version, StoreReadOnly if
    it is not writable, and StoreError if it is damaged.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_timeout_s: float = 30.0,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        self.path = str(path)
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.RLock()
        self._queue_lock = threading.Lock()
        self._queue: list[_Waiting] = []
        self._process = os.getpid()
        self._of_parent_process: list[apsw.Connection] = []
        self._open: apsw.Connection | None = None
        self._file = SqliteFile(
            self.path,
            "call cache",
            APPLICATION_ID,
            repair="Restore it from a backup, or move it away together with its `-wal` file. The "
            "index is not affected, but calls that only this file has are made, and paid for, "
            "again.",
        )
        if self.path != ":memory:":
            self._file.require(create=True)
        try:
            with self._translated_errors():
                self._migrate(self._connection(), migrations)
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows."""
        with self._lock, self._translated_errors():
            return self._connection().execute(sql, bindings).fetchall()

    def write(self, work: Write) -> None:
        """Run ``work`` on the connection and commit it, entirely or not at all.

        Writes of other waiting threads join the same transaction. ``work`` must have no other
        effect, since it is repeated in a transaction of its own if another write fails. Raises as
        `transaction`.
        """
        waiting = _Waiting(work)
        with self._queue_lock:
            self._queue.append(waiting)
        with self._lock:
            if not waiting.is_done:
                self._write_all()
        if waiting.error is not None:
            raise waiting.error

    def _write_all(self) -> None:
        """Run all waiting writes in one transaction, or each in its own if that fails."""
        with self._queue_lock:
            group, self._queue = self._queue, []
        try:
            try:
                with self.transaction() as connection:
                    for waiting in group:
                        waiting.work(connection)
            except Exception:  # noqa: BLE001  running each write alone shows which one fails
                for waiting in group:
                    waiting.error = self._fault_of(waiting.work)
        except BaseException:  # Ctrl-C in this thread: the others do their own writes
            with self._queue_lock:
                self._queue = group + self._queue
            raise
        for waiting in group:
            waiting.is_done = True

    def _fault_of(self, work: Write) -> Exception | None:
        try:
            with self.transaction() as connection:
                work(connection)
        except Exception as error:  # noqa: BLE001  raised later, in the thread that waits
            return error
        return None

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Open a write transaction; no other thread uses the connection meanwhile.

        Raises StoreBusy if other processes keep writing, StoreError if the disk is full.
        """
        with self._lock, self._translated_errors():
            connection = self._connection()
            with write_transaction(connection):
                yield connection

    def close(self) -> None:
        """Close the file; it cannot be used afterwards."""
        if self._process == os.getpid():
            with self._lock:
                if self._open is not None:
                    self._open.close()
        self._open, self._process = None, 0

    def _connection(self) -> apsw.Connection:
        if self._process == 0:
            raise StoreError(f"The call cache `{self.path}` is closed.", fix="Open it again.")
        if self._process != os.getpid():
            # A connection must not cross a fork, nor be closed by the child.
            if self._open is not None:
                self._of_parent_process.append(self._open)
            self._open, self._process = None, os.getpid()
        if self._open is None:
            self._open = self._connect()
        return self._open

    def _connect(self) -> apsw.Connection:
        connection = self._file.connect(flags=READ_WRITE, busy_timeout_s=self._busy_timeout_s)
        sync_commits(connection)  # a reply is paid for; waiting threads share the wait for the disk
        connection.pragma("secure_delete", 1)  # overwrite deleted replies
        connection.pragma("journal_size_limit", _WAL_LIMIT_BYTES)
        return connection

    def _migrate(self, connection: apsw.Connection, migrations: Sequence[Migration]) -> None:
        if not is_empty(connection):
            migrations = self._file.missing_migrations(connection, migrations)
        connection.pragma("journal_mode", "wal")
        self._file.migrate(connection, migrations)

    def damaged(self, detail: object) -> StoreError:
        """Return the error for damaged content."""
        return self._file.damaged(detail)

    def _translated_errors(self) -> AbstractContextManager[None]:
        return self._file.translated_errors(busy_timeout_s=self._busy_timeout_s)


Dimension = Literal["stage", "source", "model"]
DIMENSIONS: tuple[Dimension, ...] = ("stage", "source", "model")

_COUNT_CALL = """
INSERT INTO spent VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (stage, source, model) DO UPDATE SET
    calls = calls + excluded.calls, rejected = rejected + excluded.rejected,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    reused = reused + excluded.reused,
    saved_input_tokens = saved_input_tokens + excluded.saved_input_tokens,
    saved_output_tokens = saved_output_tokens + excluded.saved_output_tokens
"""


@dataclass(frozen=True, slots=True)
class CallTotal:
    """The calls of one group, such as one stage, or of all.

    ``group`` holds the group's values of the dimensions asked for, in that order. ``usage`` is what
    was paid for, with the number of reused replies; ``saved`` is the usage that reuse avoided.
    ``rejected`` is the number of calls whose reply was rejected. ``money`` is None if a price is
    unknown.
    """

    group: tuple[str, ...]
    usage: TokenUsage
    saved: TokenUsage
    rejected: int
    money: Decimal | None


class CallLedger:
    """Sums what calls have cost, at the ``prices`` of today."""

    def __init__(self, database: CallDatabase, *, prices: PriceTable | None = None) -> None:
        self._database = database
        self._prices = prices or PriceTable()

    def totals(
        self,
        *by: Dimension,
        stage: str | None = None,
        source: str | None = None,
        model: str | None = None,
    ) -> list[CallTotal]:
        """Return a total for each group of ``by``, ordered by group, of calls that match a filter.

        Without ``by``, return a single total. Raises ValueError for an unknown dimension.
        """
        wanted = {"stage": stage, "source": source, "model": model}
        filters = {name: storable(value) for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        unknown = [name for name in by if name not in DIMENSIONS]
        if unknown:
            raise ValueError(f"Unknown dimension `{unknown[0]}`. Valid: {', '.join(DIMENSIONS)}.")
        # Money needs the model even if the groups do not.
        columns = ", ".join((*by, "model"))
        rows = self._database.rows(
            f"SELECT {columns}, SUM(calls), SUM(rejected), SUM(input_tokens), "  # noqa: S608
            "SUM(output_tokens), SUM(reused), SUM(saved_input_tokens), SUM(saved_output_tokens) "
            f"FROM spent WHERE {where} GROUP BY {columns} ORDER BY {columns}",
            tuple(filters.values()),
        )
        groups: dict[tuple[str, ...], list[_CountedCall]] = {} if by else {(): []}
        for row in rows:
            counted = _CountedCall.of(row, width=len(by))
            groups.setdefault(counted.group, []).append(counted)
        return [self._sum(group, parts) for group, parts in groups.items()]

    def total(self) -> CallTotal:
        """Return the total of all recorded calls."""
        (total,) = self.totals()
        return total

    def _sum(self, group: tuple[str, ...], parts: Sequence[_CountedCall]) -> CallTotal:
        return CallTotal(
            group=group,
            usage=sum((part.usage for part in parts), TokenUsage()),
            saved=sum((part.saved for part in parts), TokenUsage()),
            rejected=sum(part.rejected for part in parts),
            money=self._prices.money((part.model, part.usage) for part in parts),
        )


@dataclass(frozen=True, slots=True)
class _CountedCall:
    group: tuple[str, ...]
    model: str
    usage: TokenUsage
    saved: TokenUsage
    rejected: int

    @classmethod
    def of(cls, row: Sequence[object], *, width: int) -> _CountedCall:
        group = tuple(str(value) for value in row[:width])
        counts = [int(str(value)) for value in row[width + 1 :]]
        calls, rejected, tokens_in, tokens_out, reused, saved_in, saved_out = counts
        return cls(
            group,
            str(row[width]),
            TokenUsage(tokens_in, tokens_out, calls, reused),
            TokenUsage(saved_in, saved_out, 0, reused),
            rejected,
        )


def add_call(
    connection: apsw.Connection,
    model: str,
    request: ChatRequest,
    usage: TokenUsage,
    *,
    rejected: bool = False,
) -> None:
    """Count a call in the ledger, inside the open transaction."""
    counts = (usage.calls, int(rejected), usage.input_tokens, usage.output_tokens, 0, 0, 0)
    connection.execute(_COUNT_CALL, (*_names(model, request), *counts))


def add_reuse(
    connection: apsw.Connection, model: str, request: ChatRequest, saved: TokenUsage
) -> None:
    """Count a reused reply in the ledger, inside the open transaction."""
    counts = (0, 0, 0, 0, 1, saved.input_tokens, saved.output_tokens)
    connection.execute(_COUNT_CALL, (*_names(model, request), *counts))


def storable(name: str) -> str:
    """Return a name that SQLite can store: lone surrogates, as in odd file names, are escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _names(model: str, request: ChatRequest) -> Iterator[str]:
    return (storable(name) for name in (request.stage, request.source, model))
