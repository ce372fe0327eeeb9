"""Write text with the characters that readers see: composed letters, without invisible ones.

Soft hyphens, zero-width spaces and marks of direction are inside words that look whole, and an
accent may be a character of its own. Joiners stay where they change what is shown: in Arabic and
Indic scripts, and in emoji. Variation selectors stay behind emoji, and zero-width spaces in scripts
that write no spaces.
"""

from __future__ import annotations

import re
import unicodedata

MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
"""Combining marks, for a class of a pattern; some letters with marks have no composed form."""

LATIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d", "ı": "i", "ħ": "h"}
)
"""Latin letters that have no decomposed form, as plain letters."""

_JOINED = (
    "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc"
)
_EMOJI = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SUSPECT = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e01ef]"
)
_INVISIBLE = re.compile(
    "\u00ad[ \t]*\n[ \t]*|[\u00ad\u034f\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
    f"|(?<![{_UNSPACED}])\u200b"
    f"|(?<![{_JOINED}])\u200c|(?<![{_JOINED}{_EMOJI}])\u200d"
    "|(?<![\u1820-\u18aa])\u180e"
    r"|(?<=[^\W_])[\ufe00-\ufe0f\U000e0100-\U000e01ef](?!\u20e3)"
    "|(?<![\U0001f3f4\U000e0020-\U000e007f])[\U000e0000-\U000e007f]+"
)


# NFC takes quadratic time for many marks on one letter.
_STACKED = re.compile(r"(?<![^\w\s\x00-\x7f])[^\w\s\x00-\x7f]{64,}")
_MOST_MARKS = 30


def visible_text(text: str) -> str:
    """Return a text in composed form (NFC) without characters that change nothing that is seen.

    A word that a soft hyphen parts at the end of a line is joined.
    """
    if text.isascii():
        return text
    if _SUSPECT.search(text):
        text = _INVISIBLE.sub("", text)
    return unicodedata.normalize("NFC", _STACKED.sub(_limit_marks, text))


def _limit_marks(match: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in match[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)
