"""Which community of today is which of yesterday: the best match by shared nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

Key = TypeVar("Key")
Node = TypeVar("Node")

LEAST_SHARE = 0.25
"""Share of the smaller of two communities that must be common for one to be the other."""


def match_groups(
    new: Sequence[Collection[Node]], old: Mapping[Key, Collection[Node]]
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
        if common >= LEAST_SHARE * min(len(new[position]), lengths[place])
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
