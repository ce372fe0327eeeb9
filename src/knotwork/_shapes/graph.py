"""Shapes of the graph: subgraphs, aliases of entities, and the passages that mention an entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from knotwork._shapes.base import Shape, rounded
from knotwork.records import Edge, Node, Span, Subgraph

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import MergedEntity, NamedDecision, SameNames
    from knotwork._retrieval.entity_lookup import DossierPassage


@dataclass(frozen=True, slots=True)
class SubgraphShape(Shape):
    """A part of the graph in the order of exploration; ``is_cut`` is true if the limit was hit."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    is_cut: bool

    @classmethod
    def of(cls, subgraph: Subgraph, *, limit: int) -> Self:
        """Build the shape of a subgraph of at most ``limit`` edges."""
        return cls(subgraph.nodes, subgraph.edges, is_cut=len(subgraph.edges) >= limit)


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
    score: float
    undone: bool
    refused: bool

    @classmethod
    def of(cls, named: NamedDecision) -> Self:
        """Build the shape of a decision."""
        decision = named.decision
        return cls.copy(
            decision,
            first=named.first,
            second=named.second,
            ids=decision.pair,
            score=rounded(decision.score),
            refused=named.refused,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingShape(Shape):
    """An entity with several names, the preferred one first, and the decisions behind it."""

    names: tuple[str, ...]
    entity_ids: tuple[str, ...]
    chunks: int
    decisions: tuple[DecisionShape, ...]

    @classmethod
    def of(cls, entity: MergedEntity) -> Self:
        """Build the shape of a merged entity."""
        return cls.copy(entity, decisions=tuple(map(DecisionShape.of, entity.decisions)))


@dataclass(frozen=True, slots=True, kw_only=True)
class NameList(Shape):
    """Merged entities, and names that are kept apart."""

    things: tuple[ThingShape, ...]
    apart: tuple[DecisionShape, ...]
    compared: bool
    """False if names were never compared."""
    waiting: int
    """Number of entities that changed since names were compared."""

    @classmethod
    def of(cls, known: SameNames, *, limit: int | None = None) -> Self:
        """Build the shape of the first ``limit`` entities and pairs, by default of all."""
        return cls.copy(
            known,
            things=tuple(map(ThingShape.of, known.things[:limit])),
            apart=tuple(map(DecisionShape.of, known.apart[:limit])),
        )


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
    about: float

    @classmethod
    def of(cls, passage: DossierPassage) -> Self:
        """Build the shape of a passage."""
        chunk = passage.chunk
        return cls(
            chunk_id=chunk.id,
            document=passage.document.uri,
            document_id=chunk.document_id,
            title=chunk.document_title,
            section=" > ".join(chunk.headings),
            span=chunk.span,
            text=chunk.text,
            marks=passage.marks,
            about=rounded(passage.about),
        )
