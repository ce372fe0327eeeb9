"""Map layout: communities as nested circles, nodes as points inside them.

Circles are packed largest first, each touching two placed ones and as near as possible to what it
is linked to (after Wang et al., "Visualization of large hierarchical data by circle packing",
2006). Nodes outside any smaller circle are placed on a sunflower spiral (Vogel, 1979), the most
important in the middle. The layout is deterministic: equal input gives an equal map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from knotwork.graph.communities import members_of

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
    nodes = _place_nodes(adjacency, tree.discs, places, importance)
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
    links = _link_strengths(
        adjacency, np.append(rank, _NOWHERE)[tree.nodes_at(depth)], len(circles)
    )
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


def _link_strengths(adjacency: sparse.csr_array, labels: Labels, count: int) -> sparse.csr_array:
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


def _place_nodes(
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


Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

_TO_MIDDLE = 0.35
"""What a step away from the middle costs, where a step away from all that is linked costs 1."""
_MOST_PACKED = 300
"""Circles that are packed; smaller ones stand in rings around them, whatever links them."""
_SLACK = 1e-6
_ROUNDS = 200


class Packing(NamedTuple):
    """Middles of circles, of shape (n, 2), around the origin, and the radius around them all."""

    places: Floats
    radius: float


def pack_circles(radii: Floats, weights: Floats) -> Packing:
    """Put circles side by side, those close together that ``weights`` (n, n) links strongly.

    ``radii`` are positive, ``weights`` symmetric and not negative. No two circles overlap, and the
    circle that is returned holds all of them.
    """
    count = len(radii)
    places = np.zeros((count, 2))
    if count == 0:
        return Packing(places, 0.0)
    order = np.lexsort((np.arange(count), -weights.sum(axis=1), -radii))
    packed, rest = order[:_MOST_PACKED], order[_MOST_PACKED:]
    sizes = radii[packed]
    links = weights[np.ix_(packed, packed)]
    laid = np.zeros((len(packed), 2))
    slots = _Slots(sizes, laid)
    for rank in range(1, len(packed)):
        laid[rank] = slots.choose(rank, links[rank, :rank]) if rank > 1 else (sizes[:2].sum(), 0.0)
        slots.open_beside(rank)
    middle, radius = _enclose(laid, sizes)
    places[packed] = laid - middle
    return Packing(places, _ring(places, radii, rest, radius) if len(rest) else radius)


def _ring(places: Floats, radii: Floats, rest: Labels, radius: float) -> float:
    """Put circles in rings around those that lie, and return the radius around all."""
    first = 0
    while first < len(rest):
        size = float(radii[rest[first]]) + _SLACK
        middle = radius + size
        count = max(1, int(np.pi / np.arcsin(min(1.0, size / middle))))
        inside = rest[first : first + count]
        turns = 2 * np.pi * np.arange(len(inside)) / count
        places[inside] = middle * np.column_stack([np.cos(turns), np.sin(turns)])
        radius = middle + size
        first += count
    return radius


class _Slots:
    """Pairs of circles, with the side on which a third one may touch both."""

    def __init__(self, sizes: Floats, laid: Floats) -> None:
        self._sizes = sizes
        self._laid = laid
        self._ends = np.zeros((0, 2), dtype=np.int64)
        self._sides = np.zeros(0)

    def open_beside(self, rank: int) -> None:
        """Add the pairs of a new circle and those so near that another can touch both, and forget
        those pairs that it shuts.

        Circles come by size: a place too small for the smallest is shut for good.
        """
        smallest, following = self._sizes[-1], self._sizes[min(rank + 1, len(self._sizes) - 1)]
        gaps = np.hypot(*(self._laid[:rank] - self._laid[rank]).T)
        reach = self._sizes[:rank] + self._sizes[rank] + 2 * following
        near = np.flatnonzero(gaps <= reach + _SLACK)
        pairs = np.tile(np.column_stack([near, np.full(len(near), rank)]), (2, 1))
        sides = np.repeat([1.0, -1.0], len(near))
        spots, is_real = self._spots(self._ends, self._sides, smallest)
        kept = is_real & (self._room(spots, slice(rank, rank + 1)) >= smallest - _SLACK)
        spots, is_real = self._spots(pairs, sides, smallest)
        added = is_real & (self._room(spots, slice(0, rank + 1)) >= smallest - _SLACK)
        self._ends = np.concatenate([self._ends[kept], pairs[added]])
        self._sides = np.concatenate([self._sides[kept], sides[added]])

    def choose(self, rank: int, links: Floats) -> Floats:
        """Return the free place that is best for the next circle, of ``links`` to those before."""
        size = self._sizes[rank]
        spots, is_real = self._spots(self._ends, self._sides, size)
        free = is_real & (self._room(spots, slice(0, rank)) >= size - _SLACK)
        costs = _TO_MIDDLE * np.hypot(*spots.T)
        linked = np.flatnonzero(links)
        if len(linked):
            ways = spots[:, None, :] - self._laid[None, linked, :]
            # The gap between the circles, not between their middles: else large ones repel.
            gaps = np.maximum(np.hypot(ways[..., 0], ways[..., 1]) - self._sizes[linked], 0.0)
            costs = costs + gaps @ (links[linked] / links.sum())
        return np.asarray(spots[int(np.where(free, np.round(costs, 9), np.inf).argmin())])

    def _room(self, spots: Floats, among: slice) -> Floats:
        """Return how large a circle may be in each place without touching those that lie."""
        ways = spots[:, None, :] - self._laid[None, among, :]
        room = np.hypot(ways[..., 0], ways[..., 1]) - self._sizes[None, among]
        return np.asarray(room.min(axis=1, initial=np.inf))

    def _spots(self, ends: Labels, sides: Floats, size: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Return where a circle of this size touches both of each pair, and whether it can."""
        one, other = self._laid[ends[:, 0]], self._laid[ends[:, 1]]
        along = other - one
        apart = np.maximum(np.hypot(*along.T), _SLACK)
        near = self._sizes[ends[:, 0]] + size
        far = self._sizes[ends[:, 1]] + size
        step = (near**2 - far**2 + apart**2) / (2 * apart)
        height = near**2 - step**2
        unit = along / apart[:, None]
        across = np.column_stack([-unit[:, 1], unit[:, 0]])
        rise = sides * np.sqrt(np.maximum(height, 0.0))
        return one + step[:, None] * unit + rise[:, None] * across, height >= 0


def _enclose(laid: Floats, sizes: Floats) -> tuple[Floats, float]:
    """Return the middle and the radius of a small circle around circles (Badoiu, Clarkson 2003)."""
    middle = np.average(laid, axis=0, weights=sizes**2)
    best, radius = middle, np.inf
    for turn in range(_ROUNDS):
        ways = laid - middle
        reach = np.hypot(*ways.T) + sizes
        far = int(reach.argmax())
        if reach[far] < radius:
            best, radius = middle, float(reach[far])
        middle = middle + ways[far] / (turn + 2)
    return best, radius
