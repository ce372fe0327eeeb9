"""Full-text index of terms, ranked by BM25 (k1 = 1.2, b = 0.75).

The terms of an item are stored with it, in ``text_*_counts``: its length, the sorted hashes of its
distinct terms, and how often it has each. A page holds the same for up to `PAGE_ITEMS` items the
other way round: ``text_*_page`` has their keys and lengths, and ``text_*_posting``, for each term,
the places of the items that have it. So a search reads a few short rows for each of its terms, as
arrays without decoding. What it reads is kept, also when the index changes, as long as its pages
stay.

What changed since is listed in ``text_*_change``: items that wait for a page, and items that are
gone. Once they would fill a page, what changed is blanked in older pages, and what waits is written
to new ones. `Postings` searches one state of pages and of what waits in memory.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from knotwork._cancellation import check_cancelled
from knotwork._stores.base import IntMatrix, Scored
from knotwork._stores.embedded.database import Database
from knotwork._stores.id_sets import is_among
from knotwork._stores.indexes import (
    QueryTermWeights,
    count_occurrences,
    gain,
    pack_terms,
    signed_hash,
    top_scores,
)
from knotwork._stores.sql.database import Row, decodes, key_array, keys_of
from knotwork._text.terms import query_terms, terms
from knotwork.records import id_to_int, int_to_id

PAGE_ITEMS = 4_096
"""Items of a page; their places in it are stored in 16 bits."""

_LEAST_ALIVE = 0.5
"""Share of a page's items that must still be in the index; those of other pages are moved."""
_MOST_KEPT = 8_000_000
"""Number of postings that are kept between searches, of six bytes each."""
_BLANK = -1
"""The key of an item that a page no longer has."""

_HASH, _COUNT = np.dtype("<i8"), np.dtype("<u2")
_POSTING = np.dtype([("place", "<u2"), ("times", "<u2")])

Keys = NDArray[np.int64]


class TermItems(NamedTuple):
    """The items that have a term: their places, ascending, and how often each has it."""

    places: NDArray[np.int32]
    times: NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class ItemTerms:
    """Some items with their terms: the hash of each term beside its item."""

    keys: Keys
    lengths: NDArray[np.int32]
    terms: Keys
    items: NDArray[np.void]

    @classmethod
    @decodes("the terms of a text")
    def of(cls, rows: Sequence[tuple[int, int, bytes, bytes]]) -> ItemTerms:
        """Return the terms of rows of (key, length, hashes, times)."""
        terms = np.frombuffer(b"".join(row[2] for row in rows), _HASH)
        items = np.empty(len(terms), dtype=_POSTING)
        sizes = [len(row[2]) // _HASH.itemsize for row in rows]
        items["place"] = np.repeat(np.arange(len(rows)), sizes)
        items["times"] = np.frombuffer(b"".join(row[3] for row in rows), _COUNT)
        keys = np.array([row[0] for row in rows], dtype=np.int64)
        return cls(keys, np.array([row[1] for row in rows], dtype=np.int32), terms, items)

    def of_term(self, term: int, *, start: int) -> TermItems:
        """Return the items with a term, with places from ``start`` on."""
        found = self.items[self.terms == term]  # sorting all terms takes as long as 200 questions
        return TermItems(found["place"].astype(np.int32) + np.int32(start), found["times"])

    def by_term(self) -> Iterator[tuple[int, bytes]]:
        """Yield each term, by its hash, with its packed items."""
        order = np.argsort(self.terms, kind="stable")
        terms, starts = np.unique(self.terms[order], return_index=True)
        packed = self.items[order].tobytes()
        ends = [*starts[1:].tolist(), len(self.items)][: len(starts)]
        for term, start, end in zip(terms.tolist(), starts.tolist(), ends, strict=True):
            yield term, packed[start * _POSTING.itemsize : end * _POSTING.itemsize]


class TextPages:
    """The pages of a full-text index in one state, with the postings that were read from them.

    ``state`` has the number and the version of each page. Threads may share the object: at worst,
    two of them read the same term.
    """

    @decodes("a page of full text")
    def __init__(self, connection: apsw.Connection, table: str) -> None:
        rows: Any = connection.execute(f"SELECT * FROM {table}_page ORDER BY page").fetchall()  # noqa: S608
        self._table = table
        self.state = tuple((number, version) for number, version, _, _ in rows)
        self.keys = np.frombuffer(b"".join(row[2] for row in rows), "<i8").astype(np.int64)
        self.lengths = np.frombuffer(b"".join(row[3] for row in rows), "<i4").astype(np.int32)
        sizes = [len(row[2]) // 8 for row in rows]
        if sizes != [len(row[3]) // 4 for row in rows]:
            raise ValueError("it has not one length for each item")
        self.starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._order = np.argsort(self.keys)
        self._ordered = self.keys[self._order]
        self._terms: dict[int, TermItems] = {}
        self._kept = 0

    def places_of(self, keys: Keys) -> NDArray[np.intp]:
        """Return the places of those keys that the pages have."""
        if not len(self._ordered):
            return np.empty(0, dtype=np.intp)
        near = np.searchsorted(self._ordered, keys).clip(max=len(self._ordered) - 1)
        return np.asarray(self._order[near[self._ordered[near] == keys]])

    def items_of(self, connection: apsw.Connection, terms: Collection[int]) -> dict[int, TermItems]:
        """Return the items of each term, alive or not; what was read is kept."""
        found = {term: self._terms[term] for term in terms if term in self._terms}
        if missing := [term for term in terms if term not in found]:
            read = self._read(connection, missing)
            found |= read
            if self._kept > _MOST_KEPT:
                self._terms, self._kept = {}, 0
            self._terms |= read
            self._kept += sum(len(items.places) for items in read.values())
        return found

    @decodes("a page of full text")
    def count_postings(self, connection: apsw.Connection, alive: NDArray[np.bool_]) -> int:
        """Return the number of postings of those items of the pages that are ``alive``."""
        count = 0
        for position, (number, _) in enumerate(self.state):
            own = alive[self.starts[position] : self.starts[position + 1]]
            sql = f"SELECT items FROM {self._table}_posting WHERE page = ?"  # noqa: S608
            rows: Any = connection.execute(sql, (number,)).fetchall()
            items = np.frombuffer(b"".join(packed for (packed,) in rows), _POSTING)
            count += int(np.count_nonzero(own[items["place"]]))
        return count

    @decodes("a page of full text")
    def _read(self, connection: apsw.Connection, terms: Sequence[int]) -> dict[int, TermItems]:
        rows: Any = connection.execute(
            f"SELECT t.key, p.key, s.items FROM json_each(?1) t CROSS JOIN json_each(?2) p"  # noqa: S608
            f" CROSS JOIN {self._table}_posting s ON s.page = p.value AND s.term = t.value"
            " ORDER BY t.key, p.key",
            (json.dumps(list(terms)), json.dumps([number for number, _ in self.state])),
        ).fetchall()
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        pages = np.array([row[1] for row in rows], dtype=np.int64)
        sizes = np.array([len(row[2]) // _POSTING.itemsize for row in rows], dtype=np.int64)
        items = np.frombuffer(b"".join(row[2] for row in rows), _POSTING)
        places = np.repeat(self.starts[pages], sizes) + items["place"]
        if (places >= np.repeat(self.starts[pages + 1], sizes)).any():
            raise IndexError("an item that the page does not have")
        ends = np.concatenate([[0], np.cumsum(sizes)])
        found = {}
        for number, term in enumerate(terms):
            first, last = ends[np.searchsorted(numbers, [number, number + 1])]
            times = items["times"][first:last].copy()
            found[term] = TermItems(places[first:last].astype(np.int32), times)
        return found


def _changed_keys(connection: apsw.Connection, table: str) -> Keys:
    rows: Any = connection.execute(f"SELECT id FROM {table}_change")  # noqa: S608
    return np.fromiter((key for (key,) in rows), np.int64)


def _waiting(connection: apsw.Connection, table: str, limit: int) -> list[Any]:
    return connection.execute(
        f"SELECT c.id, c.length, c.hashes, c.times FROM {table}_change x"  # noqa: S608
        f" JOIN {table}_counts c ON c.id = x.id WHERE NOT x.gone ORDER BY c.id LIMIT ?",
        (limit,),
    ).fetchall()


def _update_pages(connection: apsw.Connection, table: str, *, version: int) -> None:
    """Bring the pages up to date once enough has changed; use inside a transaction.

    ``version`` is that of the index once this is committed.
    """
    changed: Any = connection.execute(f"SELECT count(*) FROM {table}_change").get  # noqa: S608
    if changed < PAGE_ITEMS:
        return
    _blank_changed(connection, table, version)
    while len(rows := _waiting(connection, table, PAGE_ITEMS)) == PAGE_ITEMS:
        check_cancelled()
        page = ItemTerms.of(rows)
        connection.execute(
            f"INSERT INTO {table}_page (version, keys, lengths) VALUES (?, ?, ?)",  # noqa: S608
            (version, page.keys.astype("<i8").tobytes(), page.lengths.astype("<i4").tobytes()),
        )
        number = connection.last_insert_rowid()
        connection.executemany(
            f"INSERT INTO {table}_posting VALUES (?, ?, ?)",  # noqa: S608
            ((number, term, items) for term, items in page.by_term()),
        )
        connection.executemany(
            f"DELETE FROM {table}_change WHERE id = ?",  # noqa: S608
            ((key,) for key in page.keys.tolist()),
        )


def _blank_changed(connection: apsw.Connection, table: str, version: int) -> None:
    """Blank what changed in all pages, and let the items of those with little left wait again."""
    pages = TextPages(connection, table)
    places = pages.places_of(_changed_keys(connection, table))
    keys = pages.keys.copy()
    keys[places] = _BLANK
    touched = np.unique(np.searchsorted(pages.starts, places, side="right") - 1)
    for position in touched.tolist():
        number, _ = pages.state[position]
        of_page = keys[pages.starts[position] : pages.starts[position + 1]]
        alive = of_page[of_page != _BLANK]
        if len(alive) >= _LEAST_ALIVE * len(of_page):
            connection.execute(
                f"UPDATE {table}_page SET version = ?, keys = ? WHERE page = ?",  # noqa: S608
                (version, of_page.astype("<i8").tobytes(), number),
            )
            continue
        connection.executemany(
            f"INSERT INTO {table}_change VALUES (?, 0)",  # noqa: S608
            ((key,) for key in alive.tolist()),
        )
        for part in ("page", "posting"):
            connection.execute(f"DELETE FROM {table}_{part} WHERE page = ?", (number,))  # noqa: S608
    connection.execute(f"DELETE FROM {table}_change WHERE gone")  # noqa: S608


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
        sql = f"SELECT page, version FROM {table}_page ORDER BY page"  # noqa: S608
        if known is None or known.state != tuple(connection.execute(sql)):
            known = TextPages(connection, table)
        waiting = ItemTerms.of(_waiting(connection, table, -1))
        return cls(known, waiting, _changed_keys(connection, table))

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


class _Totals(NamedTuple):
    items: int
    tokens: int


class _Held(NamedTuple):
    generation: int
    postings: Postings


class EmbeddedTexts:
    """The `TextIndex` of the embedded store.

    What is stored is decoded inside `reading` or `transaction`, which report damage.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._table = f"text_{name}"
        self._held: _Held | None = None

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        found = {id_to_int(identifier): terms(text) for identifier, text in items}
        self.put([(key, len(words), *pack_terms(words)) for key, words in found.items()])

    def put(self, items: Collection[Row]) -> None:
        """Add items that `items` returned; those that exist are replaced."""
        if not items:
            return
        keys = [row[0] for row in items]
        with self._database.transaction():
            totals = self._totals() or self._create()
            replaced = self._lengths(keys)
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table}_counts VALUES (?, ?, ?, ?)",  # noqa: S608
                items,
            )
            added = sum(row[1] for row in items)
            totals = _Totals(
                totals.items + len(keys) - len(replaced), totals.tokens + added - sum(replaced)
            )
            self._write_changes(totals, keys, gone=False)

    def items(self, after: int, *, limit: int) -> list[Row]:
        """Return key, length, hashes and times of the first items whose keys follow ``after``."""
        with self._database.reading():
            if self._totals() is None:
                return []
            return self._database.rows(
                f"SELECT * FROM {self._table}_counts WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (after, limit),
            )

    def remove(self, ids: Collection[str]) -> None:
        with self._database.transaction():
            totals = self._totals()
            keys = [key for _, key in keys_of(ids)]
            removed = self._lengths(keys) if totals else []
            if totals is None or not removed:
                return
            self._database.write_many(
                f"DELETE FROM {self._table}_counts WHERE id = ?",  # noqa: S608
                ((key,) for key in keys),
            )
            totals = _Totals(totals.items - len(removed), totals.tokens - sum(removed))
            self._write_changes(totals, keys, gone=True)

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        if k <= 0:
            return []
        with self._database.reading():
            totals = self._totals()
            if totals is None:
                return []
            postings = self._postings()
            held = postings.items_of(self._database.connection(), query_terms(query))
            items = {term: found for term, found in held.items() if len(found.places)}
            if not items:
                return []
            frequencies = {term: len(found.places) for term, found in items.items()}
            weights = QueryTermWeights.of(frequencies, items=totals.items, tokens=totals.tokens)
            among = None if where is None else key_array(where)
            found = postings.search(weights, items, k, among=among)
        return [Scored(int_to_id(key), score) for key, score in found]

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        keys = dict(keys_of(ids))
        with self._database.reading():
            rows: list[Row] = []
            if keys and self._totals() is not None:
                rows = self._database.rows(
                    "SELECT c.id, c.hashes, c.times FROM keys($1)"  # noqa: S608
                    f" CROSS JOIN {self._table}_counts c ON c.id = j.value",
                    ([*keys.values()],),
                )
            return count_occurrences(ids, keys, rows, terms)

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        with self._database.reading():
            if self._totals() is None:
                return {}
            items = self._postings().items_of(self._database.connection(), dict.fromkeys(terms))
        return {term: len(found.places) for term, found in items.items() if len(found.places)}

    def count(self) -> int:
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
                rows = self._database.rows(sql, (id_to_int(identifier),))
                if rows != [(len(words), *pack_terms(words))]:
                    found.append(identifier)
        return found

    def counts_differ(self) -> bool:
        """Return True if totals or pages differ from the terms that are stored with the items."""
        with self._database.reading():
            totals = self._totals()
            if totals is None:
                return False
            ((items, tokens),) = self._database.rows(
                f"SELECT count(*), coalesce(sum(length), 0) FROM {self._table}_counts"  # noqa: S608
            )
            postings = self._postings()
            indexed = postings.count_terms(self._database.connection())
            ids = self._database.stream(f"SELECT id FROM {self._table}_counts ORDER BY id")  # noqa: S608
            keys = np.fromiter((key for (key,) in ids), np.int64)
            ((stored,),) = self._database.rows(
                f"SELECT coalesce(sum(length(hashes)) / 8, 0) FROM {self._table}_counts"  # noqa: S608
            )
        found = np.sort(postings.keys)
        return (*totals, stored) != (items, tokens, indexed) or not np.array_equal(keys, found)

    def _postings(self) -> Postings:
        """Return the postings of the state that this thread sees; use inside `reading`."""
        connection, held = self._database.connection(), self._held
        if self._database.writing:
            return Postings.read(connection, self._table, known=None)
        generation = self._database.generation()
        if held is None or held.generation != generation:
            known = None if held is None else held.postings.pages
            postings = Postings.read(connection, self._table, known=known)
            held = self._held = _Held(generation, postings)
        return held.postings

    def _write_changes(self, totals: _Totals, keys: Iterable[int], *, gone: bool) -> None:
        self._database.write(
            "UPDATE text_index SET items = ?, tokens = ? WHERE name = ?", (*totals, self._name)
        )
        self._database.write_many(
            f"INSERT OR REPLACE INTO {self._table}_change VALUES (?, ?)",  # noqa: S608
            ((key, int(gone)) for key in keys),
        )
        version = self._database.generation() + 1
        _update_pages(self._database.connection(), self._table, version=version)

    def _lengths(self, keys: Collection[int]) -> list[int]:
        rows = self._database.rows(
            "SELECT c.length FROM keys($1)"  # noqa: S608
            f" CROSS JOIN {self._table}_counts c ON c.id = j.value",
            (list(keys),),
        )
        return [length for (length,) in rows]

    def _totals(self) -> _Totals | None:
        rows = self._database.rows_once("SELECT name, items, tokens FROM text_index")
        return next((_Totals(*row[1:]) for row in rows if row[0] == self._name), None)

    def _create(self) -> _Totals:
        self._database.write(
            f"CREATE TABLE {self._table}_counts (id INTEGER PRIMARY KEY,"
            " length INTEGER NOT NULL, hashes BLOB NOT NULL, times BLOB NOT NULL);"
            f"CREATE TABLE {self._table}_page (page INTEGER PRIMARY KEY, version INTEGER NOT NULL,"
            " keys BLOB NOT NULL, lengths BLOB NOT NULL);"
            f"CREATE TABLE {self._table}_posting (page INTEGER NOT NULL, term INTEGER NOT NULL,"
            " items BLOB NOT NULL, PRIMARY KEY (page, term)) WITHOUT ROWID;"
            f"CREATE TABLE {self._table}_change (id INTEGER PRIMARY KEY, gone INTEGER NOT NULL)"
        )
        self._database.write("INSERT INTO text_index VALUES (?, 0, 0)", (self._name,))
        return _Totals(0, 0)
