"""Search full text in memory: the items that have each term, of one state of an index."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import apsw
import numpy as np
from numpy.typing import NDArray

from knotwork._stores.bm25 import QueryTermWeights, gain
from knotwork._stores.embedded.text_pages import (
    ItemTerms,
    TermItems,
    TextPages,
    read_changed,
    read_pages,
    read_state,
)
from knotwork._stores.id_sets import is_among
from knotwork._stores.packed_terms import signed_hash
from knotwork._stores.vectors import top_scores


class Postings:
    """The pages of a full-text index and the items that wait for one, as one list of items.

    All calls must see the state of the index that was read. Threads can share an object.
    """

    def __init__(self, pages: TextPages, waiting: ItemTerms, changed: NDArray[np.int64]) -> None:
        self.pages = pages
        self._waiting = waiting
        self._keys = np.concatenate([pages.keys, waiting.keys])
        self._lengths = np.concatenate([pages.lengths, waiting.lengths])
        self._alive = self._keys >= 0
        self._alive[pages.places_of(changed)] = False
        self._are_all_alive = bool(self._alive.all())

    @classmethod
    def read(cls, connection: apsw.Connection, table: str, *, known: TextPages | None) -> Postings:
        """Read a state of an index; pages that are ``known`` are not read again."""
        if known is None or known.state != read_state(connection, table):
            known = read_pages(connection, table)
        return cls(known, *read_changed(connection, table))

    def items_of(self, connection: apsw.Connection, terms: Collection[str]) -> dict[str, TermItems]:
        """Return the items with each term."""
        hashes = {term: signed_hash(term) for term in terms}
        paged = self.pages.items_of(connection, hashes.values())
        found = {}
        for term, hashed in hashes.items():
            places, times = paged[hashed]
            if not self._are_all_alive:
                alive = self._alive[places]
                places, times = places[alive], times[alive]
            more = self._waiting.of_term(hashed, start=len(self.pages.keys))
            found[term] = TermItems(
                np.concatenate([places, more.places]), np.concatenate([times, more.times])
            )
        return found

    @property
    def keys(self) -> NDArray[np.int64]:
        """The keys of all items."""
        return self._keys[self._alive]

    def count_terms(self, connection: apsw.Connection) -> int:
        """Return the number of pairs of an item and a term that it has."""
        paged = self.pages.count_postings(connection, self._alive[: len(self.pages.keys)])
        return paged + len(self._waiting.terms)

    def search(
        self,
        weights: QueryTermWeights,
        items: Mapping[str, TermItems],
        k: int,
        *,
        among: NDArray[np.int64] | None = None,
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best items with their scores, ties by key.

        ``items`` are those of the terms of ``weights``. ``among`` restricts the result to items
        with these keys.
        """
        all_scores = np.zeros(len(self._keys))
        for term, idf in zip(weights.terms, weights.idfs, strict=True):
            places, times = items[term]
            all_scores[places] += gain(idf, times, weights.shares(self._lengths[places]))
        matching = np.flatnonzero(all_scores)
        if among is not None:
            matching = matching[is_among(self._keys[matching], among)]
        scores = all_scores[matching]
        if len(matching) > k:
            near = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
            matching, scores = matching[near], scores[near]
        return top_scores(self._keys[matching].tolist(), scores.tolist(), k)
