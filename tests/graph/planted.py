"""Graphs with known communities."""

from __future__ import annotations

import networkx as nx
import numpy as np

from knotwork._graph.communities import undirected_adjacency


def planted_graph(communities=6, members=12, *, inside=0.7, between=0.02, seed=1):
    """Return an adjacency and the community of each node."""
    graph = nx.planted_partition_graph(communities, members, inside, between, seed=seed)
    return adjacency_of(graph), np.repeat(np.arange(communities), members)


def adjacency_of(graph):
    edges = [(a, b, data.get("weight", 1.0)) for a, b, data in graph.edges(data=True)]
    sources, targets, weights = zip(*edges, strict=True) if edges else ((), (), ())
    return undirected_adjacency(sources, targets, weights, nodes=graph.number_of_nodes())


def networkx_of(adjacency):
    return nx.from_scipy_sparse_array(adjacency)


def as_sets(labels):
    return [set(np.flatnonzero(labels == label).tolist()) for label in np.unique(labels)]
