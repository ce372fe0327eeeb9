"""The walk through a graph that every store shares: which edges a node offers, which are taken.

A store hands over `Link`s, edges seen from one of their ends, whose keys are whatever the store
uses for nodes (integers or ids; both have the same order).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

from knotwork.records import Edge

Key = TypeVar("Key", int, str)

EDGE_CHUNKS = 16
"""How many supporting chunks, smallest ids first, an edge shows outside a full scan."""

_BATCH_NODES = 64


class Link(NamedTuple, Generic[Key]):
    """An edge as seen from one of its ends; ``other`` is the far end.

    Its fields stand so that the strongest link sorts first.
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


class Walk(NamedTuple, Generic[Key]):
    """Nodes and links in the order they were reached."""

    nodes: list[Key]
    links: list[Link[Key]]


def strongest(links: Iterable[Link[Key]], fan: int | None) -> list[Link[Key]]:
    """Return the links to the ``fan`` strongest neighbours, strongest first.

    Every link to a chosen neighbour is kept, however weak. A link given twice counts once.
    """
    ordered = sorted(set(links))
    if fan is None:
        return ordered
    chosen: set[Key] = set()
    for link in ordered:
        if len(chosen) >= fan:
            break
        chosen.add(link.other)
    return [link for link in ordered if link.other in chosen]


def walk(
    adjacent: Callable[[Sequence[Key]], Iterable[list[Link[Key]]]],
    seeds: Iterable[Key],
    *,
    depth: int,
    limit: int,
) -> Walk[Key]:
    """Walk breadth first from ``seeds``, as `GraphStore.explore` describes.

    ``adjacent`` returns the links of each of some nodes, in their order, already cut to the fan.
    It is asked for few nodes at a time, so that reaching ``limit`` saves the rest.
    """
    nodes = dict.fromkeys(seeds)
    taken: dict[tuple[Key, Key, str, str], Link[Key]] = {}
    frontier = list(nodes)
    for _ in range(depth):
        reached: list[Key] = []
        for links in _by_batches(adjacent, frontier):
            for link in links:
                if len(taken) >= limit:
                    return Walk(list(nodes), list(taken.values()))
                edge = (link.source, link.target, link.type, link.relation)
                if edge in taken:
                    continue
                taken[edge] = link
                if link.other not in nodes:
                    nodes[link.other] = None
                    reached.append(link.other)
        frontier = reached
    return Walk(list(nodes), list(taken.values()))


def _by_batches(
    adjacent: Callable[[Sequence[Key]], Iterable[list[Link[Key]]]], frontier: Sequence[Key]
) -> Iterable[list[Link[Key]]]:
    for start in range(0, len(frontier), _BATCH_NODES):
        yield from adjacent(frontier[start : start + _BATCH_NODES])


def edge_order(edge: Edge) -> tuple[str, str, str, str]:
    """Return the sort key of a full scan."""
    return edge.type, edge.source, edge.target, edge.relation
