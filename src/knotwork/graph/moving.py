"""Local moving: nodes go, one after the other, to the neighbouring community they fit best.

The step that Louvain repeats on ever coarser graphs, and that repairs a partition after a change.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

from knotwork.graph.partition import Labels

_LEAST_GAIN = 1e-9
"""Least gain of modularity, as a share of the graph's weight, that is worth a move."""


def move_nodes(  # noqa: C901  the hot loop, in one piece
    adjacency: sparse.csr_array,
    labels: Labels,
    queue: Iterable[int],
    *,
    resolution: float = 1.0,
    loops: Sequence[float] | None = None,
) -> Labels:
    """Return ``labels`` after moving the queued nodes, and whoever their moves concern.

    Each node goes to the community of a neighbour that gains most modularity (ties: where it is,
    then the smallest label), or stays. The neighbours of a node that moved are queued again, until
    none is left: a queue as in Leiden's fast local moving (Traag, Waltman and van Eck, 2019), whose
    work grows with what changes, not with the graph. ``loops`` are weights inside the nodes.
    """
    indptr, indices = adjacency.indptr.tolist(), adjacency.indices.tolist()
    weights = adjacency.data.tolist()
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    if loops is not None:
        degrees = degrees + np.asarray(loops, dtype=np.float64)
    total = float(degrees.sum())
    moved = labels.tolist()
    if total == 0.0:
        return np.array(moved, dtype=np.int64)
    volumes = np.bincount(labels, weights=degrees, minlength=int(labels.max()) + 1).tolist()
    scale, least = resolution / total, _LEAST_GAIN * total
    degree = degrees.tolist()
    waiting = deque(dict.fromkeys(int(node) for node in queue))
    queued = bytearray(len(moved))
    for node in waiting:
        queued[node] = 1
    while waiting:
        node = waiting.popleft()
        queued[node] = 0
        own = moved[node]
        near: dict[int, float] = {own: 0.0}
        begin, end = indptr[node], indptr[node + 1]
        for position in range(begin, end):
            label = moved[indices[position]]
            near[label] = near.get(label, 0.0) + weights[position]
        volumes[own] -= degree[node]
        pull = degree[node] * scale
        best, best_gain = own, near[own] - pull * volumes[own] + least
        for label in sorted(near):
            gain = near[label] - pull * volumes[label]
            if gain > best_gain:
                best, best_gain = label, gain
        volumes[best] += degree[node]
        if best == own:
            continue
        moved[node] = best
        for position in range(begin, end):
            other = indices[position]
            if not queued[other] and moved[other] != best:
                queued[other] = 1
                waiting.append(other)
    return np.array(moved, dtype=np.int64)
