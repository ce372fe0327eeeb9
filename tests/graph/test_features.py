"""Features of nodes and pairs, against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork.graph.communities import undirected_adjacency
from knotwork.graph.node_features import (
    UNREACHED,
    community_roles,
    hop_distances,
    importance_of,
    pair_features,
    shortest_paths,
    two_hop_features,
)

NODES = 12


@st.composite
def graphs(draw):
    """Return a weighted graph as an array and as networkx has it."""
    ends = st.integers(0, NODES - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(1, 5)), max_size=30))
    adjacency = undirected_adjacency(
        [s for s, _, _ in edges], [t for _, t, _ in edges], [w for _, _, w in edges], nodes=NODES
    )
    return adjacency, nx.from_scipy_sparse_array(adjacency)


ALL_PAIRS = np.array([(a, b) for a in range(NODES) for b in range(NODES) if a != b])


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_pairs_share_what_networkx_says(made):
    adjacency, graph = made
    found = pair_features(adjacency, ALL_PAIRS)
    pairs = [tuple(pair) for pair in ALL_PAIRS.tolist()]
    common = [len(list(nx.common_neighbors(graph, *pair))) for pair in pairs]
    assert found.common.tolist() == common
    for values, reference in (
        (found.adamic_adar, nx.adamic_adar_index),
        (found.resource_allocation, nx.resource_allocation_index),
        (found.jaccard, nx.jaccard_coefficient),
    ):
        expected = [value for _, _, value in reference(graph, pairs)]
        assert values == pytest.approx(np.array(expected))


def test_a_node_shares_nothing_with_itself():
    adjacency = undirected_adjacency([0, 1], [1, 2], [1.0, 1.0], nodes=3)
    found = pair_features(adjacency, np.array([(1, 1)]))
    assert found.common.tolist() == [0]
    assert found.adamic_adar.tolist() == found.jaccard.tolist() == [0.0]


@settings(max_examples=25, deadline=None)
@given(graphs())
def test_two_hops_are_those_of_networkx(made):
    adjacency, graph = made
    nodes = np.arange(NODES)[::-1]
    found = two_hop_features(adjacency, nodes)
    clustering = nx.clustering(graph)
    neighbour_degree = nx.average_neighbor_degree(graph)
    for place, node in enumerate(nodes.tolist()):
        lengths = nx.single_source_shortest_path_length(graph, node, cutoff=2)
        assert found.degree[place] == graph.degree(node)
        assert found.second[place] == sum(hops == 2 for hops in lengths.values())
        assert found.clustering[place] == pytest.approx(clustering[node])
        assert found.neighbour_degree[place] == pytest.approx(neighbour_degree[node])


@settings(max_examples=25, deadline=None)
@given(graphs(), st.sets(st.integers(0, NODES - 1)), st.none() | st.integers(0, 4))
def test_hops_are_counted_from_the_nearest_source(made, sources, limit):
    adjacency, graph = made
    expected = nx.multi_source_dijkstra_path_length(graph, sources, weight=None) if sources else {}
    found = hop_distances(adjacency, np.array(sorted(sources), dtype=np.int64), limit=limit)
    for node in range(NODES):
        hops = expected.get(node, UNREACHED)
        beyond = limit is not None and hops > limit
        assert found[node] == (UNREACHED if beyond else hops)


@settings(max_examples=25, deadline=None)
@given(graphs(), st.integers(0, NODES - 1), st.integers(0, NODES - 1))
def test_shortest_paths_are_all_there_are(made, source, target):
    adjacency, graph = made
    found = shortest_paths(adjacency, source, target, limit=NODES, most=10_000)
    expected = set()
    if nx.has_path(graph, source, target):
        expected = {tuple(path) for path in nx.all_shortest_paths(graph, source, target)}
    assert len(found) == len(expected)
    assert set(found) == expected
    assert found == sorted(found)
    assert shortest_paths(adjacency, source, target, limit=NODES, most=2) == found[:2]


def test_a_path_beyond_the_limit_is_none():
    adjacency = undirected_adjacency([0, 1, 2], [1, 2, 3], [1.0] * 3, nodes=4)
    assert shortest_paths(adjacency, 0, 3, limit=2) == []
    assert shortest_paths(adjacency, 0, 3, limit=3) == [(0, 1, 2, 3)]


@settings(max_examples=20, deadline=None)
@given(graphs())
def test_importance_is_pagerank(made):
    adjacency, graph = made
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-10, max_iter=1_000)
    assert importance_of(adjacency) == pytest.approx(
        np.array([expected[node] for node in range(NODES)]), abs=1e-6
    )


@settings(max_examples=20, deadline=None)
@given(graphs(), st.lists(st.integers(0, 3), min_size=NODES, max_size=NODES))
def test_roles_add_up_by_hand(made, labels):
    adjacency, graph = made
    found = community_roles(adjacency, np.array(labels))
    for node in range(NODES):
        shares = dict.fromkeys(range(4), 0.0)
        for other, data in graph[node].items():
            shares[labels[other]] += data["weight"]
        total = sum(shares.values())
        inside = shares[labels[node]] / total if total else 0.0
        spread = 1 - sum((s / total) ** 2 for s in shares.values()) if total else 0.0
        assert found.inside[node] == pytest.approx(inside)
        assert found.participation[node] == pytest.approx(spread, abs=1e-9)


def test_an_empty_graph_has_no_features():
    adjacency = undirected_adjacency([], [], [], nodes=0)
    assert importance_of(adjacency).shape == (0,)
    assert community_roles(adjacency, np.zeros(0, dtype=np.int64)).inside.shape == (0,)
