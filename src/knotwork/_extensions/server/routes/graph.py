"""Routes for the graph: neighbourhoods, entities, paths, communities, Cypher, imports, and its map.

Maps are sent as columns, so that field names occur once and not for each node.
"""

from __future__ import annotations

import secrets
import shutil
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import File, Form, Query, Request, Response, UploadFile
from fastapi import Path as InPath
from pydantic import ConfigDict, Field

from knotwork._durable_files import move_folder
from knotwork._extensions.graphs.graph_import.formats import list_files
from knotwork._extensions.graphs.graph_import.graph_importer import graph_root
from knotwork._extensions.graphs.shapes import COMMUNITY, SUBGRAPH, describe_communities
from knotwork._extensions.server.access import ReadWorkspace, Routes, Server, WriteWorkspace
from knotwork._extensions.server.graph_map import GraphMap, Ints, Mask, Names
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
from knotwork._retrieval.chunk_entities import read_merged_entities, read_merged_entities_of
from knotwork._retrieval.entity_lookup import Dossier, DossierPassage, find_supports, read_dossier
from knotwork._shapes.base import Json, Shape, View, typed
from knotwork._shapes.results import PATH
from knotwork._stores.base import LedgerEntry, Store
from knotwork.errors import InvalidRequest, LoadError, NotFound, RetrievalError
from knotwork.records import (
    CO_OCCURRENCE_RELATION,
    GRAPH_URI,
    Edge,
    Entity,
    QueryResult,
    Span,
    content_id,
    relation_edge_type,
)

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


STATED = Shape(
    "StatedShape",
    None,
    "The sentence of a document that states a relation.",
    **typed(str, "source relation target text document_id title"),
    span=Span,
)
PATH_LIST = Shape(
    "PathList",
    None,
    "Paths, best first, and the sentences that state their relations.",
    paths=PATH.many,
    sentences=STATED.many,
)
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
    paths = workspace.base.graph.shortest_paths(*asked.names, limit=asked.limit)
    edges = {}
    for hop in (hop for path in paths for hop in path.hops):
        ends = (hop.source, hop.target) if hop.forward else (hop.target, hop.source)
        kind = relation_edge_type(hop.relation)
        edge = Edge(ends[0], kind, ends[1], relation=hop.relation, chunks=(hop.chunk_id,))
        edges[ends[0], hop.relation, ends[1]] = edge
    sentences = read_sentences(workspace.base.store, list(edges.values()))
    return PATH_LIST(paths=paths, sentences=[found for found in sentences if found])


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
    merged = read_merged_entities(store)
    ids = [merged.canonical(key) for key in ids]
    found = store.graph.entities(ids)
    known = (found[i] for i in dict.fromkeys(ids) if i in found)
    entities = [entity for entity in known if not entity.is_keyword]
    wanted = name.strip().casefold()
    return sorted(entities, key=lambda entity: entity.name.casefold() != wanted)[:limit]


def read_sentences(store: Store, edges: Sequence[Edge]) -> list[Json | None]:
    """Return the sentence that states each relation, in the shape `STATED`; None without one."""
    supports = find_supports(store, edges)
    chunks = store.documents.chunks({support.chunk_id for support in supports if support})
    sentences: list[Json | None] = []
    for edge, support in zip(edges, supports, strict=True):
        chunk = chunks.get(support.chunk_id) if support else None
        if support is None or chunk is None:
            sentences.append(None)
            continue
        start, end = (offset - chunk.span.start for offset in support.span)
        sentences.append(
            STATED(
                source=edge.source,
                relation=edge.relation,
                target=edge.target,
                text=chunk.text[max(start, 0) : end],
                document_id=chunk.document_id,
                title=chunk.document_title,
                span=support.span,
            )
        )
    return sentences


_PHRASE_RETRIEVER = "dynamic_cypher(translator=rules)"
"""Writes a query by rules, without a model."""
_LEAST_SURE = 0.5
"""Smallest confidence of a query for a phrase; below it, entities are found by name."""


def find_by_phrase(
    base: KnowledgeBase, phrase: str, *, limit: int
) -> tuple[str, list[Entity]] | None:
    """Return the query that rules make of a phrase and the entities that it finds.

    The result is None if no rule fits, or if the query finds no entities.
    """
    try:
        results = base.search(phrase, retriever=_PHRASE_RETRIEVER, k=1).results
    except RetrievalError:
        return None
    best = next((result for result in results if result.confidence >= _LEAST_SURE), None)
    if best is None:
        return None
    cells = [cell for row in best.rows for cell in row]
    ids = dict.fromkeys(
        str(cell["id"]) for cell in cells if isinstance(cell, dict) and "id" in cell
    )
    merged = read_merged_entities(base.store)
    known = base.store.graph.entities([merged.canonical(key) for key in ids])
    entities = [entity for entity in known.values() if not entity.is_keyword]
    return (best.statement, entities[:limit]) if entities else None


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


MOST_NEIGHBOURS = 300
MOST_KNOWN = 2_000
MOST_NODES = 2_000
MOST_EDGES = 4_000
_MOST_FACETS = 40
_MOST_MERGED = 12
_MOST_AT_FIRST = 150
_FEWEST_AT_FIRST = 60
_EDGES_FOR_EACH = 4
"""Relations drawn per entity."""
_FEWEST_OF_HUB = 10
_SHARE_OF_HUBS = 0.02
"""A hub is one of this share of the entities, those with most neighbours."""

EntityId = Annotated[str, Field(min_length=1, max_length=40)]
Position = Annotated[int, Field(ge=0)]
NameFilter = Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)]


class FilterFields(RequestModel):
    """Filters of a map; the defaults select everything that documents state."""

    types: NameFilter = Field(default_factory=list, description="Types of entities.")
    relations: NameFilter = Field(default_factory=list, description="Names of relations.")
    document: str = Field(default="", max_length=40, description="Only entities in this document.")
    community: str = Field(default="", max_length=40, description="Only entities in it.")
    co_occurrence: bool = Field(default=False, description="Whether to include co-occurrences.")


class MapQuery(FilterFields):
    """Show the most important entities of the map."""

    model_config = ConfigDict(strict=False)  # an address has only texts

    minor: bool = Field(
        default=False,
        description="Whether to include dates, numbers, file names and entities without a type "
        "that one passage mentions.",
    )
    limit: int = Field(_MOST_AT_FIRST, ge=1, le=MOST_NODES, description="Maximum of entities.")


class NeighboursRequest(FilterFields):
    """Walk the map around entities."""

    entities: Annotated[list[EntityId], Field(min_length=1, max_length=MOST_SEEDS)]
    known: Annotated[list[EntityId], Field(max_length=MOST_KNOWN)] = Field(
        default_factory=list,
        description="Entities already drawn: not returned, but relations to them are.",
    )
    depth: int = Field(1, ge=1, le=3, description="Maximum distance, in relations.")
    hubs: bool = Field(
        default=True, description="Whether to include entities with unusually many neighbours."
    )
    limit: int = Field(30, ge=1, le=MOST_NEIGHBOURS, description="Maximum of entities.")


class EntitiesRequest(FilterFields):
    """Find the positions of entities, and the relations among them."""

    entities: Annotated[list[EntityId], Field(min_length=1, max_length=MOST_KNOWN)]


PLACES = Shape(
    "EntityColumns",
    None,
    "Entities with position, number of passages that mention them, number of entities that they "
    "have a stated relation with, community of the topmost level, and distance from the entities "
    "asked for, in relations.",
    **typed(list[str], "id name type"),
    **typed(list[float], "x y importance"),
    **typed(list[int], "chunks degree step"),
    community=list[str | None],
)
EDGES = Shape(
    "EdgeColumns",
    None,
    "Relations, strongest first. ``source`` and ``target`` are positions in the list of entities "
    "followed by ``anchors``; ``relation`` is a position in ``relations``; ``stated`` is false for "
    "co-occurrences.",
    **typed(list[Position], "source target relation"),
    weight=list[float],
    stated=list[bool],
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
ANCESTOR = Shape(
    "AncestorShape",
    None,
    "A community that contains an entity, or entities of the map; ``count`` is their number.",
    **typed(str, "id title"),
    **typed(int, "level count"),
)
PART = Shape(
    "PartShape",
    None,
    "Entities with the relations among them, and the totals they were taken from. "
    "``co_occurrences`` counts the co-occurrences among them, shown or not, and ``merged`` has the "
    "ids of those that were asked for by another one.",
    entities=PLACES.json,
    merged=dict[str, str],
    **typed(int, "entities_total co_occurrences"),
    edges=EDGES.json,
)
OVERVIEW = Shape(
    "Overview",
    None,
    "The most important entities of a graph, and the values to filter by. ``total`` is the number "
    "of entities that pass the filters, and ``communities`` are the largest of the topmost level.",
    key=str,
    is_current=Annotated[bool, "False if the documents changed after the communities were built."],
    **typed(int, "entities relations total"),
    part=PART.json,
    communities=ANCESTOR.many,
    **typed(FACETS.json, "types relation_names"),
)
ROW = View(
    "RelationRow",
    Edge,
    "A relation of an entity; ``forward`` is true if the entity is its source.",
    "relation forward other other_name weight stated",
    forward=bool,
    **typed(str, "other other_name"),
    stated=STATED.json | None,
)
DOSSIER = Shape(
    "EntityDetails",
    Dossier,
    "The details of an entity; ``x`` and ``y`` are null if it is not on the map.",
    "id=entity.id name=entity.name type names description x y communities relations "
    "sources=passages sources_total",
    type=str,
    names=list[str],
    **typed(float | None, "x y"),
    communities=ANCESTOR.many,
    relations=ROW.many,
    sources_total=int,
    sources=list[DossierPassage],
)
FOUND = Shape(
    "MapSearch",
    None,
    "The entities that a phrase means. ``statement`` is the Cypher query that found them, empty if "
    "they were found by name.",
    statement=str,
    entities=ENTITY.many,
)
PartJson = Annotated[Json, PART]

_NOT_MODIFIED: dict[int | str, dict[str, Any]] = {304: {"description": "Not modified."}}


@router.get("/workspaces/{workspace}/graph", responses=_NOT_MODIFIED)
def show_map(
    workspace: ReadWorkspace,
    request: Request,
    response: Response,
    asked: Annotated[MapQuery, Query()],
) -> Annotated[Json, OVERVIEW] | Response:
    """Return the most important entities of the graph, with positions and relations.

    Without filters these are entities with a type or two passages, and no dates, numbers or file
    names; 60 of them, and up to `limit` if they are related to one of these.
    """
    store = workspace.base.store
    drawn = workspace.map.current(store)
    tag = f'W/"{content_id(drawn.key, str(store.generation()), str(request.url.query))}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    if tag in [part.strip() for part in request.headers.get("if-none-match", "").split(",")]:
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    view = _View(workspace, asked)
    fitting = np.flatnonzero(view.entities & view.is_worthy(asked))
    rank = drawn.importance[fitting] + drawn.is_pinned[fitting] * drawn.importance.max(initial=0)
    shown = _highest(fitting, rank, asked.limit)
    if not view.is_filtering:
        shown = view.related(shown)
    types, relations = view.facets()
    return OVERVIEW(
        key=drawn.key,
        is_current=workspace.base.communities.is_current(),
        entities=len(drawn.entity_keys),
        relations=int(drawn.is_stated.sum()),
        total=len(fitting),
        part=view.part(shown, total=len(fitting)),
        communities=view.communities(asked),
        types=types,
        relation_names=relations,
    )


@router.post("/workspaces/{workspace}/graph/neighbours")
def find_neighbours(workspace: ReadWorkspace, asked: NeighboursRequest) -> PartJson:
    """Return the entities around others, nearest and then strongest first; ``entities_total`` is
    the number of all of them.
    """
    view = _View(workspace, asked)
    drawn = view.map
    places = drawn.find_entities(asked.entities)
    if not places:
        raise NotFound(
            f"Unknown entity `{asked.entities[0]}`.",
            fix="Its document may have been removed. Find entities: GET …/entities?name=…",
        )
    known = [place for place in drawn.find_entities(asked.known) if place not in places]
    steps = view.walk(places, depth=asked.depth, avoids_hubs=not asked.hubs)
    found = [place for place in steps if place not in set(known) | set(places)]
    shown = found[: asked.limit]
    return view.part(shown, total=len(found), known=[*places, *known], steps=steps)


@router.post("/workspaces/{workspace}/graph/entities")
def place_entities(workspace: ReadWorkspace, asked: EntitiesRequest) -> PartJson:
    """Return the positions of entities and the relations among them, without those that are not on
    the map.
    """
    view = _View(workspace, asked)
    places = list(dict.fromkeys(view.map.find_entities(asked.entities)))
    canonical = view.map.canonical
    merged = {key: canonical[key] for key in asked.entities if key in canonical}
    return view.part(places, total=len(places)) | {"merged": merged}


@router.get("/workspaces/{workspace}/graph/search")
def search_map(
    workspace: ReadWorkspace,
    phrase: Annotated[str, Query(min_length=1, max_length=500)],
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Annotated[Json, FOUND]:
    """Find the entities that a phrase means, such as "people born in Tarnby", or else by name.

    No model is called.
    """
    found = find_by_phrase(workspace.base, phrase, limit=limit)
    if found is not None:
        return FOUND(statement=found[0], entities=found[1])
    return FOUND(statement="", entities=search_entities(workspace.base, phrase, limit=limit))


@router.get("/workspaces/{workspace}/graph/entities/{entity}")
def show_entity(
    workspace: ReadWorkspace,
    entity: Annotated[str, InPath(max_length=40)],
    relations: Annotated[int, Query(ge=0, le=200)] = 50,
    sources: Annotated[int, Query(ge=0, le=50)] = 8,
) -> Annotated[Json, DOSSIER]:
    """Return the details of an entity: its relations, each with a sentence that states it, and the
    passages that mention it. A merged entity has those of all its names.
    """
    store = workspace.base.store
    view = _View(workspace, FilterFields(co_occurrence=True))
    drawn = view.map
    members = read_merged_entities_of(store, [entity]).members(entity)[:_MOST_MERGED]
    read = [
        read_dossier(store, member, relations=relations, passages=sources) for member in members
    ]
    dossiers = [dossier for dossier in read if dossier is not None]
    if not dossiers:
        raise NotFound(
            f"Unknown entity `{entity}`.",
            fix="Its document may have been removed. Find entities: GET …/entities?name=…",
        )
    first = dossiers[0]
    edges = [edge for dossier in dossiers for edge in dossier.edges]
    edges = [edge for edge in edges if not {edge.source, edge.target} <= set(members)]
    edges.sort(key=lambda edge: edge.relation == CO_OCCURRENCE_RELATION)
    others = {key: other for dossier in dossiers for key, other in dossier.others.items()}
    sentences = read_sentences(store, edges[:relations])
    rows = []
    for edge, stated in zip(edges[:relations], sentences, strict=True):
        forward = edge.source in members
        other = others.get(edge.target if forward else edge.source)
        if other is not None:
            rows.append(
                ROW(
                    edge,
                    forward=forward,
                    other=drawn.canonical.get(other.id, other.id),
                    other_name=other.name,
                    stated=stated,
                )
            )
    passages = {source.chunk.id: source for one in dossiers for source in one.passages}
    names = dict.fromkeys(name for one in dossiers for name in (one.entity.name, *one.names))
    place = next(iter(drawn.find_entities([entity])), None)
    held = store.capabilities.communities
    inside = held.of_entities([first.entity.id]).get(first.entity.id, []) if held else []
    found = held.communities(inside) if held else {}
    titles = view.titles(inside)
    x, y = (None, None) if place is None else drawn.entity_places[place].round(3).tolist()
    return DOSSIER(
        first,
        type=next((one.entity.type for one in dossiers if one.entity.type), ""),
        names=[name for name in names if name != first.entity.name],
        x=x,
        y=y,
        communities=[
            ANCESTOR(id=key, title=titles[key], level=found[key].level, count=found[key].size)
            for key in inside
            if key in found
        ],
        relations=rows,
        sources=list(passages.values())[:sources],
        # A passage with several of the names counts once, where it was read under each.
        sources_total=len(passages)
        + sum(one.entity.chunk_count - len(one.passages) for one in dossiers),
    )


class _View:
    """The map of a workspace as a request filters it."""

    def __init__(self, workspace: Workspace, asked: FilterFields) -> None:
        self._store = workspace.base.store
        self._asked = asked
        self.map: GraphMap = workspace.map.current(self._store)

    @property
    def is_filtering(self) -> bool:
        """Whether entities are chosen by type, relation, document or community."""
        asked = self._asked
        return bool(asked.types or asked.relations or asked.document or asked.community)

    @cached_property
    def entities(self) -> Mask:
        """The mask of the selected entities. Raises InvalidRequest for an unknown document or
        community.
        """
        return self._select(self._asked.types, self._asked.relations, self._in_community)

    @cached_property
    def edges(self) -> Mask:
        """The mask of the relations that are drawn."""
        return self._edges(self._asked.relations)

    def _edges(self, relations: Collection[str]) -> Mask:
        drawn = self.map
        edges = (
            drawn.is_stated.copy()
            if not self._asked.co_occurrence
            else np.ones_like(drawn.is_stated)
        )
        if relations:
            edges &= _matches_names(drawn.relations, relations)[drawn.edge_relations]
        return edges

    def is_worthy(self, asked: MapQuery) -> Mask:
        """Return the mask of the entities that are shown without being asked for."""
        drawn = self.map
        if asked.minor:
            return np.ones(len(drawn.entity_keys), dtype=np.bool_)
        wanted = _matches_names(drawn.types, [name for name in asked.types if name])
        is_known = drawn.is_typed | (drawn.entity_chunks > 1)
        is_worthy: Mask = (is_known & ~drawn.is_minor) | wanted[drawn.entity_types]
        return is_worthy | drawn.is_pinned

    @cached_property
    def _in_document(self) -> Mask | None:
        document, store = self._asked.document, self._store
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

    @cached_property
    def _in_community(self) -> Mask | None:
        key, held = self._asked.community, self._store.capabilities.communities
        if not key:
            return None
        found = held.communities([key]) if held is not None else {}
        if key not in found:
            raise InvalidRequest(
                f"Unknown community `{key}`.", fix="List communities: GET …/communities"
            )
        return self._mask(self.map.find_entities(found[key].entity_ids))

    def _select(
        self, types: Collection[str], relations: Collection[str], inside: Mask | None
    ) -> Mask:
        """Return the mask of the entities that pass the filter; empty: any name."""
        drawn = self.map
        entities = np.ones(len(drawn.entity_keys), dtype=np.bool_)
        if types:
            entities &= _matches_names(drawn.types, types)[drawn.entity_types]
        for mask in (self._in_document, inside):
            if mask is not None:
                entities &= mask
        if relations:
            edges = self._edges(relations)
            linked = np.zeros(len(entities), dtype=np.bool_)
            linked[drawn.edge_sources[edges]] = linked[drawn.edge_targets[edges]] = True
            entities &= linked
        return entities

    def related(self, places: Sequence[int]) -> list[int]:
        """Return the first of some entities, and of the others those related to one of these."""
        first = list(places[:_FEWEST_AT_FIRST])
        drawn, is_first = self.map, self._mask(first)
        edges = self.edges
        near = np.zeros(len(is_first), dtype=np.bool_)
        near[drawn.edge_targets[edges & is_first[drawn.edge_sources]]] = True
        near[drawn.edge_sources[edges & is_first[drawn.edge_targets]]] = True
        return first + [place for place in places[_FEWEST_AT_FIRST:] if near[place]]

    def walk(self, starts: Sequence[int], *, depth: int, avoids_hubs: bool) -> dict[int, int]:
        """Return the distance of the entities around others, nearest and then strongest first."""
        drawn = self.map
        is_passed = self.entities.copy()
        if avoids_hubs:
            counts = drawn.count_neighbours(self.edges)
            most = np.quantile(counts, 1 - _SHARE_OF_HUBS) if len(counts) else 0
            is_passed &= counts <= max(most, _FEWEST_OF_HUB)
        steps = dict.fromkeys(starts, 0)
        here = list(starts)
        for step in range(1, depth + 1):
            edges = drawn.edges_at(here)
            edges = edges[self.edges[edges]]
            inside = self._mask(here)
            ends = [drawn.edge_sources[edges], drawn.edge_targets[edges]]
            weights = np.zeros(len(inside))
            for one, other in (ends, ends[::-1]):
                np.add.at(weights, other, drawn.edge_weights[edges] * inside[one])
            weights[list(steps)] = 0.0
            found = np.flatnonzero((weights > 0) & is_passed)
            here = _highest(found, weights[found], MOST_KNOWN)
            steps |= dict.fromkeys(here, step)
        return steps

    def facets(self) -> tuple[Json, Json]:
        """Count entities by type and relations by name, most frequent first.

        A facet ignores its own filter, so that it shows the alternatives.
        """
        drawn, asked = self.map, self._asked
        entities = self._select([], asked.relations, self._in_community)
        entities &= drawn.is_typed | ((drawn.entity_chunks > 1) & ~drawn.is_minor)
        counts = np.bincount(drawn.entity_types[entities], minlength=len(drawn.types))
        is_end = self._select(asked.types, [], self._in_community)
        edges = self._edges([]) & is_end[drawn.edge_sources] & is_end[drawn.edge_targets]
        named = np.bincount(drawn.edge_relations[edges], minlength=len(drawn.relations))
        return _count_names(drawn.types, counts), _count_names(drawn.relations, named)

    def communities(self, asked: MapQuery) -> list[Json]:
        """Return the largest communities, each with its number of entities that pass the filter."""
        drawn = self.map
        fitting = self._select(asked.types, asked.relations, None) & self.is_worthy(asked)
        homes = drawn.homes[fitting & (drawn.homes >= 0)]
        counts = np.bincount(homes, minlength=len(drawn.community_ids))
        ids = drawn.community_ids[:_MOST_FACETS]
        titles = self.titles(ids)
        return [
            ANCESTOR(id=key, title=titles[key], level=0, count=int(counts[number]))
            for number, key in enumerate(ids)
        ]

    def titles(self, ids: Sequence[str]) -> dict[str, str]:
        """Return readable titles of communities."""
        held = self._store.capabilities.communities
        if held is None or not ids:
            return {}
        reports = held.reports(ids)
        return {key: reports[key].title if key in reports else "" for key in ids}

    def part(
        self,
        entities: Sequence[int],
        *,
        total: int,
        known: Sequence[int] = (),
        steps: Mapping[int, int] | None = None,
    ) -> Json:
        """Return entities with the strongest relations among them and with those ``known``."""
        drawn = self.map
        chosen = list(entities)
        laid = drawn.entity_places[chosen].round(3)
        is_drawn = self._mask([*entities, *known])
        is_new = self._mask(entities) if known else is_drawn
        sources, targets = drawn.edge_sources, drawn.edge_targets
        among = is_drawn[sources] & is_drawn[targets] & (is_new[sources] | is_new[targets])
        found = np.flatnonzero(self.edges & among)
        limit = min(MOST_EDGES, _EDGES_FOR_EACH * max(len(chosen) + len(known), 100))
        strength = drawn.edge_weights[found] + 1e6 * drawn.is_stated[found]
        edges = _highest(found, strength, limit)
        places = {entity: place for place, entity in enumerate(chosen)}
        names: dict[int, int] = {}
        ends = [
            [places.setdefault(int(column[edge]), len(places)) for edge in edges]
            for column in (sources, targets)
        ]
        numbers = [names.setdefault(int(drawn.edge_relations[edge]), len(names)) for edge in edges]
        homes = drawn.homes[chosen].tolist()
        return PART(
            merged={},
            entities=PLACES(
                id=[drawn.entity_id(place) for place in chosen],
                name=[drawn.entity_names[place] for place in chosen],
                type=[drawn.types[int(drawn.entity_types[place])] for place in chosen],
                x=laid[:, 0].tolist(),
                y=laid[:, 1].tolist(),
                importance=drawn.importance[chosen].round(3).tolist(),
                chunks=drawn.entity_chunks[chosen].tolist(),
                degree=drawn.degrees[chosen].tolist(),
                step=[(steps or {}).get(place, 0) for place in chosen],
                community=[None if home < 0 else drawn.community_ids[home] for home in homes],
            ),
            entities_total=total,
            co_occurrences=int((among & ~drawn.is_stated).sum()),
            edges=EDGES(
                source=ends[0],
                target=ends[1],
                weight=drawn.edge_weights[edges].round(3).tolist(),
                relation=numbers,
                stated=drawn.is_stated[edges].tolist(),
                relations=[drawn.relations[name] for name in names],
                anchors=[drawn.entity_id(entity) for entity in list(places)[len(chosen) :]],
            ),
        )

    def _mask(self, places: Sequence[int] | Ints) -> Mask:
        mask = np.zeros(len(self.map.entity_keys), dtype=np.bool_)
        mask[np.asarray(places, dtype=np.int64)] = True
        return mask


def _highest(places: Ints, values: np.ndarray, limit: int) -> list[int]:
    """Return the positions with the highest values; of equal ones, the lowest positions."""
    best: list[int] = places[np.lexsort((places, -values))][:limit].tolist()
    return best


def _matches_names(names: Names, wanted: Collection[str]) -> Mask:
    return np.array([name in wanted for name in names], dtype=np.bool_)


def _count_names(names: Names, counts: Ints) -> Json:
    most = _highest(np.arange(len(counts)), counts, _MOST_FACETS)
    values = [FACET(name=names[p], count=int(counts[p])) for p in most if counts[p]]
    return FACETS(values=values, total=int(np.count_nonzero(counts)))
