"""The graph in which communities are sought: entities and chunks, as arrays.

Relations alone leave a third of the entities that rules extract without any edge, because most are
found within one sentence. What stands in one chunk belongs together too; but to link all pairs of
a chunk's entities makes two to four times as many edges as to make the chunk a node, and hardly
better communities. A community then also knows its chunks. On the documents of three corpora, with
a fifth of them held out, the share of pairs of names in held-out documents that lie in one lowest
community, above chance, rises from 0.048, 0.039 and 0.063 (relations alone) to 0.079, 0.108 and
0.075 (MuSiQue, Chinese company reports, ten novels); 0.099, 0.111 and 0.076 with all pairs.

A name that stands everywhere says little about any place. Each edge is divided by the fourth root
of the number of chunks of its entity, or of both: the largest community then falls from 1,016 to
385, from 2,298 to 1,468 and from 1,789 to 1,518 entities, at no loss. By the square root, small
groups of rare names split off.

Names that a decision makes one (`ResolutionStore.groups`) stay nodes of their own: merged, one
wrong decision glues two topics together. An edge to the canonical one holds them together. Without
it 80, 34 and 13 % of them lie in its lowest community (162, 96 and 6 groups of news, Chinese
company reports and two repositories); with it 100, 97 and 100 %, and modularity over the edges that
texts give falls by 0.001 at the topmost level and 0.0016 at the lowest. With twice the weight the
lowest falls by up to 0.006. What is important in a community is told without these edges: a thing
is not the more important for having many names.

A name that means several things (`HomonymStore`) is a node for each of them, with the edges of the
chunks that mean it: so the film and the river of one name glue no two topics together. Chunks that
do not tell which they mean are taken to mean the thing of most chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from knotwork.graph.partition import Labels, Weights, undirected_adjacency
from knotwork.records import ENTITY_EDGES, EdgeType
from knotwork.stores.base import Store
from knotwork.stores.homonyms import read_senses
from knotwork.stores.resolutions import read_groups

MENTION_WEIGHT = 2.0
"""Weight of a mention, where a relation found once weighs 1."""
NAME_WEIGHT = 4 * MENTION_WEIGHT
"""Weight of the edge between an entity and the one that stands for its group."""
DAMPING_OF_HUBS = 0.25
"""Power of the number of an entity's chunks by which its edges are divided."""


class Meaning(NamedTuple):
    """An entity in the sense of this number; most have but one, 0."""

    entity_id: str
    sense: int = 0


Senses = Mapping[str, Mapping[str, int]]
"""The number of the sense that each chunk means, by entity; see `read_senses`."""


@dataclass(frozen=True, slots=True)
class Network:
    """Entities, then chunks, each by ascending id, and the edges among them.

    An entity of several senses stands there once for each. ``plain`` holds the weights as they were
    found, ``adjacency`` those with hubs held back, and the edges between names of one thing. What
    is computed from ``plain`` inside a community depends on that community alone.
    """

    entity_ids: tuple[str, ...]
    chunk_ids: tuple[str, ...]
    plain: sparse.csr_array
    adjacency: sparse.csr_array

    @property
    def homonyms(self) -> frozenset[str]:
        """The entities that stand here more than once."""
        counts = Counter(self.entity_ids)
        return frozenset(entity for entity, count in counts.items() if count > 1)

    @property
    def node_ids(self) -> tuple[str, ...]:
        """The ids of what the nodes are, in order."""
        return self.entity_ids + self.chunk_ids

    @property
    def sizes(self) -> Weights:
        """What each node adds to a community's size: entities 1, chunks 0."""
        return np.repeat([1.0, 0.0], [len(self.entity_ids), len(self.chunk_ids)])


def read_network(store: Store) -> Network:
    """Read the graph of an index: each mention and each relation, with its weight, and names."""
    senses = read_senses(store)
    mentions = [(e.target, e.source) for e in store.graph.edges(types=[EdgeType.MENTIONS])]
    relations: list[tuple[Meaning, Meaning, float]] = []
    for edge in store.graph.edges(types=ENTITY_EDGES):
        ends = edge.source, edge.target
        relations += _relations(*ends, edge.weight, edge.chunks, senses)
    return _make_network(_mentions(mentions, senses), relations, read_groups(store))


def make_network(
    mentions: Sequence[tuple[str, str]],
    relations: Sequence[tuple[str, str, float]],
    groups: Mapping[str, str] | None = None,
) -> Network:
    """Return the network of (entity, chunk) mentions and weighted (entity, entity) relations.

    ``groups`` lead from the names of a thing to the canonical one. An edge with an end that no
    chunk mentions, which a store should not hold, is left out.
    """
    meant = [(Meaning(one), Meaning(other), weight) for one, other, weight in relations]
    return _make_network(_mentions(mentions, {}), meant, groups or {})


def _mentions(mentions: Iterable[tuple[str, str]], senses: Senses) -> list[tuple[Meaning, str]]:
    """Return which meanings chunks mention."""
    return [
        (Meaning(entity, senses[entity].get(chunk, 0) if entity in senses else 0), chunk)
        for entity, chunk in mentions
    ]


def _relations(
    source: str, target: str, weight: float, chunks: Sequence[str], senses: Senses
) -> Iterator[tuple[Meaning, Meaning, float]]:
    """Yield a relation between meanings: the weight is shared by the chunks that state it."""
    if source not in senses and target not in senses:
        yield Meaning(source), Meaning(target), weight
        return
    stated = Counter(
        tuple(Meaning(end, senses.get(end, {}).get(chunk, 0)) for end in (source, target))
        for chunk in chunks
    )
    for (one, other), times in sorted(stated.items()):
        yield one, other, weight * times / len(chunks)


def _make_network(
    mentions: Sequence[tuple[Meaning, str]],
    relations: Sequence[tuple[Meaning, Meaning, float]],
    groups: Mapping[str, str],
) -> Network:
    entities = sorted({entity for entity, _ in mentions})
    chunks = sorted({chunk for _, chunk in mentions})
    place = {entity: position for position, entity in enumerate(entities)}
    chunk_place = {chunk: position for position, chunk in enumerate(chunks, start=len(entities))}
    nodes = len(entities) + len(chunks)
    relations = [relation for relation in relations if place.keys() >= set(relation[:2])]
    named: Labels = np.array([place[entity] for entity, _ in mentions], dtype=np.int64)
    holding: Labels = np.array([chunk_place[chunk] for _, chunk in mentions], dtype=np.int64)
    sources: Labels = np.array([place[source] for source, _, _ in relations], dtype=np.int64)
    targets: Labels = np.array([place[target] for _, target, _ in relations], dtype=np.int64)
    found: Weights = np.array([weight for _, _, weight in relations], dtype=np.float64)
    counts = np.bincount(named, minlength=nodes).astype(np.float64)
    held_back = np.power(np.maximum(counts, 1.0), -DAMPING_OF_HUBS)
    ends = np.concatenate([named, sources]), np.concatenate([holding, targets])
    weights = np.concatenate([np.full(len(named), MENTION_WEIGHT), found])
    damped = weights * held_back[ends[0]] * held_back[ends[1]]
    names = [
        (place[Meaning(entity)], place[Meaning(standing)])
        for entity, standing in sorted(groups.items())
        if entity != standing and Meaning(entity) in place and Meaning(standing) in place
    ]
    joined: Labels = np.array(names, dtype=np.int64).reshape(-1, 2)
    linked = np.concatenate([ends[0], joined[:, 0]]), np.concatenate([ends[1], joined[:, 1]])
    damped = np.concatenate([damped, np.full(len(joined), NAME_WEIGHT)])
    return Network(
        tuple(meaning.entity_id for meaning in entities),
        tuple(chunks),
        undirected_adjacency(*ends, weights, nodes=nodes),
        undirected_adjacency(*linked, damped, nodes=nodes),
    )
