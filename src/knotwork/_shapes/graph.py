"""Shapes of the graph: subgraphs, aliases of entities, and the passages that mention an entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knotwork._shapes.base import Rounded, Shape
from knotwork._shapes.evidence import place_of
from knotwork.records import Edge, Node, Span

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import NamedDecision
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
