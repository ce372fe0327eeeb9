"""Views of a workspace's map, with what only the index knows: titles, documents, counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knotwork.errors import InvalidRequest
from knotwork.records import CommunityReport
from knotwork.service.maps import views
from knotwork.service.maps.atlas import GraphMap, Keys
from knotwork.service.maps.views import Selection, Wanted
from knotwork.service.shapes.maps import (
    MOST_CIRCLES,
    MOST_EDGES,
    AncestorShape,
    CircleColumns,
    CommunityQuery,
    CommunityView,
    FacetList,
    FilterFields,
    LevelQuery,
    LevelShape,
    LinkColumns,
    Overview,
    PartShape,
)
from knotwork.service.workspaces import Workspace
from knotwork.stores.communities import StoresCommunities

LINKS_FOR_EACH = 3
"""Links between communities that are drawn, for each community."""
EDGES_FOR_EACH = 3
"""Relations that are drawn, for each entity."""
_FEWEST_EDGES = 90


def read_wanted(workspace: Workspace, asked: FilterFields) -> Wanted:
    """Return what is to be drawn. Raises InvalidRequest for a document that is not there."""
    return Wanted(
        types=frozenset(asked.types),
        relations=frozenset(asked.relations),
        weight=asked.weight,
        entities=_entities_of(workspace, asked.document) if asked.document else None,
    )


def chart_level(workspace: Workspace, graph_map: GraphMap, asked: LevelQuery) -> Overview:
    """Return a level of the map: its largest communities and the links among them."""
    wanted = read_wanted(workspace, asked)
    chosen = views.select(graph_map, wanted)
    drawn = views.drawn_at(graph_map, asked.level)
    shown = _largest(graph_map, drawn, asked.limit)
    links = views.crossings(graph_map, shown, chosen.edges, limit=LINKS_FOR_EACH * asked.limit)
    types, relations = views.facets(graph_map, wanted, chosen, None)
    return Overview(
        key=graph_map.key,
        is_current=workspace.base.has_communities,
        radius=round(float(graph_map.radius), 2),
        entities=len(graph_map.entity_keys),
        relations=len(graph_map.edge_sources),
        levels=[_describe_level(graph_map, number) for number in range(graph_map.levels)],
        level=asked.level,
        communities=_circles(workspace, graph_map, shown, chosen),
        total=len(drawn),
        links=LinkColumns.of(links),
        links_total=links.total,
        types=FacetList.of(types),
        relation_names=FacetList.of(relations),
    )


def chart_community(
    workspace: Workspace, graph_map: GraphMap, place: int, asked: CommunityQuery
) -> CommunityView:
    """Return a community opened: those right inside it, and its most important entities."""
    wanted = read_wanted(workspace, asked)
    chosen = views.select(graph_map, wanted)
    children = np.flatnonzero(graph_map.community_parents == place)
    inner = _largest(graph_map, children, MOST_CIRCLES)
    links = views.crossings(graph_map, inner, chosen.edges, limit=LINKS_FOR_EACH * len(inner))
    edges = min(max(EDGES_FOR_EACH * asked.limit, _FEWEST_EDGES), MOST_EDGES)
    part = views.view_community(graph_map, place, chosen, limit=asked.limit, edge_limit=edges)
    types, relations = views.facets(graph_map, wanted, chosen, graph_map.inside(place))
    report = _reports(workspace, graph_map, [place]).get(place)
    return CommunityView(
        key=graph_map.key,
        circle=_circles(workspace, graph_map, [place], chosen),
        summary=report.summary if report else "",
        around=name_communities(workspace, graph_map, graph_map.around(place)),
        children=_circles(workspace, graph_map, inner, chosen),
        children_total=len(children),
        links=LinkColumns.of(links),
        links_total=links.total,
        part=PartShape.of(graph_map, part, order="importance"),
        types=FacetList.of(types),
        relation_names=FacetList.of(relations),
    )


def name_communities(
    workspace: Workspace, graph_map: GraphMap, places: Sequence[int]
) -> list[AncestorShape]:
    """Return communities by their titles."""
    reports = _reports(workspace, graph_map, places)
    return [
        AncestorShape(
            id=graph_map.community_id(place),
            title=_title(graph_map, place, reports.get(place)),
            level=int(graph_map.community_levels[place]),
        )
        for place in places
    ]


def _circles(
    workspace: Workspace, graph_map: GraphMap, places: Sequence[int], chosen: Selection
) -> CircleColumns:
    reports = _reports(workspace, graph_map, places)
    titles = [_title(graph_map, place, reports.get(place)) for place in places]
    fits = views.matching(graph_map, places, chosen.entities)
    return CircleColumns.of(graph_map, places, titles, fits)


def _title(graph_map: GraphMap, place: int, report: CommunityReport | None) -> str:
    """Return the title of a community; one whose report is gone has the names of its entities."""
    if report is not None and report.title:
        return report.title
    level = int(graph_map.community_levels[place])
    inside = graph_map.inside(place)
    best = inside[np.argsort(-graph_map.importance[level][inside], kind="stable")][:3]
    return ", ".join(graph_map.entity_names[int(entity)] for entity in best)


def _reports(
    workspace: Workspace, graph_map: GraphMap, places: Sequence[int]
) -> dict[int, CommunityReport]:
    store = workspace.base.store
    if not isinstance(store, StoresCommunities):
        return {}
    ids = {graph_map.community_id(place): place for place in places}
    return {ids[key]: report for key, report in store.communities.reports(list(ids)).items()}


def _largest(graph_map: GraphMap, places: Keys, limit: int) -> list[int]:
    order = np.lexsort((places, -graph_map.community_sizes[places]))
    return [int(place) for place in places[order][:limit]]


def _describe_level(graph_map: GraphMap, level: int) -> LevelShape:
    here = np.flatnonzero(graph_map.community_levels == level)
    order = here[np.argsort(-graph_map.community_places[here, 2], kind="stable")]
    covered = np.cumsum(graph_map.community_sizes[order])
    half = int(np.searchsorted(covered, covered[-1] / 2)) if len(order) else 0
    radius = float(graph_map.community_places[order[half], 2]) if len(order) else 0.0
    return LevelShape(level=level, communities=len(here), radius=round(radius, 2))


def _entities_of(workspace: Workspace, document: str) -> frozenset[str]:
    store = workspace.base.store
    if not store.documents.documents([document]):
        raise InvalidRequest(
            f"There is no document `{document}`.", fix="List those there are: GET …/documents"
        )
    mentions = store.graph.mentions(store.documents.chunk_ids(document))
    return frozenset(mention.entity_id for found in mentions.values() for mention in found)
