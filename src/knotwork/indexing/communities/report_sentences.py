"""Select sentences for reports: prose on one line, central to its group, without repetition."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork.records import Chunk, Mention, Span, Support
from knotwork.text.plain_text import strip_links
from knotwork.text.terms import content_terms

_DAMPING = 0.85
_TOLERANCE = 1e-9
_ROUNDS = 100
_REPETITION = 0.7
"""What likeness to a sentence that was chosen costs."""
_SAME_ORIGIN = 0.15
"""What each sentence that was chosen from the same place costs."""
_UNFINISHED = 0.6
"""What a sentence without a stop at its end, a heading or a cell, is worth."""
_STOPS = (".", "!", "?", "。", "！", "？", "”", '"', "」", "…")

Floats = NDArray[np.float64]


def choose_sentences(sentences: Sequence[ReportSentence], *, count: int) -> list[ReportSentence]:
    """Return the ``count`` central sentences, the best first.

    A sentence is central when it names important members, and when it is like many others, which
    are themselves central (LexRank, Erkan and Radev, 2004). Each choice counts what it adds to
    those before it (maximal marginal relevance, Carbonell and Goldstein, 1998).
    """
    if not sentences:
        return []
    likeness = _likeness(sentences)
    coverage = np.array([sentence.coverage for sentence in sentences])
    rank = _lexrank(likeness)
    finished = [1.0 if s.text.endswith(_STOPS) else _UNFINISHED for s in sentences]
    scores = (_scaled(coverage) + _scaled(rank)) / 2 * np.array(finished)
    places: dict[str, int] = {}
    origins = np.array([places.setdefault(s.origin, len(places)) for s in sentences])
    taken = np.zeros(len(places))
    chosen: list[int] = []
    repeated = np.zeros(len(sentences))
    while len(chosen) < min(count, len(sentences)):
        worth = np.round(scores - _REPETITION * repeated - _SAME_ORIGIN * taken[origins], 9)
        worth[chosen] = -np.inf
        best = int(worth.argmax())
        if chosen and worth[best] <= 0:
            break
        chosen.append(best)
        taken[origins[best]] += 1
        repeated = np.maximum(repeated, likeness[best])
    return [sentences[index] for index in chosen]


def _likeness(sentences: Sequence[ReportSentence]) -> Floats:
    """Return the cosine similarity of the terms of each two sentences, of shape (n, n).

    A term of one sentence alone adds to its length, and to nothing else: it gets no column.
    """
    counts = [Counter(content_terms(sentence.text)) for sentence in sentences]
    frequency = Counter(chain.from_iterable(counts))
    weight = {term: math.log(1 + len(counts) / times) for term, times in frequency.items()}
    shared = sorted(term for term, times in frequency.items() if times > 1)
    column = {term: place for place, term in enumerate(shared)}
    table = np.zeros((len(counts), len(shared)))
    squares = np.zeros(len(counts))
    for row, terms in enumerate(counts):
        squares[row] = math.fsum((times * weight[term]) ** 2 for term, times in terms.items())
        for term in terms.keys() & column.keys():
            table[row, column[term]] = terms[term] * weight[term]
    products = table @ table.T
    np.fill_diagonal(products, squares)
    lengths = np.sqrt(np.maximum(squares, 1e-12))
    likeness: Floats = products / np.outer(lengths, lengths)
    return likeness


def _lexrank(likeness: Floats) -> Floats:
    """Return where a walk from like to like ends up: PageRank, of so few that a table is quicker
    than a sparse array.
    """
    others = likeness.copy()
    np.fill_diagonal(others, 0.0)
    others[others.sum(axis=1) == 0] = 1.0  # a walker on one like no other goes anywhere
    walk = _DAMPING * (others / others.sum(axis=1)[:, np.newaxis]).T
    rank = np.full(len(others), 1 / len(others))
    restart = (1.0 - _DAMPING) * rank
    for _ in range(_ROUNDS):
        updated = walk @ rank + restart
        change = float(np.abs(updated - rank).sum())
        rank = updated
        if change < _TOLERANCE:
            break
    return rank


def _scaled(values: Floats) -> Floats:
    return values / max(float(values.max()), 1e-12)


_SHORTEST = 30
_SHORTEST_WIDE = 12
_LONGEST = 500
_WIDE = re.compile("[\u3400-\u9fff]")
_WIDE_BREAK = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef])\s+(?=[\u3000-\u9fff\uff00-\uffef])")
_LEAST_LETTERS = 0.6
_MARKUP = re.compile(r"\||<[!/?A-Za-z]|[{}]|\w_\w+_\w")
_ASCII = re.compile(r"[\x00-\x7f]+")
_NO_LETTERS = bytes(b for b in range(128) if not (chr(b).isalpha() or chr(b).isspace()))


class ReportSentence(NamedTuple):
    """A sentence that may stand in a report; ``coverage`` is the importance of who it names.

    Of one ``origin`` (a chunk, or a community below) a report takes few.
    """

    support: Support
    text: str
    coverage: float
    origin: str


class MemberMentions:
    """Where a text names the members of a community, and how important these are."""

    def __init__(self, mentions: Iterable[Mention], importance: Mapping[str, float]) -> None:
        self._importance = importance
        self._spans = sorted(
            (*span, mention.entity_id)
            for mention in mentions
            if mention.entity_id in importance
            for span in mention.spans
        )

    def coverage(self, sentence: Span) -> float:
        """Return the importance of all members that are named inside a span."""
        named: set[str] = set()
        for place in range(bisect_left(self._spans, (sentence.start,)), len(self._spans)):
            start, end, entity = self._spans[place]
            if start > sentence.end:
                break
            if end <= sentence.end:
                named.add(entity)
        return sum(self._importance[entity] for entity in sorted(named))


def sentences_of(chunk: Chunk, named: MemberMentions) -> Iterator[ReportSentence]:
    """Yield the sentences of a chunk that hold any text."""
    for index, span in enumerate(chunk.sentences):
        text = flat_text(strip_links(chunk.sentence_text(index)))
        if text:
            yield ReportSentence(Support(chunk.id, span), text, named.coverage(span), chunk.id)


def prose_among(sentences: Sequence[ReportSentence]) -> Sequence[ReportSentence]:
    """Return the sentences that are prose, or all of them where none is."""
    return [sentence for sentence in sentences if is_prose(sentence.text)] or sentences


def flat_text(text: str) -> str:
    """Return text on one line; Chinese without the space that a line break leaves."""
    return " ".join((text if text.isascii() else _WIDE_BREAK.sub("", text)).split())


def is_prose(text: str) -> bool:
    """Tell whether a sentence is neither short, overlong, a row of numbers nor markup."""
    length = len(text)
    if not _SHORTEST_WIDE <= length <= _LONGEST:
        return False
    if length < _SHORTEST and not _WIDE.search(text):
        return False
    return _count_letters(text) >= _LEAST_LETTERS * length and _MARKUP.search(text) is None


def _count_letters(text: str) -> int:
    """Return how many characters of a text are letters or space."""
    count = len(text.encode("ascii", "ignore").translate(None, _NO_LETTERS))
    if not text.isascii():
        rest = _ASCII.sub("", text)
        count += sum(map(str.isalpha, rest)) + sum(map(str.isspace, rest))
    return count
