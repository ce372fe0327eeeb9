"""The part of the graph around some entities, as arrays for `graph_features`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from knotwork._graph.communities import undirected_adjacency
from knotwork._graph.pagerank import personalized_pagerank
from knotwork._stores.base import Store
from knotwork.records import Edge


@dataclass(frozen=True, slots=True)
class LocalGraph:
    """Entities in the order they were reached, the seeds first, and the edges among them.

    ``adjacency`` is symmetric with the weights of the edges, ``names`` are by entity id.
    """

    ids: tuple[str, ...]
    names: Mapping[str, str]
    edges: tuple[Edge, ...]
    adjacency: sparse.csr_array
    places: Mapping[str, int]

    def place(self, entity_ids: Sequence[str]) -> NDArray[np.int64]:
        """Return the rows of those entities that are in the graph."""
        found = [self.places[i] for i in entity_ids if i in self.places]
        return np.array(found, dtype=np.int64)

    def edge_between(self, first: str, second: str) -> Edge | None:
        """Return the strongest edge between two entities, in either direction."""
        ends = {first, second}
        joining = [edge for edge in self.edges if {edge.source, edge.target} == ends]
        return min(joining, key=lambda e: (-e.weight, e.relation, e.source), default=None)

    def importance(self, entity_ids: Sequence[str], *, damping: float = 0.5) -> NDArray[np.float64]:
        """Return how much a walk that restarts at these entities is where; zeros for none."""
        restart = np.zeros(len(self.ids))
        restart[self.place(entity_ids)] = 1.0
        if not restart.any():
            return restart
        return personalized_pagerank(self.adjacency, restart, damping=damping)


def read_local_graph(
    store: Store, entity_ids: Sequence[str], *, depth: int = 2, fan: int = 16, limit: int = 600
) -> LocalGraph:
    """Read what lies around entities; ``depth``, ``fan`` and ``limit`` are those of `explore`."""
    found = store.graph.explore(list(entity_ids), depth=depth, fan=fan, limit=limit)
    ids = tuple(node.id for node in found.nodes)
    places = {identifier: place for place, identifier in enumerate(ids)}
    adjacency = undirected_adjacency(
        [places[edge.source] for edge in found.edges],
        [places[edge.target] for edge in found.edges],
        [edge.weight for edge in found.edges],
        nodes=len(ids),
    )
    names = {node.id: node.name for node in found.nodes}
    return LocalGraph(ids, names, found.edges, adjacency, places)
