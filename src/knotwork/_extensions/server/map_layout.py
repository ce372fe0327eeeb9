"""Place the entities of a graph on a plane, so that related ones are near each other.

The most important entities are laid out by forces (after Fruchterman and Reingold, 1991). The
others then join their neighbours, layer by layer. Entities that had a place keep it: a map that
people know must not turn when a document is added. The layout is deterministic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

CORE = 300
"""Number of entities that are laid out by forces; the time grows with its square."""
_ROUNDS = 220
_GRAVITY = 1.2
"""With this, nodes without links are about 1.6 apart everywhere."""
_FLATNESS = 1.25
"""Gravity towards the horizontal axis, relative to that towards the vertical one: screens are
wide, and so are labels."""
_LAYER_GROWTH = 3
_GAP = 0.45
"""Smallest distance between two entities outside of the core; those in it are about 1 apart."""
_SPREADS = 12
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))
_LEAST_KNOWN = 0.5
"""If fewer of the core have a place, all of them are laid out again, starting from these."""


def lay_out(
    adjacency: sparse.csr_array, *, importance: Floats, keys: Labels, known: Floats | None = None
) -> Floats:
    """Return the places of the nodes of a graph, of shape (n, 2); the centre is near the origin.

    ``adjacency`` (n, n) is symmetric, with weights up to about 1. ``keys`` (n,) are distinct
    numbers that do not change when the graph does. ``known`` (n, 2) are earlier places, NaN for
    nodes without one.
    """
    count = len(importance)
    order = np.lexsort((keys, -importance))
    places = np.full((count, 2), np.nan) if known is None else known.astype(np.float64)
    core = order[:CORE]
    placed = np.isfinite(places[:, 0])
    if placed[core].mean() < _LEAST_KNOWN if count else False:
        starts = places[core]
        places[:] = np.nan
        placed[:] = False
        places[core] = _by_forces(adjacency[core][:, core].toarray(), keys[core], starts)
        placed[core] = True
    first = 0
    size = CORE
    while first < count:
        layer = order[first : first + size]
        new = layer[~placed[layer]]
        if len(new):
            places[new] = _beside_neighbours(adjacency, places, placed, new, keys)
            placed[new] = True
            _push_apart(places, np.flatnonzero(placed), new)
        first, size = first + size, size * _LAYER_GROWTH
    return places


def _by_forces(weights: Floats, keys: Labels, starts: Floats) -> Floats:
    """Return the places of nodes that repel each other, and attract those that they link to."""
    count = len(weights)
    reach = np.sqrt(count)
    turns = _fractions(keys, 1) * 2 * np.pi
    away = reach * np.sqrt(_fractions(keys, 2))
    places = np.column_stack([np.cos(turns), np.sin(turns)]) * away[:, None]
    known = np.isfinite(starts[:, 0])
    places[known] = starts[known]
    pull = np.array([_GRAVITY, _GRAVITY * _FLATNESS])
    for number in range(_ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        squares = np.einsum("ijk,ijk->ij", apart, apart) + 1e-6
        forces = np.einsum("ij,ijk->ik", 1.0 / squares - weights * np.sqrt(squares), apart)
        forces -= places * pull
        lengths = np.maximum(np.hypot(*forces.T), 1e-9)
        limit = 0.25 * reach * (1 - number / _ROUNDS) ** 2 + 0.01
        places = places + forces * (np.minimum(lengths, limit) / lengths)[:, None]
    places = places - (places.min(axis=0, initial=0) + places.max(axis=0, initial=0)) / 2
    if count > 1:
        places = places / np.median(cKDTree(places).query(places, k=2)[0][:, 1])
    return np.asarray(places)


def _beside_neighbours(
    adjacency: sparse.csr_array,
    places: Floats,
    placed: NDArray[np.bool_],
    new: Labels,
    keys: Labels,
) -> Floats:
    """Return places of new nodes around the middle of their neighbours, or around all nodes."""
    there = np.flatnonzero(placed)
    found = np.zeros((len(new), 2))
    links = adjacency[new][:, there]
    totals = np.asarray(links.sum(axis=1)).reshape(-1)
    linked = totals > 0
    if linked.any():
        found[linked] = (links @ places[there])[linked] / totals[linked, None]
    middle = np.floor(found)
    _, group = np.unique(
        np.column_stack([middle, linked]).astype(np.int64), axis=0, return_inverse=True
    )
    group = group.reshape(-1)
    inside = np.lexsort((keys[new], group))
    sizes = np.bincount(group)
    rank = np.empty(len(new), dtype=np.int64)
    rank[inside] = np.arange(len(new)) - (np.cumsum(sizes) - sizes)[group[inside]]
    away = _GAP * (0.8 + np.sqrt(rank))
    if len(there):  # unlinked nodes surround the map
        rim = np.hypot(*places[there].T).max() + 1
        away[~linked] = np.sqrt(rim**2 + (_GAP * 1.1) ** 2 * rank[~linked])
    turns = rank * _GOLDEN_ANGLE + np.where(linked, 2 * np.pi * _fractions(keys[new], 1), 0.0)
    found += np.column_stack([np.cos(turns), np.sin(turns)]) * away[:, None]
    return found


def _push_apart(places: Floats, there: Labels, movable: Labels) -> None:
    """Move some nodes so that they overlap no others, as far as a few rounds allow."""
    moves = np.zeros(len(places), dtype=np.bool_)
    moves[movable] = True
    for _ in range(_SPREADS):
        pairs = there[cKDTree(places[there]).query_pairs(_GAP, output_type="ndarray")]
        pairs = pairs[moves[pairs].any(axis=1)]
        if not len(pairs):
            return
        apart = places[pairs[:, 0]] - places[pairs[:, 1]]
        lengths = np.hypot(*apart.T)
        apart[lengths < 1e-6] = (1.0, 0.0)
        step = apart * ((_GAP - lengths) / np.maximum(lengths, 1.0e-6) / 2)[:, None]
        step = np.clip(step, -_GAP, _GAP)
        for end, sign in ((0, 1.0), (1, -1.0)):
            np.add.at(places, pairs[:, end], sign * step * moves[pairs[:, end], None])


def _fractions(keys: Labels, salt: int) -> Floats:
    """Return a number from 0 to 1 for each key, spread evenly (Knuth's multiplicative hash)."""
    mixed = (keys.astype(np.uint64) + np.uint64(salt)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray((mixed >> np.uint64(11)) / float(1 << 53))
