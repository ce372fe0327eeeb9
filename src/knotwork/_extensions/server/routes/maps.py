"""The graph map: levels, communities, neighbours, and the details of an entity.

Maps are sent as columns, so that field names occur once and not for each node.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from fastapi import Path, Query, Request, Response
from pydantic import Field

from knotwork._extensions.server.access import ReadWorkspace, Routes
from knotwork._extensions.server.graph_map import (
    NOWHERE,
    GraphMap,
    Keys,
    Mask,
    Names,
    count_members,
)
from knotwork._extensions.server.schemas import RequestModel
from knotwork._extensions.server.workspaces import Workspace
from knotwork._retrieval.entity_lookup import Dossier, DossierPassage, read_dossier
from knotwork._shapes.base import Json, Shape, View, typed
from knotwork.errors import InvalidRequest, NotFound
from knotwork.records import CommunityReport, Edge, content_id

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
ENTITIES = Shape(
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
    entities=ENTITIES.json,
    **typed(int, "entities_total edges_total"),
    order=str,
    edges=EDGES.json,
)
COMMUNITY = Shape(
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
RELATION = View(
    "RelationRow",
    Edge,
    "A relation of an entity; ``forward`` is true if the entity is its source.",
    "relation forward other other_name other_type weight chunks",
    forward=bool,
    **typed(str, "other other_name other_type"),
)
DETAILS = Shape(
    "EntityDetails",
    Dossier,
    "The details of an entity; ``x`` and ``y`` are null if it is not on the map.",
    "id=entity.id name=entity.name type=entity.type names description description_source x y "
    "communities relations relations_total sources=passages sources_total=entity.chunk_count",
    **typed(float | None, "x y"),
    communities=ANCESTOR.many,
    relations=RELATION.many,
    relations_total=int,
    sources=list[DossierPassage],
)
PartJson = Annotated[Json, PART]


router = Routes("graph")
CommunityId = Annotated[str, Path(max_length=40)]
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
) -> Annotated[Json, COMMUNITY] | Response:
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
        return COMMUNITY(
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
    entity: Annotated[str, Path(max_length=40)],
    relations: Annotated[int, Query(ge=0, le=200)] = 50,
    sources: Annotated[int, Query(ge=0, le=50)] = 8,
) -> Annotated[Json, DETAILS]:
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
                RELATION(
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
    return DETAILS(
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
            entities=ENTITIES(
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
