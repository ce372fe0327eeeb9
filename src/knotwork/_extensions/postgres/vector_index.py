"""Vector index on pgvector: exact below a size, and above it HNSW with exact scores.

Every row of a matrix is a row of the table, with its place in the matrix. The server selects all
rows that may be among the best within the error of its sums of float32, and these are scored
exactly here, so that scores and ties are those of every other store. A filter is always searched
exactly. The HNSW index is built once, after the transaction that passes the size.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import psycopg

from knotwork._extensions.postgres.connection import HNSW_SEARCHED, Connection
from knotwork._extensions.postgres.database import PostgresDatabase
from knotwork._extensions.postgres.schema import create_vector_index, vector_table
from knotwork._stores.base import FloatMatrix, Scored
from knotwork._stores.copy_marks import COPY_META
from knotwork._stores.indexes import (
    VectorItem,
    as_query,
    as_rows,
    error_bound,
    exact_scores,
    final_name,
    matrix_search_error,
    stored_type,
    top_scores,
)
from knotwork._stores.sql.database import Bindings, decodes, key_array, keys_of, reports_damage
from knotwork.records import id_to_int, int_to_id

_log = logging.getLogger("knotwork.stores")

EXACT_ROWS = 50_000
"""Rows up to which all are compared with a query."""

_OF_ONE_CHUNK = frozenset({"chunk", "sentence", "question"})
"""Indexes whose items belong to one document each, so that writers need no lock."""

_SEARCHED_FOR_EACH = 4
"""Rows that HNSW keeps in its search for each that is wanted; with fewer, it misses more."""

_SPARE_CANDIDATES = 20
"""Candidates beside twice as many as wanted: their order is that of rounded products."""

_MOST_DIMENSIONS = 2_000
"""The most dimensions of a vector in an HNSW index."""

_HEADER = struct.Struct(">hh")
_BUILDING_LOCK = 0x4B4E4F58


class _Table(NamedTuple):
    """The table of an index by its number, and the length of its rows; None before the first."""

    number: int
    dimension: int | None

    @property
    def name(self) -> str:
        return vector_table(self.number)

    @property
    def items(self) -> str:
        """The name of the total of ids."""
        return f"{self.name}.items"

    @property
    def matrices(self) -> str:
        """The name of the total of ids with other than one row."""
        return f"{self.name}.matrices"


@reports_damage
class PostgresVectors:
    """The `VectorIndex` of an index on a server. ``exact_rows`` is `EXACT_ROWS` except in tests."""

    def __init__(
        self, database: PostgresDatabase, name: str, *, exact_rows: int = EXACT_ROWS
    ) -> None:
        self._database = database
        self._name = name
        self._exact_rows = exact_rows
        stored = stored_type(name)
        self._type = "halfvec" if stored is np.float16 else "vector"
        self._stored = np.dtype(stored).newbyteorder(">")
        self._indexed: _Table | None = None
        self._has_grown = True  # an earlier process may have left the HNSW index to this one
        database.committed.append(self._build_index)

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        with self._database.transaction():
            self._lock()
            table = self._table()
            dimension = table.dimension if self._database.total(table.items) else None
            new: dict[int, tuple[str, FloatMatrix]] = {}
            for identifier, key, matrix in items:
                rows = as_rows(matrix, dimension)
                dimension = rows.shape[1]
                if rows.any() or not len(rows):
                    new[id_to_int(identifier)] = (key, rows)
            if dimension is None or not new:
                return
            if table.dimension != dimension:
                table = self._set_dimension(dimension)
            self._delete(table, list(new))
            columns = {"id": "int8", "place": "int2", "key": "text", "embedding": "bytea"}
            self._database.add_rows(table.name, columns, self._rows(new))
            matrices = sum(len(rows) != 1 for _, rows in new.values())
            self._database.add_total(table.items, len(new))
            self._database.add_total(table.matrices, matrices)
            self._has_grown = self._database.total(table.items) > self._exact_rows

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        keys = dict(keys_of(ids))
        with self._database.reading():
            table = self._table()
            if table.dimension is None or not keys:
                return {}
            rows = self._database.rows(
                f"SELECT id, embedding FROM {table.name}"  # noqa: S608
                " WHERE id = ANY($1::bigint[]) ORDER BY id, place",
                (list(keys.values()),),
            )
        found = self._matrices(rows, table.dimension)
        return {i: found[key] for i, key in keys.items() if key in found}

    def items(self, after: int, *, limit: int) -> list[VectorItem]:
        with self._database.reading():
            table = self._table()
            if table.dimension is None:
                return []
            named = self._database.rows(
                f"SELECT id, key FROM {table.name} WHERE id > $1 AND place = 0"  # noqa: S608
                " ORDER BY id LIMIT $2",
                (after, limit),
            )
            found = self.get([int_to_id(key) for key, _ in named])
        return [VectorItem(i, key, found[i]) for i, (_, key) in zip(found, named, strict=True)]

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by content key; if several have it, the one with the smallest id."""
        with self._database.reading():
            table = self._table()
            if table.dimension is None or not keys:
                return {}
            rows = self._database.rows(
                "SELECT f.place, v.embedding FROM (SELECT k.place,"  # noqa: S608
                f" (SELECT min(t.id) FROM {table.name} t WHERE t.key = k.value) AS id"
                " FROM unnest($1::text[]) WITH ORDINALITY AS k (value, place)) f"
                f" JOIN {table.name} v ON v.id = f.id ORDER BY f.place, v.place",
                (listed := list(dict.fromkeys(keys)),),
            )
        found = self._matrices(rows, table.dimension)
        return {listed[place - 1]: matrix for place, matrix in found.items()}

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        """Return the dot products of the rows of each id with each of ``vectors``.

        The server computes them in float32, and sends no vector.
        """
        keys = dict(keys_of(ids))
        with self._database.reading():
            table = self._table()
            if table.dimension is None or not keys:
                return {}
            wanted = as_rows(vectors, table.dimension)
            columns = "".join(
                f", -(embedding::vector <#> ${number}::real[]::vector)"
                for number in range(2, len(wanted) + 2)
            )
            rows = self._database.rows(
                f"SELECT id, embedding IS NULL{columns} FROM {table.name}"  # noqa: S608
                " WHERE id = ANY($1::bigint[]) ORDER BY id, place",
                (list(keys.values()), *wanted.tolist()),
            )
        found: dict[int, FloatMatrix] = {}
        for key, group in groupby(rows, key=lambda row: row[0]):
            products = [row[2:] for row in group if not row[1]]
            found[key] = np.array(products, np.float32).reshape(-1, len(wanted))
        return {i: found[key] for i, key in keys.items() if key in found}

    def remove(self, ids: Collection[str]) -> None:
        keys = [key for _, key in keys_of(ids)]
        with self._database.transaction():
            table = self._table()
            if keys and table.dimension is not None:
                self._lock()
                self._delete(table, keys)

    def take_over(self, source: PostgresVectors) -> None:
        """Replace all vectors with those of another index, which is empty afterwards.

        The two exchange their tables, so no vector is copied. The earlier table is dropped later,
        since others may still read it.
        """
        with self._database.transaction():
            self._lock_replacing()
            taken = source._table()
            if taken.dimension is None:
                self.clear()
                return
            self._retire(self._table())
            self._database.write(
                "UPDATE vector_index SET name = $2 WHERE name = $1", (source._name, self._name)
            )
            self._database.define(partial(create_vector_index, name=source._name))

    def clear(self) -> None:
        with self._database.transaction():
            self._lock_replacing()
            table = self._table()
            if table.dimension is not None:
                self._retire(table)
                self._database.define(partial(create_vector_index, name=self._name))

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        """Return the ``k`` ids with the largest dot product with ``vector``.

        Scores are exact. Of more than `EXACT_ROWS` rows without a filter, HNSW finds them.
        """
        with self._database.reading():
            table = self._table()
            items = self._database.total(table.items)
            if table.dimension is None or not items:
                return []
            if self._database.total(table.matrices):
                raise matrix_search_error(self._name)
            query = as_query(vector, table.dimension)
            if k <= 0:
                return []
            among = None if where is None else key_array(where).tolist()
            rows = self._near(table, query, k=k, among=among, items=items)
        keys = [key for key, _ in rows]
        scores = exact_scores(self._unpack([data for _, data in rows], table.dimension), query)
        return [Scored(int_to_id(i), score) for i, score in top_scores(keys, scores.tolist(), k)]

    def count(self) -> int:
        with self._database.reading():
            return self._database.total(self._table().items)

    def _near(
        self,
        table: _Table,
        query: FloatMatrix,
        *,
        k: int,
        among: list[int] | None,
        items: int,
    ) -> list[tuple[int, bytes]]:
        """Return the keys and vectors of the rows that may be among the ``k`` nearest."""
        bindings: list[Any] = [query.tolist(), k, 2 * error_bound(query)]
        found: list[tuple[int, bytes]] = []
        wanted = f"$1::real[]::vector::{self._type}"
        if (
            among is None
            and items > self._exact_rows
            and _SEARCHED_FOR_EACH * k <= HNSW_SEARCHED
            and self._has_index(table)
        ):
            cast = f"{self._type}({table.dimension})"
            found += self._database.rows(
                f"SELECT id, embedding FROM {table.name}"  # noqa: S608
                f" ORDER BY embedding::{cast} <#> {wanted}::{cast} LIMIT $2",
                (bindings[0], 2 * k + _SPARE_CANDIDATES),
            )
            return found
        chosen = ""
        if among is not None:
            chosen = " WHERE id = ANY($4::bigint[])"
            bindings.append(among)
        found += self._database.rows(
            f"WITH scored AS MATERIALIZED (SELECT id, embedding <#> {wanted} AS distance"  # noqa: S608
            f" FROM {table.name}{chosen}),"
            " least AS (SELECT distance FROM scored ORDER BY distance"
            " OFFSET greatest($2::bigint - 1, 0) LIMIT 1)"
            f" SELECT v.id, v.embedding FROM scored s JOIN {table.name} v ON v.id = s.id"
            " WHERE s.distance <= coalesce((SELECT distance FROM least), 'infinity'::float8)"
            " + $3::float8",
            bindings,
        )
        return found

    def _lock(self) -> None:
        if final_name(self._name) not in _OF_ONE_CHUNK:
            self._database.lock_shared()

    def _lock_replacing(self) -> None:
        self._database.lock_replacing()
        self._database.lock_shared()

    def _table(self) -> _Table:
        sql = "SELECT name, number, dimension FROM vector_index"
        rows = self._database.rows_held(sql)
        (found,) = (_Table(*row) for name, *row in rows if name == self._name)
        return found

    def _set_dimension(self, dimension: int) -> _Table:
        """Return the table for rows of this length."""
        self._database.lock_shared()
        table = self._table()
        if table.dimension not in (None, dimension):
            if self._database.total(table.items):
                as_rows(np.zeros((1, dimension), np.float32), table.dimension)
            self._database.define(partial(_drop_index, table=table.name))
        self._database.write(
            "UPDATE vector_index SET dimension = $2 WHERE name = $1", (self._name, dimension)
        )
        self._database.forget_held()
        return _Table(table.number, dimension)

    def _delete(self, table: _Table, keys: list[int]) -> None:
        rows = self._database.write(
            f"WITH gone AS (DELETE FROM {table.name} WHERE id = ANY($1::bigint[])"  # noqa: S608
            " RETURNING id, embedding IS NULL AS is_empty)"
            " SELECT count(*), count(*) FILTER (WHERE n <> 1 OR is_empty)"
            " FROM (SELECT count(*) AS n, bool_or(is_empty) AS is_empty FROM gone GROUP BY id) g",
            (keys,),
        )
        ((items, matrices),) = rows
        self._database.add_total(table.items, -items)
        self._database.add_total(table.matrices, -matrices)

    def _rows(self, items: dict[int, tuple[str, FloatMatrix]]) -> Iterator[Bindings]:
        """Yield the rows of matrices; an empty one is a row without a vector."""
        for key, (content_key, matrix) in items.items():
            header = _HEADER.pack(matrix.shape[1], 0)
            data = matrix.astype(self._stored)
            if not len(data):
                yield key, 0, content_key, None
            for place, row in enumerate(data):
                yield key, place, None if place else content_key, header + row.tobytes()

    def _matrices(
        self, rows: Sequence[tuple[int, bytes | None]], dimension: int
    ) -> dict[int, FloatMatrix]:
        found: dict[int, FloatMatrix] = {}
        for key, group in groupby(rows, key=lambda row: row[0]):
            found[key] = self._unpack([data for _, data in group if data is not None], dimension)
        return found

    @decodes("a vector")
    def _unpack(self, vectors: Sequence[bytes], dimension: int) -> FloatMatrix:
        joined = b"".join(data[_HEADER.size :] for data in vectors)
        return np.frombuffer(joined, self._stored).reshape(-1, dimension).astype(np.float32)

    def _has_index(self, table: _Table) -> bool:
        if self._indexed == table:
            return True
        rows = self._database.rows_once(_VALID_INDEX, (f"{table.name}_hnsw", self._database.schema))
        if rows == [(True,)]:
            self._indexed = table
        return self._indexed == table

    def _build_index(self) -> None:
        """Build the HNSW index if the table has grown beyond exact search, once.

        A copy that is unfinished has none yet: the server would wait for the transaction that reads
        the source, if both are in one database.
        """
        database = self._database
        if not self._has_grown or not database.is_owner or self._type != "vector":
            return
        self._has_grown = False
        with database.reading():
            table = self._table()
            if (
                table.dimension is None
                or table.dimension > _MOST_DIMENSIONS
                or database.total(table.items) <= self._exact_rows
                or database.total(table.matrices)
                or self._has_index(table)
            ):
                return
            if database.rows_once(_IS_COPIED):
                self._has_grown = True
                return
        try:
            with database.separate() as connection:
                _create_index(connection, table, schema=database.schema, number=database.number)
        except psycopg.Error as error:
            _log.warning("the HNSW index of `%s` was not built: %s", self._name, error)

    def _retire(self, table: _Table) -> None:
        """Take a table out of use, and drop those that were taken out of use before."""
        self._drop_garbage()
        self._database.write("DELETE FROM vector_index WHERE name = $1", (self._name,))
        self._database.write(
            "INSERT INTO vector_garbage (number, since) VALUES ($1, now())", (table.number,)
        )
        for total in (table.items, table.matrices):
            self._database.add_total(total, -self._database.total(total))

    def _drop_garbage(self) -> None:
        rows = self._database.write("DELETE FROM vector_garbage RETURNING number")
        for (number,) in rows:
            name = vector_table(number)
            self._database.define(partial(_drop_table, table=name))


_IS_COPIED = f"SELECT 1 FROM meta WHERE key = '{COPY_META}' AND value <> ''"  # noqa: S608
_VALID_INDEX = (
    "SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relname = $1 AND n.nspname = $2"
)


def _create_index(connection: Connection, table: _Table, *, schema: str, number: int) -> None:
    """Build an HNSW index while others read and write; only one process does."""
    lock = connection.execute(
        "SELECT pg_try_advisory_lock($1::int, $2::int)", (_BUILDING_LOCK, number), binary=True
    ).fetchone()
    if lock != (True,):
        return
    name = f"{table.name}_hnsw"
    connection.execute("SET statement_timeout = 0", prepare=False)
    if connection.execute(_VALID_INDEX, (name, schema), binary=True).fetchone() == (False,):
        connection.execute(f"DROP INDEX {name}", prepare=False)  # of a build that failed
    _log.info("building the HNSW index of `%s`", table.name)
    connection.execute(
        f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON {table.name} USING hnsw"
        f" ((embedding::vector({table.dimension})) vector_ip_ops)",
        prepare=False,
    )


def _drop_index(connection: Connection, *, table: str) -> None:
    connection.execute(f"DROP INDEX IF EXISTS {table}_hnsw", prepare=False)


def _drop_table(connection: Connection, *, table: str) -> None:
    connection.execute(f"DROP TABLE IF EXISTS {table}", prepare=False)
