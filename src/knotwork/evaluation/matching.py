"""Whether a text contains an expected string, as printed answers are judged.

A string counts as whole words: "9" is not in "90", but "9个月" is in "为期9个月。", as Chinese and
Japanese do not separate words. Letter case, widths, white space and the marks of citations do not
count. Unlike `answers.contains_answer`, punctuation counts: "1/32" is not "132".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from knotwork.text.characters import HAN_AND_KANA

MARK = re.compile(r"\s*\[(\d+)\]")
"""The mark of a citation."""
_UNSPACED = re.compile(f"[{HAN_AND_KANA}]")
_INSIDE_WORD = rf"[^\W_{HAN_AND_KANA}]"
"""A letter or digit of a script that separates words."""


def states_all(text: str, parts: Iterable[Sequence[str]]) -> bool:
    """Return whether a text states every part, by one of its alternatives."""
    return all(states(text, alternatives) for alternatives in parts)


def states(text: str, alternatives: Sequence[str]) -> bool:
    """Return whether a text contains one of the alternatives as whole words."""
    spaced = normalize_as_printed(text)
    unspaced = spaced.replace(" ", "")
    for wanted in filter(None, map(normalize_as_printed, alternatives)):
        if _UNSPACED.search(wanted):
            if wanted.replace(" ", "") in unspaced:
                return True
            continue
        # Only a letter or digit needs a boundary: "3 %" may follow and precede anything.
        left = rf"(?<!{_INSIDE_WORD})" if wanted[0].isalnum() else ""
        right = rf"(?!{_INSIDE_WORD})" if wanted[-1].isalnum() else ""
        if re.search(left + re.escape(wanted) + right, spaced):
            return True
    return False


def normalize_as_printed(text: str) -> str:
    """Return a text in the form that is compared: one case and width, single spaces, no marks."""
    bare = MARK.sub(" ", text)
    return " ".join(unicodedata.normalize("NFKC", bare).casefold().split())
