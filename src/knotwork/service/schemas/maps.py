"""Request and response models of graph maps, and the details of an entity.

Maps are columns: field names occur once, not once for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BaseModel, Field

from knotwork.retrieval.entity_lookup import Dossier, DossierPassage
from knotwork.service.graph_map import GraphMap
from knotwork.service.map_views import CommunityLinks, FacetCounts, MapPart
from knotwork.service.schemas.answers import Offsets, RequestModel

MOST_NEIGHBOURS = 30
MOST_KNOWN = 2_000
MOST_NODES = 2_000
MOST_EDGES = 4_000
MOST_CIRCLES = 500

EntityId = Annotated[str, Field(min_length=1, max_length=40)]
Position = Annotated[int, Field(ge=0)]
NameFilter = Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=50)]


class FilterFields(RequestModel):
    """What is to be drawn at all; nothing said means everything."""

    types: NameFilter = Field(default_factory=list, description="Types of entities.")
    relations: NameFilter = Field(default_factory=list, description="Names of relations.")
    weight: float = Field(0.0, ge=0, le=1e9, description="Relations of at least this weight.")
    document: str = Field("", max_length=40, description="Only what this document mentions.")


class LevelQuery(FilterFields):
    """See a level of the map."""

    level: int = Field(0, ge=0, le=100, description="0 is the topmost.")
    limit: int = Field(60, ge=1, le=MOST_CIRCLES, description="Communities, at most.")


class CommunityQuery(FilterFields):
    """Open a community."""

    limit: int = Field(30, ge=1, le=MOST_NODES, description="Entities, at most.")


class NeighboursRequest(FilterFields):
    """Find the strongest neighbours of an entity that are not drawn yet."""

    entity: EntityId
    known: Annotated[list[EntityId], Field(max_length=MOST_KNOWN)] = Field(
        default_factory=list, description="What is drawn: no neighbours, but ends of relations."
    )
    limit: int = Field(MOST_NEIGHBOURS, ge=1, le=MOST_NEIGHBOURS)


class EntitiesRequest(FilterFields):
    """Find where entities lie, and the relations among them."""

    entities: Annotated[list[EntityId], Field(min_length=1, max_length=MOST_KNOWN)]


class CircleColumns(BaseModel):
    """Communities: ``x``, ``y`` and ``radius`` on the map; ``size`` counts entities, ``matching``
    those that fit the filters, ``children`` the communities right inside.
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
        """Return communities as JSON."""
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
    """Links between communities: positions in their list, and what all relations weigh."""

    source: list[Position]
    target: list[Position]
    weight: list[float]

    @classmethod
    def of(cls, found: CommunityLinks) -> Self:
        """Return links as JSON."""
        return cls(source=found.sources, target=found.targets, weight=found.weights)


class EntityColumns(BaseModel):
    """Entities: where they lie, in how many passages they stand, in which lowest community."""

    id: list[str]
    name: list[str]
    type: list[str]
    x: list[float]
    y: list[float]
    chunks: list[int]
    community: list[str | None]

    @classmethod
    def of(cls, graph_map: GraphMap, places: Sequence[int]) -> Self:
        """Return entities as JSON."""
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
    """Relations, strongest first. ``source`` and ``target`` are positions in the entities, and
    after these in ``anchors``; ``relation`` is one in ``relations``.
    """

    source: list[Position]
    target: list[Position]
    weight: list[float]
    relation: list[Position]
    relations: list[str]
    anchors: list[str]

    @classmethod
    def of(cls, graph_map: GraphMap, part: MapPart) -> Self:
        """Return the relations of a part as JSON."""
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
    """A value to filter by, and how many have it."""

    name: str
    count: int


class FacetList(BaseModel):
    """The values that most have; ``total`` says how many values there are."""

    values: list[Facet]
    total: int

    @classmethod
    def of(cls, counts: FacetCounts) -> Self:
        """Return counts as JSON."""
        values = [Facet(name=name, count=count) for name, count in counts.values]
        return cls(values=values, total=counts.total)


class LevelShape(BaseModel):
    """A level of communities; ``radius`` is that in which half of its entities lie."""

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
    """A community that holds another thing."""

    id: str
    title: str
    level: int


class PartShape(BaseModel):
    """Entities with the relations among them, and how many there were to choose from."""

    entities: EntityColumns
    entities_total: int
    order: str
    edges: EdgeColumns
    edges_total: int

    @classmethod
    def of(cls, graph_map: GraphMap, part: MapPart, *, order: str) -> Self:
        """Return a part as JSON."""
        return cls(
            entities=EntityColumns.of(graph_map, part.entities),
            entities_total=part.entities_total,
            order=order,
            edges=EdgeColumns.of(graph_map, part),
            edges_total=part.edges_total,
        )


class CommunityView(BaseModel):
    """A community opened: those inside, its most important entities, and what can be filtered."""

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
    """A relation of an entity: ``forward`` says that the entity is its source."""

    relation: str
    forward: bool
    other: str
    other_name: str
    other_type: str
    weight: float
    chunks: list[str]


class SourceShape(BaseModel):
    """A passage that mentions an entity; ``marks`` are offsets in the document, as ``span``."""

    chunk_id: str
    document: str
    document_id: str
    title: str
    section: str
    span: Offsets
    text: str
    marks: list[Offsets]
    about: float

    @classmethod
    def of(cls, passage: DossierPassage) -> Self:
        """Return a passage as JSON."""
        chunk = passage.chunk
        return cls(
            chunk_id=chunk.id,
            document=passage.document.uri,
            document_id=chunk.document_id,
            title=chunk.document_title,
            section=" > ".join(chunk.headings),
            span=list(chunk.span),
            text=chunk.text,
            marks=[list(span) for span in passage.marks],
            about=round(passage.about, 4),
        )


class EntityDetails(BaseModel):
    """All that is known of an entity; ``x`` and ``y`` are null while it is not on the map."""

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
        """Return an entity as JSON."""
        entity, others = found.entity, found.others
        rows = []
        for edge in found.edges:
            other = edge.target if edge.source == entity.id else edge.source
            if other in others:
                rows.append(
                    RelationRow(
                        relation=edge.relation,
                        forward=edge.source == entity.id,
                        other=other,
                        other_name=others[other].name,
                        other_type=others[other].type,
                        weight=edge.weight,
                        chunks=list(edge.chunks),
                    )
                )
        return cls(
            id=entity.id,
            name=entity.name,
            type=entity.type,
            names=list(found.names),
            description=found.description,
            description_source=found.description_source,
            x=place[0] if place else None,
            y=place[1] if place else None,
            communities=list(communities),
            relations=rows,
            relations_total=max(relations_total, len(rows)),
            sources=[SourceShape.of(passage) for passage in found.passages],
            sources_total=entity.chunk_count,
        )
