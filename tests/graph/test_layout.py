"""A map: related entities are near each other, none overlap, and what has a place keeps it."""

import numpy as np
import pytest
from scipy.spatial import cKDTree

from knotwork._extensions.server.map_layout import CORE, lay_out
from knotwork._graph.communities import undirected_adjacency


def draw(*, nodes=900, seed=5, known=None, kept=None):
    """Lay out a graph of groups of about 20 nodes, whose links are mostly inside a group."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, nodes // 20, nodes)
    ends = rng.integers(0, nodes, (2, 30 * nodes))
    near = (groups[ends[0]] == groups[ends[1]]) | (rng.random(30 * nodes) < 0.01)
    ends = ends[:, near]
    adjacency = undirected_adjacency(ends[0], ends[1], np.full(ends.shape[1], 0.2), nodes=nodes)
    importance = rng.random(nodes)
    keys = rng.permutation(nodes).astype(np.int64) * 7_919
    if kept is not None:
        adjacency = adjacency[:kept][:, :kept]
        importance, keys = importance[:kept], keys[:kept]
    places = lay_out(adjacency, importance=importance, keys=keys, known=known)
    return places, adjacency, importance


def test_linked_entities_are_near_each_other():
    places, adjacency, _ = draw()
    edges = adjacency.tocoo()
    linked = np.hypot(*(places[edges.row] - places[edges.col]).T).mean()
    rng = np.random.default_rng(0)
    any_two = rng.integers(0, len(places), (2, 5_000))
    assert linked < 0.7 * np.hypot(*(places[any_two[0]] - places[any_two[1]]).T).mean()


def test_hardly_any_entities_overlap_and_none_is_lost():
    places, _, _ = draw()
    assert np.isfinite(places).all()
    nearest = cKDTree(places).query(places, k=2)[0][:, 1]
    assert np.quantile(nearest, 0.05) > 0.3


def test_the_same_graph_has_the_same_map():
    assert draw()[0].tobytes() == draw()[0].tobytes()


def test_entities_keep_their_places_when_others_are_added():
    before, _, _ = draw(kept=600)
    known = np.full((900, 2), np.nan)
    known[:600] = before
    after, _, _ = draw(known=known)
    assert np.array_equal(after[:600], before)
    assert np.isfinite(after).all()


def test_a_map_that_is_mostly_new_is_laid_out_again():
    before, _, importance = draw()
    known = np.full((900, 2), np.nan)
    first = np.argsort(-importance)[: CORE // 5]
    known[first] = before[first] + 100
    after, _, _ = draw(known=known)
    assert np.abs(after).max() < 90


@pytest.mark.parametrize("nodes", [0, 1, 2, 5])
def test_small_graphs(nodes):
    places = lay_out(
        undirected_adjacency([], [], [], nodes=nodes),
        importance=np.ones(nodes),
        keys=np.arange(nodes, dtype=np.int64),
    )
    assert places.shape == (nodes, 2)
    assert np.isfinite(places).all()
