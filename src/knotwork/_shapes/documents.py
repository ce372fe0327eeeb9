"""Shape of the blocks of a document."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork._shapes.base import Shape
from knotwork.records import BlockKind, BlockTree, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockShape(Shape):
    """A block of a document, with the blocks inside it in reading order."""

    kind: BlockKind
    span: Span
    label: str
    """Its name: the title of a section, the term of a definition, the language of code …"""
    lead: str
    """The sentence before it that introduces it; may be empty."""
    level: int
    """The level of a section, from 1; 0 for other blocks."""
    children: tuple[BlockShape, ...]

    @classmethod
    def derived(cls, record: BlockTree) -> dict[str, object]:
        return record.block._asdict()
