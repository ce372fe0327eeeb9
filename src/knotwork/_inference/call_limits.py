"""Wrap models with limits of concurrency and rate and with retries, and cancel what waits.

Servers also state the rest of their limits in headers: OpenAI, Azure, Groq, Mistral, OpenRouter and
vLLM gateways as ``x-ratelimit-remaining-requests`` and ``-tokens`` with ``x-ratelimit-limit-…`` and
``x-ratelimit-reset-…``, Anthropic the same with ``anthropic-ratelimit-`` and a time. A call for
which too little is left would be refused, and counted, so it waits.
"""

from __future__ import annotations

import logging
import random
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Protocol, Self, TypeVar

from knotwork._cancellation import Cancellation, check_wait, in_context, sleep, wait_for
from knotwork._inference.call_concurrency import FinishedCall, open_limit
from knotwork._inference.chat import (
    CallInProgress,
    ChatModel,
    ChatReply,
    ChatRequest,
    WrappedChat,
    estimate_input_tokens,
)
from knotwork.errors import ModelUnavailable

_LONGEST_WAIT_S = 120.0
"""A longer wait, as for the limit of a day, is left to the server, whose refusal says why."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_BURST_SHARE = 0.1
_WITHOUT_RESET_S = 60.0
"""Limits are of a minute, unless the server says otherwise."""


class Allowance:
    """Requests or tokens that may be used, which fill up steadily. Not thread-safe.

    ``level`` is what is left at ``now`` (monotonic seconds), ``capacity`` the most that is ever
    left. An amount larger than that waits for all of it, and the following ones until its debt is
    paid. From ``ends`` on, there is no limit.
    """

    def __init__(
        self, level: float, capacity: float, per_second: float, *, now: float, ends: float = inf
    ) -> None:
        self._level = level
        self._capacity = capacity
        self._per_second = per_second
        self._at = now
        self._ends = ends

    @classmethod
    def per_minute(cls, limit: float, *, now: float) -> Self:
        """Return a limit per minute, of which a tenth may be used at once; 0 is unlimited.

        In no minute does it let through more than the limit, except for a single larger amount.
        """
        if not limit:
            return cls(inf, inf, 1.0, now=now)
        capacity = max(1.0, limit * _BURST_SHARE)
        # Subtract the burst from the inflow, so that the sum of any minute stays in the limit.
        burst = capacity if capacity > 1 else 0.0
        return cls(capacity, capacity, (limit - burst) / 60, now=now)

    def wait_for(self, amount: float, *, now: float) -> float:
        """Return the seconds until ``amount`` may be taken."""
        if now >= self._ends:
            return 0.0
        self._level = min(self._capacity, self._level + (now - self._at) * self._per_second)
        self._at = now
        missing = min(amount, self._capacity) - self._level
        # Less than a millionth is a rounding error that waiting would not remove.
        if missing <= 1e-6 * self._capacity:
            return 0.0
        return min(missing / self._per_second, self._ends - now)

    def take(self, amount: float) -> None:
        """Take ``amount``; a negative one is given back."""
        self._level = min(self._capacity, self._level - amount)


def read_allowance(headers: Mapping[str, str], kind: str, *, now: float) -> Allowance | None:
    """Return how many "requests" or "tokens" a server says are left; None if it does not say.

    A limit that holds for longer than two minutes is none.
    """
    left = _number(_find(headers, f"remaining-{kind}", f"{kind}-remaining"))
    if left is None:
        return None
    reset = _find(headers, f"reset-{kind}", f"{kind}-reset")
    reset_s = read_duration(reset) if reset else _WITHOUT_RESET_S
    if reset_s is None or reset_s > _LONGEST_WAIT_S:
        return Allowance(inf, inf, 1.0, now=now)
    most = _number(_find(headers, f"limit-{kind}", f"{kind}-limit"))
    most = max(most or left + 1, left)
    per_second = max(most - left, 1.0) / max(reset_s, 1e-9)
    return Allowance(left, most, per_second, now=now, ends=now + reset_s)


def _find(headers: Mapping[str, str], name: str, other: str) -> str:
    return headers.get(f"x-ratelimit-{name}") or headers.get(f"anthropic-ratelimit-{other}") or ""


def _number(text: str) -> float | None:
    digits = text.strip().replace(",", "")
    return float(digits) if digits.isascii() and digits.replace(".", "", 1).isdigit() else None


def read_duration(text: str, *, now: datetime | None = None) -> float | None:
    """Return the seconds in "6m0s", "20ms", "1.5" or until a time such as 2026-01-27T12:00:00Z."""
    text = text.strip()
    plain = _number(text)
    if plain is not None:
        return plain
    parts = _DURATION.findall(text)
    if parts and "".join(f"{count}{unit}" for count, unit in parts) == text:
        return sum(float(count) * _SECONDS[unit] for count, unit in parts)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return seconds_until(moment, now=now)


def seconds_until(moment: datetime, *, now: datetime | None = None) -> float:
    """Return the seconds until a time, in UTC unless it says otherwise; 0 if it has passed."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())


T = TypeVar("T")
R = TypeVar("R")

_SUBMITTED_AHEAD = 4
"""Queued items per thread, so that a slow first item leaves no thread idle."""


def work_ordered(
    work: Callable[[T], R], items: Iterable[T], *, concurrency: int
) -> Generator[R, None, None]:
    """Yield ``work(item)`` for each item in order, ``concurrency`` at a time.

    ``items`` is consumed lazily, at most a few times ``concurrency`` ahead. An exception of
    ``work`` is raised in place of its result. On an exception, on Ctrl-C, and when the caller stops
    iterating, queued calls and the waits of others are cancelled, and those in progress are waited
    for. Raises ValueError if ``concurrency`` is below 1.
    """
    if concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
    waiting: deque[Future[R]] = deque()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="knotwork-work")
    waits = Cancellation()
    try:
        for item in items:
            waiting.append(pool.submit(in_context(work, waits=waits), item))
            if len(waiting) >= _SUBMITTED_AHEAD * concurrency:
                yield wait_for(waiting.popleft())
        while waiting:
            yield wait_for(waiting.popleft())
    finally:
        waits.cancel()  # of calls that nobody wants any more, if there are any
        pool.shutdown(wait=True, cancel_futures=True)


PATIENCE = 16
"""Consecutive chunks without a response from the server before the run stops."""


class Patience:
    """Counts consecutive requests without a response; ``what`` names them in the error."""

    def __init__(self, most: int = PATIENCE, *, what: str = "{count} requests") -> None:
        self._most = most
        self._what = what
        self._missed = 0

    def note(self, absence: str) -> None:
        """Count a request: ``absence`` is why it had no response, "" if it had one.

        Raises ModelUnavailable once too many in a row had none.
        """
        self._missed = self._missed + 1 if absence else 0
        if self._missed >= self._most:
            counted = self._what.format(count=self._missed)
            raise ModelUnavailable(
                f"The model did not answer {counted} in a row: {absence}",
                fix="Run again when the server responds: finished calls are not repeated.",
            )


_OVERLOAD_STATUSES = frozenset({None, 408, 429, 503, 504, 529})
"""HTTP statuses of an overloaded server; None is a time-out or a failed connection."""
_LONGEST_NAP_S = 0.5
"""Longest single wait, since not every system interrupts a longer one on Ctrl-C."""
_ALONE_FIX = (
    "Raise llm.timeout_s: no other call was running, so that fewer at a time would be no faster."
)
_FAULTS = 500


class Clock(Protocol):
    """A monotonic clock that can wait; tests pass their own."""

    def now(self) -> float:
        """Return monotonic seconds."""

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        """Wait for a notification, at most this long; the condition's lock is held."""


class _SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        condition.wait(min(seconds, _LONGEST_NAP_S))


class RateLimiter:
    """Starts calls to one server in order of arrival, within its limits. Thread-safe.

    ``concurrency`` is a number of calls at a time, or "auto", as in `open_limit`; ``timeout_s`` is
    the longest silence of the server. If the server asks for a pause, or states that too little of
    its own limits is left (`heed`), callers wait. A call that timed out though nothing else was to
    run at its time is final.
    """

    def __init__(
        self,
        *,
        concurrency: int | str,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
        timeout_s: float = float("inf"),
        clock: Clock | None = None,
    ) -> None:
        self._clock: Clock = clock or _SystemClock()
        now = self._clock.now()
        self._limit = open_limit(concurrency, now=now, timeout_s=timeout_s)
        self._allowances = {
            ("requests", "set"): Allowance.per_minute(requests_per_minute, now=now),
            ("tokens", "set"): Allowance.per_minute(tokens_per_minute, now=now),
        }
        """By kind and who limits it: the settings, or the server."""
        self._running = 0
        self._paused_until = now
        self._lock = threading.Lock()
        self._queue: deque[threading.Condition] = deque()
        """The waiting callers. Each has its own condition, so that a notice wakes only one."""

    @property
    def allowed(self) -> int:
        """The number of calls that may currently run at a time."""
        return self._limit.allowed

    @contextmanager
    def turn(self, tokens: int) -> Iterator[CallInProgress]:
        """Wait until a call may start and hold its slot; ``tokens`` is the most that it may use."""
        started, was_alone = self._enter(tokens)
        call = CallInProgress()
        try:
            yield call
        except ModelUnavailable as error:
            if error.timed_out and was_alone:
                error.is_final = True
                error.fix = _ALONE_FIX
            self._learn_failure(error, started)
            raise
        finally:
            with self._lock:
                if call.reply is not None:
                    usage, wait_s = call.reply.usage, call.reply.wait_s
                    self._allowances["tokens", "set"].take(usage.tokens - tokens)
                    counts = usage.input_tokens, usage.output_tokens
                    ended = self._clock.now()
                    self._limit.succeed(
                        FinishedCall(started, ended, *counts, self._running, wait_s)
                    )
                self._running -= 1
                self._notify_first()

    def _enter(self, tokens: int) -> tuple[float, bool]:
        """Wait in the queue until the call may start.

        Return the time of the start, and True if no other call may run beside it.
        """
        waiter = threading.Condition(self._lock)
        with self._lock:
            self._queue.append(waiter)
            try:
                while True:
                    check_wait()
                    now = self._clock.now()
                    wait_s = self._remaining_wait(waiter, tokens, now)
                    if wait_s <= 0:
                        break
                    self._clock.wait(waiter, wait_s)
                self._running += 1
                for (kind, _), allowance in self._allowances.items():
                    allowance.take(tokens if kind == "tokens" else 1)
            finally:
                # Also on Ctrl-C and on a cancellation, or the others would wait forever.
                self._queue.remove(waiter)
                self._notify_first()
            return now, self.allowed == 1

    def _notify_first(self) -> None:
        """Wake the first caller of the queue; the lock is held."""
        if self._queue:
            self._queue[0].notify()

    def _remaining_wait(self, waiter: threading.Condition, tokens: int, now: float) -> float:
        """Return the seconds until this caller may start, as far as they are known."""
        if self._queue[0] is not waiter or self._running >= self.allowed:
            return _LONGEST_NAP_S  # a notification comes earlier
        waits = (
            allowance.wait_for(tokens if kind == "tokens" else 1, now=now)
            for (kind, _), allowance in self._allowances.items()
        )
        return max(self._paused_until - now, *waits)

    def heed(self, status: int, headers: Mapping[str, str]) -> None:
        """Let later calls wait as the headers of a response ask, of which a few state limits."""
        if status >= _FAULTS:
            return  # a gateway in front of a server that is down knows no limits
        with self._lock:
            for kind in ("requests", "tokens"):
                stated = read_allowance(headers, kind, now=self._clock.now())
                if stated is not None:  # it counts the calls that were made before
                    self._allowances[kind, "stated"] = stated

    def _learn_failure(self, error: ModelUnavailable, started: float) -> None:
        if error.status not in _OVERLOAD_STATUSES:
            return
        with self._lock:
            now = self._clock.now()
            self._limit.overload(started, now)
            asked_s = error.retry_after_s or 0.0
            if asked_s <= _LONGEST_WAIT_S:
                self._paused_until = max(self._paused_until, now + asked_s)


class RateLimitedChat(WrappedChat):
    """A chat model whose calls wait for the rate limiter of its server."""

    def __init__(self, model: ChatModel, limiter: RateLimiter) -> None:
        super().__init__(model)
        self._limiter = limiter

    def _around(
        self, request: ChatRequest, *, is_stream: bool
    ) -> AbstractContextManager[CallInProgress]:
        del is_stream
        # Servers reserve the most tokens that a call may use.
        return self._limiter.turn(estimate_input_tokens(request) + request.max_output_tokens)


_log = logging.getLogger("knotwork.inference")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often to try, and how long to wait between attempts.

    The wait doubles from ``first_wait_s`` to ``longest_wait_s``. A longer wait that the server asks
    for is respected up to ``patience_s``; beyond that, the error is raised at once. ``jitter``
    lengthens each wait by a random share of up to that factor, so that callers do not return all at
    the same time. A call that timed out is repeated only if that may help: not if the error is
    final, and not more than ``timeouts`` times.
    """

    attempts: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0
    patience_s: float = 120.0
    timeouts: int = 2
    jitter: float = 0.0
    sleep: Callable[[float], None] = sleep
    chance: Callable[[], float] = random.random

    def call(self, action: Callable[[], T]) -> T:
        """Return what ``action`` returns; raise its last ModelUnavailable, or any other error."""
        wait_s = self.first_wait_s
        timeouts = 0
        for attempt in range(1, self.attempts + 1):
            try:
                return action()
            except ModelUnavailable as error:
                asked_s = error.retry_after_s or 0.0
                timeouts += error.timed_out
                gives_up = error.is_final or timeouts > self.timeouts
                if gives_up or attempt == self.attempts or asked_s > self.patience_s:
                    raise
                pause_s = max(wait_s, asked_s) * (1 + self.jitter * self.chance())
                _log.info("attempt %d failed, next in %.1f s: %s", attempt, pause_s, error.message)
                self.sleep(pause_s)
                wait_s = min(wait_s * 2, self.longest_wait_s)
        raise ValueError("`attempts` must be at least 1")


class RetryingChat(WrappedChat):
    """A chat model whose failed calls are repeated by a retry policy.

    A stream is restarted only before its first piece, since pieces cannot be taken back.
    """

    def __init__(self, model: ChatModel, retries: RetryPolicy) -> None:
        super().__init__(model)
        self._retries = retries

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply of the first call that succeeds."""
        return self._retries.call(lambda: self._model.complete(request))

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply of the first call that returns a piece."""

        def begin() -> tuple[str | ChatReply, Iterator[str | ChatReply]]:
            items = iter(self._model.stream(request))
            return next(items), items

        first, rest = self._retries.call(begin)
        yield first
        yield from rest
