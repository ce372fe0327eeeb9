"""Levels of communities, and what a change of the graph does to them."""

import itertools
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.graph.planted import adjacency_of, networkx_of, planted_graph

from knotwork._graph import hierarchy
from knotwork._graph.communities import modularity, undirected_adjacency
from knotwork._graph.hierarchy import (
    MIN_SHARED_NODES,
    DivisionOptions,
    PreviousDivision,
    divide_communities,
    match_groups,
)

pytestmark = pytest.mark.slow


SMALL = DivisionOptions(max_size=10.0)


def leaves(groups):
    parents = {group.parent for group in groups}
    return [position for position in range(len(groups)) if position not in parents]


def ones(adjacency):
    return np.ones(adjacency.shape[0])


def as_earlier(groups, nodes, touched=()):
    depth = max(group.level for group in groups) + 1
    labels = [np.full(nodes, -1) for _ in range(depth)]
    for position, group in enumerate(groups):
        labels[group.level][group.nodes] = position
    mask = np.zeros(nodes, dtype=bool)
    mask[list(touched)] = True
    return PreviousDivision(tuple(labels), mask)


def leaf_labels(groups, nodes):
    labels = np.full(nodes, -1)
    for position in leaves(groups):
        labels[groups[position].nodes] = position
    return labels


def shapes(groups):
    return [(group.level, group.parent, group.nodes.tolist()) for group in groups]


@given(st.integers(0, 1000), st.integers(3, 15))
def test_leaves_hold_each_node_once_and_children_divide_their_parent(seed, max_size):
    adjacency, _ = planted_graph(4, 14, inside=0.4, between=0.05, seed=seed)
    groups = divide_communities(adjacency, ones(adjacency), DivisionOptions(max_size=max_size))
    held = sorted(itertools.chain(*(groups[p].nodes.tolist() for p in leaves(groups))))
    assert held == list(range(adjacency.shape[0]))
    reference = networkx_of(adjacency)
    for position, group in enumerate(groups):
        assert nx.is_connected(reference.subgraph(group.nodes.tolist()))
        children = [g for g in groups if g.parent == position]
        assert bool(children) <= (len(group.nodes) > max_size)
        if children:
            assert len(children) > 1
            together = sorted(itertools.chain(*(child.nodes.tolist() for child in children)))
            assert together == group.nodes.tolist()
            assert {child.level for child in children} == {group.level + 1}


def test_planted_levels_are_found():
    graph = nx.disjoint_union_all(
        nx.planted_partition_graph(4, 9, 0.95, 0.15, seed=seed) for seed in range(3)
    )
    for first, second in ((0, 40), (40, 80), (80, 0)):
        graph.add_edge(first, second)
    groups = divide_communities(adjacency_of(graph), np.ones(108), SMALL)
    top = [group.nodes.tolist() for group in groups if group.level == 0]
    assert top == [list(range(start, start + 36)) for start in (0, 36, 72)]
    lowest = {tuple(groups[p].nodes.tolist()) for p in leaves(groups)}
    assert lowest == {tuple(range(start, start + 9)) for start in range(0, 108, 9)}


def test_a_star_is_kept_whole():
    groups = divide_communities(adjacency_of(nx.star_graph(40)), np.ones(41), SMALL)
    assert [len(group.nodes) for group in groups] == [41]


def test_sizes_count_what_they_are_given():
    adjacency, _ = planted_graph(1, 30, inside=0.3)
    assert len(divide_communities(adjacency, ones(adjacency), SMALL)) > 1
    assert len(divide_communities(adjacency, np.zeros(30), SMALL)) <= 30
    assert all(g.level == 0 for g in divide_communities(adjacency, np.zeros(30), SMALL))


@given(st.integers(0, 1000))
def test_an_unchanged_graph_keeps_every_community(seed):
    adjacency, _ = planted_graph(4, 14, inside=0.4, between=0.06, seed=seed)
    groups = divide_communities(adjacency, ones(adjacency), SMALL)
    again = divide_communities(adjacency, ones(adjacency), SMALL, earlier=as_earlier(groups, 56))
    assert shapes(again) == shapes(groups)


def test_a_new_community_appears_and_the_others_stay():
    graph = nx.planted_partition_graph(5, 12, 0.6, 0.05, seed=2)
    adjacency = adjacency_of(graph)
    groups = divide_communities(adjacency, np.ones(60), SMALL)
    graph.add_nodes_from(range(60, 70))
    graph.add_edges_from(itertools.combinations(range(60, 70), 2))
    graph.add_edge(0, 60)
    larger = adjacency_of(graph)
    earlier = as_earlier(groups, 70, touched=[0])
    updated = divide_communities(larger, np.ones(70), SMALL, earlier=earlier)
    before, after = leaf_labels(groups, 60), leaf_labels(updated, 70)
    assert set(range(60, 70)) in [set(np.flatnonzero(after == n).tolist()) for n in set(after)]
    same = match_groups(
        [np.flatnonzero(after == n).tolist() for n in np.unique(after)],
        {int(n): np.flatnonzero(before == n).tolist() for n in np.unique(before)},
    )
    assert len(same) == len(np.unique(before))


@given(st.integers(0, 500), st.integers(1, 25), st.booleans())
def test_kept_communities_are_nearly_as_good_as_new_ones(seed, removed, is_very_large):
    with pytest.MonkeyPatch.context() as patch:
        if is_very_large:  # then Leiden starts from scratch, in less memory
            patch.setattr(hierarchy, "_MOST_CONTINUED", 0)
        check_what_is_kept(seed, removed)


def check_what_is_kept(seed, removed):
    adjacency, _ = planted_graph(4, 14, inside=0.4, between=0.06, seed=seed)
    options = DivisionOptions(max_size=1000.0, tolerance=0.02)
    groups = divide_communities(adjacency, ones(adjacency), options)
    edges = networkx_of(adjacency)
    gone = list(edges.edges)[:: max(1, edges.number_of_edges() // removed)]
    edges.remove_edges_from(gone)
    smaller = adjacency_of(edges)
    earlier = as_earlier(groups, 56, touched={node for edge in gone for node in edge})
    updated = leaf_labels(divide_communities(smaller, np.ones(56), options, earlier=earlier), 56)
    fresh = leaf_labels(divide_communities(smaller, np.ones(56), options), 56)
    assert modularity(smaller, updated) >= modularity(smaller, fresh) - 0.02 - 1e-9


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=30),
    st.lists(st.integers(0, 5), min_size=30, max_size=30),
)
def test_matching_keeps_as_many_nodes_as_any_matching(new_labels, old_labels):
    new = [[n for n, label in enumerate(new_labels) if label == k] for k in sorted(set(new_labels))]
    old = {k: {n for n, label in enumerate(old_labels) if label == k} for k in set(old_labels)}
    table = np.array([[len(set(group) & old[k]) for k in sorted(old)] for group in new])
    for row, group in enumerate(new):
        for column, key in enumerate(sorted(old)):
            if table[row, column] < MIN_SHARED_NODES * min(len(group), len(old[key])):
                table[row, column] = 0
    matched = match_groups(new, old)
    assert len(set(matched.values())) == len(matched)
    kept = sum(len(set(new[position]) & old[key]) for position, key in matched.items())
    assert kept == table[linear_sum_assignment(table, maximize=True)].sum()


def test_nothing_matches_nothing():
    assert match_groups([], {}) == {}
    assert match_groups([["a"]], {"x": ["b"]}) == {}
    assert undirected_adjacency([], [], [], nodes=0).shape == (0, 0)
    assert divide_communities(undirected_adjacency([], [], [], nodes=0), np.ones(0), SMALL) == []


@pytest.mark.parametrize("levels", [1, 2])
def test_there_are_no_more_levels_than_wanted(levels):
    adjacency, _ = planted_graph(3, 30)
    options = DivisionOptions(max_size=4.0)
    every = divide_communities(adjacency, ones(adjacency), options)
    assert max(group.level for group in every) >= levels
    found = divide_communities(adjacency, ones(adjacency), replace(options, levels=levels))
    assert {group.level for group in found} == set(range(levels))
    upper = [group for group in every if group.level < levels]
    assert shapes(found) == shapes(upper)
