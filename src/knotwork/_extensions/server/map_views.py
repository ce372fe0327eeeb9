"""Views of a map: filter, select and count its entities, relations and communities, by position."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from knotwork._extensions.server.graph_map import GraphMap, Keys, MapPart, Mask, Names
from knotwork._extensions.server.schemas.maps import Facet, FacetList, LinkColumns

MOST_FACETS = 40
"""Most values returned for one facet."""


@dataclass(frozen=True, slots=True)
class MapFilter:
    """The filters of a map; the defaults select everything."""

    types: frozenset[str] = frozenset()
    relations: frozenset[str] = frozenset()
    weight: float = 0.0
    entities: frozenset[str] | None = None
    """Ids of the entities of a document."""

    @property
    def filters_relations(self) -> bool:
        """Whether entities without a matching relation are left out."""
        return bool(self.relations) or self.weight > 0


@dataclass(frozen=True, slots=True)
class MapSelection:
    """Masks of the selected entities, and of the selected relations between them."""

    entities: Mask
    edges: Mask


def select(graph_map: GraphMap, wanted: MapFilter) -> MapSelection:
    """Return the entities and relations of a map that match a filter."""
    entities = np.ones(len(graph_map.entity_keys), dtype=np.bool_)
    if wanted.types:
        entities &= _matches_names(graph_map.types, wanted.types)[graph_map.entity_types]
    if wanted.entities is not None:
        inside = np.zeros(len(entities), dtype=np.bool_)
        inside[graph_map.find_entities(sorted(wanted.entities))] = True
        entities &= inside
    sources, targets = graph_map.edge_sources, graph_map.edge_targets
    edges = entities[sources] & entities[targets]
    if wanted.weight > 0:
        edges &= graph_map.edge_weights >= wanted.weight
    if wanted.relations:
        edges &= _matches_names(graph_map.relations, wanted.relations)[graph_map.edge_relations]
    if wanted.filters_relations:
        linked = np.zeros(len(entities), dtype=np.bool_)
        linked[sources[edges]] = linked[targets[edges]] = True
        entities &= linked
    return MapSelection(entities, edges)


def communities_at_level(graph_map: GraphMap, level: int) -> Keys:
    """Return the communities shown at a level: its own, and higher ones without children."""
    levels = graph_map.community_levels
    has_children = np.zeros(len(levels), dtype=np.bool_)
    parents = graph_map.community_parents
    has_children[parents[parents >= 0]] = True
    return np.flatnonzero((levels == level) | ((levels < level) & ~has_children))


def count_selected(graph_map: GraphMap, communities: Sequence[int], chosen: Mask) -> list[int]:
    """Return the number of chosen entities in each of the communities."""
    counts = np.zeros(len(graph_map.community_keys), dtype=np.int64)
    for level, chain in enumerate(graph_map.chains):
        here = graph_map.community_levels == level
        homes = chain[chosen & (chain >= 0)]
        counts[here] = np.bincount(homes, minlength=len(counts))[here]
    return [int(counts[place]) for place in communities]


def link_communities(
    graph_map: GraphMap, communities: Sequence[int], chosen: Mask, *, limit: int
) -> tuple[LinkColumns, int]:
    """Return the strongest links between communities, and the number of all links.

    None of the communities is an ancestor of another.
    """
    count = len(communities)
    place = np.full(len(graph_map.community_keys) + 1, -1, dtype=np.int64)
    place[list(communities)] = np.arange(count)
    label = np.full(len(graph_map.entity_keys), -1, dtype=np.int64)
    for chain in graph_map.chains:
        found = place[chain]
        label[found >= 0] = found[found >= 0]
    sources, targets = label[graph_map.edge_sources], label[graph_map.edge_targets]
    apart = np.flatnonzero(chosen & (sources >= 0) & (targets >= 0) & (sources != targets))
    sources, targets = sources[apart], targets[apart]
    pairs = np.minimum(sources, targets) * count + np.maximum(sources, targets)
    weights = np.bincount(pairs, weights=graph_map.edge_weights[apart])
    linked = np.flatnonzero(weights)
    best = linked[np.lexsort((linked, -weights[linked]))][:limit]
    columns = LinkColumns(
        source=(best // max(count, 1)).tolist(),
        target=(best % max(count, 1)).tolist(),
        weight=weights[best].tolist(),
    )
    return columns, len(linked)


def view_community(
    graph_map: GraphMap, community: int, selection: MapSelection, *, limit: int, edge_limit: int
) -> MapPart:
    """Return the most important entities of a community, and the strongest relations among them."""
    level = int(graph_map.community_levels[community])
    inside = graph_map.inside(community)
    fitting = inside[selection.entities[inside]]
    importance = graph_map.importance[level][fitting]
    best = fitting[np.lexsort((fitting, -importance))][:limit]
    edges, total = _strongest_edges(graph_map, best, selection.edges, limit=edge_limit)
    return MapPart(best.tolist(), len(fitting), edges, total)


def view_neighbours(
    graph_map: GraphMap,
    entity: int,
    selection: MapSelection,
    *,
    known: Collection[int],
    limit: int,
    edge_limit: int,
) -> MapPart:
    """Return the strongest neighbours of an entity that are not in ``known``, and their relations
    with each other, with the entity and with the known ones.
    """
    edges = graph_map.edges_at(entity)
    edges = edges[selection.edges[edges]]
    others = graph_map.edge_sources[edges] + graph_map.edge_targets[edges] - entity
    weights = np.bincount(others, weights=graph_map.edge_weights[edges], minlength=1)
    weights[[place for place in known if place < len(weights)]] = 0.0
    found = np.flatnonzero(weights)
    best = found[np.lexsort((found, -weights[found]))][:limit]
    drawn = np.concatenate([best, np.array([entity, *known], dtype=np.int64)])
    strongest, total = _strongest_edges(
        graph_map, drawn, selection.edges, limit=edge_limit, new=best
    )
    return MapPart(best.tolist(), len(found), strongest, total)


def view_entities(
    graph_map: GraphMap, entities: Sequence[int], selection: MapSelection, *, edge_limit: int
) -> MapPart:
    """Return entities with the strongest relations among them."""
    drawn = np.array(sorted(set(entities)), dtype=np.int64)
    edges, total = _strongest_edges(graph_map, drawn, selection.edges, limit=edge_limit)
    return MapPart(list(dict.fromkeys(entities)), len(drawn), edges, total)


def count_facets(
    graph_map: GraphMap, wanted: MapFilter, chosen: MapSelection, inside: Keys | None
) -> tuple[FacetList, FacetList]:
    """Count entities by type and relations by name, most frequent first.

    ``chosen`` is the selection of ``wanted``. A facet ignores its own filter, so that it shows the
    alternatives. ``inside`` limits the counts to the entities at these positions.
    """
    of_any_type = select(graph_map, replace(wanted, types=frozenset())) if wanted.types else chosen
    of_any_name = chosen
    if wanted.relations:
        of_any_name = select(graph_map, replace(wanted, relations=frozenset()))
    entities, edges = of_any_type.entities, of_any_name.edges
    if inside is not None:
        within = np.zeros(len(graph_map.entity_keys), dtype=np.bool_)
        within[inside] = True
        entities = entities & within
        edges = edges & within[graph_map.edge_sources] & within[graph_map.edge_targets]
    counts = np.bincount(graph_map.entity_types[entities], minlength=len(graph_map.types))
    named = np.bincount(graph_map.edge_relations[edges], minlength=len(graph_map.relations))
    return _count_names(graph_map.types, counts), _count_names(graph_map.relations, named)


def _count_names(names: Names, counts: Keys) -> FacetList:
    order = np.lexsort((np.arange(len(counts)), -counts))
    most = [int(place) for place in order[:MOST_FACETS] if counts[place]]
    values = [Facet(name=names[place], count=int(counts[place])) for place in most]
    return FacetList(values=values, total=int(np.count_nonzero(counts)))


def _strongest_edges(
    graph_map: GraphMap, drawn: Keys, chosen: Mask, *, limit: int, new: Keys | None = None
) -> tuple[list[int], int]:
    """Return the strongest relations between drawn entities, and the number of all of them.

    With ``new``, one end must be among these entities.
    """
    is_drawn = np.zeros(len(graph_map.entity_keys), dtype=np.bool_)
    is_drawn[drawn] = True
    sources, targets = graph_map.edge_sources, graph_map.edge_targets
    fitting = chosen & is_drawn[sources] & is_drawn[targets]
    if new is not None:
        is_new = np.zeros_like(is_drawn)
        is_new[new] = True
        fitting &= is_new[sources] | is_new[targets]
    found = np.flatnonzero(fitting)
    best = found[np.lexsort((found, -graph_map.edge_weights[found]))][:limit]
    return best.tolist(), len(found)


def _matches_names(names: Sequence[str], wanted: Collection[str]) -> Mask:
    return np.array([name in wanted for name in names], dtype=np.bool_)
