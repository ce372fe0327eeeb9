"""Full-text indexes in FTS5, fed with our own terms.

FTS5 sees the terms joined by spaces and splits there alone: to its `ascii` tokenizer all but ASCII
belongs to a token, and the full stop of decimal numbers is told to. Its BM25 uses k1 = 1.2 and
b = 0.75. Beside it, each item keeps its terms with their counts, to be scored by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import StoreError
from knotwork.records import id_to_int, int_to_id
from knotwork.stores.base import IntMatrix, Scored
from knotwork.stores.embedded.bm25 import Weights
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import key_array, keys_of, pack_keys
from knotwork.stores.embedded.postings import Postings
from knotwork.stores.embedded.term_counts import count_terms, pack_terms
from knotwork.stores.scoring import best
from knotwork.text.terms import query_terms, terms

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
_MOST_SCORED = 400
_MOST_SCORED_AMONG = 2_000
_MOST_FREQUENCIES = 50_000


class _Totals(NamedTuple):
    items: int
    tokens: int


class _Known(NamedTuple):
    """Document frequencies of terms, as of one generation."""

    generation: int
    frequencies: dict[str, int]


class EmbeddedTexts:
    """The `TextIndex` of the embedded store."""

    def __init__(self, database: Database, name: str) -> None:
        check_name(name)
        self._database = database
        self._name = name
        self._table = f"text_{name}"
        self._known = _Known(-1, {})
        self._postings: Postings | None = None
        self._searched = -1

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs; an id that exists is replaced."""
        found = {id_to_int(identifier): terms(text) for identifier, text in items}
        if not found:
            return
        with self._database.transaction():
            totals = self._totals() or self._create()
            replaced = self._lengths(found)
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table} (rowid, terms) VALUES (?, ?)",  # noqa: S608
                ((key, " ".join(words)) for key, words in found.items()),
            )
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table}_counts VALUES (?, ?, ?, ?)",  # noqa: S608
                ((key, len(words), *pack_terms(words)) for key, words in found.items()),
            )
            added = sum(map(len, found.values()))
            self._write_totals(
                totals.items + len(found) - len(replaced), totals.tokens + added - sum(replaced)
            )

    def remove(self, ids: Collection[str]) -> None:
        """Remove items."""
        with self._database.transaction():
            totals = self._totals()
            keys = [key for _, key in keys_of(ids)]
            removed = self._lengths(keys) if totals else []
            if totals is None or not removed:
                return
            for table, column in ((self._table, "rowid"), (f"{self._table}_counts", "id")):
                self._database.write_many(
                    f"DELETE FROM {table} WHERE {column} = ?",  # noqa: S608
                    ((key,) for key in keys),
                )
            self._write_totals(totals.items - len(removed), totals.tokens - sum(removed))

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        """Return the ``k`` best of the items that share a term with ``query``; among ``where``."""
        asked = query_terms(query)
        if k <= 0:
            return []
        with self._database.reading():
            totals = self._totals()
            frequencies = self._frequencies(asked) if totals else {}
            if totals is None or not frequencies:
                return []
            weights = Weights.of(frequencies, items=totals.items, tokens=totals.tokens)
            among = None if where is None else key_array(where)
            if among is not None and len(among) <= _MOST_SCORED_AMONG:
                found = self._score(weights, among.tolist(), k)
            elif postings := self._shared_postings():
                found = postings.search(weights, k, among=among)
            elif among is None:
                found = self._search_rarest(weights, k)
            else:
                found = self._match(weights.terms, k, among=among.tolist())
        return [Scored(int_to_id(key), score) for key, score in found]

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item, of shape (len(ids), len(terms))."""
        result = np.zeros((len(ids), len(terms)), dtype=np.int32)
        keys = dict(keys_of(ids))
        with self._database.reading():
            if not keys or self._totals() is None:
                return result
            stored, _, counts = self._counts(list(keys.values()), terms)
        places = {key: place for place, key in enumerate(stored)}
        found = [places.get(keys.get(identifier, -1), -1) for identifier in ids]
        there = np.array(found, dtype=np.intp) >= 0
        result[there] = counts[[place for place in found if place >= 0]]
        return result

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return in how many items each term occurs; absent terms are absent."""
        with self._database.reading():
            return self._frequencies(terms) if self._totals() else {}

    def count(self) -> int:
        """Return the number of items."""
        with self._database.reading():
            totals = self._totals()
        return totals.items if totals else 0

    def _shared_postings(self) -> Postings | None:
        """Return the postings in memory, from the second search of a generation on.

        To answer one question alone, FTS5 is faster than reading the lengths of all items.
        """
        if self._database.writing:
            return None
        generation = self._database.generation()
        if self._postings and self._postings.generation == generation:
            return self._postings
        if self._searched != generation:
            self._searched = generation
            return None
        postings = Postings(self._database, self._table, generation)
        self._postings = postings
        return postings

    def _search_rarest(self, weights: Weights, k: int) -> list[tuple[int, float]]:
        """Look up the rarest terms only, as many as the ``k`` best need; see `bm25`."""
        ordered = weights.rarest_first()
        number = weights.to_begin_with(k)
        while number < len(ordered):
            rows = self._match(ordered[:number], _MOST_SCORED + 1)
            least = rows[k - 1][1] if len(rows) >= k else 0.0
            rest = weights.bound(ordered[number:])
            near = [key for key, score in rows if score >= least - rest]
            if rest < least and len(near) <= _MOST_SCORED:
                return self._score(weights, near, k)
            number = weights.enough(least, at_least=number + 1, most_near=_MOST_SCORED)
        return self._match(weights.terms, k)

    def _match(
        self, asked: Sequence[str], k: int, *, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Let FTS5 rank the items that hold any of the terms."""
        condition = "" if among is None else "AND +rowid IN (SELECT value FROM json_each(?))"
        rows = self._database.fetch(
            f"SELECT rowid, -rank FROM {self._table} WHERE {self._table} MATCH ? {condition}"  # noqa: S608
            " ORDER BY rank, rowid LIMIT ?",
            (" OR ".join(f'"{term}"' for term in asked), *([pack_keys(among)] if among else []), k),
        )
        return [(key, score) for key, score in rows]

    def _score(self, weights: Weights, keys: Sequence[int], k: int) -> list[tuple[int, float]]:
        """Rank these items by the counts they keep."""
        stored, lengths, counts = self._counts(keys, weights.terms)
        matching = np.flatnonzero(counts.any(axis=1))
        scores = weights.scores(counts[matching], lengths[matching])
        return best([stored[row] for row in matching], scores.tolist(), k)

    def _counts(
        self, keys: Sequence[int], asked: Sequence[str]
    ) -> tuple[list[int], NDArray[np.int64], IntMatrix]:
        """Return the keys that exist, their lengths, and their counts of the terms asked for."""
        rows = self._database.fetch(
            "SELECT c.id, c.length, c.hashes, c.times FROM json_each(?) j"  # noqa: S608
            f" CROSS JOIN {self._table}_counts c ON c.id = j.value",
            (pack_keys(keys),),
        )
        lengths = np.fromiter((length for _, length, _, _ in rows), np.int64, len(rows))
        counts = count_terms([(hashes, times) for _, _, hashes, times in rows], asked)
        return [key for key, _, _, _ in rows], lengths, counts

    def _frequencies(self, asked: Collection[str]) -> dict[str, int]:
        """Return document frequencies in the order asked; known ones while nothing is written."""
        state = _Known(-1, {})
        if not self._database.writing:
            generation = self._database.generation()
            state = self._known
            if state.generation != generation or len(state.frequencies) > _MOST_FREQUENCIES:
                state = self._known = _Known(generation, {})
        known = state.frequencies
        missing = [term for term in dict.fromkeys(asked) if term not in known]
        sql = f"SELECT doc FROM {self._table}_terms WHERE term = ?"  # noqa: S608
        found = self._database.rows_of_each(sql, missing)
        new = {term: rows[0][0] if rows else 0 for term, rows in zip(missing, found, strict=True)}
        known |= new
        return {term: known[term] for term in dict.fromkeys(asked) if known[term]}

    def _lengths(self, keys: Collection[int]) -> list[int]:
        """Return the lengths of the items that exist."""
        sql = f"SELECT length FROM {self._table}_counts WHERE id = ?"  # noqa: S608
        return [rows[0][0] for rows in self._database.rows_of_each(sql, keys) if rows]

    def _totals(self) -> _Totals | None:
        sql = "SELECT items, tokens FROM text_index WHERE name = ?"
        rows = self._database.rows(sql, (self._name,))
        return _Totals(*rows[0]) if rows else None

    def _write_totals(self, items: int, tokens: int) -> None:
        self._database.write(
            "UPDATE text_index SET items = ?, tokens = ? WHERE name = ?",
            (items, tokens, self._name),
        )

    def _create(self) -> _Totals:
        self._database.write(
            f"CREATE VIRTUAL TABLE {self._table} USING fts5(terms, content='',"
            " contentless_delete=1, tokenize=\"ascii tokenchars '.'\")"
        )
        self._database.write(
            f"CREATE VIRTUAL TABLE {self._table}_terms USING fts5vocab({self._table}, row)"
        )
        self._database.write(
            f"CREATE TABLE {self._table}_counts (id INTEGER PRIMARY KEY,"
            " length INTEGER NOT NULL, hashes BLOB NOT NULL, times BLOB NOT NULL)"
        )
        self._database.write("INSERT INTO text_index VALUES (?, 0, 0)", (self._name,))
        return _Totals(0, 0)


def check_name(name: str) -> None:
    """Raise StoreError unless ``name`` can be the name of an index."""
    if not _NAME.fullmatch(name):
        raise StoreError(
            f"`{name}` cannot name an index.",
            fix="Use up to 41 lower-case letters, digits and underscores, a letter first.",
        )
