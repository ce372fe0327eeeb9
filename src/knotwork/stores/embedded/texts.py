"""Full-text indexes in FTS5, fed with our own terms.

FTS5 sees the terms joined by spaces and splits there alone: to its `ascii` tokenizer all but ASCII
belongs to a token, and the full stop of decimal numbers is told to. Its BM25 uses k1 = 1.2 and
b = 0.75.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable

from knotwork.errors import StoreError
from knotwork.records import id_to_int, int_to_id
from knotwork.stores.base import Scored
from knotwork.stores.embedded.database import Database
from knotwork.stores.embedded.packing import keys_of
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
        rows = [(id_to_int(identifier), " ".join(terms(text))) for identifier, text in items]
        if not rows:
            return
        with self._database.transaction():
            self._create()
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table} (rowid, terms) VALUES (?, ?)",  # noqa: S608
                rows,
            )

    def remove(self, ids: Collection[str]) -> None:
        """Remove items."""
        with self._database.transaction():
            if self._exists():
                self._database.write_many(
                    f"DELETE FROM {self._table} WHERE rowid = ?",  # noqa: S608
                    ((key,) for _, key in keys_of(ids)),
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
        self._database.write("INSERT INTO text_index VALUES (?)", (self._name,))


def check_name(name: str) -> None:
    """Raise StoreError unless ``name`` can be the name of an index."""
    if not _NAME.fullmatch(name):
        raise StoreError(
            f"`{name}` cannot name an index.",
            fix="Use up to 41 lower-case letters, digits and underscores, a letter first.",
        )
