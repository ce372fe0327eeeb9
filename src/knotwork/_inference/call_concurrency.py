"""Decide how many calls to one server run at a time: a number from the settings, or measured.

An overload halves the number, and successes raise it again (additive increase, multiplicative
decrease: D.-M. Chiu and R. Jain, Analysis of the increase and decrease algorithms for congestion
avoidance in computer networks, 1989).

`MeasuredLimit` also needs no number to begin with. Like TCP Vegas (L. S. Brakmo and L. L. Peterson,
1995) and the concurrency limits of Netflix derived from it (Gradient2, 2018), it compares what a
server does at two numbers of calls, to find the queue before it overflows. It differs from them in
what it compares: a server of language models batches calls, so that each takes longer although
more is done in total. Therefore it climbs by throughput, which by Little's law (1961) is the number
of calls times the tokens that each gets per second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from knotwork._config import AUTO

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
