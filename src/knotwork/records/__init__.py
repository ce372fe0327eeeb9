"""The plain frozen values that flow through Knotwork."""

from knotwork.records.documents import Chunk, Document, Heading, Page, Section, Span
from knotwork.records.evidence import Answer, Citation, Evidence, Hit, Query, Step, Usage
from knotwork.records.graph import (
    ALIAS_RELATION,
    CO_OCCURRENCE_RELATION,
    Direction,
    Edge,
    EdgeType,
    Entity,
    Extraction,
    GraphSchema,
    Label,
    Mention,
    Node,
    Relation,
    Subgraph,
    entity_id,
)
from knotwork.records.identity import content_id, id_to_int, int_to_id

__all__ = [
    "ALIAS_RELATION",
    "CO_OCCURRENCE_RELATION",
    "Answer",
    "Chunk",
    "Citation",
    "Direction",
    "Document",
    "Edge",
    "EdgeType",
    "Entity",
    "Evidence",
    "Extraction",
    "GraphSchema",
    "Heading",
    "Hit",
    "Label",
    "Mention",
    "Node",
    "Page",
    "Query",
    "Relation",
    "Section",
    "Span",
    "Step",
    "Subgraph",
    "Usage",
    "content_id",
    "entity_id",
    "id_to_int",
    "int_to_id",
]
