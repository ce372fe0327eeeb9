"""Routes of the graph: neighbourhoods, names, communities and statements."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from fastapi import APIRouter, Path, Query

from knotwork.errors import NotFound
from knotwork.indexing.communities.survey import Topic, topics_within
from knotwork.service.access import ReadWorkspace, Server
from knotwork.service.envelopes import Envelope, wrap
from knotwork.service.finding import find_things
from knotwork.service.shapes.answers import PathShape, ResultShape
from knotwork.service.shapes.graph import (
    CommunityList,
    CommunityShape,
    EntityList,
    EntityShape,
    ExploreRequest,
    NameList,
    PairShape,
    PathList,
    PathsRequest,
    StatementRequest,
    SubgraphShape,
    ThingShape,
)
from knotwork.service.workspaces import Workspace
from knotwork.stores.communities import StoresCommunities, read_parents

router = APIRouter(tags=["graph"])

_MOST_MEMBERS = 200


@router.post("/workspaces/{workspace}/explore")
async def explore_graph(
    server: Server, workspace: ReadWorkspace, asked: ExploreRequest
) -> Envelope[SubgraphShape]:
    """Walk the graph from names, strongest relations first; names that mean nothing are refused
    with the nearest ones.
    """
    subgraph = await server.threads.run(
        workspace.base.explore,
        asked.names,
        direction=asked.direction,
        depth=asked.depth,
        fan=asked.fan,
        limit=asked.limit,
    )
    return wrap(SubgraphShape.of(subgraph, limit=asked.limit))


@router.get("/workspaces/{workspace}/entities")
async def find_entities(
    server: Server,
    workspace: ReadWorkspace,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Envelope[EntityList]:
    """Find things by name: by its words, or by a part of it as somebody types it."""

    def find() -> EntityList:
        return EntityList(
            entities=[
                EntityShape(id=e.id, name=e.name, type=e.type, chunks=e.chunk_count)
                for e in find_things(workspace.base, name, limit=limit)
            ]
        )

    return wrap(await server.threads.run(find))


@router.post("/workspaces/{workspace}/paths")
async def find_paths(
    server: Server, workspace: ReadWorkspace, asked: PathsRequest
) -> Envelope[PathList]:
    """Find the shortest paths between two things, each relation with a passage that states it."""

    def find() -> PathList:
        paths = workspace.base.paths(*asked.names, limit=asked.limit)
        return PathList(paths=[PathShape.of(path) for path in paths])

    return wrap(await server.threads.run(find))


@router.get("/workspaces/{workspace}/names")
async def list_names(
    server: Server,
    workspace: ReadWorkspace,
    about: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> Envelope[NameList]:
    """List the things that have several names, and the names that are held apart."""

    def read() -> NameList:
        known = workspace.base.same_names(about)
        return NameList(
            things=[
                ThingShape(names=list(t.names), entity_ids=list(t.entity_ids), chunks=t.chunks)
                for t in known.things[:limit]
            ],
            apart=[
                PairShape(
                    first=named.first,
                    second=named.second,
                    verdict=named.decision.verdict,
                    source=named.decision.source,
                    reason=named.decision.reason,
                )
                for named in known.apart[:limit]
            ],
            compared=known.compared,
            waiting=known.waiting,
        )

    return wrap(await server.threads.run(read))


@router.get("/workspaces/{workspace}/communities")
async def list_communities(
    server: Server,
    workspace: ReadWorkspace,
    about: Annotated[str, Query(max_length=1_000)] = "",
    level: Annotated[int | None, Query(ge=0, le=100, description="0 is the topmost.")] = None,
    parent: Annotated[
        str, Query(max_length=40, description="A community: those within it, and no other.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 20,
    members: Annotated[int, Query(ge=0, le=_MOST_MEMBERS)] = 8,
) -> Envelope[CommunityList]:
    """List communities with their reports: those about something, of a level or within another.

    Nothing is brought up to date here: a job does that after indexing, and on request.
    """

    def read() -> CommunityList:
        store = workspace.base.store
        levels = store.communities.levels() if isinstance(store, StoresCommunities) else []
        if parent:
            topics = topics_within(store, parent)
            total = len(topics)
        else:
            topics = workspace.base.topics(about, level=level, limit=limit)
            total = len(topics) if about or not levels else len(levels[level or 0])
        return CommunityList(
            communities=_describe(workspace, topics[:limit], members),
            total=total,
            levels=list(range(len(levels))),
            is_current=workspace.base.has_communities,
        )

    return wrap(await server.threads.run(read))


@router.get("/workspaces/{workspace}/communities/{community}")
async def show_community(
    server: Server,
    workspace: ReadWorkspace,
    community: Annotated[str, Path(max_length=40)],
) -> Envelope[CommunityShape]:
    """Return a community with its report and its members."""

    def read() -> CommunityShape:
        store = workspace.base.store
        if isinstance(store, StoresCommunities):
            held, reports = (
                store.communities.communities([community]),
                store.communities.reports([community]),
            )
            if community in held and community in reports:
                topic = Topic(held[community], reports[community])
                return _describe(workspace, [topic], _MOST_MEMBERS)[0]
        raise NotFound(f"There is no community `{community}`.", fix="List them: GET …/communities")

    return wrap(await server.threads.run(read))


@router.post("/workspaces/{workspace}/cypher")
async def run_statement(
    server: Server, workspace: ReadWorkspace, asked: StatementRequest
) -> Envelope[ResultShape]:
    """Run a read-only openCypher statement on the index, or on an imported graph."""
    result = await server.threads.run(
        workspace.base.cypher,
        asked.statement,
        asked.parameters,
        graph=asked.graph,
        row_limit=asked.limit,
        timeout_s=asked.timeout_s,
    )
    return wrap(ResultShape.of(result))


def _describe(workspace: Workspace, topics: list[Topic], members: int) -> list[CommunityShape]:
    store = workspace.base.store
    chunks = store.documents.chunks({i for topic in topics for i in topic.report.chunk_ids})
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    names = workspace.base.member_names(topics, most=members)
    held = store.communities if isinstance(store, StoresCommunities) else None
    parents = Counter(read_parents(held).values()) if held and topics else Counter()
    stale = frozenset(held.stale()) if held and topics else frozenset()
    return [
        CommunityShape.of(
            topic,
            names,
            chunks,
            documents,
            children=parents[topic.community.id],
            is_stale=topic.community.id in stale,
        )
        for topic in topics
    ]
