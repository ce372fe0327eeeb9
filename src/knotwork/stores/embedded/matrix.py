"""A matrix of vectors in memory: what a vector table held at one version."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from knotwork.stores.base import FloatMatrix
from knotwork.stores.scoring import best, error_bound, exact_scores

_BLOCK_ROWS = 4_096
_SPARE_SHARE = 0.1
_SPARE_ROWS = 256
_DEAD_SHARE = 0.25
_FEW_SHARE = 0.1
"""Of the rows, what is faster copied and multiplied than multiplied with all others."""

_Rows = Iterable[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One row for each id; rows that were replaced or removed stay behind, not ``alive``.

    ``buffer`` has room for more rows than ``keys`` names. A newer matrix may share it and fill
    that room, which an older one never looks at.
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
        """Tell whether this is what a table of this version and dimension holds."""
        return self.version == version and self.dimension == dimension

    @classmethod
    def load(
        cls, rows: _Rows, *, items: int, dimension: int, stored: np.dtype[Any], version: int
    ) -> Matrix:
        """Read a whole table of ``items`` rows."""
        buffer = _room(items, dimension)
        keys = _fill(buffer, 0, rows, stored)
        return cls(version, keys, np.ones(len(keys), dtype=np.bool_), buffer)

    def changed(self, rows: _Rows, *, stored: np.dtype[Any], version: int) -> Matrix:
        """Return the matrix with these rows added or replaced; only the newest may be changed."""
        changes = list(rows)
        used, needed = len(self.keys), len(self.keys) + len(changes)
        if needed > len(self.buffer) or self.items < (1 - _DEAD_SHARE) * used:
            return self._moved(changes, stored=stored, version=version)
        added = _fill(self.buffer, used, changes, stored)
        alive = np.concatenate([self.alive & ~_among(self.keys, added), np.ones(len(added), bool)])
        return Matrix(version, np.concatenate([self.keys, added]), alive, self.buffer)

    def restricted(self, keys: NDArray[np.int64]) -> Matrix:
        """Return the matrix without the rows whose keys are not among ``keys``."""
        return Matrix(self.version, self.keys, self.alive & _among(self.keys, keys), self.buffer)

    def search(
        self, query: FloatMatrix, *, k: int, where: NDArray[np.int64] | None
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best (key, dot product) pairs, exactly, ties by key.

        A fast pass in float32 leaves all that could be among the best by its error bound; these
        are scored again exactly.
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
        return best(keys[near].tolist(), scores.tolist(), k)

    def _moved(self, changes: _Rows, *, stored: np.dtype[Any], version: int) -> Matrix:
        """Return the changed matrix in a buffer of its own, without what is not alive."""
        changes = list(changes)
        replaced = np.fromiter((key for key, _ in changes), np.int64, len(changes))
        kept = np.flatnonzero(self.alive & ~_among(self.keys, replaced))
        buffer = _room(len(kept) + len(changes), self.dimension)
        np.take(self.buffer, kept, axis=0, out=buffer[: len(kept)])
        added = _fill(buffer, len(kept), changes, stored)
        keys = np.concatenate([self.keys[kept], added])
        return Matrix(version, keys, np.ones(len(keys), dtype=np.bool_), buffer)


@dataclass(frozen=True, slots=True)
class Places:
    """Finds the rows of a matrix by their keys."""

    matrix: Matrix
    keys: NDArray[np.int64]
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, matrix: Matrix) -> Places:
        """Sort the keys of what is alive."""
        rows = np.flatnonzero(matrix.alive)
        rows = rows[np.argsort(matrix.keys[rows], kind="stable")]
        return cls(matrix, matrix.keys[rows], rows)

    def get(self, wanted: Sequence[int]) -> tuple[NDArray[np.bool_], FloatMatrix]:
        """Tell which of these keys there are, and return copies of their rows."""
        sought = np.array(wanted, dtype=np.int64)
        places = np.searchsorted(self.keys, sought).clip(max=max(len(self.keys) - 1, 0))
        there = self.keys[places] == sought if len(self.keys) else np.zeros(len(sought), bool)
        return there, self.matrix.buffer[self.rows[places[there]]]


def _among(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell for each key whether it is wanted; faster than `np.isin` where few are."""
    if not len(wanted):
        return np.zeros(len(keys), dtype=np.bool_)
    ordered = np.sort(wanted)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[places] == keys
    return found


def _room(rows: int, dimension: int) -> FloatMatrix:
    return np.empty((rows + int(rows * _SPARE_SHARE) + _SPARE_ROWS, dimension), dtype=np.float32)


def _fill(buffer: FloatMatrix, start: int, rows: _Rows, stored: np.dtype[Any]) -> NDArray[np.int64]:
    """Write rows into the buffer from row ``start`` on; return their keys."""
    keys: list[int] = []
    for block in _blocks(iter(rows)):
        data = b"".join(data for _, data in block)
        numbers = np.frombuffer(data, stored).reshape(len(block), -1)
        position = start + len(keys)
        buffer[position : position + len(block)] = numbers
        keys += [key for key, _ in block]
    return np.array(keys, dtype=np.int64)


def _blocks(rows: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    while block := list(islice(rows, _BLOCK_ROWS)):
        yield block
