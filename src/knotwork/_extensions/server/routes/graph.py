"""Routes for the graph: neighbourhoods, entities, paths, communities, Cypher, imports, and its map.

Maps are sent as columns, so that field names occur once and not for each node.
"""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import File, Form, Query, Request, Response, UploadFile
from fastapi import Path as InPath
from pydantic import Field

from knotwork._durable_files import move_folder
from knotwork._extensions.graphs.graph_import.formats import list_files
from knotwork._extensions.graphs.graph_import.graph_importer import graph_root
from knotwork._extensions.graphs.shapes import COMMUNITY, SUBGRAPH, describe_communities
from knotwork._extensions.server.access import ReadWorkspace, Routes, Server, WriteWorkspace
from knotwork._extensions.server.graph_map import (
    NOWHERE,
    GraphMap,
    Keys,
    Mask,
    Names,
    count_members,
)
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
from knotwork._retrieval.entity_lookup import Dossier, DossierPassage, read_dossier
from knotwork._shapes.base import Json, Shape, View, typed
from knotwork._shapes.results import PATH
from knotwork._stores.base import LedgerEntry
from knotwork.errors import InvalidRequest, LoadError, NotFound
from knotwork.records import GRAPH_URI, CommunityReport, Edge, Entity, QueryResult, content_id

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


MOST_NEIGHBOURS = 30
MOST_KNOWN = 2_000
MOST_NODES = 2_000
MOST_EDGES = 4_000
MOST_CIRCLES = 500

EntityId = Annotated[str, Field(min_length=1, max_length=40)]
Position = Annotated[int, Field(ge=0)]
NameFilter = Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)]


class FilterFields(RequestModel):
    """Filters of a map; the defaults select everything."""

    types: NameFilter = Field(default_factory=list, description="Types of entities.")
    relations: NameFilter = Field(default_factory=list, description="Names of relations.")
    weight: float = Field(default=0.0, ge=0, le=1e9, description="Minimum weight of relations.")
    document: str = Field(default="", max_length=40, description="Only entities in this document.")


class LevelQuery(FilterFields):
    """Show a level of the map."""

    level: int = Field(0, ge=0, le=100, description="0 is the top level.")
    limit: int = Field(60, ge=1, le=MOST_CIRCLES, description="Maximum of communities.")


class CommunityQuery(FilterFields):
    """Show the content of a community."""

    limit: int = Field(30, ge=1, le=MOST_NODES, description="Maximum of entities.")


class NeighboursRequest(FilterFields):
    """Find the strongest neighbours of an entity that are not drawn yet."""

    entity: EntityId
    known: Annotated[list[EntityId], Field(max_length=MOST_KNOWN)] = Field(
        default_factory=list,
        description="Entities already drawn: not returned, but relations to them are.",
    )
    limit: int = Field(MOST_NEIGHBOURS, ge=1, le=MOST_NEIGHBOURS)


class EntitiesRequest(FilterFields):
    """Find the positions of entities, and the relations among them."""

    entities: Annotated[list[EntityId], Field(min_length=1, max_length=MOST_KNOWN)]


CIRCLES = Shape(
    "CircleColumns",
    None,
    "Communities: ``x``, ``y`` and ``radius`` on the map; ``size`` counts entities, ``matching`` "
    "those that match the filters, ``children`` the communities of the next level inside.",
    **typed(list[str], "id title"),
    **typed(list[int], "level size matching children"),
    parent=list[str | None],
    **typed(list[float], "x y radius"),
)
LINKS = Shape(
    "LinkColumns",
    None,
    "Links between communities: positions in their list, and the total weight of relations.",
    **typed(list[Position], "source target"),
    weight=list[float],
)
PLACES = Shape(
    "EntityColumns",
    None,
    "Entities with position, number of passages that mention them, and lowest community.",
    **typed(list[str], "id name type"),
    **typed(list[float], "x y"),
    chunks=list[int],
    community=list[str | None],
)
EDGES = Shape(
    "EdgeColumns",
    None,
    "Relations, strongest first. ``source`` and ``target`` are positions in the list of entities "
    "followed by ``anchors``; ``relation`` is a position in ``relations``.",
    **typed(list[Position], "source target relation"),
    weight=list[float],
    **typed(list[str], "relations anchors"),
)
FACET = Shape("Facet", None, "A value to filter by, with its count.", name=str, count=int)
FACETS = Shape(
    "FacetList",
    None,
    "The most frequent values; ``total`` is the number of all values.",
    values=FACET.many,
    total=int,
)
LEVEL = Shape(
    "LevelShape",
    None,
    "A level of communities; half of its entities are in communities of at least ``radius``.",
    **typed(int, "level communities"),
    radius=float,
)
OVERVIEW = Shape(
    "Overview",
    None,
    "A level of the map: the largest communities and the strongest links among them.",
    **typed(str, "key order"),
    is_current=bool,
    radius=float,
    **typed(int, "entities relations level total links_total"),
    levels=LEVEL.many,
    communities=CIRCLES.json,
    links=LINKS.json,
    **typed(FACETS.json, "types relation_names"),
)
ANCESTOR = Shape(
    "AncestorShape",
    None,
    "A community that contains an entity or another community.",
    **typed(str, "id title"),
    level=int,
)
PART = Shape(
    "PartShape",
    None,
    "Entities with the relations among them, and the totals they were taken from.",
    entities=PLACES.json,
    **typed(int, "entities_total edges_total"),
    order=str,
    edges=EDGES.json,
)
OPENED = Shape(
    "CommunityView",
    None,
    "The content of a community: its children, its most important entities, and the facets.",
    **typed(str, "key summary"),
    **typed(CIRCLES.json, "circle children"),
    around=ANCESTOR.many,
    **typed(int, "children_total links_total"),
    links=LINKS.json,
    part=PART.json,
    **typed(FACETS.json, "types relation_names"),
)
ROW = View(
    "RelationRow",
    Edge,
    "A relation of an entity; ``forward`` is true if the entity is its source.",
    "relation forward other other_name other_type weight chunks",
    forward=bool,
    **typed(str, "other other_name other_type"),
)
DOSSIER = Shape(
    "EntityDetails",
    Dossier,
    "The details of an entity; ``x`` and ``y`` are null if it is not on the map.",
    "id=entity.id name=entity.name type=entity.type names description description_source x y "
    "communities relations relations_total sources=passages sources_total=entity.chunk_count",
    **typed(float | None, "x y"),
    communities=ANCESTOR.many,
    relations=ROW.many,
    relations_total=int,
    sources=list[DossierPassage],
)
PartJson = Annotated[Json, PART]


CommunityId = Annotated[str, InPath(max_length=40)]
_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified."}}
_LINKS_FOR_EACH = 3
"""Links drawn per community."""

_EDGES_FOR_EACH = 3
"""Relations drawn per entity."""

_FEWEST_EDGES = 90
_MOST_FACETS = 40


@router.get("/workspaces/{workspace}/graph", responses=_NOT_MODIFIED)
def show_map(
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[LevelQuery, Query()],
) -> Annotated[Json, OVERVIEW] | Response:
    """Return a level of the map: its largest communities with their positions and links.

    The map is built once for each state of the communities, and cached.
    """

    def read() -> Json:
        view = _View(workspace, asked)
        drawn = view.map
        if asked.level and asked.level >= drawn.levels:
            raise InvalidRequest(
                f"The map has no level {asked.level}.",
                fix=f"Use a level from 0 (the top level) to {max(drawn.levels - 1, 0)}.",
            )
        has_children = np.isin(np.arange(len(drawn.community_levels)), drawn.community_parents)
        is_above = (drawn.community_levels < asked.level) & ~has_children
        places = np.flatnonzero((drawn.community_levels == asked.level) | is_above)
        shown = view.largest(places, asked.limit)
        links, links_total = view.links(shown, limit=_LINKS_FOR_EACH * asked.limit)
        types, relations = view.facets()
        return OVERVIEW(
            key=drawn.key,
            is_current=workspace.base.communities.is_current(),
            radius=round(float(drawn.radius), 2),
            entities=len(drawn.entity_keys),
            relations=len(drawn.edge_sources),
            levels=[_describe_level(drawn, number) for number in range(drawn.levels)],
            level=asked.level,
            communities=view.circles(shown),
            total=len(places),
            order="size",
            links=links,
            links_total=links_total,
            types=types,
            relation_names=relations,
        )

    return _cached_response(workspace, request, response, read, keeps=True)


@router.get("/workspaces/{workspace}/graph/communities/{community}", responses=_NOT_MODIFIED)
def open_community(
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[CommunityQuery, Query()],
    community: CommunityId,
) -> Annotated[Json, OPENED] | Response:
    """Return the content of a community: its child communities and most important entities."""

    def read() -> Json:
        view = _View(workspace, asked)
        drawn = view.map
        place = drawn.find_community(community)
        if place is None:
            raise NotFound(
                f"The community `{community}` is not on the map.",
                fix="List communities: GET …/graph",
            )
        children = np.flatnonzero(drawn.community_parents == place)
        inner = view.largest(children, MOST_CIRCLES)
        links, links_total = view.links(inner, limit=_LINKS_FOR_EACH * len(inner))
        inside = drawn.inside(place)
        types, relations = view.facets(inside)
        fitting = inside[view.entities[inside]]
        importance = drawn.importance[int(drawn.community_levels[place])][fitting]
        edges = min(max(_EDGES_FOR_EACH * asked.limit, _FEWEST_EDGES), MOST_EDGES)
        report = view.reports([place]).get(place)
        return OPENED(
            key=drawn.key,
            circle=view.circles([place]),
            summary=report.summary if report else "",
            around=view.ancestors(drawn.around(place)),
            children=view.circles(inner),
            children_total=len(children),
            links=links,
            links_total=links_total,
            part=view.part(
                _highest(fitting, importance, asked.limit),
                total=len(fitting),
                order="importance",
                edge_limit=edges,
            ),
            types=types,
            relation_names=relations,
        )

    return _cached_response(workspace, request, response, read)


@router.post("/workspaces/{workspace}/graph/neighbours")
def find_neighbours(workspace: ReadWorkspace, asked: NeighboursRequest) -> PartJson:
    """Return the strongest neighbours of an entity that are not drawn yet; ``entities_total`` is
    the number of all of them.
    """
    view = _View(workspace, asked)
    drawn = view.map
    places = drawn.find_entities([asked.entity])
    if not places:
        raise NotFound(
            f"The entity `{asked.entity}` is not on the map.",
            fix="If it was added after the last update: POST …/communities/refresh",
        )
    entity = places[0]
    known = [place for place in drawn.find_entities(asked.known) if place != entity]
    edges = drawn.edges_at(entity)
    edges = edges[view.edges[edges]]
    others = drawn.edge_sources[edges] + drawn.edge_targets[edges] - entity
    weights = np.bincount(others, weights=drawn.edge_weights[edges], minlength=1)
    weights[[place for place in known if place < len(weights)]] = 0.0
    found = np.flatnonzero(weights)
    return view.part(
        _highest(found, weights[found], asked.limit),
        total=len(found),
        order="weight",
        edge_limit=_EDGES_FOR_EACH * (asked.limit + len(asked.known)),
        known=[entity, *known],
    )


@router.post("/workspaces/{workspace}/graph/entities")
def place_entities(workspace: ReadWorkspace, asked: EntitiesRequest) -> PartJson:
    """Return the positions of entities and the relations among them, without those that are not on
    the map.
    """
    view = _View(workspace, asked)
    places = list(dict.fromkeys(view.map.find_entities(asked.entities)))
    return view.part(places, total=len(places), order="asked", edge_limit=MOST_EDGES)


@router.get("/workspaces/{workspace}/graph/entities/{entity}")
def show_entity(
    workspace: ReadWorkspace,
    entity: Annotated[str, InPath(max_length=40)],
    relations: Annotated[int, Query(ge=0, le=200)] = 50,
    sources: Annotated[int, Query(ge=0, le=50)] = 8,
) -> Annotated[Json, DOSSIER]:
    """Return the details of an entity: its relations, and the passages that mention it."""
    found = read_dossier(workspace.base.store, entity, relations=relations, passages=sources)
    if found is None:
        raise NotFound(
            f"Unknown entity `{entity}`.",
            fix="Its document may have been removed. Find entities: GET …/entities?name=…",
        )
    view = _View(workspace, FilterFields())
    drawn = view.map
    rows = []
    for edge in found.edges:
        other = found.others.get(edge.target if edge.source == entity else edge.source)
        if other is not None:
            rows.append(
                ROW(
                    edge,
                    forward=edge.source == entity,
                    other=other.id,
                    other_name=other.name,
                    other_type=other.type,
                )
            )
    x = y = None
    around: list[int] = []
    total = len(rows)
    for place in drawn.find_entities([entity]):
        x, y = drawn.entity_places[place].astype(float).round(2).tolist()
        home = int(drawn.homes()[place])
        around = [] if home == NOWHERE else [*drawn.around(home), home]
        total = max(total, len(drawn.edges_at(place)))
    return DOSSIER(
        found,
        x=x,
        y=y,
        communities=view.ancestors(around),
        relations=rows,
        relations_total=total,
    )


def _cached_response(
    workspace: Workspace,
    request: Request,
    response: Response,
    read: Callable[[], Json],
    *,
    keeps: bool = False,
) -> Json | Response:
    """Return a view of the map, or 304 if the client has the current version.

    The entity tag is weak, and changes with the index and with the query. ``keeps`` stores the view
    in the cache of the map.
    """
    store = workspace.base.store
    key = workspace.map.current(store).key
    tag = f'W/"{content_id(key, store.generation(), str(request.url.query))}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if tag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    found = workspace.map.recall(tag, read) if keeps else read()
    response.headers.update(headers)
    return found


class _View:
    """The map of a workspace as a request filters it."""

    def __init__(self, workspace: Workspace, asked: FilterFields) -> None:
        self._workspace = workspace
        self._asked = asked
        self.map: GraphMap = workspace.map.current(workspace.base.store)

    @property
    def entities(self) -> Mask:
        """The mask of the selected entities. Raises InvalidRequest for an unknown document."""
        return self._selected[0]

    @property
    def edges(self) -> Mask:
        """The mask of the selected relations, which are between selected entities."""
        return self._selected[1]

    @cached_property
    def _selected(self) -> tuple[Mask, Mask]:
        return self._select(self._asked.types, self._asked.relations)

    @cached_property
    def _in_document(self) -> Mask | None:
        document, store = self._asked.document, self._workspace.base.store
        if not document:
            return None
        if not store.documents.documents([document]):
            raise InvalidRequest(
                f"Unknown document `{document}`.", fix="List documents: GET …/documents"
            )
        chunks = store.documents.chunk_ids_of([document]).get(document, [])
        mentions = store.graph.mentions(chunks)
        named = {mention.entity_id for found in mentions.values() for mention in found}
        return self._mask(self.map.find_entities(sorted(named)))

    def circles(self, places: Sequence[int]) -> Json:
        """Return communities with their titles, and the number of selected entities in each."""
        drawn, parents = self.map, self.map.community_parents
        laid = drawn.community_places[list(places)].astype(float).round(2)
        fits = count_members(drawn.chains, drawn.community_levels, self.entities)
        return CIRCLES(
            id=[drawn.community_id(place) for place in places],
            title=self._titles(places),
            level=[int(drawn.community_levels[place]) for place in places],
            parent=[
                None if parents[place] < 0 else drawn.community_id(int(parents[place]))
                for place in places
            ],
            x=laid[:, 0].tolist(),
            y=laid[:, 1].tolist(),
            radius=laid[:, 2].tolist(),
            size=[int(drawn.community_sizes[place]) for place in places],
            matching=[int(fits[place]) for place in places],
            children=[int((parents == place).sum()) for place in places],
        )

    def ancestors(self, places: Sequence[int]) -> list[Json]:
        """Return the titles and levels of communities."""
        return [
            ANCESTOR(
                id=self.map.community_id(place),
                title=title,
                level=int(self.map.community_levels[place]),
            )
            for place, title in zip(places, self._titles(places), strict=True)
        ]

    def largest(self, places: Keys, limit: int) -> list[int]:
        """Return the largest of some communities."""
        return _highest(places, self.map.community_sizes[places], limit)

    def links(self, places: Sequence[int], *, limit: int) -> tuple[Json, int]:
        """Return the strongest links between communities, and the number of all links.

        None of the communities is an ancestor of another.
        """
        drawn, count = self.map, len(places)
        place = np.full(len(drawn.community_keys) + 1, -1, dtype=np.int64)
        place[list(places)] = np.arange(count)
        label = np.full(len(drawn.entity_keys), -1, dtype=np.int64)
        for chain in drawn.chains:
            found = place[chain]
            label[found >= 0] = found[found >= 0]
        sources, targets = label[drawn.edge_sources], label[drawn.edge_targets]
        apart = self.edges & (sources >= 0) & (targets >= 0) & (sources != targets)
        sources, targets = sources[apart], targets[apart]
        pairs = np.minimum(sources, targets) * count + np.maximum(sources, targets)
        weights = np.bincount(pairs, weights=drawn.edge_weights[apart])
        linked = np.flatnonzero(weights)
        best = np.array(_highest(linked, weights[linked], limit), dtype=np.int64)
        columns = LINKS(
            source=(best // max(count, 1)).tolist(),
            target=(best % max(count, 1)).tolist(),
            weight=weights[best].tolist(),
        )
        return columns, len(linked)

    def facets(self, inside: Keys | None = None) -> tuple[Json, Json]:
        """Count entities by type and relations by name, most frequent first.

        A facet ignores its own filter, so that it shows the alternatives. ``inside`` limits the
        counts to the entities at these positions.
        """
        drawn, asked = self.map, self._asked
        entities = self._select([], asked.relations)[0] if asked.types else self.entities
        edges = self._select(asked.types, [])[1] if asked.relations else self.edges
        if inside is not None:
            within = self._mask(inside)
            entities = entities & within
            edges = edges & within[drawn.edge_sources] & within[drawn.edge_targets]
        counts = np.bincount(drawn.entity_types[entities], minlength=len(drawn.types))
        named = np.bincount(drawn.edge_relations[edges], minlength=len(drawn.relations))
        return _count_names(drawn.types, counts), _count_names(drawn.relations, named)

    def part(
        self,
        entities: Sequence[int],
        *,
        total: int,
        order: str,
        edge_limit: int,
        known: Sequence[int] = (),
    ) -> Json:
        """Return entities with the strongest relations among them and with those ``known``."""
        drawn = self.map
        laid = drawn.entity_places[list(entities)].astype(float).round(2)
        homes = drawn.homes()
        is_drawn = self._mask([*entities, *known])
        is_new = self._mask(entities) if known else is_drawn
        sources, targets = drawn.edge_sources, drawn.edge_targets
        fitting = self.edges & is_drawn[sources] & is_drawn[targets]
        found = np.flatnonzero(fitting & (is_new[sources] | is_new[targets]))
        edges = _highest(found, drawn.edge_weights[found], edge_limit)
        places = {entity: place for place, entity in enumerate(entities)}
        names: dict[int, int] = {}
        ends = [
            [places.setdefault(int(column[edge]), len(places)) for edge in edges]
            for column in (sources, targets)
        ]
        numbers = [names.setdefault(int(drawn.edge_relations[edge]), len(names)) for edge in edges]
        return PART(
            entities=PLACES(
                id=[drawn.entity_id(place) for place in entities],
                name=[drawn.entity_names[place] for place in entities],
                type=[drawn.types[int(drawn.entity_types[place])] for place in entities],
                x=laid[:, 0].tolist(),
                y=laid[:, 1].tolist(),
                chunks=[int(drawn.entity_chunks[place]) for place in entities],
                community=[
                    None if homes[place] < 0 else drawn.community_id(int(homes[place]))
                    for place in entities
                ],
            ),
            entities_total=total,
            order=order,
            edges=EDGES(
                source=ends[0],
                target=ends[1],
                weight=drawn.edge_weights[edges].astype(float).round(3).tolist(),
                relation=numbers,
                relations=[drawn.relations[name] for name in names],
                anchors=[drawn.entity_id(entity) for entity in list(places)[len(entities) :]],
            ),
            edges_total=len(found),
        )

    def reports(self, places: Sequence[int]) -> dict[int, CommunityReport]:
        """Return the reports of communities, by position."""
        communities = self._workspace.base.store.capabilities.communities
        if communities is None:
            return {}
        ids = {self.map.community_id(place): place for place in places}
        return {ids[key]: report for key, report in communities.reports(list(ids)).items()}

    def _titles(self, places: Sequence[int]) -> list[str]:
        """Return the titles of communities, or the top entities of those without a report."""
        drawn, reports, titles = self.map, self.reports(places), []
        for place in places:
            title = reports[place].title if place in reports else ""
            if not title:
                inside = drawn.inside(place)
                importance = drawn.importance[int(drawn.community_levels[place])][inside]
                title = ", ".join(drawn.entity_names[e] for e in _highest(inside, importance, 3))
            titles.append(title)
        return titles

    def _select(self, types: Collection[str], relations: Collection[str]) -> tuple[Mask, Mask]:
        """Return masks of the entities and relations that pass the filter; empty: any name."""
        drawn, weight = self.map, self._asked.weight
        sources, targets = drawn.edge_sources, drawn.edge_targets
        entities = np.ones(len(drawn.entity_keys), dtype=np.bool_)
        if types:
            entities &= _matches_names(drawn.types, types)[drawn.entity_types]
        if self._in_document is not None:
            entities &= self._in_document
        edges = entities[sources] & entities[targets]
        if weight > 0:
            edges &= drawn.edge_weights >= weight
        if relations:
            edges &= _matches_names(drawn.relations, relations)[drawn.edge_relations]
        if relations or weight > 0:
            linked = np.zeros(len(entities), dtype=np.bool_)
            linked[sources[edges]] = linked[targets[edges]] = True
            entities &= linked
        return entities, edges

    def _mask(self, places: Sequence[int] | Keys) -> Mask:
        mask = np.zeros(len(self.map.entity_keys), dtype=np.bool_)
        mask[np.asarray(places, dtype=np.int64)] = True
        return mask


def _highest(places: Keys, values: np.ndarray, limit: int) -> list[int]:
    """Return the positions with the highest values; of equal ones, the lowest positions."""
    best: list[int] = places[np.lexsort((places, -values))][:limit].tolist()
    return best


def _matches_names(names: Names, wanted: Collection[str]) -> Mask:
    return np.array([name in wanted for name in names], dtype=np.bool_)


def _count_names(names: Names, counts: Keys) -> Json:
    most = _highest(np.arange(len(counts)), counts, _MOST_FACETS)
    values = [FACET(name=names[p], count=int(counts[p])) for p in most if counts[p]]
    return FACETS(values=values, total=int(np.count_nonzero(counts)))


def _describe_level(drawn: GraphMap, level: int) -> Json:
    here = np.flatnonzero(drawn.community_levels == level)
    order = here[np.argsort(-drawn.community_places[here, 2], kind="stable")]
    covered = np.cumsum(drawn.community_sizes[order])
    half = int(np.searchsorted(covered, covered[-1] / 2)) if len(order) else 0
    radius = float(drawn.community_places[order[half], 2]) if len(order) else 0.0
    return LEVEL(level=level, communities=len(here), radius=round(radius, 2))
