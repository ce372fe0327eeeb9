"""Divide a graph into a hierarchy of communities, and keep their identity when the graph changes.

Level 0 has the communities of the whole graph. Each community above a size limit is divided into
communities of the next level, and so on. Those without children are the *leaves*: every node is in
exactly one. After a change of the graph, only nodes whose edges changed and those that their moves
affect may move, unless modularity would fall below that of a new search by more than a tolerance.
`match_groups` maps new communities to old ones by shared nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from knotwork._cancellation import check_cancelled, checked
from knotwork._graph.communities import (
    Labels,
    Weights,
    find_communities,
    leiden,
    members_of,
    modularity,
    move_nodes,
    numbered,
    split_disconnected,
)

_MAX_RESOLUTION = 64.0
"""Largest resolution with which a community is divided, as a multiple of the configured one."""
_MOST_CONTINUED = 10_000_000
"""Entries of a matrix up to which Leiden continues from a partition: it takes 250 bytes an edge."""
_STAYS_DIVIDED = 0.75
"""Share of the size limit above which a community that was divided is divided again."""
_MAX_SINGLE = 0.5
"""Share of nodes that a division may leave as single nodes; with more, it is rejected."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DivisionOptions:
    """Options of a division.

    A community larger than ``max_size`` is divided. ``tolerance`` is the loss of modularity that is
    accepted to keep the earlier communities. ``levels`` limits the number of levels; 0 is no limit.
    """

    algorithm: str = "leiden"
    max_size: float = 50.0
    resolution: float = 1.0
    seed: int = 0
    tolerance: float = 0.01
    levels: int = 0


class DividedCommunity(NamedTuple):
    """A community: its level, the position of its parent in the list, and its nodes, ascending."""

    level: int
    parent: int | None
    nodes: Labels


@dataclass(frozen=True, slots=True)
class PreviousDivision:
    """An earlier division of the same nodes.

    ``labels[level]`` (n,) is the community of each node at that level, -1 for none. ``touched``
    (n,) marks the nodes whose edges changed since; nodes without a community are new, and count as
    touched.
    """

    labels: tuple[Labels, ...]
    touched: Mask


def divide_communities(
    adjacency: sparse.csr_array,
    sizes: Weights,
    options: DivisionOptions,
    *,
    earlier: PreviousDivision | None = None,
) -> list[DividedCommunity]:
    """Return the communities of all levels, parents before their children.

    ``sizes`` (n,) is what each node adds to the size of its community; a community of size 0 is
    merged with a neighbouring one. A community that would mostly fall apart into single nodes is
    not divided, however large.
    """
    groups: list[DividedCommunity] = []
    all_nodes = np.arange(adjacency.shape[0], dtype=np.int64)
    pending: list[tuple[Labels, int | None, int, PreviousDivision | None]] = []
    if len(all_nodes):
        pending.append((all_nodes, None, 0, earlier))
    while pending:
        check_cancelled()
        nodes, parent, level, before = pending.pop(0)
        inner = adjacency[nodes][:, nodes] if level else adjacency
        found = _divide_once(inner, options, level=level, earlier=before)
        if found is None:
            continue
        labels = _merge_empty(inner, found.labels, sizes[nodes])
        if level and labels.max() == 0:
            continue
        for members in members_of(labels):
            groups.append(DividedCommunity(level, parent, nodes[members]))
            below = None if before is None else _inside(before, level, members, found.moved)
            is_last = level + 1 == options.levels
            size = float(sizes[nodes[members]].sum())
            if not is_last and _is_divided(size, options, level, below):
                pending.append((nodes[members], len(groups) - 1, level + 1, below))
    return groups


class _Division(NamedTuple):
    """Labels, and a mask of the nodes that moved; None without an earlier division."""

    labels: Labels
    moved: Mask | None


def _is_divided(
    size: float, options: DivisionOptions, level: int, below: PreviousDivision | None
) -> bool:
    if size > options.max_size:
        return True
    was_divided = below is not None and any((row >= 0).any() for row in below.labels[level + 1 :])
    return was_divided and size > _STAYS_DIVIDED * options.max_size


def _divide_once(
    adjacency: sparse.csr_array,
    options: DivisionOptions,
    *,
    level: int,
    earlier: PreviousDivision | None,
) -> _Division | None:
    """Return the communities of a graph; below level 0, None if it cannot be divided."""
    if earlier is None or level >= len(earlier.labels) or earlier.labels[level].max() < 0:
        new = _divide_from_scratch(adjacency, options, level=level)
        return None if new is None else _Division(new[0], None)
    before = earlier.labels[level]
    touched = earlier.touched | (before < 0)
    if not touched.any():
        return _Division(numbered(before), np.zeros(len(before), dtype=np.bool_))
    new = _divide_from_scratch(adjacency, options, level=level)
    if new is None:
        return None
    labels = _update(adjacency, before, touched, options, *new)
    if level and labels.max() == 0:
        labels = new[0]
    return _Division(labels, _moved(labels, before) | touched)


def _divide_from_scratch(
    adjacency: sparse.csr_array, options: DivisionOptions, *, level: int
) -> tuple[Labels, float] | None:
    """Return labels and their resolution: below level 0, the smallest one that divides."""
    resolution = options.resolution
    while resolution <= _MAX_RESOLUTION * options.resolution:
        labels = find_communities(
            adjacency, algorithm=options.algorithm, resolution=resolution, seed=options.seed
        )
        if level == 0:
            return labels, resolution
        if labels.max() > 0:
            single = int((np.bincount(labels) == 1).sum())
            return None if single > _MAX_SINGLE * len(labels) else (labels, resolution)
        resolution *= 2.0
    return None


def _update(
    adjacency: sparse.csr_array,
    before: Labels,
    touched: Mask,
    options: DivisionOptions,
    from_scratch: Labels,
    resolution: float,
) -> Labels:
    """Return the earlier communities with as few changes as the tolerance of modularity allows."""
    labels = _with_new_nodes(adjacency, before, options, resolution)
    labels = move_nodes(adjacency, labels, np.flatnonzero(touched).tolist(), resolution=resolution)
    labels = split_disconnected(adjacency, labels)
    reached = modularity(adjacency, labels, resolution=resolution)
    if reached + options.tolerance >= modularity(adjacency, from_scratch, resolution=resolution):
        return labels
    if options.algorithm == "leiden" and adjacency.nnz <= _MOST_CONTINUED:
        improved = leiden(adjacency, resolution=resolution, seed=options.seed, start=labels)
        return split_disconnected(adjacency, improved)
    return from_scratch


def _with_new_nodes(
    adjacency: sparse.csr_array, before: Labels, options: DivisionOptions, resolution: float
) -> Labels:
    """Return the earlier labels with communities of the new nodes, found among these alone."""
    labels = before.copy()
    new = np.flatnonzero(before < 0)
    if len(new):
        found = find_communities(
            adjacency[new][:, new],
            algorithm=options.algorithm,
            resolution=resolution,
            seed=options.seed,
        )
        labels[new] = found + int(before.max()) + 1
    return numbered(labels)


def _merge_empty(adjacency: sparse.csr_array, labels: Labels, sizes: Weights) -> Labels:
    """Merge communities of size 0 with the neighbouring one that they have most edge weight to."""
    is_empty = np.bincount(labels, weights=sizes) == 0
    if is_empty.all() or not is_empty.any():
        return labels
    merged = labels.copy()
    for label in checked(np.flatnonzero(is_empty).tolist()):
        nodes = np.flatnonzero(labels == label)
        edges = adjacency[nodes]
        neighbours = labels[edges.indices]
        nonempty = ~is_empty[neighbours]
        if nonempty.any():
            pull = np.bincount(neighbours[nonempty], weights=edges.data[nonempty])
            merged[nodes] = int(pull.argmax())
    return numbered(merged)


def _moved(labels: Labels, before: Labels) -> Mask:
    """Mark the nodes that do not come from the main earlier community of their new one."""
    kept = np.full(len(labels), fill_value=False)
    for community in checked(members_of(labels)):
        known = before[community]
        known = known[known >= 0]
        if len(known):
            values, counts = np.unique(known, return_counts=True)
            kept[community] = before[community] == values[counts.argmax()]
    return ~kept


def _inside(
    before: PreviousDivision, level: int, members: Labels, moved: Mask | None
) -> PreviousDivision | None:
    """Return the earlier division of the nodes of a community, if there is one.

    Nodes that were in another community count as new.
    """
    if moved is None:
        return None
    own = before.labels[level][members]
    known = own[own >= 0]
    if not len(known):
        return None
    values, counts = np.unique(known, return_counts=True)
    stayed = own == values[counts.argmax()]
    labels = tuple(np.where(stayed, row[members], -1) for row in before.labels)
    return PreviousDivision(labels, before.touched[members] | ~stayed)


Key = TypeVar("Key")
Member = TypeVar("Member")

MIN_SHARED_NODES = 0.25
"""Share of the smaller of two communities that they must have in common to be matched."""


def match_groups(
    new: Sequence[Collection[Member]], old: Mapping[Key, Collection[Member]]
) -> dict[int, Key]:
    """Return the old key of each new group that continues an old one, by position.

    Each old group is matched at most once. The matching maximizes the number of nodes that keep
    their key (maximum-weight bipartite matching: Jonker and Volgenant, 1987, in its sparse form).
    The groups in ``new`` are disjoint, and so are those in ``old``.
    """
    keys = list(old)
    group_of = {node: place for place, key in enumerate(keys) for node in old[key]}
    shared: Counter[tuple[int, int]] = Counter()
    for position, nodes in checked(enumerate(new)):
        for node in nodes:
            if node in group_of:
                shared[position, group_of[node]] += 1
    lengths = [len(old[key]) for key in keys]
    pairs = sorted(
        (position, place)
        for (position, place), common in shared.items()
        if common >= MIN_SHARED_NODES * min(len(new[position]), lengths[place])
    )
    if not pairs:
        return {}
    # A further column for each new group, of a small weight, lets it stay without a match.
    rows = np.array([position for position, _ in pairs] + list(range(len(new))))
    columns = np.array([place for _, place in pairs] + [len(old) + n for n in range(len(new))])
    weights = np.array([float(shared[pair]) for pair in pairs] + [0.5] * len(new))
    shape = (len(new), len(old) + len(new))
    graph = sparse.coo_array((weights, (rows, columns)), shape=shape).tocsr()
    matched = csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
    return {
        int(row): keys[int(place)] for row, place in zip(*matched, strict=True) if place < len(old)
    }
