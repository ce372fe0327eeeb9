"""Read the sections of a document from its blocks, and the regions of text that each one has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import NamedTuple

from knotwork._text.block_index import BlockIndex
from knotwork.records import Block, BlockKind, Document, Section, Span, block_order, content_id

_INK = re.compile(r"\S")


class SectionBody(NamedTuple):
    """Text of a section outside of those below it; the regions have all text of the document.

    ``body`` is the offset after the heading. ``bare`` is true if no text follows the heading.
    """

    section: int
    start: int
    body: int
    end: int
    bare: bool


class SectionTree:
    """The sections of a document in reading order (the root first) and their regions.

    A section has more than one region if text of its own follows a section below it.
    """

    def __init__(self, document: Document) -> None:
        headings = _headings(document)
        self.parents, ends = _nest(headings, len(document.text))
        ends = _widen(document.text, headings, self.parents, ends)
        self.sections = _sections(document, headings, self.parents, ends)
        self.regions = _regions(document.text, headings, self.parents, ends)
        self._blocks = BlockIndex(
            block
            for block in document.blocks
            if block.kind is not BlockKind.SECTION and block.span.start < block.span.end
        )

    def titles(self, section: int) -> tuple[str, ...]:
        """Return the titles from below the root down to a section."""
        above = [self.sections[index].title for index in self.ancestors(section) if index]
        return tuple(title for title in reversed(above) if title)

    def ancestors(self, section: int) -> list[int]:
        """Return a section and all sections above it, up to the root."""
        path = [section]
        while path[-1]:
            path.append(self.parents[path[-1]])
        return path

    def blocks_in(self, span: Span) -> list[Block]:
        """Return the blocks that share a character with a span, without sections."""
        return self._blocks.overlapping(span)

    def subsections(self, section: int, places: Iterable[tuple[Span, int]]) -> list[Block]:
        """Return a section for each run of places in one region below ``section``.

        ``places`` are (span, region), in order. The label has the titles below those of
        ``section``.
        """
        above = self.titles(section)
        found: list[Block] = []
        for region, run in groupby(places, key=itemgetter(1)):
            inner = self.regions[region].section
            if inner == section:
                continue
            spans = [span for span, _ in run]
            own = [
                title
                for title, common in zip_longest(self.titles(inner), above, fillvalue="")
                if title != common
            ]
            if label := ". ".join(filter(None, own)):
                span = Span(spans[0].start, spans[-1].end)
                level = self.sections[inner].level
                found.append(Block(BlockKind.SECTION, span, label, level=level))
        return found

    def common_section(self, regions: Iterable[int]) -> int:
        """Return the lowest section that contains all these regions.

        Headings without text of their own do not count, as they only introduce what follows.
        """
        listed = list(regions)
        full = [index for index in listed if not self.regions[index].bare] or listed[:1]
        common = self.ancestors(self.regions[full[0]].section)
        for index in full[1:]:
            above = set(self.ancestors(self.regions[index].section))
            common = [section for section in common if section in above]
        return common[0]


class _Heading(NamedTuple):
    """The line that begins a section; the section ends at ``end``."""

    level: int
    title: str
    line: Span
    end: int


def _headings(document: Document) -> list[_Heading]:
    """Return the headings in order, without those outside the text or in the line of another."""
    text = document.text
    kept: list[_Heading] = []
    sections = (block for block in document.blocks if block.kind is BlockKind.SECTION)
    for block in sorted(sections, key=block_order):
        start, end = block.span
        after = kept[-1].line.end if kept else 0
        if after <= start < end <= len(text):
            line = text.find("\n", start, end)
            span = Span(start, end if line < 0 else line)
            kept.append(_Heading(max(block.level, 1), block.label, span, end))
    return kept


def _nest(headings: Sequence[_Heading], length: int) -> tuple[list[int], list[int]]:
    """Return the index of each section's parent, and its end; the root, 0, is its own parent."""
    parents, ends = [0], [length]
    opened = [0]
    for index, heading in enumerate(headings, start=1):
        start = heading.line.start
        while opened[-1] and (
            headings[opened[-1] - 1].level >= heading.level or ends[opened[-1]] <= start
        ):
            ends[opened[-1]] = min(ends[opened[-1]], start)
            opened.pop()
        parents.append(opened[-1])
        ends.append(min(heading.end, ends[opened[-1]]))
        opened.append(index)
    return parents, ends


def _widen(
    text: str, headings: Sequence[_Heading], parents: Sequence[int], ends: Sequence[int]
) -> list[int]:
    """Return the ends of the sections with the white space that follows them."""
    starts = [0, *(heading.line.start for heading in headings), len(text)]
    last_inside = list(range(len(parents)))
    for index in range(len(parents) - 1, 0, -1):
        above = parents[index]
        last_inside[above] = max(last_inside[above], last_inside[index])
    wide = [len(text)]
    for index in range(1, len(parents)):
        limit = min(starts[last_inside[index] + 1], wide[parents[index]])
        wide.append(ends[index] if _INK.search(text, ends[index], limit) else limit)
    return wide


def _sections(
    document: Document,
    headings: Sequence[_Heading],
    parents: Sequence[int],
    ends: Sequence[int],
) -> list[Section]:
    identity = document.id
    root = Section(
        content_id("section", identity, 0, 0, ""),
        identity,
        None,
        0,
        0,
        document.title,
        Span(0, len(document.text)),
    )
    found = [root]
    for index, heading in enumerate(headings, start=1):
        start = heading.line.start
        found.append(
            Section(
                id=content_id("section", identity, index, start, heading.title),
                document_id=identity,
                parent_id=found[parents[index]].id,
                ordinal=index,
                level=heading.level,
                title=heading.title,
                span=Span(start, ends[index]),
            )
        )
    return found


def _regions(
    text: str, headings: Sequence[_Heading], parents: Sequence[int], ends: Sequence[int]
) -> list[SectionBody]:
    lines = [Span(0, 0), *(heading.line for heading in headings)]
    stops = [*(line.start for line in lines[1:]), len(text)]
    found: list[SectionBody] = []
    for index, (line, stop) in enumerate(zip(lines, stops, strict=True)):
        section, end = index, min(ends[index], stop)
        body = min(line.end, end)
        bare = _INK.search(text, body, end) is None
        found.append(SectionBody(section, line.start, body, end, bare))
        while end < stop:
            section, start = parents[section], end
            end = min(ends[section], stop)
            if _INK.search(text, start, end):
                found.append(SectionBody(section, start, start, end, bare=False))
    return found
