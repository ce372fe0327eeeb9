"""Louvain communities: local moving on ever coarser graphs."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from knotwork.graph.moving import move_nodes
from knotwork.graph.partition import Labels, numbered


def louvain(adjacency: sparse.csr_array, *, resolution: float = 1.0, seed: int = 0) -> Labels:
    """Return the communities of a graph by modularity (Blondel et al., 2008), one label a node.

    ``adjacency`` is symmetric. ``seed`` sets the order in which nodes are visited.
    """
    shuffle = np.random.default_rng(seed)
    labels = np.arange(adjacency.shape[0], dtype=np.int64)
    graph, loops = adjacency, np.zeros(adjacency.shape[0])
    while True:
        order = shuffle.permutation(graph.shape[0])
        start = np.arange(graph.shape[0], dtype=np.int64)
        found = numbered(
            move_nodes(graph, start, order.tolist(), resolution=resolution, loops=loops.tolist())
        )
        labels = found[labels]
        if int(found.max(initial=-1)) + 1 == graph.shape[0]:
            return numbered(labels)
        graph, loops = contract(graph, found, loops)


def contract(
    adjacency: sparse.csr_array, labels: Labels, loops: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> tuple[sparse.csr_array, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Return the graph whose nodes are the communities, and the weight inside each of them."""
    communities = int(labels.max(initial=-1)) + 1
    places = (np.arange(len(labels)), labels)
    belongs = sparse.coo_array((np.ones(len(labels)), places), (len(labels), communities)).tocsr()
    between = (belongs.T @ adjacency @ belongs).tocsr()
    inside = np.asarray(between.diagonal(), dtype=np.float64) + np.bincount(
        labels, weights=loops, minlength=communities
    )
    between.setdiag(0.0)
    between.eliminate_zeros()
    between.sort_indices()
    return between, inside
