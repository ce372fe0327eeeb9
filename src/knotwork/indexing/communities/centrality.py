"""Which sentences say most about a community, and do not repeat each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from knotwork.indexing.communities.sentences import Sentence
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


def choose_sentences(sentences: Sequence[Sentence], *, count: int) -> list[Sentence]:
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


def _likeness(sentences: Sequence[Sentence]) -> Floats:
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
