"""Put the lines of a recognised page in reading order: columns, rows of tables, paragraphs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from knotwork._extensions.media.text_recognition import RecognisedLine, RecognisedPage
from knotwork._extensions.pdf.line_blocks import LineWriter
from knotwork._extensions.pdf.pdf_flow import join_lines, join_words
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.lines import FlowLine, PageLine, TableRow

CELL_GAP = " | "

_LONG_SLOPE = 8
"""Only lines this many times as wide as high say how far a page is turned."""

_COLUMN_SHARE = 0.6
"""Wider lines than this share of the text are not those of a column."""

_COLUMN_LINES = 4
"""Fewest lines of a column."""

_COLUMN_WIDTH = 10
"""Width of a line of prose, at least, as a multiple of its height; the cells of tables are
narrower."""

_MOST_COLUMNS = 6
_MIN_COLUMNS = 2
"""Columns of a table, at least."""
_LINE_REACH = 1.8
"""Distance of the lines of a column at most, as a multiple of their height."""

_CELL_WIDTHS = 1.2
"""Distance of two cells of a row, at least, as a multiple of the height of their characters."""

_TYPE_SIZE = 10
"""Points that stand for the usual height of the characters of a page, whose real size is unknown.
"""

_OTHER_SIZE = 1.35
"""Ratio to the usual height from which on a line is of another type: heights are not exact."""

_PRECISION = 4

Edges = tuple[float, float, float, float]
"""The left, top, right and bottom edge, as fractions of a page."""


class _Cell(NamedTuple):
    """What stands between two wide gaps of a row."""

    text: str
    left: float
    right: float


class _Row(NamedTuple):
    """What stands beside each other in one column: a line, or the cells of a row of a table.

    ``reach`` is the right edge of the column.
    """

    cells: tuple[_Cell, ...]
    lines: tuple[RecognisedLine, ...]
    reach: float

    @property
    def middle(self) -> float:
        return median(line.middle for line in self.lines)

    @property
    def height(self) -> float:
        return median(line.height for line in self.lines)

    @property
    def text(self) -> str:
        return CELL_GAP.join(cell.text for cell in self.cells)


class Placement(NamedTuple):
    """Where a picture is on its page, as fractions of the width and height of the page."""

    left: float
    top: float
    right: float
    bottom: float

    def of(self, part: Edges) -> Edges:
        """Return where a part of the picture is on the page."""
        width, height = self.right - self.left, self.bottom - self.top
        left, top, right, bottom = part
        return (
            round(self.left + left * width, _PRECISION),
            round(self.top + top * height, _PRECISION),
            round(self.left + right * width, _PRECISION),
            round(self.top + bottom * height, _PRECISION),
        )


WHOLE_PAGE = Placement(0.0, 0.0, 1.0, 1.0)


def add_page(
    writer: BlockWriter,
    page: RecognisedPage,
    number: int = -1,
    *,
    place: Placement | None = WHOLE_PAGE,
) -> None:
    """Append the text of a recognised page or picture: see `lines_of`. Lines have boxes."""
    LineWriter(writer).add(lines_of(page, number, place=place))


def lines_of(
    page: RecognisedPage, number: int = -1, *, place: Placement | None = WHOLE_PAGE
) -> list[FlowLine]:
    """Return the lines of a recognised page in reading order, those of a table as rows.

    ``number`` is that of the page, from 0; ``place`` is where the picture is on it, if known.
    """
    slopes = [line.slope for line in page.lines if line.width > _LONG_SLOPE * line.height]
    slope = median(slopes) if slopes else 0.0  # of the whole page
    levelled = [
        _Levelled(line, line.middle - slope * (line.left + line.right) / 2) for line in page.lines
    ]
    rows = [row for column in _columns(levelled) for row in _rows(column)]
    if not rows:
        return []
    usual = median(row.height for row in rows)
    unit = _TYPE_SIZE / usual
    tables = _table_rows(rows)
    lines = []
    for index, row in enumerate(rows):
        first = row.lines[0]
        is_usual = 1 / _OTHER_SIZE < row.height / usual < _OTHER_SIZE
        lines.append(
            PageLine(
                row.text,
                number,
                x=(first.left + slope * first.middle) * unit,
                y=-row.middle * unit,
                size=_TYPE_SIZE if is_usual else row.height * unit,
                right=row.lines[-1].right * unit,
                reach=row.reach * unit,
                row=tables.get(index) or (TableRow((row.text,), 0) if len(row.cells) > 1 else None),
            )
        )
    return [
        line._replace(edges=place.of(_edges(row, page)) if place is not None else None)
        for row, line in zip(rows, join_lines(lines, ()), strict=True)
    ]


def _table_rows(rows: Sequence[_Row]) -> dict[int, TableRow]:
    """Return the rows of tables by their index: neighbouring ones whose cells are in columns."""
    found: dict[int, TableRow] = {}
    start = 0
    while start < len(rows):
        after = start + 1
        while after < len(rows) and _aligned(rows[start : after + 1]):
            after += 1
        if after > start + 1:
            cells = _aligned(rows[start:after])
            found |= {start + place: TableRow(texts, place) for place, texts in enumerate(cells)}
        start = after
    return found


def _aligned(rows: Sequence[_Row]) -> list[tuple[str, ...]]:
    """Return the cells of rows, "" where a row has none in a column; [] if they are no table.

    The row with the most cells shows where the columns are.
    """
    columns = max((row.cells for row in rows), key=len)
    aligned: list[tuple[str, ...]] = []
    for row in rows:
        if len(row.cells) < _MIN_COLUMNS:
            return []
        texts = [""] * len(columns)
        for number, cell in enumerate(row.cells):
            distances = [min(abs(cell.left - c.left), abs(cell.right - c.right)) for c in columns]
            is_whole = len(row.cells) == len(columns)
            place = number if is_whole else distances.index(min(distances))
            if texts[place]:
                return []
            texts[place] = cell.text
        aligned.append(tuple(texts))
    return aligned


def _edges(row: _Row, page: RecognisedPage) -> Edges:
    left = min(line.left for line in row.lines) / page.width
    right = max(line.right for line in row.lines) / page.width
    top = min(line.top for line in row.lines) / page.height
    bottom = max(line.bottom for line in row.lines) / page.height
    for _ in range(page.turns):
        left, top, right, bottom = 1 - bottom, left, 1 - top, right
    left, top, right, bottom = (min(1.0, max(0.0, edge)) for edge in (left, top, right, bottom))
    return left, top, right, bottom


class _Levelled(NamedTuple):
    """A line, and the height of its centre if the page were not turned."""

    line: RecognisedLine
    level: float


def _columns(lines: Sequence[_Levelled], depth: int = 0) -> Iterator[list[_Levelled]]:
    """Yield the lines of each column in reading order.

    Lines across the columns divide the page: what is above them is read first.
    """
    found = _find_split(lines) if depth < _MOST_COLUMNS else None
    if found is None:
        yield list(lines)
        return
    split, top, bottom = found
    yield from _columns([item for item in lines if item.level < top], depth + 1)
    inside = [item for item in lines if top <= item.level <= bottom]
    across = sorted((item for item in inside if _crosses(item, split)), key=lambda i: i.level)
    before = top
    for edge in [*(item.level for item in across), bottom]:
        band = [i for i in inside if before <= i.level <= edge and i not in across]
        yield from _columns([i for i in band if i.line.right <= split], depth + 1)
        yield from _columns([i for i in band if i.line.right > split], depth + 1)
        yield [item for item in across if before <= item.level <= edge]
        inside = [item for item in inside if item.level > edge]
        before = edge
    yield from _columns([item for item in lines if item.level > bottom], depth + 1)


def _crosses(item: _Levelled, split: float) -> bool:
    return item.line.left < split < item.line.right


def _find_split(lines: Sequence[_Levelled]) -> tuple[float, float, float] | None:
    """Return where two columns of prose part, and the first and last height of their lines.

    None if there is one column. Cells of tables are narrower than prose.
    """
    if len(lines) < 2 * _COLUMN_LINES:
        return None
    start = min(item.line.left for item in lines)
    width = max(item.line.right for item in lines) - start
    prose = [
        item
        for item in lines
        if item.line.width <= _COLUMN_SHARE * width
        and item.line.width >= _COLUMN_WIDTH * item.line.height
    ]
    best: tuple[float, float] | None = None
    reached = start
    for item in sorted(prose, key=lambda item: item.line.left):
        gap = item.line.left - reached
        if gap > item.line.height / 2 and (best is None or gap > best[0]):
            split = reached + gap / 2
            before = sum(other.line.right <= split for other in prose)
            if min(before, len(prose) - before) >= _COLUMN_LINES:
                best = gap, split
        reached = max(reached, item.line.right)
    return (best[1], *_extent(lines, prose, best[1])) if best else None


def _extent(
    lines: Sequence[_Levelled], prose: Sequence[_Levelled], split: float
) -> tuple[float, float]:
    """Return the heights between which there are columns: short lines may begin and end them."""
    top, bottom = (edge(item.level for item in prose) for edge in (min, max))
    reach = _LINE_REACH * median(item.line.height for item in prose)
    beside = [item for item in lines if not _crosses(item, split)]
    for item in sorted(beside, key=lambda item: item.level):
        if bottom < item.level <= bottom + reach:
            bottom = item.level
    for item in sorted(beside, key=lambda item: -item.level):
        if top - reach <= item.level < top:
            top = item.level
    return top, bottom


def _rows(column: Sequence[_Levelled]) -> Iterator[_Row]:
    row: list[_Levelled] = []
    reach = max((item.line.right for item in column), default=0.0)
    for item in sorted(column, key=lambda item: item.level):
        if row and item.level - row[0].level > min(item.line.height, row[0].line.height) / 2:
            yield _row(row, reach)
            row = []
        row.append(item)
    if row:
        yield _row(row, reach)


def _row(row: Sequence[_Levelled], reach: float) -> _Row:
    lines = sorted((item.line for item in row), key=lambda line: line.left)
    cells = [_Cell(lines[0].text, lines[0].left, lines[0].right)]
    for line, following in pairwise(lines):
        if following.left - line.right > _CELL_WIDTHS * min(line.height, following.height):
            cells.append(_Cell(following.text, following.left, following.right))
        else:
            text, left, _ = cells[-1]
            cells[-1] = _Cell(join_words(text, following.text), left, following.right)
    return _Row(tuple(cells), tuple(lines), reach)
