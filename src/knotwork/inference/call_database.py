"""The SQLite database of model calls, and its ledger of what they cost.

It is a file beside the index, open to many threads and processes, so that a reader of the index can
cache a call while another process writes the index. Threads that write at the same time share one
transaction (group commit). The ledger sums calls by stage, source and model, in the transaction
that stores the reply.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, NamedTuple

import apsw

from knotwork.errors import SchemaMismatch, StoreBusy, StoreError, StoreNotFound, StoreReadOnly
from knotwork.inference.call_costs import PriceTable
from knotwork.inference.chat import ChatRequest, TokenUsage

Bindings = Sequence[int | float | str | bytes | None]
Row = tuple[Any, ...]
Write = Callable[[apsw.Connection], None]

APPLICATION_ID = 0x4B4E4F43
"""``KNOC``: marks a SQLite file as the calls of Knotwork."""

_SQLITE_HEADER = b"SQLite format 3\x00"
_WAL_LIMIT_BYTES = 16 * 1024 * 1024


class CallMigration(NamedTuple):
    """A named step to the schema of today; never changed once released."""

    name: str
    statements: str


MIGRATIONS: tuple[CallMigration, ...] = (
    CallMigration(
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
    """Work of a thread that waits to write, and what became of it."""

    work: Write
    is_done: bool = False
    error: Exception | None = None


class CallDatabase:
    """The file of calls, open. One connection, used by one thread at a time; ``:memory:`` is no
    file at all.

    Raises StoreNotFound when its folder does not exist, SchemaMismatch when the file is something
    else or of a later version, StoreReadOnly when it may not be written, StoreError when damaged.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        busy_timeout_s: float = 30.0,
        migrations: Sequence[CallMigration] = MIGRATIONS,
    ) -> None:
        self.path = str(path)
        self._busy_timeout_s = busy_timeout_s
        self._lock = threading.RLock()
        self._queue_lock = threading.Lock()
        self._queue: list[_Waiting] = []
        self._process = os.getpid()
        self._of_parent_process: list[apsw.Connection] = []
        self._open: apsw.Connection | None = None
        if self.path != ":memory:":
            _require_place(Path(path))
        try:
            with self._own_words():
                self._migrate(self._connection(), migrations)
        except BaseException:
            self.close()
            raise

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows."""
        with self._lock, self._own_words():
            return self._connection().execute(sql, bindings).fetchall()

    def write(self, work: Write) -> None:
        """Do ``work`` on the connection, all or nothing; it is kept when this returns.

        Work of other threads that wait to write goes with it. It must have no other effect, as it
        is done again, by itself, where that of another fails. Raises as `transaction`.
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
        """Do what waits in one transaction, or each in its own where that fails."""
        with self._queue_lock:
            group, self._queue = self._queue, []
        try:
            try:
                with self.transaction() as connection:
                    for waiting in group:
                        waiting.work(connection)
            except Exception:  # noqa: BLE001  whose it is shows when each is done by itself
                for waiting in group:
                    waiting.error = self._fault_of(waiting.work)
        except BaseException:  # Ctrl-C in this thread leaves the work of the others to them
            with self._queue_lock:
                self._queue = group + self._queue
            raise
        for waiting in group:
            waiting.is_done = True

    def _fault_of(self, work: Write) -> Exception | None:
        try:
            with self.transaction() as connection:
                work(connection)
        except Exception as error:  # noqa: BLE001  raised in the thread whose work it is
            return error
        return None

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Write all or nothing; no other thread uses the connection meanwhile.

        Raises StoreBusy when other processes keep writing, StoreError when the disk is full.
        """
        with self._lock, self._own_words():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; it cannot be used afterwards."""
        if self._process == os.getpid():
            with self._lock:
                if self._open is not None:
                    self._open.close()
        self._open, self._process = None, 0

    def _connection(self) -> apsw.Connection:
        if self._process == 0:
            raise StoreError(f"The file of calls `{self.path}` was closed.", fix="Open it again.")
        if self._process != os.getpid():
            # A connection must not cross a fork, nor be closed by the child.
            if self._open is not None:
                self._of_parent_process.append(self._open)
            self._open, self._process = None, os.getpid()
        if self._open is None:
            self._open = self._connect()
        return self._open

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(self.path)
        connection.set_busy_timeout(int(self._busy_timeout_s * 1_000))
        connection.pragma("synchronous", "normal")
        connection.pragma("secure_delete", 1)  # what is forgotten leaves no bytes
        connection.pragma("journal_size_limit", _WAL_LIMIT_BYTES)
        return connection

    def _migrate(self, connection: apsw.Connection, migrations: Sequence[CallMigration]) -> None:
        """Bring the file up to date, each step whole or not at all."""
        known = [migration.name for migration in migrations]
        recorded = self._recorded(connection)
        connection.pragma("journal_mode", "wal")
        if recorded == known:
            return
        with self.transaction():
            # Another process may have done it while this one waited.
            recorded = self._recorded(connection)
            self._refuse_later(recorded, migrations)
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migration (position INTEGER PRIMARY KEY, name TEXT)"
            )
            for migration in migrations[len(recorded) :]:
                connection.execute(migration.statements)
                connection.execute("INSERT INTO migration (name) VALUES (?)", (migration.name,))
            connection.pragma("application_id", APPLICATION_ID)

    def _recorded(self, connection: apsw.Connection) -> list[str]:
        """Return the steps that the file has; none in an empty one."""
        if connection.execute("SELECT 1 FROM sqlite_schema").fetchone() is None:
            return []
        if connection.pragma("application_id") != APPLICATION_ID:
            raise SchemaMismatch(
                f"`{self.path}` is a database, but not one of calls to models.",
                fix="Name another file for the calls.",
            )
        rows = connection.execute("SELECT name FROM migration ORDER BY position")
        return [name for (name,) in rows]

    def _refuse_later(self, recorded: list[str], migrations: Sequence[CallMigration]) -> None:
        known = [migration.name for migration in migrations]
        if recorded != known[: len(recorded)]:
            raise SchemaMismatch(
                f"`{self.path}` was written by a later version of Knotwork (it has "
                f"`{recorded[-1]}`; this version knows up to `{known[-1]}`).",
                fix="Upgrade Knotwork, or name another file for the calls.",
            )

    @contextmanager
    def _own_words(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            raise self._in_own_words(error) from error

    def _in_own_words(self, error: apsw.Error) -> StoreError:
        path = self.path
        if isinstance(error, apsw.BusyError | apsw.LockedError):
            return StoreBusy(
                f"Other processes are writing to `{path}` "
                f"(waited {self._busy_timeout_s:g} s for them).",
                fix="Wait until they are done, or stop them, then try again.",
            )
        if isinstance(error, apsw.FullError):
            return StoreError(
                f"There is no room left to keep a call in `{path}`.",
                fix="Free some disk space, then try again: calls kept before are not repeated.",
            )
        if isinstance(error, apsw.NotADBError):
            return SchemaMismatch(
                f"`{path}` is not a file of calls to models.",
                fix="Name another file for the calls.",
            )
        if isinstance(error, apsw.CorruptError):
            return damaged(path, str(error))
        if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
            return StoreReadOnly(
                f"`{path}` may not be written ({error}).",
                fix="Check who may write it and its folder, or name another file for the calls.",
            )
        return StoreError(f"The file of calls `{path}` cannot be used: {error}.")


def damaged(path: str, detail: str) -> StoreError:
    """Return the error of a file whose content is not what was written."""
    return StoreError(
        f"The file of calls `{path}` is damaged ({detail}).",
        fix="Restore it from a copy, or move it away with its `-wal`: the index is not touched, "
        "but calls that only this file knows are made, and paid for, again.",
    )


def _require_place(path: Path) -> None:
    """Refuse what SQLite would not refuse: it takes a very short file for an empty one."""
    if not path.parent.is_dir():
        raise StoreNotFound(
            f"There is no folder `{path.parent}` for the calls.", fix="Create the folder first."
        )
    if path.is_dir():
        raise SchemaMismatch(
            f"`{path}` is a folder, not a file of calls.", fix="Name a file for the calls."
        )
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            start = file.read(len(_SQLITE_HEADER))
    except PermissionError as error:
        raise StoreReadOnly(
            f"`{path}` may not be read.", fix="Check who may read and write the file."
        ) from error
    if start not in (b"", _SQLITE_HEADER):
        raise SchemaMismatch(
            f"`{path}` is not a file of calls to models.", fix="Name another file for the calls."
        )


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

    ``group`` are its values of what was asked by, in that order. ``usage`` is what was paid for,
    with the count of calls that were reused; ``saved`` are the tokens that reusing did not cost.
    ``rejected`` of the calls had a reply that was not kept. ``money`` is None when a price is not
    known.
    """

    group: tuple[str, ...]
    usage: TokenUsage
    saved: TokenUsage
    rejected: int
    money: Decimal | None


class CallLedger:
    """Reads what calls have cost. ``prices`` are those of today, for calls of any day."""

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
        """Return a total for each group of ``by``, ordered by group, of what the filters leave.

        Without ``by`` there is one total, of all.
        """
        wanted = {"stage": stage, "source": source, "model": model}
        filters = {name: storable(value) for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        # Money needs the model even where the groups do not; names are from DIMENSIONS alone.
        columns = ", ".join([_dimension(name) for name in by] + ["model"])
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
        """Return the total of all calls ever made."""
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
    """Count a call that was made, inside the open transaction."""
    counts = (usage.calls, int(rejected), usage.input_tokens, usage.output_tokens, 0, 0, 0)
    connection.execute(_COUNT_CALL, (*_names(model, request), *counts))


def add_reuse(
    connection: apsw.Connection, model: str, request: ChatRequest, saved: TokenUsage
) -> None:
    """Count a call that was not made, inside the open transaction."""
    counts = (0, 0, 0, 0, 1, saved.input_tokens, saved.output_tokens)
    connection.execute(_COUNT_CALL, (*_names(model, request), *counts))


def storable(name: str) -> str:
    """Return a name as SQLite can hold it: half characters, as in odd file names, are spelt out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _names(model: str, request: ChatRequest) -> Iterator[str]:
    return (storable(name) for name in (request.stage, request.source, model))


def _dimension(name: str) -> str:
    if name not in DIMENSIONS:
        raise ValueError(f"`{name}` is none of {', '.join(DIMENSIONS)}")
    return name
