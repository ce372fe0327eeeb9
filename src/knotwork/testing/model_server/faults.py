"""What can go wrong at a model server, and when: drawn by a seed, not by the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b


class Fault(StrEnum):
    """One way in which a call goes wrong. The first five befall any call, the rest chats alone."""

    RATE_LIMITED = "429"
    """Refused, with Retry-After."""
    SERVER_ERROR = "500"
    UNAVAILABLE = "503"
    BROKEN_JSON = "broken-json"
    """Status 200, and a body that ends in the middle."""
    HANG = "hang"
    """No answer until the test releases it; then the usual one."""
    GARBAGE = "garbage"
    """Text that answers nothing."""
    TRUNCATED = "truncated"
    """The first half of the answer, finish_reason "length"."""
    CUT = "cut"
    """The connection breaks in the middle of the answer."""
    THINKING = "thinking"
    """The answer comes behind its thinking, in <think> marks."""
    REASONING = "reasoning"
    """The thinking comes in a field of its own, ``reasoning_content``."""
    NO_USAGE = "no-usage"
    """The answer does not say what it cost."""


HTTP_STATUS = {Fault.RATE_LIMITED: 429, Fault.SERVER_ERROR: 500, Fault.UNAVAILABLE: 503}
EVERYWHERE = frozenset({*HTTP_STATUS, Fault.BROKEN_JSON, Fault.HANG})

GARBAGE = (
    "Sure! Here is ]]}{ the the | | | requested\tlist:: \ufffd 0x3F ~~~ <|im_end|> 好的好的",
    "I'm sorry, but as a language model I cannot help with that.",
    '{"entities": [{"name": "A", "type": , }',
    "||||\n|\n\n||",
)
THINKING = "The user wants an answer. entity | Wrong | PERSON | thought, not said. Let me think."


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which calls go wrong.

    ``rates`` are shares of the calls in [0, 1], together at most 1. Whether a call is hit depends
    on ``seed``, on what it asks and on how often that was asked before: not on the order in which
    threads come, and a repeated call has a new chance. ``at`` names calls by number, the first
    being 1, and counts before the rates. Calls to ``endpoints`` alone are hit. A body that has one
    of the fields in ``refuses`` (such as "response_format", "max_tokens" or "stream_options") gets
    a 400 that names it.
    """

    rates: Mapping[Fault, float] = field(default_factory=dict)
    at: Mapping[int, Fault] = field(default_factory=dict)
    seed: int = 0
    endpoints: frozenset[str] = frozenset({"/chat/completions"})
    refuses: frozenset[str] = frozenset()
    retry_after_s: float = 0.01

    def __post_init__(self) -> None:
        shares = self.rates.values()
        if any(share < 0 for share in shares) or sum(shares) > 1 + 1e-9:
            raise ValueError(f"`rates` must be shares that sum to at most 1, not {self.rates}")

    def draw(self, endpoint: str, *, content: bytes, attempt: int, number: int) -> Fault | None:
        """Return what befalls a call; ``attempt`` counts the calls of equal content before it."""
        if endpoint not in self.endpoints:
            return None
        fault = self.at.get(number)
        if fault is None:
            fault = self._draw_by_rate(content, attempt)
        fits = fault in EVERYWHERE or endpoint == "/chat/completions"
        return fault if fits else None

    def garbage(self, content: bytes) -> str:
        """Return the garbage that answers this content."""
        return GARBAGE[_number(self.seed, content, -1) % len(GARBAGE)]

    def _draw_by_rate(self, content: bytes, attempt: int) -> Fault | None:
        if not self.rates:
            return None
        left = _number(self.seed, content, attempt) / 2**64
        for fault, share in self.rates.items():
            left -= share
            if left < 0:
                return fault
        return None


def _number(seed: int, content: bytes, attempt: int) -> int:
    """Return 64 bits that look random."""
    hashed = blake2b(content, digest_size=8, key=f"{seed}/{attempt}".encode())
    return int.from_bytes(hashed.digest(), "little")
