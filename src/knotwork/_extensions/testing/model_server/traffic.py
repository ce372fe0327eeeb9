"""Decide which calls to the model test server fail, and record all calls."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from knotwork._extensions.testing.model_server.response_bodies import GARBAGE


class Fault(StrEnum):
    """A way in which a call fails. The first five apply to all endpoints, the rest to chats."""

    RATE_LIMITED = "429"
    """Status 429 with Retry-After."""
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    BROKEN_JSON = "broken-json"
    """Status 200 with a truncated body."""
    HANG = "hang"
    """No response until the test calls `release`, then the normal one."""
    GARBAGE = "garbage"
    """A reply that is not an answer."""
    TRUNCATED = "truncated"
    """The first half of the reply, with finish_reason "length"."""
    CUT = "cut"
    """The connection is closed in the middle of the response."""
    THINKING = "thinking"
    """The reply follows reasoning in <think> tags."""
    REASONING = "reasoning"
    """The reply comes with reasoning in the field ``reasoning_content``."""
    NO_USAGE = "no-usage"
    """The response has no usage."""
    STALL = "stall"
    """A stream stops in the middle until the test calls `release`."""
    EXHAUSTED = "exhausted"
    """All tokens of the limit are reasoning, and the reply is empty."""


HTTP_STATUS = {Fault.RATE_LIMITED: 429, Fault.SERVER_ERROR: 500, Fault.UNAVAILABLE: 503}
EVERYWHERE = frozenset({*HTTP_STATUS, Fault.BROKEN_JSON, Fault.HANG})


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which calls fail, and how.

    ``rates`` are shares of calls in [0, 1] with a sum of at most 1. Whether a call fails depends on
    ``seed``, its content, and the number of earlier calls with that content: it does not depend on
    the order of threads, and a retry may succeed. ``at`` gives calls by number, from 1, and takes
    precedence. Only calls to ``endpoints`` fail. A request with a field in ``refuses`` (such as
    "response_format", "max_tokens" or "stream_options") gets status 400 with its name.
    The pieces of a stream are ``piece_s`` seconds apart. A server with ``context_tokens`` refuses a
    prompt that exceeds this window together with the limit of its reply, as vLLM does; with
    ``cuts_prompts`` it silently drops the beginning of a longer prompt, as Ollama does. One with
    ``most_texts`` embeds at most this number of texts in a request, and says so as DashScope does.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    at: Mapping[int, Fault] = field(default_factory=dict)
    seed: int = 0
    endpoints: frozenset[str] = frozenset({"/chat/completions"})
    refuses: frozenset[str] = frozenset()
    retry_after_s: float = 0.01
    piece_s: float = 0.0
    context_tokens: int = 0
    cuts_prompts: bool = False
    most_texts: int = 0

    def __post_init__(self) -> None:
        shares = self.rates.values()
        if any(share < 0 for share in shares) or sum(shares) > 1 + 1e-9:
            raise ValueError(
                f"Expected `rates` of at least 0 with a sum of at most 1, not {self.rates}."
            )

    def draw(self, endpoint: str, *, content: bytes, attempt: int, number: int) -> Fault | None:
        """Return the fault of a call, or None. ``attempt`` counts earlier calls like it."""
        if endpoint not in self.endpoints:
            return None
        fault = self.at.get(number)
        if fault is None:
            fault = self._draw_by_rate(content, attempt)
        fits = fault in EVERYWHERE or endpoint == "/chat/completions"
        return fault if fits else None

    def garbage(self, content: bytes) -> str:
        """Return the garbage reply to this content."""
        return GARBAGE[_hash_call(self.seed, content, -1) % len(GARBAGE)]

    def _draw_by_rate(self, content: bytes, attempt: int) -> Fault | None:
        if not self.rates:
            return None
        left = _hash_call(self.seed, content, attempt) / 2**64
        for fault, share in self.rates.items():
            left -= share
            if left < 0:
                return fault
        return None


def _hash_call(seed: int, content: bytes, attempt: int) -> int:
    """Return a pseudo-random 64-bit number."""
    hashed = blake2b(content, digest_size=8, key=f"{seed}/{attempt}".encode())
    return int.from_bytes(hashed.digest(), "little")


@dataclass(slots=True)
class Call:
    """A request and its outcome. Times are in seconds of the server's clock.

    ``body`` is the JSON of the request. ``status`` is 0 until the response begins.
    """

    number: int
    endpoint: str
    body: Any
    headers: dict[str, str]
    fault: Fault | None
    started_s: float
    ended_s: float = 0.0
    status: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Totals:
    """Totals of all finished calls."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    peak: int = 0
    """The maximum number of concurrent calls."""
    busy_s: float = 0.0
    """The sum of the durations of all calls."""
    active_s: float = 0.0
    """The time with at least one running call."""
    span_s: float = 0.0
    """The time from the start of the first call to the end of the last."""
    statuses: dict[int, int] = field(default_factory=dict)
    faults: dict[str, int] = field(default_factory=dict)
    endpoints: dict[str, int] = field(default_factory=dict)

    def utilisation(self, concurrency: int) -> float:
        """Return the average share of ``concurrency`` slots in use over the whole span."""
        return self.busy_s / (concurrency * self.span_s) if self.span_s else 0.0


class Traffic:
    """A thread-safe record of calls: totals of all, and details of the last ``kept_calls``."""

    def __init__(
        self, *, clock: Callable[[], float] = time.monotonic, kept_calls: int = 10_000
    ) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._calls: deque[Call] = deque(maxlen=kept_calls)
        self._attempts: Counter[bytes] = Counter()
        self.reset()

    def reset(self) -> None:
        """Forget all calls, so that the next is number 1. Running calls are still counted."""
        with self._changed:
            self._calls.clear()
            self._attempts.clear()
            self._totals = Totals()
            self._statuses: Counter[int] = Counter()
            self._faults: Counter[str] = Counter()
            self._endpoints: Counter[str] = Counter()
            self._begun = 0
            self._running = getattr(self, "_running", 0)
            self._first_s: float | None = None
            self._active_since_s = self._clock()

    @property
    def calls(self) -> list[Call]:
        """The most recent calls, in order of their start."""
        with self._changed:
            return list(self._calls)

    @property
    def running(self) -> int:
        """The number of calls in progress."""
        with self._changed:
            return self._running

    @property
    def totals(self) -> Totals:
        """The current totals."""
        with self._changed:
            found = Totals(**{name: getattr(self._totals, name) for name in Totals.__slots__})
            found.statuses = dict(sorted(self._statuses.items()))
            found.faults = dict(sorted(self._faults.items()))
            found.endpoints = dict(sorted(self._endpoints.items()))
            return found

    def wait_for_running(self, count: int, *, timeout_s: float = 30.0) -> bool:
        """Wait until ``count`` calls run at once. Return False on a timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._running >= count, timeout_s)

    def begin(
        self,
        endpoint: str,
        body: Any,  # noqa: ANN401  JSON
        headers: dict[str, str],
        *,
        draw: Callable[[int, int], Fault | None],
        content: bytes,
    ) -> Call:
        """Record the start of a call. ``draw(number, attempt)`` chooses its fault."""
        with self._changed:
            now = self._clock()
            if self._first_s is None:
                self._first_s = now
            if not self._running:
                self._active_since_s = now
            self._begun += 1
            self._running += 1
            self._totals.peak = max(self._totals.peak, self._running)
            key = blake2b(content, digest_size=16).digest()
            fault = draw(self._begun, self._attempts[key])
            self._attempts[key] += 1
            call = Call(self._begun, endpoint, body, headers, fault, now)
            self._calls.append(call)
            self._changed.notify_all()
            return call

    def end(self, call: Call) -> None:
        """Record the end of a call."""
        with self._changed:
            call.ended_s = self._clock()
            totals = self._totals
            totals.calls += 1
            totals.input_tokens += call.input_tokens
            totals.output_tokens += call.output_tokens
            totals.busy_s += call.ended_s - call.started_s
            first_s = call.started_s if self._first_s is None else self._first_s
            totals.span_s = call.ended_s - first_s
            self._statuses[call.status] += 1
            self._endpoints[call.endpoint] += 1
            if call.fault is not None:
                self._faults[call.fault] += 1
            self._running -= 1
            if not self._running:
                totals.active_s += call.ended_s - self._active_since_s
            self._changed.notify_all()
