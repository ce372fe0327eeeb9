"""Full-text index of terms, ranked by BM25 (k1 = 1.2, b = 0.75).

The terms of each item are stored with their counts, as sorted 64-bit hashes, so that single items
can be scored. Pages have the items of each term (`text_pages.py`). What a search reads of them is
kept, also when the index changes, as long as its pages stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from knotwork._stores.base import IntMatrix, Scored
from knotwork._stores.bm25 import QueryTermWeights
from knotwork._stores.contents import TextItem
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.dialect import SQLITE
from knotwork._stores.embedded.text_pages import Postings, create_tables, update_pages
from knotwork._stores.packed_terms import check_index_name, count_occurrences, pack_terms
from knotwork._stores.sql.database import Row, reports_damage
from knotwork._stores.sql.packing import key_array, keys_of
from knotwork._text.terms import query_terms, terms
from knotwork.records import id_to_int, int_to_id


class _Totals(NamedTuple):
    items: int
    tokens: int


class _Held(NamedTuple):
    generation: int
    postings: Postings


@reports_damage
class EmbeddedTexts:
    """The `TextIndex` of the embedded store."""

    def __init__(self, database: Database, name: str) -> None:
        check_index_name(name)
        self._database = database
        self._name = name
        self._table = f"text_{name}"
        self._held: _Held | None = None

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        found = {id_to_int(identifier): terms(text) for identifier, text in items}
        if not found:
            return
        with self._database.transaction():
            totals = self._totals() or self._create()
            replaced = self._lengths(found)
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table}_counts VALUES (?, ?, ?, ?)",  # noqa: S608
                ((key, len(words), *pack_terms(words)) for key, words in found.items()),
            )
            added = sum(map(len, found.values()))
            self._write_totals(
                totals.items + len(found) - len(replaced), totals.tokens + added - sum(replaced)
            )
            self._note_changes(found, gone=False)

    def items(self, after: int, *, limit: int) -> list[TextItem]:
        with self._database.reading():
            if self._totals() is None:
                return []
            rows = self._database.fetch(
                f"SELECT id, length FROM {self._table}_counts WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (after, limit),
            )
        return [TextItem(int_to_id(key), length) for key, length in rows]

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
            self._write_totals(totals.items - len(removed), totals.tokens - sum(removed))
            self._note_changes(keys, gone=True)

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
        rows: list[Row] = []
        with self._database.reading():
            if keys and self._totals() is not None:
                rows = self._database.fetch(
                    "SELECT c.id, c.hashes, c.times FROM json_each(?) j"  # noqa: S608
                    f" CROSS JOIN {self._table}_counts c ON c.id = j.value",
                    (SQLITE.bind_keys(keys.values()),),
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
                rows = self._database.fetch(sql, (id_to_int(identifier),))
                if rows != [(len(words), *pack_terms(words))]:
                    found.append(identifier)
        return found

    def counts_differ(self) -> bool:
        """Return True if totals or pages differ from the terms that are stored with the items."""
        with self._database.reading():
            totals = self._totals()
            if totals is None:
                return False
            ((items, tokens),) = self._database.fetch(
                f"SELECT count(*), coalesce(sum(length), 0) FROM {self._table}_counts"  # noqa: S608
            )
            postings = self._postings()
            indexed = postings.count_terms(self._database.connection())
            ids = self._database.stream(f"SELECT id FROM {self._table}_counts ORDER BY id")  # noqa: S608
            keys = np.fromiter((key for (key,) in ids), np.int64)
            ((stored,),) = self._database.fetch(
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

    def _note_changes(self, keys: Iterable[int], *, gone: bool) -> None:
        self._database.write_many(
            f"INSERT OR REPLACE INTO {self._table}_change VALUES (?, ?)",  # noqa: S608
            ((key, int(gone)) for key in keys),
        )
        version = self._database.generation() + 1
        update_pages(self._database.connection(), self._table, version=version)

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
            f"CREATE TABLE {self._table}_counts (id INTEGER PRIMARY KEY,"
            " length INTEGER NOT NULL, hashes BLOB NOT NULL, times BLOB NOT NULL)"
        )
        create_tables(self._database.connection(), self._table)
        self._database.write("INSERT INTO text_index VALUES (?, 0, 0)", (self._name,))
        return _Totals(0, 0)
