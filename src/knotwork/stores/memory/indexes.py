"""Text and vector indexes in dictionaries: every search looks at every item."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from knotwork.stores.base import FloatMatrix, IntMatrix, Scored
from knotwork.stores.memory.state import Access, KeyedMatrix
from knotwork.stores.scoring import as_query, as_rows, exact_scores, refuse_matrices, stored_type
from knotwork.text.terms import query_terms, terms

_K1 = 1.2
_B = 0.75
_LEAST_IDF = 1e-6


class MemoryTexts:
    """The `TextIndex` of the memory store: BM25 by its formula."""

    def __init__(self, access: Access, name: str) -> None:
        self._state, self._transaction = access
        self._name = name

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        with self._transaction():
            stored = self._state().texts.setdefault(self._name, {})
            for identifier, text in items:
                stored[identifier] = Counter(terms(text))

    def remove(self, ids: Collection[str]) -> None:
        with self._transaction():
            stored = self._state().texts.get(self._name, {})
            for identifier in ids:
                stored.pop(identifier, None)

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        counts = self._counts()
        asked = query_terms(query)
        frequencies = self.document_frequencies(asked)
        mean_length = sum(map(Counter.total, counts.values())) / max(len(counts), 1)
        found: list[Scored] = []
        for identifier in counts if where is None else set(where) & counts.keys():
            terms_of_item = counts[identifier]
            length = terms_of_item.total()
            score = 0.0
            for term in asked:
                times = terms_of_item[term]
                idf = _idf(len(counts), frequencies.get(term, 0))
                share = _K1 * (1 - _B + _B * length / mean_length) if times else 1.0
                score += idf * ((times * (_K1 + 1.0)) / (times + share))
            if any(term in terms_of_item for term in asked):
                found.append(Scored(identifier, score))
        return _best(found, k)

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        counts = self._counts()
        rows = [[counts[i][term] if i in counts else 0 for term in terms] for i in ids]
        return np.array(rows, dtype=np.int32).reshape(len(ids), len(terms))

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        counts = self._counts().values()
        found = {term: sum(term in item for item in counts) for term in terms}
        return {term: count for term, count in found.items() if count}

    def count(self) -> int:
        return len(self._counts())

    def _counts(self) -> dict[str, Counter[str]]:
        return self._state().texts.get(self._name, {})


class MemoryVectors:
    """The `VectorIndex` of the memory store: one dot product after the other."""

    def __init__(self, access: Access, name: str) -> None:
        self._state, self._transaction = access
        self._name = name

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        with self._transaction():
            dimension = self._dimension()
            new: dict[str, KeyedMatrix] = {}
            for identifier, key, matrix in items:
                rows = as_rows(matrix, dimension)
                dimension = rows.shape[1]
                new[identifier] = KeyedMatrix(key, rows.astype(stored_type(self._name)))
            self._state().vectors.setdefault(self._name, {}).update(new)

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        stored = self._items()
        return {i: stored[i].rows.astype(np.float32) for i in ids if i in stored}

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        wanted = set(keys)
        stored = self._items()
        found: dict[str, FloatMatrix] = {}
        for identifier in sorted(stored):
            key, rows = stored[identifier]
            if key in wanted and key not in found:
                found[key] = rows.astype(np.float32)
        return found

    def remove(self, ids: Collection[str]) -> None:
        with self._transaction():
            stored = self._items()
            for identifier in ids:
                stored.pop(identifier, None)

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        stored = self._items()
        dimension = self._dimension()
        if dimension is None:
            return []
        if any(len(item.rows) != 1 for item in stored.values()):
            raise refuse_matrices(self._name)
        query = as_query(vector, dimension)
        ids = stored.keys() if where is None else set(where) & stored.keys()
        return _best([Scored(i, float(exact_scores(stored[i].rows, query)[0])) for i in ids], k)

    def count(self) -> int:
        return len(self._items())

    def take_over(self, source: MemoryVectors) -> None:
        """Replace all vectors with those of another index, which ends up empty."""
        with self._transaction():
            vectors = self._state().vectors
            vectors[self._name] = vectors.pop(source._name, {})

    def clear(self) -> None:
        """Remove all vectors."""
        with self._transaction():
            self._state().vectors.pop(self._name, None)

    def _items(self) -> dict[str, KeyedMatrix]:
        return self._state().vectors.get(self._name, {})

    def _dimension(self) -> int | None:
        return next((item.rows.shape[1] for item in self._items().values()), None)


def _idf(items: int, frequency: int) -> float:
    """Return the inverse document frequency as SQLite's FTS5 defines it."""
    idf = math.log((items - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _LEAST_IDF


def _best(found: Iterable[Scored], k: int) -> list[Scored]:
    return sorted(found, key=lambda scored: (-scored.score, scored.id))[: max(k, 0)]
