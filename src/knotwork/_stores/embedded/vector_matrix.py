"""A matrix of vectors in memory, which is searched exactly and follows its table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.base import FloatMatrix
from knotwork._stores.id_sets import is_among
from knotwork._stores.sql.packing import decodes
from knotwork._stores.vectors import error_bound, exact_scores, top_scores

BLOCK_ROWS = 4_096
"""Rows that are decoded at a time."""

_SPARE_SHARE = 0.1
_SPARE_ROWS = 256
DEAD_SHARE = 0.25
"""Share of rows that are not alive from which on the alive ones are copied."""
_FEW_SHARE = 0.1
"""Share of the rows below which copying and scoring them is faster than scoring all rows."""

PackedRows = Iterable[tuple[int, bytes]]


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
        cls, rows: PackedRows, *, items: int, dimension: int, stored: np.dtype[Any], version: int
    ) -> VectorMatrix:
        """Read a whole table of ``items`` rows."""
        buffer = _room(items, dimension)
        keys = _fill(buffer, 0, rows, stored)
        return cls(version, keys, np.ones(len(keys), dtype=np.bool_), buffer)

    def changed(self, rows: PackedRows, *, stored: np.dtype[Any], version: int) -> VectorMatrix:
        """Return the matrix with these rows added or replaced; call only on the newest matrix."""
        changes = list(rows)
        used, needed = len(self.keys), len(self.keys) + len(changes)
        if needed > len(self.buffer) or self.items < (1 - DEAD_SHARE) * used:
            return self._moved(changes, stored=stored, version=version)
        added = _fill(self.buffer, used, changes, stored)
        alive = np.concatenate(
            [self.alive & ~is_among(self.keys, added), np.ones(len(added), bool)]
        )
        return VectorMatrix(version, np.concatenate([self.keys, added]), alive, self.buffer)

    def restricted(self, keys: NDArray[np.int64]) -> VectorMatrix:
        """Return the matrix with only those rows whose keys are among ``keys``."""
        return VectorMatrix(
            self.version, self.keys, self.alive & is_among(self.keys, keys), self.buffer
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

    def _moved(self, changes: PackedRows, *, stored: np.dtype[Any], version: int) -> VectorMatrix:
        """Return the changed matrix in a new buffer, with alive rows only."""
        changes = list(changes)
        replaced = np.fromiter((key for key, _ in changes), np.int64, len(changes))
        kept = np.flatnonzero(self.alive & ~is_among(self.keys, replaced))
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


def _room(rows: int, dimension: int) -> FloatMatrix:
    return np.empty((rows + int(rows * _SPARE_SHARE) + _SPARE_ROWS, dimension), dtype=np.float32)


def _fill(
    buffer: FloatMatrix, start: int, rows: PackedRows, stored: np.dtype[Any]
) -> NDArray[np.int64]:
    """Write rows into the buffer from row ``start`` on, and return their keys."""
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
        yield keys, _decode([data for _, data in block], stored)


@decodes("a vector")
def _decode(blobs: Sequence[bytes], stored: np.dtype[Any]) -> NDArray[np.floating]:
    return np.frombuffer(b"".join(blobs), stored).reshape(len(blobs), -1)
