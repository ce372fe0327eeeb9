"""What a text says in so many words: that one name is another name of the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knotwork.indexing.resolution.evidence import Profile
from knotwork.indexing.resolution.rulings import PairView
from knotwork.indexing.resolution.vocabulary import HAN_LANGUAGES
from knotwork.records import Span
from knotwork.text.characters import HAN
from knotwork.transform.rules.aliases import is_short_for

_BETWEEN = 60
_STATES = re.compile(
    r"\s*[,(（，]?\s*(?:(?:also|formerly|otherwise|commonly|better|originally)\s+)?"
    r"(?:known\s+as|abbreviated(?:\s+(?:as|to))?|a\.?k\.?a\.?|short\s+for|shortened\s+to)"
    r"\s+[\"“‘']?(?:the\s+)?",
    re.IGNORECASE,
)
_HAN_STATES = re.compile(
    r"\s*[，,]?\s*[（(]?\s*(?:以下|下文)?(?:简称|簡稱|又称|又稱|又名|亦称|也称|也叫|全称|全稱|原名|旧称)"
    r"(?:为|為)?\s*[：:]?\s*[“「『\"《]?"
)
_BRACKET = re.compile(r"\s*[(（]\s*(?:the\s+)?[\"“”「『']?")


_CUT_OFF = re.compile(
    r"(?:[A-Z][\w.'’-]*|&|\b(?:of|and|for|first|second|third))[\s,-]+(?:(?:the|The)\s+)?$"
    rf"|[{HAN}]$"
)
"""What stands before a name that is only the end of a longer one."""
_GOES_ON = re.compile(f"[{HAN}]")


def is_explained(pair: PairView, short: Profile, full: Profile) -> bool:
    """Tell whether a text sets the short name in brackets behind the full one, or the other way
    round, or says that it is another name.
    """
    han = full.shape.han or short.shape.han
    cues = (_BRACKET, _HAN_STATES if han else _STATES)
    return any(
        _find_statement(text, first.entity.name, second.entity.name, cues) is not None
        for text in _texts(pair)
        for first, second in ((full, short), (short, full))
    )


def is_other_name(pair: PairView) -> bool:
    """Tell whether a text says that one is another name of the other, and means the whole name."""
    han = pair.full.shape.han or pair.short.shape.han
    short, full = pair.short.entity.name, pair.full.entity.name
    if {pair.short.shape.core, pair.full.shape.core} & HAN_LANGUAGES:
        return False
    whole = han and is_short_for(short, full)
    cues = (_HAN_STATES if han else _STATES,)
    for text in _texts(pair):
        for first, second in ((full, short), (short, full)):
            found = _find_statement(text, first, second, cues)
            if found is not None and (whole or not _is_cut_off(text, found)):
                return True
    return False


def _is_cut_off(text: str, found: Span) -> bool:
    """Tell whether the names of a statement are only parts of longer ones."""
    before = _CUT_OFF.search(text, max(0, found.start - 40), found.start)
    return before is not None or _GOES_ON.match(text, found.end) is not None


def _texts(pair: PairView) -> Iterator[str]:
    return (pair.evidence.texts[c] for c in pair.chunks if c in pair.evidence.texts)


def _find_statement(
    text: str, first: str, second: str, cues: tuple[re.Pattern[str], ...]
) -> Span | None:
    """Return where ``first`` stands, with a cue behind it and ``second`` behind that."""
    folded = text.lower()
    if len(folded) != len(text):  # a capital of two letters in lower case: İ
        folded = text
    first, second = first.lower(), second.lower()
    start = folded.find(first)
    while start >= 0:
        end = start + len(first)
        place = folded.find(second, end, end + _BETWEEN + len(second))
        if place >= 0 and any(cue.fullmatch(text, end, place) for cue in cues):
            return Span(start, place + len(second))
        start = folded.find(first, end)
    return None
