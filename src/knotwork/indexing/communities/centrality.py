"""Which sentences say most about a community, and do not repeat each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from knotwork.graph.pagerank import personalized_pagerank
from knotwork.indexing.communities.material import Sentence
from knotwork.text.terms import content_terms

_DAMPING = 0.85
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
    chosen: list[int] = []
    repeated = np.zeros(len(sentences))
    origins: Counter[str] = Counter()
    while len(chosen) < min(count, len(sentences)):
        taken = np.array([_SAME_ORIGIN * origins[s.origin] for s in sentences])
        worth = np.round(scores - _REPETITION * repeated - taken, 9)
        worth[chosen] = -np.inf
        best = int(worth.argmax())
        if chosen and worth[best] <= 0:
            break
        chosen.append(best)
        origins[sentences[best].origin] += 1
        repeated = np.maximum(repeated, likeness[best])
    return [sentences[index] for index in chosen]


def _likeness(sentences: Sequence[Sentence]) -> Floats:
    """Return the cosine similarity of the terms of each two sentences, of shape (n, n)."""
    counts = [Counter(content_terms(sentence.text)) for sentence in sentences]
    frequency = Counter(term for terms in counts for term in terms)
    column = {term: place for place, term in enumerate(sorted(frequency))}
    rows, columns, weights = [], [], []
    for row, terms in enumerate(counts):
        for term, times in sorted(terms.items()):
            rows.append(row)
            columns.append(column[term])
            weights.append(times * math.log(1 + len(counts) / frequency[term]))
    table = sparse.coo_array((weights, (rows, columns)), shape=(len(counts), len(column))).tocsr()
    dense = np.asarray((table @ table.T).todense(), dtype=np.float64)
    lengths = np.sqrt(np.maximum(dense.diagonal(), 1e-12))
    likeness: Floats = dense / np.outer(lengths, lengths)
    return likeness


def _lexrank(likeness: Floats) -> Floats:
    others = likeness.copy()
    np.fill_diagonal(others, 0.0)
    return personalized_pagerank(
        sparse.csr_array(others), np.ones(len(others)), damping=_DAMPING, tolerance=1e-9
    )


def _scaled(values: Floats) -> Floats:
    return values / max(float(values.max()), 1e-12)
