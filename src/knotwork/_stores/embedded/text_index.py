"""Full-text index on SQLite FTS5 with Knotwork's own terms, ranked by BM25.

FTS5 gets the terms joined by spaces and splits them only there: its `ascii` tokenizer keeps all
non-ASCII characters in a token, and the full stop is added for decimal numbers. Its BM25 uses
k1 = 1.2 and b = 0.75. A second table has the terms of each item with their counts, as sorted 64-bit
hashes, so that single items can be scored. From the second search of a generation on, postings are
cached in memory.

Frequent terms cost most to look up and add least to a score: a term adds at most (k1 + 1)·idf. Once
``k`` items score more than all frequent terms together can add, items with only frequent terms
cannot be among the best. This is the idea of MaxScore (Turtle and Flood, 1995).
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.base import IntMatrix, Scored
from knotwork._stores.bm25 import QueryTermWeights, gain
from knotwork._stores.contents import TextItem
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.dialect import SQLITE
from knotwork._stores.id_sets import is_among
from knotwork._stores.packed_terms import MAX_COUNT, check_index_name, count_terms, pack_terms
from knotwork._stores.sql.database import Row, reports_damage
from knotwork._stores.sql.packing import key_array, keys_of
from knotwork._stores.sql.term_frequencies import TermFrequencies
from knotwork._stores.vectors import top_scores
from knotwork._text.terms import query_terms, terms
from knotwork.records import id_to_int, int_to_id

_MAX_SCORED = 400
_MAX_SCORED_AMONG = 2_000
_ITEMS_PER_SEARCH = 200_000
"""Items whose lengths are read in about the time that a search in FTS5 takes more."""


class _Totals(NamedTuple):
    items: int
    tokens: int


@reports_damage
class EmbeddedTexts:
    """The `TextIndex` of the embedded store."""

    def __init__(self, database: Database, name: str) -> None:
        check_index_name(name)
        self._database = database
        self._name = name
        self._table = f"text_{name}"
        self._frequencies = TermFrequencies(database, self._count_items)
        self._postings: Postings | None = None
        self._last_searched = -1  # the generation of the last search
        self._searches = 0  # in that generation

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

    def items(self, after: int, *, limit: int) -> list[TextItem]:
        """Return the first ``limit`` items whose keys follow ``after``, by key."""
        with self._database.reading():
            if self._totals() is None:
                return []
            rows = self._database.fetch(
                f"SELECT id, length FROM {self._table}_counts WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (after, limit),
            )
        return [TextItem(int_to_id(key), length) for key, length in rows]

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
        """Return the ``k`` best items that share a term with ``query``, of ``where`` if given."""
        if k <= 0:
            return []
        with self._database.reading():
            totals = self._totals()
            frequencies = self._frequencies.of(query_terms(query)) if totals else {}
            if totals is None or not frequencies:
                return []
            weights = QueryTermWeights.of(frequencies, items=totals.items, tokens=totals.tokens)
            among = None if where is None else key_array(where)
            if among is not None and len(among) <= _MAX_SCORED_AMONG:
                found = self._score(weights, among.tolist(), k)
            elif postings := self._shared_postings(totals):
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
        """Return the number of items with each term, without terms that no item has."""
        with self._database.reading():
            return self._frequencies.of(terms) if self._totals() else {}

    def count(self) -> int:
        """Return the number of items."""
        with self._database.reading():
            totals = self._totals()
        return totals.items if totals else 0

    def differing(self, items: Iterable[tuple[str, str]]) -> list[str]:
        """Return the ids of those (id, text) pairs whose stored terms are not those of the text."""
        found: list[str] = []
        sql = f"SELECT length, hashes, times FROM {self._table}_counts WHERE id = ?"  # noqa: S608
        with self._database.reading():
            if self._totals() is None:
                return [identifier for identifier, _ in items]
            for identifier, text in items:
                words = terms(text)
                rows = self._database.fetch(sql, (id_to_int(identifier),))
                if rows != [(len(words), *pack_terms(words))]:
                    found.append(identifier)
        return found

    def counts_differ(self) -> bool:
        """Return True if the number of items or terms is not that of the full-text table."""
        with self._database.reading():
            totals = self._totals()
            if totals is None:
                return False
            ((items, tokens),) = self._database.fetch(
                f"SELECT count(*), coalesce(sum(length), 0) FROM {self._table}_counts"  # noqa: S608
            )
            ((indexed,),) = self._database.fetch(
                f"SELECT coalesce(sum(cnt), 0) FROM {self._table}_terms"  # noqa: S608
            )
        return totals != (items, tokens) or tokens != indexed

    def _shared_postings(self, totals: _Totals) -> Postings | None:
        """Return the cached postings, or None for the first searches of a generation.

        FTS5 answers a few questions faster than the lengths of all items are read.
        """
        if self._database.writing:
            return None
        generation = self._database.generation()
        if self._postings and self._postings.generation == generation:
            return self._postings
        if self._last_searched != generation:
            self._last_searched, self._searches = generation, 0
        self._searches += 1
        if self._searches <= 1 + totals.items // _ITEMS_PER_SEARCH:
            return None
        postings = self._postings = Postings(self._database, self._table, generation)
        return postings

    def _search_rarest(self, weights: QueryTermWeights, k: int) -> list[tuple[int, float]]:
        """Look up only as many of the rarest terms as the ``k`` best items need (MaxScore)."""
        ordered = weights.rarest_first()
        number = weights.first_terms(k)
        while number < len(ordered):
            rows = self._match(ordered[:number], _MAX_SCORED + 1)
            least = rows[k - 1][1] if len(rows) >= k else 0.0
            rest = weights.bound(ordered[number:])
            near = [key for key, score in rows if score >= least - rest]
            if rest < least and len(near) <= _MAX_SCORED:
                return self._score(weights, near, k)
            number = weights.sufficient_terms(least, at_least=number + 1, max_near=_MAX_SCORED)
        return self._match(weights.terms, k)

    def _match(
        self, asked: Sequence[str], k: int, *, among: Sequence[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best items with any of the terms, as FTS5 ranks them."""
        condition = "" if among is None else "AND +rowid IN (SELECT value FROM json_each(?))"
        bound = () if among is None else (SQLITE.bind_keys(among),)
        rows = self._database.fetch(
            f"SELECT rowid, -rank FROM {self._table} WHERE {self._table} MATCH ? {condition}"  # noqa: S608
            " ORDER BY rank, rowid LIMIT ?",
            (" OR ".join(f'"{term}"' for term in asked), *bound, k),
        )
        return [(key, score) for key, score in rows]

    def _score(
        self, weights: QueryTermWeights, keys: Sequence[int], k: int
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best of these items, scored from their stored term counts."""
        stored, lengths, counts = self._counts(keys, weights.terms)
        matching = np.flatnonzero(counts.any(axis=1))
        scores = weights.scores(counts[matching], lengths[matching])
        return top_scores([stored[row] for row in matching], scores.tolist(), k)

    def _counts(
        self, keys: Sequence[int], asked: Sequence[str]
    ) -> tuple[list[int], NDArray[np.int64], IntMatrix]:
        """Return the keys that exist, their lengths in terms, and their counts of these terms."""
        rows = self._database.fetch(
            "SELECT c.id, c.length, c.hashes, c.times FROM json_each(?) j"  # noqa: S608
            f" CROSS JOIN {self._table}_counts c ON c.id = j.value",
            (SQLITE.bind_keys(keys),),
        )
        lengths = np.fromiter((length for _, length, _, _ in rows), np.int64, len(rows))
        counts = count_terms([(hashes, times) for _, _, hashes, times in rows], asked)
        return [key for key, _, _, _ in rows], lengths, counts

    def _count_items(self, asked: Sequence[str]) -> dict[str, int]:
        """Return the number of items with each term, without terms that no item has."""
        rows = self._database.fetch(
            f"SELECT v.term, v.doc FROM json_each(?) j CROSS JOIN {self._table}_terms v"  # noqa: S608
            " ON v.term = j.value",
            (SQLITE.bind_texts(asked),),
        )
        return dict(rows)

    def _lengths(self, keys: Collection[int]) -> list[int]:
        """Return the lengths in terms of the items that exist."""
        rows = self._database.fetch(
            "SELECT c.length FROM json_each(?1) j"  # noqa: S608
            f" CROSS JOIN {self._table}_counts c ON c.id = j.value",
            (SQLITE.bind_keys(keys),),
        )
        return [length for (length,) in rows]

    def _totals(self) -> _Totals | None:
        rows = self._database.rows_once("SELECT name, items, tokens FROM text_index")
        return next((_Totals(*row[1:]) for row in rows if row[0] == self._name), None)

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


_MAX_CACHED_POSTINGS = 8_000_000
"""Number of postings in the cache, of six bytes each."""


class _TermPostings(NamedTuple):
    """The items with a term, as positions in the array of keys, and its occurrences in each."""

    places: NDArray[np.int32]
    times: NDArray[np.uint16]


class Postings:
    """A cache of item lengths and postings of a full-text table.

    All calls must see the index at ``generation``. Threads can share an object: at worst, two of
    them read the same term.
    """

    def __init__(self, database: Database, table: str, generation: int) -> None:
        self.generation = generation
        self._database = database
        self._table = table
        rows = database.stream(
            f"SELECT id, length FROM {table}_counts ORDER BY id"  # noqa: S608
        )
        self._keys, self._lengths = _pairs(rows).T.copy()
        self._terms: dict[str, _TermPostings] = {}
        self._cached_postings = 0
        self._prepared = threading.local()  # the connection with the temporary table

    def search(
        self, weights: QueryTermWeights, k: int, *, among: NDArray[np.int64] | None = None
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best items with their scores, ties by key; use inside `reading`.

        ``among`` restricts the result to items with these keys.
        """
        all_scores = np.zeros(len(self._keys))
        postings = self._postings(weights.terms)
        for term, idf in zip(weights.terms, weights.idfs, strict=True):
            places, times = postings[term]
            all_scores[places] += gain(idf, times, weights.shares(self._lengths[places]))
        matching = np.flatnonzero(all_scores)
        if among is not None:
            matching = matching[is_among(self._keys[matching], among)]
        scores = all_scores[matching]
        if len(matching) > k:
            near = np.flatnonzero(scores >= np.partition(scores, -k)[-k])
            matching, scores = matching[near], scores[near]
        return top_scores(self._keys[matching].tolist(), scores.tolist(), k)

    def _postings(self, terms: Sequence[str]) -> Mapping[str, _TermPostings]:
        """Return the postings of these terms, those that are not cached by one statement."""
        cached = self._terms
        found = {term: cached[term] for term in terms if term in cached}
        if missing := [term for term in terms if term not in found]:
            read = dict(self._read(missing))
            found |= read
            if self._cached_postings > _MAX_CACHED_POSTINGS:
                self._terms, self._cached_postings = {}, 0
            self._terms |= read
            self._cached_postings += sum(len(postings.places) for postings in read.values())
        return found

    def _read(self, terms: Sequence[str]) -> Iterator[tuple[str, _TermPostings]]:
        """Yield each term with its postings."""
        instances = f"temp.{self._table}_instances"
        connection = self._database.connection()
        if getattr(self._prepared, "connection", None) is not connection:
            self._database.fetch(
                f"CREATE VIRTUAL TABLE IF NOT EXISTS {instances}"
                f" USING fts5vocab('main', '{self._table}', 'instance')"
            )
            self._prepared.connection = connection
        rows = self._database.stream(
            f"SELECT j.key, v.doc FROM json_each(?1) j CROSS JOIN {instances} v"  # noqa: S608
            " ON v.term = j.value",
            (SQLITE.bind_texts(terms),),
        )
        numbers, occurrences = _pairs(rows).T
        for number, term in enumerate(terms):
            keys, times = np.unique(occurrences[numbers == number], return_counts=True)
            places = np.searchsorted(self._keys, keys).astype(np.int32)
            yield term, _TermPostings(places, times.clip(max=MAX_COUNT).astype(np.uint16))


def _pairs(rows: Iterable[Row]) -> NDArray[np.int64]:
    """Return rows of two integers as an array of shape (n, 2), without a list of all of them."""
    found: NDArray[np.int64] = np.fromiter(rows, np.dtype((np.int64, 2)))
    return found
