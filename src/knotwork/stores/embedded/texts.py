"""Full-text indexes in FTS5, fed with our own terms.

FTS5 sees the terms joined by spaces and splits there alone: to its `ascii` tokenizer all but ASCII
belongs to a token, and the full stop of decimal numbers is told to. Its BM25 uses k1 = 1.2 and
b = 0.75.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from knotwork.errors import StoreError
from knotwork.records import id_to_int, int_to_id
from knotwork.stores.base import IntMatrix, Scored
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import keys_of
from knotwork.stores.embedded.term_counts import count_terms, pack_terms
from knotwork.text.terms import query_terms, terms

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


class EmbeddedTexts:
    """The `TextIndex` of the embedded store."""

    def __init__(self, database: Database, name: str) -> None:
        check_name(name)
        self._database = database
        self._name = name
        self._table = f"text_{name}"

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        """Add (id, text) pairs; an id that exists is replaced."""
        found = [(id_to_int(identifier), terms(text)) for identifier, text in items]
        if not found:
            return
        with self._database.transaction():
            self._create()
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table} (rowid, terms) VALUES (?, ?)",  # noqa: S608
                ((key, " ".join(words)) for key, words in found),
            )
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table}_counts VALUES (?, ?, ?)",  # noqa: S608
                ((key, *pack_terms(words)) for key, words in found),
            )

    def remove(self, ids: Collection[str]) -> None:
        """Remove items."""
        with self._database.transaction():
            if self._exists():
                keys = [(key,) for _, key in keys_of(ids)]
                for table in (self._table, f"{self._table}_counts"):
                    self._database.write_many(
                        f"DELETE FROM {table} WHERE rowid = ?",  # noqa: S608
                        keys,
                    )

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        """Return the ``k`` best of the items that share a term with ``query``; among ``where``."""
        asked = query_terms(query)
        if not asked or k <= 0:
            return []
        bindings: list[str | int] = [" OR ".join(f'"{term}"' for term in asked)]
        condition = ""
        if where is not None:
            bindings.append(json.dumps([key for _, key in keys_of(where)]))
            condition = "AND +rowid IN (SELECT value FROM json_each(?))"
        with self._database.reading():
            if not self._exists():
                return []
            rows = self._database.fetch(
                f"SELECT rowid, -rank FROM {self._table} WHERE {self._table} MATCH ? {condition}"  # noqa: S608
                " ORDER BY rank, rowid LIMIT ?",
                (*bindings, k),
            )
        return [Scored(int_to_id(key), score) for key, score in rows]

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        """Return how often each term occurs in each item, of shape (len(ids), len(terms))."""
        result = np.zeros((len(ids), len(terms)), dtype=np.int32)
        keys = dict(keys_of(ids))
        with self._database.reading():
            if not keys or not self._exists():
                return result
            rows = self._database.rows(
                f"SELECT rowid, hashes, times FROM {self._table}_counts"  # noqa: S608
                " WHERE rowid IN (SELECT value FROM json_each(?))",
                (json.dumps(list(keys.values())),),
            )
        counted = count_terms([(hashes, times) for _, hashes, times in rows], terms)
        found = {key: counted[number] for number, (key, _, _) in enumerate(rows)}
        for row, identifier in enumerate(ids):
            if keys.get(identifier) in found:
                result[row] = found[keys[identifier]]
        return result

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return in how many items each term occurs; absent terms are absent."""
        distinct = list(dict.fromkeys(terms))
        with self._database.reading():
            if not self._exists():
                return {}
            found = self._database.rows_of_each(
                f"SELECT doc FROM {self._table}_terms WHERE term = ?",  # noqa: S608
                distinct,
            )
            return {term: rows[0][0] for term, rows in zip(distinct, found, strict=True) if rows}

    def count(self) -> int:
        """Return the number of items."""
        with self._database.reading():
            if not self._exists():
                return 0
            ((count,),) = self._database.rows(f"SELECT count(*) FROM {self._table}_docsize")  # noqa: S608
        return int(count)

    def _exists(self) -> bool:
        known = "SELECT 1 FROM text_index WHERE name = ?"
        return bool(self._database.rows(known, (self._name,)))

    def _create(self) -> None:
        if self._exists():
            return
        self._database.write(
            f"CREATE VIRTUAL TABLE {self._table} USING fts5(terms, content='',"
            " contentless_delete=1, tokenize=\"ascii tokenchars '.'\")"
        )
        self._database.write(
            f"CREATE VIRTUAL TABLE {self._table}_terms USING fts5vocab({self._table}, row)"
        )
        self._database.write(
            f"CREATE TABLE {self._table}_counts"
            " (id INTEGER PRIMARY KEY, hashes BLOB NOT NULL, times BLOB NOT NULL)"
        )
        self._database.write("INSERT INTO text_index VALUES (?)", (self._name,))


def check_name(name: str) -> None:
    """Raise StoreError unless ``name`` can be the name of an index."""
    if not _NAME.fullmatch(name):
        raise StoreError(
            f"`{name}` cannot name an index.",
            fix="Use up to 41 lower-case letters, digits and underscores, a letter first.",
        )
