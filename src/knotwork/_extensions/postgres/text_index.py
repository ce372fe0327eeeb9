"""Full-text index on own postings, ranked by BM25 over Knotwork's own terms.

Each item has one row with its length and the hashes of its terms, and one posting for each term,
which repeats the length of its item: candidates are scored in SQL from postings alone. The best of
them are scored again from the rows of their items, in the order of the query's terms, so that equal
items have equal scores whatever the plan of the server.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._stores.base import IntMatrix, Scored
from knotwork._stores.indexes import (
    K1,
    MARGIN,
    B,
    QueryTermWeights,
    count_occurrences,
    count_terms,
    pack_terms,
    signed_hash,
    top_scores,
)
from knotwork._stores.sql.database import Row, key_array, keys_of, reports_damage
from knotwork._text.terms import query_terms, terms
from knotwork.records import id_to_int, int_to_id

_MOST_KEPT = 50_000
"""Terms whose document frequencies are kept."""


_OF_ONE_CHUNK = frozenset({"chunk", "question"})
"""Indexes whose items belong to one document each, so that writers need no lock."""

_MAX_SCORED_AMONG = 2_000
_MAX_NEAR = 1_000
"""Items that are scored again; only items with equal scores can be more."""

_MANY_POSTINGS = 50_000
"""Postings of a query above which fewer terms are looked up first."""


@reports_damage
class PostgresTexts:
    """The `TextIndex` of an index on a server."""

    def __init__(self, database: PostgresDatabase, name: str) -> None:
        self._database = database
        self._name = name
        self._table = f"text_{name}"
        self._items, self._tokens = f"{self._table}.items", f"{self._table}.tokens"
        self._kept: tuple[int, dict[str, int]] = (-1, {})

    def add(self, items: Iterable[tuple[str, str]]) -> None:
        found = {id_to_int(identifier): terms(text) for identifier, text in items}
        self.put([(key, len(words), *pack_terms(words)) for key, words in found.items()])

    def put(self, items: Collection[Row]) -> None:
        """Add items that `items` returned; those that exist are replaced."""
        if not items:
            return
        keys, of_items, hashes, times = zip(*items, strict=True)
        with self._database.transaction():
            self._lock()
            self._delete(list(keys))
            types = {"id": "int8", "length": "int4", "hashes": "bytea", "times": "bytea"}
            self._database.add_rows(self._table, types, items)
            counts = [len(packed) // 8 for packed in hashes]
            lengths = np.array(of_items, np.int32)
            self._database.copy_numbers(
                f"{self._table}_posting",
                term=np.frombuffer(b"".join(hashes), "<i8").astype(np.int64),
                item=np.repeat(np.array(keys, np.int64), counts),
                times=np.frombuffer(b"".join(times), "<u2").astype(np.int32),
                length=np.repeat(lengths, counts),
            )
            self._database.add_total(self._items, len(keys))
            self._database.add_total(self._tokens, int(lengths.sum()))

    def items(self, after: int, *, limit: int) -> list[Row]:
        """Return key, length, hashes and times of the first items whose keys follow ``after``."""
        return self._database.rows(
            "SELECT id, length, hashes, times"  # noqa: S608
            f" FROM {self._table} WHERE id > $1 ORDER BY id LIMIT $2",
            (after, limit),
        )

    def remove(self, ids: Collection[str]) -> None:
        keys = [key for _, key in keys_of(ids)]
        with self._database.transaction():
            if keys:
                self._lock()
                self._delete(keys)

    def search(self, query: str, *, k: int, where: Collection[str] | None = None) -> list[Scored]:
        if k <= 0:
            return []
        with self._database.reading():
            items = self._database.total(self._items)
            if not items:
                return []
            frequencies = self.document_frequencies(query_terms(query))
            if not frequencies:
                return []
            tokens = self._database.total(self._tokens)
            weights = QueryTermWeights.of(frequencies, items=items, tokens=tokens)
            among = None if where is None else key_array(where)
            if among is not None and len(among) <= _MAX_SCORED_AMONG:
                found = self._score(weights, self._rows(among.tolist()), k)
            elif among is None and sum(weights.frequencies) > _MANY_POSTINGS:
                found = self._search_rarest(weights, k)
            else:
                found = self._match(weights, weights.terms, k, among=among)
        return [Scored(int_to_id(key), score) for key, score in found]

    def occurrences(self, ids: Sequence[str], terms: Sequence[str]) -> IntMatrix:
        keys = dict(keys_of(ids))
        rows: list[tuple[int, int, bytes, bytes]] = []
        with self._database.reading():
            if keys:
                rows = self._rows(list(keys.values()))
        return count_occurrences(ids, keys, [(row[0], *row[2:]) for row in rows], terms)

    def document_frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of items with each term, in their order; they are kept by generation.

        Inside a write transaction nothing is kept.
        """
        known: dict[str, int] = {}
        with self._database.reading():
            if not self._database.writing:
                generation, held = self._database.generation(), self._kept
                if generation != held[0] or len(held[1]) > _MOST_KEPT:
                    held = self._kept = generation, {}
                known = held[1]
            distinct = dict.fromkeys(terms)
            if missing := [term for term in distinct if term not in known]:
                known |= dict.fromkeys(missing, 0) | self._count_items(missing)
        return {term: known[term] for term in distinct if known[term]}

    def count(self) -> int:
        return self._database.total(self._items)

    def _lock(self) -> None:
        if self._name not in _OF_ONE_CHUNK:
            self._database.lock_shared()

    def _delete(self, keys: list[int]) -> None:
        gone = self._database.write(
            f"DELETE FROM {self._table} WHERE id = ANY($1::bigint[])"  # noqa: S608
            " RETURNING id, length, hashes",
            (keys,),
        )
        if not gone:
            return
        hashes = [np.frombuffer(row[2], "<i8") for row in gone]
        items = np.repeat([row[0] for row in gone], [len(found) for found in hashes])
        self._database.write(
            f"DELETE FROM {self._table}_posting p"  # noqa: S608
            " USING unnest($1::bigint[], $2::bigint[]) AS d (term, item)"
            " WHERE p.term = d.term AND p.item = d.item",
            (np.concatenate(hashes).tolist(), items.tolist()),
        )
        self._database.add_total(self._items, -len(gone))
        self._database.add_total(self._tokens, -sum(row[1] for row in gone))

    def _search_rarest(self, weights: QueryTermWeights, k: int) -> list[tuple[int, float]]:
        """Look up only as many of the rarest terms as the ``k`` best items need (MaxScore)."""
        ordered = weights.rarest_first()
        number = weights.first_terms(k)
        if number < len(ordered):
            first = self._match(weights, ordered[:number], k)
            least = first[k - 1][1] if len(first) >= k else 0.0
            number = weights.sufficient_terms(least, at_least=number, max_near=_MAX_NEAR)
            if number < len(ordered):
                rest = weights.bound(ordered[number:])
                return self._match(weights, ordered[:number], k, least=least - rest)
        return self._match(weights, weights.terms, k)

    def _match(
        self,
        weights: QueryTermWeights,
        asked: Sequence[str],
        k: int,
        *,
        among: NDArray[np.int64] | None = None,
        least: float | None = None,
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best items with any of the terms, scored by all terms of the query.

        The candidates are those that ``asked`` alone rank among the ``k`` best; with ``least``,
        those to which ``asked`` alone give so much.
        """
        idfs = dict(zip(weights.terms, weights.idfs, strict=True))
        bindings = [
            [signed_hash(term) for term in asked],
            [idfs[term] for term in asked],
            K1 * (1 - B),
            K1 * B / weights.mean_length,
            _MAX_NEAR + k,
            k if least is None else 0,
            -1.0 if least is None else least,
        ]
        chosen = ""
        if among is not None:
            chosen = " WHERE p.item = ANY($8::bigint[])"
            bindings.append(among.tolist())
        rows = self._database.rows(_MATCH.format(table=self._table, chosen=chosen), bindings)
        return self._score(weights, rows, k)

    def _score(
        self, weights: QueryTermWeights, rows: Sequence[tuple[int, int, bytes, bytes]], k: int
    ) -> list[tuple[int, float]]:
        lengths = np.fromiter((row[1] for row in rows), np.int64, len(rows))
        counts = count_terms([row[2:] for row in rows], weights.terms)
        matching = np.flatnonzero(counts.any(axis=1)) if len(rows) else np.empty(0, np.intp)
        scores = weights.scores(counts[matching], lengths[matching])
        return top_scores([rows[row][0] for row in matching.tolist()], scores.tolist(), k)

    def _rows(self, keys: Sequence[int]) -> list[tuple[int, int, bytes, bytes]]:
        found: list[tuple[int, int, bytes, bytes]] = []
        found += self._database.rows(
            "SELECT id, length, hashes, times"  # noqa: S608
            f" FROM {self._table} WHERE id = ANY($1::bigint[])",
            (list(keys),),
        )
        return found

    def _count_items(self, asked: Sequence[str]) -> dict[str, int]:
        rows = self._database.rows(
            "SELECT q.place, count(*) FROM unnest($1::bigint[])"  # noqa: S608
            f" WITH ORDINALITY AS q (term, place) JOIN {self._table}_posting p"
            " ON p.term = q.term GROUP BY q.place",
            ([signed_hash(term) for term in asked],),
        )
        return {asked[place - 1]: items for place, items in rows}


_MATCH = (
    f"WITH scored AS MATERIALIZED (SELECT p.item, sum(q.idf * ((p.times * {K1 + 1}::float8)"  # noqa: S608
    " / (p.times + $3::float8 + $4::float8 * p.length))) AS score"
    " FROM unnest($1::bigint[], $2::float8[]) AS q (term, idf)"
    " JOIN {table}_posting p ON p.term = q.term{chosen} GROUP BY p.item),"
    " near AS (SELECT item FROM scored WHERE score >= CASE WHEN $6::bigint = 0 THEN $7::float8"
    " ELSE coalesce((SELECT score FROM scored ORDER BY score DESC"
    f" OFFSET greatest($6::bigint - 1, 0) LIMIT 1), 0) END - {MARGIN}"
    " ORDER BY score DESC, item LIMIT CASE WHEN $6::bigint = 0 THEN NULL ELSE $5::bigint END)"
    " SELECT t.id, t.length, t.hashes, t.times FROM near n JOIN {table} t ON t.id = n.item"
)
