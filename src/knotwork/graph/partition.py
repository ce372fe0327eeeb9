"""Partitions of a weighted, undirected graph, as one label a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

Labels = NDArray[np.int64]
Weights = NDArray[np.float64]


def undirected_adjacency(
    sources: Sequence[int] | Labels,
    targets: Sequence[int] | Labels,
    weights: Sequence[float] | Weights,
    *,
    nodes: int,
) -> sparse.csr_array:
    """Return the symmetric (nodes, nodes) matrix of edges given once each, in any order.

    Parallel edges add up, in either direction; loops are dropped. Edges are summed in the order of
    their ends and weights, so that the same edges make the same matrix to the last bit.
    """
    ends = np.sort(np.array([sources, targets], dtype=np.int64).reshape(2, -1), axis=0)
    values = np.asarray(weights, dtype=np.float64)
    kept = ends[0] != ends[1]
    low, high, values = ends[0][kept], ends[1][kept], values[kept]
    order = np.lexsort((values, high, low))
    low, high, values = low[order], high[order], values[order]
    upper = sparse.coo_array((values, (low, high)), shape=(nodes, nodes)).tocsr()
    upper.sum_duplicates()
    adjacency = (upper + upper.T).tocsr()
    adjacency.sort_indices()
    return adjacency


def numbered(labels: Labels) -> Labels:
    """Number the communities from 0 in the order of their first nodes."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    renumbered: Labels = rank[inverse.reshape(-1)]
    return renumbered


def split_disconnected(adjacency: sparse.csr_array, labels: Labels) -> Labels:
    """Make each connected part of a community one of its own."""
    edges = adjacency.tocoo()
    inside = labels[edges.row] == labels[edges.col]
    kept = (edges.data[inside], (edges.row[inside], edges.col[inside]))
    _, parts = csgraph.connected_components(
        sparse.coo_array(kept, shape=adjacency.shape), directed=False
    )
    return numbered(np.asarray(parts, dtype=np.int64))


def modularity(adjacency: sparse.csr_array, labels: Labels, *, resolution: float = 1.0) -> float:
    """Return the modularity of a partition (Newman, 2006); 0 for a graph without edges."""
    total = float(adjacency.sum())
    if total == 0.0:
        return 0.0
    edges = adjacency.tocoo()
    inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    shares = np.bincount(labels, weights=degrees) / total
    return inside / total - resolution * float(np.square(shares).sum())


def members_of(labels: Labels) -> list[Labels]:
    """Return the nodes of each community, ascending; ``labels`` are numbered from 0."""
    order = np.argsort(labels, kind="stable")
    borders = np.searchsorted(labels[order], np.arange(1, int(labels.max(initial=-1)) + 1))
    return [np.asarray(part) for part in np.split(order, borders)] if len(labels) else []
