"""Vectors as one bit per dimension, in which the best of very many are found with little memory.

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

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._stores.base import FloatMatrix
from knotwork._stores.embedded.vector_matrix import DEAD_SHARE
from knotwork._stores.id_sets import is_among
from knotwork._stores.sql.packing import decodes
from knotwork._stores.vectors import exact_scores, top_scores

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

    ``signs`` has shape (n, words). ``scales``, ``errors`` and ``offsets`` turn what the signs say
    into a dot product: see `VectorCodes`.
    """

    keys: Keys
    signs: Words
    scales: FloatArray
    errors: FloatArray
    offsets: FloatArray

    def pack(self) -> tuple[bytes, bytes]:
        """Return the keys and the rest as bytes, of which `unpack` makes this again."""
        numbers = np.stack([self.scales, self.errors, self.offsets]).astype("<f4")
        return self.keys.astype("<i8").tobytes(), (
            self.signs.astype("<u8").tobytes() + numbers.tobytes()
        )

    @classmethod
    @decodes("a page of codes")
    def unpack(cls, keys: bytes, data: bytes, *, dimension: int) -> Coded:
        """Return what `pack` packed, for vectors of this dimension."""
        rows, words = len(keys) // 8, rotation_of(dimension).dimension // _WORD_BITS
        signs = np.frombuffer(data, "<u8", count=rows * words).reshape(rows, words)
        numbers = np.frombuffer(data, "<f4", offset=signs.nbytes).reshape(3, rows)
        return cls(np.frombuffer(keys, "<i8"), signs, *numbers)


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
        return Coded(
            keys,
            signs,
            (lengths / (alike * rotation.dimension**0.5)).astype(np.float32),
            (lengths * spread / alike).astype(np.float32),
            (rows @ self.center - self.center @ self.center).astype(np.float32),
        )


@dataclass(frozen=True, slots=True)
class VectorCodes:
    """The codes of a table at one version; replaced and removed rows stay, but are not ``alive``.

    The dot product of a query ``q`` with a row is about ``scale * s + offset + q·center``, where
    ``s`` is the sum of the numbers of the rotated ``q - center``, each with the sign of the code.
    ``signs`` has shape (words, n), and ``ones`` counts the bits that are set.
    """

    version: int
    book: CodeBook
    keys: Keys
    alive: NDArray[np.bool_]
    signs: Words
    ones: NDArray[np.uint16]
    scales: FloatArray
    errors: FloatArray
    offsets: FloatArray

    @classmethod
    def load(cls, book: CodeBook, blocks: Iterable[Coded], *, version: int) -> VectorCodes:
        """Join blocks; of rows with the same key, the last one is alive."""
        none = book.encode(np.empty(0, np.int64), np.empty((0, len(book.center)), np.float32))
        keys, signs, *numbers = map(np.concatenate, zip(none, *blocks, strict=True))
        by_word = np.ascontiguousarray(signs.T)
        ones = np.bitwise_count(by_word).sum(axis=0, dtype=np.uint16)
        return cls(version, book, keys, _is_last(keys), by_word, ones, *numbers)

    @property
    def dimension(self) -> int:
        return len(self.book.center)

    @property
    def items(self) -> int:
        return int(np.count_nonzero(self.alive))

    def matches(self, version: int, dimension: int) -> bool:
        """Return True if the codes are of this version and dimension."""
        return self.version == version and self.dimension == dimension

    def changed(self, blocks: Iterable[Coded], *, version: int) -> VectorCodes:
        """Return the codes with these rows added or replaced."""
        new = self.load(self.book, blocks, version=version)
        alive = self.alive & ~is_among(self.keys, new.keys)
        if np.count_nonzero(alive) < (1 - DEAD_SHARE) * len(alive):
            return self.load(self.book, [self._rows_of(alive), new.rows()], version=version)
        return VectorCodes(
            version,
            self.book,
            np.concatenate([self.keys, new.keys]),
            np.concatenate([alive, new.alive]),
            np.concatenate([self.signs, new.signs], axis=1),
            np.concatenate([self.ones, new.ones]),
            np.concatenate([self.scales, new.scales]),
            np.concatenate([self.errors, new.errors]),
            np.concatenate([self.offsets, new.offsets]),
        )

    def restricted(self, keys: Keys) -> VectorCodes:
        """Return the codes of only those rows whose keys are among ``keys``."""
        alive = self.alive & is_among(self.keys, keys)
        rest = (self.signs, self.ones, self.scales, self.errors, self.offsets)
        return VectorCodes(self.version, self.book, self.keys, alive, *rest)

    def rows(self) -> Coded:
        """Return the rows that are alive."""
        return self._rows_of(self.alive)

    def pages(self, rows: int) -> Iterator[Coded]:
        """Yield the rows that are alive, in pages of up to ``rows``."""
        whole = self.rows()
        for start in range(0, len(whole.keys), rows):
            page = slice(start, start + rows)
            numbers = (whole.scales[page], whole.errors[page], whole.offsets[page])
            yield Coded(whole.keys[page], whole.signs[page], *numbers)

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
        numbers = (self.scales[wanted], self.errors[wanted], self.offsets[wanted])
        return Coded(self.keys[wanted], self.signs[:, wanted].T, *numbers)

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
        bounds = self.scales * signed + self.offsets
        bounds += np.float32(_CERTAINTY * np.linalg.norm(from_center)) * self.errors
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
    """Return a mask of the last row of each key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    is_last = np.ones(len(keys), dtype=np.bool_)
    is_last[order[:-1]] = ordered[1:] != ordered[:-1]
    return is_last
