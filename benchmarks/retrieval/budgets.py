"""Passages within a budget of characters or tokens, and how much of the gold they contain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knotwork._text.sentences import split_sentences
from knotwork._text.terms import content_terms
from knotwork._text.token_counts import token_starts

_IGNORED_MARKS = re.compile(r"[\s*#]+")


def strip_marks(text: str) -> str:
    """Remove white space, ``*`` and ``#``, which loaders and splitters may change."""
    return _IGNORED_MARKS.sub("", text)


def first_characters(texts: Sequence[str], budget: int) -> str:
    """Join the texts, stripped of marks, best first, and return the first ``budget`` characters."""
    return "".join(map(strip_marks, texts))[:budget]


def first_tokens(texts: Sequence[str], budget: int) -> str:
    """Join the texts, best first, and return the first ``budget`` tokens."""
    joined = "\n".join(texts)
    starts = token_starts(joined)
    return joined if len(starts) <= budget else joined[: starts[budget]]


def share_found(passages: Sequence[str], text: str) -> float:
    """Return the share of passages that ``text``, stripped of marks, contains completely."""
    if not passages:
        return 0.0
    return sum(strip_marks(passage) in text for passage in passages) / len(passages)


def share_of_sentences_found(passages: Sequence[str], text: str) -> float:
    """Return the share of the passages' sentences that ``text`` contains, weighted by length."""
    found = total = 0
    for passage in passages:
        for span in split_sentences(passage):
            sentence = strip_marks(passage[span.start : span.end])
            total += len(sentence)
            found += len(sentence) if sentence in text else 0
    return found / total if total else 0.0


def share_of_words_found(reference: Sequence[str], text: str) -> float:
    """Return the share of the distinct content words of ``reference`` that ``text`` contains."""
    wanted = set(content_terms("\n".join(reference)))
    return len(wanted & set(content_terms(text))) / len(wanted) if wanted else 0.0
