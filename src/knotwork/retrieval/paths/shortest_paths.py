"""The shortest paths between two entities of the graph.

Search goes from both ends, level by level, the smaller side first, over the strongest relations of
each entity, so that hubs cost no more than others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise, product

from knotwork.records import CO_OCCURRENCE_RELATION, ENTITY_EDGES, Edge, GraphPath, Hop
from knotwork.stores.base import Store

MOST_HOPS = 5
_FAN = 100
_MOST_READ = 5_000
"""Entities whose relations are read, at most."""

_MOST_COMPARED = 5_000
"""Paths of the shortest length that are compared, at most."""

Layers = list[set[str]]
"""Entities by their distance from one end."""


def find_shortest_paths(
    store: Store, sources: Collection[str], targets: Collection[str], *, limit: int
) -> list[GraphPath]:
    """Return up to ``limit`` of the shortest paths from one of some entities to one of others.

    Those over relations that are stated come before those over names that only stand together, and
    then those of more passages. There is none where the two are one, or more than `MOST_HOPS`
    apart.
    """
    if not sources or not targets or set(sources) & set(targets):
        return []
    links = _StrongestLinks(store)
    ends: tuple[Layers, Layers] = ([set(sources)], [set(targets)])
    while not ends[0][-1] & ends[1][-1]:
        side = ends[0] if len(ends[0][-1]) <= len(ends[1][-1]) else ends[1]
        apart = len(ends[0]) + len(ends[1]) - 2
        if apart >= MOST_HOPS or not links.read(side[-1]):
            return []
        known = set().union(*side)
        side.append({n for key in side[-1] for n in links.edges[key]} - known)
        if not side[-1]:
            return []
    middles = sorted(ends[0][-1] & ends[1][-1])
    ways = [
        (*reversed(before), *after[1:])
        for middle in middles
        for before, after in islice(
            product(links.chains(middle, ends[0]), links.chains(middle, ends[1])), _MOST_COMPARED
        )
    ]
    best = sorted(ways, key=links.rank)[:limit]
    return links.describe(best)


class _StrongestLinks:
    """The strongest relation between any two entities that were read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read = 0
        self.edges: defaultdict[str, dict[str, Edge]] = defaultdict(dict)

    def read(self, keys: Collection[str]) -> bool:
        """Read the relations of entities; return whether that was not too much."""
        self._read += len(keys)
        if self._read > _MOST_READ:
            return False
        found = self._store.graph.neighbours(sorted(keys), types=ENTITY_EDGES, fan=_FAN)
        for edge in (edge for edges in found.values() for edge in edges):
            for one, other in ((edge.source, edge.target), (edge.target, edge.source)):
                known = self.edges[one].get(other)
                if known is None or _worth(edge) > _worth(known):
                    self.edges[one][other] = edge
        return True

    def chains(self, key: str, layers: Layers) -> Iterator[tuple[str, ...]]:
        """Yield the ways from an entity of the last layer to the first."""
        if len(layers) == 1:
            yield (key,)
            return
        for near in sorted(self.edges[key].keys() & layers[-2]):
            for chain in self.chains(near, layers[:-1]):
                yield key, *chain

    def rank(self, way: Sequence[str]) -> tuple[int, float, tuple[str, ...]]:
        """Return what orders ways: the smaller, the better."""
        edges = self._edges_of(way)
        unstated = sum(edge.relation == CO_OCCURRENCE_RELATION for edge in edges)
        return unstated, -sum(edge.weight for edge in edges), tuple(way)

    def describe(self, ways: Sequence[Sequence[str]]) -> list[GraphPath]:
        """Return ways as paths with names."""
        entities = self._store.graph.entities({key for way in ways for key in way})
        names = {key: entity.name for key, entity in entities.items()}
        return [self._path(way, names) for way in ways]

    def _path(self, way: Sequence[str], names: dict[str, str]) -> GraphPath:
        edges = self._edges_of(way)
        hops = tuple(
            Hop(
                source=source,
                source_name=names[source],
                relation=edge.relation,
                target=target,
                target_name=names[target],
                forward=edge.source == source,
                chunk_id=edge.chunks[0] if edge.chunks else "",
                weight=edge.weight,
            )
            for source, target, edge in zip(way, way[1:], edges, strict=False)
        )
        return GraphPath(hops, sum(edge.weight for edge in edges))

    def _edges_of(self, way: Sequence[str]) -> list[Edge]:
        return [self.edges[one][other] for one, other in pairwise(way)]


def _worth(edge: Edge) -> tuple[bool, float, str]:
    return edge.relation != CO_OCCURRENCE_RELATION, edge.weight, edge.relation
