"""Cache replies of language models, so that no request is sent twice.

A reply is stored once it passes its check, before it is used. Rejected replies are stored
separately, with the reason. The ledger sums calls by stage, source and model, in the transaction
that stores the reply, so a killed process leaves both or neither. Threads that write at the same
time share one transaction (group commit). Equal requests that arrive at the same time make a single
call: other threads wait for its result, other processes until it is cached.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import apsw

from knotwork._companions import (
    CALL_TABLES,
    Bindings,
    Companion,
    CompanionDatabase,
    SqliteCompanion,
)
from knotwork._inference.call_costs import PriceTable, UsageMeter
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    TokenUsage,
    is_whole,
    parse_reply,
)
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._inference.stage_breaker import StageBreaker
from knotwork._sqlite_file import (
    CALLS_SUFFIX,
    FILE_KINDS,
    IN_MEMORY,
    Migration,
    Row,
    SqliteFile,
    is_empty,
    sync_commits,
)
from knotwork.errors import KnotworkError, ModelUnavailable, StoreReadOnly, Unparsable

T = TypeVar("T")

_FIRST_WAIT_S = 0.005
_LONGEST_WAIT_S = 0.2
_TAKEN = frozenset({errno.EACCES, errno.EAGAIN})
_IMPOSSIBLE = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


class SingleFlight(Generic[T]):
    """Lets one thread of this process at a time make the call of a key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[bytes, Future[T]] = {}

    def run(self, key: bytes, action: Callable[[], T]) -> tuple[T, bool]:
        """Return the result of ``action``, or of an equal call in progress, and whether it is ours.

        A KnotworkError is raised in all waiting threads: what failed after all attempts would fail
        for them too. If a call is interrupted or raises any other exception, the next thread makes
        it.
        """
        while True:
            with self._lock:
                flight = self._flights.get(key)
                if ours := flight is None:
                    flight = self._flights[key] = Future()
            if ours:
                break
            try:
                return flight.result(), False
            except CancelledError:
                continue
        try:
            result = action()
            flight.set_result(result)
        except KnotworkError as error:
            flight.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[key]
            flight.cancel()  # has no effect on one that has ended
        return result, True


class KeyLocks:
    """Locks by key among the processes of this machine.

    Each key is a byte of one file, locked by the operating system, which releases it when a process
    is killed. Such locks belong to a process, so use one object per file and process. Without lock
    support (some network drives, Windows) several processes may hold a key at once, and each makes
    its own call. Without a path there are no locks. Raises StoreReadOnly if the file cannot be
    created.
    """

    def __init__(self, path: str | None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = None if sys.platform == "win32" else path
        self._sleep = sleep
        self._lock = threading.Lock()
        self._file = -1

    @contextmanager
    def hold(self, key: bytes) -> Iterator[None]:
        """Wait until no other process holds ``key``, then hold it."""
        if self._path is None:
            yield
            return
        offset = int.from_bytes(key[:8], "big") >> 2
        wait_s = _FIRST_WAIT_S
        file = self._descriptor(self._path)
        while not _lock_byte(file, offset, hold=True):
            self._sleep(wait_s)
            wait_s = min(wait_s * 1.5, _LONGEST_WAIT_S)
        try:
            yield
        finally:
            with self._lock:
                if self._file >= 0:
                    _lock_byte(self._file, offset, hold=False)

    def close(self) -> None:
        """Release all keys."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _descriptor(self, path: str) -> int:
        with self._lock:
            if self._file < 0:
                try:
                    self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                except OSError as error:
                    raise StoreReadOnly(
                        f"`{path}` is not writable ({error.strerror}).",
                        fix="Check the permissions of the file and its folder.",
                    ) from error
            return self._file


def _lock_byte(file: int, offset: int, *, hold: bool) -> bool:
    """Lock or free a byte; return False if another process holds it."""
    import fcntl

    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB if hold else fcntl.LOCK_UN, 1, offset)
    except OSError as error:
        if error.errno not in _TAKEN | _IMPOSSIBLE:
            raise
        return error.errno not in _TAKEN
    return True


def _as_it_is(reply: ChatReply) -> ChatReply:
    """Return the reply: how one without a check is parsed."""
    return reply


class CachedChatModel:
    """A chat model with a cache, its cost ledger and a meter; implements `ChatModel`.

    A cached reply has a usage of ``TokenUsage(reused=1)``, since it costs no tokens now. A rejected
    reply is never served: its reason is raised again as Unparsable, without a call, unless
    ``retry_rejected`` is set; nor is a request sent in a stage that ``breaker`` stopped. Equal
    requests at the same time make one call, also from several processes. ``prompts`` are those of
    the index, for `prompts_of`. Wrap budgets and rate limits inside this class: cached replies need
    neither.
    """

    def __init__(
        self,
        model: ChatModel,
        cache: CallCache,
        *,
        meter: UsageMeter | None = None,
        retry_rejected: bool = False,
        breaker: StageBreaker | None = None,
        prompts: OwnPrompts = BUILT_IN,
    ) -> None:
        self.prompts = prompts
        self._breaker = breaker or StageBreaker()
        self._model = model
        self.name = model.name
        self._cache = cache
        self.meter = meter or UsageMeter()
        self._retry_rejected = retry_rejected

    def is_kept(self, request: ChatRequest) -> bool:
        """Return True if the reply to a request is cached."""
        return isinstance(self._cache.find(call_key(self.name, request)), ChatReply)

    def is_settled(self, request: ChatRequest) -> bool:
        """Return True if a request needs no call: its reply is cached or was rejected before."""
        found = self._cache.find(call_key(self.name, request))
        return isinstance(found, ChatReply) or (found is not None and not self._retry_rejected)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply; cache it if it is neither cut off nor empty."""
        return self.complete_checked(request, _as_it_is)

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the reply; cache the reply if ``parse`` returns.

        ``parse`` must be free of side effects, since it runs on cached replies too. Raises
        Unparsable, with the reply's text, if ``parse`` did, now or in an earlier run; otherwise as
        `ChatModel.complete`. A cached reply that a stricter ``parse`` refuses becomes a rejected
        one.
        """
        key = call_key(self.name, request)
        made: list[T] = []

        def lead() -> ChatReply:
            with self._cache.locks.hold(key):  # another process may be about to store it
                known = self._look_up(key)
                if known is not None:
                    return known
                self._breaker.check(request.stage)
                try:
                    reply = self._model.complete(request)
                except ModelUnavailable as error:
                    self._breaker.miss(request.stage, error)
                    raise
                reply = replace(reply, usage=reply.usage.with_a_call())
                made.append(self._keep(key, request, reply, parse))
                return reply

        reply, ours = self._cache.flights.run(key, lead)
        if ours and made:
            return made[0]
        return self._parse_known(key, request, reply, parse)

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply piece by piece, then whole; a cached reply is a single piece.

        The reply is cached before it is yielded whole. If the caller stops early, nothing is
        cached and the ledger does not count the call.
        """
        yield from self.stream_checked(request, _as_it_is)

    def stream_checked(
        self, request: ChatRequest, parse: Callable[[ChatReply], T]
    ) -> Iterator[str | T]:
        """Yield the reply piece by piece, then what ``parse`` makes of it.

        Caches and raises as `complete_checked`; a known rejection is raised before any piece.
        """
        key = call_key(self.name, request)
        known = self._look_up(key)
        if known is not None:
            parsed = self._parse_known(key, request, known, parse)
            if known.text:
                yield known.text
            yield parsed
            return
        self._breaker.check(request.stage)
        for item in self._model.stream(request):
            if isinstance(item, ChatReply):
                item = replace(item, usage=item.usage.with_a_call())  # noqa: PLW2901
                yield self._keep(key, request, item, parse)
            else:
                yield item

    def _parse_known(
        self, key: bytes, request: ChatRequest, reply: ChatReply, parse: Callable[[ChatReply], T]
    ) -> T:
        """Count a reuse and return what ``parse`` makes of a cached reply; revoke it on a fault."""
        usage = TokenUsage(reused=1)
        self._cache.count_reuse(self.name, request, reply.usage)
        self.meter.add(self.name, request, usage)
        self.meter.save(reply.usage)
        try:
            return parse_reply(replace(reply, usage=usage), parse)
        except Unparsable as error:
            self._cache.revoke(key, self.name, request, reply, error.reason)
            raise

    def _look_up(self, key: bytes) -> ChatReply | None:
        """Return the cached reply, if any; raise Unparsable for a rejected one, unless retrying."""
        found = self._cache.find(key)
        if isinstance(found, RejectedReply):
            if self._retry_rejected:
                return None
            raise Unparsable(
                found.reason,
                text=found.text,
                fix="Use `--retry` to send the request again.",
            )
        return found

    def _keep(
        self, key: bytes, request: ChatRequest, reply: ChatReply, parse: Callable[[ChatReply], T]
    ) -> T:
        """Count a call, and cache its reply if it can be parsed, otherwise as rejected.

        One without a check is cached if it is neither cut off nor empty.
        """
        self.meter.add(self.name, request, reply.usage)
        if parse is _as_it_is:
            if is_whole(reply):
                self._cache.accept(key, self.name, request, reply)
            else:
                self._cache.count_call(self.name, request, reply.usage)
            return parse(reply)
        self._breaker.warn(reply.warning)
        try:
            parsed = parse_reply(reply, parse)
        except Unparsable as error:
            self._cache.reject(key, self.name, request, reply, error.reason)
            self._breaker.note(request.stage, usable=False)
            raise
        except BaseException:
            # A bug of the parser says nothing about the reply, but the call was paid for.
            self._cache.count_call(self.name, request, reply.usage)
            raise
        self._cache.accept(key, self.name, request, reply)
        self._breaker.note(request.stage, usable=True)
        return parsed


_FINISH_REASONS = ("stop", "length", "filter")
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class RejectedReply:
    """A reply that did not pass its check, and the reason.

    ``attempts`` is the number of rejected replies to this call; ``text`` is the last of them.
    """

    stage: str
    source: str
    model: str
    reason: str
    text: str
    finish_reason: str
    attempts: int


def needs_call(model: ChatModel, request: ChatRequest) -> bool:
    """Return True if a request has neither a cached reply nor one known to be unusable."""
    return not (isinstance(model, CachedChatModel) and model.is_settled(request))


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


class CallCache:
    """The database of model calls: replies by key, and what all calls have cost.

    It is a companion of the index, used by many threads and processes at once, so that a reader of
    the index can cache a call while another process writes the index. ``place`` is an open
    companion, or the path of a file; ``:memory:`` is a database without one. ``flights`` lets one
    thread at a time make the call of a key, ``locks`` one process; on a server, two processes may
    make a call at the same moment, and both use the first reply stored. Raises what
    `SqliteCompanion` raises.
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
        self._queue: list[tuple[Write, Future[None]]] = []
        path = self.path
        self.flights: SingleFlight[ChatReply] = SingleFlight()
        self.locks = KeyLocks(None if path in (None, IN_MEMORY) else f"{path}-lock")

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
        written: Future[None] = Future()
        with self._queue_lock:
            self._queue.append((work, written))
        with self._lock:
            if not written.done():
                self._write_all()
        written.result()

    def _write_all(self) -> None:
        """Run all waiting writes in one transaction, or each in its own if that fails."""
        with self._queue_lock:
            group, self._queue = self._queue, []
        try:
            faults: list[Exception | None] = [None] * len(group)
            if self._fault_of(group) is not None:  # running each alone shows which one fails
                faults = [self._fault_of([one]) for one in group]
        except BaseException:  # Ctrl-C in this thread: the others do their own writes
            with self._queue_lock:
                self._queue = group + self._queue
            raise
        for (_, written), fault in zip(group, faults, strict=True):
            if fault is None:
                written.set_result(None)
            else:
                written.set_exception(fault)

    def _fault_of(self, group: Sequence[tuple[Write, Future[None]]]) -> Exception | None:
        try:
            with self._tables.transaction():
                for work, _ in group:
                    work(self._tables)
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

    def find(self, key: bytes) -> ChatReply | RejectedReply | None:
        """Return the accepted reply to a call, else the rejected one, else None.

        Raises StoreError if the stored reply is damaged.
        """
        rows = self.rows(_FIND, (key,))
        if not rows:
            return None
        is_accepted, *rejected = rows[0][:8]
        if not is_accepted:
            return _read_rejected(rejected)
        text, finish_reason = rejected[3:5]
        if not _is_sound(key, (text, finish_reason, *rows[0][8:])):
            raise self._tables.damaged("a reply does not match its checksum")
        input_tokens, output_tokens, calls, _ = rows[0][8:]
        return ChatReply(
            _decode(text), finish_reason, TokenUsage(input_tokens, output_tokens, calls)
        )

    def accept(self, key: bytes, model: str, request: ChatRequest, reply: ChatReply) -> None:
        """Store a reply that passed its check, and count its call.

        If another process stored one first, that one stays, so that all use the same.
        """
        text, usage = _encode(reply.text), reply.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.calls)
        digest = _digest(key, text, reply.finish_reason, *counts)
        names = _names(request, model)

        def write(tables: CompanionDatabase) -> None:
            tables.change(
                "INSERT INTO reply (key, stage, source, model, text, finish_reason, input_tokens, "
                "output_tokens, calls, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                "ON CONFLICT (key) DO NOTHING",
                (key, *names, text, reply.finish_reason, *counts, digest),
            )
            tables.change("DELETE FROM rejected WHERE key = $1", (key,))
            _count(tables, model, request, usage)

        self.write(write)

    def reject(
        self, key: bytes, model: str, request: ChatRequest, reply: ChatReply, reason: str
    ) -> None:
        """Store a reply that did not pass its check as rejected, and count its call."""

        def write(tables: CompanionDatabase) -> None:
            if not tables.rows("SELECT 1 FROM reply WHERE key = $1", (key,)):
                _insert_rejected(tables, key, model, request, reply, reason)
            _count(tables, model, request, reply.usage, rejected=1)

        self.write(write)

    def revoke(
        self, key: bytes, model: str, request: ChatRequest, reply: ChatReply, reason: str
    ) -> None:
        """Turn an accepted reply into a rejected one, since it does not pass a newer check."""

        def write(tables: CompanionDatabase) -> None:
            tables.change("DELETE FROM reply WHERE key = $1", (key,))
            _insert_rejected(tables, key, model, request, reply, reason)

        self.write(write)

    def count_call(self, model: str, request: ChatRequest, usage: TokenUsage) -> None:
        """Count a call whose reply is neither accepted nor rejected."""
        self.write(lambda tables: _count(tables, model, request, usage))

    def count_reuse(self, model: str, request: ChatRequest, saved: TokenUsage) -> None:
        """Count a call that was avoided because its reply was cached."""
        reuse = TokenUsage(reused=1)
        self.write(lambda tables: _count(tables, model, request, reuse, saved=saved))

    def rejected(self) -> list[RejectedReply]:
        """Return all rejected replies, in order of arrival."""
        return [_read_rejected(row) for row in self.rows(_SELECT_REJECTED)]

    def reply_count(self) -> int:
        """Return the number of accepted replies."""
        ((count,),) = self.rows("SELECT COUNT(*) FROM reply")
        return int(count)

    def forget(self, sources: Collection[str]) -> int:
        """Delete all replies first requested for these documents; return how many were deleted.

        Their cost stays in the ledger. Another document with equal text sends the request again.
        """
        count = 0
        with self.transaction() as tables:
            for source in sources:
                for table in ("reply", "rejected"):
                    count += tables.change(
                        f"DELETE FROM {table} WHERE source = $1",  # noqa: S608  one of two names
                        (storable(source),),
                    )
                # A reply that is still to come is not stored.
                tables.change("DELETE FROM awaited WHERE source = $1", (storable(source),))
        return count

    def check(self) -> list[str]:
        """Read the whole file and return a description of each fault."""
        faults = self._tables.check()
        rows = self.rows(
            "SELECT key, text, finish_reason, input_tokens, output_tokens, calls, digest FROM reply"
        )
        bad = sum(1 for key, *rest in rows if not _is_sound(key, tuple(rest)))
        if bad:
            faults.append(f"{bad} of {len(rows)} replies do not match their checksums")
        return faults

    def close(self) -> None:
        """Close the file."""
        self.locks.close()
        self._tables.close()


_FIND = """
SELECT 1, stage, source, model, text, finish_reason, '', 0,
    input_tokens, output_tokens, calls, digest
FROM reply WHERE key = $1
UNION ALL
SELECT 0, stage, source, model, text, finish_reason, reason, attempts, 0, 0, 0, key
FROM rejected WHERE key = $1
ORDER BY 1 DESC
"""
"""The accepted reply comes first. One statement, since each one may wait for other threads."""

_SELECT_REJECTED = (
    "SELECT stage, source, model, text, finish_reason, reason, attempts FROM rejected ORDER BY id"
)


def _insert_rejected(
    tables: CompanionDatabase,
    key: bytes,
    model: str,
    request: ChatRequest,
    reply: ChatReply,
    reason: str,
) -> None:
    tables.change(
        "INSERT INTO rejected (key, stage, source, model, text, finish_reason, reason, attempts) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, 1) ON CONFLICT (key) DO UPDATE SET "
        "stage = excluded.stage, source = excluded.source, text = excluded.text, "
        "finish_reason = excluded.finish_reason, reason = excluded.reason, "
        "attempts = rejected.attempts + 1",
        (
            *(key, *_names(request, model), _encode(reply.text), reply.finish_reason),
            storable(reason),
        ),
    )


def _read_rejected(row: Sequence[Any]) -> RejectedReply:
    stage, source, model, text, finish_reason, reason, attempts = row
    return RejectedReply(stage, source, model, reason, _decode(text), finish_reason, attempts)


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


def _count(
    tables: CompanionDatabase,
    model: str,
    request: ChatRequest,
    usage: TokenUsage,
    *,
    rejected: int = 0,
    saved: TokenUsage | None = None,
) -> None:
    """Count a call or a reuse in the ledger, inside the open transaction."""
    counts = (
        *(usage.calls, rejected, usage.input_tokens - usage.cached_tokens, usage.output_tokens),
        *(usage.reused, saved.input_tokens if saved else 0, saved.output_tokens if saved else 0),
    )
    tables.change(_COUNT_CALL, (*_names(request, model), *counts))
    if usage.cached_tokens:
        counts = (0, 0, usage.cached_tokens, 0, 0, 0, 0)
        tables.change(_COUNT_CALL, (*_names(request, f"{model}{_CACHED}"), *counts))


def storable(name: str) -> str:
    """Return a name that can be stored: lone surrogates, as in odd file names, are escaped."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _names(request: ChatRequest, model: str) -> tuple[str, str, str]:
    return storable(request.stage), storable(request.source), storable(model)


def _is_sound(key: bytes, row: Row) -> bool:
    """Return True if a reply matches its checksum; SQLite itself has none."""
    text, finish_reason, input_tokens, output_tokens, calls, digest = row
    counts = (input_tokens, output_tokens, calls)
    return finish_reason in _FINISH_REASONS and bytes(digest) == _digest(
        key, text, finish_reason, *counts
    )


def _digest(key: bytes, text: bytes, finish_reason: str, *counts: int) -> bytes:
    digest = blake2b(key, digest_size=_DIGEST_BYTES)
    digest.update(f"{finish_reason} {counts} ".encode())
    digest.update(text)
    return digest.digest()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogatepass")


CALL_KEY_BYTES = 16


def call_key(model_name: str, request: ChatRequest) -> bytes:
    """Return the key of a call: a hash of the model's name and the content of the request.

    The stage and source of a request are not part of it. It has 128 bits, since a wrong reply
    served after a collision would never be noticed.
    """

    def hash_of(data: bytes) -> blake2b:
        return blake2b(data, digest_size=CALL_KEY_BYTES)

    content = [
        model_name,
        request.max_output_tokens,
        *(0.0, "", []),  # of what requests once had: other keys would pay for all calls again
        [
            [turn.role, turn.content, *(hash_of(shown.data).hexdigest() for shown in turn.pictures)]
            for turn in request.messages
        ],
    ]
    # Not as ASCII: escapes would make a surrogate pair equal to the character it encodes.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hash_of(text.encode("utf-8", "surrogatepass")).digest()
