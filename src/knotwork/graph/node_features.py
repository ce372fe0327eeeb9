"""Features of nodes and node pairs of an undirected graph: degrees, distances, overlap, community
roles.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from knotwork.graph.communities import Labels
from knotwork.graph.pagerank import personalized_pagerank

Numbers = NDArray[np.float64]
CountArray = NDArray[np.int64]
Pairs = NDArray[np.int64]

UNREACHED = -1
"""The distance of a node that cannot be reached, or not within the limit."""


@dataclass(frozen=True, slots=True)
class PairFeatures:
    """What two nodes share, one value a pair.

    ``common`` counts the neighbours of both; ``adamic_adar`` weighs each by 1 / log of its degree
    (Adamic and Adar, 2003), ``resource_allocation`` by 1 / its degree (Zhou et al., 2009);
    ``jaccard`` is the share of common ones among the neighbours of either.
    """

    common: CountArray
    adamic_adar: Numbers
    resource_allocation: Numbers
    jaccard: Numbers


@dataclass(frozen=True, slots=True)
class TwoHopFeatures:
    """What lies within two hops of nodes, one value a node.

    ``degree`` counts neighbours, ``second`` the nodes at exactly two hops; ``clustering`` is the
    share of pairs of neighbours that are neighbours themselves (Watts and Strogatz, 1998),
    ``neighbour_degree`` the mean degree of the neighbours; 0 where there are none.
    """

    degree: CountArray
    second: CountArray
    clustering: Numbers
    neighbour_degree: Numbers


def degrees_of(adjacency: sparse.csr_array) -> CountArray:
    """Return the number of neighbours of each node, of shape (n,)."""
    degrees: CountArray = np.diff(adjacency.indptr).astype(np.int64)
    return degrees


def pair_features(adjacency: sparse.csr_array, pairs: Pairs) -> PairFeatures:
    """Return what the nodes of each pair share; a pair of a node with itself shares nothing."""
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    plain = _plain(adjacency)
    degrees = degrees_of(adjacency).astype(np.float64)
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


def two_hop_features(adjacency: sparse.csr_array, nodes: CountArray) -> TwoHopFeatures:
    """Return what lies within two hops of ``nodes``, in their order."""
    nodes = np.asarray(nodes, dtype=np.int64).reshape(-1)
    plain = _plain(adjacency)
    degrees = degrees_of(adjacency)
    near = plain[nodes]
    walks = near @ plain  # walks of two steps: the node itself, neighbours, and beyond
    beyond = walks.copy()
    beyond.data = np.ones_like(beyond.data)
    inside = beyond.multiply(near)
    own = degrees[nodes]
    reached = np.diff(beyond.tocsr().indptr) - np.rint(inside.sum(axis=1)).astype(np.int64)
    second = reached - (own > 0)  # a node with a neighbour comes back to itself
    closed = walks.multiply(near).sum(axis=1).reshape(-1)
    pairs = own * (own - 1.0)
    total = (near @ degrees.astype(np.float64)).reshape(-1)
    return TwoHopFeatures(
        degree=own,
        second=second.astype(np.int64),
        clustering=np.divide(closed, pairs, out=np.zeros_like(pairs), where=pairs > 0),
        neighbour_degree=np.divide(total, own, out=np.zeros(len(own)), where=own > 0),
    )


def hop_distances(
    adjacency: sparse.csr_array, sources: CountArray, *, limit: int | None = None
) -> CountArray:
    """Return the least number of hops from any source to each node, `UNREACHED` beyond ``limit``.

    One breadth-first search by rows of the array: each edge is looked at once, whatever the number
    of sources.
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
    """Return up to ``most`` of the shortest paths between two nodes, in the order of their nodes.

    None when there is none of at most ``limit`` hops. The search goes backwards along distances
    from the source, so that no path that leads elsewhere is followed.
    """
    distances = hop_distances(adjacency, np.array([source]), limit=limit)
    if distances[target] == UNREACHED:
        return []
    # Backwards every step leads to the source, so that each unfinished path will end there.
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


def importance_of(adjacency: sparse.csr_array, *, damping: float = 0.85) -> Numbers:
    """Return PageRank over weighted edges from everywhere; it sums to 1 (nothing for no nodes)."""
    nodes = adjacency.shape[0]
    if nodes == 0:
        return np.zeros(0)
    return personalized_pagerank(adjacency, np.ones(nodes), damping=damping, tolerance=1e-9)


@dataclass(frozen=True, slots=True)
class CommunityRoles:
    """How nodes sit in communities, one value a node.

    ``inside`` is the share of a node's edge weight within its community, ``participation`` how
    evenly its edges go to many: 1 - the sum of squared shares by community (Guimera and Amaral,
    2005). Both are 0 for a node without edges.
    """

    inside: Numbers
    participation: Numbers


def community_roles(adjacency: sparse.csr_array, labels: Labels) -> CommunityRoles:
    """Return how each node's weighted edges divide among the communities of ``labels`` (n,)."""
    nodes = adjacency.shape[0]
    _, numbers = np.unique(labels, return_inverse=True)
    columns = numbers.reshape(-1)
    membership = sparse.csr_array(
        (np.ones(nodes), (np.arange(nodes), columns)),
        shape=(nodes, int(columns.max(initial=-1)) + 1),
    )
    weights = (adjacency @ membership).tocsr()
    total = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    own = np.asarray(weights.multiply(membership).sum(axis=1), dtype=np.float64).reshape(-1)
    squares = np.asarray(weights.multiply(weights).sum(axis=1), dtype=np.float64).reshape(-1)
    participation = np.where(total > 0, 1.0 - squares * inverse**2, 0.0)
    return CommunityRoles(own * inverse, np.clip(participation, 0.0, 1.0))


def _plain(adjacency: sparse.csr_array) -> sparse.csr_array:
    """Return the same edges with weight 1 each."""
    ones = np.ones(len(adjacency.data))
    return sparse.csr_array((ones, adjacency.indices, adjacency.indptr), shape=adjacency.shape)
