"""The cache of calls: replies by content, good ones to use again, others apart with the reason.

Every change is one transaction of the file, ledger included: a process that is killed leaves a
reply kept and counted, or neither.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Self

import apsw

from knotwork.inference.call_database import CallDatabase, Row, damaged
from knotwork.inference.call_ledger import CallLedger, add_call, add_reuse, storable
from knotwork.inference.chat import ChatReply, ChatRequest, TokenUsage
from knotwork.inference.flights import KeyLocks, SingleFlight
from knotwork.inference.prices import PriceTable

_FINISH_REASONS = ("stop", "length", "filter")
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class RejectedReply:
    """A reply that did not pass its check, and why.

    ``attempts`` replies to this call failed; ``text`` is the last of them.
    """

    stage: str
    source: str
    model: str
    reason: str
    text: str
    finish_reason: str
    attempts: int


class CallCache:
    """Keeps replies by key in one file; safe for many threads and processes.

    ``flights`` let one thread at a time make the call of a key, ``locks`` one process.
    """

    def __init__(self, database: CallDatabase) -> None:
        self._database = database
        path = database.path
        self.flights: SingleFlight[ChatReply] = SingleFlight()
        self.locks = KeyLocks(None if path == ":memory:" else f"{path}-lock")

    @classmethod
    def open(cls, path: str | Path, *, busy_timeout_s: float = 30.0) -> Self:
        """Open the file, made on first use; ``:memory:`` keeps calls until the process ends.

        Raises StoreError, as `CallDatabase` says.
        """
        return cls(CallDatabase(path, busy_timeout_s=busy_timeout_s))

    @property
    def path(self) -> str:
        return self._database.path

    def ledger(self, *, prices: PriceTable | None = None) -> CallLedger:
        """Return the ledger of this file, which counts money at ``prices``."""
        return CallLedger(self._database, prices=prices)

    def find(self, key: bytes) -> ChatReply | RejectedReply | None:
        """Return the good reply to a call, else the one that was rejected, if any.

        Raises StoreError for a reply that is not as it was stored.
        """
        rows = self._database.rows(_FIND, (key, key))
        if rows and rows[0][0]:
            return self._read_reply(key, rows[0][1:7])
        return _read_rejected(rows[0][7:]) if rows else None

    def accept(self, key: bytes, model: str, request: ChatRequest, reply: ChatReply) -> None:
        """Keep a reply that passed its check, and count its call.

        Where another process kept one first, that one stays, so that all use the same.
        """
        usage = reply.usage
        text = _encode(reply.text)
        counts = (usage.input_tokens, usage.output_tokens, usage.calls)
        digest = _digest(key, text, reply.finish_reason, *counts)
        names = (storable(request.stage), storable(request.source), storable(model))

        def write(connection: apsw.Connection) -> None:
            connection.execute(
                "INSERT INTO reply (key, stage, source, model, text, finish_reason, input_tokens, "
                "output_tokens, calls, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO NOTHING",
                (key, *names, text, reply.finish_reason, *counts, digest),
            )
            connection.execute("DELETE FROM rejected WHERE key = ?", (key,))
            add_call(connection, model, request, usage)

        self._database.write(write)

    def reject(
        self, key: bytes, model: str, request: ChatRequest, reply: ChatReply, reason: str
    ) -> None:
        """Keep a reply that did not pass its check apart, and count its call."""

        def write(connection: apsw.Connection) -> None:
            if not _has_reply(connection, key):
                _set_apart(connection, key, model, request, reply, reason)
            add_call(connection, model, request, reply.usage, rejected=True)

        self._database.write(write)

    def revoke(
        self, key: bytes, model: str, request: ChatRequest, reply: ChatReply, reason: str
    ) -> None:
        """Take a kept reply out of use, as it does not pass the check of today."""

        def write(connection: apsw.Connection) -> None:
            connection.execute("DELETE FROM reply WHERE key = ?", (key,))
            _set_apart(connection, key, model, request, reply, reason)

        self._database.write(write)

    def count_call(self, model: str, request: ChatRequest, usage: TokenUsage) -> None:
        """Count a call whose reply is neither kept nor rejected."""
        self._database.write(lambda connection: add_call(connection, model, request, usage))

    def count_reuse(self, model: str, request: ChatRequest, saved: TokenUsage) -> None:
        """Count a call that was not made, since its reply was known."""
        self._database.write(lambda connection: add_reuse(connection, model, request, saved))

    def rejected(
        self, *, stage: str | None = None, source: str | None = None
    ) -> list[RejectedReply]:
        """Return the rejected replies of a stage, of a document, or all, in order of arrival."""
        wanted = {"stage": stage, "source": source}
        filters = {name: storable(value) for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        rows = self._database.rows(
            f"{_SELECT_REJECTED} WHERE {where} ORDER BY id", tuple(filters.values())
        )
        return [_read_rejected(row) for row in rows]

    def reply_count(self) -> int:
        """Return the number of good replies."""
        ((count,),) = self._database.rows("SELECT COUNT(*) FROM reply")
        return int(count)

    def forget(self, sources: Collection[str]) -> int:
        """Delete all replies that were first asked for by these documents; return how many.

        What they cost stays in the ledger. A document with equal text asks again.
        """
        count = 0
        with self._database.transaction() as connection:
            for source in sources:
                for table in ("reply", "rejected"):
                    connection.execute(
                        f"DELETE FROM {table} WHERE source = ?",  # noqa: S608  one of two names
                        (storable(source),),
                    )
                    count += connection.changes()
        return count

    def check(self) -> list[str]:
        """Return what is wrong with the file, in words; nothing when all is well. Reads it all."""
        faults = [str(row[0]) for row in self._database.rows("PRAGMA integrity_check")]
        faults = [] if faults == ["ok"] else faults
        rows = self._database.rows(
            "SELECT key, text, finish_reason, input_tokens, output_tokens, calls, digest FROM reply"
        )
        bad = sum(1 for key, *rest in rows if not _is_sound(key, tuple(rest)))
        if bad:
            faults.append(f"{bad} of {len(rows)} replies are not as they were stored")
        return faults

    def close(self) -> None:
        """Close the file."""
        self.locks.close()
        self._database.close()

    def _read_reply(self, key: bytes, row: Row) -> ChatReply:
        text, finish_reason, input_tokens, output_tokens, calls, _ = row
        if not _is_sound(key, row):
            raise damaged(self.path, "a reply is not as it was stored")
        usage = TokenUsage(input_tokens, output_tokens, calls)
        return ChatReply(_decode(text), finish_reason, usage)


_FIND = """
SELECT 1, text, finish_reason, input_tokens, output_tokens, calls, digest, 0, 0, 0, 0, 0, 0, 0
FROM reply WHERE key = ?
UNION ALL
SELECT 0, 0, 0, 0, 0, 0, 0, stage, source, model, reason, text, finish_reason, attempts
FROM rejected WHERE key = ?
"""
"""A good reply comes first. One statement, as each makes its thread wait for the others."""

_SELECT_REJECTED = (
    "SELECT stage, source, model, reason, text, finish_reason, attempts FROM rejected"
)


def _set_apart(
    connection: apsw.Connection,
    key: bytes,
    model: str,
    request: ChatRequest,
    reply: ChatReply,
    reason: str,
) -> None:
    names = (storable(request.stage), storable(request.source), storable(model))
    connection.execute(
        "INSERT INTO rejected (key, stage, source, model, text, finish_reason, reason, attempts) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (key) DO UPDATE SET "
        "stage = excluded.stage, source = excluded.source, text = excluded.text, "
        "finish_reason = excluded.finish_reason, reason = excluded.reason, attempts = attempts + 1",
        (key, *names, _encode(reply.text), reply.finish_reason, storable(reason)),
    )


def _has_reply(connection: apsw.Connection, key: bytes) -> bool:
    return connection.execute("SELECT 1 FROM reply WHERE key = ?", (key,)).fetchone() is not None


def _read_rejected(row: Row) -> RejectedReply:
    stage, source, model, reason, text, finish_reason, attempts = row
    return RejectedReply(stage, source, model, reason, _decode(text), finish_reason, attempts)


def _is_sound(key: bytes, row: Row) -> bool:
    """Tell whether a reply is what was stored: SQLite itself has no checksums."""
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
