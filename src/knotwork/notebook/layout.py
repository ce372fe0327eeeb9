"""Where the nodes of a small graph are drawn: the same graph always looks the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

STEPS = 200
_FIRST_MOVE = 0.12
_GRAVITY = 0.06
_NEAREST = 1e-3


def place_nodes(count: int, edges: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Return (count, 2) positions in [0, 1] that put neighbours near each other.

    Springs between neighbours, repulsion between all, and a pull to the middle that keeps parts
    together which no edge joins; it begins on a spiral in the order of the nodes, and nothing is
    random. Fruchterman and Reingold, 1991. Takes time with the square of ``count``: for up to some
    hundred nodes.
    """
    if count == 0:
        return np.zeros((0, 2))
    turns = np.arange(count) * math.pi * (3 - math.sqrt(5))
    radii = 0.5 * np.sqrt((np.arange(count) + 0.5) / count)
    places = np.stack([radii * np.cos(turns), radii * np.sin(turns)], axis=1)
    pairs = np.array([pair for pair in edges if pair[0] != pair[1]], dtype=np.int64).reshape(-1, 2)
    ideal = math.sqrt(1 / count)
    for step in range(STEPS):
        moves = _repel(places, ideal) - _GRAVITY * places / ideal
        _attract(moves, places, pairs, ideal)
        lengths = np.maximum(np.hypot(*moves.T), _NEAREST)[:, None]
        most = _FIRST_MOVE * (1 - step / STEPS)
        places += moves / lengths * np.minimum(lengths, most)
    return _fit(places)


def _repel(places: NDArray[np.float64], ideal: float) -> NDArray[np.float64]:
    apart = places[:, None, :] - places[None, :, :]
    squares = np.maximum((apart**2).sum(axis=2), _NEAREST**2)
    forces: NDArray[np.float64] = (apart * (ideal**2 / squares)[:, :, None]).sum(axis=1)
    return forces


def _attract(
    moves: NDArray[np.float64],
    places: NDArray[np.float64],
    pairs: NDArray[np.int64],
    ideal: float,
) -> None:
    apart = places[pairs[:, 0]] - places[pairs[:, 1]]
    pull = apart * (np.hypot(*apart.T) / ideal)[:, None]
    np.subtract.at(moves, pairs[:, 0], pull)
    np.add.at(moves, pairs[:, 1], pull)


def _fit(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Stretch positions to the unit square; a single one is put into its middle."""
    low, high = places.min(axis=0), places.max(axis=0)
    wide = high - low
    fitted = np.where(wide > _NEAREST, (places - low) / np.where(wide > _NEAREST, wide, 1.0), 0.5)
    return np.asarray(fitted, dtype=np.float64)
