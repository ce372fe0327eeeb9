"""Hierarchical communities: divide large ones, and keep their identity when the graph changes.

Level 0 holds the communities of the whole graph; each that is larger than a limit is divided into
communities of the next level, and so on. The lowest of each branch are its *leaves*: every node
is in exactly one. After a change, only the nodes whose edges changed may move, and those that such
moves affect, until modularity falls behind a search from scratch by more than a tolerance.
`match_groups` maps new communities to old ones by shared nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from knotwork.graph.communities import (
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

_FINEST = 64.0
"""Largest resolution with which a community is divided."""
_KEPT_DIVIDED = 0.75
"""Share of the limit down to which a community that was divided stays so."""
_MOST_ALONE = 0.5
"""Share of nodes that a division may leave alone; more is no division but a collapse."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DivisionOptions:
    """How to divide: a community may weigh ``max_size``; ``tolerance`` is modularity given up.

    There are at most ``levels`` levels, any number with 0.
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

    ``labels[level]`` (n,) holds each node's community at that level, -1 for none. ``touched`` (n,)
    marks the nodes whose edges changed since; a node without a community is new and counts too.
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

    ``sizes`` (n,) is what each node adds to a community's size; one of no size joins a neighbour. A
    community that falls apart into single nodes rather than divide is kept whole, however large.
    """
    groups: list[DividedCommunity] = []
    every = np.arange(adjacency.shape[0], dtype=np.int64)
    pending: list[tuple[Labels, int | None, int, PreviousDivision | None]] = []
    if len(every):
        pending.append((every, None, 0, earlier))
    while pending:
        nodes, parent, level, before = pending.pop(0)
        inner = adjacency[nodes][:, nodes] if level else adjacency
        found = _divide_once(inner, options, level=level, earlier=before)
        if found is None:
            continue
        labels = _joined(inner, found.labels, sizes[nodes])
        if level and labels.max() == 0:
            continue
        for members in members_of(labels):
            groups.append(DividedCommunity(level, parent, nodes[members]))
            below = None if before is None else _below(before, level, members, found.moved)
            is_last = level + 1 == options.levels
            size = float(sizes[nodes[members]].sum())
            if not is_last and _is_divided(size, options, level, below):
                pending.append((nodes[members], len(groups) - 1, level + 1, below))
    return groups


class _Division(NamedTuple):
    """Labels, and which nodes are not where they were (None: this was not asked)."""

    labels: Labels
    moved: Mask | None


def _is_divided(
    size: float, options: DivisionOptions, level: int, below: PreviousDivision | None
) -> bool:
    if size > options.max_size:
        return True
    was_divided = below is not None and any((row >= 0).any() for row in below.labels[level + 1 :])
    return was_divided and size > _KEPT_DIVIDED * options.max_size


def _divide_once(
    adjacency: sparse.csr_array,
    options: DivisionOptions,
    *,
    level: int,
    earlier: PreviousDivision | None,
) -> _Division | None:
    """Return the communities of a graph; below level 0, None when it does not divide."""
    known = earlier is not None and level < len(earlier.labels) and earlier.labels[level].max() >= 0
    if not known or earlier is None:
        fresh = _fresh(adjacency, options, level=level)
        return None if fresh is None else _Division(fresh[0], None)
    before = earlier.labels[level]
    touched = earlier.touched | (before < 0)
    if not touched.any():
        return _Division(numbered(before), np.zeros(len(before), dtype=np.bool_))
    fresh = _fresh(adjacency, options, level=level)
    if fresh is None:
        return None
    labels = _settled(adjacency, before, touched, options, *fresh)
    if level and labels.max() == 0:
        labels = fresh[0]
    return _Division(labels, _changed(labels, before) | touched)


def _fresh(
    adjacency: sparse.csr_array, options: DivisionOptions, *, level: int
) -> tuple[Labels, float] | None:
    """Return labels from scratch and their resolution: the smallest that divides below level 0."""
    resolution = options.resolution
    while resolution <= _FINEST * options.resolution:
        labels = find_communities(
            adjacency, algorithm=options.algorithm, resolution=resolution, seed=options.seed
        )
        if level == 0:
            return labels, resolution
        if labels.max() > 0:
            alone = int((np.bincount(labels) == 1).sum())
            return None if alone > _MOST_ALONE * len(labels) else (labels, resolution)
        resolution *= 2.0
    return None


def _settled(
    adjacency: sparse.csr_array,
    before: Labels,
    touched: Mask,
    options: DivisionOptions,
    fresh: Labels,
    resolution: float,
) -> Labels:
    """Return the earlier communities, changed where they must be."""
    labels = _with_new_nodes(adjacency, before, options, resolution)
    labels = move_nodes(adjacency, labels, np.flatnonzero(touched).tolist(), resolution=resolution)
    labels = split_disconnected(adjacency, labels)
    reached = modularity(adjacency, labels, resolution=resolution)
    if reached + options.tolerance >= modularity(adjacency, fresh, resolution=resolution):
        return labels
    if options.algorithm == "leiden":
        further = leiden(adjacency, resolution=resolution, seed=options.seed, start=labels)
        return split_disconnected(adjacency, further)
    return fresh


def _with_new_nodes(
    adjacency: sparse.csr_array, before: Labels, options: DivisionOptions, resolution: float
) -> Labels:
    """Give new nodes communities of their own, found among themselves; moving comes after."""
    labels = before.copy()
    new = np.flatnonzero(before < 0)
    if len(new):
        among = find_communities(
            adjacency[new][:, new],
            algorithm=options.algorithm,
            resolution=resolution,
            seed=options.seed,
        )
        labels[new] = among + int(before.max()) + 1
    return numbered(labels)


def _joined(adjacency: sparse.csr_array, labels: Labels, sizes: Weights) -> Labels:
    """Give communities of no size to the neighbouring one that they have most edges to."""
    weightless = np.bincount(labels, weights=sizes) == 0
    if weightless.all() or not weightless.any():
        return labels
    joined = labels.copy()
    for label in np.flatnonzero(weightless).tolist():
        nodes = np.flatnonzero(labels == label)
        outside = adjacency[nodes]
        near = labels[outside.indices]
        real = ~weightless[near]
        if real.any():
            pull = np.bincount(near[real], weights=outside.data[real])
            joined[nodes] = int(pull.argmax())
    return numbered(joined)


def _changed(labels: Labels, before: Labels) -> Mask:
    """Mark nodes that left the community most of whose old nodes are where most of them went."""
    kept = np.full(len(labels), fill_value=False)
    for community in members_of(labels):
        known = before[community]
        known = known[known >= 0]
        if len(known):
            values, counts = np.unique(known, return_counts=True)
            kept[community] = before[community] == values[counts.argmax()]
    return ~kept


def _below(
    before: PreviousDivision, level: int, members: Labels, moved: Mask | None
) -> PreviousDivision | None:
    """Return what is known of the inside of a community from before.

    Nodes that came from elsewhere are new in it.
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


def leaves(groups: list[DividedCommunity]) -> Iterator[int]:
    """Yield the positions of the communities that have no children."""
    parents = {group.parent for group in groups}
    return (position for position in range(len(groups)) if position not in parents)


Key = TypeVar("Key")
Member = TypeVar("Member")

MIN_SHARED_NODES = 0.25
"""Share of the smaller of two communities that must be common for one to be the other."""


def match_groups(
    new: Sequence[Collection[Member]], old: Mapping[Key, Collection[Member]]
) -> dict[int, Key]:
    """Return the old key of each new group, by position, where it continues one.

    Each old group is continued at most once. Among all ways to match them this one keeps most
    nodes under the key they had: a maximum-weight matching of shared nodes (Jonker and Volgenant,
    1987, in its sparse form). The groups of one side are disjoint.
    """
    keys = list(old)
    holder = {node: place for place, key in enumerate(keys) for node in old[key]}
    shared: Counter[tuple[int, int]] = Counter()
    for position, nodes in enumerate(new):
        for node in nodes:
            if node in holder:
                shared[position, holder[node]] += 1
    lengths = [len(old[key]) for key in keys]
    enough = {
        (position, place): common
        for (position, place), common in shared.items()
        if common >= MIN_SHARED_NODES * min(len(new[position]), lengths[place])
    }
    return {position: keys[place] for position, place in _best(enough, len(new), len(keys))}


def _best(shared: Mapping[tuple[int, int], int], new: int, old: int) -> list[tuple[int, int]]:
    """Return the matching of largest weight; every new group may also remain without a match."""
    if not shared:
        return []
    pairs = sorted(shared)
    rows = np.array([position for position, _ in pairs] + list(range(new)))
    columns = np.array([place for _, place in pairs] + [old + n for n in range(new)])
    weights = np.array([float(shared[pair]) for pair in pairs] + [0.5] * new)
    graph = sparse.coo_array((weights, (rows, columns)), shape=(new, old + new)).tocsr()
    matched = csgraph.min_weight_full_bipartite_matching(graph, maximize=True)
    return [(int(row), int(column)) for row, column in zip(*matched, strict=True) if column < old]
