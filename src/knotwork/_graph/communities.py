"""Detect communities with Leiden, Louvain or label propagation over sparse adjacency matrices.

A partition of the nodes is an array with one label per node. To add an algorithm, write a function
and enter it in `COMMUNITY_ALGORITHMS`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from knotwork._cancellation import check_cancelled, run_apart
from knotwork.errors import UnknownName

Labels = NDArray[np.int64]
Weights = NDArray[np.float64]


def undirected_adjacency(
    sources: Sequence[int] | NDArray[np.integer],
    targets: Sequence[int] | NDArray[np.integer],
    weights: Sequence[float] | Weights,
    *,
    nodes: int,
) -> sparse.csr_array:
    """Return the symmetric (nodes, nodes) matrix of edges in any order.

    The weights of parallel edges, in either direction, are added; loops are dropped. Edges are
    summed in the order of their ends and weights, so that equal edges give equal bits.
    """
    number = np.int32 if nodes <= np.iinfo(np.int32).max else np.int64
    one, other = np.asarray(sources, dtype=number), np.asarray(targets, dtype=number)
    kept = one != other
    low, high = np.minimum(one, other)[kept], np.maximum(one, other)[kept]
    values = np.asarray(weights, dtype=np.float64)[kept]
    order = np.lexsort((values, high, low))
    low, high, values = low[order], high[order], values[order]
    upper = sparse.coo_array((values, (low, high)), shape=(nodes, nodes)).tocsr()
    upper.sum_duplicates()
    adjacency = (upper + upper.T).tocsr()
    adjacency.sort_indices()
    return adjacency


def numbered(labels: Labels) -> Labels:
    """Return labels numbered from 0, in the order of the first node of each community."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    renumbered: Labels = rank[inverse.reshape(-1)]
    return renumbered


def split_disconnected(adjacency: sparse.csr_array, labels: Labels) -> Labels:
    """Split communities into their connected components."""
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


_LEAST_GAIN = 1e-9
"""Smallest gain of modularity, as a share of the graph's weight, for which a node moves."""


def move_nodes(  # noqa: C901  the hot loop, in one piece
    adjacency: sparse.csr_array,
    labels: Labels,
    queue: Iterable[int],
    *,
    resolution: float = 1.0,
    loops: Sequence[float] | None = None,
) -> Labels:
    """Return ``labels`` after moving the queued nodes, and those that their moves affect.

    Each node moves to the community of a neighbour with the largest gain of modularity (ties: its
    own community, then the smallest label), or stays. The neighbours of a moved node are queued
    again until the queue is empty, as in the fast local moving of Leiden (Traag, Waltman and van
    Eck, 2019). So the work depends on the size of the change, not of the graph. ``loops`` are
    weights inside the nodes.
    """
    indptr = adjacency.indptr.tolist()
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
        check_cancelled()
        node = waiting.popleft()
        queued[node] = 0
        own = moved[node]
        near: dict[int, float] = {own: 0.0}
        own_edges = slice(indptr[node], indptr[node + 1])
        neighbours = adjacency.indices[own_edges].tolist()  # a list of all would take gigabytes
        for other, weight in zip(neighbours, adjacency.data[own_edges].tolist(), strict=True):
            label = moved[other]
            near[label] = near.get(label, 0.0) + weight
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
        for other in neighbours:
            if not queued[other] and moved[other] != best:
                queued[other] = 1
                waiting.append(other)
    return np.array(moved, dtype=np.int64)


_ITERATIONS = 2
"""Rounds of the algorithm: the second adds a little modularity, further ones hardly any."""


def leiden(
    adjacency: sparse.csr_array,
    *,
    resolution: float = 1.0,
    seed: int = 0,
    start: Labels | None = None,
) -> Labels:
    """Return communities by modularity (Traag et al., 2019), one label per node.

    ``adjacency`` is symmetric, without loops. The search continues from the partition ``start`` if
    it is given. A node without edges is a community of its own.
    """
    import graspologic_native

    nodes = adjacency.shape[0]
    if adjacency.nnz == 0:
        return np.arange(nodes, dtype=np.int64)
    if start is None:
        search = partial(
            graspologic_native.leiden_csr,
            adjacency.indptr.astype(np.int64),
            adjacency.indices.astype(np.int32),
            adjacency.data.astype(np.float64),
            nodes,
            resolution=resolution,
            iterations=_ITERATIONS,
            seed=seed,
        )
        _, found = _run_native(search, adjacency)
        return numbered(np.array([found[node] for node in range(nodes)], dtype=np.int64))
    upper = sparse.triu(adjacency, format="coo")
    ends = zip(upper.row.tolist(), upper.col.tolist(), upper.data.tolist(), strict=True)
    edges = [(str(source), str(target), weight) for source, target, weight in ends]
    linked = np.flatnonzero(np.diff(adjacency.indptr))
    before = dict(zip(map(str, linked.tolist()), numbered(start[linked]).tolist(), strict=True))
    search = partial(
        graspologic_native.leiden,
        edges,
        starting_communities=before,
        resolution=resolution,
        iterations=_ITERATIONS,
        seed=seed,
    )
    _, moved = _run_native(search, adjacency)
    labels = np.arange(nodes, dtype=np.int64) + len(moved)
    labels[linked] = [moved[str(node)] for node in linked.tolist()]
    return numbered(labels)


_LARGE_EDGES = 100_000
"""Entries of a matrix whose search takes more than about a tenth of a second."""

Found = TypeVar("Found")


def _run_native(search: Callable[[], Found], adjacency: sparse.csr_array) -> Found:
    """Run a search of the native library, which cannot be interrupted. Raises Cancelled."""
    check_cancelled()
    return run_apart(search) if adjacency.nnz > _LARGE_EDGES else search()


def louvain(adjacency: sparse.csr_array, *, resolution: float = 1.0, seed: int = 0) -> Labels:
    """Return communities by modularity (Blondel et al., 2008), one label per node.

    ``adjacency`` is symmetric. ``seed`` determines the order in which nodes are visited.
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
    """Return the graph of the communities as nodes, and the weight inside each of them."""
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


_MAX_ROUNDS = 50


def propagate_labels(
    adjacency: sparse.csr_array, *, resolution: float = 1.0, seed: int = 0
) -> Labels:
    """Return communities by label propagation (Raghavan et al., 2007), one label per node.

    Nodes, in an order that ``seed`` determines, take the label with the largest weight among their
    neighbours until none changes; ties: their own label, then the smallest. A ``resolution`` above
    1 reduces the weight of a label by its expected weight times the excess (after Barber and Clark,
    2009), so that large communities split. Lower values have no effect.
    """
    nodes = adjacency.shape[0]
    indptr = adjacency.indptr.tolist()
    degrees = np.asarray(adjacency.sum(axis=1), dtype=np.float64).reshape(-1)
    brake = max(resolution - 1.0, 0.0) / (float(degrees.sum()) or 1.0)
    degree, volumes = degrees.tolist(), degrees.tolist()
    order = np.random.default_rng(seed).permutation(nodes).tolist()
    labels = list(range(nodes))
    for _ in range(_MAX_ROUNDS):
        changed = False
        for node in order:
            check_cancelled()
            near: dict[int, float] = {}
            own_edges = slice(indptr[node], indptr[node + 1])
            neighbours = adjacency.indices[own_edges].tolist()
            for other, weight in zip(neighbours, adjacency.data[own_edges].tolist(), strict=True):
                label = labels[other]
                near[label] = near.get(label, 0.0) + weight
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


class CommunityAlgorithm(Protocol):
    """A deterministic function of graph, resolution and seed that returns communities."""

    def __call__(
        self, adjacency: sparse.csr_array, *, resolution: float = 1.0, seed: int = 0
    ) -> Labels:
        """Return one label per node of a symmetric ``adjacency`` without loops."""


COMMUNITY_ALGORITHMS: Mapping[str, CommunityAlgorithm] = {
    "leiden": leiden,
    "louvain": louvain,
    "label_propagation": propagate_labels,
}


def find_communities(
    adjacency: sparse.csr_array,
    *,
    algorithm: str = "leiden",
    resolution: float = 1.0,
    seed: int = 0,
) -> Labels:
    """Return one label per node, numbered from 0; every community is connected.

    Disconnected communities, which Louvain and label propagation may return, are split. A node
    without edges is a community of its own. Raises UnknownName for an algorithm that is not in
    `COMMUNITY_ALGORITHMS`.
    """
    if algorithm not in COMMUNITY_ALGORITHMS:
        raise UnknownName("community algorithm", algorithm, COMMUNITY_ALGORITHMS)
    labels = COMMUNITY_ALGORITHMS[algorithm](adjacency, resolution=resolution, seed=seed)
    return split_disconnected(adjacency, labels)
