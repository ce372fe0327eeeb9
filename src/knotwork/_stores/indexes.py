"""The names, packed items and scores that the text and vector indexes of all engines share.

Vectors are scored by dot products that are equal to the last bit on every store. A staged index is
filled beside the one in use, and then replaces it at once.

Texts are scored by BM25 (k1 = 1.2, b = 0.75). The terms of an item are sorted hashes with their
counts. Not all terms of a query have to be looked up: the gain of frequent terms is small, as a
term adds at most (k1 + 1)·idf. Once ``k`` items score more than all frequent terms together can
add, items with only frequent terms cannot be among the best. This is the idea of MaxScore (Turtle
and Flood, 1995).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from knotwork._sqlite_file import DamagedValue
from knotwork._stores.base import FloatMatrix
from knotwork.errors import DimensionMismatch, StoreError

DESCRIPTIONS = "description"
"""The vectors of entities with a description, of their names and descriptions together."""

VECTOR_INDEXES = ("chunk", "sentence", "entity", "question", "report", DESCRIPTIONS)
"""The names of the vector indexes of a store, without staged ones."""

_STAGED_PREFIX = "next_"
_HALF_PRECISION_TABLES = frozenset({"sentence"})
"""Tables with many rows per id: float16 takes half the space, at a relative error of 0.05%."""
_BLOCK_ROWS = 4_096


class VectorItem(NamedTuple):
    """An item of a vector index: its id, its content key and its rows."""

    id: str
    key: str
    matrix: FloatMatrix


def staged_name(name: str) -> str:
    """Return the name of the staged vector index that will replace the index ``name``."""
    return f"{_STAGED_PREFIX}{name}"


def final_name(name: str) -> str:
    """Return the name that a staged vector index has once it is in use."""
    return name.removeprefix(_STAGED_PREFIX)


def stored_type(table: str) -> type[np.float16 | np.float32]:
    """Return the number type in which a vector table stores its rows."""
    return np.float16 if final_name(table) in _HALF_PRECISION_TABLES else np.float32


def as_rows(matrix: FloatMatrix, dimension: int | None) -> FloatMatrix:
    """Return ``matrix`` as float32 rows of shape (n, d); a single vector becomes one row.

    Raises DimensionMismatch if the rows do not have ``dimension`` numbers.
    """
    rows = np.atleast_2d(np.asarray(matrix, dtype=np.float32))
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise DimensionMismatch(f"Expected a 2-D array with columns, got the shape {rows.shape}.")
    if dimension is not None and rows.shape[1] != dimension:
        raise DimensionMismatch(
            f"A vector has {rows.shape[1]} dimensions, but the index has {dimension}.",
            fix="Use the embedder that the index was built with, or rebuild the index.",
        )
    return rows


def as_query(vector: FloatMatrix, dimension: int) -> FloatMatrix:
    """Return ``vector`` as float32 of shape (d,). Raises DimensionMismatch for another length."""
    query = np.asarray(vector, dtype=np.float32).reshape(-1)
    as_rows(query, dimension)
    return query


def exact_scores(rows: FloatMatrix, query: FloatMatrix) -> NDArray[np.float64]:
    """Return the dot product of each row with ``query``.

    Products of float32 are exact in float64, and each row is summed separately in a fixed order.
    So equal rows have equal scores, which BLAS matrix products do not guarantee.
    """
    wide = query.astype(np.float64)
    scores = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        scores[start : start + _BLOCK_ROWS] = (block * wide).sum(axis=1)
    return scores


def row_products(
    matrices: Mapping[str, FloatMatrix], vectors: FloatMatrix
) -> dict[str, FloatMatrix]:
    """Return the dot products of the rows of each matrix with each of ``vectors``, in float32.

    Raises DimensionMismatch if rows and vectors differ in length.
    """
    if not matrices:
        return {}
    rows = np.concatenate(list(matrices.values()))
    wanted = as_rows(vectors, rows.shape[1])
    # One product for each vector is much faster than one with a matrix of few columns.
    products = np.stack([rows @ vector for vector in wanted], axis=1)
    starts = accumulate((len(matrix) for matrix in matrices.values()), initial=0)
    parts = zip(matrices, pairwise(starts), strict=True)
    return {identifier: products[start:end] for identifier, (start, end) in parts}


def error_bound(query: FloatMatrix) -> float:
    """Return a bound of the error of a float32 dot product of ``query`` with a unit row.

    It is n·u for a sum of n products (Higham, Accuracy and Stability of Numerical Algorithms,
    section 3.1), doubled because rows have unit length only up to rounding.
    """
    unit_roundoff = 2.0**-24
    return 2.0 * (len(query) + 1) * unit_roundoff * float(np.linalg.norm(query))


def matrix_search_error(table: str) -> StoreError:
    """Return the error of searching a table that has several rows per id."""
    return StoreError(
        f"The vector index `{table}` cannot be searched: it holds matrices, not single vectors.",
        fix="Read them by id instead.",
    )


def top_scores(ids: Sequence[int], scores: Sequence[float], k: int) -> list[tuple[int, float]]:
    """Return the ``k`` best (id, score) pairs, by score descending, then id ascending."""
    ranked = sorted(zip(ids, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return ranked[: max(k, 0)]


TEXT_INDEXES = ("chunk", "entity", "question", "report")
"""The names of the text indexes of a store."""

MAX_COUNT = int(np.iinfo(np.uint16).max)
"""The largest count of a term in an item; more occurrences count as so many."""


TermCounts = NDArray[np.int32]

_HASH = np.dtype("<u8")
_COUNT = np.dtype("<u2")
_VOCABULARY_SIZE = 1 << 17


@lru_cache(maxsize=_VOCABULARY_SIZE)
def term_hash(term: str) -> int:
    """Return the unsigned 64-bit hash of a term."""
    data = term.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def signed_hash(term: str) -> int:
    """Return the hash of a term as databases store it, whose integers have a sign."""
    number = term_hash(term)
    return number - (1 << 64) if number >= 1 << 63 else number


def pack_terms(terms: Iterable[str]) -> tuple[bytes, bytes]:
    """Return the sorted hashes of the distinct terms and the count of each, as bytes."""
    found = np.fromiter(map(term_hash, terms), dtype=_HASH)
    hashes, times = np.unique(found, return_counts=True)
    return hashes.tobytes(), times.clip(max=MAX_COUNT).astype(_COUNT).tobytes()


def count_terms(packed: Sequence[tuple[bytes, bytes]], terms: Collection[str]) -> TermCounts:
    """Return how often each term occurs in each packed item, of shape (items, terms)."""
    result = np.zeros((len(packed), len(terms)), dtype=np.int32)
    lengths = [len(hashes) // _HASH.itemsize for hashes, _ in packed]
    if any(
        (length * _HASH.itemsize, length * _COUNT.itemsize) != (len(hashes), len(times))
        for length, (hashes, times) in zip(lengths, packed, strict=True)
    ):
        raise DamagedValue("the terms of a text cannot be decoded (wrong length)")
    if not sum(lengths) or not terms:
        return result
    hashes = np.frombuffer(b"".join(item[0] for item in packed), dtype=_HASH)
    times = np.frombuffer(b"".join(item[1] for item in packed), dtype=_COUNT)
    rows = np.repeat(np.arange(len(packed)), lengths)
    wanted = np.array([term_hash(term) for term in terms], dtype=_HASH)
    order = np.argsort(wanted)
    places = np.searchsorted(wanted[order], hashes).clip(max=len(wanted) - 1)
    hit = wanted[order][places] == hashes
    result[rows[hit], order[places[hit]]] = times[hit]
    return result


def count_occurrences(
    ids: Sequence[str],
    keys: Mapping[str, int],
    rows: Sequence[tuple[int, bytes, bytes]],
    terms: Sequence[str],
) -> TermCounts:
    """Return the occurrences of terms in items, from rows of (key, hashes, times).

    An item without a row has zeros. ``keys`` are those of the ids that can be stored.
    """
    result = np.zeros((len(ids), len(terms)), dtype=np.int32)
    counts = count_terms([row[1:] for row in rows], terms)
    places = {row[0]: place for place, row in enumerate(rows)}
    found = [places.get(keys.get(identifier, -1), -1) for identifier in ids]
    there = np.array(found, dtype=np.intp) >= 0
    result[there] = counts[[place for place in found if place >= 0]]
    return result


K1 = 1.2
B = 0.75
_LEAST_IDF = 1e-6
_FIRST_SHARE = 0.03
"""Share of all postings that the first look-up reads, to estimate the best scores."""

_LEAST_SAVING = 0.3
"""Share of all postings that further look-ups must save; else all terms are looked up at once."""

MARGIN = 1e-9
"""Bound of the rounding error of a score."""


@dataclass(frozen=True, slots=True)
class QueryTermWeights:
    """The terms of a query that occur in the index, in their order, with their BM25 weights.

    ``frequencies`` are in items, ``mean_length`` is in terms per item.
    """

    terms: tuple[str, ...]
    frequencies: tuple[int, ...]
    idfs: tuple[float, ...]
    mean_length: float

    @classmethod
    def of(cls, frequencies: Mapping[str, int], *, items: int, tokens: int) -> QueryTermWeights:
        """Compute the weights from document frequencies in an index of ``items`` items."""
        idfs = tuple(_idf(items, frequency) for frequency in frequencies.values())
        return cls(tuple(frequencies), tuple(frequencies.values()), idfs, tokens / max(items, 1))

    def scores(self, counts: NDArray[np.int32], lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of items from their term counts, of shape (items, terms)."""
        shares = self.shares(lengths)
        scores = np.zeros(len(lengths), dtype=np.float64)
        for column, idf in enumerate(self.idfs):
            scores += gain(idf, counts[:, column], shares)
        return scores

    def shares(self, lengths: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return k1·(1 - b + b·length / mean length), the length normalization of BM25."""
        return np.asarray(K1 * (1 - B + B * lengths / self.mean_length), dtype=np.float64)

    def rarest_first(self) -> list[str]:
        """Return the terms by ascending document frequency."""
        order = sorted(range(len(self.terms)), key=lambda n: (self.frequencies[n], n))
        return [self.terms[n] for n in order]

    def bound(self, terms: Sequence[str]) -> float:
        """Return an upper bound of the score of an item that has only these terms."""
        weight = dict(zip(self.terms, self.idfs, strict=True))
        return (K1 + 1.0) * sum(weight[term] for term in terms) + MARGIN

    def first_terms(self, k: int) -> int:
        """Return the number of rarest terms that estimate the ``k`` best scores at a low cost."""
        seen, wanted = 0, max(k, sum(self.frequencies) * _FIRST_SHARE)
        for number, term in enumerate(self.rarest_first(), start=1):
            seen += self._frequency(term)
            if seen >= wanted:
                return number
        return len(self.terms)

    def sufficient_terms(self, least: float, *, at_least: int, max_near: int) -> int:
        """Return the number of rarest terms to look up if the best items score ``least`` or more.

        The other terms alone must not reach that score, at most about ``max_near`` items may need
        them to reach it, and leaving them out must save enough (`_LEAST_SAVING`).
        """
        ordered = self.rarest_first()
        for number in range(at_least, len(ordered)):
            rest = self.bound(ordered[number:])
            if rest >= least:
                continue
            missing = least - rest
            near = [t for t in ordered[:number] if self.idfs[self.terms.index(t)] >= missing]
            if sum(map(self._frequency, near)) <= max_near:
                saved = sum(map(self._frequency, ordered[number:]))
                return number if saved >= _LEAST_SAVING * sum(self.frequencies) else len(ordered)
        return len(ordered)

    def _frequency(self, term: str) -> int:
        return self.frequencies[self.terms.index(term)]


def gain(
    idf: float, times: NDArray[np.integer], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a term adds to the scores of items, from its number of occurrences in each."""
    counts = times.astype(np.float64)
    return idf * ((counts * (K1 + 1.0)) / (counts + shares))


def _idf(items: int, frequency: int) -> float:
    idf = math.log((items - frequency + 0.5) / (frequency + 0.5))
    return idf if idf > 0 else _LEAST_IDF
