"""Find the denials of a text, and those that one of two aligned texts lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from knotwork._synthesis.grounding.texts import ReadText

NEAREST = 2
"""How many words from a place the aligned word may be that leads to the same place elsewhere."""

_DENIAL = re.compile(
    r"\b(?:not|never|cannot|no|nor|neither|none|nobody|nothing)\b|n['’]t\b"
    r"|(?<![是能会有可要好])[不没沒无無未非](?![过過止仅僅但断斷同管论論如少限久足錯错妨])",
    re.IGNORECASE,
)
_NO_DENIAL = re.compile(
    r"\bnot (?:only|merely|just|simply|solely)\b|\bnot\b(?=[^.;]{0,60}\buntil\b)|\bno\.?\s?\d"
    r"|\bno (?:more|less|fewer|later|longer) than\b"
    r"|^\W*no\b(?=\W)|[,;—]\s*not\b|^[不没沒](?:有|是)?[，。]|而非|而不是|不是(?=.{1,20}而是)"
    r"|无线|無線|非洲|非常|未来|未來|不[仅只光单]|差不多|\byes\b\W{0,3}(?:or|或|和)?\W{0,3}no\b"
    r"|不[得能可会會应應]?(?:[少低短小晚早多高大长長][于於]|超[过過])",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(?:without|unless|except|hardly|rarely|seldom|fail\w*|lack\w*|instead|prevent\w*|refus\w*"
    r"|reject\w*|den(?:y|ies|ied)|absent|missing|disabl\w*|forb\w*|prohibit\w*|exclud\w*|longer"
    r"|un(?!i|der|til|less)\w{4,}|in(?:valid|correct|capable|ability)\w*|impossible"
    r"|dis(?:allow|able)\w*|rather than|opposed|few|little|only|avoid\w*|ignor\w*|stop\w*"
    r"|independent\w*|improper\w*|dis\w{4,}|rather|rid|free|before|until|too)\b"
    r"|缺|失败|失敗|拒绝|拒絕|禁止|避免|停止|取消|除|只|仅|僅|难|難|否|别|莫|免|防",
    re.IGNORECASE,
)
"""Words that are negative in meaning, or that limit what is said."""


def denials_of(text: ReadText) -> list[re.Match[str]]:
    """Return the words of a text that deny, such as "not" and "never"."""
    plain = _NO_DENIAL.sub(lambda match: " " * len(match[0]), text.text)
    return list(_DENIAL.finditer(plain))


def is_negative(text: str) -> bool:
    """Return True if a text denies, or has a word that is negative or limits, such as "fails"."""
    return bool(_DENIAL.search(text) or _NEGATIVE.search(text))


def find_one_sided_denial(
    denials: Sequence[re.Match[str]],
    said: ReadText,
    sentence: ReadText,
    aligned: Mapping[int, int],
) -> str | None:
    """Return a denial of one of two aligned texts that the other lacks at the same place.

    ``denials`` are those of ``said``; ``aligned`` leads from its words to those of the sentence.
    """
    back = {there: here for here, there in aligned.items()}
    sides = [(denial, said, sentence, aligned) for denial in denials]
    sides += [(denial, sentence, said, back) for denial in denials_of(sentence)]
    for denial, text, other, places in sides:
        there = _same_place(denial, text, other, places)
        if there and not is_negative(there):
            return denial[0]
    return None


def _same_place(
    denial: re.Match[str], text: ReadText, other: ReadText, aligned: Mapping[int, int]
) -> str:
    """Return what another text has between the words around a denial, or "" if it lacks these."""
    place = sum(word.end <= denial.start() for word in text.words)
    following = range(place, min(place + NEAREST, len(text.words)))
    preceding = range(place - 1, max(place - 1 - NEAREST, -1), -1)
    after = next((i for i in following if i in aligned), None)
    before = next((i for i in preceding if i in aligned), None)
    if after is None or (before is None and place):
        return ""
    start = other.words[aligned[before]].start if before is not None else 0
    return other.text[start : other.words[aligned[after]].end]
