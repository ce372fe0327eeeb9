"""A few sentences to search, with the window around them to read."""

from __future__ import annotations

from collections.abc import Sequence

from knotwork.indexing.splitters.base import Sizes
from knotwork.indexing.splitters.filling import fill, make_chunk
from knotwork.indexing.splitters.structure import section_groups
from knotwork.indexing.splitters.tree import SectionTree
from knotwork.indexing.splitters.units import Unit
from knotwork.records import Chunk, Document, Section

CHUNKS_IN_WINDOW = 4
"""A chunk is this part of its window, which has ``chunk_tokens`` tokens."""


class SentenceWindowSplitter:
    """Makes chunks of a few sentences, each with the window around it as its parent."""

    name = "sentence-window"

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes

    def split(self, document: Document) -> tuple[list[Section], list[Chunk]]:
        tree = SectionTree(document)
        leaves: list[Chunk] = []
        windows: dict[str, Chunk] = {}
        window_tokens = self._sizes.chunk_tokens
        limit = max(1, window_tokens // CHUNKS_IN_WINDOW)
        for group in section_groups(document, tree, window_tokens):
            for _, start, end in fill(group, limit=limit):
                low, high = _window(group, start, end, window_tokens)
                window = make_chunk(
                    document, tree, group[low:high], ordinal=len(windows), is_parent=True
                )
                window = windows.setdefault(window.id, window)
                leaves.append(
                    make_chunk(document, tree, group[start:end], ordinal=len(leaves), parent=window)
                )
        return tree.sections, leaves + list(windows.values())


def _window(units: Sequence[Unit], start: int, end: int, limit: int) -> tuple[int, int]:
    """Widen a range by whole sentences on both sides in turn, as far as ``limit`` tokens allow."""
    size = sum(unit.tokens for unit in units[start:end])
    grown = True
    while grown:
        grown = False
        if start > 0 and size + units[start - 1].tokens <= limit:
            start -= 1
            size += units[start].tokens
            grown = True
        if end < len(units) and size + units[end].tokens <= limit:
            size += units[end].tokens
            end += 1
            grown = True
    return start, end
