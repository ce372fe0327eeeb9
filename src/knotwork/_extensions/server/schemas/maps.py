"""Request and response models of graph maps, and the details of an entity.

Maps are sent as columns, so that field names occur once and not for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, Field

from knotwork._extensions.server.graph_map import GraphMap, MapPart
from knotwork._extensions.server.schemas.answers import RequestModel
from knotwork._retrieval.entity_lookup import Dossier
from knotwork._shapes.base import fields_of
from knotwork._shapes.graph import SourceShape

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
    weight: float = Field(0.0, ge=0, le=1e9, description="Minimum weight of relations.")
    document: str = Field("", max_length=40, description="Only entities in this document.")


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


class CircleColumns(BaseModel):
    """Communities: ``x``, ``y`` and ``radius`` on the map; ``size`` counts entities, ``matching``
    those that match the filters, ``children`` the communities of the next level inside.
    """

    id: list[str]
    title: list[str]
    level: list[int]
    parent: list[str | None]
    x: list[float]
    y: list[float]
    radius: list[float]
    size: list[int]
    matching: list[int]
    children: list[int]

    @classmethod
    def of(
        cls, graph_map: GraphMap, places: Sequence[int], titles: Sequence[str], fits: Sequence[int]
    ) -> Self:
        """Build the JSON of communities."""
        parents = graph_map.community_parents
        laid = graph_map.community_places[list(places)].astype(float).round(2)
        return cls(
            id=[graph_map.community_id(place) for place in places],
            title=list(titles),
            level=[int(graph_map.community_levels[place]) for place in places],
            parent=[
                None if parents[place] < 0 else graph_map.community_id(int(parents[place]))
                for place in places
            ],
            x=laid[:, 0].tolist(),
            y=laid[:, 1].tolist(),
            radius=laid[:, 2].tolist(),
            size=[int(graph_map.community_sizes[place]) for place in places],
            matching=list(fits),
            children=[int((parents == place).sum()) for place in places],
        )


class LinkColumns(BaseModel):
    """Links between communities: positions in their list, and the total weight of relations."""

    source: list[Position]
    target: list[Position]
    weight: list[float]


class EntityColumns(BaseModel):
    """Entities with position, number of passages that mention them, and lowest community."""

    id: list[str]
    name: list[str]
    type: list[str]
    x: list[float]
    y: list[float]
    chunks: list[int]
    community: list[str | None]

    @classmethod
    def of(cls, graph_map: GraphMap, places: Sequence[int]) -> Self:
        """Build the JSON of entities."""
        laid = graph_map.entity_places[list(places)].astype(float).round(2)
        homes = graph_map.homes()
        return cls(
            id=[graph_map.entity_id(place) for place in places],
            name=[graph_map.entity_names[place] for place in places],
            type=[graph_map.types[int(graph_map.entity_types[place])] for place in places],
            x=laid[:, 0].tolist(),
            y=laid[:, 1].tolist(),
            chunks=[int(graph_map.entity_chunks[place]) for place in places],
            community=[
                None if homes[place] < 0 else graph_map.community_id(int(homes[place]))
                for place in places
            ],
        )


class EdgeColumns(BaseModel):
    """Relations, strongest first. ``source`` and ``target`` are positions in the list of entities
    followed by ``anchors``; ``relation`` is a position in ``relations``.
    """

    source: list[Position]
    target: list[Position]
    weight: list[float]
    relation: list[Position]
    relations: list[str]
    anchors: list[str]

    @classmethod
    def of(cls, graph_map: GraphMap, part: MapPart) -> Self:
        """Build the JSON of the relations of a part."""
        places = {entity: place for place, entity in enumerate(part.entities)}
        names: dict[int, int] = {}
        edges = part.edges
        ends = [
            [places.setdefault(int(column[edge]), len(places)) for edge in edges]
            for column in (graph_map.edge_sources, graph_map.edge_targets)
        ]
        numbers = [
            names.setdefault(int(graph_map.edge_relations[edge]), len(names)) for edge in edges
        ]
        return cls(
            source=ends[0],
            target=ends[1],
            weight=graph_map.edge_weights[edges].astype(float).round(3).tolist(),
            relation=numbers,
            relations=[graph_map.relations[name] for name in names],
            anchors=[graph_map.entity_id(entity) for entity in list(places)[len(part.entities) :]],
        )


class Facet(BaseModel):
    """A value to filter by, with its count."""

    name: str
    count: int


class FacetList(BaseModel):
    """The most frequent values; ``total`` is the number of all values."""

    values: list[Facet]
    total: int


class LevelShape(BaseModel):
    """A level of communities; half of its entities are in communities of at least ``radius``."""

    level: int
    communities: int
    radius: float


class Overview(BaseModel):
    """A level of the map: the largest communities and the strongest links among them."""

    key: str
    is_current: bool
    radius: float
    entities: int
    relations: int
    levels: list[LevelShape]
    level: int
    communities: CircleColumns
    total: int
    order: str = "size"
    links: LinkColumns
    links_total: int
    types: FacetList
    relation_names: FacetList


class AncestorShape(BaseModel):
    """A community that contains an entity or another community."""

    id: str
    title: str
    level: int


class PartShape(BaseModel):
    """Entities with the relations among them, and the totals they were taken from."""

    entities: EntityColumns
    entities_total: int
    order: str
    edges: EdgeColumns
    edges_total: int

    @classmethod
    def of(cls, graph_map: GraphMap, part: MapPart, *, order: str) -> Self:
        """Build the JSON of a part."""
        return cls(
            entities=EntityColumns.of(graph_map, part.entities),
            entities_total=part.entities_total,
            order=order,
            edges=EdgeColumns.of(graph_map, part),
            edges_total=part.edges_total,
        )


class CommunityView(BaseModel):
    """The content of a community: its children, its most important entities, and the facets."""

    key: str
    circle: CircleColumns
    summary: str
    around: list[AncestorShape]
    children: CircleColumns
    children_total: int
    links: LinkColumns
    links_total: int
    part: PartShape
    types: FacetList
    relation_names: FacetList


class RelationRow(BaseModel):
    """A relation of an entity; ``forward`` is true if the entity is its source."""

    relation: str
    forward: bool
    other: str
    other_name: str
    other_type: str
    weight: float
    chunks: list[str]


class EntityDetails(BaseModel):
    """The details of an entity; ``x`` and ``y`` are null if it is not on the map."""

    id: str
    name: str
    type: str
    names: list[str]
    description: str
    description_source: str
    x: float | None
    y: float | None
    communities: list[AncestorShape]
    relations: list[RelationRow]
    relations_total: int
    sources: list[SourceShape]
    sources_total: int

    @classmethod
    def of(
        cls,
        found: Dossier,
        *,
        place: tuple[float, float] | None,
        communities: Sequence[AncestorShape],
        relations_total: int,
    ) -> Self:
        """Build the JSON of an entity."""
        entity, others = found.entity, found.others
        rows = []
        for edge in found.edges:
            other = edge.target if edge.source == entity.id else edge.source
            if other in others:
                rows.append(
                    RelationRow(
                        **fields_of(edge, "relation", "weight"),
                        forward=edge.source == entity.id,
                        other=other,
                        other_name=others[other].name,
                        other_type=others[other].type,
                        chunks=list(edge.chunks),
                    )
                )
        return cls(
            **fields_of(entity, "id", "name", "type"),
            **fields_of(found, "names", "description", "description_source"),
            x=place[0] if place else None,
            y=place[1] if place else None,
            communities=list(communities),
            relations=rows,
            relations_total=max(relations_total, len(rows)),
            sources=[SourceShape.of(passage) for passage in found.passages],
            sources_total=entity.chunk_count,
        )
