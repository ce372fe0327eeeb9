"""BM25 as FTS5 computes it, and how much of a question must be looked up to rank it exactly.

A frequent term costs most to look up and adds least to a score. No occurrence adds more than
(k1 + 1)·idf, so that once ``k`` items score above what all frequent terms together can add, items
that hold only those cannot be among the best: the idea of MaxScore (Turtle and Flood 1995).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_K1 = 1.2
_B = 0.75
_LEAST_IDF = 1e-6
_FIRST_SHARE = 0.03
"""The share of all occurrences that the first look-up reads, to learn what the best score."""

_WORTH = 0.3
"""The share of all occurrences that must be saved for a second look-up to pay."""

_MARGIN = 1e-9
"""What rounding may do to a score."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The terms of a question that occur at all, in its order, with their weights.

    ``frequencies`` are in items, ``mean_length`` is in terms an item.
    """

    terms: tuple[str, ...]
    frequencies: tuple[int, ...]
    idfs: tuple[float, ...]
    mean_length: float

    @classmethod
    def of(cls, frequencies: Mapping[str, int], *, items: int, tokens: int) -> Weights:
        """Weigh terms by their document frequencies in an index of ``items`` items."""
        idfs = tuple(_idf(items, frequency) for frequency in frequencies.values())
        return cls(tuple(frequencies), tuple(frequencies.values()), idfs, tokens / max(items, 1))

    def scores(self, counts: NDArray[np.int32], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of items with these counts of terms, of shape (items, terms)."""
        shares = self.shares(lengths)
        scores = np.zeros(len(lengths), dtype=np.float64)
        for column, idf in enumerate(self.idfs):
            scores += gain(idf, counts[:, column], shares)
        return scores

    def shares(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return how much items of these lengths dampen what their terms add."""
        return np.asarray(_K1 * (1 - _B + _B * lengths / self.mean_length), dtype=np.float64)

    def rarest_first(self) -> list[str]:
        """Return the terms, the rarest first."""
        order = sorted(range(len(self.terms)), key=lambda n: (self.frequencies[n], n))
        return [self.terms[n] for n in order]

    def bound(self, terms: Sequence[str]) -> float:
        """Return more than any item can score by these terms alone."""
        weight = dict(zip(self.terms, self.idfs, strict=True))
        return (_K1 + 1.0) * sum(weight[term] for term in terms) + _MARGIN

    def to_begin_with(self, k: int) -> int:
        """Return how many of the rarest terms tell at little cost what ``k`` items can score."""
        seen, wanted = 0, max(k, sum(self.frequencies) * _FIRST_SHARE)
        for number, term in enumerate(self.rarest_first(), start=1):
            seen += self._frequency(term)
            if seen >= wanted:
                return number
        return len(self.terms)

    def enough(self, least: float, *, at_least: int, most_near: int) -> int:
        """Return how many of the rarest terms to look up, given that the best score ``least``.

        All others must be unable to reach that by themselves, about ``most_near`` items at most
        may need them to reach it, and they must be worth leaving out.
        """
        ordered = self.rarest_first()
        for number in range(at_least, len(ordered)):
            rest = self.bound(ordered[number:])
            if rest >= least:
                continue
            missing = least - rest
            near = [t for t in ordered[:number] if self.idfs[self.terms.index(t)] >= missing]
            if sum(map(self._frequency, near)) <= most_near:
                left_out = sum(map(self._frequency, ordered[number:]))
                return number if left_out >= _WORTH * sum(self.frequencies) else len(ordered)
        return len(ordered)

    def _frequency(self, term: str) -> int:
        return self.frequencies[self.terms.index(term)]


def gain(
    idf: float, times: NDArray[np.integer], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a term that occurs so many times adds to the scores of items."""
    often = times.astype(np.float64)
    return idf * ((often * (_K1 + 1.0)) / (often + shares))


def _idf(items: int, frequency: int) -> float:
    idf = math.log((items - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _LEAST_IDF
