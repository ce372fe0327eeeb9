"""Personalized PageRank on sparse arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Vector = NDArray[np.float64]


def personalized_pagerank(
    adjacency: sparse.csr_array,
    restart: Vector,
    *,
    damping: float = 0.5,
    tolerance: float = 1e-6,
    max_iterations: int = 100,
) -> Vector:
    """Return the stationary distribution of a walk that restarts at ``restart``.

    ``adjacency`` (n, n) has non-negative weights from row to column; a walk at a row without
    weights restarts. ``restart`` (n,) is non-negative. Power iteration stops when the L1 change is
    less than ``tolerance`` (Page et al., 1999; Haveliwala, 2002). Raises ValueError if ``restart``
    is all zero.
    """
    total = float(restart.sum())
    if total <= 0:
        raise ValueError("`restart` must have a positive sum.")
    start = np.asarray(restart, dtype=np.float64) / total
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    dangling = degrees == 0
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=~dangling)
    transition = (sparse.diags_array(inverse) @ adjacency).T.tocsr()
    rank = start.copy()
    for _ in range(max_iterations):
        walked = transition @ rank + float(rank[dangling].sum()) * start
        updated = damping * walked + (1.0 - damping) * start
        change = float(np.abs(updated - rank).sum())
        rank = updated
        if change < tolerance:
            break
    return rank
