"""Routes of the map: an overview of a level, a community opened, neighbours, one entity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query, Request, Response

from knotwork.errors import InvalidRequest, NotFound
from knotwork.records import content_id
from knotwork.retrieval.dossiers import read_dossier
from knotwork.service.access import ReadWorkspace, Server
from knotwork.service.charting import (
    EDGES_FOR_EACH,
    chart_community,
    chart_level,
    name_communities,
    read_wanted,
)
from knotwork.service.envelopes import Envelope, wrap
from knotwork.service.maps import views
from knotwork.service.maps.atlas import GraphMap
from knotwork.service.shapes.dossiers import EntityDetails
from knotwork.service.shapes.maps import (
    MOST_EDGES,
    CommunityQuery,
    CommunityView,
    EntitiesRequest,
    LevelQuery,
    NeighboursRequest,
    Overview,
    PartShape,
)
from knotwork.service.workspaces import Workspace

router = APIRouter(tags=["graph"])
T = TypeVar("T")

_UNCHANGED: dict[int | str, dict[str, Any]] = {304: {"description": "As it was before."}}

CommunityId = Annotated[str, Path(max_length=40)]


@router.get(
    "/workspaces/{workspace}/graph", responses=_UNCHANGED, response_model=Envelope[Overview]
)
async def show_map(
    server: Server,
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[LevelQuery, Query()],
) -> Envelope[Overview] | Response:
    """Return a level of the map: its largest communities, where they lie, and their links.

    The map is drawn once for each state of the communities, and kept.
    """

    def read(graph_map: GraphMap) -> Overview:
        if asked.level and asked.level >= graph_map.levels:
            raise InvalidRequest(
                f"There is no level {asked.level} of communities.",
                fix=f"The levels are 0 (the topmost) to {max(graph_map.levels - 1, 0)}.",
            )
        return chart_level(workspace, graph_map, asked)

    return await _answer(server, workspace, request, response, read, keeps=True)


@router.get(
    "/workspaces/{workspace}/graph/communities/{community}",
    responses=_UNCHANGED,
    response_model=Envelope[CommunityView],
)
async def open_community(
    server: Server,
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[CommunityQuery, Query()],
    community: CommunityId,
) -> Envelope[CommunityView] | Response:
    """Return what lies in a community: those inside, and its most important entities."""

    def read(graph_map: GraphMap) -> CommunityView:
        place = graph_map.find_community(community)
        if place is None:
            raise NotFound(
                f"There is no community `{community}` on the map.",
                fix="List them: GET …/graph",
            )
        return chart_community(workspace, graph_map, place, asked)

    return await _answer(server, workspace, request, response, read)


@router.post("/workspaces/{workspace}/graph/neighbours")
async def find_neighbours(
    server: Server, workspace: ReadWorkspace, asked: NeighboursRequest
) -> Envelope[PartShape]:
    """Return the strongest neighbours of an entity that are not drawn yet; ``entities_total`` says
    how many there are.
    """

    def find() -> PartShape:
        graph_map = workspace.map.of(workspace.base.store)
        places = graph_map.find_entities([asked.entity])
        if not places:
            raise _not_on_map(asked.entity)
        part = views.view_neighbours(
            graph_map,
            places[0],
            views.select(graph_map, read_wanted(workspace, asked)),
            known=[p for p in graph_map.find_entities(asked.known) if p != places[0]],
            limit=asked.limit,
            edge_limit=EDGES_FOR_EACH * (asked.limit + len(asked.known)),
        )
        return PartShape.of(graph_map, part, order="weight")

    return wrap(await server.threads.run(find))


@router.post("/workspaces/{workspace}/graph/entities")
async def place_entities(
    server: Server, workspace: ReadWorkspace, asked: EntitiesRequest
) -> Envelope[PartShape]:
    """Return where entities lie, and the relations among them; those that are not on the map are
    left out.
    """

    def find() -> PartShape:
        graph_map = workspace.map.of(workspace.base.store)
        part = views.view_entities(
            graph_map,
            graph_map.find_entities(asked.entities),
            views.select(graph_map, read_wanted(workspace, asked)),
            edge_limit=MOST_EDGES,
        )
        return PartShape.of(graph_map, part, order="asked")

    return wrap(await server.threads.run(find))


@router.get("/workspaces/{workspace}/graph/entities/{entity}")
async def show_entity(
    server: Server,
    workspace: ReadWorkspace,
    entity: Annotated[str, Path(max_length=40)],
    relations: Annotated[int, Query(ge=0, le=200)] = 50,
    sources: Annotated[int, Query(ge=0, le=50)] = 8,
) -> Envelope[EntityDetails]:
    """Return what is known of an entity: its relations, and the passages that speak of it."""

    def read() -> EntityDetails:
        store = workspace.base.store
        found = read_dossier(store, entity, relations=relations, passages=sources)
        if found is None:
            raise NotFound(
                f"There is no entity `{entity}`.",
                fix="It may have gone with its document. Find others: GET …/entities?name=…",
            )
        graph_map = workspace.map.of(store)
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

    return wrap(await server.threads.run(read))


async def _answer(
    server: Server,
    workspace: Workspace,
    request: Request,
    response: Response,
    read: Callable[[GraphMap], T],
    *,
    keeps: bool = False,
) -> Envelope[T] | Response:
    """Return a view of the map, or the word that it is as it was before.

    With ``keeps``, the view is kept for whoever asks next.
    """
    tag = await server.threads.run(_tag, workspace, str(request.url.query))
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if tag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)

    def make() -> T:
        return read(workspace.map.of(workspace.base.store))

    found = await server.threads.run(lambda: workspace.map.recall(tag, make) if keeps else make())
    response.headers.update(headers)
    return wrap(found)


def _tag(workspace: Workspace, query: str) -> str:
    """Return what changes with the index and with what is asked of it."""
    store = workspace.base.store
    key = workspace.map.of(store).key
    return f'W/"{content_id(key, store.generation(), query)}"'


def _not_on_map(entity: str) -> NotFound:
    return NotFound(
        f"The entity `{entity}` is not on the map.",
        fix="If it came since communities were found, find them anew: POST …/communities/refresh",
    )
