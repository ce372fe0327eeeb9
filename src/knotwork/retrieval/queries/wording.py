"""What form of answer the words of a question ask for: how many, which, the most, the newest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knotwork.retrieval.queries.comparisons import AmountComparison, read_comparisons
from knotwork.retrieval.queries.plans import Returned

_COUNT = re.compile(
    r"\bhow (?:many|often|frequently)\b|\bcount (?:the|how)\b"
    r"|^\W*(?:\w+\W+){0,6}?(?:the|a|total|what) (?:total )?(?:number|count|tally|quantity)"
    r" (?:of|for)\b"
    r"|\bin total\b|多少|几(?:个|位|部|名|次|条)|数量|个数|总数",
    re.IGNORECASE,
)
_AVERAGE = re.compile(r"\b(?:average|mean)\b|平均", re.IGNORECASE)
_SUM = re.compile(r"\b(?:sum|total (?!number|count))\b|总(?:和|计|共)", re.IGNORECASE)
_SUPERLATIVES: tuple[tuple[str, str, bool], ...] = (
    (
        r"most recent(?:ly)?|latest|newest|last(?! name)|most lately|最近|最新|最晚|最后",
        "time",
        True,
    ),
    (r"earliest|first(?! name)|oldest|original|initial(?:ly)?|最早|最先|第一", "time", False),
    (r"youngest|最年轻|最小的?", "age", False),
    (r"oldest|eldest|最年长|最老", "age", True),
    (r"longest|最长", "length", True),
    (r"shortest|briefest|quickest|最短", "length", False),
    (r"largest|biggest|highest|greatest|most expensive|maximum|most|最大|最高|最多", "size", True),
    (r"smallest|lowest|least|fewest|cheapest|minimum|最低|最少", "size", False),
)
_PATTERNS = tuple(
    (re.compile(rf"\b(?:{words})\b" if words[0].isascii() else words, re.IGNORECASE), d, desc)
    for words, d, desc in _SUPERLATIVES
)
_CHINESE = tuple(
    (re.compile("|".join(w for w in words.split("|") if not w[0].isascii())), d, desc)
    for words, d, desc in _SUPERLATIVES
    if any(not w[0].isascii() for w in words.split("|"))
)
_WHEN = re.compile(r"\bwhen\b|什么时候|何时|哪年", re.IGNORECASE)
_SHARES = re.compile(r"\b(?:shar(?:e|es|ed|ing)|same|also|co-?\w+)\b|共同|相同|同一", re.IGNORECASE)
_TOP = re.compile(r"\b(?:top|first|best|last|latest) (\d{1,3})\b|前\s*(\d{1,3})", re.IGNORECASE)
_ASKING = re.compile(
    r"\b(?:how many|which|what|who|whom|whose|where|when|list|show|name|give|find|provide"
    r"|identify|number of|count of)\b|哪些?|什么|谁|多少|几",
    re.IGNORECASE,
)
DIMENSIONS = {
    "time": ("date", "time", "year", "day", "when", "born", "released"),
    "age": ("age", "born", "birth"),
    "length": ("duration", "length", "runtime", "seconds", "minutes", "hours"),
    "size": ("size", "amount", "count", "total", "price", "rating", "score", "number"),
}
"""Words in the names of properties that tell what they measure."""


@dataclass(frozen=True, slots=True)
class Superlative:
    """The end of a scale that is asked for; ``dimension`` is a key of `DIMENSIONS`."""

    dimension: str
    descending: bool
    start: int
    limit: int = 1


@dataclass(frozen=True, slots=True)
class Wording:
    """The form of the answer; ``asked_at`` is where the words stand that ask for something."""

    returned: Returned
    superlatives: tuple[Superlative, ...]
    comparisons: tuple[AmountComparison, ...]
    asked_at: int
    asks_when: bool
    shares: bool


def read_wording(text: str) -> Wording:
    """Return what form of answer a question asks for, from its words alone."""
    returned = Returned.THING
    if _COUNT.search(text):
        returned = Returned.COUNT
    elif _AVERAGE.search(text):
        returned = Returned.AVERAGE
    elif _SUM.search(text):
        returned = Returned.SUM
    asked = _ASKING.search(text)
    top = _TOP.search(text)
    limit = int(next(g for g in top.groups() if g)) if top else 1
    return Wording(
        returned,
        tuple(_superlatives(text, limit)),
        tuple(read_comparisons(text)),
        asked.end() if asked else 0,
        bool(_WHEN.search(text)),
        bool(_SHARES.search(text)),
    )


def _superlatives(text: str, limit: int) -> list[Superlative]:
    """Return the superlatives in a text; of one place all readings, as "oldest" has two."""
    found = [
        Superlative(dimension, descending, match.start(), limit)
        for pattern, dimension, descending in (*_PATTERNS, *_CHINESE)
        for match in pattern.finditer(text)
    ]
    return sorted(found, key=lambda s: s.start)
