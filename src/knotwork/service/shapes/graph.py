"""The graph, communities and names as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field

from knotwork.indexing.communities.survey import Topic
from knotwork.records import Chunk, Document, Subgraph
from knotwork.service.shapes.answers import Asked, Offsets, PathShape, Text

MOST_EDGES = 2_000
MOST_SEEDS = 50

Names = Annotated[list[Text], Field(min_length=1, max_length=MOST_SEEDS)]


class ExploreRequest(Asked):
    """Walk the graph from names, strongest relations first."""

    names: Names
    direction: Literal["both", "in", "out"] = "both"
    depth: int = Field(2, ge=1, le=6)
    fan: int = Field(8, ge=1, le=100, description="Neighbours of each, at most.")
    limit: int = Field(50, ge=1, le=MOST_EDGES, description="Relations, at most.")


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


class PathsRequest(Asked):
    """Find the shortest paths between two things."""

    names: Annotated[list[Text], Field(min_length=2, max_length=2)]
    limit: int = Field(5, ge=1, le=50, description="Paths, at most.")


class PathList(BaseModel):
    """Paths, best first."""

    paths: list[PathShape]


class StatementRequest(Asked):
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
