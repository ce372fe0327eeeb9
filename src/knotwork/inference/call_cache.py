"""Cache of model calls: a chat model that never asks twice, and the store of its replies.

A reply is stored once it passes its check, and before it is used. Rejected replies are stored
apart, with the reason. Every change is one transaction, ledger included: a killed process leaves a
reply stored and counted, or neither.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Self, TypeVar

import apsw

from knotwork.errors import Unparsable
from knotwork.inference.call_costs import PriceTable, UsageMeter
from knotwork.inference.call_database import (
    CallDatabase,
    CallLedger,
    Row,
    add_call,
    add_reuse,
    damaged,
    storable,
)
from knotwork.inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    TokenUsage,
    is_whole,
    parse_reply,
)
from knotwork.inference.single_flight import KeyLocks, SingleFlight

T = TypeVar("T")

_KeepReply = Callable[[bytes, ChatRequest, ChatReply], T]


class CachedChatModel:
    """Wraps a chat model with a cache, its ledger and a meter; implements `ChatModel`.

    A kept reply is served again with a usage of ``TokenUsage(reused=1)``: it cost no tokens now.
    A reply that was rejected is never served: its reason is raised again as Unparsable, without a
    call, unless ``retry_rejected``. Equal requests at the same time make one call; so they do
    among processes. Give this the budget and the limits inside: what is kept needs neither.
    """

    def __init__(
        self,
        model: ChatModel,
        cache: CallCache,
        *,
        meter: UsageMeter | None = None,
        retry_rejected: bool = False,
    ) -> None:
        self._model = model
        self._cache = cache
        self._meter = meter or UsageMeter()
        self._retry_rejected = retry_rejected

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def meter(self) -> UsageMeter:
        """What went through this model: calls and reuses of this run."""
        return self._meter

    def is_kept(self, request: ChatRequest) -> bool:
        """Tell whether the reply to a request is kept, so that asking costs nothing."""
        return isinstance(self._cache.find(call_key(self.name, request)), ChatReply)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply; it is kept if it is whole: neither cut off nor empty."""
        return self._obtain(request, lambda reply: reply, self._keep_whole)

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the reply, which is kept if ``parse`` returns.

        ``parse`` must have no other effect, as it sees kept replies each time. Raises Unparsable,
        with the reply's text, where ``parse`` did, now or in an earlier run; else as
        `ChatModel.complete`. A kept reply that ``parse`` refuses, as it was made stricter since, is
        taken out of use.
        """
        return self._obtain(request, parse, partial(self._keep_parsed, parse=parse))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply piece by piece, then whole; a kept one comes in one piece.

        It is kept before the whole reply is yielded. A stream that is left early keeps nothing,
        and its cost is not known to the ledger.
        """
        yield from self._stream(request, lambda reply: reply, self._keep_whole)

    def stream_checked(
        self, request: ChatRequest, parse: Callable[[ChatReply], T]
    ) -> Iterator[str | T]:
        """Yield the reply piece by piece, then what ``parse`` makes of it, which decides if it is
        kept as in `complete_checked`; raises as that does, a known rejection before any piece.
        """
        yield from self._stream(request, parse, partial(self._keep_parsed, parse=parse))

    def _stream(
        self, request: ChatRequest, parse: Callable[[ChatReply], T], keep: _KeepReply[T]
    ) -> Iterator[str | T]:
        key = call_key(self.name, request)
        known = self._look_up(key)
        if known is not None:
            parsed = self._parse_known(key, request, known, parse)
            if known.text:
                yield known.text
            yield parsed
            return
        for item in self._model.stream(request):
            if isinstance(item, ChatReply):
                yield keep(key, request, _with_a_call(item))
            else:
                yield item

    def _obtain(
        self, request: ChatRequest, parse: Callable[[ChatReply], T], keep: _KeepReply[T]
    ) -> T:
        key = call_key(self.name, request)
        made: list[T] = []

        def lead() -> ChatReply:
            with self._cache.locks.hold(key):  # another process may be about to keep it
                known = self._look_up(key)
                if known is not None:
                    return known
                reply = _with_a_call(self._model.complete(request))
                made.append(keep(key, request, reply))
                return reply

        reply, ours = self._cache.flights.run(key, lead)
        if ours and made:
            return made[0]
        return self._parse_known(key, request, reply, parse)

    def _parse_known(
        self, key: bytes, request: ChatRequest, reply: ChatReply, parse: Callable[[ChatReply], T]
    ) -> T:
        """Count a reuse, and return what ``parse`` makes of a kept reply or take it out of use."""
        reused = self._reuse(request, reply)
        try:
            return parse_reply(reused, parse)
        except Unparsable as error:
            self._cache.revoke(key, self.name, request, reply, error.reason)
            raise

    def _look_up(self, key: bytes) -> ChatReply | None:
        """Return the kept reply, if any; raise Unparsable for a rejected one, unless retrying."""
        found = self._cache.find(key)
        if isinstance(found, RejectedReply):
            if self._retry_rejected:
                return None
            raise Unparsable(
                found.reason,
                text=found.text,
                fix="The model is asked again only on request: `--retry`.",
            )
        return found

    def _keep_whole(self, key: bytes, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """Count a call, and keep its reply if it is whole."""
        self._meter.add(self.name, request, reply.usage)
        if is_whole(reply):
            self._cache.accept(key, self.name, request, reply)
        else:
            self._cache.count_call(self.name, request, reply.usage)
        return reply

    def _keep_parsed(
        self,
        key: bytes,
        request: ChatRequest,
        reply: ChatReply,
        parse: Callable[[ChatReply], T],
    ) -> T:
        """Count a call, and keep its reply if it can be parsed, else apart."""
        self._meter.add(self.name, request, reply.usage)
        try:
            parsed = parse_reply(reply, parse)
        except Unparsable as error:
            self._cache.reject(key, self.name, request, reply, error.reason)
            raise
        except BaseException:
            # A fault of the parser says nothing about the reply; but the call was paid for.
            self._cache.count_call(self.name, request, reply.usage)
            raise
        self._cache.accept(key, self.name, request, reply)
        return parsed

    def _reuse(self, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """Count that a reply is used again, and return it at no cost."""
        usage = TokenUsage(reused=1)
        self._cache.count_reuse(self.name, request, reply.usage)
        self._meter.add(self.name, request, usage)
        self._meter.save(reply.usage)
        return replace(reply, usage=usage)


def _with_a_call(reply: ChatReply) -> ChatReply:
    """Return a reply that counts as a call also where its model told of none."""
    if reply.usage.calls or reply.usage.reused:
        return reply
    return replace(reply, usage=replace(reply.usage, calls=1))


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


CALL_KEY_BYTES = 16


def call_key(model_name: str, request: ChatRequest) -> bytes:
    """Return the key of a call: equal for equal content asked of an equal model, and only then.

    What a call is for (its stage and source) is no part of it. 128 bits, as a wrong reply served
    for a collision would never be noticed.
    """
    content = [
        model_name,
        request.max_output_tokens,
        float(request.temperature) + 0.0,  # -0.0 is 0.0
        request.schema,
        list(request.stop),
        [[message.role, message.content] for message in request.messages],
    ]
    # Not as ASCII: escapes would make two halves of a character equal to the character.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=CALL_KEY_BYTES).digest()
