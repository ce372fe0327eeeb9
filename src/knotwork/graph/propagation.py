"""Communities by label propagation."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from knotwork.graph.partition import Labels, numbered

_MOST_ROUNDS = 50


def propagate_labels(
    adjacency: sparse.csr_array, *, resolution: float = 1.0, seed: int = 0
) -> Labels:
    """Return communities in which each node has the label that weighs most among its neighbours.

    Nodes take turns in an order set by ``seed`` until none wants to change (Raghavan et al., 2007);
    among equals a node keeps its label, else takes the smallest. A ``resolution`` above 1 reduces a
    label's weight by its expected weight times the excess (after Barber and Clark, 2009), so that
    large communities divide; up to 1 there is no such brake.
    """
    nodes = adjacency.shape[0]
    indptr, indices = adjacency.indptr.tolist(), adjacency.indices.tolist()
    weights = adjacency.data.tolist()
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    brake = max(resolution - 1.0, 0.0) / (float(degrees.sum()) or 1.0)
    degree, volumes = degrees.tolist(), degrees.tolist()
    order = np.random.default_rng(seed).permutation(nodes).tolist()
    labels = list(range(nodes))
    for _ in range(_MOST_ROUNDS):
        changed = False
        for node in order:
            near: dict[int, float] = {}
            for position in range(indptr[node], indptr[node + 1]):
                label = labels[indices[position]]
                near[label] = near.get(label, 0.0) + weights[position]
            own = labels[node]
            volumes[own] -= degree[node]
            pull = brake * degree[node]
            best, most = own, near.get(own, 0.0) - pull * volumes[own]
            for label in sorted(near):
                weight = near[label] - pull * volumes[label]
                if weight > most * (1 + 1e-12) + 1e-12:
                    best, most = label, weight
            volumes[best] += degree[node]
            changed = changed or best != own
            labels[node] = best
        if not changed:
            break
    return numbered(np.array(labels, dtype=np.int64))
