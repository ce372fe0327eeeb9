"""Build the section tree of a document from its headings, and find the frames of a span."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import NamedTuple

from knotwork.records import Document, Frame, FrameKind, Heading, Section, Span, content_id


class SectionBody(NamedTuple):
    """A section's own text, up to the next heading; together these cover the document.

    ``body`` is the offset after the heading. ``bare`` is true if no text follows the heading.
    """

    section: int
    start: int
    body: int
    end: int
    bare: bool


class SectionTree:
    """The sections of a document in reading order (the root first) and their regions."""

    def __init__(self, document: Document) -> None:
        headings = _usable(document.headings, len(document.text))
        self.parents = _parents(headings)
        self.sections = _sections(document, headings, self.parents)
        self.regions = _regions(document.text, headings)
        self._frames = sorted(document.frames, key=lambda f: (f.span.start, -f.span.end))
        self._starts = [frame.span.start for frame in self._frames]
        self._around = _enclosing(self._frames)

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

    def frames_in(self, span: Span) -> list[Frame]:
        """Return the frames that overlap a span, outermost first."""
        first = bisect_right(self._starts, span.start)
        found: list[Frame] = []
        index = first - 1
        while index >= 0:
            if self._frames[index].span.end > span.start:
                found.append(self._frames[index])
            index = self._around[index]
        return found[::-1] + self._frames[first : bisect_left(self._starts, span.end)]

    def subsections(self, section: int, places: Iterable[tuple[Span, int]]) -> list[Frame]:
        """Return a title frame for each run of places in one region below a section.

        ``places`` are (span, region), in order. A frame has the titles below those of ``section``.
        """
        above = self.titles(section)
        found: list[Frame] = []
        for region, run in groupby(places, key=itemgetter(1)):
            spans = [span for span, _ in run]
            own = [
                title
                for title, common in zip_longest(
                    self.titles(self.regions[region].section), above, fillvalue=""
                )
                if title != common
            ]
            if label := ". ".join(filter(None, own)):
                span = Span(spans[0].start, spans[-1].end)
                found.append(Frame(FrameKind.TITLE, span, label))
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


def _enclosing(frames: Sequence[Frame]) -> list[int]:
    """Return for each frame the index of the innermost frame around its start, or -1.

    From the last frame that starts before an offset, these indexes lead through all frames that
    may contain the offset.
    """
    found: list[int] = []
    opened: list[int] = []
    for index, frame in enumerate(frames):
        while opened and frames[opened[-1]].span.end <= frame.span.start:
            opened.pop()
        found.append(opened[-1] if opened else -1)
        opened.append(index)
    return found


def _usable(headings: Sequence[Heading], length: int) -> list[Heading]:
    """Return the headings in order, without those outside the text or overlapping another."""
    kept: list[Heading] = []
    for heading in sorted(headings, key=lambda item: item.span):
        start, end = heading.span
        if not 0 <= start < end <= length:
            continue
        if kept and start < kept[-1].span.end:
            continue
        kept.append(heading)
    return kept


def _parents(headings: Sequence[Heading]) -> list[int]:
    """Return the index of each section's parent; the root, 0, is its own parent."""
    parents = [0]
    open_sections: list[tuple[int, int]] = []
    for index, heading in enumerate(headings, start=1):
        while open_sections and open_sections[-1][0] >= heading.level:
            open_sections.pop()
        parents.append(open_sections[-1][1] if open_sections else 0)
        open_sections.append((heading.level, index))
    return parents


def _sections(
    document: Document, headings: Sequence[Heading], parents: Sequence[int]
) -> list[Section]:
    starts = [0, *(heading.span.start for heading in headings)]
    ends = [len(document.text)] * len(starts)
    last_open = list(range(len(starts)))
    # A section ends where the next one begins that is not below it: at its last descendant's end.
    for index in range(len(starts) - 1, 0, -1):
        last_open[parents[index]] = max(last_open[parents[index]], last_open[index])
    for index in range(1, len(starts)):
        following = last_open[index] + 1
        ends[index] = starts[following] if following < len(starts) else len(document.text)
    identity = document.id
    ids = [
        content_id("section", identity, index, start, heading.title if heading else "")
        for index, (start, heading) in enumerate(zip(starts, [None, *headings], strict=True))
    ]
    return [
        Section(
            id=ids[index],
            document_id=identity,
            parent_id=ids[parents[index]] if index else None,
            ordinal=index,
            level=headings[index - 1].level if index else 0,
            title=headings[index - 1].title if index else document.title,
            span=Span(starts[index], ends[index]),
        )
        for index in range(len(starts))
    ]


def _regions(text: str, headings: Sequence[Heading]) -> list[SectionBody]:
    spans = [Span(0, 0), *(heading.span for heading in headings)]
    ends = [*(span.start for span in spans[1:]), len(text)]
    return [
        SectionBody(index, span.start, span.end, end, bare=not text[span.end : end].strip())
        for index, (span, end) in enumerate(zip(spans, ends, strict=True))
    ]
