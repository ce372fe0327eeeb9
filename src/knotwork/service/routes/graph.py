"""Routes of the graph: neighbourhoods, entities, paths, names, communities and Cypher."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from knotwork.errors import NotFound
from knotwork.indexing.communities.index_reports import Topic, topics_within
from knotwork.knowledge_base import KnowledgeBase
from knotwork.records import Chunk, Document, Entity, Subgraph
from knotwork.service.access import ReadWorkspace, Server
from knotwork.service.responses import Envelope, wrap
from knotwork.service.schemas.answers import Offsets, PathShape, RequestModel, ResultShape, Text
from knotwork.service.workspaces import Workspace
from knotwork.stores.extensions import StoresCommunities, read_parents

MOST_RELATIONS = 2_000
MOST_SEEDS = 50

EntityNames = Annotated[list[Text], Field(min_length=1, max_length=MOST_SEEDS)]


class ExploreRequest(RequestModel):
    """Walk the graph from names, strongest relations first."""

    names: EntityNames
    direction: Literal["both", "in", "out"] = "both"
    depth: int = Field(2, ge=1, le=6)
    fan: int = Field(8, ge=1, le=100, description="Neighbours of each, at most.")
    limit: int = Field(50, ge=1, le=MOST_RELATIONS, description="Relations, at most.")


class NodeShape(BaseModel):
    """A node of the graph."""

    id: str
    label: str
    name: str
    properties: dict[str, str | int | float]


class EdgeShape(BaseModel):
    """A relation, and the passages that state it."""

    source: str
    type: str
    target: str
    relation: str
    weight: float
    chunks: list[str]


class SubgraphShape(BaseModel):
    """A part of the graph, in the order it was reached; ``is_cut`` says that there is more."""

    nodes: list[NodeShape]
    edges: list[EdgeShape]
    is_cut: bool

    @classmethod
    def of(cls, subgraph: Subgraph, *, limit: int) -> Self:
        """Return a subgraph as JSON."""
        return cls(
            nodes=[
                NodeShape(
                    id=node.id, label=node.label, name=node.name, properties=dict(node.properties)
                )
                for node in subgraph.nodes
            ],
            edges=[
                EdgeShape(
                    source=edge.source,
                    type=edge.type,
                    target=edge.target,
                    relation=edge.relation,
                    weight=edge.weight,
                    chunks=list(edge.chunks),
                )
                for edge in subgraph.edges
            ],
            is_cut=len(subgraph.edges) >= limit,
        )


class PathsRequest(RequestModel):
    """Find the shortest paths between two things."""

    names: Annotated[list[Text], Field(min_length=2, max_length=2)]
    limit: int = Field(5, ge=1, le=50, description="Paths, at most.")


class PathList(BaseModel):
    """Paths, best first."""

    paths: list[PathShape]


class StatementRequest(RequestModel):
    """Run a read-only statement."""

    statement: Annotated[str, Field(min_length=1, max_length=20_000)]
    parameters: dict[str, Any] = Field(default_factory=dict)
    graph: str = Field("", max_length=200, description="An imported graph; empty is the index.")
    limit: int = Field(1_000, ge=1, le=10_000, description="Rows, at most.")
    timeout_s: float = Field(10.0, gt=0, le=60)


class MemberShape(BaseModel):
    """A member of a community."""

    id: str
    name: str
    importance: float


class SupportShape(BaseModel):
    """Where a statement of a report stands."""

    document: str
    document_id: str
    chunk_id: str
    span: Offsets


class FindingShape(BaseModel):
    """A statement of a report, and where it stands."""

    text: str
    supports: list[SupportShape]


class CommunityShape(BaseModel):
    """A community with its report; level 0 is the topmost."""

    id: str
    level: int
    parent: str | None
    children: int = Field(description="Communities within it, of the next level.")
    is_stale: bool = Field(description="Whether what it is about changed since it was found.")
    size: int
    members: list[MemberShape]
    title: str
    summary: str
    rating: float
    language: str
    source: str
    score: float
    findings: list[FindingShape]

    @classmethod
    def of(
        cls,
        topic: Topic,
        names: Mapping[str, str],
        chunks: Mapping[str, Chunk],
        documents: Mapping[str, Document],
        *,
        children: int,
        is_stale: bool,
    ) -> Self:
        """Return a community as JSON; ``names`` are those of the members that are shown."""
        community, report = topic.community, topic.report
        return cls(
            id=community.id,
            level=community.level,
            parent=community.parent_id,
            children=children,
            is_stale=is_stale,
            size=community.size,
            members=[
                MemberShape(
                    id=member.entity_id,
                    name=names[member.entity_id],
                    importance=round(member.importance, 6),
                )
                for member in community.members
                if member.entity_id in names
            ],
            title=report.title,
            summary=report.summary,
            rating=report.rating,
            language=report.language,
            source=report.source,
            score=round(topic.score, 4),
            findings=[
                FindingShape(
                    text=finding.text,
                    supports=[
                        SupportShape(
                            document=documents[chunks[support.chunk_id].document_id].uri,
                            document_id=chunks[support.chunk_id].document_id,
                            chunk_id=support.chunk_id,
                            span=list(support.span),
                        )
                        for support in finding.supports
                        if support.chunk_id in chunks
                    ],
                )
                for finding in report.findings
            ],
        )


class CommunityList(BaseModel):
    """Communities, the first of ``total``; ``levels`` are their numbers from the topmost on,
    ``is_current`` says whether they are those of the documents as they are.
    """

    communities: list[CommunityShape]
    total: int
    levels: list[int]
    is_current: bool


class EntityShape(BaseModel):
    """A thing of the graph."""

    id: str
    name: str
    type: str
    chunks: int


class EntityList(BaseModel):
    """Things, best match first."""

    entities: list[EntityShape]


class ThingShape(BaseModel):
    """A thing with several names, the usual one first."""

    names: list[str]
    entity_ids: list[str]
    chunks: int


class PairShape(BaseModel):
    """Two names that are held apart, or were decided on."""

    first: str
    second: str
    verdict: str
    source: str
    reason: str


class NameList(BaseModel):
    """Which names mean one thing."""

    things: list[ThingShape]
    apart: list[PairShape]
    compared: bool
    waiting: int


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
                for e in search_entities(workspace.base, name, limit=limit)
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
            communities=_describe_communities(workspace, topics[:limit], members),
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
                return _describe_communities(workspace, [topic], _MOST_MEMBERS)[0]
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


def _describe_communities(
    workspace: Workspace, topics: list[Topic], members: int
) -> list[CommunityShape]:
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


MOST_SCANNED = 20_000
"""Things whose names are looked through for a part; where there are more, whole words find them."""

_NAME_CONTAINS = (
    "MATCH (e:Entity) WHERE toLower(e.name) CONTAINS $part "
    "RETURN e.id ORDER BY NOT toLower(e.name) STARTS WITH $part, e.chunk_count DESC, e.name "
    "LIMIT $most"
)


def search_entities(base: KnowledgeBase, name: str, *, limit: int) -> list[Entity]:
    """Return entities by name, keywords left out: what is called just so, those with its words, the
    best first, then those with it as a part.

    Raises as `KnowledgeBase.cypher`.
    """
    store = base.store
    ids = [hit.id for hit in store.texts("entity").search(name, k=limit)]
    if len(ids) < limit and store.graph.entity_count() <= MOST_SCANNED:
        part = {"part": name.strip().lower(), "most": limit}
        ids += [str(row[0]) for row in base.cypher(_NAME_CONTAINS, part, row_limit=limit).rows]
    found = store.graph.entities(ids)
    known = (found[i] for i in dict.fromkeys(ids) if i in found)
    things = [entity for entity in known if not entity.is_keyword]
    wanted = name.strip().casefold()
    return sorted(things, key=lambda thing: thing.name.casefold() != wanted)[:limit]
