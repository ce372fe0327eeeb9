"""How often one caller may ask: a bucket of tokens for each, which fills as time goes by."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from knotwork.errors import TooManyRequests

_MOST_CALLERS = 10_000
_MINUTE_S = 60.0


class RateLimiter:
    """Lets each caller ask ``per_minute`` times, a sixth of that at once; 0 is no limit.

    Used by one thread. Callers that have long been silent are forgotten.
    """

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / _MINUTE_S
        self._burst = max(per_minute / 6, 1.0)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> None:
        """Count a request. Raises TooManyRequests, which says when the next one is free."""
        if not self._rate:
            return
        now = self._clock()
        level = self._level(caller, now)
        if level < 1:
            raise TooManyRequests(
                f"More than {self._rate * _MINUTE_S:.0f} requests in a minute.",
                fix="Ask more slowly, or raise service.requests_per_minute.",
                retry_after_s=(1 - level) / self._rate,
            )
        self._buckets[caller] = level - 1, now
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_CALLERS:
            self._buckets.popitem(last=False)

    def _level(self, caller: str, now: float) -> float:
        level, then = self._buckets.get(caller, (self._burst, now))
        return min(self._burst, level + (now - then) * self._rate)
