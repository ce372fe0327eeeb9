"""Vector indexes: names, staged replacements, number types and exact scores.

Scores are dot products that are equal to the last bit on every store. A staged index is filled
beside the one in use, and then replaces it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
