"""Select the sentences that best represent a community, without repetition."""

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

from knotwork._text.plain_text import strip_links
from knotwork._text.terms import content_terms
from knotwork.records import Chunk, Mention, Span, Support

_DAMPING = 0.85
_TOLERANCE = 1e-9
_ROUNDS = 100
_REPETITION = 0.7
"""Penalty per unit of similarity to a chosen sentence."""
_SAME_ORIGIN = 0.15
"""Penalty per sentence chosen from the same origin."""
_UNFINISHED = 0.6
"""Factor of the score of a sentence without final punctuation, such as a heading or a cell."""
_STOPS = (".", "!", "?", "。", "！", "？", "”", '"', "」", "…")

Floats = NDArray[np.float64]


def choose_sentences(sentences: Sequence[ReportSentence], *, count: int) -> list[ReportSentence]:
    """Return the ``count`` central sentences, the best first.

    A sentence is central if it names important members and resembles many other central sentences
    (LexRank, Erkan and Radev, 2004). Similarity to chosen sentences lowers its score (maximal
    marginal relevance, Carbonell and Goldstein, 1998).
    """
    if not sentences:
        return []
    similarity = _similarities(sentences)
    coverage = np.array([sentence.coverage for sentence in sentences])
    rank = _lexrank(similarity)
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
        repeated = np.maximum(repeated, similarity[best])
    return [sentences[index] for index in chosen]


def _similarities(sentences: Sequence[ReportSentence]) -> Floats:
    """Return the cosine similarity of the terms of each pair of sentences, of shape (n, n).

    A term of a single sentence counts towards its norm only and has no column.
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
    similarity: Floats = products / np.outer(lengths, lengths)
    return similarity


def _lexrank(similarity: Floats) -> Floats:
    """Return the PageRank of sentences in the graph of their similarities.

    With so few sentences a dense matrix is faster than a sparse array.
    """
    others = similarity.copy()
    np.fill_diagonal(others, 0.0)
    others[others.sum(axis=1) == 0] = 1.0  # a sentence like no other links to all
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
    """A candidate sentence of a report; ``coverage`` is the importance of the members it names.

    A report quotes few sentences of one ``origin``: a chunk, or a child community.
    """

    support: Support
    text: str
    coverage: float
    origin: str


class MemberMentions:
    """The mentions of a community's members in a chunk, with the importance of the members."""

    def __init__(self, mentions: Iterable[Mention], importance: Mapping[str, float]) -> None:
        self._importance = importance
        self._spans = sorted(
            (*span, mention.entity_id)
            for mention in mentions
            if mention.entity_id in importance
            for span in mention.spans
        )

    def coverage(self, sentence: Span) -> float:
        """Return the total importance of the members mentioned within a span."""
        named: set[str] = set()
        for place in range(bisect_left(self._spans, (sentence.start,)), len(self._spans)):
            start, end, entity = self._spans[place]
            if start > sentence.end:
                break
            if end <= sentence.end:
                named.add(entity)
        return sum(self._importance[entity] for entity in sorted(named))


def sentences_of(chunk: Chunk, named: MemberMentions) -> Iterator[ReportSentence]:
    """Yield the non-empty sentences of a chunk."""
    for index, span in enumerate(chunk.sentences):
        text = flat_text(strip_links(chunk.sentence_text(index)))
        if text:
            yield ReportSentence(Support(chunk.id, span), text, named.coverage(span), chunk.id)


def prose_among(sentences: Sequence[ReportSentence]) -> Sequence[ReportSentence]:
    """Return the sentences that are prose, or all sentences if there is no prose."""
    return [sentence for sentence in sentences if is_prose(sentence.text)] or sentences


def flat_text(text: str) -> str:
    """Return text on one line; line breaks within Chinese text leave no space."""
    return " ".join((text if text.isascii() else _WIDE_BREAK.sub("", text)).split())


def is_prose(text: str) -> bool:
    """Return False if a sentence is too short or too long, mostly numbers, or markup."""
    length = len(text)
    if not _SHORTEST_WIDE <= length <= _LONGEST:
        return False
    if length < _SHORTEST and not _WIDE.search(text):
        return False
    return _count_letters(text) >= _LEAST_LETTERS * length and _MARKUP.search(text) is None


def _count_letters(text: str) -> int:
    """Return the number of letters and white space characters."""
    count = len(text.encode("ascii", "ignore").translate(None, _NO_LETTERS))
    if not text.isascii():
        rest = _ASCII.sub("", text)
        count += sum(map(str.isalpha, rest)) + sum(map(str.isspace, rest))
    return count
