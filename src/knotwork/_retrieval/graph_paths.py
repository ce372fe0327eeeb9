"""Paths of relations: the shortest between two entities, and which ones count as an answer.

The search for shortest ones runs from both ends, level by level, the smaller side first, over the
strongest relations of each entity, so that hubs cost no more than others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise, product

from knotwork._stores.base import Store
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    ENTITY_EDGES,
    GRAPH_URI,
    Chunk,
    Edge,
    GraphPath,
    Hop,
)

LIKELY_PROBABILITY = 0.5
"""Probability from which a path counts as an answer: its passages precede others, and all its
answers are listed and cited."""
MOST_HOPS = 5
_FAN = 100
_MOST_READ = 5_000
"""Maximum number of entities whose relations are read."""

_MOST_COMPARED = 5_000
"""Maximum number of shortest paths that are compared."""

Layers = list[set[str]]
"""Entities by their distance from one end."""


def find_shortest_paths(
    store: Store, sources: Collection[str], targets: Collection[str], *, limit: int
) -> list[GraphPath]:
    """Return up to ``limit`` shortest paths from one of ``sources`` to one of ``targets``.

    Paths over stated relations precede those over co-occurrences, and then those with more
    passages. The result is empty if the ends coincide or are more than `MOST_HOPS` apart.
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
    paths = [
        (*reversed(before), *after[1:])
        for middle in middles
        for before, after in islice(
            product(links.chains(middle, ends[0]), links.chains(middle, ends[1])), _MOST_COMPARED
        )
    ]
    return links.describe(sorted(paths, key=links.rank)[:limit])


class _StrongestLinks:
    """The strongest relation between each pair of entities read so far."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read = 0
        self.edges: defaultdict[str, dict[str, Edge]] = defaultdict(dict)

    def read(self, keys: Collection[str]) -> bool:
        """Read the relations of entities and return True, or return False if that exceeds the
        limit.
        """
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
        """Yield the paths from an entity of the last layer to the first layer."""
        if len(layers) == 1:
            yield (key,)
            return
        for near in sorted(self.edges[key].keys() & layers[-2]):
            for chain in self.chains(near, layers[:-1]):
                yield key, *chain

    def rank(self, path: Sequence[str]) -> tuple[int, float, tuple[str, ...]]:
        """Return the sort key of a path, smallest first."""
        edges = [self.edges[one][other] for one, other in pairwise(path)]
        unstated = sum(edge.relation == CO_OCCURRENCE_RELATION for edge in edges)
        return unstated, -sum(edge.weight for edge in edges), tuple(path)

    def describe(self, paths: Sequence[Sequence[str]]) -> list[GraphPath]:
        """Return sequences of entity ids as paths with names."""
        entities = self._store.graph.entities({key for path in paths for key in path})

        def hop(source: str, target: str) -> Hop:
            edge = self.edges[source][target]
            return Hop(
                source=source,
                source_name=entities[source].name,
                relation=edge.relation,
                target=target,
                target_name=entities[target].name,
                forward=edge.source == source,
                chunk_id=edge.chunks[0] if edge.chunks else "",
                weight=edge.weight,
            )

        found = (tuple(hop(*ends) for ends in pairwise(path)) for path in paths)
        return [GraphPath(hops, sum(hop.weight for hop in hops)) for hops in found]


def _worth(edge: Edge) -> tuple[bool, float, str]:
    return edge.relation != CO_OCCURRENCE_RELATION, edge.weight, edge.relation


def find_imported_chunks(chunks: Collection[Chunk], store: Store) -> set[str]:
    """Return the ids of the chunks that are lines of an imported graph."""
    graphs = store.capabilities.property_graphs
    if graphs is None or not graphs.names():
        return set()
    documents = store.documents.documents({chunk.document_id for chunk in chunks})
    stating = {key for key, document in documents.items() if document.uri.startswith(GRAPH_URI)}
    return {chunk.id for chunk in chunks if chunk.document_id in stating}
