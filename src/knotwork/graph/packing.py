"""Circles in a circle, those that belong together side by side.

The large ones come first. Each is put where it touches two that lie already (as in Wang et al.,
"Visualization of large hierarchical data by circle packing", 2006), and of all such places into the
one that is nearest to what it is linked to, and to the middle. Nothing is drawn by lot: the same
circles and links give the same picture to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
