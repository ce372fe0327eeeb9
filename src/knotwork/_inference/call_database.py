"""The database of model calls, and the ledger of their cost.

It is a companion of the index, used by many threads and processes at once, so that a reader of the
index can cache a call while another process writes the index. Threads that write at
the same time share one transaction (group commit). The ledger sums calls by stage, source and
model, in the transaction that stores the reply.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Literal

import apsw

from knotwork._companions import (
    CALL_TABLES,
    Bindings,
    Companion,
    CompanionDatabase,
    SqliteCompanion,
)
from knotwork._inference.call_costs import PriceTable
from knotwork._inference.chat import ChatRequest, TokenUsage
from knotwork._sqlite_file import (
    CALLS_SUFFIX,
    FILE_KINDS,
    Migration,
    Row,
    SqliteFile,
    is_empty,
    sync_commits,
)

Write = Callable[[CompanionDatabase], object]

APPLICATION_ID = 0x4B4E4F43
"""``KNOC``: identifies a SQLite file as a call database of Knotwork."""

_WAL_LIMIT_BYTES = 16 * 1024 * 1024

MIGRATIONS: tuple[Migration, ...] = (Migration("0002-awaited", CALL_TABLES),)


Dimension = Literal["stage", "source", "model"]

_CACHED = " (cached)"
"""Behind the name of a model: the row counts input tokens that the server had cached."""


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


@dataclass(slots=True)
class _Waiting:
    """The write of a waiting thread, and its outcome."""

    work: Write
    is_done: bool = False
    error: Exception | None = None


def _configure(connection: apsw.Connection) -> None:
    sync_commits(connection)  # a reply is paid for; waiting threads share the wait for the disk
    connection.pragma("secure_delete", 1)  # overwrite deleted replies
    connection.pragma("journal_size_limit", _WAL_LIMIT_BYTES)


def _prepare(
    file: SqliteFile, connection: apsw.Connection, migrations: Sequence[Migration] = MIGRATIONS
) -> None:
    if not is_empty(connection):
        migrations = file.missing_migrations(connection, migrations)
    connection.pragma("journal_mode", "wal")
    file.migrate(connection, migrations)


_REPAIR = (
    "Restore it from a backup, or move it away together with its `-wal` file. The index is not "
    "affected, but calls that only this file has are made, and paid for, again."
)
CALLS = Companion(
    FILE_KINDS[CALLS_SUFFIX],
    CALLS_SUFFIX,
    lambda _path: _REPAIR,
    _configure,
    _prepare,
    application_id=APPLICATION_ID,
)
"""Replies of language models, and what they have cost."""


class CallDatabase:
    """A call database, in which threads that wait to write share one transaction.

    ``place`` is an open companion, or the path of a file; ``:memory:`` is a database without one.
    Raises what `SqliteCompanion` raises.
    """

    def __init__(
        self,
        place: CompanionDatabase | str | Path,
        *,
        busy_timeout_s: float = CALLS.busy_timeout_s,
        migrations: Sequence[Migration] = MIGRATIONS,
    ) -> None:
        if isinstance(place, str | Path):
            calls = replace(
                CALLS,
                prepare=partial(_prepare, migrations=migrations),
                busy_timeout_s=busy_timeout_s,
            )
            place = SqliteCompanion(str(place), calls)
        self._tables = place
        self._lock = threading.Lock()
        self._queue_lock = threading.Lock()
        self._queue: list[_Waiting] = []

    @property
    def path(self) -> str | None:
        """The path of the file, None on a server."""
        return self._tables.path

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """Run a query and return all its rows."""
        return self._tables.rows(sql, bindings)

    def write(self, work: Write) -> None:
        """Run ``work`` in a transaction and commit it, entirely or not at all.

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
            if self._fault_of(group) is not None:
                for waiting in group:  # running each write alone shows which one fails
                    waiting.error = self._fault_of([waiting])
        except BaseException:  # Ctrl-C in this thread: the others do their own writes
            with self._queue_lock:
                self._queue = group + self._queue
            raise
        for waiting in group:
            waiting.is_done = True

    def _fault_of(self, group: Sequence[_Waiting]) -> Exception | None:
        """Run writes in one transaction, and return what failed."""
        try:
            with self._tables.transaction():
                for waiting in group:
                    waiting.work(self._tables)
        except Exception as error:  # noqa: BLE001  raised later, in the thread that waits
            return error
        return None

    @contextmanager
    def transaction(self) -> Iterator[CompanionDatabase]:
        """Open a write transaction; no other thread writes meanwhile.

        Raises StoreBusy if other processes keep writing, StoreError if the disk is full.
        """
        with self._lock, self._tables.transaction():
            yield self._tables

    def totals(self, *by: Dimension, prices: PriceTable | None = None) -> list[CallTotal]:
        """Return what calls have cost by each group of ``by``, in order; without it, one of all.

        Money is at ``prices``, those of today.
        """
        # Money needs the model even if the groups do not.
        columns = ", ".join((*by, "model"))
        rows = self.rows(
            f"SELECT {columns}, SUM(calls), SUM(rejected), SUM(input_tokens), "  # noqa: S608
            "SUM(output_tokens), SUM(reused), SUM(saved_input_tokens), SUM(saved_output_tokens) "
            f"FROM spent GROUP BY {columns} ORDER BY {columns}",
        )
        groups: dict[tuple[str, ...], list[Row]] = {} if by else {(): []}
        for *names, model, calls, rejected, sent, received, reused, saved_in, saved_out in rows:
            name = model.removesuffix(_CACHED)
            cached = int(sent) if model != name else 0
            usage = TokenUsage(int(sent), int(received), int(calls), int(reused), cached)
            saved = TokenUsage(int(saved_in), int(saved_out), 0, int(reused))
            group = tuple(
                name if part == "model" else own for part, own in zip(by, names, strict=True)
            )
            groups.setdefault(group, []).append((name, usage, saved, int(rejected)))
        prices = prices or PriceTable()
        return [
            CallTotal(
                group,
                sum((usage for _, usage, *_ in calls), TokenUsage()),
                sum((saved for *_, saved, _ in calls), TokenUsage()),
                sum(rejected for *_, rejected in calls),
                prices.money((model, usage) for model, usage, *_ in calls),
            )
            for group, calls in groups.items()
        ]

    def total(self, *, prices: PriceTable | None = None) -> CallTotal:
        """Return the total of all recorded calls."""
        return self.totals(prices=prices)[0]

    def check(self) -> list[str]:
        """Read the whole file, and return a phrase for each fault."""
        return self._tables.check()

    def close(self) -> None:
        """Close the database; it cannot be used afterwards."""
        self._tables.close()


_REPLY = ("key", "stage", "source", "model", "text", "finish_reason")
_COPIED = {
    "reply": (*_REPLY, "input_tokens", "output_tokens", "calls", "digest"),
    "rejected": (*_REPLY, "reason", "attempts"),
}
_SPENT = (
    *("stage", "source", "model", "calls", "rejected", "input_tokens", "output_tokens", "reused"),
    *("saved_input_tokens", "saved_output_tokens"),
)
_PAGE_ROWS = 500


def copy_calls(source: CompanionDatabase, target: CompanionDatabase) -> Iterator[int]:
    """Copy replies and what they have cost to another place; yield how many have been copied.

    What the target has stays, so that an interrupted copy can be repeated.
    """
    done = 0
    for table, columns in _COPIED.items():
        listed = ", ".join(columns)
        page_of = f"SELECT id, {listed} FROM {table} WHERE id > $1 ORDER BY id LIMIT $2"  # noqa: S608
        after = 0
        while page := source.rows(page_of, (after, _PAGE_ROWS)):
            after = page[-1][0]
            _add_new(target, table, columns, [row[1:] for row in page])
            done += len(page)
            yield done
    spent = source.rows(f"SELECT {', '.join(_SPENT)} FROM spent")  # noqa: S608  names of columns
    _add_new(target, "spent", _SPENT, spent)


def _add_new(
    target: CompanionDatabase, table: str, columns: Sequence[str], rows: Iterable[Row]
) -> None:
    places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    listed = ", ".join(columns)
    add = f"INSERT INTO {table} ({listed}) VALUES ({places}) ON CONFLICT DO NOTHING"  # noqa: S608
    with target.transaction():
        for row in rows:
            target.change(add, row)


_COUNT_CALL = """
INSERT INTO spent VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (stage, source, model) DO UPDATE SET
    calls = spent.calls + excluded.calls, rejected = spent.rejected + excluded.rejected,
    input_tokens = spent.input_tokens + excluded.input_tokens,
    output_tokens = spent.output_tokens + excluded.output_tokens,
    reused = spent.reused + excluded.reused,
    saved_input_tokens = spent.saved_input_tokens + excluded.saved_input_tokens,
    saved_output_tokens = spent.saved_output_tokens + excluded.saved_output_tokens
"""


def add_call(
    tables: CompanionDatabase,
    model: str,
    request: ChatRequest,
    usage: TokenUsage,
    *,
    rejected: bool = False,
) -> None:
    """Count a call in the ledger, inside the open transaction."""
    uncached = usage.input_tokens - usage.cached_tokens
    counts = (usage.calls, int(rejected), uncached, usage.output_tokens, 0, 0, 0)
    tables.change(_COUNT_CALL, (*_names(model, request), *counts))
    if usage.cached_tokens:
        counts = (0, 0, usage.cached_tokens, 0, 0, 0, 0)
        tables.change(_COUNT_CALL, (*_names(f"{model}{_CACHED}", request), *counts))


def add_reuse(
    tables: CompanionDatabase, model: str, request: ChatRequest, saved: TokenUsage
) -> None:
    """Count a reused reply in the ledger, inside the open transaction."""
    counts = (0, 0, 0, 0, 1, saved.input_tokens, saved.output_tokens)
    tables.change(_COUNT_CALL, (*_names(model, request), *counts))


def storable(name: str) -> str:
    """Return a name that can be stored: lone surrogates, as in odd file names, are escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _names(model: str, request: ChatRequest) -> Iterator[str]:
    return (storable(name) for name in (request.stage, request.source, model))
