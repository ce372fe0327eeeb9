"""Text and vector indexes that search among what a filter leaves.

Term statistics are those of the whole index, so that a passage has the same score with a filter and
without.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from knotwork.stores.base import FloatMatrix, IntMatrix, Scored, TextIndex, VectorIndex
from knotwork.stores.filtered.documents import refuse_to_write
from knotwork.stores.id_sets import IdSet


class FilteredTexts:
    """The `TextIndex` of a filtered index."""

    add = refuse_to_write
    remove = refuse_to_write

    def __init__(self, index: TextIndex, allowed: IdSet) -> None:
        self._index = index
        self._allowed = allowed

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        """Return the ``k`` best allowed items; among ``where``."""
        return self._index.search(query, k=k, where=_among(self._allowed, where))

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item; zeros for what is not allowed."""
        counts = self._index.occurrences(ids, terms)
        counts[[i not in self._allowed for i in ids]] = 0
        return counts

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return in how many items of the whole index each term occurs."""
        return self._index.document_frequencies(terms)

    def count(self) -> int:
        """Return the number of items of the whole index, to which frequencies refer."""
        return self._index.count()


class FilteredVectors:
    """The `VectorIndex` of a filtered index."""

    put = refuse_to_write
    remove = refuse_to_write

    def __init__(self, index: VectorIndex, allowed: IdSet) -> None:
        self._index = index
        self._allowed = allowed

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by id."""
        return self._index.get([i for i in ids if i in self._allowed])

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by content key, which say nothing of where the content is."""
        return self._index.by_key(keys)

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        """Return the ``k`` allowed ids with the largest dot product; among ``where``."""
        return self._index.search(vector, k=k, where=_among(self._allowed, where))

    def count(self) -> int:
        """Return the number of ids of the whole index."""
        return self._index.count()


def _among(allowed: IdSet, where: Collection[str] | None) -> Collection[str]:
    return allowed if where is None else [i for i in where if i in allowed]
