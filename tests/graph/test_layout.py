"""A map: what lies in a community lies in its circle, and near what it is linked to."""

import numpy as np
import pytest
from tests.graph.test_packing import gaps

from knotwork._extensions.server.map_layout import lay_out
from knotwork._graph.communities import undirected_adjacency


def draw(*, nodes=400, seed=5):
    """Lay out a graph of 8 communities of 2 smaller ones, in which one node has no home."""
    rng = np.random.default_rng(seed)
    homes = 8 + rng.integers(0, 16, nodes)
    homes[0] = -1
    parents = np.concatenate([np.full(8, -1), np.repeat(np.arange(8), 2)])
    ends = rng.integers(0, nodes, (2, 4 * nodes))
    near = (homes[ends[0]] == homes[ends[1]]) | (rng.random(4 * nodes) < 0.05)
    ends = ends[:, near]
    adjacency = undirected_adjacency(ends[0], ends[1], np.ones(ends.shape[1]), nodes=nodes)
    importance = rng.random(nodes)
    layout = lay_out(adjacency, homes=homes, parents=parents, importance=importance)
    return layout, adjacency, homes, parents, importance


def test_every_circle_holds_what_lies_in_it():
    layout, _, homes, parents, _ = draw()
    for inner, outer in enumerate(parents):
        around, radius = (layout.middles[outer], layout.radii[outer]) if outer >= 0 else (0, None)
        reach = np.hypot(*(layout.middles[inner] - around)) + layout.radii[inner]
        assert reach <= (layout.radius if radius is None else radius) + 1e-6
    housed = homes >= 0
    away = np.hypot(*(layout.nodes[housed] - layout.middles[homes[housed]]).T)
    assert (away < layout.radii[homes[housed]]).all()


def test_circles_beside_each_other_do_not_overlap():
    layout, _, _, parents, _ = draw()
    for outer in range(-1, 8):
        inside = np.flatnonzero(parents == outer)
        assert gaps(layout.middles[inside], layout.radii[inside]).min() > 0


def test_nodes_keep_their_distance_and_none_is_lost():
    layout, _, _, _, _ = draw()
    assert gaps(layout.nodes, np.zeros(len(layout.nodes))).min() > 0.5
    assert np.isfinite(layout.nodes).all()


def test_the_most_important_node_of_a_community_is_in_its_middle():
    layout, _, homes, _, importance = draw()
    for home in range(8, 24):
        inside = np.flatnonzero(homes == home)
        away = np.hypot(*(layout.nodes[inside] - layout.middles[home]).T)
        assert importance[inside[away.argmin()]] == importance[inside].max()


def test_edges_are_shorter_than_between_places_drawn_by_lot():
    layout, adjacency, homes, _, _ = draw()
    edges = adjacency.tocoo()
    inside = homes[edges.row] == homes[edges.col]

    def length(places, kept):
        return np.hypot(*(places[edges.row[kept]] - places[edges.col[kept]]).T).mean()

    shuffled = layout.nodes.copy()
    rng = np.random.default_rng(0)
    for home in range(8, 24):
        there = np.flatnonzero(homes == home)
        shuffled[there] = layout.nodes[rng.permutation(there)]
    assert length(layout.nodes, ~inside) < 0.98 * length(shuffled, ~inside)
    assert length(layout.nodes, inside) < 1.05 * length(shuffled, inside)


def test_the_same_graph_has_the_same_map():
    one, other = draw()[0], draw()[0]
    assert one.nodes.tobytes() == other.nodes.tobytes()
    assert one.middles.tobytes() == other.middles.tobytes()


@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_a_graph_without_communities_is_one_disc(nodes):
    none = np.zeros(0, dtype=np.int64)
    layout = lay_out(
        undirected_adjacency([], [], [], nodes=nodes),
        homes=np.full(nodes, -1),
        parents=none,
        importance=np.ones(nodes),
    )
    assert layout.nodes.shape == (nodes, 2)
    assert (np.hypot(*layout.nodes.T) <= layout.radius).all()
