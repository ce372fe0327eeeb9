"""Limit the concurrency and the rate of requests to a chat server."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from knotwork.errors import ModelUnavailable
from knotwork.inference.chat import ChatModel, ChatReply, ChatRequest, estimate_input_tokens
from knotwork.inference.concurrency import Halt

_OVERLOAD_STATUSES = frozenset({None, 408, 429, 503, 504, 529})
"""Statuses of a server that has too much to do; None is a time-out or no connection."""
_LONGEST_NAP_S = 0.5
"""A wait looks up this often: no system lets Ctrl-C through to a longer one for sure."""
_LONGEST_PAUSE_S = 120.0
_BURST_SHARE = 0.1


class Clock(Protocol):
    """Time, and waiting for it or for a change; a test brings its own."""

    def now(self) -> float:
        """Return seconds that only grow."""

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        """Wait, with the condition's lock held, for a notice or at most this long."""


class _SystemClock:
    def now(self) -> float:
        return time.monotonic()

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        condition.wait(min(seconds, _LONGEST_NAP_S))


class TokenBucket:
    """An amount a minute, a tenth of it at once; 0 is no limit. Its user holds the lock.

    It never lets more than the amount through in any minute, but for a single request that is
    larger than the bucket: that one waits for a full bucket, and the following for its debt.
    """

    def __init__(self, per_minute: float, *, now: float) -> None:
        self._unlimited = per_minute == 0
        self._capacity = max(1.0, per_minute * _BURST_SHARE)
        # What may come at once is taken from what flows in, so that a minute's sum holds.
        burst = self._capacity if self._capacity > 1 else 0.0
        self._per_second = (per_minute - burst) / 60
        self._level = self._capacity
        self._at = now

    def wait_for(self, amount: float, *, now: float) -> float:
        """Return the seconds until ``amount`` may be taken."""
        if self._unlimited:
            return 0.0
        self._level = min(self._capacity, self._level + (now - self._at) * self._per_second)
        self._at = now
        missing = min(amount, self._capacity) - self._level
        # Less than a millionth is an error of rounding, and would be waited for in vain.
        return missing / self._per_second if missing > 1e-6 * self._capacity else 0.0

    def take(self, amount: float) -> None:
        """Take ``amount``, or give back what is negative."""
        if not self._unlimited:
            self._level = min(self._capacity, self._level - amount)


class RateLimiter:
    """Lets calls go in the order in which they came, as far as the limits allow.

    At most ``concurrency`` run at a time: half as many when the server is overloaded, then slowly
    more with every success (additive increase, multiplicative decrease: Chiu and Jain, 1989). A
    server that asks for time gets it from all callers. Safe to use from many threads; one pacer
    stands for one server.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float = 0,
        tokens_per_minute: float = 0,
        halt: Halt | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._clock: Clock = clock or _SystemClock()
        now = self._clock.now()
        self._halt = halt or Halt()
        self._ceiling = self._allowed = float(concurrency)
        self._requests = TokenBucket(requests_per_minute, now=now)
        self._tokens = TokenBucket(tokens_per_minute, now=now)
        self._running = 0
        self._paused_until = self._cut_at = now
        self._lock = threading.Lock()
        self._queue: deque[threading.Condition] = deque()
        """Who waits, each with a notice of its own: waking all for one would keep them busy."""

    @property
    def allowed(self) -> int:
        """How many calls may run at a time, as the server has taught so far."""
        return int(self._allowed)

    @contextmanager
    def turn(self, tokens: int) -> Iterator[CallTurn]:
        """Wait for a turn, and hold it. ``tokens`` are what the call may use, at most."""
        started = self._enter(tokens)
        turn = CallTurn(tokens)
        try:
            yield turn
        except ModelUnavailable as error:
            self._learn_failure(error, started)
            raise
        else:
            if turn.succeeded:
                self._learn_success()
        finally:
            with self._lock:
                self._running -= 1
                self._tokens.take(turn.used - tokens)
                self._notify_first()

    def _enter(self, tokens: int) -> float:
        """Return the time of the start."""
        place = threading.Condition(self._lock)
        with self._lock:
            self._queue.append(place)
            try:
                while True:
                    self._halt.check()
                    now = self._clock.now()
                    wait_s = self._wait_at(place, tokens, now)
                    if wait_s <= 0:
                        break
                    self._clock.wait(place, wait_s)
                self._running += 1
                self._requests.take(1)
                self._tokens.take(tokens)
            finally:
                # Also on Ctrl-C and on a halt, as those behind would wait for ever.
                self._queue.remove(place)
                self._notify_first()
        return now

    def _notify_first(self) -> None:
        """Have the first in the queue look whether it may go; the lock is held."""
        if self._queue:
            self._queue[0].notify()

    def _wait_at(self, place: threading.Condition, tokens: int, now: float) -> float:
        """Return the seconds until this one may go, as far as is known."""
        if self._queue[0] is not place or self._running >= self.allowed:
            return _LONGEST_NAP_S  # a notice comes before
        return max(
            self._paused_until - now,
            self._requests.wait_for(1, now=now),
            self._tokens.wait_for(tokens, now=now),
        )

    def _learn_failure(self, error: ModelUnavailable, started: float) -> None:
        if error.status not in _OVERLOAD_STATUSES:
            return
        with self._lock:
            now = self._clock.now()
            # Calls that were under way at the last cut say nothing of what came after it.
            if started >= self._cut_at:
                self._allowed = max(1.0, self._allowed / 2)
                self._cut_at = now
            asked_s = error.retry_after_s or 0.0
            if asked_s <= _LONGEST_PAUSE_S:
                self._paused_until = max(self._paused_until, now + asked_s)

    def _learn_success(self) -> None:
        with self._lock:
            self._allowed = min(self._ceiling, self._allowed + 1 / self._allowed)


class CallTurn:
    """A call under way: ``used`` are its tokens, first as reserved and then as told."""

    def __init__(self, tokens: int) -> None:
        self.used = tokens
        self.succeeded = False

    def settle(self, reply: ChatReply) -> None:
        """Note that the call succeeded, and what it used."""
        self.used = reply.usage.input_tokens + reply.usage.output_tokens
        self.succeeded = True


class RateLimitedChat:
    """A chat model whose calls wait for their turn at its server."""

    def __init__(self, model: ChatModel, pacer: RateLimiter) -> None:
        self._model = model
        self._pacer = pacer

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._model.name

    def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply, when it is this call's turn."""
        with self._pacer.turn(_reserve(request)) as turn:
            reply = self._model.complete(request)
            turn.settle(reply)
            return reply

    def stream(self, request: ChatRequest) -> Iterator[str | ChatReply]:
        """Yield the reply; the turn lasts until the stream ends or is left."""
        with self._pacer.turn(_reserve(request)) as turn:
            for item in self._model.stream(request):
                if isinstance(item, ChatReply):
                    turn.settle(item)
                yield item


def _reserve(request: ChatRequest) -> int:
    """Return what a call may use at most, as servers count it beforehand."""
    return estimate_input_tokens(request) + request.max_output_tokens
