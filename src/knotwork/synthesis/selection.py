"""Choosing the sentences that answer: relevant, and each saying something new."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from knotwork.records import Chunk, Evidence, Span
from knotwork.synthesis.prose import CODE_WEIGHT, is_fenced, weigh_prose
from knotwork.text.terms import content_terms

LEAST_SHARE = 0.3
"""A sentence worth less than this share of the best one is left out."""

HIT_POWER = 0.5
"""Exponent of a hit's score, relative to the best hit's, in the worth of its sentences."""

OVERALL_SHARE = 0.25
"""How much of a sentence's relevance is measured against the best sentence of all hits; the rest
is measured against the best of its own hit, since a passage reached over a bridge resembles the
question less than the one that names its words."""

NOVELTY_POWER = 0.4
"""Exponent of the share of new terms: what repeats counts less, but may still be what was asked."""

MIN_TERMS = 2
"""A sentence of fewer content terms (a page number, a lone heading) says nothing."""


_HEADING_MARKS = "#=*_ \t\n"


@dataclass(frozen=True, slots=True)
class Selected:
    """A sentence chosen for the answer."""

    chunk: Chunk
    span: Span
    text: str
    worth: float
    rank: int


def select_sentences(evidence: Evidence, *, most: int) -> list[Selected]:
    """Choose at most ``most`` sentences by relevance and novelty, the best first.

    Greedy maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): the worth of a sentence
    is its relevance, weighed by its hit's score and by the share of its terms that the sentences
    chosen before do not hold.
    """
    candidates = [_Candidate(item, place) for place, item in enumerate(_candidates(evidence))]
    candidates.sort(key=lambda candidate: -candidate.selected.worth)
    chosen: list[Selected] = []
    known: set[str] = set()
    while len(chosen) < most:
        best, worth = _find_best(candidates, known)
        if best is None or (chosen and worth < LEAST_SHARE * chosen[0].worth):
            break
        chosen.append(best.selected)
        known |= best.words
        candidates.remove(best)
    return chosen


class _Candidate:
    """A sentence in its place among others. Its words are read on first use."""

    def __init__(self, selected: Selected, place: int) -> None:
        self.selected = selected
        self.place = place

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(content_terms(self.selected.text))


def _find_best(
    candidates: Sequence[_Candidate], known: Collection[str]
) -> tuple[_Candidate | None, float]:
    """Return the candidate worth most beside the ``known`` terms, and what it is worth.

    ``candidates`` come in descending worth. Known terms only lower it, so the search stops at the
    first candidate that cannot win.
    """
    best, most = None, -math.inf
    for candidate in candidates:
        worth = candidate.selected.worth
        if max(worth, 0.0) < most:
            break
        if len(candidate.words) < MIN_TERMS:
            continue
        worth *= _novelty(candidate.words, known)
        if best is None or (worth, -candidate.place) > (most, -best.place):
            best, most = candidate, worth
    return best, most


def _candidates(evidence: Evidence) -> list[Selected]:
    top = max((hit.score for hit in evidence.hits), default=0.0)
    best = max((value for hit in evidence.hits for _, value in hit.sentences), default=0.0)
    found: dict[tuple[str, Span], Selected] = {}
    if top <= 0 or best <= 0:
        return []
    for rank, hit in enumerate(evidence.hits):
        share = (max(hit.score, 0.0) / top) ** HIT_POWER
        own_best = max((value for _, value in hit.sentences), default=0.0) or 1.0
        for span, relevance in hit.sentences:
            start = hit.chunk.span.start
            text = hit.chunk.text[span.start - start : span.end - start]
            if is_title(text, hit.chunk):
                continue
            value = OVERALL_SHARE * relevance / best + (1 - OVERALL_SHARE) * relevance / own_best
            prose = weigh_prose(text)
            if is_fenced(hit.chunk.text, span.start - start, span.end - start):
                prose *= CODE_WEIGHT
            item = Selected(hit.chunk, span, text, share * value * prose, rank)
            key = (hit.chunk.document_id, span)
            if key not in found or item.worth > found[key].worth:
                found[key] = item
    return list(found.values())


def is_title(text: str, chunk: Chunk) -> bool:
    """Tell whether a text only repeats a title above it."""
    bare = text.strip(_HEADING_MARKS)
    return bare in {
        title.strip(_HEADING_MARKS) for title in (*chunk.headings, chunk.document_title)
    }


def _novelty(words: Collection[str], known: Collection[str]) -> float:
    return float((sum(word not in known for word in words) / len(words)) ** NOVELTY_POWER)
