"""BM25 (k1 = 1.2, b = 0.75), and how many of the terms of a query have to be looked up for it.

The gain of frequent terms is small: a term adds at most (k1 + 1)·idf. Once ``k`` items score more
than all frequent terms together can add, items with only frequent terms cannot be among the best.
This is the idea of MaxScore (Turtle and Flood, 1995).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1 = 1.2
B = 0.75
_LEAST_IDF = 1e-6
_FIRST_SHARE = 0.03
"""Share of all postings that the first look-up reads, to estimate the best scores."""

_LEAST_SAVING = 0.3
"""Share of all postings that further look-ups must save; else all terms are looked up at once."""

MARGIN = 1e-9
"""Bound of the rounding error of a score."""


@dataclass(frozen=True, slots=True)
class QueryTermWeights:
    """The terms of a query that occur in the index, in their order, with their BM25 weights.

    ``frequencies`` are in items, ``mean_length`` is in terms per item.
    """

    terms: tuple[str, ...]
    frequencies: tuple[int, ...]
    idfs: tuple[float, ...]
    mean_length: float

    @classmethod
    def of(cls, frequencies: Mapping[str, int], *, items: int, tokens: int) -> QueryTermWeights:
        """Compute the weights from document frequencies in an index of ``items`` items."""
        idfs = tuple(_idf(items, frequency) for frequency in frequencies.values())
        return cls(tuple(frequencies), tuple(frequencies.values()), idfs, tokens / max(items, 1))

    def scores(self, counts: NDArray[np.int32], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of items from their term counts, of shape (items, terms)."""
        shares = self.shares(lengths)
        scores = np.zeros(len(lengths), dtype=np.float64)
        for column, idf in enumerate(self.idfs):
            scores += gain(idf, counts[:, column], shares)
        return scores

    def shares(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return k1·(1 - b + b·length / mean length), the length normalization of BM25."""
        return np.asarray(K1 * (1 - B + B * lengths / self.mean_length), dtype=np.float64)

    def rarest_first(self) -> list[str]:
        """Return the terms by ascending document frequency."""
        order = sorted(range(len(self.terms)), key=lambda n: (self.frequencies[n], n))
        return [self.terms[n] for n in order]

    def bound(self, terms: Sequence[str]) -> float:
        """Return an upper bound of the score of an item that has only these terms."""
        weight = dict(zip(self.terms, self.idfs, strict=True))
        return (K1 + 1.0) * sum(weight[term] for term in terms) + MARGIN

    def first_terms(self, k: int) -> int:
        """Return the number of rarest terms that estimate the ``k`` best scores at a low cost."""
        seen, wanted = 0, max(k, sum(self.frequencies) * _FIRST_SHARE)
        for number, term in enumerate(self.rarest_first(), start=1):
            seen += self._frequency(term)
            if seen >= wanted:
                return number
        return len(self.terms)

    def sufficient_terms(self, least: float, *, at_least: int, max_near: int) -> int:
        """Return the number of rarest terms to look up if the best items score ``least`` or more.

        The other terms alone must not reach that score, at most about ``max_near`` items may need
        them to reach it, and leaving them out must save enough (`_LEAST_SAVING`).
        """
        ordered = self.rarest_first()
        for number in range(at_least, len(ordered)):
            rest = self.bound(ordered[number:])
            if rest >= least:
                continue
            missing = least - rest
            near = [t for t in ordered[:number] if self.idfs[self.terms.index(t)] >= missing]
            if sum(map(self._frequency, near)) <= max_near:
                saved = sum(map(self._frequency, ordered[number:]))
                return number if saved >= _LEAST_SAVING * sum(self.frequencies) else len(ordered)
        return len(ordered)

    def _frequency(self, term: str) -> int:
        return self.frequencies[self.terms.index(term)]


def gain(
    idf: float, times: NDArray[np.integer], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a term adds to the scores of items, from its number of occurrences in each."""
    counts = times.astype(np.float64)
    return idf * ((counts * (K1 + 1.0)) / (counts + shares))


def _idf(items: int, frequency: int) -> float:
    idf = math.log((items - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _LEAST_IDF
