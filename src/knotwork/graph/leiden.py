"""Leiden communities, through graspologic-native."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from knotwork.graph.partition import Labels, numbered

_ITERATIONS = 2
"""Rounds of the whole algorithm: the second adds a little modularity, further ones hardly any."""


def leiden(
    adjacency: sparse.csr_array,
    *,
    resolution: float = 1.0,
    seed: int = 0,
    start: Labels | None = None,
) -> Labels:
    """Return the communities of a graph by modularity (Traag et al., 2019), one label a node.

    ``adjacency`` is symmetric, without loops. The search goes on from the partition ``start``, if
    there is one. A node without edges is a community of its own.
    """
    import graspologic_native

    nodes = adjacency.shape[0]
    if adjacency.nnz == 0:
        return np.arange(nodes, dtype=np.int64)
    if start is None:
        _, found = graspologic_native.leiden_csr(
            adjacency.indptr.astype(np.int64),
            adjacency.indices.astype(np.int32),
            adjacency.data.astype(np.float64),
            nodes,
            resolution=resolution,
            iterations=_ITERATIONS,
            seed=seed,
        )
        return numbered(np.array([found[node] for node in range(nodes)], dtype=np.int64))
    upper = sparse.triu(adjacency, format="coo")
    ends = zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True)
    edges = [(str(source), str(target), weight) for source, target, weight in ends]
    linked = np.flatnonzero(np.diff(adjacency.indptr))
    before = dict(zip(map(str, linked.tolist()), numbered(start[linked]).tolist(), strict=True))
    _, moved = graspologic_native.leiden(
        edges,
        starting_communities=before,
        resolution=resolution,
        iterations=_ITERATIONS,
        seed=seed,
    )
    labels = np.arange(nodes, dtype=np.int64) + len(moved)
    labels[linked] = [moved[str(node)] for node in linked.tolist()]
    return numbered(labels)
