"""Walk a graph breadth first over adjacent edges, strongest first.

Keys of nodes are integers or ids, whichever the owner of the graph has; both have the same order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import ceil
from typing import Generic, NamedTuple, TypeVar

from knotwork.records import EdgeType

Key = TypeVar("Key", int, str)

_FIRST_NODES = 64
_SPARE_SHARE = 1.25


class AdjacentEdge(NamedTuple, Generic[Key]):
    """An edge as seen from one of its ends; ``other`` is the far end.

    The order of the fields makes the strongest of its type sort first.
    """

    negative_weight: float
    other: Key
    type: str
    relation: str
    source: Key
    target: Key

    @property
    def weight(self) -> float:
        return -self.negative_weight

    @property
    def rank(self) -> tuple[bool, float]:
        """The place by strength: stated edges, then co-occurrences, each by weight descending."""
        return self.type == EdgeType.CO_OCCURS, self.negative_weight


class WalkResult(NamedTuple, Generic[Key]):
    """Nodes and edges in the order in which the walk reached them."""

    nodes: list[Key]
    edges: list[AdjacentEdge[Key]]


def strongest_edges(edges: Iterable[AdjacentEdge[Key]], fan: int | None) -> list[AdjacentEdge[Key]]:
    """Return the distinct edges to the ``fan`` strongest neighbours, strongest first.

    All edges to such a neighbour are included, however weak.
    """
    ordered = sorted(sorted(set(edges)), key=lambda edge: edge.rank)
    if fan is None:
        return ordered
    chosen: set[Key] = set()
    for edge in ordered:
        if len(chosen) >= fan:
            break
        chosen.add(edge.other)
    return [edge for edge in ordered if edge.other in chosen]


def walk_graph(
    adjacent: Callable[[Sequence[Key]], Iterable[list[AdjacentEdge[Key]]]],
    seeds: Iterable[Key],
    *,
    depth: int,
    limit: int | None,
) -> WalkResult[Key]:
    """Walk breadth first from ``seeds``, up to ``limit`` edges (None: all) and ``depth`` hops.

    Each hop visits the nodes that the previous one found, in that order; an edge found before is
    skipped. ``adjacent`` returns the edges of each node of a batch, in order, limited to the fan.
    A batch has about as many nodes as are missing to ``limit`` if each adds as many edges as those
    of the batch before; each further one of a hop is at least twice as large.
    """
    most = sys.maxsize if limit is None else limit
    nodes = dict.fromkeys(seeds)
    found: dict[tuple[Key, Key, str, str], AdjacentEdge[Key]] = {}
    frontier = list(nodes)
    gain = 0.0
    for _ in range(depth):
        reached: list[Key] = []
        start, size = 0, 0
        while start < len(frontier):
            missing = most - len(found)
            size = max(_batch_nodes(missing, gain), 2 * size)
            batch = frontier[start : start + size]
            start += size
            for edge in chain.from_iterable(adjacent(batch)):
                if len(found) >= most:
                    return WalkResult(list(nodes), list(found.values()))
                key = (edge.source, edge.target, edge.type, edge.relation)
                if key in found:
                    continue
                found[key] = edge
                if edge.other not in nodes:
                    nodes[edge.other] = None
                    reached.append(edge.other)
            gain = (len(found) - most + missing) / len(batch)
        frontier = reached
    return WalkResult(list(nodes), list(found.values()))


def _batch_nodes(missing: int, gain: float) -> int:
    """Return how many nodes to read for ``missing`` edges if each node adds ``gain``."""
    return ceil(_SPARE_SHARE * missing / gain) + 1 if gain else _FIRST_NODES
