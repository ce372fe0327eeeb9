"""Circles in a circle: none overlap, all are inside, and links draw them together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork._extensions.server.map_layout import pack_circles

pytestmark = pytest.mark.slow


def gaps(places, radii):
    """Return the gap between each two circles; below 0 they overlap."""
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    found = apart - radii[:, None] - radii[None]
    return found[np.triu_indices(len(radii), 1)]


@given(st.lists(st.floats(0.1, 20.0), max_size=40), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_circles_never_overlap_and_lie_in_the_one_around_them(sizes, seed):
    radii = np.array(sizes)
    half = np.triu(np.random.default_rng(seed).random((len(radii),) * 2), 1)
    packing = pack_circles(radii, half + half.T)
    assert gaps(packing.places, radii).min(initial=0.0) > -1e-4
    reach = np.hypot(*packing.places.T) + radii
    assert reach.max(initial=0.0) <= packing.radius + 1e-4


def test_many_circles_are_put_in_rings_around_the_large_ones():
    radii = np.random.default_rng(1).pareto(2.0, 700) + 0.2
    packing = pack_circles(radii, np.zeros((700, 700)))
    assert gaps(packing.places, radii).min() > -1e-4
    assert (np.hypot(*packing.places.T) + radii).max() <= packing.radius + 1e-4


def test_little_room_is_left():
    packing = pack_circles(np.ones(200), np.zeros((200, 200)))
    assert 200 / packing.radius**2 > 0.75  # a hexagonal lattice without a rim has 0.907


def test_linked_entities_lie_side_by_side():
    rng = np.random.default_rng(3)
    groups = rng.permutation(np.repeat(np.arange(6), 10))
    weights = (groups[:, None] == groups[None]) * 1.0
    np.fill_diagonal(weights, 0.0)
    radii = rng.random(60) + 0.5

    def length(places):
        apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        return (apart * weights).sum()

    drawn = length(pack_circles(radii, weights).places)
    assert drawn < 0.6 * length(pack_circles(radii, np.zeros((60, 60))).places)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_circles_need_no_more_room_than_they_take(count):
    packing = pack_circles(np.full(count, 2.0), np.zeros((count, count)))
    assert packing.radius == pytest.approx(2.0 * count, abs=0.05)
