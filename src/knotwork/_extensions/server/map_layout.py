"""Compute a map layout: communities as nested circles, nodes as points inside them.

Circles are packed largest first. Each touches two placed ones, as near as possible to those that it
is linked to (after Wang et al., "Visualization of large hierarchical data by circle packing",
2006). Nodes that are in no smaller circle are placed on a sunflower spiral (Vogel, 1979), the most
important in the centre. The layout is deterministic: equal input gives an equal map.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from knotwork._graph.communities import Labels, members_of

Floats = NDArray[np.float64]

_SEED_SPACING = 0.56
"""Scale of the spiral; with it, neighbouring nodes are about 1 apart."""
_RIM = 0.45
"""Margin around the nodes in a circle."""
_GAP = 0.05
"""Margin around each circle, as a share of its radius."""
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
_SWEEPS = 3
_NOWHERE = -1


class MapLayout(NamedTuple):
    """Positions of nodes (n, 2), centres (c, 2) and radii (c,) of communities, radius of the map.

    The centre of the map is the origin; neighbouring nodes of a community are about 1 apart.
    """

    nodes: Floats
    middles: Floats
    radii: Floats
    radius: float


def lay_out(
    adjacency: sparse.csr_array, *, homes: Labels, parents: Labels, importance: Floats
) -> MapLayout:
    """Return the layout of a graph with communities.

    ``adjacency`` (n, n) is symmetric. ``homes`` (n,) is the lowest community of each node, -1 for
    none; ``parents`` (c,) the parent of each community, -1 for none. ``importance`` (n,) orders the
    nodes of a community from its centre outwards.
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
    """The tree of nested circles: the root, the communities, and discs.

    Each community has a disc for the nodes that are in none of its children; one more disc is for
    nodes without a community.
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
        """A mask of the circles that take up space: all but discs without nodes."""

    def nodes_at(self, depth: int) -> Labels:
        """Return the circle at this depth that contains each node, -1 for none."""
        current = self.discs.copy()
        while (deeper := np.flatnonzero(self.depths[current] > depth)).size:
            current[deeper] = self.above[current[deeper]]
        return np.where(self.depths[current] == depth, current, _NOWHERE)


def _pack_level(
    tree: _Tree, adjacency: sparse.csr_array, places: Floats, radii: Floats, *, depth: int
) -> None:
    """Pack the circles of a depth into their parents.

    Sets their ``places``, relative to the centre of the parent, and the ``radii`` of the parents.
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
    """Return the edge weight between circles, divided by the root of the product of their sizes."""
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
    """Return the positions of nodes in their discs, each turned towards its neighbours."""
    order = np.lexsort((np.arange(len(discs)), -importance, discs))
    sizes = np.bincount(discs, minlength=1)
    first = np.cumsum(sizes) - sizes
    seed = np.empty(len(discs), dtype=np.int64)
    seed[order] = np.arange(len(discs)) - first[discs[order]]
    alone = sizes[discs] == 1
    # Seeds of one band are about equally far from the centre, so their nodes can be permuted.
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
        by_direction = np.lexsort((np.arange(len(discs)), np.round(towards, 9), band, discs))
        moved = np.empty_like(nodes)
        offsets = reach[by_seed, None] * np.column_stack([np.cos(angle), np.sin(angle)])[by_seed]
        moved[by_direction] = middles[by_direction] + offsets
        nodes = moved
    return np.asarray(nodes)


_CENTRE_COST = 0.35
"""Cost of distance from the centre, relative to that of distance from linked circles."""
_MAX_PACKED = 300
"""Number of circles that are packed; the smaller ones form rings around them."""
_SLACK = 1e-6
_ROUNDS = 200


class Packing(NamedTuple):
    """Centres of circles (n, 2) around the origin, and the radius of the circle around all."""

    places: Floats
    radius: float


def pack_circles(radii: Floats, weights: Floats) -> Packing:
    """Pack circles without overlap, with strongly linked ones near each other.

    ``radii`` are positive; ``weights`` (n, n) of the links are symmetric and not negative.
    """
    count = len(radii)
    places = np.zeros((count, 2))
    if count == 0:
        return Packing(places, 0.0)
    order = np.lexsort((np.arange(count), -weights.sum(axis=1), -radii))
    packed, rest = order[:_MAX_PACKED], order[_MAX_PACKED:]
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
    """Place circles in rings around the packed ones, and return the radius around all."""
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
    """Pairs of placed circles, with the side on which a third circle can touch both."""

    def __init__(self, sizes: Floats, laid: Floats) -> None:
        self._sizes = sizes
        self._laid = laid
        self._ends = np.zeros((0, 2), dtype=np.int64)
        self._sides = np.zeros(0)

    def open_beside(self, rank: int) -> None:
        """Add the pairs of a new circle and its neighbours, and drop the pairs that it blocks.

        A pair is blocked if the smallest circle does not fit. As circles are placed by size, it
        stays blocked.
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
        """Return the best free position of the next circle, with ``links`` to the placed ones."""
        size = self._sizes[rank]
        spots, is_real = self._spots(self._ends, self._sides, size)
        free = is_real & (self._room(spots, slice(0, rank)) >= size - _SLACK)
        costs = _CENTRE_COST * np.hypot(*spots.T)
        linked = np.flatnonzero(links)
        if len(linked):
            ways = spots[:, None, :] - self._laid[None, linked, :]
            # The gap between circles, not between their centres: else large circles repel others.
            gaps = np.maximum(np.hypot(ways[..., 0], ways[..., 1]) - self._sizes[linked], 0.0)
            costs = costs + gaps @ (links[linked] / links.sum())
        return np.asarray(spots[int(np.where(free, np.round(costs, 9), np.inf).argmin())])

    def _room(self, spots: Floats, among: slice) -> Floats:
        """Return the largest radius at each position that does not overlap a placed circle."""
        ways = spots[:, None, :] - self._laid[None, among, :]
        room = np.hypot(ways[..., 0], ways[..., 1]) - self._sizes[None, among]
        return np.asarray(room.min(axis=1, initial=np.inf))

    def _spots(self, ends: Labels, sides: Floats, size: float) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the position where a circle of this size touches both circles of each pair, and a
        mask of the pairs for which it exists.
        """
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
    """Return centre and radius of a small circle around circles (Badoiu and Clarkson, 2003)."""
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
