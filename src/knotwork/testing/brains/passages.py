"""Numbered passages of a prompt, and which of their sentences speak of a question."""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.testing.brains.reading import sentences_of
from knotwork.text.terms import content_terms

_NUMBER = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t]*", re.MULTILINE)
_MARKS = re.compile(r"\s*\[\d{1,4}\]")
_FULL_STOPS = "。！？"
_LEAST_SHARE = 0.3
"""A sentence that holds fewer of a question's terms says nothing about it."""


class Passage(NamedTuple):
    """A part of a context; ``number`` is 0 where it has none."""

    number: int
    text: str


class Ranked(NamedTuple):
    """A sentence, and which share of the question's terms it holds."""

    score: float
    text: str
    number: int


def read_passages(text: str) -> list[Passage]:
    """Cut a context at its numbers; without any, every line is a passage."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return [Passage(0, _last_field(line)) for line in text.splitlines() if line.strip()]
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        Passage(int(match[1]), _last_field(text[match.end() : end].strip()))
        for match, end in zip(found, ends, strict=True)
    ]


def rank_sentences(question: str, passages: list[Passage]) -> list[Ranked]:
    """Return the sentences that speak of a question, those with most of its terms first.

    A term that the passage holds outside the sentence counts half.
    """
    asked = set(content_terms(question))
    if not asked:
        return []
    ranked: dict[str, Ranked] = {}
    for passage in passages:
        around = asked & set(content_terms(passage.text))
        for sentence in sentences_of(passage.text):
            inside = asked & set(content_terms(sentence))
            if not inside:
                continue
            score = (len(inside) + len(around - inside) / 2) / len(asked)
            if score >= _LEAST_SHARE:
                ranked.setdefault(sentence, Ranked(score, sentence, passage.number))
    return sorted(ranked.values(), key=lambda item: -item.score)


def cite(sentence: str, number: int) -> str:
    """Return a sentence with its mark behind it; a space stands before the mark only in English."""
    if not number:
        return sentence
    bare = _MARKS.sub("", sentence).strip()
    return f"{bare}[{number}]" if bare.endswith(tuple(_FULL_STOPS)) else f"{bare} [{number}]"


def _last_field(line: str) -> str:
    """Return what a line of fields says last: the summary of ``entity | name | type | summary``."""
    if "\n" in line:
        return line
    return line.rsplit("|", 1)[-1].strip()
