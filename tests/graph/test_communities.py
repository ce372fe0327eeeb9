"""Communities against networkx, and against graphs whose communities are known."""

import subprocess
import sys

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.graph.planted import adjacency_of, as_sets, networkx_of, planted_graph

from knotwork._graph.communities import (
    COMMUNITY_ALGORITHMS,
    find_communities,
    leiden,
    modularity,
    move_nodes,
    numbered,
    undirected_adjacency,
)
from knotwork.errors import UnknownName

pytestmark = pytest.mark.slow


EVERY = sorted(COMMUNITY_ALGORITHMS)
BY_MODULARITY = ["leiden", "louvain"]


@st.composite
def edge_lists(draw):
    size = draw(st.integers(2, 14))
    ends = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(1, 5)), min_size=1, max_size=40))
    return size, edges


@pytest.mark.parametrize("algorithm", EVERY)
def test_planted_communities_are_found(algorithm):
    adjacency, planted = planted_graph(inside=0.9, between=0.005)
    found = find_communities(adjacency, algorithm=algorithm, seed=3)
    assert as_sets(found) == as_sets(planted)


@pytest.mark.parametrize("algorithm", BY_MODULARITY)
def test_modularity_is_close_to_networkx(algorithm):
    for graph in (nx.karate_club_graph(), nx.les_miserables_graph()):
        plain = nx.convert_node_labels_to_integers(graph)
        adjacency = adjacency_of(plain)
        found = find_communities(adjacency, algorithm=algorithm)
        reference = max(
            nx.community.modularity(plain, nx.community.louvain_communities(plain, seed=seed))
            for seed in range(5)
        )
        assert modularity(adjacency, found) > reference - 0.02


@given(edge_lists(), st.randoms(use_true_random=False), st.sampled_from(EVERY))
def test_communities_are_connected_and_no_order_matters(graph, random, algorithm):
    size, edges = graph
    shuffled = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in edges]
    random.shuffle(shuffled)
    first, second = (
        undirected_adjacency(*zip(*group, strict=True), nodes=size) for group in (edges, shuffled)
    )
    assert (first != second).nnz == 0
    labels = find_communities(first, algorithm=algorithm, seed=5)
    assert labels.tolist() == find_communities(second, algorithm=algorithm, seed=5).tolist()
    reference = networkx_of(first)
    for community in as_sets(labels):
        assert nx.is_connected(reference.subgraph(community))


@given(edge_lists(), st.data(), st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_agrees_with_networkx(graph, data, resolution):
    size, edges = graph
    adjacency = undirected_adjacency(*zip(*edges, strict=True), nodes=size)
    labels = numbered(
        np.array(data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    )
    if adjacency.nnz == 0:
        assert modularity(adjacency, labels) == 0.0
        return
    expected = nx.community.modularity(
        networkx_of(adjacency), as_sets(labels), resolution=resolution
    )
    assert modularity(adjacency, labels, resolution=resolution) == pytest.approx(expected)


@given(edge_lists())
def test_moving_nodes_only_gains_and_rests_where_no_single_move_gains(graph):
    size, edges = graph
    adjacency = undirected_adjacency(*zip(*edges, strict=True), nodes=size)
    before, moved = None, np.arange(size)
    while before is None or (before != moved).any():
        before, moved = moved, move_nodes(adjacency, moved, range(size))
        assert modularity(adjacency, moved) >= modularity(adjacency, before) - 1e-9
    reached = modularity(adjacency, moved)
    for node in range(size):
        for label in set(moved[adjacency[[node]].indices].tolist()):
            other = moved.copy()
            other[node] = label
            assert modularity(adjacency, other) <= reached + 1e-8


@pytest.mark.parametrize("algorithm", EVERY)
def test_nodes_without_edges_stay_alone(algorithm):
    adjacency = undirected_adjacency([0, 1], [1, 2], [1.0, 1.0], nodes=5)
    labels = find_communities(adjacency, algorithm=algorithm)
    assert {3} in as_sets(labels)
    assert {4} in as_sets(labels)
    empty = undirected_adjacency([], [], [], nodes=3)
    assert find_communities(empty, algorithm=algorithm).tolist() == [0, 1, 2]
    assert find_communities(undirected_adjacency([], [], [], nodes=0)).tolist() == []


@pytest.mark.parametrize("algorithm", EVERY)
def test_weights_decide(algorithm):
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    for heavy, expected in (((0, 2), [{0, 1}, {2, 3}]), ((1, 3), [{0, 3}, {1, 2}])):
        weights = [9.0 if position in heavy else 1.0 for position in range(4)]
        adjacency = undirected_adjacency(*zip(*ring, strict=True), weights, nodes=4)
        assert as_sets(find_communities(adjacency, algorithm=algorithm)) == expected


def test_leiden_goes_on_from_a_partition():
    adjacency, planted = planted_graph()
    start = planted.copy()
    start[[0, 20, 40]] = start[[20, 40, 0]]
    assert as_sets(leiden(adjacency, start=start)) == as_sets(planted)


def test_another_process_finds_the_same():
    code = (
        "import numpy as np\n"
        "from knotwork._graph.communities import leiden\n"
        "from tests.graph.planted import planted_graph\n"
        "adjacency, _ = planted_graph(8, 20, inside=0.3, between=0.08, seed=4)\n"
        "first = leiden(adjacency, seed=2)\n"
        "print(first.tolist(), leiden(adjacency, seed=2, start=np.roll(first, 3)).tolist())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, timeout=60, text=True
        ).stdout
        for _ in range(2)
    }
    assert len(outputs) == 1


def test_an_unknown_algorithm_is_named():
    with pytest.raises(UnknownName, match="label_propagation"):
        find_communities(planted_graph()[0], algorithm="magic")
