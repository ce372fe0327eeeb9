"""Detect tables on PDF pages by columns of aligned text and by ruling lines.

A column ends at a vertical strip that is blank over several lines, or at a vertical ruling line. In
doubt, lines are not a table: prose in columns, lists, formulas and code have aligned gaps too.
Lengths in "sizes" are multiples of the font size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from knotwork._indexing.loaders.pdf_pages import Piece, RulingLine, RulingLines
from knotwork._indexing.loaders.table_rows import names_columns
from knotwork._indexing.loaders.titles_and_captions import (
    is_bold_font,
    is_monospaced_font,
    is_table_caption,
)

SHIFTED_COLUMN = 3.0
"""Points by which the columns of a table may shift from one page to the next."""
_MIN_ROWS = 3
_LONGER = 1.15
"""Distance of rows, as a multiple of the distance of lines within a cell."""
_MOST_SHARE = 0.8
"""The share that counts as "most": of monospaced words in code, of aligned cells, and of rows that
follow each other in the file."""
_PROSE = 25
"""Median characters of a line from which a column is prose."""
_FILLED = 0.55
"""Smallest share of filled cells in a table."""
_MIXED = 0.34
_MAX_FULL_LINES = 2
"""Where ruling lines separate rows: the largest share of rows with several lines that fill all
columns, and the most such lines in a row."""
_FILLED_RULED = 0.4
"""Smallest share of filled cells in a table with ruling lines between its rows."""
_ALIGNED = 0.4
"""Sizes by which the edges of the cells of a column may differ."""
_MIN_BARE_ROWS = 4
_FILLED_BARE = 0.85
"""Fewest rows and smallest share of filled cells without ruling lines, header font and caption."""
_SIGN = re.compile(
    r"[•·▪◦‣●○■□◆◇►▶➢➤✓–—*\-+]|[(\[（]?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)\]）、:]|\[\w{1,12}\]|[①-⑳]"
)
_WORDED = re.compile(r"[^\W\d_]{2}|[\u3400-\u9fff]")
_NUMBER = re.compile(r"[-+−±$€£¥(]*\d[\d.,:/%\s-]*\)?")
_FORMULA = re.compile(r"[=≈≤≥<>∈→⇒]")
_ENTRY = re.compile(r"[^\W\d_]{2}\S*,?\s\d{1,4}(?:[-–,]\s*\d{1,4})*\Z")
_COUNT = re.compile(r"\d{1,4}")
_SECTION = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?")
_MAX_BORDERS = 2
"""With more horizontal ruling lines than this, the first and last are the borders of the table."""
_CAPTION_ABOVE, _CAPTION_BELOW = 3, 2
"""Lines above and below a table to search for its caption."""
_MAX_HEADER_LINES = 4
_SEEN_ROWS = 4
_MIN_WORD_CELLS = 3


class FoundTable(NamedTuple):
    """A table of a page.

    ``rows`` are its cells, top to bottom, with line ends between the lines of a cell. ``pieces``
    are the indices of the words of each row. ``has_header`` is True if font or a ruling line sets
    the first row apart. ``lefts`` are the left edges of the columns in points.
    """

    rows: tuple[tuple[str, ...], ...]
    pieces: tuple[tuple[int, ...], ...]
    has_header: bool
    lefts: tuple[float, ...]


def find_tables(pieces: Sequence[Piece], drawn: RulingLines) -> Iterator[FoundTable]:
    """Yield the tables among the words (``pieces``) and ruling lines (``drawn``) of a page."""
    columns = ColumnFinder(drawn)
    for block in columns.blocks(pieces):
        table = _read_table(block, columns)
        if table is not None:
            yield table


def find_rows_of(
    pieces: Sequence[Piece], drawn: RulingLines, lefts: Sequence[float]
) -> FoundTable | None:
    """Return the first rows of a page whose cells are in columns that begin at ``lefts``.

    They may continue the table of the page before, whose columns these are, and be too few to show
    columns of their own.
    """
    block: list[TextLine] = []
    cells: list[RowPieces] = []
    for line in _lines(next(_flows(pieces), [])):
        row = _cells_at(line, lefts)
        is_near = not block or block[-1].y - line.y <= _MAX_LINE_DISTANCE * line.size
        if row is not None and is_near:
            block.append(line)
            cells.append(row)
        elif block:
            break
    if not any(sum(map(bool, row)) > 1 for row in cells[:1]):
        return None
    _, texts, numbers = _assemble(block, cells, ColumnFinder(drawn).levels(block))
    if not _in_file_order(numbers):
        return None
    return FoundTable(tuple(texts), numbers, has_header=False, lefts=tuple(lefts))


def _assemble(
    block: Sequence[TextLine], cells: Sequence[RowPieces], levels: Sequence[float]
) -> tuple[list[list[RowPieces]], list[tuple[str, ...]], tuple[tuple[int, ...], ...]]:
    """Return the rows of a block, their texts, and the indices of the words of each."""
    rows = [[cells[i] for i in row] for row in _rows(block, cells, levels)]
    texts = [tuple(_text(parts) for parts in zip(*row, strict=True)) for row in rows]
    return rows, texts, tuple(tuple(n for line in r for c in line for n, _ in c) for r in rows)


def _cells_at(line: TextLine, lefts: Sequence[float]) -> RowPieces | None:
    """Return the cells of a line in columns that begin at ``lefts``, None if its gaps differ."""
    cells: RowPieces = [[] for _ in lefts]
    before = -1
    for number, piece in line.pieces:
        column = sum(piece.left >= left - SHIFTED_COLUMN for left in lefts) - 1
        last = cells[before][-1][1] if before >= 0 else None
        is_apart = last is None or piece.left - last.right >= _GAP * line.size
        if column < 0 or (column > before) is not is_apart:
            return None
        if last is None and abs(piece.left - lefts[column]) > SHIFTED_COLUMN:
            return None
        cells[column].append((number, piece))
        before = column
    return cells


def _read_table(block: ColumnBlock, columns: ColumnFinder) -> FoundTable | None:
    """Return a block of lines as a table, None if it is not one."""
    lines = block.lines
    levels = columns.levels(lines)
    if len(levels) > _MAX_BORDERS:
        lines = [line for line in lines if levels[-1] < line.y < levels[0]]
    cells = columns.divide(lines)
    if not cells or _is_prose(cells) or _is_code(lines):
        return None
    rows, texts, numbers = _assemble(lines, cells, levels)
    has_header = _has_header(rows, levels) and names_columns(texts[0], texts[1])
    is_ruled = len(levels) > 1 and any(lines[-1].y < y < lines[0].y for y in levels)
    if not (
        _in_file_order(numbers)
        and not _is_numbered(texts)
        and (
            _is_full(texts, fewest=2, filled=_FILLED_RULED)
            if is_ruled
            else _is_full(texts, fewest=_MIN_ROWS, filled=_FILLED)
            if has_header or _has_caption(block)
            else _is_full(texts, fewest=_MIN_BARE_ROWS, filled=_FILLED_BARE)
            and _has_figures(texts)
            and _is_aligned(cells, median(line.size for line in lines))
        )
    ):
        return None
    lefts = tuple(
        min(cell[0][1].left for line in cells if (cell := line[column]))
        for column in range(len(cells[0]))
    )
    return FoundTable(tuple(texts), numbers, has_header, lefts)


def _has_caption(block: ColumnBlock) -> bool:
    """Return True if there is a table caption above or below a block."""
    around = (*block.above[-_CAPTION_ABOVE:], *block.below[:_CAPTION_BELOW])
    return any(is_table_caption(line.text) for line in around)


def _text(parts: Sequence[CellPieces]) -> str:
    """Return the text of a cell, with a line end between its lines."""
    return "\n".join(join_pieces([piece for _, piece in part]) for part in parts if part)


def _rows(
    block: Sequence[TextLine], cells: Sequence[RowPieces], levels: Sequence[float]
) -> list[list[int]]:
    """Group lines to rows, as indices: at ruling lines, else by distances and first cells."""
    groups: list[list[int]] = []
    for number, line in enumerate(block):
        above = block[number - 1].y if number else float("inf")
        if not groups or any(line.y < y < above for y in levels):
            groups.append([])
        groups[-1].append(number)
    full = [sum(all(cells[i]) for i in group) for group in groups]
    mixed = sum(count > 1 for count in full)
    if len(groups) >= _MIN_ROWS and mixed <= _MIXED * len(groups) and max(full) <= _MAX_FULL_LINES:
        return groups
    if len(groups) > 1 and len(groups[0]) <= _MAX_HEADER_LINES and full[0] <= 1:
        header, rest = groups[0], groups[1:]
    else:
        bold = next((n for n, line in enumerate(block) if not line.bold), 0)
        is_header = bold <= _MAX_HEADER_LINES and sum(map(all, cells[:bold])) <= 1
        header = list(range(bold)) if is_header else []
        rest = [[i for i in group if i not in header] for group in groups]
    rows = [header] if header else []
    for group in rest:
        rows.extend(_rows_of(group, block, cells))
    return rows


def _rows_of(
    group: Sequence[int], block: Sequence[TextLine], cells: Sequence[RowPieces]
) -> list[list[int]]:
    """Group the lines between two ruling lines to rows, by their distances or first cells."""
    distances = [block[i].y - block[j].y for i, j in pairwise(group)]
    nearest = min(distances, default=0.0)
    apart = [True, *(distance > _LONGER * nearest for distance in distances)]
    by_distance = (
        not all(apart)
        and any(apart[1:])
        and not any(
            cells[i][0] and sum(map(bool, cells[i])) > 1 and not begins
            for i, begins in zip(group, apart, strict=False)
        )
    )
    rows: list[list[int]] = []
    for i, begins in zip(group, apart, strict=False):
        if not rows or (begins if by_distance else _begins_row(cells[i])):
            rows.append([])
        rows[-1].append(i)
    return rows


def _begins_row(cells: RowPieces) -> bool:
    """Return True if a line begins a row: its first cell is filled, or all others are."""
    if cells[0]:
        first = cells[0][0][1].text
        return any(cells[1:]) or not first[:1].islower()
    texts = [join_pieces([piece for _, piece in cell]) for cell in cells[1:]]
    return len(texts) > 1 and all(texts) and any(map(_NUMBER.fullmatch, texts))


def _has_header(rows: Sequence[Sequence[RowPieces]], levels: Sequence[float]) -> bool:
    """Return True if its font or a ruling line below sets the first row apart from the others."""
    if len(rows) < 2:
        return False
    pieces = [[piece for line in row for cell in line for _, piece in cell] for row in rows]
    types = [{(piece.font, piece.size) for piece in row} for row in pieces[:_SEEN_ROWS]]
    bold = [all(is_bold_font(font) for font, _ in row) for row in types]
    if bold[0] and not any(bold[1:]):
        return True
    if len(rows) < _MIN_ROWS:
        return False
    if all(map(types[0].isdisjoint, types[1:])):
        return True
    ends = [(max(p.y for p in row), min(p.y for p in row)) for row in pieces]
    between = [any(b[0] < y < a[1] for y in levels) for a, b in pairwise(ends[:_SEEN_ROWS])]
    return between[0] and not any(between[1:])


def _is_prose(cells: Sequence[RowPieces]) -> bool:
    """Return True if all columns have long lines, as in a newspaper."""
    lengths = [
        median([sum(len(piece.text) + 1 for _, piece in cell) for cell in column if cell] or [0])
        for column in zip(*cells, strict=True)
    ]
    return min(lengths) >= _PROSE


def _is_code(block: Sequence[TextLine]) -> bool:
    pieces = [piece for line in block for _, piece in line.pieces]
    return sum(is_monospaced_font(piece.font) for piece in pieces) >= _MOST_SHARE * len(pieces)


def _is_full(rows: Sequence[Sequence[str]], *, fewest: int, filled: float) -> bool:
    """Return True if there are ``fewest`` rows, a share of ``filled`` cells, and enough words."""
    columns = [[cell for cell in column if cell] for column in zip(*rows, strict=True)]
    cells = [cell for column in columns for cell in column]
    return (
        len(rows) >= fewest
        and sum(len(column) > 1 for column in columns) > 1
        and len(cells) >= filled * len(columns) * len(rows)
        and sum(_WORDED.search(cell) is not None for cell in cells) >= _MIN_WORD_CELLS
    )


def _is_numbered(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if rows are numbered lines, list items, or entries of a table of contents."""
    first = [row[0] for row in rows if row[0]]
    last = [row[-1] for row in rows if row[-1]]
    signs = sum(_SIGN.fullmatch(cell) is not None for cell in first)
    if len(rows[0]) == 2 and 2 * signs > len(first):
        return True
    counted = [int(cell) for cell in first if _COUNT.fullmatch(cell)]
    if len(counted) == len(first) and all(a + 1 == b for a, b in pairwise(counted)):
        return len(counted) > 1
    pages = [int(cell) for cell in last if _COUNT.fullmatch(cell)]
    return (
        len(pages) == len(last)
        and all(a <= b for a, b in pairwise(pages))
        and (2 * sum(_SECTION.fullmatch(cell) is not None for cell in first) > len(first))
    )


def _has_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return True for three or more columns of which one has figures, without formulas.

    At least one column must not look like entries with page numbers, as all columns of an index do.
    """
    columns = [[cell for cell in column if cell] for column in zip(*rows, strict=True)]
    figures = [sum(any(map(str.isdigit, cell)) for cell in column) for column in columns]
    entries = [sum(_ENTRY.search(cell) is not None for cell in column) for column in columns]
    formulas = sum(_FORMULA.match(cell) is not None for column in columns for cell in column)
    return (
        len(columns) > 2
        and any(2 * count >= len(column) for count, column in zip(figures, columns, strict=True))
        and any(2 * count < len(column) for count, column in zip(entries, columns, strict=True))
        and 2 * formulas < len(rows)
    )


def _is_aligned(cells: Sequence[RowPieces], size: float) -> bool:
    """Return True if the text of each column is aligned left, right or centred."""
    for column in zip(*cells, strict=True):
        ends = [(cell[0][1].left, cell[-1][1].right) for cell in column if cell]
        places = zip(*((left, right, (left + right) / 2) for left, right in ends), strict=True)
        shares = [_share_near(place, _ALIGNED * size) for place in places]
        if max(shares) < _MOST_SHARE:
            return False
    return True


def _share_near(places: Sequence[float], distance: float) -> float:
    """Return the share of places within ``distance`` of their median."""
    middle = median(places)
    return sum(abs(place - middle) <= distance for place in places) / len(places)


def _in_file_order(numbers: Sequence[Sequence[int]]) -> bool:
    """Return True if rows follow each other in the file; columns of prose do not.

    ``numbers`` are the indices of the words of each row, in file order.
    """
    pairs = list(pairwise(numbers))
    return sum(max(a) < min(b) for a, b in pairs) >= _MOST_SHARE * len(pairs)


_THICK = 1.5
"""Largest distance of the two edges of a ruling line, or of a double line, in points."""
_MIN_LINES = 3
_MAX_LINES = 200
_MAX_WRAPPED_LINES = 30
"""Most lines in sequence with text in a single column of a table."""
_GUTTER = 0.6
"""Smallest width of the strip between columns, in sizes; a space between words has a quarter."""
_GAP = 0.9
"""Smallest gap between two words in different columns, in sizes."""
_WORD_GAP = 0.15
_TOLERANCE = 0.3
"""Largest difference of baselines within a line, in sizes."""
_RAISED = 0.6
"""The same for text in a smaller font, such as a footnote number."""
_SMALLER = 0.85
_MAX_LINE_DISTANCE = 4.0
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

Interval = tuple[float, float]
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
        for flow in _flows(pieces):
            lines = _lines(flow)
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
        return [y for y, parts in heights if _length(parts) >= _COVERED * (right - left)]

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
            after.left - before.right >= _GAP * line.size
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
            farthest = (_MAX_LINE_DISTANCE if parted or is_drawn else _WRAPPED) * max(
                first.size, line.size
            )
            if (
                not _may_be_row(line)
                or distance > farthest
                or len(block) - ends > _MAX_WRAPPED_LINES
            ):
                break
            is_long = len(block) >= _MIN_LINES and not is_drawn
            if is_long and distance > _NEXT_TABLE * _widest(block):
                break
            wider = _merged([*covered, *_covered_by([line])], apart=0.0)
            common = self._gutters([*block, line], wider)
            known = [gutter for gutter in gutters if sum(_sides(row, gutter) for row in block) > 1]
            if not common or not all(_overlaps_any(gutter, common) for gutter in known):
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


def _flows(pieces: Sequence[Piece]) -> Iterator[list[tuple[int, Piece]]]:
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


def _lines(flow: Sequence[tuple[int, Piece]]) -> list[TextLine]:
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
    return _merged(((p.left, p.right) for line in lines for _, p in line.pieces), apart=0.0)


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
    return [_Post(post.place, _merged(post.heights, apart=_THICK)) for post in posts]


def _merged(parts: Iterable[Interval], *, apart: float) -> list[Interval]:
    """Return intervals in ascending order, merging those at most ``apart`` from each other."""
    merged: list[Interval] = []
    for start, end in sorted(parts):
        if merged and start <= merged[-1][1] + apart:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged


class _Gutter(NamedTuple):
    """A strip between two columns, with the position that separates their words."""

    left: float
    right: float
    middle: float
    is_drawn: bool = False


def _sides(line: TextLine, gutter: _Gutter) -> bool:
    """Return True if a line has text on both sides of a gutter."""
    return line.pieces[0][1].left < gutter.middle < line.pieces[-1][1].right


def _widest(block: Sequence[TextLine]) -> float:
    """Return the largest distance of two consecutive lines."""
    return max(above.y - below.y for above, below in pairwise(block))


def _overlaps_any(gutter: _Gutter, others: Sequence[_Gutter]) -> bool:
    return any(other.left < gutter.right and gutter.left < other.right for other in others)


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
    """Return the words of a line by columns, which are separated at ``middles``."""
    cells: RowPieces = [[] for _ in range(len(middles) + 1)]
    for item in line.pieces:
        cells[sum(item[1].left > middle for middle in middles)].append(item)
    return cells


def _is_loose(cells: Sequence[RowPieces], column: int, gutter: _Gutter) -> bool:
    """Return True if there is not enough evidence that a column ends at a gutter."""
    if gutter.is_drawn:
        return not all(any(line[place] for line in cells) for place in (column, column + 1))
    return sum(bool(line[column] and line[column + 1]) for line in cells) < _MIN_SHARED_LINES


def _length(parts: Sequence[Interval]) -> float:
    """Return the total length of intervals, counting overlaps once."""
    return sum(end - start for start, end in _merged(parts, apart=_THICK))
