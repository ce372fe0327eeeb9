"""Columns of text on PDF pages: lines whose words are parted in the same places.

A column ends where a strip of the page is blank over several lines, or at a line drawn between
columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from knotwork.indexing.loaders.cues import is_bold
from knotwork.indexing.loaders.pdf_pieces import Drawn, Piece, Rule

_THICK = 1.5
"""Points that the lines of a double line or the two edges of a line are apart."""
_FEWEST_LINES = 3
_MOST_LINES = 200
_MOST_WRAPPED = 30
"""Lines of a table in a row that have text in one column."""
_GUTTER = 0.6
"""Sizes of type that the strip between columns is wide at least; spaces of words have a quarter."""
_GAP = 0.9
"""Sizes of type between two words that may be in different columns."""
_WORD_GAP = 0.15
_TOLERANCE = 0.3
"""Sizes of type by which the baselines of one line may differ."""
_RAISED = 0.6
"""The same for smaller type, such as the number of a footnote."""
_SMALLER = 0.85
_FARTHEST = 4.0
"""Sizes of type from a line of a table to the next one at most."""
_WRAPPED = 1.9
"""The same from a line to the rest of one of its cells."""
_NEXT_TABLE = 2.0
"""How much further than the lines of a table those of the next one with the same columns are."""
_NEXT_COLUMN = 150.0
"""Points by which text is higher than that before it where another column of the page begins."""
_APART = 1.4
"""How much further than the lines of a table those of the page around it are from them."""
_CROSSED = 0.4
"""The share of the lines of a table whose text may reach over a line drawn between columns."""
_FEWEST_BOTH = 2
"""Lines that have text in each of two neighbouring columns."""
_MOST_POSTS = 100
"""Places of upright lines on a page: a page with more has a grid or a drawing."""
_NEAR = 2.5
"""Sizes of type by which the line above a table is above the baseline of its first line."""
_COVERED = 0.8
"""The share of the width of a table that a line between its rows has."""
_LEADERS = re.compile(r"(?:[.…·‥_]\s?){4,}")

Interval = tuple[float, float]
Cell = list[tuple[int, Piece]]
"""The pieces of a line in a column, with their numbers on the page."""
Cells = list[Cell]


@dataclass(slots=True)
class TextLine:
    """The pieces on one baseline from left to right, with their numbers on the page."""

    y: float
    size: float
    pieces: Cell

    @property
    def text(self) -> str:
        return join_pieces([piece for _, piece in self.pieces])

    @property
    def bold(self) -> bool:
        return all(is_bold(piece.font) for _, piece in self.pieces)


class Block(NamedTuple):
    """Lines that stand below each other in columns, with those of the page around them."""

    lines: list[TextLine]
    above: list[TextLine]
    below: list[TextLine]


class Columns:
    """Finds the columns of the text of a page, with the help of the lines drawn on it."""

    def __init__(self, drawn: Drawn) -> None:
        self._posts = _posts(drawn.upright)
        self._level = sorted(drawn.level, reverse=True)

    def blocks(self, pieces: Sequence[Piece]) -> Iterator[Block]:
        """Yield the blocks of lines that may be tables."""
        for flow in _flows(pieces):
            lines = _lines(flow)
            start = 0
            while start < len(lines):
                block = self._grow(lines, start)
                if len(block) >= _FEWEST_LINES:
                    after = start + len(block)
                    is_drawn = any(all(map(post.is_beside, block)) for post in self._posts)
                    rows = block if is_drawn else _without_edges(block)
                    yield Block(rows, lines[:start], lines[after:])
                    start = after
                else:
                    start += 1

    def levels(self, block: Sequence[TextLine]) -> list[float]:
        """Return the heights of the lines drawn over the width of a block, from top to bottom."""
        covered = _covered_by(block)
        left, right = covered[0][0], covered[-1][1]
        top, bottom = block[0].y + _NEAR * block[0].size, block[-1].y - _NEAR * block[-1].size
        heights: list[tuple[float, list[Interval]]] = []
        for rule in self._level:
            if bottom < rule.place < top and rule.start < right and rule.end > left:
                if not heights or heights[-1][0] - rule.place > _THICK:
                    heights.append((rule.place, []))
                heights[-1][1].append((max(left, rule.start), min(right, rule.end)))
        return [y for y, parts in heights if _length(parts) >= _COVERED * (right - left)]

    def divide(self, block: Sequence[TextLine]) -> list[Cells]:
        """Return the cells of lines by their common columns, nothing if they have but one.

        Two columns of which lines have but one have no gap between them, unless a line is drawn.
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
        """Return the strips between columns: at upright lines, else wide ones without text.

        ``covered`` is what parts of the width have text.
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
        """Return whether a gap of a line may be one between columns."""
        return any(
            after.left - before.right >= _GAP * line.size
            for (_, before), (_, after) in pairwise(line.pieces)
        ) or any(post.is_beside(line) and post.parts(line) for post in self._posts)

    def _grow(self, lines: Sequence[TextLine], start: int) -> list[TextLine]:
        """Return the lines from one on that have columns in common."""
        first = lines[start]
        if not _may_be_row(first) or not self._is_parted(first):
            return [first]
        block = [first]
        covered = _covered_by(block)
        gutters = self._gutters(block, covered)
        ends = 1
        for line in lines[start + 1 : start + _MOST_LINES]:
            distance = block[-1].y - line.y
            parted = any(_sides(line, gutter) for gutter in gutters)
            is_drawn = any(gutter.is_drawn for gutter in gutters)
            farthest = (_FARTHEST if parted or is_drawn else _WRAPPED) * max(first.size, line.size)
            if not _may_be_row(line) or distance > farthest or len(block) - ends > _MOST_WRAPPED:
                break
            is_long = len(block) >= _FEWEST_LINES and not is_drawn
            if is_long and distance > _NEXT_TABLE * _widest(block):
                break
            wider = _merged([*covered, *_covered_by([line])], apart=0.0)
            common = self._gutters([*block, line], wider)
            known = [gutter for gutter in gutters if sum(_sides(row, gutter) for row in block) > 1]
            if not common or not all(_goes_on(gutter, common) for gutter in known):
                break
            if is_drawn and not common[0].is_drawn:
                break  # the lines between the columns end above
            block.append(line)
            gutters, covered = common, wider
            if parted:
                ends = len(block)
        while ends < len(block) and _continues(block[ends], gutters):
            ends += 1
        last = min(self.levels(block), default=block[-1].y)
        return block[: max(ends, sum(line.y > last for line in block))]


def _flows(pieces: Sequence[Piece]) -> Iterator[list[tuple[int, Piece]]]:
    """Yield the text of a page by the columns of its prose, which a file has one after another."""
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


def _lines(flow: Sequence[tuple[int, Piece]]) -> list[TextLine]:
    """Return the lines of text, top to bottom."""
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
    """Return the text of pieces from left to right."""
    text = ""
    for before, piece in pairwise([None, *pieces]):
        assert piece is not None
        if before is not None and piece.left - before.right > _WORD_GAP * piece.size:
            text += " "
        text += piece.text
    return text


def _covered_by(lines: Sequence[TextLine]) -> list[Interval]:
    """Return what parts of the width some line has text in, from left to right."""
    return _merged(((p.left, p.right) for line in lines for _, p in line.pieces), apart=0.0)


class _Post(NamedTuple):
    """Where an upright line is drawn, and between which heights."""

    place: float
    heights: list[Interval]

    def is_beside(self, line: TextLine) -> bool:
        return any(low - _THICK <= line.y <= high + _THICK for low, high in self.heights)

    def parts(self, line: TextLine) -> bool:
        """Return whether words of a line begin on both sides.

        The text of a cell may reach into the next one, and over the border of the table.
        """
        return any(
            before.left < self.place <= after.left + _THICK
            and abs(after.left - before.right) > _WORD_GAP * after.size
            for (_, before), (_, after) in pairwise(line.pieces)
        )

    def is_crossed_by(self, line: TextLine) -> bool:
        """Return whether a word of a line is on both sides."""
        return not self.parts(line) and any(
            p.left + _THICK < self.place < p.right - _THICK for _, p in line.pieces
        )


def _posts(upright: Sequence[Rule]) -> list[_Post]:
    """Return the upright lines of a page, each in one piece though every cell may draw its own."""
    posts: list[_Post] = []
    for rule in sorted(upright):
        if not posts or rule.place - posts[-1].place > _THICK:
            posts.append(_Post(rule.place, []))
        posts[-1].heights.append((rule.start, rule.end))
    if len(posts) > _MOST_POSTS:
        return []
    return [_Post(post.place, _merged(post.heights, apart=_THICK)) for post in posts]


def _merged(parts: Iterable[Interval], *, apart: float) -> list[Interval]:
    """Return intervals, those that are no further ``apart`` as one."""
    merged: list[Interval] = []
    for start, end in sorted(parts):
        if merged and start <= merged[-1][1] + apart:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


class _Gutter(NamedTuple):
    """A strip of a page between two columns, and where one of them ends."""

    left: float
    right: float
    middle: float
    is_drawn: bool = False


def _sides(line: TextLine, gutter: _Gutter) -> bool:
    """Return whether a line has text on both sides of a gutter."""
    return line.pieces[0][1].left < gutter.middle < line.pieces[-1][1].right


def _widest(block: Sequence[TextLine]) -> float:
    """Return the greatest distance of two lines that follow each other."""
    return max(above.y - below.y for above, below in pairwise(block))


def _goes_on(gutter: _Gutter, others: Sequence[_Gutter]) -> bool:
    """Return whether some of the same strip is blank in more lines."""
    return any(other.left < gutter.right and gutter.left < other.right for other in others)


def _without_edges(block: list[TextLine]) -> list[TextLine]:
    """Leave out a first or last line far from the others, as running heads and feet are."""
    distances = [above.y - below.y for above, below in pairwise(block)]
    if len(distances) >= _FEWEST_LINES:
        if distances[-1] > _APART * max(distances[1:-1]):
            block = block[:-1]
        if distances[0] > _APART * max(distances[1:-1]):
            block = block[1:]
    return block


def _may_be_row(line: TextLine) -> bool:
    return _LEADERS.search(line.text) is None


def _continues(line: TextLine, gutters: Sequence[_Gutter]) -> bool:
    """Return whether a line at the end of a table is the rest of a cell that is not its first."""
    return line.pieces[0][1].left > gutters[0].middle


def _split(line: TextLine, middles: Sequence[float]) -> Cells:
    """Return the pieces of a line by columns, which end at ``middles``."""
    cells: Cells = [[] for _ in range(len(middles) + 1)]
    for item in line.pieces:
        cells[sum(item[1].left > middle for middle in middles)].append(item)
    return cells


def _is_loose(cells: Sequence[Cells], column: int, gutter: _Gutter) -> bool:
    """Return whether nothing shows that a column ends at a gutter."""
    if gutter.is_drawn:
        return not all(any(line[place] for line in cells) for place in (column, column + 1))
    return sum(bool(line[column] and line[column + 1]) for line in cells) < _FEWEST_BOTH


def _length(parts: Sequence[Interval]) -> float:
    return sum(end - start for start, end in _merged(parts, apart=_THICK))
