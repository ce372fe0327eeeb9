"""The ways to find communities by name. A new one is one function and one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from scipy import sparse

from knotwork.errors import UnknownName
from knotwork.graph.leiden import leiden
from knotwork.graph.louvain import louvain
from knotwork.graph.partition import Labels, split_disconnected
from knotwork.graph.propagation import propagate_labels


class CommunityAlgorithm(Protocol):
    """Divides a graph; the same graph, resolution and seed give the same labels."""

    def __call__(
        self, adjacency: sparse.csr_array, *, resolution: float = 1.0, seed: int = 0
    ) -> Labels:
        """Return one label a node of a symmetric ``adjacency`` without loops."""


COMMUNITY_ALGORITHMS: Mapping[str, CommunityAlgorithm] = {
    "leiden": leiden,
    "louvain": louvain,
    "label_propagation": propagate_labels,
}


def find_communities(
    adjacency: sparse.csr_array,
    *,
    algorithm: str = "leiden",
    resolution: float = 1.0,
    seed: int = 0,
) -> Labels:
    """Return one label a node, numbered from 0; every community is connected.

    Louvain and label propagation may leave a community in several parts, which are told apart
    here. A node without edges is a community of its own. Raises UnknownName for an algorithm that
    is not in `COMMUNITY_ALGORITHMS`.
    """
    if algorithm not in COMMUNITY_ALGORITHMS:
        raise UnknownName("community algorithm", algorithm, COMMUNITY_ALGORITHMS)
    labels = COMMUNITY_ALGORITHMS[algorithm](adjacency, resolution=resolution, seed=seed)
    return split_disconnected(adjacency, labels)
