"""Vector indexes: their names, staged replacements, number types and exact scores.

Scores are dot products that are the same to the last bit wherever a row is stored. Staged indexes
are filled beside those in use, to replace them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import DimensionMismatch, StoreError

if TYPE_CHECKING:
    pass


VECTOR_INDEXES = ("chunk", "sentence", "entity", "question", "report")
"""The names of all vector indexes of an index."""

STAGED_PREFIX = "next_"


def staged_name(name: str) -> str:
    """Return the name of the vector index that is to replace the one of this name."""
    return f"{STAGED_PREFIX}{name}"


def final_name(name: str) -> str:
    """Return the name of a vector index once it is in use."""
    return name.removeprefix(STAGED_PREFIX)


FloatMatrix = NDArray[np.float32]

HALF_PRECISION_TABLES = frozenset({"sentence"})
"""Tables of many rows an id. They hold float16, half the space for a relative error of 0.05%."""

_BLOCK_ROWS = 4_096


def stored_type(table: str) -> type[np.float16 | np.float32]:
    """Return the number type in which a vector table holds its rows."""
    return np.float16 if final_name(table) in HALF_PRECISION_TABLES else np.float32


def as_rows(matrix: FloatMatrix, dimension: int | None) -> FloatMatrix:
    """Return ``matrix`` as float32 rows of shape (n, d); a single vector becomes one row.

    Raises DimensionMismatch when the rows do not have ``dimension`` numbers.
    """
    rows = np.atleast_2d(np.asarray(matrix, dtype=np.float32))
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise DimensionMismatch(f"A matrix of rows is wanted, not an array of shape {rows.shape}.")
    if dimension is not None and rows.shape[1] != dimension:
        raise DimensionMismatch(
            f"A vector has {rows.shape[1]} numbers, but this index holds vectors of {dimension}.",
            fix="Use the embedder the index was built with, or build the index anew.",
        )
    return rows


def as_query(vector: FloatMatrix, dimension: int) -> FloatMatrix:
    """Return ``vector`` as float32 of shape (d,); raises DimensionMismatch on another length."""
    query = np.asarray(vector, dtype=np.float32).reshape(-1)
    as_rows(query, dimension)
    return query


def exact_scores(rows: FloatMatrix, query: FloatMatrix) -> NDArray[np.float64]:
    """Return the dot product of each row with ``query``.

    Products of float32 are exact in float64 and each row is summed by itself in a fixed order, so
    that equal rows score equally, which matrix products of BLAS do not promise.
    """
    wide = query.astype(np.float64)
    scores = np.empty(len(rows), dtype=np.float64)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        scores[start : start + _BLOCK_ROWS] = (block * wide).sum(axis=1)
    return scores


def error_bound(query: FloatMatrix) -> float:
    """Bound how far a float32 dot product of ``query`` with a unit row can be off.

    The bound n·u for a sum of n products: Higham, Accuracy and Stability of Numerical Algorithms,
    section 3.1; doubled since rows are unit only up to rounding.
    """
    unit_roundoff = 2.0**-24
    return 2.0 * (len(query) + 1) * unit_roundoff * float(np.linalg.norm(query))


def matrix_search_error(table: str) -> StoreError:
    """Return the error of searching a table that holds more than one row an id."""
    return StoreError(
        f"The vector index `{table}` holds matrices, which cannot be searched.",
        fix="Read them by id instead.",
    )


def top_scores(ids: Sequence[int], scores: Sequence[float], k: int) -> list[tuple[int, float]]:
    """Return the ``k`` best (id, score) pairs, score descending, then id ascending."""
    ranked = sorted(zip(ids, scores, strict=True), key=lambda pair: (-pair[1], pair[0]))
    return ranked[: max(k, 0)]
