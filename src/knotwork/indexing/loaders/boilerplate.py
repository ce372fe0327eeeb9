"""Find and remove lines that a web site repeats on its pages.

`edge_line_keys` returns the candidates of one page; `indexing/sites.py` compares pages and decides;
`remove_boilerplate` removes the decided lines from a page.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

from knotwork.indexing.loaders.loader import Content
from knotwork.records import FrameKind, Span, content_id, id_to_int

EDGE_LINES = 256
"""Lines from each end of a page that may be repeated ones."""

LONGEST_OWN = 300
"""Characters of a page's own text, links left out, after which its edge ends.

Enough for a title, a date and the name of an author between the lines of the site.
"""

LONGEST_PROSE = 1_000
"""Characters of repeated text at one edge, links left out, that a site has at most.

Documents made from one template share whole clauses; those are content. A character of Chinese
counts as two.
"""

_LONGEST_LINE = 1_000
T = TypeVar("T")
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_LEADS = re.compile(r"(?:[:：…]|\.\.\.)$")
_ENDS = re.compile(r"[.!?。！？][\"'”’)）]*$")
_CONTENT_FRAMES = (FrameKind.CODE, FrameKind.ROW, FrameKind.TERM)
"""Code, rows of tables and definitions are content, however often they are repeated."""


class _Line(NamedTuple):
    """A line of a page; ``key`` is 0 for what is never removed, ``level`` for what is no heading.

    ``width`` is its length with each character of Chinese counted as two. One that ``leads`` ends
    with a colon or dots; one that ``ends`` ends as a sentence.
    """

    span: Span
    key: int
    width: int
    level: int
    is_link: bool
    leads: bool
    ends: bool

    @property
    def prose(self) -> int:
        """The characters of its text that are neither a heading nor a link."""
        return 0 if self.level or self.is_link else self.width


def edge_line_keys(content: Content) -> list[int]:
    """Return the keys of the lines of a page that its site may repeat, ascending and distinct.

    A key is a hash of 63 bits of the text of a line.
    """
    lines = _lines(content)
    edges = {*lines[:EDGE_LINES], *lines[-EDGE_LINES:]}
    return sorted({line.key for line in edges if line.key})


def remove_boilerplate(content: Content, repeated: Collection[int]) -> Content:
    """Return a page without the lines with these keys that stand at its edges.

    An edge ends where the page's own text begins. A heading is removed with all that stands below
    it, a line that leads into others with those. A page that has nothing else stays as it is.
    """
    lines = _lines(content)
    marked = _marked(lines, repeated) | {
        len(lines) - 1 - place for place in _marked(lines[::-1], repeated)
    }
    removed = _with_what_they_introduce(lines, marked)
    if not removed or len(removed) == len(lines):
        return content
    return _without(content, [line.span for line in lines], removed)


def _lines(content: Content) -> list[_Line]:
    levels = {heading.span.start: heading.level for heading in content.headings}
    links = {span.start for span in content.links}
    kept = _Places(frame.span for frame in content.frames if frame.kind in _CONTENT_FRAMES)
    return [
        _line(
            match,
            level=levels.get(match.start(), 0),
            is_link=match.start() in links,
            is_kept=match.start() in kept,
        )
        for match in _LINE.finditer(content.text)
    ]


def _line(match: re.Match[str], *, level: int, is_link: bool, is_kept: bool) -> _Line:
    text = " ".join(match.group().split())
    leads = _LEADS.search(text) is not None
    may_go = not is_kept and len(text) <= _LONGEST_LINE
    return _Line(
        Span(*match.span()),
        id_to_int(content_id(text)) if may_go else 0,
        len(text) if text.isascii() else sum(1 + (c > "\u2e80") for c in text),
        level,
        is_link,
        leads,
        not leads and _ENDS.search(text) is not None,
    )


class _Places:
    """The characters that some spans cover."""

    def __init__(self, spans: Iterator[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for span in sorted(spans):
            if self._ends and span.start <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], span.end)
            else:
                self._starts.append(span.start)
                self._ends.append(span.end)

    def __contains__(self, position: int) -> bool:
        place = bisect_right(self._starts, position) - 1
        return place >= 0 and position < self._ends[place]


def _marked(lines: Sequence[_Line], repeated: Collection[int]) -> set[int]:
    """Return the places of the repeated lines from the first line to the end of the edge.

    Behind a page's own lines and behind headings only links, sentences and headings are the site's:
    other short lines may be labels of what the page says.
    """
    own = prose = 0
    marked: set[int] = set()
    is_outermost = True
    for place, line in enumerate(lines):
        if line.key not in repeated or not line.key:
            is_outermost = False
            own += 0 if line.is_link else line.width
            if own > LONGEST_OWN:
                break
        elif is_outermost or line.is_link or line.level or line.leads or line.ends:
            marked.add(place)
            prose += line.prose
            is_outermost &= not line.level
    if prose > LONGEST_PROSE:
        return {place for place in marked if lines[place].is_link}
    return marked


def _with_what_they_introduce(lines: Sequence[_Line], marked: Collection[int]) -> set[int]:
    """Return the marked places, less headings and leading lines of what stays."""
    removed: set[int] = set()
    for place in sorted(marked, reverse=True):
        line = lines[place]
        if line.level:
            goes = all(below in removed for below in _section(lines, place))
        else:
            goes = not line.leads or place + 1 == len(lines) or place + 1 in removed
        if goes:
            removed.add(place)
    return removed


def _section(lines: Sequence[_Line], place: int) -> Iterator[int]:
    """Yield the places of what stands below a heading, the next line at least."""
    for below in range(place + 1, len(lines)):
        if below > place + 1 and 0 < lines[below].level <= lines[place].level:
            return
        yield below


class _Kept:
    """The lines of a text that are kept, and where what they hold goes."""

    def __init__(self, text: str, lines: Sequence[Span]) -> None:
        parts: list[str] = []
        length = 0
        self._starts = [line.start for line in lines]
        self._ends = [line.end for line in lines]
        self._moves: list[int] = []
        for number, line in enumerate(lines):
            if number:
                between = text[self._ends[number - 1] : line.start]
                if not between.isspace():  # lines are removed here
                    between = "\n\n" if "\n\n" in between else "\n"
                parts.append(between)
                length += len(between)
            self._moves.append(length - line.start)
            parts.append(text[line.start : line.end])
            length += line.end - line.start
        self.text = "".join(parts)

    def move(self, span: Span) -> Span:
        """Return where a span is now, from its first character that is kept to its last one."""
        first = bisect_right(self._ends, span.start)
        last = bisect_left(self._starts, span.end) - 1
        if first > last:
            return Span(0, 0)
        start = max(span.start, self._starts[first]) + self._moves[first]
        return Span(start, min(span.end, self._ends[last]) + self._moves[last])

    def moved(self, spans: Iterable[tuple[T, Span]]) -> Iterator[tuple[T, Span]]:
        """Yield what still has text, with its new span."""
        for item, span in spans:
            new = self.move(span)
            if new.end > new.start:
                yield item, new


def _without(content: Content, lines: Sequence[Span], removed: Collection[int]) -> Content:
    kept = _Kept(content.text, [s for place, s in enumerate(lines) if place not in removed])
    headings = kept.moved((heading, heading.span) for heading in content.headings)
    frames = kept.moved((frame, frame.span) for frame in content.frames)
    links = kept.moved((link, link) for link in content.links)
    end = len(content.text)
    pages = kept.moved((page, Span(page.start, end)) for page in content.pages)
    return replace(
        content,
        text=kept.text,
        headings=tuple(replace(heading, span=span) for heading, span in headings),
        frames=tuple(frame._replace(span=span) for frame, span in frames),
        links=tuple(span for _, span in links),
        pages=tuple(replace(page, start=span.start) for page, span in pages),
    )
