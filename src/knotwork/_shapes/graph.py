"""Shapes of the graph: subgraphs, aliases, passages that mention an entity, and communities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knotwork._shapes.base import Rounded, Shape, rounded
from knotwork._shapes.evidence import place_of
from knotwork.records import Edge, Node, Span

if TYPE_CHECKING:
    from knotwork._indexing.communities.index_reports import Topic
    from knotwork._indexing.resolution.resolver import NamedDecision
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._retrieval.entity_lookup import DossierPassage


@dataclass(frozen=True, slots=True)
class SubgraphShape(Shape):
    """A part of the graph in the order of exploration; ``is_cut`` is true if the limit was hit."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    is_cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionShape(Shape):
    """A decision about two names; a refused one contradicts others and has no effect."""

    first: str
    second: str
    ids: tuple[str, str]
    verdict: str
    source: str
    """Who decided: rules, person or a model."""
    reason: str
    score: Rounded
    undone: bool
    refused: bool

    @classmethod
    def derived(cls, record: NamedDecision) -> dict[str, object]:
        decision = record.decision
        names = ("verdict", "source", "reason", "score", "undone")
        return {"ids": decision.pair} | {name: getattr(decision, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingShape(Shape):
    """An entity with several names, the preferred one first, and the decisions behind it."""

    names: tuple[str, ...]
    entity_ids: tuple[str, ...]
    chunks: int
    decisions: tuple[DecisionShape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList(Shape):
    """Merged entities, and names that are kept apart."""

    things: tuple[ThingShape, ...]
    apart: tuple[DecisionShape, ...]
    compared: bool
    """False if names were never compared."""
    waiting: int
    """Number of entities that changed since names were compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceShape(Shape):
    """A passage that mentions an entity; ``marks`` are the mentions, as offsets in the document."""

    chunk_id: str
    document: str
    document_id: str
    title: str
    section: str
    span: Span
    text: str
    marks: tuple[Span, ...]
    about: Rounded

    @classmethod
    def derived(cls, record: DossierPassage) -> dict[str, object]:
        return place_of(record.chunk) | {"document": record.document.uri}


@dataclass(frozen=True, slots=True)
class MemberShape(Shape):
    """A member of a community."""

    id: str
    name: str
    importance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportShape(Shape):
    """The position of a passage that supports a finding."""

    document: str
    document_id: str
    chunk_id: str
    span: Span


@dataclass(frozen=True, slots=True)
class FindingShape(Shape):
    """A finding of a community report, and the passages that support it."""

    text: str
    supports: tuple[SupportShape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommunityShape(Shape):
    """A community with its report; level 0 is the top level."""

    id: str
    level: int
    parent: str | None
    children: int
    """Number of communities inside it, of the next level."""
    is_stale: bool
    """Whether its documents changed since it was built."""
    size: int
    members: tuple[MemberShape, ...]
    title: str
    summary: str
    rating: float
    language: str
    source: str
    score: float
    findings: tuple[FindingShape, ...]


def describe_communities(
    base: KnowledgeBase, topics: Sequence[Topic], *, members: int = 8
) -> list[CommunityShape]:
    """Return the shapes of communities, with the most important ``members`` of each.

    Supports of a report whose chunk was deleted are left out.
    """
    store = base.store
    chunks = store.documents.chunks({i for topic in topics for i in topic.report.chunk_ids})
    documents = store.documents.documents({chunk.document_id for chunk in chunks.values()})
    supported = {key: documents[chunk.document_id] for key, chunk in chunks.items()}
    names = base.communities.member_names(topics, most=members)
    communities = store.capabilities.communities
    children = Counter(communities.parents().values()) if communities and topics else Counter()
    stale = frozenset(communities.stale()) if communities and topics else frozenset()
    return [
        CommunityShape.of(
            topic.report,
            id=topic.community.id,
            level=topic.community.level,
            parent=topic.community.parent_id,
            children=children[topic.community.id],
            is_stale=topic.community.id in stale,
            size=topic.community.size,
            members=tuple(
                MemberShape(member.entity_id, names[member.entity_id], round(member.importance, 6))
                for member in topic.community.members
                if member.entity_id in names
            ),
            score=rounded(topic.score),
            findings=tuple(
                FindingShape(
                    finding.text,
                    tuple(
                        SupportShape(
                            document=supported[support.chunk_id].uri,
                            document_id=supported[support.chunk_id].id,
                            chunk_id=support.chunk_id,
                            span=support.span,
                        )
                        for support in finding.supports
                        if support.chunk_id in supported
                    ),
                )
                for finding in topic.report.findings
            ),
        )
        for topic in topics
    ]
