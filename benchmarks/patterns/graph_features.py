"""Compute overlap of neighbours, distances and shortest paths in an undirected graph."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Numbers = NDArray[np.float64]
CountArray = NDArray[np.int64]
Pairs = NDArray[np.int64]

UNREACHED = -1
"""The distance of a node that cannot be reached within the limit."""


@dataclass(frozen=True, slots=True)
class PairFeatures:
    """The overlap of the neighbours of two nodes, one value per pair.

    ``common`` counts common neighbours. ``adamic_adar`` weighs each by 1 / log of its degree
    (Adamic and Adar, 2003), ``resource_allocation`` by 1 / its degree (Zhou et al., 2009).
    ``jaccard`` is the share of common neighbours among the neighbours of either.
    """

    common: CountArray
    adamic_adar: Numbers
    resource_allocation: Numbers
    jaccard: Numbers


def pair_features(adjacency: sparse.csr_array, pairs: Pairs) -> PairFeatures:
    """Return the overlap of each (n, 2) pair; a pair of a node with itself has none."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    ones = np.ones(len(adjacency.data))
    plain = sparse.csr_array((ones, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    both = plain[pairs[:, 0]].multiply(plain[pairs[:, 1]]).tocsr()
    apart = pairs[:, 0] != pairs[:, 1]
    inverse = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    logs = np.log(np.maximum(degrees, 1.0))
    inverse_log = np.divide(1.0, logs, out=np.zeros_like(logs), where=logs > 0)
    common = both.sum(axis=1).reshape(-1) * apart
    either = degrees[pairs[:, 0]] + degrees[pairs[:, 1]] - common
    return PairFeatures(
        common=np.rint(common).astype(np.int64),
        adamic_adar=(both @ inverse_log) * apart,
        resource_allocation=(both @ inverse) * apart,
        jaccard=np.divide(common, either, out=np.zeros_like(common), where=either > 0),
    )


def hop_distances(
    adjacency: sparse.csr_array, sources: CountArray, *, limit: int | None = None
) -> CountArray:
    """Return the smallest number of hops from any source to each node, or `UNREACHED`.

    One breadth-first search over rows of the array visits each edge once, for any number of
    sources.
    """
    distances = np.full(adjacency.shape[0], UNREACHED, dtype=np.int64)
    frontier = np.unique(np.asarray(sources, dtype=np.int64))
    distances[frontier] = 0
    hops = 0
    while len(frontier) and (limit is None or hops < limit):
        hops += 1
        near = np.unique(adjacency[frontier].indices)
        frontier = near[distances[near] == UNREACHED].astype(np.int64)
        distances[frontier] = hops
    return distances


def shortest_paths(
    adjacency: sparse.csr_array, source: int, target: int, *, limit: int = 6, most: int = 16
) -> list[tuple[int, ...]]:
    """Return up to ``most`` shortest paths between two nodes, in the order of their nodes.

    The result is empty if there is no path of at most ``limit`` hops. Only nodes that lie on some
    shortest path to ``target`` are followed.
    """
    distances = hop_distances(adjacency, np.array([source]), limit=limit)
    if distances[target] == UNREACHED:
        return []
    complete: list[tuple[int, ...]] = []
    forward = _between(adjacency, distances, target)
    waiting: deque[tuple[int, ...]] = deque([(source,)])
    while waiting and len(complete) < most:
        path = waiting.pop()
        if path[-1] == target:
            complete.append(path)
            continue
        row = adjacency.indices[adjacency.indptr[path[-1]] : adjacency.indptr[path[-1] + 1]]
        ahead = np.sort(row[forward[row] & (distances[row] == len(path))])
        waiting.extend((*path, int(node)) for node in ahead[::-1])
    return list(islice(complete, most))


def _between(adjacency: sparse.csr_array, distances: CountArray, target: int) -> NDArray[np.bool_]:
    """Mark the nodes on some shortest path to ``target``."""
    on_path = np.zeros(len(distances), dtype=np.bool_)
    frontier = np.array([target])
    on_path[target] = True
    for hops in range(int(distances[target]) - 1, -1, -1):
        near = np.unique(adjacency[frontier].indices)
        frontier = near[distances[near] == hops]
        on_path[frontier] = True
    return on_path
