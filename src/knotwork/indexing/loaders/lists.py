"""Lists as office formats have them: paragraphs that each have a level, and no element around."""

from __future__ import annotations

from typing import NamedTuple

from knotwork.indexing.loaders.base import TextBuilder
from knotwork.indexing.loaders.cues import is_title_like
from knotwork.records import FrameKind

DEEPEST_LEVEL = 20


class _OpenList(NamedTuple):
    level: int
    start: int
    lead: str


class ListWriter:
    """Appends list items, each list in a frame of the line that leads into it.

    A list below an item is led into by that item, if it is short.
    """

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._open: list[_OpenList] = []
        self._item = ""

    def add(self, text: str, *, level: int = 0, number: int = 0) -> None:
        """Append an item; ``level`` 0 is the outermost, ``number`` 0 means that it has none."""
        level = max(0, min(level, DEEPEST_LEVEL))
        gap = "\n" if self._open else "\n\n"
        while self._open and self._open[-1].level > level:
            self._close_innermost()
        if not self._open or self._open[-1].level < level:
            above = self._item if self._open and is_title_like(self._item) else ""
            lead = self._builder.lead() or above
            self._open.append(_OpenList(level, self._builder.length, lead))
        self._item = text.strip()
        self._builder.add(f"{f'{number}.' if number else '-'} {self._item}", gap=gap)

    def close(self) -> None:
        """End all lists before another block."""
        while self._open:
            self._close_innermost()

    def _close_innermost(self) -> None:
        ended = self._open.pop()
        self._builder.frame(FrameKind.LEAD, ended.start, ended.lead)
