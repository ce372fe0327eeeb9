"""The rest of a server's limits, as the headers of its responses state it.

OpenAI, Azure, Groq, Mistral, OpenRouter and vLLM gateways send ``x-ratelimit-remaining-requests``
and ``-tokens`` with ``x-ratelimit-limit-…`` and ``x-ratelimit-reset-…``, Anthropic the same with
``anthropic-ratelimit-`` and a time. A call for which too little is left would be refused, and
counted, so it waits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

LONGEST_WAIT_S = 120.0
"""A longer wait, as for the limit of a day, is left to the server, whose refusal says why."""

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_WITHOUT_RESET_S = 60.0
"""Limits are of a minute, unless the server says otherwise."""


@dataclass(slots=True)
class _Allowance:
    """What is left until ``ends`` (monotonic seconds); ``most`` is the limit, 0 if unknown."""

    left: float
    most: float
    at: float
    ends: float

    def wait_for(self, amount: float, now: float) -> float:
        """Return the seconds until ``amount`` is left: allowances fill up steadily."""
        if now >= self.ends:
            return 0.0
        wanted = min(amount, self.most) if self.most else amount
        if wanted <= self.left:
            return 0.0
        share = (wanted - self.left) / (self.most - self.left) if self.most > self.left else 1.0
        return max(0.0, self.at + min(share, 1.0) * (self.ends - self.at) - now)


class StatedLimits:
    """The requests and tokens that a server said are left. Not thread-safe."""

    def __init__(self) -> None:
        self._left: dict[str, _Allowance] = {}

    def read(self, headers: Mapping[str, str], *, now: float) -> None:
        """Take over what the headers of a response state; ``now`` is in monotonic seconds."""
        for kind in ("requests", "tokens"):
            left = _number(_find(headers, f"remaining-{kind}", f"{kind}-remaining"))
            if left is None:
                continue
            reset = _find(headers, f"reset-{kind}", f"{kind}-reset")
            reset_s = read_duration(reset) if reset else _WITHOUT_RESET_S
            if reset_s is None or reset_s > LONGEST_WAIT_S:
                self._left.pop(kind, None)
                continue
            most = _number(_find(headers, f"limit-{kind}", f"{kind}-limit")) or 0.0
            self._left[kind] = _Allowance(left, most, now, now + reset_s)

    def wait_for(self, tokens: float, *, now: float) -> float:
        """Return the seconds until a call with this number of tokens may start."""
        amounts = {"requests": 1.0, "tokens": tokens}
        waits = [left.wait_for(amounts[kind], now) for kind, left in self._left.items()]
        return max(waits, default=0.0)

    def take(self, tokens: float) -> None:
        """Count a call that starts; later headers replace the count."""
        for kind, amount in (("requests", 1.0), ("tokens", tokens)):
            if kind in self._left:
                self._left[kind].left = max(0.0, self._left[kind].left - amount)


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
