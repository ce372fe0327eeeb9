"""Personalized PageRank against networkx."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from knotwork._graph.pagerank import personalized_pagerank


@st.composite
def graphs(draw):
    size = draw(st.integers(2, 12))
    ends = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(ends, ends, st.integers(1, 5)), max_size=40))
    seeds = draw(st.lists(ends, min_size=1, max_size=3))
    return size, edges, seeds


@given(graphs(), st.sampled_from([0.2, 0.5, 0.85]))
def test_agrees_with_networkx(graph, damping):
    size, edges, seeds = graph
    adjacency = np.zeros((size, size))
    reference = nx.DiGraph()
    reference.add_nodes_from(range(size))
    for source, target, weight in edges:
        adjacency[source, target] += weight
    for source, target in zip(*adjacency.nonzero(), strict=True):
        reference.add_edge(int(source), int(target), weight=adjacency[source, target])
    restart = np.zeros(size)
    for seed in seeds:
        restart[seed] += 1
    ranks = personalized_pagerank(
        sparse.csr_array(adjacency), restart, damping=damping, tolerance=1e-12, max_iterations=500
    )
    personalization = dict(enumerate(restart.tolist()))
    expected = nx.pagerank(
        reference,
        alpha=damping,
        personalization=personalization,
        dangling=personalization,
        tol=1e-12,
        max_iter=500,
    )
    assert ranks == pytest.approx([expected[node] for node in range(size)], abs=1e-8)
    assert ranks.sum() == pytest.approx(1.0)


def test_refuses_a_walk_from_nowhere():
    with pytest.raises(ValueError, match="positive sum"):
        personalized_pagerank(sparse.csr_array((2, 2)), np.zeros(2))
