"""Pictures that a model may describe, and the documents that wait for their descriptions.

A loader knows no model. It leaves a place in the text for the description of each picture, which
takes it once a model was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from knotwork._indexing.loaders.kept_parts import keep_parts
from knotwork._indexing.loaders.loader import NOWHERE, Content, DescribablePicture
from knotwork._text.languages import detect_language
from knotwork.records import Block, BlockKind, Span

PLACEHOLDER = "\ufffc"
"""Stands for a description in the text of a document that waits for it."""


class RecognisedLine(NamedTuple):
    """A line of text and its corners, as pixels of the picture from the upper left.

    ``slope`` is that of its upper edge: 0 for a level line, positive if it falls to the right.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    slope: float = 0.0

    @property
    def width(self) -> float:
        """The width in pixels."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height of its characters in pixels, not of its slanted box."""
        return max(1.0, self.bottom - self.top - abs(self.slope) * self.width)

    @property
    def middle(self) -> float:
        """The height of its centre on the page."""
        return (self.top + self.bottom) / 2


class RecognisedPage(NamedTuple):
    """The lines of a picture of ``width`` by ``height`` pixels, in no order.

    To read it, the picture was turned to the left by ``turns`` right angles.
    """

    lines: tuple[RecognisedLine, ...]
    width: int
    height: int
    turns: int = 0

    @property
    def characters(self) -> int:
        """The number of characters of all lines."""
        return sum(len(line.text) for line in self.lines)


@dataclass(frozen=True, slots=True)
class UndescribedDocument:
    """A document that waits for the descriptions of ``pictures``.

    ``rest`` is all else, which `loader_registry.describe` reads, and a process passes on as it is.
    """

    pictures: tuple[DescribablePicture, ...]
    rest: bytes = field(repr=False)


_WORDS = {
    "en": ("Picture", "Picture, described by a model: {description}"),
    "zh": ("图片", "图片（模型描述）：{description}"),
}


def with_descriptions(content: Content, descriptions: Mapping[str, str]) -> Content:
    """Return a content with the descriptions of its pictures, by key, which say whose words they
    are. A picture without one leaves no trace; a figure without a label gets one.
    """
    parts: list[tuple[Span, str]] = []
    labels: dict[int, str] = {}
    end = len(content.text)
    places = [(picture.place, picture.key) for picture in content.pictures]
    for (before, _), (place, key) in pairwise([(NOWHERE, ""), *places, (Span(end, end), "")]):
        between = content.text[before.end : place.start]
        if text := between.strip():
            start = before.end + between.index(text)
            parts.append((Span(start, start + len(text)), text))
        if description := descriptions.get(key):
            label, words = _WORDS.get(detect_language(description), _WORDS["en"])
            parts.append((place, words.format(description=description)))
            labels[place.start] = label

    def labelled(block: Block) -> Block:
        if block.kind is not BlockKind.FIGURE or block.label:
            return block
        inside = (label for place, label in labels.items() if place in range(*block.span))
        return block._replace(label=next(inside, ""))

    blocks = tuple(map(labelled, content.blocks))
    return replace(keep_parts(replace(content, blocks=blocks), parts), pictures=())
