"""Drawing the map of an index: what is read from the store, and laid out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from knotwork.graph.layout import lay_out
from knotwork.graph.partition import undirected_adjacency
from knotwork.indexing.communities.refreshing import NAMES_META
from knotwork.indexing.communities.survey import CONTENT_META
from knotwork.records import ENTITY_EDGES, Community, content_id, id_to_int
from knotwork.service.maps.atlas import NOWHERE, Floats, GraphMap, Ints, Words
from knotwork.stores.base import Store
from knotwork.stores.communities import StoresCommunities

LAYOUT = "circles-1"
"""Changes whenever the same graph would be drawn in another way."""


def map_key(store: Store) -> str:
    """Return what changes whenever communities do, and with them the map."""
    if not isinstance(store, StoresCommunities):
        return content_id(LAYOUT)
    meta = store.meta()
    levels = (" ".join(level) for level in store.communities.levels())
    return content_id(LAYOUT, meta.get(CONTENT_META, ""), meta.get(NAMES_META, ""), *levels)


def draw_map(store: Store, key: str) -> GraphMap:
    """Read the graph of an index with its communities, and lay it out."""
    communities = _read_communities(store)
    position = {community.id: place for place, community in enumerate(communities)}
    parents = [position.get(c.parent_id or "", NOWHERE) for c in communities]
    entities = _read_entities(store, communities)
    edges = _read_edges(store, entities.position)
    chains, importance = _chain(communities, parents, entities.position)
    adjacency = undirected_adjacency(
        edges.sources.astype(np.int64),
        edges.targets.astype(np.int64),
        edges.weights.astype(np.float64),
        nodes=len(entities.position),
    )
    lowest = chains[-1] if len(chains) else np.full(len(entities.position), NOWHERE)
    weight = importance.max(axis=0) if len(importance) else np.zeros(len(entities.position))
    layout = lay_out(
        adjacency,
        homes=lowest.astype(np.int64),
        parents=np.array(parents, dtype=np.int64),
        importance=weight.astype(np.float64),
    )
    return GraphMap(
        key=key,
        radius=layout.radius,
        community_keys=np.array([id_to_int(c.id) for c in communities], dtype=np.int64),
        community_levels=np.array([c.level for c in communities], dtype=np.int32),
        community_parents=np.array(parents, dtype=np.int32),
        community_sizes=_sizes(chains, communities),
        community_places=np.column_stack([layout.middles, layout.radii]).astype(np.float32),
        entity_keys=np.array([id_to_int(key) for key in entities.position], dtype=np.int64),
        entity_names=Words.of(entities.names),
        entity_types=np.array(entities.types, dtype=np.int32),
        entity_chunks=np.array(entities.chunks, dtype=np.int32),
        entity_places=layout.nodes.astype(np.float32),
        chains=chains,
        importance=importance,
        types=Words.of(entities.type_names),
        relations=Words.of(edges.names),
        edge_sources=edges.sources,
        edge_targets=edges.targets,
        edge_weights=edges.weights,
        edge_relations=edges.relations,
    )


class _Entities(NamedTuple):
    position: dict[str, int]
    names: list[str]
    types: list[int]
    chunks: list[int]
    type_names: list[str]


class _Edges(NamedTuple):
    sources: Ints
    targets: Ints
    weights: Floats
    relations: Ints
    names: list[str]


def _read_communities(store: Store) -> list[Community]:
    if not isinstance(store, StoresCommunities):
        return []
    held = store.communities
    ids = [key for level in held.levels() for key in level]
    found = held.communities(ids)
    return [found[key] for key in ids if key in found]


def _read_entities(store: Store, communities: Sequence[Community]) -> _Entities:
    ids = sorted({key for community in communities for key in community.entity_ids})
    found = store.graph.entities(ids)
    known = [found[key] for key in ids if key in found and not found[key].is_keyword]
    types: dict[str, int] = {}
    numbers = [types.setdefault(entity.type, len(types)) for entity in known]
    return _Entities(
        {entity.id: place for place, entity in enumerate(known)},
        [entity.name for entity in known],
        numbers,
        [entity.chunk_count for entity in known],
        list(types),
    )


def _read_edges(store: Store, position: dict[str, int]) -> _Edges:
    names: dict[str, int] = {}
    rows: list[tuple[int, int, float, int]] = []
    for edge in store.graph.edges(types=ENTITY_EDGES) if position else ():
        source, target = position.get(edge.source), position.get(edge.target)
        if source is not None and target is not None and source != target:
            name = names.setdefault(edge.relation, len(names))
            rows.append((source, target, edge.weight, name))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return _Edges(
        table[:, 0].astype(np.int32),
        table[:, 1].astype(np.int32),
        table[:, 2].astype(np.float32),
        table[:, 3].astype(np.int32),
        list(names),
    )


def _chain(
    communities: Sequence[Community], parents: Sequence[int], position: dict[str, int]
) -> tuple[Ints, Floats]:
    """Return the community of each entity at each level, and its importance there.

    A name that means several things lies in several communities, and on the map where it matters
    most; there it has one community at each level, each inside the one above.
    """
    levels = 1 + max((community.level for community in communities), default=-1)
    homes: dict[int, tuple[int, float, int]] = {}
    held: list[dict[int, float]] = []
    for place, community in enumerate(communities):
        members = ((position.get(m.entity_id), m.importance) for m in community.members)
        held.append({entity: weight for entity, weight in members if entity is not None})
        for entity, weight in held[place].items():
            claim = (community.level, weight, -place)
            homes[entity] = max(homes.get(entity, claim), claim)
    chains = np.full((levels, len(position)), NOWHERE, dtype=np.int32)
    weights = np.zeros((levels, len(position)), dtype=np.float32)
    for entity, (_, _, home) in homes.items():
        above = -home
        while above != NOWHERE:
            level = communities[above].level
            chains[level, entity] = above
            weights[level, entity] = held[above].get(entity, 0.0)
            above = parents[above]
    for level in range(1, levels):
        missing = chains[level] == NOWHERE
        chains[level, missing] = chains[level - 1, missing]
        weights[level, missing] = weights[level - 1, missing]
    return chains, weights


def _sizes(chains: Ints, communities: Sequence[Community]) -> Ints:
    counts = np.zeros(len(communities), dtype=np.int32)
    for level, chain in enumerate(chains):
        at_level = np.bincount(chain[chain >= 0], minlength=len(communities))
        here = np.array([c.level == level for c in communities], dtype=np.bool_)
        counts[here] = at_level[here]
    return counts
