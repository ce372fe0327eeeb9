"""The postings of terms in memory, as of one generation, to rank by arrays.

FTS5 spends about a microsecond on each item that holds a term of a question, which for frequent
terms of a large index is most of a search. Here a term's postings are read once and kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork.stores.embedded.bm25 import Weights, gain
from knotwork.stores.embedded.database import Database
from knotwork.stores.scoring import best

_MOST_HELD = 8_000_000
"""Postings kept at most, of six bytes each."""

_MOST_TIMES = int(np.iinfo(np.uint16).max)


class _Term(NamedTuple):
    """Where a term occurs, as places in the array of keys, and how often."""

    places: NDArray[np.int32]
    times: NDArray[np.uint16]


class Postings:
    """The items of a full-text table with their lengths, and the postings asked for so far.

    All calls must see the index at ``generation``. Threads may share it: at worst, two of them read
    the same term.
    """

    def __init__(self, database: Database, table: str, generation: int) -> None:
        self.generation = generation
        self._database = database
        self._table = table
        rows = database.fetch(f"SELECT id, length FROM {table}_counts ORDER BY id")  # noqa: S608
        self._keys, self._lengths = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
        self._terms: dict[str, _Term] = {}
        self._held = 0

    def search(
        self, weights: Weights, k: int, *, among: NDArray[np.int64] | None = None
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best items with their scores, ties by key; use inside `reading`.

        With ``among`` only items with these keys are ranked.
        """
        scores = np.zeros(len(self._keys))
        shares = weights.shares(self._lengths)
        for term, idf in zip(weights.terms, weights.idfs, strict=True):
            places, times = self._postings(term)
            scores[places] += gain(idf, times, shares[places])
        if among is not None:
            scores[~self._among(among)] = 0.0
        matching = np.count_nonzero(scores)
        least = np.partition(scores, -k)[-k] if matching > k else 0.0
        near = np.flatnonzero((scores >= least) & (scores > 0))
        return best(self._keys[near].tolist(), scores[near].tolist(), k)

    def _among(self, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each item whether its key is wanted."""
        found = np.zeros(len(self._keys), dtype=np.bool_)
        places = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        found[places[self._keys[places] == wanted]] = True
        return found

    def _postings(self, term: str) -> _Term:
        found = self._terms.get(term)
        if found is None:
            found = self._read(term)
            if self._held > _MOST_HELD:
                self._terms, self._held = {}, 0
            self._terms[term] = found
            self._held += len(found.places)
        return found

    def _read(self, term: str) -> _Term:
        instances = f"temp.{self._table}_instances"
        self._database.fetch(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {instances}"
            f" USING fts5vocab('main', '{self._table}', 'instance')"
        )
        rows = self._database.fetch(f"SELECT doc FROM {instances} WHERE term = ?", (term,))  # noqa: S608
        occurrences = np.fromiter((key for (key,) in rows), np.int64, len(rows))
        keys, times = np.unique(occurrences, return_counts=True)
        places = np.searchsorted(self._keys, keys).astype(np.int32)
        return _Term(places, times.clip(max=_MOST_TIMES).astype(np.uint16))
