"""Look up the blocks of a document by position."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from knotwork.records import Block, Span, block_order


class BlockIndex:
    """Blocks in reading order, outer ones first, with the innermost one around each."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self.blocks: Sequence[Block] = sorted(blocks, key=block_order)
        self._starts = [block.span.start for block in self.blocks]
        self._parents: list[int] = []
        opened: list[int] = []
        for index, block in enumerate(self.blocks):
            while opened and self.blocks[opened[-1]].span.end <= block.span.start:
                opened.pop()
            self._parents.append(opened[-1] if opened else -1)
            opened.append(index)

    def overlapping(self, span: Span) -> list[Block]:
        """Return the blocks that share a character with a span, outermost first."""
        first = bisect_right(self._starts, span.start)
        found: list[Block] = []
        index = first - 1
        while index >= 0:
            if self.blocks[index].span.end > span.start:
                found.append(self.blocks[index])
            index = self._parents[index]
        return found[::-1] + list(self.blocks[first : bisect_left(self._starts, span.end)])

    def around(self, span: Span) -> list[Block]:
        """Return the blocks that contain a span, outermost first."""
        return [block for block in self.overlapping(span) if block.span.contains(span)]

    def starting_at(self, offset: int) -> list[Block]:
        """Return the blocks that begin at an offset, outermost first."""
        first = bisect_left(self._starts, offset)
        return list(self.blocks[first : bisect_right(self._starts, offset)])

    def inside(self, span: Span) -> list[Block]:
        """Return the blocks that begin inside a span, outermost first."""
        first = bisect_left(self._starts, span.start)
        return list(self.blocks[first : bisect_left(self._starts, span.end)])
