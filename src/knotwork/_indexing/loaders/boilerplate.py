"""Find and remove the lines that a web site repeats at the edges of its pages.

`edge_line_keys` returns the candidates of one page. `knotwork._indexing.sources` compares the pages
of a site and decides which lines are repeated. `remove_boilerplate` removes these from a page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from knotwork._indexing.loaders.loader import Content, keep_parts
from knotwork._text.languages import measure_width
from knotwork.records import BlockKind, Span, content_id, id_to_int

EDGE_LINES = 256
"""Candidate lines at each end of a page."""

MAX_OWN_TEXT = 300
"""Characters of the page's own text, without links, after which the edge ends.

Leaves room for a title, a date and an author between the lines of the site.
"""

MAX_REPEATED_PROSE = 1_000
"""Characters of repeated text at one edge, without links, that still count as boilerplate.

More than this is content: documents made from one template share whole clauses. A Chinese
character counts as two.
"""

_MAX_LINE_LENGTH = 1_000
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_INTRODUCES = re.compile(r"(?:[:：…]|\.\.\.)$")
_ENDS_SENTENCE = re.compile(r"[.!?。！？][\"'”’)）]*$")
_CONTENT_BLOCKS = (BlockKind.CODE, BlockKind.TABLE, BlockKind.DEFINITION)
"""Code, tables and definitions are content, however often they are repeated."""


class _Line(NamedTuple):
    """A line of a page.

    ``key`` is a hash of its text, 0 if the line must never be removed. ``width`` is its length,
    with each Chinese character counted as two. ``level`` is the level of a heading, else 0. A line
    that ``introduces`` others ends with a colon or dots.
    """

    span: Span
    key: int
    width: int
    level: int
    is_link: bool
    introduces: bool
    ends_sentence: bool


def edge_line_keys(content: Content) -> list[int]:
    """Return the keys of the lines of a page that its site may repeat, distinct and ascending.

    A key is a 63-bit hash of the text of a line.
    """
    lines = _read_lines(content)
    edges = {*lines[:EDGE_LINES], *lines[-EDGE_LINES:]}
    return sorted({line.key for line in edges if line.key})


def remove_boilerplate(content: Content, repeated: Collection[int]) -> Content:
    """Return a page without those lines at its edges whose keys are ``repeated``.

    An edge ends where the page's own text begins. A heading is removed only with its whole section,
    an introducing line only with the line it introduces. A page that would become empty is returned
    unchanged.
    """
    lines = _read_lines(content)
    marked = _repeated_at_start(lines, repeated) | {
        len(lines) - 1 - index for index in _repeated_at_start(lines[::-1], repeated)
    }
    removed = _removable(lines, marked)
    if not removed or len(removed) == len(lines):
        return content
    return keep_parts(
        content,
        [
            (line.span, content.text[slice(*line.span)])
            for index, line in enumerate(lines)
            if index not in removed
        ],
    )


def _read_lines(content: Content) -> list[_Line]:
    levels = {b.span.start: b.level for b in content.blocks if b.kind is BlockKind.SECTION}
    # A link may stand behind the mark of an item.
    links = {content.text.rfind("\n", 0, span.start) + 1 for span in content.link_lines}
    protected = bytearray(len(content.text))
    for block in content.blocks:
        if block.kind in _CONTENT_BLOCKS:
            protected[slice(*block.span)] = b"\x01" * (block.span.end - block.span.start)
    lines: list[_Line] = []
    for match in _LINE.finditer(content.text):
        start = match.start()
        text = " ".join(match.group().split())
        introduces = _INTRODUCES.search(text) is not None
        is_removable = not protected[start] and len(text) <= _MAX_LINE_LENGTH
        lines.append(
            _Line(
                Span(*match.span()),
                id_to_int(content_id(text)) if is_removable else 0,
                measure_width(text),
                levels.get(start, 0),
                start in links,
                introduces,
                not introduces and _ENDS_SENTENCE.search(text) is not None,
            )
        )
    return lines


def _repeated_at_start(lines: Sequence[_Line], repeated: Collection[int]) -> set[int]:
    """Return the indices of the repeated lines between the first line and the end of the edge.

    After a line of the page itself or a heading, only links, sentences, introducing lines and
    headings count as boilerplate: other short lines may label content of the page.
    """
    own = prose = 0
    marked: set[int] = set()
    is_outermost = True
    for index, line in enumerate(lines):
        if line.key not in repeated or not line.key:
            is_outermost = False
            own += 0 if line.is_link else line.width
            if own > MAX_OWN_TEXT:
                break
        elif is_outermost or line.is_link or line.level or line.introduces or line.ends_sentence:
            marked.add(index)
            prose += 0 if line.level or line.is_link else line.width
            is_outermost &= not line.level
    if prose > MAX_REPEATED_PROSE:
        return {index for index in marked if lines[index].is_link}
    return marked


def _removable(lines: Sequence[_Line], marked: Collection[int]) -> set[int]:
    """Return the marked lines, without headings and introducing lines of lines that stay."""
    removed: set[int] = set()
    for index in sorted(marked, reverse=True):
        line = lines[index]
        if line.level:
            is_removable = all(below in removed for below in _section(lines, index))
        else:
            below = index + 1
            is_removable = not line.introduces or below == len(lines) or below in removed
        if is_removable:
            removed.add(index)
    return removed


def _section(lines: Sequence[_Line], heading: int) -> Iterator[int]:
    """Yield the indices of the lines below a heading, at least that of the next line."""
    for below in range(heading + 1, len(lines)):
        if below > heading + 1 and 0 < lines[below].level <= lines[heading].level:
            return
        yield below
