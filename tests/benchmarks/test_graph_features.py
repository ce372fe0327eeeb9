"""Graph features of the benchmarks, against networkx."""

import networkx as nx
import numpy as np
import pytest
from benchmarks.patterns.graph_features import (
    UNREACHED,
    hop_distances,
    pair_features,
    shortest_paths,
)
from hypothesis import given
from hypothesis import strategies as st

from knotwork._graph.communities import undirected_adjacency

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


@given(graphs(), st.sets(st.integers(0, NODES - 1)), st.none() | st.integers(0, 4))
def test_hops_are_counted_from_the_nearest_source(made, sources, limit):
    adjacency, graph = made
    expected = nx.multi_source_dijkstra_path_length(graph, sources, weight=None) if sources else {}
    found = hop_distances(adjacency, np.array(sorted(sources), dtype=np.int64), limit=limit)
    for node in range(NODES):
        hops = expected.get(node, UNREACHED)
        beyond = limit is not None and hops > limit
        assert found[node] == (UNREACHED if beyond else hops)


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


def test_a_path_beyond_the_limit_is_not_found():
    adjacency = undirected_adjacency([0, 1, 2], [1, 2, 3], [1.0] * 3, nodes=4)
    assert shortest_paths(adjacency, 0, 3, limit=2) == []
    assert shortest_paths(adjacency, 0, 3, limit=3) == [(0, 1, 2, 3)]
