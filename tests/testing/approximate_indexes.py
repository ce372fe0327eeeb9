"""Stores with approximate indexes made of real parts, as a server has them.

`IvfStore` searches the inverted lists of the nearest centroids, `FtsStore` ranks by the bm25() of
SQLite's FTS5 over tokens of its own. All else is that of an index in memory.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import apsw
import apsw.fts5
import numpy as np

from knotwork._stores.base import FloatMatrix, IntMatrix, Scored, require_contents
from knotwork._stores.indexes import as_query, matrix_search_error
from knotwork._stores.urls import open_store
from knotwork._text.terms import terms


class WrappedStore:
    """An index in memory whose members can be replaced."""

    def __init__(self) -> None:
        self.whole = open_store("memory:")

    def __getattr__(self, name: str) -> object:
        return getattr(self.whole, name)


class IvfStore(WrappedStore):
    """An index in memory whose vectors are in inverted lists (IVF)."""

    lists = 12
    probes = 8

    def __init__(self) -> None:
        super().__init__()
        self.trained: dict[str, tuple[int, InvertedLists]] = {}

    def vectors(self, name: str) -> IvfVectors:
        return IvfVectors(self, name)


class InvertedLists:
    """Rows by their nearest centroid, found by a few rounds of k-means."""

    def __init__(self, held: dict[str, FloatMatrix], lists: int) -> None:
        self.ids = np.array(sorted(held))
        self.rows = np.array([held[i] for i in self.ids])
        chance = np.random.default_rng(5)
        self.centroids = chance.permutation(self.rows)[:lists]
        for _ in range(5):
            self.list_of = (self.rows @ self.centroids.T).argmax(axis=1)
            for number in range(len(self.centroids)):
                own = self.rows[self.list_of == number]
                if len(own):
                    mean = own.mean(axis=0)
                    self.centroids[number] = mean / max(np.linalg.norm(mean), 1e-9)
        self.list_of = (self.rows @ self.centroids.T).argmax(axis=1)


class IvfVectors:
    """An index that reads the lists of the nearest centroids, and more if a filter needs more."""

    def __init__(self, store: IvfStore, name: str) -> None:
        self._store = store
        self._name = name
        self._exact = store.whole.vectors(name)

    def __getattr__(self, name: str) -> object:
        return getattr(self._exact, name)

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        if k <= 0 or not self._exact.count():
            return []
        index = self._lists()
        as_query(vector, index.rows.shape[1])
        nearest = np.argsort(-(index.centroids @ vector), kind="stable")
        allowed = np.ones(len(index.ids), dtype=bool) if where is None else self._among(where)
        for probes in range(self._store.probes, len(nearest) + self._store.probes):
            places = np.flatnonzero(np.isin(index.list_of, nearest[:probes]) & allowed)
            if len(places) >= k:
                break
        scores = index.rows[places] @ vector
        found = [Scored(str(index.ids[p]), float(s)) for p, s in zip(places, scores, strict=True)]
        return sorted(found, key=lambda s: (-s.score, s.id))[:k]

    def _among(self, where: Collection[str]) -> np.ndarray:
        return np.isin(self._lists().ids, list(where))

    def _lists(self) -> InvertedLists:
        known = self._store.trained.get(self._name)
        if known is None or known[0] != self._store.generation() or self._store.writing:
            items = (
                require_contents(self._store.whole)
                .page(f"{self._name} vectors", "", limit=100_000)
                .rows
            )
            if any(len(item.matrix) != 1 for item in items):
                raise matrix_search_error(self._name)
            held = {item.id: item.matrix[0] for item in items}
            known = self._store.generation(), InvertedLists(held, self._store.lists)
            self._store.trained[self._name] = known
        return known[1]


class FtsStore(WrappedStore):
    """An index in memory whose texts are in FTS5 tables."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, FtsTexts] = {}

    def texts(self, name: str) -> FtsTexts:
        return self._tables.setdefault(name, FtsTexts())


class FtsTexts:
    """Texts by the words of Unicode and Porter's stems; two Chinese characters make a term."""

    tokenizer = "porter unicodewords"

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._database = apsw.Connection(":memory:")
        self._database.register_fts5_tokenizer("unicodewords", apsw.fts5.UnicodeWordsTokenizer)
        self._database.execute(
            f"CREATE VIRTUAL TABLE item USING fts5(id UNINDEXED, text, tokenize='{self.tokenizer}')"
        )

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        new = dict(items)
        self.remove(new)
        self._database.executemany("INSERT INTO item VALUES (?, ?)", new.items())
        self._texts.update(new)

    def remove(self, ids: Collection[str]) -> None:
        self._database.executemany("DELETE FROM item WHERE id = ?", ((i,) for i in ids))
        for identifier in ids:
            self._texts.pop(identifier, None)

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        phrases = [part for word in _WORDS.findall(query) for part in _pairs(word)]
        if not phrases:
            return []
        asked = " OR ".join(f'"{phrase}"' for phrase in phrases)
        rows = self._database.execute("SELECT id, -bm25(item) FROM item(?)", (asked,))
        found = [Scored(i, score) for i, score in rows if where is None or i in where]
        return sorted(found, key=lambda s: (-s.score, s.id))[: max(k, 0)]

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        counts = [self._counts(self._texts.get(i, "")) for i in ids]
        found = [[held[term] for term in terms] for held in counts]
        return np.array(found, dtype=np.int32).reshape(len(ids), len(terms))

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        held = [self._counts(text) for text in self._texts.values()]
        counts = {term: sum(term in count for count in held) for term in terms}
        return {term: count for term, count in counts.items() if count}

    def count(self) -> int:
        return len(self._texts)

    def _counts(self, text: str) -> Counter[str]:
        return Counter(terms(text))


_WORDS = re.compile(r"[A-Za-z0-9]+|[\u4e00-\u9fff]+")


def _pairs(word: str) -> list[str]:
    if word.isascii() or len(word) < 3:
        return [word]
    return [word[start : start + 2] for start in range(len(word) - 1)]
