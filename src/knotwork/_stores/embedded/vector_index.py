"""Vector index: stored as blobs in tables, searched in a matrix that is cached in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress, islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.base import FloatMatrix, Scored
from knotwork._stores.contents import VectorItem
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.dialect import SQLITE
from knotwork._stores.packed_terms import check_index_name
from knotwork._stores.sql.database import reports_damage
from knotwork._stores.sql.packing import decodes, key_array, keys_of
from knotwork._stores.vectors import (
    as_query,
    as_rows,
    error_bound,
    exact_scores,
    matrix_search_error,
    row_products,
    stored_type,
    top_scores,
)
from knotwork.records import id_to_int, int_to_id


class _Table(NamedTuple):
    """A row of `vector_index`; ``matrices`` counts the items with more than one vector.

    ``replaced`` is the version in which this table replaced another one. Its rows may have lower
    versions, so a matrix cached before has to be loaded again.
    """

    dimension: int
    items: int
    matrices: int
    version: int
    replaced: int = 0


@reports_damage
class EmbeddedVectors:
    """The `VectorIndex` of the embedded store.

    Every row has the generation that wrote it, so that an older cached matrix is updated by reading
    only the rows that changed since.
    """

    def __init__(self, database: Database, name: str) -> None:
        check_index_name(name)
        self._database = database
        self._name = name
        self._table = f"vector_{name}"
        self._stored = np.dtype(stored_type(name)).newbyteorder("<")
        self._matrix: VectorMatrix | None = None
        self._lookup: RowLookup | None = None
        self._updating = threading.Lock()

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        """Add (id, content key, matrix) triples; an id that exists is replaced."""
        with self._database.transaction():
            table = self._read_table()
            dimension = table.dimension if table else None
            new: dict[int, tuple[str, bytes]] = {}
            for identifier, key, matrix in items:
                rows = as_rows(matrix, dimension)
                dimension = rows.shape[1]
                new[id_to_int(identifier)] = (key, rows.astype(self._stored).tobytes())
            if dimension is None or not new:
                return
            if table is None:
                self._create()
                table = _Table(dimension, 0, 0, 0)
            version = self._database.generation() + 1
            sizes = self._sizes(new)
            self._database.write_many(
                f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?, ?, ?)",  # noqa: S608
                ((key, version, *content) for key, content in new.items()),
            )
            one = dimension * self._stored.itemsize
            added = sum(len(data) != one for _, data in new.values())
            removed = sum(size != one for size in sizes)
            items_now = table.items + len(new) - len(sizes)
            self._write_table(
                _Table(
                    dimension, items_now, table.matrices + added - removed, version, table.replaced
                )
            )

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by id."""
        keys = dict(keys_of(ids))
        with self._database.reading():
            table = self._read_table()
            if table is None:
                return {}
            lookup = self._current_lookup(table)
            if lookup is not None:
                exists, vectors = lookup.get(list(keys.values()))
                existing = compress(keys, exists.tolist())
                return {i: row[np.newaxis] for i, row in zip(existing, vectors, strict=True)}
            rows = self._database.fetch(
                "SELECT v.id, v.data FROM json_each(?) j"  # noqa: S608
                f" CROSS JOIN {self._table} v ON v.id = j.value",
                (SQLITE.bind_keys(keys.values()),),
            )
        blobs: dict[int, bytes] = dict(rows)
        found = {identifier: blobs[key] for identifier, key in keys.items() if key in blobs}
        return self._unpack(found, table.dimension)

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        """Return the dot products of the rows of each id with each of ``vectors``."""
        return row_products(self.get(ids), vectors)

    def items(self, after: int, *, limit: int) -> list[VectorItem]:
        """Return the first ``limit`` items whose keys follow ``after``, by key."""
        with self._database.reading():
            table = self._read_table()
            if table is None:
                return []
            rows = self._database.fetch(
                f"SELECT id, key, data FROM {self._table} WHERE id > ? ORDER BY id LIMIT ?",  # noqa: S608
                (after, limit),
            )
        blobs = {int_to_id(key): data for key, _, data in rows}
        found = self._unpack(blobs, table.dimension)
        return [VectorItem(i, row[1], found[i]) for i, row in zip(found, rows, strict=True)]

    def by_key(self, keys: Collection[str]) -> dict[str, FloatMatrix]:
        """Return matrices by content key; if several have it, the one with the smallest id."""
        with self._database.reading():
            table = self._read_table()
            if table is None:
                return {}
            rows = self._database.fetch(
                "SELECT j.value, v.data FROM json_each(?1) j"  # noqa: S608
                f" CROSS JOIN {self._table} v ON v.id ="
                f" (SELECT min(id) FROM {self._table} WHERE key = j.value)",
                (SQLITE.bind_texts(dict.fromkeys(keys)),),
            )
        return self._unpack(dict(rows), table.dimension)

    def remove(self, ids: Collection[str]) -> None:
        """Remove matrices."""
        with self._database.transaction():
            table = self._read_table()
            if table is None:
                return
            keys = [key for _, key in keys_of(ids)]
            sizes = self._sizes(keys)
            if not sizes:
                return
            self._database.write(
                f"DELETE FROM {self._table} WHERE id IN (SELECT value FROM json_each(?1))",  # noqa: S608
                (SQLITE.bind_keys(keys),),
            )
            one = table.dimension * self._stored.itemsize
            self._write_table(
                table._replace(
                    items=table.items - len(sizes),
                    matrices=table.matrices - sum(size != one for size in sizes),
                    version=self._database.generation() + 1,
                )
            )

    def take_over(self, source: EmbeddedVectors) -> None:
        """Replace all vectors with those of another index, which is empty afterwards.

        The table of the other index is renamed, so no vector is copied.
        """
        with self._database.transaction():
            table = source._read_table()
            self.clear()
            if table is None:
                return
            for column in ("version", "key"):
                self._database.write(f"DROP INDEX {source._table}_{column}")
            self._database.write(f"ALTER TABLE {source._table} RENAME TO {self._table}")
            self._create()
            version = self._database.generation() + 1
            self._write_table(table._replace(version=version, replaced=version))
            source.clear()

    def clear(self) -> None:
        """Remove all vectors."""
        with self._database.transaction():
            self._database.write(f"DROP TABLE IF EXISTS {self._table}")
            self._database.write("DELETE FROM vector_index WHERE name = ?", (self._name,))

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        """Return the ``k`` ids with the largest dot product with ``vector``, exactly."""
        with self._database.reading():
            table = self._read_table()
            if table is None:
                return []
            if table.matrices:
                raise matrix_search_error(self._name)
            query = as_query(vector, table.dimension)
            among = None if where is None else key_array(where)
            if self._database.writing:
                with self._updating:  # the shared matrix must not contain uncommitted rows
                    found = self._updated(table).search(query, k=k, where=among)
            else:
                found = self._current(table).search(query, k=k, where=among)
        return [Scored(int_to_id(key), score) for key, score in found]

    def count(self) -> int:
        """Return the number of ids."""
        with self._database.reading():
            table = self._read_table()
        return table.items if table else 0

    def _current_lookup(self, table: _Table) -> RowLookup | None:
        """Return a lookup of the cached matrix, or None if it differs from ``table``."""
        matrix, lookup = self._matrix, self._lookup
        if self._database.writing or matrix is None:
            return None
        if not matrix.matches(table.version, table.dimension):
            return None
        if lookup is None or lookup.matrix is not matrix:
            lookup = self._lookup = RowLookup.of(matrix)
        return lookup

    def _current(self, table: _Table) -> VectorMatrix:
        """Return the shared matrix, updated to the state that this thread sees."""
        matrix = self._matrix
        if matrix is None or not matrix.matches(table.version, table.dimension):
            with self._updating:
                matrix = self._matrix
                if matrix is None or not matrix.matches(table.version, table.dimension):
                    newer = self._updated(table)
                    if matrix is None or newer.version > matrix.version:
                        self._matrix = newer
                    matrix = newer
        return matrix

    def _updated(self, table: _Table) -> VectorMatrix:
        """Return a matrix of the state that this thread sees.

        It is derived from the shared matrix if that is older and at most half of its rows changed.
        """
        old = self._matrix
        if (
            old is None
            or not _can_update(old, table)
            or self._changed_since(old.version) * 2 > table.items
        ):
            return VectorMatrix.load(
                self._database.connection().execute(f"SELECT id, data FROM {self._table}"),  # noqa: S608
                items=table.items,
                dimension=table.dimension,
                stored=self._stored,
                version=table.version,
            )
        changed = self._database.connection().execute(
            f"SELECT id, data FROM {self._table} WHERE version > ?",  # noqa: S608
            (old.version,),
        )
        newer = old.changed(changed, stored=self._stored, version=table.version)
        if newer.items != table.items:
            sql = f"SELECT id FROM {self._table} INDEXED BY {self._table}_version"  # noqa: S608
            rows = self._database.fetch(sql)
            newer = newer.restricted(np.fromiter((key for (key,) in rows), np.int64, len(rows)))
        return newer

    def _changed_since(self, version: int) -> int:
        sql = f"SELECT count(*) FROM {self._table} WHERE version > ?"  # noqa: S608
        ((count,),) = self._database.rows(sql, (version,))
        return int(count)

    @decodes("a vector")
    def _unpack(self, found: dict[str, bytes], dimension: int) -> dict[str, FloatMatrix]:
        """Return the matrices in these blobs, as slices of one array."""
        data = np.frombuffer(b"".join(found.values()), self._stored).reshape(-1, dimension)
        rows = data.astype(np.float32)
        width = dimension * self._stored.itemsize
        starts = accumulate((len(blob) // width for blob in found.values()), initial=0)
        return {i: rows[start:end] for i, (start, end) in zip(found, pairwise(starts), strict=True)}

    def _sizes(self, keys: Iterable[int]) -> list[int]:
        """Return the sizes in bytes of the rows that exist."""
        rows = self._database.fetch(
            "SELECT length(v.data) FROM json_each(?1) j"  # noqa: S608
            f" CROSS JOIN {self._table} v ON v.id = j.value",
            (SQLITE.bind_keys(keys),),
        )
        return [size for (size,) in rows]

    def _read_table(self) -> _Table | None:
        rows = self._database.rows_once(
            "SELECT name, dimension, items, matrices, version, replaced FROM vector_index"
        )  # of all indexes, as a search reads several
        return next((_Table(*row[1:]) for row in rows if row[0] == self._name), None)

    def _write_table(self, table: _Table) -> None:
        """Write the state of the table; that of an empty one is deleted with its dimension."""
        if table.items:
            sql = "INSERT OR REPLACE INTO vector_index VALUES (?, ?, ?, ?, ?, ?)"
            self._database.write(sql, (self._name, *table))
        else:
            self._database.write("DELETE FROM vector_index WHERE name = ?", (self._name,))

    def _create(self) -> None:
        name = self._table
        self._database.write(
            f"CREATE TABLE IF NOT EXISTS {name} (id INTEGER PRIMARY KEY,"
            " version INTEGER NOT NULL, key TEXT NOT NULL, data BLOB NOT NULL)"
        )
        self._database.write(f"CREATE INDEX IF NOT EXISTS {name}_version ON {name} (version)")
        self._database.write(f"CREATE INDEX IF NOT EXISTS {name}_key ON {name} (key)")


def _can_update(old: VectorMatrix, table: _Table) -> bool:
    """Return True if a matrix can be updated from the rows that changed since its version."""
    return old.dimension == table.dimension and table.replaced <= old.version <= table.version


_BLOCK_ROWS = 4_096
_SPARE_SHARE = 0.1
_SPARE_ROWS = 256
_DEAD_SHARE = 0.25
_FEW_SHARE = 0.1
"""Share of the rows below which copying and scoring them is faster than scoring all rows."""

_PackedRows = Iterable[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class VectorMatrix:
    """A matrix with one row per id; replaced and removed rows stay, but are not ``alive``.

    ``buffer`` has spare rows after the ``len(keys)`` used ones. A newer matrix may share the buffer
    and fill the spare rows, which an older one never reads.
    """

    version: int
    keys: NDArray[np.int64]
    alive: NDArray[np.bool_]
    buffer: FloatMatrix

    @property
    def dimension(self) -> int:
        return int(self.buffer.shape[1])

    @property
    def items(self) -> int:
        return int(np.count_nonzero(self.alive))

    def matches(self, version: int, dimension: int) -> bool:
        """Return True if the matrix has this version and dimension."""
        return self.version == version and self.dimension == dimension

    @classmethod
    def load(
        cls, rows: _PackedRows, *, items: int, dimension: int, stored: np.dtype[Any], version: int
    ) -> VectorMatrix:
        """Read a whole table of ``items`` rows."""
        buffer = _room(items, dimension)
        keys = _fill(buffer, 0, rows, stored)
        return cls(version, keys, np.ones(len(keys), dtype=np.bool_), buffer)

    def changed(self, rows: _PackedRows, *, stored: np.dtype[Any], version: int) -> VectorMatrix:
        """Return the matrix with these rows added or replaced; call only on the newest matrix."""
        changes = list(rows)
        used, needed = len(self.keys), len(self.keys) + len(changes)
        if needed > len(self.buffer) or self.items < (1 - _DEAD_SHARE) * used:
            return self._moved(changes, stored=stored, version=version)
        added = _fill(self.buffer, used, changes, stored)
        alive = np.concatenate([self.alive & ~_among(self.keys, added), np.ones(len(added), bool)])
        return VectorMatrix(version, np.concatenate([self.keys, added]), alive, self.buffer)

    def restricted(self, keys: NDArray[np.int64]) -> VectorMatrix:
        """Return the matrix with only those rows whose keys are among ``keys``."""
        return VectorMatrix(
            self.version, self.keys, self.alive & _among(self.keys, keys), self.buffer
        )

    def search(
        self, query: FloatMatrix, *, k: int, where: NDArray[np.int64] | None
    ) -> list[tuple[int, float]]:
        """Return the exact ``k`` best (key, dot product) pairs, ties by key.

        A fast float32 pass selects all rows that may be among the best within its error bound;
        these are then scored exactly.
        """
        used = len(self.keys)
        keys, alive, rows = self.keys, self.alive, self.buffer[:used]
        if where is not None:
            alive = alive & _among(keys, where)
            chosen = np.flatnonzero(alive)
            if len(chosen) < _FEW_SHARE * used:
                keys, alive, rows = keys[chosen], alive[chosen], rows[chosen]
        count = int(np.count_nonzero(alive))
        if k <= 0 or not count:
            return []
        if count > k:
            fast = np.where(alive, rows @ query, -np.inf)
            least = np.partition(fast, -k)[-k]
            near = np.flatnonzero(fast >= least - 2 * error_bound(query))
        else:
            near = np.flatnonzero(alive)
        scores = exact_scores(rows[near], query)
        return top_scores(keys[near].tolist(), scores.tolist(), k)

    def _moved(self, changes: _PackedRows, *, stored: np.dtype[Any], version: int) -> VectorMatrix:
        """Return the changed matrix in a new buffer, with alive rows only."""
        changes = list(changes)
        replaced = np.fromiter((key for key, _ in changes), np.int64, len(changes))
        kept = np.flatnonzero(self.alive & ~_among(self.keys, replaced))
        buffer = _room(len(kept) + len(changes), self.dimension)
        np.take(self.buffer, kept, axis=0, out=buffer[: len(kept)])
        added = _fill(buffer, len(kept), changes, stored)
        keys = np.concatenate([self.keys[kept], added])
        return VectorMatrix(version, keys, np.ones(len(keys), dtype=np.bool_), buffer)


@dataclass(frozen=True, slots=True)
class RowLookup:
    """Find the rows of a matrix by their keys."""

    matrix: VectorMatrix
    keys: NDArray[np.int64]
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, matrix: VectorMatrix) -> RowLookup:
        """Build a lookup of the alive rows of a matrix."""
        rows = np.flatnonzero(matrix.alive)
        rows = rows[np.argsort(matrix.keys[rows], kind="stable")]
        return cls(matrix, matrix.keys[rows], rows)

    def get(self, wanted: Sequence[int]) -> tuple[NDArray[np.bool_], FloatMatrix]:
        """Return a mask of the keys that exist, and copies of their rows."""
        sought = np.array(wanted, dtype=np.int64)
        places = np.searchsorted(self.keys, sought).clip(max=max(len(self.keys) - 1, 0))
        exists = self.keys[places] == sought if len(self.keys) else np.zeros(len(sought), bool)
        return exists, self.matrix.buffer[self.rows[places[exists]]]


def _among(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the keys that are wanted; faster than `np.isin` if few are."""
    if not len(wanted):
        return np.zeros(len(keys), dtype=np.bool_)
    ordered = np.sort(wanted)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[places] == keys
    return found


def _room(rows: int, dimension: int) -> FloatMatrix:
    return np.empty((rows + int(rows * _SPARE_SHARE) + _SPARE_ROWS, dimension), dtype=np.float32)


@decodes("a vector")
def _fill(
    buffer: FloatMatrix, start: int, rows: _PackedRows, stored: np.dtype[Any]
) -> NDArray[np.int64]:
    """Write rows into the buffer from row ``start`` on, and return their keys."""
    keys: list[int] = []
    remaining = iter(rows)
    while block := list(islice(remaining, _BLOCK_ROWS)):
        data = b"".join(data for _, data in block)
        numbers = np.frombuffer(data, stored).reshape(len(block), -1)
        position = start + len(keys)
        buffer[position : position + len(block)] = numbers
        keys += [key for key, _ in block]
    return np.array(keys, dtype=np.int64)
