"""Vector index: stored as blobs in tables, and searched in memory.

Up to `CODED_FROM` vectors are held in a matrix and searched exactly. Of more, only their codes are
held, which need a twentieth of the memory, and the best are read from the table. The codes are kept
in pages, from which another process loads them. Nothing else depends on the pages: vectors that
have no page yet are coded as they are read.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate, chain, compress, pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.base import FloatMatrix, Scored
from knotwork._stores.contents import VectorItem
from knotwork._stores.embedded.database import Database
from knotwork._stores.embedded.dialect import SQLITE
from knotwork._stores.embedded.vector_codes import CodeBook, Coded, VectorCodes
from knotwork._stores.embedded.vector_matrix import (
    BLOCK_ROWS,
    PackedRows,
    RowLookup,
    VectorMatrix,
    decode_blocks,
)
from knotwork._stores.packed_terms import check_index_name
from knotwork._stores.sql.database import Row, reports_damage
from knotwork._stores.sql.packing import decodes, key_array, keys_of
from knotwork._stores.vectors import (
    as_query,
    as_rows,
    matrix_search_error,
    row_products,
    stored_type,
)
from knotwork.records import id_to_int, int_to_id

CODED_FROM = 150_000
"""Vectors from which on codes are held in memory instead of a matrix."""
_PAGE_ROWS = 8_192
_MOST_DEAD_SHARE = 0.5
_CENTER_ROWS = 20_000
_LATEST = (1 << 63) - 1

Held = TypeVar("Held", VectorMatrix, VectorCodes)


class _Table(NamedTuple):
    """A row of `vector_index`; ``matrices`` counts the items with more than one vector.

    ``replaced`` is the version in which this table replaced another one. Its rows may have lower
    versions, so what was cached before has to be loaded again. Rows up to the version ``coded``
    have pages of codes, made with the ``center`` packed here; without pages it is empty.
    """

    dimension: int
    items: int
    matrices: int
    version: int
    replaced: int = 0
    coded: int = 0
    center: bytes = b""

    @property
    def is_coded(self) -> bool:
        return self.items >= CODED_FROM and not self.matrices


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
        self._cached: VectorMatrix | VectorCodes | None = None
        self._lookup: RowLookup | None = None
        self._updating = threading.Lock()

    def put(self, items: Iterable[tuple[str, str, FloatMatrix]]) -> None:
        with self._database.transaction():
            table = self._read_table()
            dimension = table.dimension if table else None
            new: dict[int, tuple[str, bytes]] = {}
            for identifier, key, matrix in items:
                rows = as_rows(matrix, dimension)
                dimension = rows.shape[1]
                if rows.any() or not len(rows):
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
            table = table._replace(
                items=table.items + len(new) - len(sizes),
                matrices=table.matrices + added - removed,
                version=version,
            )
            self._write_table(self._write_codes(table) if table.is_coded else table)

    def get(self, ids: Collection[str]) -> dict[str, FloatMatrix]:
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
            rows = self._rows_of(keys.values())
        blobs: dict[int, bytes] = dict(rows)
        found = {identifier: blobs[key] for identifier, key in keys.items() if key in blobs}
        return self._unpack(found, table.dimension)

    def products(self, ids: Collection[str], vectors: FloatMatrix) -> dict[str, FloatMatrix]:
        return row_products(self.get(ids), vectors)

    def items(self, after: int, *, limit: int) -> list[VectorItem]:
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
            self._database.write(
                "UPDATE vector_code SET name = ? WHERE name = ?", (self._name, source._name)
            )
            self._create()
            version = self._database.generation() + 1
            self._write_table(table._replace(version=version, replaced=version))
            source.clear()

    def clear(self) -> None:
        with self._database.transaction():
            self._database.write(f"DROP TABLE IF EXISTS {self._table}")
            self._database.write("DELETE FROM vector_code WHERE name = ?", (self._name,))
            self._database.write("DELETE FROM vector_index WHERE name = ?", (self._name,))

    def search(
        self, vector: FloatMatrix, *, k: int, where: Collection[str] | None = None
    ) -> list[Scored]:
        """Return the ``k`` ids with the largest dot product with ``vector``.

        Scores are exact. Among very many vectors, one of the best can be missed: see `VectorCodes`.
        """
        with self._database.reading():
            table = self._read_table()
            if table is None:
                return []
            if table.matrices:
                raise matrix_search_error(self._name)
            query = as_query(vector, table.dimension)
            among = None if where is None else key_array(where)
            if self._database.writing:
                with self._updating:  # what is shared must not contain uncommitted rows
                    held = self._updated(table)
            else:
                held = self._current(table)
            if isinstance(held, VectorCodes):
                found = held.search(query, k=k, where=among, read=self._read_rows)
            else:
                found = held.search(query, k=k, where=among)
        return [Scored(int_to_id(key), score) for key, score in found]

    def count(self) -> int:
        with self._database.reading():
            table = self._read_table()
        return table.items if table else 0

    def count_miscoded(self) -> int:
        """Return the number of vectors whose code is missing or that of another vector."""
        with self._database.reading():
            table = self._read_table()
            if table is None or not table.coded:
                return 0
            book = self._code_book(table)
            paged = VectorCodes.load(book, self._read_pages(table), version=table.coded)
            rows = self._rows_since(-1, until=table.coded)
            return paged.count_unlike(self._encoded(book, rows))

    def _current_lookup(self, table: _Table) -> RowLookup | None:
        """Return a lookup of the cached matrix, or None if it is missing or differs."""
        matrix, lookup = self._cached, self._lookup
        if self._database.writing or not isinstance(matrix, VectorMatrix):
            return None
        if not matrix.matches(table.version, table.dimension):
            return None
        if lookup is None or lookup.matrix is not matrix:
            lookup = self._lookup = RowLookup.of(matrix)
        return lookup

    def _current(self, table: _Table) -> VectorMatrix | VectorCodes:
        """Return the shared matrix or codes, updated to the state that this thread sees."""
        held = self._cached
        if held is None or not held.matches(table.version, table.dimension):
            with self._updating:
                held = self._cached
                if held is None or not held.matches(table.version, table.dimension):
                    newer = self._updated(table)
                    if held is None or newer.version > held.version:
                        self._cached = newer
                    held = newer
        return held

    def _updated(self, table: _Table) -> VectorMatrix | VectorCodes:
        """Return a matrix or codes of the state that this thread sees.

        They are derived from the shared ones if those are older, of the same kind, and at most half
        of their rows changed.
        """
        old = self._cached
        if old is not None and not self._can_update(old, table):
            old = None
        if table.is_coded:
            if isinstance(old, VectorCodes):
                new = self._encoded(old.book, self._rows_since(old.version))
                codes = old.changed(new, version=table.version)
            else:
                codes = self._load_codes(table)
            return self._restricted(codes, table)
        if isinstance(old, VectorMatrix):
            rows = self._rows_since(old.version)
            matrix = old.changed(rows, stored=self._stored, version=table.version)
        else:
            matrix = VectorMatrix.load(
                self._all_rows(),
                items=table.items,
                dimension=table.dimension,
                stored=self._stored,
                version=table.version,
            )
        return self._restricted(matrix, table)

    def _can_update(self, old: VectorMatrix | VectorCodes, table: _Table) -> bool:
        """Return True if it is possible, and faster, to read only the rows that changed."""
        return (
            old.dimension == table.dimension
            and table.replaced <= old.version <= table.version
            and self._changed_since(old.version) * 2 <= table.items
        )

    def _restricted(self, held: Held, table: _Table) -> Held:
        """Return what is held without the rows that were removed from the table."""
        if held.items == table.items:
            return held
        sql = f"SELECT id FROM {self._table} INDEXED BY {self._table}_version"  # noqa: S608
        rows = self._database.fetch(sql)
        return held.restricted(np.fromiter((key for (key,) in rows), np.int64, len(rows)))

    def _load_codes(self, table: _Table) -> VectorCodes:
        book = self._code_book(table)
        rows = self._rows_since(table.coded) if table.coded else self._all_rows()
        blocks = chain(self._read_pages(table), self._encoded(book, rows))
        return VectorCodes.load(book, blocks, version=table.version)

    def _read_pages(self, table: _Table) -> Iterator[Coded]:
        pages = self._database.stream(
            "SELECT keys, data FROM vector_code WHERE name = ? ORDER BY page", (self._name,)
        )
        for keys, data in pages:
            yield Coded.unpack(keys, data, dimension=table.dimension)

    def _write_codes(self, table: _Table) -> _Table:
        """Write pages for the rows without one, once there are enough; return the new state.

        Rows of the open transaction come later, as it may write more of the same version.
        """
        written = table.version - 1
        if self._changed_since(table.coded, until=written) < _PAGE_ROWS:
            return table
        book = self._code_book(table)
        rows = self._rows_since(table.coded, until=written)
        table = table._replace(coded=written, center=book.center.astype("<f4").tobytes())
        self._write_pages(self._encoded(book, rows, size=_PAGE_ROWS))
        ((paged,),) = self._database.rows(
            "SELECT sum(length(keys)) / 8 FROM vector_code WHERE name = ?", (self._name,)
        )
        if paged > table.items / (1 - _MOST_DEAD_SHARE):
            whole = self._restricted(self._load_codes(table), table)
            self._database.write("DELETE FROM vector_code WHERE name = ?", (self._name,))
            self._write_pages(whole.pages(_PAGE_ROWS))
        return table

    def _write_pages(self, pages: Iterable[Coded]) -> None:
        self._database.write_many(
            "INSERT INTO vector_code SELECT ?1, coalesce(max(page), 0) + 1, ?2, ?3"
            " FROM vector_code WHERE name = ?1",
            ((self._name, *page.pack()) for page in pages),
        )

    def _code_book(self, table: _Table) -> CodeBook:
        """Return the code book of the pages, or one for the vectors of the table."""
        if table.center:
            return CodeBook(np.frombuffer(table.center, "<f4"))
        sql = f"SELECT id, data FROM {self._table} ORDER BY id LIMIT ?"  # noqa: S608
        sample = self._database.stream(sql, (_CENTER_ROWS,))  # as good as random
        total, count = np.zeros(table.dimension), 0
        for _, vectors in decode_blocks(sample, self._stored):
            total += vectors.sum(axis=0, dtype=np.float64)
            count += len(vectors)
        return CodeBook((total / count).astype(np.float32))

    def _encoded(
        self, book: CodeBook, rows: PackedRows, *, size: int = BLOCK_ROWS
    ) -> Iterator[Coded]:
        for keys, vectors in decode_blocks(rows, self._stored, size=size):
            yield book.encode(keys, vectors.astype(np.float32, copy=False))

    def _read_rows(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], FloatMatrix]:
        rows = self._rows_of(keys.tolist())
        ((found, vectors),) = decode_blocks(rows, self._stored, size=len(keys))
        return found, vectors.astype(np.float32, copy=False)

    def _rows_of(self, keys: Iterable[int]) -> list[Row]:
        """Return the keys and packed vectors of those keys that exist."""
        return self._database.fetch(
            "SELECT v.id, v.data FROM json_each(?) j"  # noqa: S608
            f" CROSS JOIN {self._table} v ON v.id = j.value",
            (SQLITE.bind_keys(keys),),
        )

    def _all_rows(self) -> PackedRows:
        """Return the keys and packed vectors of the table, in the order in which they lie there."""
        sql = f"SELECT id, data FROM {self._table}"  # noqa: S608
        return self._database.stream(sql)

    def _rows_since(self, version: int, *, until: int = _LATEST) -> PackedRows:
        """Return the keys and packed vectors written after a version, in no order."""
        sql = f"SELECT id, data FROM {self._table} WHERE version > ? AND version <= ?"  # noqa: S608
        return self._database.stream(sql, (version, until))

    def _changed_since(self, version: int, *, until: int = _LATEST) -> int:
        sql = f"SELECT count(*) FROM {self._table} WHERE version > ? AND version <= ?"  # noqa: S608
        ((count,),) = self._database.rows(sql, (version, until))
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
            "SELECT name, dimension, items, matrices, version, replaced, coded, center"
            " FROM vector_index"
        )  # of all indexes, as a search reads several
        return next((_Table(*row[1:]) for row in rows if row[0] == self._name), None)

    def _write_table(self, table: _Table) -> None:
        """Write the state of the table; that of an empty one is deleted with its dimension."""
        if table.items:
            sql = "INSERT OR REPLACE INTO vector_index VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
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
