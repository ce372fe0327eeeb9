"""Taking questions apart by rules, in English and Chinese, around the names that they hold.

A nested question has inner phrases, each a relation to a name or to what the phrase before it
found: "the mother of the director of Silver Lantern" is ``director of Silver Lantern``, then
``mother of {}``. A comparing question is asked of each name by itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from knotwork.records import Span
from knotwork.text.terms import content_terms

BLANK = "{}"
"""Stands in a part for what the part before it found."""

MOST_HOPS = 3

LONGEST_TERMS = 14
"""Content terms above which a question describes what it wants, clause by clause: names in it are
joined in too many ways for rules."""

_NOT_IN_NOUN = (
    r"(?!(?:is|was|are|were|did|do|does|has|had|have|be|been|the|a|an|that|which|who|whose|where"
    r"|and|or|what|when|how|of|by|in|on|at|to|for|from|with|as)\b)"
)
_NOUN = rf"(?:{_NOT_IN_NOUN}[^\W\d_][\w-]*\s+){{0,3}}{_NOT_IN_NOUN}[^\W\d_][\w-]*"
_OF = re.compile(
    rf"\b(?:the|an?|its|what|which)\s+(?P<noun>{_NOUN})\s+(?:of|for|to|by|from|in|at|on)\s+"
    r"(?:(?:the|an?)\s+)?(?:[a-z][\w-]*\s+){0,2}[\"“'‘]?$",
    re.IGNORECASE,
)
_WHO = re.compile(
    rf"\b(?:the|an?|what|which)\s+(?P<noun>{_NOUN})\s+"
    r"(?:that|which|who|where|whose|(?:in|on|of|for) which)\s+"
    rf"(?:(?:the\s+)?(?:[a-z][\w-]*\s+){{1,3}}?)?(?:(?:the|an?)\s+)?[\"“'‘]?$",
    re.IGNORECASE,
)
_RELATED = re.compile(
    r"\s+(?:is|was|are|were|has|had)\s+(?:an?\s+)?(?:\w+\s+)?\w+(?:ed|en|wn|de|nd|t|s)?\b"
    r"(?:\s+(?:in|by|on|at|to|of)\b)?"
    r"|\s+(?:belongs? to|comes? from|appears? in|stars? in|play(?:s|ed)? for|died|lived|works?)\b"
)
_POSSESSIVE = re.compile(
    r"[\"”]?(?:['’]s|(?<=s)['’])\s+(?P<noun>(?:[a-z][\w-]*\s+){0,2}?[a-z][\w-]*)"
    r"(?=['’]s?\b|['’]\s|\s*[?,.]|\s*$|\s+(?:is|was|are|were|did|do|does|has|had|born|died?|dies|"
    r"graduate[ds]?|from|who|that|in|of|located|where|when|works?|stud(?:y|ied)|went|get|got|won|"
    r"receive[ds]?)\b)"
)
_HAN_OF = re.compile(
    r"[》”」』\"]?的(?P<noun>[\u4e00-\u9fff]{1,8}?)"
    r"(?=的|是|在|出生|毕业|畢業|叫|来自|來自|属于|屬於|位于|位於|有|于|於|何|哪|什么|什麼|谁|誰|去世|逝世|[，。？?]|$)"
)
_COMPARING = re.compile(
    r"\b(?:or|both|same|older|younger|first|earlier|later|more|longer|larger|between|than|compared"
    r"|share|common|either|also)\b|还是|還是|都|相同|同一|更|哪一?个|哪個|比较|比較",
    re.IGNORECASE,
)
_JOINING = re.compile(
    r"^\s*[\"”’')）]?\s*(?:,|，|、)?\s*(?:or|and|than|与|和|或|还是|還是|跟|及|以及|、)?\s*"
    r"(?:(?:the|a|an|film|song|[a-z]+)\s+){0,3}[\"“‘'(（《]?\s*$"
)

NUMBER = re.compile(r"[\d\s.,:/–年月日-]*")
"""A number or a date, which is no name to begin at."""
_NAME = re.compile(
    r"[A-Z][\w.'’-]*(?:\s+(?:(?:of|the|and|in|to|a|de|van|von)\s+){0,2}[A-Z0-9][\w.'’-]*)*(?<=\w)"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The parts of a question: one after the other, each filling the next one's `BLANK`, or, when
    they compare, side by side.
    """

    parts: tuple[str, ...]
    side_by_side: bool = False


def split_question(text: str, names: Sequence[Span]) -> Plan | None:
    """Return the parts of a question with names at these places, or None where it is simple."""
    if len(set(content_terms(text))) > LONGEST_TERMS:
        return None
    found = (_without_possessive(text, name) for name in names or _capitalised(text))
    inside = sorted(n for n in found if not NUMBER.fullmatch(text[n.start : n.end]))
    if compared := _compare(text, inside):
        return compared
    for name in inside:
        if chain := _unnest(text, name):
            return chain
    return None


def _without_possessive(text: str, name: Span) -> Span:
    ends = ("'s", "’s")
    return Span(name.start, name.end - 2) if text[: name.end].endswith(ends) else name


def _capitalised(text: str) -> list[Span]:
    """Return what is written like a name, the question's first word left out."""
    return [Span(*match.span()) for match in _NAME.finditer(text) if match.start() > 0]


def _compare(text: str, names: Sequence[Span]) -> Plan | None:
    """Take a comparing question apart: one part for each of two names that are joined."""
    if len(names) < 2 or not _COMPARING.search(text):
        return None
    for first, second in pairwise(names):
        if second.start < first.end or not _JOINING.match(text[first.end : second.start]):
            continue
        return Plan(
            (
                _tidy(text[: first.end] + text[second.end :]),
                _tidy(text[: first.start] + text[second.start :]),
            ),
            side_by_side=True,
        )
    return None


def _unnest(text: str, name: Span) -> Plan | None:
    """Take a nested question apart from the name outwards."""
    before, inner, after = text[: name.start], text[name.start : name.end], text[name.end :]
    parts: list[str] = []
    while len(parts) < MOST_HOPS:
        found = _innermost(before, inner, after)
        if found is None:
            break
        before, phrase, after = found
        parts.append(_tidy(phrase))
        inner = BLANK
    if not parts:
        return None
    rest = _tidy(before + inner + after)
    if not _says_something(rest):
        return Plan(tuple(parts)) if len(parts) > 1 else None
    return Plan((*parts, rest))


def _innermost(before: str, inner: str, after: str) -> tuple[str, str, str] | None:
    """Return the phrase around a name, with what stands before it and behind it."""
    for possessive in (_POSSESSIVE, _HAN_OF):
        if match := possessive.match(after):
            return before, inner + match[0], after[match.end() :]
    if match := _WHO.search(before):
        behind = _RELATED.match(after)
        end = behind.end() if behind else 0
        return before[: match.start()], match[0] + inner + after[:end], after[end:]
    if match := _OF.search(before):
        return before[: match.start()], match[0] + inner, after
    return None


def _says_something(rest: str) -> bool:
    """Return whether more is asked than who or what the blank is."""
    words = re.findall(r"[^\W_]+", rest.replace(BLANK, " "))
    plain = {"who", "what", "which", "is", "was", "are", "were", "the", "name", "of", "a"}
    han = set("是谁誰什么什麼叫哪位人名字的有些多少几幾个個")
    return any(word.casefold() not in plain and not set(word) <= han for word in words)


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(" ,，")
