"""Find the columns in the text of a PDF page, by blank strips and vertical ruling lines.

Lengths in "sizes" are multiples of the font size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from knotwork._indexing.loaders.pdf_pages import Piece, RulingLine, RulingLines
from knotwork._indexing.loaders.table_rows import Interval, merge_intervals
from knotwork._indexing.loaders.titles_and_captions import is_bold_font

_THICK = 1.5
"""Largest distance of the two edges of a ruling line, or of a double line, in points."""
_MIN_LINES = 3
_MAX_LINES = 200
_MAX_WRAPPED_LINES = 30
"""Most lines in sequence with text in a single column of a table."""
_GUTTER = 0.6
"""Smallest width of the strip between columns, in sizes; a space between words has a quarter."""
COLUMN_GAP = 0.9
"""Smallest gap between two words in different columns, in sizes."""
_WORD_GAP = 0.15
_TOLERANCE = 0.3
"""Largest difference of baselines within a line, in sizes."""
_RAISED = 0.6
"""The same for text in a smaller font, such as a footnote number."""
_SMALLER = 0.85
MAX_LINE_DISTANCE = 4.0
"""Largest distance from a line of a table to the next, in sizes."""
_WRAPPED = 1.9
"""Largest distance from a line to the rest of one of its cells, in sizes."""
_NEXT_TABLE = 2.0
"""Distance to another table with the same columns, as a multiple of that of lines in a table."""
_NEXT_COLUMN = 150.0
"""Points by which text must be above the text before it to begin another column of the page."""
_APART = 1.4
"""Distance to the text around a table, as a multiple of the largest distance of its lines."""
_CROSSED = 0.4
"""Largest share of the lines of a table with text across a ruling line between columns."""
_MIN_SHARED_LINES = 2
"""Fewest lines with text in both of two neighbouring columns."""
_MAX_POSTS = 100
"""Most positions of vertical lines on a page; a page with more has a grid or a drawing."""
_NEAR = 2.5
"""Largest distance of a table's upper border from the first baseline, in sizes."""
_COVERED = 0.8
"""Smallest width of a ruling line between rows, as a share of the width of the table."""
_LEADERS = re.compile(r"(?:[.…·‥_]\s?){4,}")

CellPieces = list[tuple[int, Piece]]
"""The words of a line in one column, with their indices on the page."""
RowPieces = list[CellPieces]


@dataclass(slots=True)
class TextLine:
    """The words on one baseline from left to right, with their indices on the page."""

    y: float
    size: float
    pieces: CellPieces

    @property
    def text(self) -> str:
        return join_pieces([piece for _, piece in self.pieces])

    @property
    def bold(self) -> bool:
        return all(is_bold_font(piece.font) for _, piece in self.pieces)


class ColumnBlock(NamedTuple):
    """Consecutive lines with common columns, with the lines above and below."""

    lines: list[TextLine]
    above: list[TextLine]
    below: list[TextLine]


class ColumnFinder:
    """Finds columns in the text of a page, by blank strips and vertical ruling lines."""

    def __init__(self, drawn: RulingLines) -> None:
        self._posts = _posts(drawn.upright)
        self._level = sorted(drawn.level, reverse=True)

    def blocks(self, pieces: Sequence[Piece]) -> Iterator[ColumnBlock]:
        """Yield the blocks of lines that may be tables."""
        for flow in read_flows(pieces):
            lines = read_lines(flow)
            start = 0
            while start < len(lines):
                block = self._grow(lines, start)
                if len(block) >= _MIN_LINES:
                    after = start + len(block)
                    is_drawn = any(all(map(post.is_beside, block)) for post in self._posts)
                    rows = block if is_drawn else _without_edges(block, self.levels(block))
                    yield ColumnBlock(rows, lines[:start], lines[after:])
                    start = after
                else:
                    start += 1

    def levels(self, block: Sequence[TextLine]) -> list[float]:
        """Return the heights of the ruling lines across a block, top to bottom."""
        covered = _covered_by(block)
        left, right = covered[0][0], covered[-1][1]
        top, bottom = block[0].y + _NEAR * block[0].size, block[-1].y - _NEAR * block[-1].size
        heights: list[tuple[float, list[Interval]]] = []
        for rule in self._level:
            if bottom < rule.place < top and rule.start < right and rule.end > left:
                if not heights or heights[-1][0] - rule.place > _THICK:
                    heights.append((rule.place, []))
                heights[-1][1].append((max(left, rule.start), min(right, rule.end)))
        widths = (
            (y, sum(end - start for start, end in merge_intervals(parts, apart=_THICK)))
            for y, parts in heights
        )
        return [y for y, width in widths if width >= _COVERED * (right - left)]

    def divide(self, block: Sequence[TextLine]) -> list[RowPieces]:
        """Return the cells of each line by the common columns, [] if there is only one column.

        Columns are merged if fewer than two lines have text in both, unless a line is drawn.
        """
        gutters = self._gutters(block, _covered_by(block)) if block else []
        while gutters:
            cells = [_split(line, [gutter.middle for gutter in gutters]) for line in block]
            loose = [n for n, gutter in enumerate(gutters) if _is_loose(cells, n, gutter)]
            if not loose:
                return cells
            del gutters[loose[0]]
        return []

    def _gutters(self, block: Sequence[TextLine], covered: Sequence[Interval]) -> list[_Gutter]:
        """Return the strips between columns: vertical ruling lines, else wide blank strips.

        ``covered`` are the horizontal intervals that have text.
        """
        ruled = [
            _Gutter(post.place - _THICK, post.place + _THICK, post.place, is_drawn=True)
            for post in self._posts
            if all(map(post.is_beside, block))
            and any(map(post.parts, block))
            and sum(map(post.is_crossed_by, block)) <= max(1.0, _CROSSED * len(block))
        ]
        if ruled:
            return ruled
        size = max(line.size for line in block)
        return [
            _Gutter(before[1], after[0], (before[1] + after[0]) / 2)
            for before, after in pairwise(covered)
            if after[0] - before[1] >= _GUTTER * size
        ]

    def _is_parted(self, line: TextLine) -> bool:
        """Return True if a line has a gap that may separate columns."""
        return any(
            after.left - before.right >= COLUMN_GAP * line.size
            for (_, before), (_, after) in pairwise(line.pieces)
        ) or any(post.is_beside(line) and post.parts(line) for post in self._posts)

    def _grow(self, lines: Sequence[TextLine], start: int) -> list[TextLine]:
        """Return the lines from ``start`` on that have columns in common."""
        first = lines[start]
        if not _may_be_row(first) or not self._is_parted(first):
            return [first]
        block = [first]
        covered = _covered_by(block)
        gutters = self._gutters(block, covered)
        ends = 1
        for line in lines[start + 1 : start + _MAX_LINES]:
            distance = block[-1].y - line.y
            parted = any(_sides(line, gutter) for gutter in gutters)
            is_drawn = any(gutter.is_drawn for gutter in gutters)
            farthest = (MAX_LINE_DISTANCE if parted or is_drawn else _WRAPPED) * max(
                first.size, line.size
            )
            if (
                not _may_be_row(line)
                or distance > farthest
                or len(block) - ends > _MAX_WRAPPED_LINES
            ):
                break
            is_long = len(block) >= _MIN_LINES and not is_drawn
            if is_long and distance > _NEXT_TABLE * max(a.y - b.y for a, b in pairwise(block)):
                break
            wider = merge_intervals([*covered, *_covered_by([line])])
            common = self._gutters([*block, line], wider)
            known = [gutter for gutter in gutters if sum(_sides(row, gutter) for row in block) > 1]
            is_kept = all(any(c.left < g.right and g.left < c.right for c in common) for g in known)
            if not common or not is_kept:
                break
            if is_drawn and not common[0].is_drawn:
                break  # the ruling lines between the columns end above this line
            block.append(line)
            gutters, covered = common, wider
            if parted:
                ends = len(block)
        # Lines right of the first column at the end of a table continue a cell of its last row.
        while ends < len(block) and block[ends].pieces[0][1].left > gutters[0].middle:
            ends += 1
        last = min(self.levels(block), default=block[-1].y)
        return block[: max(ends, sum(line.y > last for line in block))]


def read_flows(pieces: Sequence[Piece]) -> Iterator[list[tuple[int, Piece]]]:
    """Yield the words of each column of prose, which follow each other in the file."""
    flow: list[tuple[int, Piece]] = []
    for number, piece in enumerate(pieces):
        if not piece.is_placed or not piece.size:
            continue
        if flow and piece.y - flow[-1][1].y > _NEXT_COLUMN:
            yield flow
            flow = []
        flow.append((number, piece))
    if flow:
        yield flow


def read_lines(flow: Sequence[tuple[int, Piece]]) -> list[TextLine]:
    """Group words to lines, top to bottom, with raised and lowered text in the same line."""
    lines: list[TextLine] = []
    for number, piece in sorted(flow, key=lambda item: -item[1].y):
        last = lines[-1] if lines else None
        if last is not None and last.y - piece.y < _TOLERANCE * max(last.size, piece.size):
            last.pieces.append((number, piece))
            if piece.size > last.size:
                last.size, last.y = piece.size, piece.y
        else:
            lines.append(TextLine(piece.y, piece.size, [(number, piece)]))
    joined: list[TextLine] = []
    for line in lines:
        last = joined[-1] if joined else None
        if (
            last is not None
            and last.y - line.y < _RAISED * max(last.size, line.size)
            and (min(last.size, line.size) < _SMALLER * max(last.size, line.size))
        ):
            last.pieces.extend(line.pieces)
            if line.size > last.size:
                last.size, last.y = line.size, line.y
        else:
            joined.append(line)
    for line in joined:
        line.pieces.sort(key=lambda item: item[1].left)
    return joined


def join_pieces(pieces: Sequence[Piece]) -> str:
    """Return the text of words from left to right, with spaces at gaps."""
    text = ""
    for before, piece in pairwise([None, *pieces]):
        assert piece is not None
        is_apart = before is not None and piece.left - before.right > _WORD_GAP * piece.size
        if before is not None and (piece.is_spaced or (piece.begins_line and is_apart)):
            text += " "
        text += piece.text
    return text


def _covered_by(lines: Sequence[TextLine]) -> list[Interval]:
    """Return the horizontal intervals in which some line has text, from left to right."""
    return merge_intervals(((p.left, p.right) for line in lines for _, p in line.pieces))


class _Post(NamedTuple):
    """The x coordinate of a vertical ruling line, and the intervals of its height."""

    place: float
    heights: list[Interval]

    def is_beside(self, line: TextLine) -> bool:
        return any(low - _THICK <= line.y <= high + _THICK for low, high in self.heights)

    def parts(self, line: TextLine) -> bool:
        """Return True if words of a line begin on both sides.

        A word may still reach across, into the next cell or over the border of the table.
        """
        return any(
            before.left < self.place <= after.left + _THICK
            and abs(after.left - before.right) > _WORD_GAP * after.size
            for (_, before), (_, after) in pairwise(line.pieces)
        )

    def is_crossed_by(self, line: TextLine) -> bool:
        """Return True if a word of a line extends across the ruling line."""
        return not self.parts(line) and any(
            p.left + _THICK < self.place < p.right - _THICK for _, p in line.pieces
        )


def _posts(upright: Sequence[RulingLine]) -> list[_Post]:
    """Return the vertical ruling lines of a page, joined where each cell draws its own part."""
    posts: list[_Post] = []
    for rule in sorted(upright):
        if not posts or rule.place - posts[-1].place > _THICK:
            posts.append(_Post(rule.place, []))
        posts[-1].heights.append((rule.start, rule.end))
    if len(posts) > _MAX_POSTS:
        return []
    return [_Post(post.place, merge_intervals(post.heights, apart=_THICK)) for post in posts]


class _Gutter(NamedTuple):
    """A strip between two columns, with the position that separates their words."""

    left: float
    right: float
    middle: float
    is_drawn: bool = False


def _sides(line: TextLine, gutter: _Gutter) -> bool:
    """Return True if a line has text on both sides of a gutter."""
    return line.pieces[0][1].left < gutter.middle < line.pieces[-1][1].right


def _without_edges(block: list[TextLine], levels: Sequence[float]) -> list[TextLine]:
    """Drop a first or last line that is far from the others, such as a running head or foot.

    A first line between two ruling lines is the header of the table.
    """
    distances = [above.y - below.y for above, below in pairwise(block)]
    if len(distances) >= _MIN_LINES:
        is_header = any(y > block[0].y for y in levels) and any(
            block[1].y < y < block[0].y for y in levels
        )
        if distances[-1] > _APART * max(distances[1:-1]):
            block = block[:-1]
        if distances[0] > _APART * max(distances[1:-1]) and not is_header:
            block = block[1:]
    return block


def _may_be_row(line: TextLine) -> bool:
    """Return False for lines with dot leaders, as in a table of contents."""
    return _LEADERS.search(line.text) is None


def _split(line: TextLine, middles: Sequence[float]) -> RowPieces:
    cells: RowPieces = [[] for _ in range(len(middles) + 1)]
    for item in line.pieces:
        cells[sum(item[1].left > middle for middle in middles)].append(item)
    return cells


def _is_loose(cells: Sequence[RowPieces], column: int, gutter: _Gutter) -> bool:
    """Return True if there is not enough evidence that a column ends at a gutter."""
    if gutter.is_drawn:
        return not all(any(line[place] for line in cells) for place in (column, column + 1))
    return sum(bool(line[column] and line[column + 1]) for line in cells) < _MIN_SHARED_LINES
