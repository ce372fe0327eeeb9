"""Routes for the graph map: levels, communities, neighbours, and the details of an entity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np
from fastapi import Path, Query, Request, Response

from knotwork._extensions.server import map_views
from knotwork._extensions.server.access import ReadWorkspace, Routes
from knotwork._extensions.server.graph_map import GraphMap, Keys
from knotwork._extensions.server.map_views import MapFilter, MapSelection
from knotwork._extensions.server.responses import Envelope
from knotwork._extensions.server.schemas.maps import (
    MOST_CIRCLES,
    MOST_EDGES,
    AncestorShape,
    CircleColumns,
    CommunityQuery,
    CommunityView,
    EntitiesRequest,
    EntityDetails,
    FilterFields,
    LevelQuery,
    LevelShape,
    NeighboursRequest,
    Overview,
    PartShape,
)
from knotwork._extensions.server.workspaces import Workspace
from knotwork._retrieval.entity_lookup import read_dossier
from knotwork.errors import InvalidRequest, NotFound
from knotwork.records import CommunityReport, content_id

router = Routes("graph")
T = TypeVar("T")

_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified."}}

CommunityId = Annotated[str, Path(max_length=40)]


@router.get(
    "/workspaces/{workspace}/graph", responses=_NOT_MODIFIED, response_model=Envelope[Overview]
)
def show_map(
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[LevelQuery, Query()],
) -> Overview | Response:
    """Return a level of the map: its largest communities with their positions and links.

    The map is built once for each state of the communities, and cached.
    """

    def read(graph_map: GraphMap) -> Overview:
        if asked.level and asked.level >= graph_map.levels:
            raise InvalidRequest(
                f"The map has no level {asked.level}.",
                fix=f"Use a level from 0 (the top level) to {max(graph_map.levels - 1, 0)}.",
            )
        return build_overview(workspace, graph_map, asked)

    return _cached_response(workspace, request, response, read, keeps=True)


@router.get(
    "/workspaces/{workspace}/graph/communities/{community}",
    responses=_NOT_MODIFIED,
    response_model=Envelope[CommunityView],
)
def open_community(
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[CommunityQuery, Query()],
    community: CommunityId,
) -> CommunityView | Response:
    """Return the content of a community: its child communities and most important entities."""

    def read(graph_map: GraphMap) -> CommunityView:
        place = graph_map.find_community(community)
        if place is None:
            raise NotFound(
                f"The community `{community}` is not on the map.",
                fix="List communities: GET …/graph",
            )
        return build_community_view(workspace, graph_map, place, asked)

    return _cached_response(workspace, request, response, read)


@router.post("/workspaces/{workspace}/graph/neighbours")
def find_neighbours(workspace: ReadWorkspace, asked: NeighboursRequest) -> PartShape:
    """Return the strongest neighbours of an entity that are not drawn yet; ``entities_total`` is
    the number of all of them.
    """
    graph_map = workspace.map.current(workspace.base.store)
    places = graph_map.find_entities([asked.entity])
    if not places:
        raise NotFound(
            f"The entity `{asked.entity}` is not on the map.",
            fix="If it was added after the last update: POST …/communities/refresh",
        )
    part = map_views.view_neighbours(
        graph_map,
        places[0],
        map_views.select(graph_map, read_map_filter(workspace, asked)),
        known=[p for p in graph_map.find_entities(asked.known) if p != places[0]],
        limit=asked.limit,
        edge_limit=EDGES_FOR_EACH * (asked.limit + len(asked.known)),
    )
    return PartShape.of(graph_map, part, order="weight")


@router.post("/workspaces/{workspace}/graph/entities")
def place_entities(workspace: ReadWorkspace, asked: EntitiesRequest) -> PartShape:
    """Return the positions of entities and the relations among them, without those that are not on
    the map.
    """
    graph_map = workspace.map.current(workspace.base.store)
    part = map_views.view_entities(
        graph_map,
        graph_map.find_entities(asked.entities),
        map_views.select(graph_map, read_map_filter(workspace, asked)),
        edge_limit=MOST_EDGES,
    )
    return PartShape.of(graph_map, part, order="asked")


@router.get("/workspaces/{workspace}/graph/entities/{entity}")
def show_entity(
    workspace: ReadWorkspace,
    entity: Annotated[str, Path(max_length=40)],
    relations: Annotated[int, Query(ge=0, le=200)] = 50,
    sources: Annotated[int, Query(ge=0, le=50)] = 8,
) -> EntityDetails:
    """Return the details of an entity: its relations, and the passages that mention it."""
    store = workspace.base.store
    found = read_dossier(store, entity, relations=relations, passages=sources)
    if found is None:
        raise NotFound(
            f"Unknown entity `{entity}`.",
            fix="Its document may have been removed. Find entities: GET …/entities?name=…",
        )
    graph_map = workspace.map.current(store)
    places = graph_map.find_entities([entity])
    if not places:
        return EntityDetails.of(found, place=None, communities=[], relations_total=0)
    x, y = graph_map.entity_places[places[0]].astype(float).round(2).tolist()
    home = int(graph_map.homes()[places[0]])
    around = [] if home < 0 else [*graph_map.around(home), home]
    return EntityDetails.of(
        found,
        place=(x, y),
        communities=name_communities(workspace, graph_map, around),
        relations_total=len(graph_map.edges_at(places[0])),
    )


def _cached_response(
    workspace: Workspace,
    request: Request,
    response: Response,
    read: Callable[[GraphMap], T],
    *,
    keeps: bool = False,
) -> T | Response:
    """Return a view of the map, or 304 if the client has the current version.

    ``keeps`` stores the view in the cache of the map.
    """
    tag = _etag(workspace, str(request.url.query))
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if tag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)

    def make() -> T:
        return read(workspace.map.current(workspace.base.store))

    found = workspace.map.recall(tag, make) if keeps else make()
    response.headers.update(headers)
    return found


def _etag(workspace: Workspace, query: str) -> str:
    """Return a weak entity tag that changes with the index and with the query."""
    store = workspace.base.store
    key = workspace.map.current(store).key
    return f'W/"{content_id(key, store.generation(), query)}"'


LINKS_FOR_EACH = 3
"""Links drawn per community."""
EDGES_FOR_EACH = 3
"""Relations drawn per entity."""
_FEWEST_EDGES = 90


def read_map_filter(workspace: Workspace, asked: FilterFields) -> MapFilter:
    """Build the filter of a request. Raises InvalidRequest for an unknown document."""
    return MapFilter(
        types=frozenset(asked.types),
        relations=frozenset(asked.relations),
        weight=asked.weight,
        entities=_entities_of(workspace, asked.document) if asked.document else None,
    )


def build_overview(workspace: Workspace, graph_map: GraphMap, asked: LevelQuery) -> Overview:
    """Build a level of the map: its largest communities and the links among them."""
    wanted = read_map_filter(workspace, asked)
    chosen = map_views.select(graph_map, wanted)
    drawn = map_views.communities_at_level(graph_map, asked.level)
    shown = _largest_communities(graph_map, drawn, asked.limit)
    links, links_total = map_views.link_communities(
        graph_map, shown, chosen.edges, limit=LINKS_FOR_EACH * asked.limit
    )
    types, relations = map_views.count_facets(graph_map, wanted, chosen, None)
    return Overview(
        key=graph_map.key,
        is_current=workspace.base.communities.is_current(),
        radius=round(float(graph_map.radius), 2),
        entities=len(graph_map.entity_keys),
        relations=len(graph_map.edge_sources),
        levels=[_describe_level(graph_map, number) for number in range(graph_map.levels)],
        level=asked.level,
        communities=_circle_columns(workspace, graph_map, shown, chosen),
        total=len(drawn),
        links=links,
        links_total=links_total,
        types=types,
        relation_names=relations,
    )


def build_community_view(
    workspace: Workspace, graph_map: GraphMap, place: int, asked: CommunityQuery
) -> CommunityView:
    """Build the view of a community: its children, and its most important entities."""
    wanted = read_map_filter(workspace, asked)
    chosen = map_views.select(graph_map, wanted)
    children = np.flatnonzero(graph_map.community_parents == place)
    inner = _largest_communities(graph_map, children, MOST_CIRCLES)
    links, links_total = map_views.link_communities(
        graph_map, inner, chosen.edges, limit=LINKS_FOR_EACH * len(inner)
    )
    edges = min(max(EDGES_FOR_EACH * asked.limit, _FEWEST_EDGES), MOST_EDGES)
    part = map_views.view_community(graph_map, place, chosen, limit=asked.limit, edge_limit=edges)
    types, relations = map_views.count_facets(graph_map, wanted, chosen, graph_map.inside(place))
    report = _community_reports(workspace, graph_map, [place]).get(place)
    return CommunityView(
        key=graph_map.key,
        circle=_circle_columns(workspace, graph_map, [place], chosen),
        summary=report.summary if report else "",
        around=name_communities(workspace, graph_map, graph_map.around(place)),
        children=_circle_columns(workspace, graph_map, inner, chosen),
        children_total=len(children),
        links=links,
        links_total=links_total,
        part=PartShape.of(graph_map, part, order="importance"),
        types=types,
        relation_names=relations,
    )


def name_communities(
    workspace: Workspace, graph_map: GraphMap, places: Sequence[int]
) -> list[AncestorShape]:
    """Return the titles and levels of communities."""
    reports = _community_reports(workspace, graph_map, places)
    return [
        AncestorShape(
            id=graph_map.community_id(place),
            title=_community_title(graph_map, place, reports.get(place)),
            level=int(graph_map.community_levels[place]),
        )
        for place in places
    ]


def _circle_columns(
    workspace: Workspace, graph_map: GraphMap, places: Sequence[int], chosen: MapSelection
) -> CircleColumns:
    reports = _community_reports(workspace, graph_map, places)
    titles = [_community_title(graph_map, place, reports.get(place)) for place in places]
    fits = map_views.count_selected(graph_map, places, chosen.entities)
    return CircleColumns.of(graph_map, places, titles, fits)


def _community_title(graph_map: GraphMap, place: int, report: CommunityReport | None) -> str:
    """Return the title of a community, or its top entities if it has no report."""
    if report is not None and report.title:
        return report.title
    level = int(graph_map.community_levels[place])
    inside = graph_map.inside(place)
    best = inside[np.argsort(-graph_map.importance[level][inside], kind="stable")][:3]
    return ", ".join(graph_map.entity_names[int(entity)] for entity in best)


def _community_reports(
    workspace: Workspace, graph_map: GraphMap, places: Sequence[int]
) -> dict[int, CommunityReport]:
    communities = workspace.base.store.capabilities.communities
    if communities is None:
        return {}
    ids = {graph_map.community_id(place): place for place in places}
    return {ids[key]: report for key, report in communities.reports(list(ids)).items()}


def _largest_communities(graph_map: GraphMap, places: Keys, limit: int) -> list[int]:
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
            f"Unknown document `{document}`.", fix="List documents: GET …/documents"
        )
    chunks = store.documents.chunk_ids_of([document]).get(document, [])
    mentions = store.graph.mentions(chunks)
    return frozenset(mention.entity_id for found in mentions.values() for mention in found)
