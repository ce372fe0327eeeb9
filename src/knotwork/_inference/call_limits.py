"""Wrap models with limits of concurrency and rate and with retries, and cancel what waits.

Servers state the rest of their limits in headers: OpenAI, Azure, Groq, Mistral, OpenRouter and vLLM
gateways as ``x-ratelimit-remaining-requests`` and ``-tokens`` with ``x-ratelimit-limit-…`` and
``x-ratelimit-reset-…``, Anthropic the same with ``anthropic-ratelimit-`` and a time. A call for
which too little is left would be refused, and counted, so it waits.

How many calls run at a time is a number from the settings, or measured. An overload halves it, and
successes raise it again (additive increase, multiplicative decrease: D.-M. Chiu and R. Jain, 1989).
`MeasuredLimit` also needs no number to begin with. Like TCP Vegas (L. S. Brakmo and L. L. Peterson,
1995) and the concurrency limits of Netflix derived from it (Gradient2, 2018), it compares what a
server does at two numbers of calls, to find the queue before it overflows. A server of language
models batches calls, so that each takes longer although more is done in total. Therefore it climbs
by throughput, which by Little's law (1961) is the number of calls times the tokens that each gets
per second.
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
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from math import inf
from typing import Literal, Protocol, Self, TypeVar

from knotwork._cancellation import Cancellation, check_wait, in_context, sleep, wait_for
from knotwork._config import AUTO
from knotwork._inference.call_budget import CallBudget, CallInProgress
from knotwork._inference.chat import ChatModel, ChatReply, ChatRequest, estimate_input_tokens
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

    A limit that holds for longer than two minutes does not count.
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


FIRST_CONCURRENCY = 4
MOST_CONCURRENCY = 64
"""The highest number of calls at a time that is found without a setting."""


@dataclass(frozen=True, slots=True)
class FinishedCall:
    """A call that succeeded, with times in seconds of the limiter's clock.

    ``running`` is the number of calls that ran when it ended, including itself. ``wait_s`` is the
    time until its first piece, 0 if unknown.
    """

    started: float
    ended: float
    input_tokens: int
    output_tokens: int
    running: int
    wait_s: float = 0.0


class FixedLimit:
    """A limit from the settings, lowered only while the server is overloaded.

    Not thread-safe, as `MeasuredLimit`: its limiter holds a lock. ``allowed`` calls may run at a
    time now, at least 1.
    """

    def __init__(self, concurrency: int, *, now: float) -> None:
        self._ceiling = self._level = float(concurrency)
        self._cut_at = now

    @property
    def allowed(self) -> int:
        return int(self._level)

    def succeed(self, call: FinishedCall) -> None:
        """Raise the limit by one for as many successes as calls may run."""
        del call
        self._level = min(self._ceiling, self._level + 1 / self._level)

    def overload(self, started: float, now: float) -> None:
        """Halve the limit, as the server was too busy for a call that began at ``started``."""
        # A call that started before the last cut says nothing about the current concurrency.
        if started >= self._cut_at:
            self._level = max(1.0, self._level / 2)
            self._cut_at = now


_INPUT_SHARE = 0.1
"""Work of a prompt's token in tokens of output: prompts are computed many tokens at a time."""
_LEAST_CALLS = 4
"""Calls that one measurement has at least; it has no fewer than calls may run."""
_LEAST_GAIN = {"down": 0.8, "up": 1.3}
"""Throughput that half as many calls must keep to be as good (0.5 if none of them waited), and by
which twice as many are better: 1 if they only queue, 2 if none waits."""
_SETTLED_ROUNDS = 25
"""Calls per allowed call until a settled limit is measured again, as servers and loads change."""
_WAIT_SHARE = 0.5
"""Part of the time-out that a call may be expected to wait for its first piece."""


class MeasuredLimit:
    """A limit that finds the fewest calls at which the tokens per second no longer grow.

    It measures `FIRST_CONCURRENCY` calls, then half as many: if these are as fast, the server
    queues, and the search goes on downwards. Otherwise the limit doubles for as long as throughput
    grows. It does not double if calls would wait too much of ``timeout_s`` for their first piece.
    A limit that is found is measured again later. Calls that end while fewer run than allowed are
    not counted, since the callers have no more to ask.
    """

    def __init__(self, *, now: float, timeout_s: float = float("inf")) -> None:
        self._longest_expected_s = timeout_s * _WAIT_SHARE
        self._cut_at = now
        self._best = 0, 0.0
        self._full_since = float("inf")
        self._rest = self._calls = 0
        self._work = self._seconds = self._longest_wait_s = 0.0
        self._try(FIRST_CONCURRENCY, "first")

    @property
    def allowed(self) -> int:
        return self._limit

    def succeed(self, call: FinishedCall) -> None:
        """Add the call to the measurement, and act on it once it has enough of them."""
        if call.running < self._limit:
            return
        # Calls that began before as many ran as may run did not share the server with so many.
        self._full_since = min(self._full_since, call.ended)
        if call.started < self._full_since:
            return
        if self._rest:
            self._rest -= 1
            return
        self._calls += 1
        self._work += call.output_tokens + _INPUT_SHARE * call.input_tokens
        self._seconds += max(call.ended - call.started, 1e-9)
        self._longest_wait_s = max(self._longest_wait_s, call.wait_s)
        if self._calls >= max(_LEAST_CALLS, self._limit):
            self._judge(self._limit * self._work / self._seconds)

    def overload(self, started: float, now: float) -> None:
        """Halve the limit, and keep that for a while."""
        if started >= self._cut_at:
            self._cut_at = now
            self._settle(max(1, self._limit // 2))

    def _judge(self, throughput: float) -> None:
        """Compare the throughput of this limit with the best one, and choose the next limit."""
        is_better = throughput >= _LEAST_GAIN.get(self._step, 0.0) * self._best[1]
        if is_better:
            self._best = self._limit, throughput
        limit = self._best[0]
        if limit > 1 and (self._step == "first" or (self._step == "down" and is_better)):
            self._try(limit // 2, "down")
        elif (self._step == "down" and limit != FIRST_CONCURRENCY) or not (
            is_better or self._step == "down"
        ):
            self._settle(limit)
        else:
            higher = min(2 * limit, MOST_CONCURRENCY)
            expected_s = self._longest_wait_s * higher / self._limit
            if higher == limit or expected_s > self._longest_expected_s:
                self._settle(limit)
            else:
                self._try(higher, "up")

    def _settle(self, limit: int) -> None:
        self._try(limit, "again")
        self._rest = _SETTLED_ROUNDS * max(limit, _LEAST_CALLS)

    def _try(self, limit: int, step: Literal["first", "down", "up", "again"]) -> None:
        self._limit = limit
        self._step = step
        self._full_since = float("inf")
        self._calls = 0
        self._work = self._seconds = self._longest_wait_s = 0.0


def open_limit(
    concurrency: int | str, *, now: float, timeout_s: float = float("inf")
) -> FixedLimit | MeasuredLimit:
    """Return the limit for the setting ``llm.concurrency``: a number, or "auto"."""
    if concurrency == AUTO:
        return MeasuredLimit(now=now, timeout_s=timeout_s)
    return FixedLimit(int(concurrency), now=now)


def most_calls(concurrency: int | str) -> int:
    """Return the most calls that may ever run at a time: the number of threads that make sense."""
    return MOST_CONCURRENCY if concurrency == AUTO else int(concurrency)


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


WHILE_SOMEONE_WAITS = RetryPolicy(attempts=3, jitter=0.5, patience_s=20.0)
"""For answers and estimates: fewer attempts, since a person waits."""


class LimitedChat:
    """A chat model whose calls have a budget, limits of their server, and further attempts.

    Without ``budget``, ``limiter`` or ``retries`` it goes without. A call that waits to be repeated
    holds no slot of the limiter. A stream is restarted only before its first piece, since pieces
    cannot be taken back. Wrap it in the cache, not the reverse.
    """

    def __init__(
        self,
        model: ChatModel,
        limiter: RateLimiter | None = None,
        *,
        retries: RetryPolicy | None = None,
        budget: CallBudget | None = None,
    ) -> None:
        self._model = model
        self._limiter = limiter
        self._retries = retries or RetryPolicy(attempts=1)
        self._budget = budget
        self.name = model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply of the first call that succeeds."""
        *_, reply = self._call(request, is_stream=False)
        assert isinstance(reply, ChatReply)
        return reply

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply of the first call that returns a piece; it lasts until it is left."""
        return self._call(request, is_stream=True)

    def _call(self, request: ChatRequest, *, is_stream: bool) -> Iterator[str | ChatReply]:
        def begin() -> tuple[str | ChatReply, Generator[str | ChatReply]]:
            items = self._attempt(request, is_stream=is_stream)
            return next(items), items

        budget = self._budget
        charge = budget.call(self.name, request, is_stream=is_stream) if budget else _unlimited()
        with charge as call:
            first, rest = self._retries.call(begin)
            with closing(rest):
                for item in chain((first,), rest):
                    call.add(item)
                    yield item

    def _attempt(self, request: ChatRequest, *, is_stream: bool) -> Generator[str | ChatReply]:
        # Servers reserve the most tokens that a call may use.
        tokens = estimate_input_tokens(request) + request.max_output_tokens
        with self._limiter.turn(tokens) if self._limiter else _unlimited() as call:
            model = self._model
            for item in model.stream(request) if is_stream else (model.complete(request),):
                call.add(item)
                yield item


def _unlimited() -> AbstractContextManager[CallInProgress]:
    return nullcontext(CallInProgress())
