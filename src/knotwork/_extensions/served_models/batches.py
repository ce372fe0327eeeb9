"""Send requests by the batch API of a server: answered within a day, at half the price.

The requests of a batch are noted in the database of calls before its replies are awaited, so that
an interrupted run finds them again and pays for nothing twice. Replies become cached calls, which
`CachedChatModel` then finds. What a batch did not answer is asked as usual.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from knotwork._companions import CompanionDatabase
from knotwork._extensions.served_models.chat import OpenAIChat
from knotwork._inference.call_budget import CallBudget
from knotwork._inference.call_cache import CallCache, RejectedReply, call_key, storable
from knotwork._inference.call_costs import BATCH, UsageMeter
from knotwork._inference.call_limits import RetryPolicy
from knotwork._inference.chat import ChatReply, ChatRequest, is_whole
from knotwork.errors import ModelError

MOST_REQUESTS = 50_000
MOST_BYTES = 100_000_000
"""Limits of one batch, within those of all known servers."""

_ENDPOINT = "/v1/chat/completions"
_MARK = "knotwork"
_LISTED = 100
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_FIRST_WAIT_S = 2.0
_LONGEST_WAIT_S = 60.0
_GONE = frozenset({404, 410})

_log = logging.getLogger("knotwork.inference")


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """``done`` of ``total`` requests of all open batches are answered or have failed."""

    done: int
    total: int


class AwaitedRequests:
    """The requests in open batches of one model on one server."""

    def __init__(self, database: CallCache, *, server: str, model: str) -> None:
        self._database = database
        self._where = (storable(server), storable(model))

    def by_batch(self) -> dict[str, dict[bytes, ChatRequest]]:
        """Return the requests of each batch by key, without messages, which are not stored."""
        batches: dict[str, dict[bytes, ChatRequest]] = {}
        for key, batch, stage, source in self._database.rows(
            "SELECT key, batch, stage, source FROM awaited WHERE server = $1 AND model = $2 "
            "ORDER BY batch, key",
            self._where,
        ):
            request = ChatRequest((), stage=stage, source=source)
            batches.setdefault(batch, {})[bytes(key)] = request
        return batches

    def add(self, batch: str, requests: Mapping[bytes, ChatRequest]) -> None:
        """Store the requests of a new batch."""

        def write(tables: CompanionDatabase) -> None:
            for key, request in requests.items():
                names = (storable(request.stage), storable(request.source))
                tables.change(
                    "INSERT INTO awaited (key, batch, server, model, stage, source) "
                    "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key) DO UPDATE SET "
                    "batch = excluded.batch",
                    (key, batch, *self._where, *names),
                )

        self._database.write(write)

    def remove(self, batch: str) -> None:
        """Forget the requests of a batch that has ended."""
        forget = "DELETE FROM awaited WHERE batch = $1"
        self._database.write(lambda tables: tables.change(forget, (batch,)))


class CallBatches:
    """Sends requests to one model in batches, and stores the replies in a call cache.

    ``sleep`` waits between two looks at a batch. Methods raise ModelError if the server refuses a
    batch, ModelUnavailable if it cannot be reached.
    """

    def __init__(
        self,
        model: OpenAIChat,
        cache: CallCache,
        *,
        meter: UsageMeter,
        budget: CallBudget | None,
        retries: RetryPolicy,
        sleep: Callable[[float], None],
    ) -> None:
        self._model = model
        self._server = model.server
        self._cache = cache
        self._meter = meter
        self._budget = budget
        self._retries = retries
        self._sleep = sleep
        self._awaited = AwaitedRequests(cache, server=model.server.base_url, model=model.name)
        self.notes: list[str] = []

    def key(self, request: ChatRequest) -> bytes:
        """Return the key of a request, as that of its cached reply."""
        return call_key(self._model.name, request)

    def awaited(self) -> set[bytes]:
        """Return the keys of requests in open batches."""
        return {key for items in self._awaited.by_batch().values() for key in items}

    def submit(self, requests: Sequence[ChatRequest]) -> int:
        """Send the requests that are not in an open batch, and return how many were sent.

        With a budget, only as many as it allows are sent.
        """
        open_keys = self.awaited()
        wanted = {self.key(request): request for request in requests}
        new = {key: request for key, request in wanted.items() if key not in open_keys}
        if self._budget is not None:
            count = self._budget.affordable(f"{self._model.name}{BATCH}", list(new.values()))
            new = dict(list(new.items())[:count])
        for part, content in self._parts(new):
            batch = self._find_or_create(part, content)
            self._awaited.add(batch, part)
        return len(new)

    def _parts(
        self, requests: Mapping[bytes, ChatRequest]
    ) -> Iterator[tuple[dict[bytes, ChatRequest], bytes]]:
        """Yield the requests of each batch, and its file of one JSON object per line."""
        part: dict[bytes, ChatRequest] = {}
        content = bytearray()
        for key, request in requests.items():
            body = self._model.batch_body(request)
            fields = {"custom_id": key.hex(), "method": "POST", "url": _ENDPOINT, "body": body}
            line = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
            if part and (len(part) == MOST_REQUESTS or len(content) + len(line) > MOST_BYTES):
                yield part, bytes(content)
                part, content = {}, bytearray()
            part[key] = request
            content += line
        if part:
            yield part, bytes(content)

    def _find_or_create(self, part: Mapping[bytes, ChatRequest], content: bytes) -> str:
        """Return the id of the batch of these requests.

        A run that was killed before it noted the id has left the batch on the server.
        """
        # The requests of a batch identify it, and how often each was answered badly.
        digest = blake2b(digest_size=16)
        for key in sorted(part):
            found = self._cache.find(key)
            attempts = found.attempts if isinstance(found, RejectedReply) else 0
            digest.update(key + attempts.to_bytes(4, "big"))
        mark = digest.hexdigest()
        if batch := self._find(mark):
            return batch
        file = self._retries.call(
            lambda: self._server.upload("/files", "knotwork.jsonl", content, purpose="batch")
        )

        def create() -> str:
            body: dict[str, object] = {
                "input_file_id": str(file.get("id")),
                "endpoint": _ENDPOINT,
                "completion_window": "24h",
                "metadata": {_MARK: mark},
            }
            return self._find(mark) or _id_of(self._server.post("/batches", body))

        return self._retries.call(create)

    def _find(self, mark: str) -> str:
        try:
            listed = self._server.get(f"/batches?limit={_LISTED}").get("data")
        except ModelError:
            return ""  # not every server lists batches
        for batch in listed if isinstance(listed, list) else ():
            if not isinstance(batch, dict) or not isinstance(batch.get("metadata"), dict):
                continue
            is_usable = batch.get("status") not in {"failed", "expired", "cancelled", "cancelling"}
            if batch["metadata"].get(_MARK) == mark and is_usable:
                return _id_of(batch)
        return ""

    def collect(self) -> Iterator[BatchProgress]:
        """Wait for all open batches, store their replies, and yield the progress."""
        wait_s = _FIRST_WAIT_S
        total = len(self.awaited())
        while batches := self._awaited.by_batch():
            done = total - sum(map(len, batches.values()))
            for batch, items in batches.items():
                done += self._look(batch, items)
                yield BatchProgress(min(done, total), total)
            if self.awaited():
                self._sleep(wait_s)
                wait_s = min(wait_s * 1.5, _LONGEST_WAIT_S)

    def cancel(self) -> int:
        """Cancel all open batches, store what they have answered; return how many there were."""
        batches = self._awaited.by_batch()
        for batch, items in batches.items():
            try:
                self._server.post(f"/batches/{batch}/cancel", {})
            except ModelError as error:
                _log.info("batch %s was not cancelled: %s", batch, error)
            try:
                self._store(self._server.get(f"/batches/{batch}"), items)
            except ModelError as error:
                _log.info("batch %s cannot be read: %s", batch, error)
            self._awaited.remove(batch)
        return len(batches)

    def _look(self, batch: str, items: Mapping[bytes, ChatRequest]) -> int:
        """Return how many requests of a batch are done; store its replies if it has ended."""
        try:
            state = self._retries.call(lambda: self._server.get(f"/batches/{batch}"))
        except ModelError as error:
            if error.status not in _GONE:
                raise
            self._end(batch, f"The server does not know the batch {batch} any more.")
            return len(items)
        status = state.get("status")
        if status not in _ENDED:
            counts = state.get("request_counts")
            counts = counts if isinstance(counts, dict) else {}
            numbers = (counts.get("completed"), counts.get("failed"))
            return sum(number for number in numbers if isinstance(number, int))
        missing = len(items) - self._store(state, items)
        if status == "failed" and missing == len(items):
            self._awaited.remove(batch)
            raise ModelError(
                f"The server refused a batch of {len(items):,} requests: {_reason_of(state)}.",
                fix="Nothing was paid for it. Run again, or without a batch: --no-batch",
            )
        note = (
            f"{missing:,} requests of a batch ({status}) got no usable reply, and are asked one by "
            "one at the full price."
        )
        self._end(batch, note if missing else "")
        return len(items)

    def _end(self, batch: str, note: str) -> None:
        self.notes += [note] if note else []
        self._awaited.remove(batch)

    def _store(self, state: Mapping[str, Any], items: Mapping[bytes, ChatRequest]) -> int:
        """Store the replies in the files of a batch; return how many requests have one."""
        file = state.get("output_file_id")
        if not isinstance(file, str) or not file:
            return 0
        content = self._retries.call(lambda: self._server.text(f"/files/{file}/content"))
        return sum(self._store_line(line, items) for line in content.splitlines())

    def _store_line(self, line: str, items: Mapping[bytes, ChatRequest]) -> bool:
        """Cache the reply in a line and count its call, unless a killed run did so.

        Return False if the line holds no reply.
        """
        try:
            answer = json.loads(line)
            key = bytes.fromhex(answer["custom_id"])
            request = items[key]
            response = answer["response"]
            if response["status_code"] != 200:
                return False
            reply = self._model.read_body(response["body"], request)
        except (ValueError, TypeError, KeyError, RecursionError, ModelError) as error:
            _log.info("a line of a batch cannot be read: %r", error)
            return False
        if isinstance(self._cache.find(key), ChatReply):
            return True
        name = f"{self._model.name}{BATCH}"
        reply = replace(reply, usage=reply.usage.with_a_call())
        self._meter.add(name, request, reply.usage)
        if self._budget is not None:
            self._budget.charge(name, request, reply.usage)
        if is_whole(reply):
            self._cache.accept(key, name, request, reply)
        else:
            self._cache.count_call(name, request, reply.usage)
        return True


def _id_of(batch: Mapping[str, Any]) -> str:
    found = batch.get("id")
    if not isinstance(found, str) or not found:
        raise ModelError(f"The server created a batch without an id: {json.dumps(batch)[:200]}")
    return found


def _reason_of(state: Mapping[str, Any]) -> str:
    errors = state.get("errors")
    listed = errors.get("data") if isinstance(errors, dict) else None
    messages = [
        str(error["message"])
        for error in (listed if isinstance(listed, list) else ())
        if isinstance(error, dict) and error.get("message")
    ]
    return "; ".join(messages[:3]).rstrip(".") or "no reason given"
