"""Vectors, stored as blobs in tables, and searched in memory.

Up to `CODED_FROM` vectors are held in a matrix and searched exactly. Of more, only their codes are
held, which need a twentieth of the memory, and the best are read from the table. The codes are kept
in pages, from which another process loads them. Nothing else depends on the pages: vectors that
have no page yet are coded as they are read.

The codes are those of RaBitQ (Gao and Long, "RaBitQ: Quantizing High-Dimensional Vectors with a
Theoretical Error Bound", SIGMOD 2024), with one centre for all vectors. A vector is taken apart
into its distance from the centre and its direction, the direction is rotated, and the signs of its
numbers are kept. They give an estimate of a dot product, and a bound that its error hardly ever
exceeds. Vectors are read in the order of these upper bounds and scored exactly, until no bound is
above the score of the last hit.

A random rotation is what makes the estimate hold for any data. Here it is made of sign changes,
permutations and Hadamard transforms of 64 numbers each, which cost much less than a full matrix.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, chain, compress, islice, pairwise
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from knotwork._sqlite_file import DamagedValue
from knotwork._stores.base import FloatMatrix, Scored
from knotwork._stores.embedded.database import Database
from knotwork._stores.id_sets import is_among
from knotwork._stores.indexes import (
    VectorItem,
    as_query,
    as_rows,
    error_bound,
    exact_scores,
    matrix_search_error,
    row_products,
    stored_type,
    top_scores,
)
from knotwork._stores.sql.database import Row, decodes, key_array, key_list, keys_of
from knotwork.records import id_to_int, int_to_id

BLOCK_ROWS = 4_096
"""Rows that are decoded at a time."""

_SPARE_SHARE = 0.1
_SPARE_ROWS = 256
DEAD_SHARE = 0.25
"""Share of rows that are not alive from which on the alive ones are copied."""
_FEW_SHARE = 0.1
"""Share of the rows below which copying and scoring them is faster than scoring all rows."""

PackedRows = Iterable[tuple[int, bytes]]


@dataclass(frozen=True)
class _Held(ABC):
    """Rows in memory, at one version of their table.

    Replaced and removed rows stay, but are not ``alive``.
    """

    version: int
    keys: NDArray[np.int64]
    alive: NDArray[np.bool_]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of columns of a vector."""

    @property
    def items(self) -> int:
        return int(np.count_nonzero(self.alive))

    def matches(self, version: int, dimension: int) -> bool:
        """Return True if the rows have this version and dimension."""
        return self.version == version and self.dimension == dimension

    def restricted(self, keys: NDArray[np.int64]) -> Self:
        """Return only those rows whose keys are among ``keys``."""
        return replace(self, alive=self.alive & is_among(self.keys, keys))


@dataclass(frozen=True)
class VectorMatrix(_Held):
    """A matrix with one row per id.

    ``buffer`` has spare rows after the ``len(keys)`` used ones. A newer matrix may share the buffer
    and fill the spare rows, which an older one never reads.
    """

    buffer: FloatMatrix

    @property
    def dimension(self) -> int:
        return int(self.buffer.shape[1])

    @classmethod
    def load(
        cls, rows: PackedRows, *, items: int, dimension: int, stored: np.dtype[Any], version: int
    ) -> VectorMatrix:
        """Read a whole table of ``items`` rows."""
        buffer = _room(items, dimension)
        keys = _fill(buffer, 0, rows, stored)
        return cls(version, keys, np.ones(len(keys), dtype=np.bool_), buffer)

    def changed(self, rows: PackedRows, *, stored: np.dtype[Any], version: int) -> VectorMatrix:
        """Return the matrix with these rows added or replaced; call only on the newest matrix.

        If there is no room, or too many rows are not alive, the alive ones are copied.
        """
        changes = list(rows)
        replaced = np.fromiter((key for key, _ in changes), np.int64, len(changes))
        keys, buffer = self.keys, self.buffer
        alive = self.alive & ~is_among(keys, replaced)
        needed = len(keys) + len(changes)
        if needed > len(buffer) or self.items < (1 - DEAD_SHARE) * len(keys):
            kept = np.flatnonzero(alive)
            keys, alive = keys[kept], alive[kept]
            buffer = _room(len(kept) + len(changes), self.dimension)
            np.take(self.buffer, kept, axis=0, out=buffer[: len(kept)])
        added = _fill(buffer, len(keys), changes, stored)
        alive = np.concatenate([alive, np.ones(len(added), bool)])
        return VectorMatrix(version, np.concatenate([keys, added]), alive, buffer)

    @cached_property
    def _rows_by_key(self) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """The keys of the alive rows, ascending, and their rows."""
        rows = np.flatnonzero(self.alive)
        rows = rows[np.argsort(self.keys[rows], kind="stable")]
        return self.keys[rows], rows

    def get(self, wanted: Sequence[int]) -> tuple[NDArray[np.bool_], FloatMatrix]:
        """Return a mask of the keys that exist, and copies of their rows."""
        keys, rows = self._rows_by_key
        sought = np.array(wanted, dtype=np.int64)
        places = np.searchsorted(keys, sought).clip(max=max(len(keys) - 1, 0))
        exists = keys[places] == sought if len(keys) else np.zeros(len(sought), bool)
        return exists, self.buffer[rows[places[exists]]]

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
            alive = alive & is_among(keys, where)
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


def _room(rows: int, dimension: int) -> FloatMatrix:
    return np.empty((rows + int(rows * _SPARE_SHARE) + _SPARE_ROWS, dimension), dtype=np.float32)


def _fill(
    buffer: FloatMatrix, start: int, rows: PackedRows, stored: np.dtype[Any]
) -> NDArray[np.int64]:
    found = [np.empty(0, dtype=np.int64)]
    for keys, numbers in decode_blocks(rows, stored):
        buffer[start : start + len(keys)] = numbers
        start += len(keys)
        found.append(keys)
    return np.concatenate(found)


def decode_blocks(
    rows: PackedRows, stored: np.dtype[Any], *, size: int = BLOCK_ROWS
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.floating]]]:
    """Yield the keys and vectors of up to ``size`` rows at a time."""
    remaining = iter(rows)
    while block := list(islice(remaining, size)):
        keys = np.fromiter((key for key, _ in block), np.int64, len(block))
        data = b"".join(packed for _, packed in block)
        try:
            vectors = np.frombuffer(data, stored).reshape(len(block), -1)
        except ValueError as error:
            raise DamagedValue(f"a vector cannot be decoded ({error})") from error
        yield keys, vectors


Keys = NDArray[np.int64]
Words = NDArray[np.uint64]
FloatArray = NDArray[np.float32]
ReadRows = Callable[[Keys], tuple[Keys, FloatMatrix]]
"""Reads vectors of shape (n, d) by their keys, in any order."""

_WORD_BITS = 64
_ROUNDS = 3
_QUERY_BITS = 4
_SCANNED_ROWS = 16_384
_CERTAINTY = 2.5
"""Standard errors by which a dot product may exceed its estimate."""
_MOST_READ = 2_048
_MOST_READ_PER_HIT = 40
_READ_AT_ONCE = 256
_FLIPPED_SHARE = 0.05
"""Share of the signs of a vector that may differ where another machine has rounded otherwise."""


class Rotation(NamedTuple):
    """Signs and permutations of each round, of shape (rounds, padded dimension)."""

    signs: FloatMatrix
    orders: NDArray[np.intp]

    @property
    def dimension(self) -> int:
        return int(self.signs.shape[1])

    def apply(self, rows: FloatMatrix) -> FloatMatrix:
        """Rotate rows of shape (n, d); the result has the padded dimension."""
        turned = np.pad(rows, ((0, 0), (0, self.dimension - rows.shape[1])))
        for signs, order in zip(self.signs, self.orders, strict=True):
            blocks = (turned * signs)[:, order].reshape(-1, _WORD_BITS)
            turned = (blocks @ _hadamard()).reshape(len(rows), self.dimension)
        return turned


@lru_cache
def rotation_of(dimension: int) -> Rotation:
    """Return the rotation of vectors of this dimension, which is the same on every machine."""
    padded = -(-dimension // _WORD_BITS) * _WORD_BITS
    # Codes are stored, so these numbers must never change: those of RandomState never do.
    random_ = np.random.RandomState(0)
    signs = random_.randint(0, 2, size=(_ROUNDS, padded)) * 2 - 1
    orders = np.stack([random_.permutation(padded) for _ in range(_ROUNDS)])
    return Rotation(signs.astype(np.float32), orders)


@lru_cache
def _hadamard() -> FloatMatrix:
    matrix = np.ones((1, 1), dtype=np.float32)
    while len(matrix) < _WORD_BITS:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix / np.float32(_WORD_BITS**0.5)


class Coded(NamedTuple):
    """Coded vectors, one per row of each array.

    ``signs`` has shape (n, words). ``numbers`` are scales, errors and offsets, of shape (3, n),
    which turn what the signs say into a dot product: see `VectorCodes`.
    """

    keys: Keys
    signs: Words
    numbers: FloatArray

    def pack(self) -> tuple[bytes, bytes]:
        """Return the keys and the rest as bytes, of which `unpack` makes this again."""
        data = self.signs.astype("<u8").tobytes() + self.numbers.astype("<f4").tobytes()
        return self.keys.astype("<i8").tobytes(), data

    @classmethod
    @decodes("a page of codes")
    def unpack(cls, keys: bytes, data: bytes, *, dimension: int) -> Coded:
        """Return what `pack` packed, for vectors of this dimension."""
        rows, words = len(keys) // 8, rotation_of(dimension).dimension // _WORD_BITS
        signs = np.frombuffer(data, "<u8", count=rows * words).reshape(rows, words)
        numbers = np.frombuffer(data, "<f4", offset=signs.nbytes).reshape(3, rows)
        return cls(np.frombuffer(keys, "<i8"), signs, numbers)


@dataclass(frozen=True, slots=True)
class CodeBook:
    """Codes vectors by their direction from a ``center`` of shape (d,)."""

    center: FloatArray

    def encode(self, keys: Keys, rows: FloatMatrix) -> Coded:
        """Code rows of shape (n, d)."""
        rotation = rotation_of(len(self.center))
        from_center = rows - self.center
        lengths = np.linalg.norm(from_center, axis=1)
        directions = from_center / np.where(lengths > 0, lengths, 1)[:, np.newaxis]
        turned = rotation.apply(directions.astype(np.float32, copy=False))
        signs = np.packbits(turned > 0, axis=1).view(np.uint64)
        # The dot product of a direction with its code; 1 for the centre itself, which has none.
        alike = np.abs(turned).sum(axis=1) / rotation.dimension**0.5
        alike = np.where(lengths > 0, alike, 1)
        spread = np.sqrt(np.maximum(1 - alike**2, 0) / max(rotation.dimension - 1, 1))
        numbers = (
            lengths / (alike * rotation.dimension**0.5),
            lengths * spread / alike,
            rows @ self.center - self.center @ self.center,
        )
        return Coded(keys, signs, np.array(numbers, dtype=np.float32))


@dataclass(frozen=True)
class VectorCodes(_Held):
    """The codes of a table.

    The dot product of a query ``q`` with a row is about ``scale * s + offset + q·center``, where
    ``s`` is the sum of the numbers of the rotated ``q - center``, each with the sign of the code.
    ``signs`` has shape (words, n), ``numbers`` that of `Coded`, and ``ones`` counts the bits that
    are set.
    """

    book: CodeBook
    signs: Words
    ones: NDArray[np.uint16]
    numbers: FloatArray

    @classmethod
    def load(cls, book: CodeBook, blocks: Iterable[Coded], *, version: int) -> VectorCodes:
        """Join blocks; of rows with the same key, the last one is alive."""
        none = book.encode(np.empty(0, np.int64), np.empty((0, len(book.center)), np.float32))
        all_keys, all_signs, all_numbers = zip(none, *blocks, strict=True)
        keys = np.concatenate(all_keys)
        by_word = np.ascontiguousarray(np.concatenate(all_signs).T)
        ones = np.bitwise_count(by_word).sum(axis=0, dtype=np.uint16)
        numbers = np.concatenate(all_numbers, axis=1)
        return cls(version, keys, _is_last(keys), book, by_word, ones, numbers)

    @property
    def dimension(self) -> int:
        return len(self.book.center)

    def changed(self, blocks: Iterable[Coded], *, version: int) -> VectorCodes:
        """Return the codes with these rows added or replaced."""
        new = self.load(self.book, blocks, version=version)
        alive = self.alive & ~is_among(self.keys, new.keys)
        if np.count_nonzero(alive) < (1 - DEAD_SHARE) * len(alive):
            return self.load(self.book, [self._rows_of(alive), new.rows()], version=version)
        return VectorCodes(
            version,
            np.concatenate([self.keys, new.keys]),
            np.concatenate([alive, new.alive]),
            self.book,
            np.concatenate([self.signs, new.signs], axis=1),
            np.concatenate([self.ones, new.ones]),
            np.concatenate([self.numbers, new.numbers], axis=1),
        )

    def rows(self) -> Coded:
        """Return the rows that are alive."""
        return self._rows_of(self.alive)

    def pages(self, rows: int) -> Iterator[Coded]:
        """Yield the rows that are alive, in pages of up to ``rows``."""
        whole = self.rows()
        for start in range(0, len(whole.keys), rows):
            page = slice(start, start + rows)
            yield Coded(whole.keys[page], whole.signs[page], whole.numbers[:, page])

    def search(
        self, query: FloatArray, *, k: int, where: Keys | None, read: ReadRows
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best (key, exact dot product) pairs, ties by key.

        If few rows are alive or in ``where``, all of them are scored. Else a row is missed if its
        dot product is above the bound, or if too many others have a higher bound.
        """
        alive = self.alive if where is None else self.alive & is_among(self.keys, where)
        places = np.flatnonzero(alive)
        most = max(_MOST_READ, _MOST_READ_PER_HIT * k)
        if k <= 0:
            return []
        if len(places) <= most:
            keys, bounds = self.keys[places], np.full(len(places), np.inf, dtype=np.float32)
        else:
            bounds = self._upper_bounds(query)[places]
            best = np.argpartition(bounds, -most)[-most:]
            best = best[np.argsort(-bounds[best], kind="stable")]
            keys, bounds = self.keys[places[best]], bounds[best]
        found: list[int] = []
        scores = np.empty(0)
        start, end = 0, max(_READ_AT_ONCE, 2 * k)
        while start < len(keys):
            if len(scores) >= k and bounds[start] < np.partition(scores, -k)[-k]:
                break
            read_keys, rows = read(keys[start:end])
            found += read_keys.tolist()
            scores = np.concatenate([scores, exact_scores(rows, query)])
            start, end = end, end + _READ_AT_ONCE
        return top_scores(found, scores.tolist(), k)

    def count_unlike(self, blocks: Iterable[Coded]) -> int:
        """Return how many of these rows have no code here, or that of another vector."""
        rows = self.rows()
        order = np.argsort(rows.keys)
        keys, signs = rows.keys[order], rows.signs[order]
        unlike = 0
        for block in blocks:
            places = np.searchsorted(keys, block.keys).clip(max=max(len(keys) - 1, 0))
            is_known = keys[places] == block.keys if len(keys) else np.zeros(len(block.keys), bool)
            flipped = np.bitwise_count(signs[places[is_known]] ^ block.signs[is_known]).sum(axis=1)
            most = _FLIPPED_SHARE * self.signs.shape[0] * _WORD_BITS
            unlike += len(block.keys) - int(np.count_nonzero(flipped <= most))
        return unlike

    def _rows_of(self, wanted: NDArray[np.bool_]) -> Coded:
        return Coded(self.keys[wanted], self.signs[:, wanted].T, self.numbers[:, wanted])

    def _upper_bounds(self, query: FloatArray) -> FloatArray:
        """Return what the dot product of each row with ``query`` hardly ever exceeds."""
        center = self.book.center
        from_center = query - center
        turned = rotation_of(len(center)).apply(from_center[np.newaxis])[0]
        least = turned.min()
        step = (turned.max() - least) / (2**_QUERY_BITS - 1) or np.float32(1)
        levels = np.rint((turned - least) / step).astype(np.uint8)
        planes = [np.packbits((levels >> bit) & 1).view(np.uint64) for bit in range(_QUERY_BITS)]
        signed = self._sums(planes).astype(np.float32)  # of the levels where the bit is set
        signed = 2 * (least * self.ones + step * signed)
        signed -= least * len(turned) + step * levels.sum()
        scales, errors, offsets = self.numbers
        bounds = scales * signed + offsets
        bounds += np.float32(_CERTAINTY * np.linalg.norm(from_center)) * errors
        return np.asarray(bounds + query @ center, dtype=np.float32)

    def _sums(self, planes: Sequence[Words]) -> NDArray[np.uint32]:
        """Return for each row the sum of the query's levels where the row's bit is set."""
        sums = np.empty(len(self.keys), dtype=np.uint32)
        for start in range(0, len(sums), _SCANNED_ROWS):
            block = self.signs[:, start : start + _SCANNED_ROWS]
            total = np.zeros(block.shape[1], dtype=np.uint32)
            for bit, plane in enumerate(planes):
                counts = np.zeros(block.shape[1], dtype=np.uint16)
                for word, asked in zip(block, plane, strict=True):
                    counts += np.bitwise_count(word & asked)
                total += counts.astype(np.uint32) << np.uint32(bit)
            sums[start : start + _SCANNED_ROWS] = total
        return sums


def _is_last(keys: Keys) -> NDArray[np.bool_]:
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_last = np.ones(len(keys), dtype=np.bool_)
    is_last[order[:-1]] = ordered[1:] != ordered[:-1]
    return is_last


CODED_FROM = 150_000
"""Vectors from which on codes are held in memory instead of a matrix."""
_PAGE_ROWS = 8_192
_MOST_DEAD_SHARE = 0.5
_CENTER_ROWS = 20_000
_LATEST = (1 << 63) - 1

HeldRows = TypeVar("HeldRows", VectorMatrix, VectorCodes)


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


class EmbeddedVectors:
    """The `VectorIndex` of the embedded store.

    What is stored is decoded inside `reading` or `transaction`, which report damage.
    Every row has the generation that wrote it, so that an older cached matrix is updated by reading
    only the rows that changed since.
    """

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._table = f"vector_{name}"
        self._stored = np.dtype(stored_type(name)).newbyteorder("<")
        self._cached: VectorMatrix | VectorCodes | None = None
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
            held = self._cached
            if (
                isinstance(held, VectorMatrix)
                and not self._database.writing
                and held.matches(table.version, table.dimension)
            ):
                exists, vectors = held.get(list(keys.values()))
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
            rows = self._database.rows(
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
            rows = self._database.rows(
                "SELECT j.value, v.data FROM texts($1)"  # noqa: S608
                f" CROSS JOIN {self._table} v ON v.id ="
                f" (SELECT min(id) FROM {self._table} WHERE key = j.value)",
                (list(dict.fromkeys(keys)),),
            )
            return self._unpack(dict(rows), table.dimension)

    def remove(self, ids: Collection[str]) -> None:
        with self._database.transaction():
            table = self._read_table()
            if table is None:
                return
            keys = key_list(ids)
            sizes = self._sizes(keys)
            if not sizes:
                return
            self._database.write(
                f"DELETE FROM {self._table} WHERE id IN (SELECT j.value FROM keys($1))",  # noqa: S608
                (list(keys),),
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

    def _restricted(self, held: HeldRows, table: _Table) -> HeldRows:
        """Return what is held without the rows that were removed from the table."""
        if held.items == table.items:
            return held
        sql = f"SELECT id FROM {self._table} INDEXED BY {self._table}_version"  # noqa: S608
        rows = self._database.rows(sql)
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
        return self._database.rows(
            "SELECT v.id, v.data FROM keys($1)"  # noqa: S608
            f" CROSS JOIN {self._table} v ON v.id = j.value",
            (list(keys),),
        )

    def _all_rows(self) -> PackedRows:
        """Return the keys and packed vectors of the table, in the order in which they lie there."""
        sql = f"SELECT id, data FROM {self._table}"  # noqa: S608
        return self._database.stream(sql)

    def _rows_since(self, version: int, *, until: int = _LATEST) -> PackedRows:
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
        rows = self._database.rows(
            "SELECT length(v.data) FROM keys($1)"  # noqa: S608
            f" CROSS JOIN {self._table} v ON v.id = j.value",
            (list(keys),),
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
