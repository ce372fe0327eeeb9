"""What is known of one entity as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import BaseModel

from knotwork.retrieval.dossiers import Dossier, Passage
from knotwork.service.shapes.answers import Offsets
from knotwork.service.shapes.maps import AncestorShape


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
    def of(cls, passage: Passage) -> Self:
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
