"""Routes for the graph: neighbourhoods, entities, paths, communities, Cypher, imported graphs."""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import File, Form, Query, UploadFile
from fastapi import Path as InPath
from pydantic import Field

from knotwork._durable_files import move_folder
from knotwork._extensions.graphs.graph_import.formats import list_files
from knotwork._extensions.graphs.graph_import.graph_importer import graph_root
from knotwork._extensions.server.access import ReadWorkspace, Routes, Server, WriteWorkspace
from knotwork._extensions.server.job_runner import hide_folder
from knotwork._extensions.server.job_store import Job
from knotwork._extensions.server.private_files import make_private_folder
from knotwork._extensions.server.schemas import REFUSED, RequestModel, Text
from knotwork._extensions.server.uploads import (
    ReceivedFile,
    UploadRoute,
    check_content,
    parse_upload_name,
    store_files,
)
from knotwork._extensions.server.workspaces import INCOMPLETE_PREFIX, Workspace
from knotwork._indexing.communities.index_reports import Topic, topics_within
from knotwork._indexing.resolution.resolver import SameNames
from knotwork._knowledge_base import KnowledgeBase
from knotwork._shapes.base import Json, Shape, typed
from knotwork._shapes.graph import COMMUNITY, SUBGRAPH, describe_communities
from knotwork._shapes.results import PATH
from knotwork._stores.base import LedgerEntry
from knotwork.errors import LoadError, NotFound
from knotwork.records import GRAPH_URI, Entity, QueryResult

MOST_RELATIONS = 2_000
MOST_SEEDS = 50

EntityNames = Annotated[list[Text], Field(min_length=1, max_length=MOST_SEEDS)]


class ExploreRequest(RequestModel):
    """Explore the graph around entities, strongest relations first."""

    names: EntityNames
    direction: Literal["both", "in", "out"] = "both"
    depth: int = Field(2, ge=1, le=6)
    fan: int = Field(8, ge=1, le=100, description="Maximum of neighbours per entity.")
    limit: int = Field(50, ge=1, le=MOST_RELATIONS, description="Maximum of relations.")


class PathsRequest(RequestModel):
    """Find the shortest paths between two entities."""

    names: Annotated[list[Text], Field(min_length=2, max_length=2)]
    limit: int = Field(5, ge=1, le=50, description="Maximum of paths.")


class StatementRequest(RequestModel):
    """Run a read-only query."""

    statement: Annotated[str, Field(min_length=1, max_length=20_000)]
    parameters: dict[str, Any] = Field(default_factory=dict)
    graph: str = Field("", max_length=200, description="An imported graph; empty: the index.")
    limit: int = Field(1_000, ge=1, le=10_000, description="Maximum of rows.")
    timeout_s: float = Field(10.0, gt=0, le=60)


PATH_LIST = Shape("PathList", None, "Paths, best first.", paths=PATH.many)
COMMUNITY_LIST = Shape(
    "CommunityList",
    None,
    "The first of ``total`` communities; ``levels`` are the level numbers from the top, and "
    "``is_current`` is false if documents changed since the communities were built.",
    communities=COMMUNITY.many,
    total=int,
    levels=list[int],
    is_current=bool,
)
ENTITY = Shape("EntityShape", Entity, "An entity of the graph.", "id name type chunks=chunk_count")
ENTITY_LIST = Shape("EntityList", None, "Entities, best match first.", entities=ENTITY.many)
IMPORTED = Shape(
    "ImportedGraph",
    None,
    "An imported graph; ``name`` is its name in queries.",
    **typed(str, "name uri"),
    **typed(int, "documents chunks"),
    property_graph=bool,
)
UPLOAD = Shape(
    "GraphUpload",
    None,
    "The stored and refused files of a graph, and the job that imports them.",
    name=str,
    files=list[str],
    refused=REFUSED.many,
    job=Job,
)

router = Routes("graph")
uploads = Routes("graph", route_class=UploadRoute)
"""Routes with a larger limit for the request body."""

_MOST_MEMBERS = 200


@router.post("/workspaces/{workspace}/explore")
def explore_graph(workspace: ReadWorkspace, asked: ExploreRequest) -> Annotated[Json, SUBGRAPH]:
    """Explore the graph around entities, strongest relations first.

    The error for an unknown name suggests similar names.
    """
    subgraph = workspace.base.graph.explore(**asked.model_dump())
    return SUBGRAPH(subgraph, is_cut=len(subgraph.edges) >= asked.limit)


@router.get("/workspaces/{workspace}/entities")
def find_entities(
    workspace: ReadWorkspace,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Annotated[Json, ENTITY_LIST]:
    """Find entities by the words of a name, or by a part of it."""
    return ENTITY_LIST(entities=search_entities(workspace.base, name, limit=limit))


@router.post("/workspaces/{workspace}/paths")
def find_paths(workspace: ReadWorkspace, asked: PathsRequest) -> Annotated[Json, PATH_LIST]:
    """Find the shortest paths between two entities, each relation with a passage that states it."""
    return PATH_LIST(paths=workspace.base.graph.shortest_paths(*asked.names, limit=asked.limit))


@router.get("/workspaces/{workspace}/names")
def list_names(
    workspace: ReadWorkspace,
    about: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> SameNames:
    """List the entities with several names, and the names that are kept apart."""
    known = workspace.base.entities.aliases(about)
    return replace(known, things=known.things[:limit], apart=known.apart[:limit])


@router.get("/workspaces/{workspace}/communities")
def list_communities(
    workspace: ReadWorkspace,
    about: Annotated[str, Query(max_length=1_000)] = "",
    level: Annotated[int | None, Query(ge=0, le=100, description="0 is the top level.")] = None,
    parent: Annotated[
        str, Query(max_length=40, description="A community: list only those inside it.")
    ] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 20,
    members: Annotated[int, Query(ge=0, le=_MOST_MEMBERS)] = 8,
) -> Annotated[Json, COMMUNITY_LIST]:
    """List communities with their reports: by topic, by level, or inside another community.

    This returns the stored communities. A job updates them after indexing and on request.
    """
    store = workspace.base.store
    communities = store.capabilities.communities
    levels = communities.levels() if communities is not None else []
    if parent:
        topics: Sequence[Topic] = topics_within(store, parent)
        total = len(topics)
    else:
        topics = workspace.base.communities.stored(about, level=level, limit=limit)
        total = len(topics) if about or not levels else len(levels[level or 0])
    return COMMUNITY_LIST(
        communities=describe_communities(workspace.base, topics[:limit], members=members),
        total=total,
        levels=list(range(len(levels))),
        is_current=workspace.base.communities.is_current(),
    )


@router.get("/workspaces/{workspace}/communities/{community}")
def show_community(
    workspace: ReadWorkspace,
    community: Annotated[str, InPath(max_length=40)],
) -> Annotated[Json, COMMUNITY]:
    """Return a community with its report and its members."""
    communities = workspace.base.store.capabilities.communities
    if communities is not None:
        found = communities.communities([community])
        reports = communities.reports([community])
        if community in found and community in reports:
            topic = Topic(found[community], reports[community])
            return describe_communities(workspace.base, [topic], members=_MOST_MEMBERS)[0]
    raise NotFound(f"Unknown community `{community}`.", fix="List communities: GET …/communities")


@router.post("/workspaces/{workspace}/cypher")
async def run_statement(
    server: Server, workspace: ReadWorkspace, asked: StatementRequest
) -> QueryResult:
    """Run a read-only openCypher query on the index or on an imported graph."""
    return await server.statements.run(
        workspace.base.graph.cypher,
        asked.statement,
        asked.parameters,
        graph=asked.graph,
        row_limit=asked.limit,
        timeout_s=asked.timeout_s,
    )


MOST_SCANNED = 20_000
"""Most entities for which parts of names are searched; in larger graphs, only whole words are."""

_NAME_CONTAINS = (
    "MATCH (e:Entity) WHERE toLower(e.name) CONTAINS $part "
    "RETURN e.id ORDER BY NOT toLower(e.name) STARTS WITH $part, e.chunk_count DESC, e.name "
    "LIMIT $most"
)


def search_entities(base: KnowledgeBase, name: str, *, limit: int) -> list[Entity]:
    """Return entities by name, without keywords.

    Exact matches come first, then those with its words, best first, then those that contain it.
    Raises like `KnowledgeGraph.cypher`.
    """
    store = base.store
    ids = [hit.id for hit in store.texts("entity").search(name, k=limit)]
    if len(ids) < limit and store.graph.entity_count() <= MOST_SCANNED:
        part = {"part": name.strip().lower(), "most": limit}
        named = base.graph.cypher(_NAME_CONTAINS, part, row_limit=limit)
        ids += [str(row[0]) for row in named.rows]
    found = store.graph.entities(ids)
    known = (found[i] for i in dict.fromkeys(ids) if i in found)
    entities = [entity for entity in known if not entity.is_keyword]
    wanted = name.strip().casefold()
    return sorted(entities, key=lambda entity: entity.name.casefold() != wanted)[:limit]


GraphFormatName = Literal["table", "graphml", "turtle", "ntriples", "nquads", "trig"]


GraphName = Annotated[str, InPath(description="The name of an imported graph.", max_length=200)]


@uploads.post("/workspaces/{workspace}/graphs", status_code=202)
def import_graph(
    server: Server,
    workspace: WriteWorkspace,
    files: Annotated[list[UploadFile], File(description="Triples, tables, GraphML or RDF.")],
    name: Annotated[str, Form(max_length=100, description="Default: that of the first file.")] = "",
    format: Annotated[  # noqa: A002
        GraphFormatName | None, Form(description="Default: by the suffix of the files.")
    ] = None,
    columns: Annotated[
        str, Form(max_length=1_000, description="Columns of tables without a header, by commas.")
    ] = "",
    delimiter: Annotated[str, Form(max_length=4, description="Column separator.")] = "",
    vectors: Annotated[
        bool | None,
        Form(description="Whether to embed passages; default: for graphs up to 2,000 entities."),
    ] = None,
) -> Annotated[Json, UPLOAD]:
    """Upload the files of a graph, and start a job that imports it.

    It replaces a graph of the same name.
    """
    token = secrets.token_hex(8)
    folder = workspace.graphs / f"{INCOMPLETE_PREFIX}{token}"
    make_private_folder(folder)
    max_file_mb = workspace.base.settings.index.max_file_mb

    def store(file: ReceivedFile) -> str:
        stored_name = parse_upload_name(file.name).name  # folders are irrelevant here
        if (folder / stored_name).exists():
            raise LoadError(
                "name", f"`{stored_name}` occurs twice.", fix="Rename one of the files."
            )
        check_content(file, max_file_mb=max_file_mb)
        file.path.rename(folder / stored_name)
        return stored_name

    try:
        stored, refused = store_files(files, store)
        with hide_folder(folder):
            list_files([folder / stored_name for stored_name in stored], format=format or "")
        move_folder(folder, workspace.graphs / token)
    except BaseException:
        shutil.rmtree(folder)
        raise
    name = " ".join(name.replace("/", " ").split()) or Path(stored[0]).stem
    arguments = {
        "name": name,
        "format": format or "",
        "columns": [part.strip() for part in columns.split(",") if part.strip()],
        "delimiter": delimiter,
        "vectors": vectors,
        "folder": token,
        "files": stored,
    }
    job = server.jobs.submit(workspace.name, "import_graph", arguments)
    return UPLOAD(name=name, files=stored, refused=refused, job=job)


@router.get("/workspaces/{workspace}/graphs")
def list_graphs(workspace: ReadWorkspace) -> list[Annotated[Json, IMPORTED]]:
    """List the imported graphs by name."""
    store = workspace.base.store
    property_graphs = store.capabilities.property_graphs
    graphs = property_graphs.names() if property_graphs is not None else []
    return [
        IMPORTED(
            name=name,
            uri=graph_root(name),
            documents=len(entries),
            chunks=sum(entry.chunks for entry in entries),
            property_graph=name in graphs,
        )
        for name, entries in sorted(_imported_graphs(workspace).items())
    ]


@router.delete("/workspaces/{workspace}/graphs/{graph}", status_code=202)
def delete_graph(server: Server, workspace: WriteWorkspace, graph: GraphName) -> Job:
    """Start a job that removes an imported graph with all its passages."""
    entries = _imported_graphs(workspace).get(graph)
    if entries is None:
        raise NotFound(f"Unknown graph `{graph}`.", fix="List graphs: GET …/graphs")
    uris = [entry.uri for entry in entries]
    return server.jobs.submit(workspace.name, "delete", {"documents": uris})


def _imported_graphs(workspace: Workspace) -> dict[str, list[LedgerEntry]]:
    found = defaultdict(list)
    for entry in workspace.base.documents():
        if entry.root.startswith(GRAPH_URI):
            found[entry.root.removeprefix(GRAPH_URI)].append(entry)
    return found
