"""A map of a graph: circles in circles for its communities, and a point for each node.

Circles that lie in one are packed by what links them, see `packing`. Nodes that lie in no smaller
circle stand on a spiral of sunflower seeds (Vogel, 1979), the most important in the middle, each
turned towards what it is linked to. A circle holds all that lies in it, so that whoever looks
closer sees the same places, only more of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from knotwork.graph.packing import Floats, Labels, pack_circles
from knotwork.graph.partition import members_of

_SEED_SPACING = 0.56
"""Distance of seeds on a spiral: neighbours are then about 1 apart."""
_RIM = 0.45
"""Room around the seeds of a circle."""
_GAP = 0.05
"""Room around each circle, in its radii."""
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
_SWEEPS = 3
_NOWHERE = -1


class MapLayout(NamedTuple):
    """Places of nodes (n, 2), middles (c, 2) and radii (c,) of communities, the radius of all.

    The middle of all is the origin, and neighbouring nodes of a community are about 1 apart.
    """

    nodes: Floats
    middles: Floats
    radii: Floats
    radius: float


def lay_out(
    adjacency: sparse.csr_array, *, homes: Labels, parents: Labels, importance: Floats
) -> MapLayout:
    """Return where everything lies.

    ``adjacency`` (n, n) is symmetric; ``homes`` (n,) names the lowest community of each node, or
    -1; ``parents`` (c,) names the community that each community lies in, or -1; ``importance``
    (n,) puts the nodes of a community in order. The same input gives the same map.
    """
    tree = _Tree(homes, parents)
    radii = np.zeros(tree.root + 1)
    radii[: tree.root] = _RIM
    sizes = np.bincount(tree.discs, minlength=tree.root)
    filled = np.flatnonzero(sizes)
    radii[filled] = _SEED_SPACING * np.sqrt(sizes[filled]) + _RIM
    places = np.zeros((tree.root + 1, 2))
    deepest = int(tree.depths.max())
    for depth in range(deepest, 0, -1):
        _pack_level(tree, adjacency, places, radii, depth=depth)
    for depth in range(1, deepest + 1):
        inside = np.flatnonzero(tree.depths == depth)
        places[inside] += places[tree.above[inside]]
    nodes = _plant(adjacency, tree.discs, places, importance)
    count = len(parents)
    return MapLayout(nodes, places[:count], radii[:count], float(radii[tree.root]))


class _Tree:
    """Circles in circles: the communities, a disc in each for the nodes that lie in it alone, a
    disc for nodes without a community, and the root around all.
    """

    def __init__(self, homes: Labels, parents: Labels) -> None:
        count = len(parents)
        self.root = 2 * count + 1
        self.discs: Labels = np.where(homes >= 0, homes, count) + count
        """The disc of each node."""
        outermost = np.where(parents >= 0, parents, self.root)
        self.above: Labels = np.concatenate([outermost, np.arange(count), [self.root] * 2])
        self.depths = np.zeros(self.root + 1, dtype=np.int64)
        current = np.arange(self.root + 1)
        while (rising := np.flatnonzero(current != self.root)).size:
            current[rising] = self.above[current[rising]]
            self.depths[rising] += 1
        used = np.bincount(self.discs, minlength=self.root + 1) > 0
        self.is_drawn = np.arange(self.root + 1) < count
        self.is_drawn |= used
        """Whether a circle is there at all: a disc without nodes is not."""

    def nodes_at(self, depth: int) -> Labels:
        """Return the circle of this depth that each node lies in, -1 where it lies in none."""
        current = self.discs.copy()
        while (deeper := np.flatnonzero(self.depths[current] > depth)).size:
            current[deeper] = self.above[current[deeper]]
        return np.where(self.depths[current] == depth, current, _NOWHERE)


def _pack_level(
    tree: _Tree, adjacency: sparse.csr_array, places: Floats, radii: Floats, *, depth: int
) -> None:
    """Pack the circles of a depth into those around them: ``places`` are set from the middle of
    the one around, whose entry of ``radii`` becomes what holds them.
    """
    circles = np.flatnonzero((tree.depths == depth) & tree.is_drawn)
    rank = np.full(tree.root + 1, _NOWHERE)
    rank[circles] = np.arange(len(circles))
    links = _links(adjacency, np.append(rank, _NOWHERE)[tree.nodes_at(depth)], len(circles))
    around, group = np.unique(tree.above[circles], return_inverse=True)
    for outer, members in zip(around, members_of(group.reshape(-1)), strict=True):
        inner = circles[members]
        if len(inner) == 1:
            radii[outer] = radii[inner[0]] * (1 + _GAP)
            continue
        among = links[members][:, members].toarray()
        packing = pack_circles(radii[inner] * (1 + _GAP), among)
        places[inner] = packing.places
        radii[outer] = packing.radius * (1 + _GAP)


def _links(adjacency: sparse.csr_array, labels: Labels, count: int) -> sparse.csr_array:
    """Return how strongly circles are linked, for their sizes: large ones have more links."""
    inside = np.flatnonzero(labels >= 0)
    ones = np.ones(len(inside))
    shape = (adjacency.shape[0], count)
    member = sparse.coo_array((ones, (inside, labels[inside])), shape=shape).tocsr()
    links = (member.T @ adjacency @ member).tocsr()
    links.setdiag(0)
    sizes = np.bincount(labels[inside], minlength=count).astype(np.float64)
    scale = sparse.diags_array(1 / np.sqrt(np.maximum(sizes, 1.0)))
    return (scale @ links @ scale).tocsr()


def _plant(
    adjacency: sparse.csr_array, discs: Labels, places: Floats, importance: Floats
) -> Floats:
    """Return where nodes stand in their discs, each turned towards what it is linked to."""
    order = np.lexsort((np.arange(len(discs)), -importance, discs))
    sizes = np.bincount(discs, minlength=1)
    first = np.cumsum(sizes) - sizes
    seed = np.empty(len(discs), dtype=np.int64)
    seed[order] = np.arange(len(discs)) - first[discs[order]]
    alone = sizes[discs] == 1
    # Seeds of one band are about as far from the middle: among them, nodes may change places.
    band = np.floor(np.sqrt(seed)).astype(np.int64)
    angle = np.mod(seed * _GOLDEN_ANGLE, 2 * np.pi)
    reach = _SEED_SPACING * np.where(alone, 0.0, np.sqrt(seed + 0.5))
    middles = places[discs]
    nodes = middles + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    by_seed = np.lexsort((angle, band, discs))
    degrees = np.maximum(np.asarray(adjacency.sum(axis=1)).reshape(-1), 1e-12)
    linked = np.diff(adjacency.indptr) > 0
    for _ in range(_SWEEPS):
        drawn_to = np.where(linked[:, None], (adjacency @ nodes) / degrees[:, None], nodes)
        towards = np.mod(np.arctan2(*(drawn_to - middles).T[::-1]), 2 * np.pi)
        by_wish = np.lexsort((np.arange(len(discs)), np.round(towards, 9), band, discs))
        taken = np.empty_like(nodes)
        ways = reach[by_seed, None] * np.column_stack([np.cos(angle), np.sin(angle)])[by_seed]
        taken[by_wish] = middles[by_wish] + ways
        nodes = taken
    return np.asarray(nodes)
