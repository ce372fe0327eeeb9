"""Questions written otherwise by rules: their sides, their names, what a turn before meant."""

from __future__ import annotations

import re
from collections.abc import Collection

from knotwork.text.terms import content_terms

_NAME = r"(?:[A-Z0-9][\w'’.&-]*(?:\s+(?:(?:of|the|and|de|van|von|for|in)\s+)*[A-Z0-9][\w'’.&-]*)*)"
_SIDES = re.compile(
    rf"(?P<first>{_NAME})\s*,?\s+(?:or|and|than|vs\.?|versus)\s+(?P<second>{_NAME})"
)
_COMPARES = re.compile(
    r"\b(?:both|same|different|more|less|older|younger|earlier|later|first|longer|larger|bigger"
    r"|taller|higher|compare[sd]?|difference|which (?:of|one)|between|who (?:was|is|died)|or)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_FEWEST_WORDS = 2


def split_comparison(question: str) -> tuple[str, ...]:
    """Return a question about each of two things that it compares; none where it compares none."""
    match = _SIDES.search(question[1:])
    if match is None or not _COMPARES.search(question):
        return ()
    start, end = match.start() + 1, match.end() + 1
    sides = (match["first"], match["second"])
    return tuple(" ".join(f"{question[:start]}{side}{question[end:]}".split()) for side in sides)


def keep_names(question: str, missing: Collection[str]) -> str:
    """Return the names and telling words of a question, without words that nothing speaks of.

    Empty where fewer than two words would be left, or nothing would be changed.
    """
    kept = []
    for match in _WORD.finditer(question):
        found = content_terms(match[0])
        if found and not all(term in missing for term in found):
            kept.append(match[0])
    return " ".join(kept) if len(kept) >= _FEWEST_WORDS else ""
