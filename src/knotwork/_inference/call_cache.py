"""Cache replies of language models, so that no request is sent twice.

A reply is stored once it passes its check, before it is used. Rejected replies are stored
separately, with the reason. Each reply and its entry in the cost ledger are written in one
transaction, so a killed process leaves both or neither. Equal
requests that arrive at the same time make a single call: other threads wait for its result, other
processes until it is cached.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Generic, TypeVar

from knotwork._companions import CompanionDatabase
from knotwork._inference.call_costs import UsageMeter
from knotwork._inference.call_database import (
    CALLS,
    CallDatabase,
    add_call,
    add_reuse,
    storable,
)
from knotwork._inference.chat import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Message,
    TokenUsage,
    WrappedChat,
    is_whole,
    parse_reply,
)
from knotwork._inference.own_prompts import BUILT_IN, OwnPrompts
from knotwork._inference.stage_breaker import StageBreaker
from knotwork._sqlite_file import IN_MEMORY, Row
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
                return self._fly(key, flight, action), True
            try:
                return flight.result(), False
            except CancelledError:
                continue

    def _fly(self, key: bytes, flight: Future[T], action: Callable[[], T]) -> T:
        end: Callable[[], object] = flight.cancel
        try:
            result = action()
            end = partial(flight.set_result, result)
        except KnotworkError as error:
            end = partial(flight.set_exception, error)
            raise
        finally:
            with self._lock:
                del self._flights[key]
            end()
        return result


class KeyLocks:
    """Locks by key among the processes of this machine.

    Each key is a byte of one file, locked by the operating system, which releases it when a process
    is killed. Such locks belong to a process, so use one object per file and process. Without lock
    support (some network drives, Windows) several processes may hold a key at once, and each makes
    its own call. Without a path there are no locks. Raises StoreReadOnly if the file cannot be
    created.
    """

    def __init__(self, path: str | None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._lock = threading.Lock()
        self._file = -1

    @contextmanager
    def hold(self, key: bytes) -> Iterator[None]:
        """Wait until no other process holds ``key``, then hold it."""
        offset = int.from_bytes(key[:8], "big") >> 2
        wait_s = _FIRST_WAIT_S
        while not self._acquire(offset):
            self._sleep(wait_s)
            wait_s = min(wait_s * 1.5, _LONGEST_WAIT_S)
        try:
            yield
        finally:
            self._release(offset)

    def close(self) -> None:
        """Release all keys."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
            self._file = -1

    def _acquire(self, offset: int) -> bool:
        return self._path is None or self._lock_byte(self._descriptor(), offset, hold=True)

    def _release(self, offset: int) -> None:
        with self._lock:
            if self._file >= 0:
                self._lock_byte(self._file, offset, hold=False)

    def _lock_byte(self, file: int, offset: int, *, hold: bool) -> bool:
        """Lock or free a byte; return False if another process holds it."""
        if sys.platform == "win32":
            return True
        import fcntl

        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB if hold else fcntl.LOCK_UN, 1, offset)
        except OSError as error:
            if error.errno not in _TAKEN | _IMPOSSIBLE:
                raise
            return error.errno not in _TAKEN
        return True

    def _descriptor(self) -> int:
        assert self._path is not None
        with self._lock:
            if self._file < 0:
                try:
                    self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                except OSError as error:
                    raise StoreReadOnly(
                        f"`{self._path}` is not writable ({error.strerror}).",
                        fix="Check the permissions of the file and its folder.",
                    ) from error
            return self._file


def _as_it_is(reply: ChatReply) -> ChatReply:
    """Return the reply: how one without a check is parsed."""
    return reply


class CachedChatModel(WrappedChat):
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
        super().__init__(model)
        self._cache = cache
        self._meter = meter or UsageMeter()
        self._retry_rejected = retry_rejected

    @property
    def meter(self) -> UsageMeter:
        """The calls and reuses of this run that went through this model."""
        return self._meter

    def is_kept(self, request: ChatRequest) -> bool:
        """Return True if the reply to a request is cached."""
        return isinstance(self._cache.find(call_key(self.name, request)), ChatReply)

    def is_settled(self, request: ChatRequest) -> bool:
        """Return True if a request needs no call: its reply is cached or was rejected before."""
        found = self._cache.find(call_key(self.name, request))
        return isinstance(found, ChatReply) or (found is not None and not self._retry_rejected)

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply; cache it if it is neither cut off nor empty."""
        return self._obtain(request, _as_it_is)

    def complete_checked(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
        """Return what ``parse`` makes of the reply; cache the reply if ``parse`` returns.

        ``parse`` must be free of side effects, since it runs on cached replies too. Raises
        Unparsable, with the reply's text, if ``parse`` did, now or in an earlier run; otherwise as
        `ChatModel.complete`. A cached reply that a stricter ``parse`` refuses becomes a rejected
        one.
        """
        return self._obtain(request, parse)

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

    def _obtain(self, request: ChatRequest, parse: Callable[[ChatReply], T]) -> T:
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

    def _parse_known(
        self, key: bytes, request: ChatRequest, reply: ChatReply, parse: Callable[[ChatReply], T]
    ) -> T:
        """Count a reuse and return what ``parse`` makes of a cached reply; revoke it on a fault."""
        usage = TokenUsage(reused=1)
        self._cache.count_reuse(self.name, request, reply.usage)
        self._meter.add(self.name, request, usage)
        self._meter.save(reply.usage)
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
        self._meter.add(self.name, request, reply.usage)
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


class CallCache(CallDatabase):
    """Stores replies by key in one database; safe for many threads and processes.

    ``flights`` lets one thread at a time make the call of a key, ``locks`` one process; on a
    server, two processes may make a call at the same moment, and both use the first reply stored.
    """

    def __init__(
        self, place: CompanionDatabase | str | Path, *, busy_timeout_s: float = CALLS.busy_timeout_s
    ) -> None:
        super().__init__(place, busy_timeout_s=busy_timeout_s)
        path = self.path
        self.flights: SingleFlight[ChatReply] = SingleFlight()
        self.locks = KeyLocks(None if path in (None, IN_MEMORY) else f"{path}-lock")

    def find(self, key: bytes) -> ChatReply | RejectedReply | None:
        """Return the accepted reply to a call, else the rejected one, else None.

        Raises StoreError if the stored reply is damaged.
        """
        rows = self.rows(_FIND, (key,))
        if not rows:
            return None
        is_accepted, *rejected = rows[0][:8]
        if not is_accepted:
            return _read_rejected(tuple(rejected))
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
        usage = reply.usage
        text = _encode(reply.text)
        counts = (usage.input_tokens, usage.output_tokens, usage.calls)
        digest = _digest(key, text, reply.finish_reason, *counts)
        names = (storable(request.stage), storable(request.source), storable(model))

        def write(tables: CompanionDatabase) -> None:
            tables.change(
                "INSERT INTO reply (key, stage, source, model, text, finish_reason, input_tokens, "
                "output_tokens, calls, digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) "
                "ON CONFLICT (key) DO NOTHING",
                (key, *names, text, reply.finish_reason, *counts, digest),
            )
            tables.change("DELETE FROM rejected WHERE key = $1", (key,))
            add_call(tables, model, request, usage)

        self.write(write)

    def reject(
        self, key: bytes, model: str, request: ChatRequest, reply: ChatReply, reason: str
    ) -> None:
        """Store a reply that did not pass its check as rejected, and count its call."""

        def write(tables: CompanionDatabase) -> None:
            if not tables.rows("SELECT 1 FROM reply WHERE key = $1", (key,)):
                _insert_rejected(tables, key, model, request, reply, reason)
            add_call(tables, model, request, reply.usage, rejected=True)

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
        self.write(lambda tables: add_call(tables, model, request, usage))

    def count_reuse(self, model: str, request: ChatRequest, saved: TokenUsage) -> None:
        """Count a call that was avoided because its reply was cached."""
        self.write(lambda tables: add_reuse(tables, model, request, saved))

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
        faults = super().check()
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
        super().close()


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
    names = (storable(request.stage), storable(request.source), storable(model))
    tables.change(
        "INSERT INTO rejected (key, stage, source, model, text, finish_reason, reason, attempts) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, 1) ON CONFLICT (key) DO UPDATE SET "
        "stage = excluded.stage, source = excluded.source, text = excluded.text, "
        "finish_reason = excluded.finish_reason, reason = excluded.reason, "
        "attempts = rejected.attempts + 1",
        (key, *names, _encode(reply.text), reply.finish_reason, storable(reason)),
    )


def _read_rejected(row: Row) -> RejectedReply:
    stage, source, model, text, finish_reason, reason, attempts = row
    return RejectedReply(stage, source, model, reason, _decode(text), finish_reason, attempts)


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


def _content_of(message: Message) -> list[str]:
    """Return what a message says: its role, its text, and a hash of each of its pictures."""
    pictures = (blake2b(picture.data, digest_size=CALL_KEY_BYTES) for picture in message.pictures)
    return [message.role, message.content, *(picture.hexdigest() for picture in pictures)]


def call_key(model_name: str, request: ChatRequest) -> bytes:
    """Return the key of a call: a hash of the model's name and the content of the request.

    The stage and source of a request are not part of it. It has 128 bits, since a wrong reply
    served after a collision would never be noticed.
    """
    content = [
        model_name,
        request.max_output_tokens,
        float(request.temperature) + 0.0,  # -0.0 is 0.0
        request.schema,
        list(request.stop),
        [_content_of(message) for message in request.messages],
    ]
    # Not as ASCII: escapes would make a surrogate pair equal to the character it encodes.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=CALL_KEY_BYTES).digest()
