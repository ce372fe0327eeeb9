"""Positions of nodes: neighbours near, no overlap, the same every time."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork._extensions.notebook.views import place_nodes

pytestmark = pytest.mark.slow


GRAPHS = st.integers(0, 25).flatmap(
    lambda count: st.tuples(
        st.just(count),
        st.lists(st.tuples(*[st.integers(0, max(count - 1, 0))] * 2), max_size=60 if count else 0),
    )
)


@given(GRAPHS)
def test_places_are_inside_apart_and_repeatable(graph):
    count, edges = graph
    places = place_nodes(count, edges)
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    assert ((places >= 0) & (places <= 1)).all()
    assert (places == place_nodes(count, edges)).all()
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    apart[np.diag_indices(count)] = 1.0
    assert apart.size == 0 or apart.min() > 1e-6


@pytest.mark.parametrize(
    "graph",
    [nx.karate_club_graph(), nx.grid_2d_graph(5, 5), nx.balanced_tree(2, 4), nx.path_graph(20)],
    ids=["club", "grid", "tree", "path"],
)
def test_neighbours_are_nearer_than_others(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    places = place_nodes(len(graph), list(graph.edges))
    apart = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    near = np.mean([apart[a, b] for a, b in graph.edges])
    assert near < 0.65 * np.mean([apart[a, b] for a, b in nx.complement(graph).edges])


def test_communities_lie_apart():
    graph = nx.connected_caveman_graph(4, 6)
    places = place_nodes(len(graph), list(graph.edges))
    caves = places.reshape(4, 6, 2)
    within = np.mean([np.ptp(cave, axis=0).max() for cave in caves])
    centres = caves.mean(axis=1)
    between = min(np.hypot(*(centres[a] - centres[b])) for a in range(4) for b in range(a))
    assert within < between
