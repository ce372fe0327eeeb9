"""Put the lines of a recognised page in reading order: columns, rows of tables, paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from knotwork._indexing.loaders.loader import TextBuilder
from knotwork._indexing.loaders.recognised_pages import RecognisedLine, RecognisedPage
from knotwork._indexing.loaders.tables_and_lists import row_key
from knotwork._text.chinese import HAN_AND_KANA
from knotwork.records import BoxedSpan, FrameKind, Span

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
_LINE_REACH = 1.8
"""Distance of the lines of a column at most, as a multiple of their height."""

_CELL_WIDTHS = 1.2
"""Distance of two cells of a row, at least, as a multiple of the height of their characters."""

_PARAGRAPH_GAP = 1.45
"""Distance of lines where a paragraph ends, as a multiple of the usual distance."""

_SHORT_LINE = 0.8
"""A line that ends a sentence before this share of its column ends its paragraph."""

_OTHER_SIZE = 1.35
"""Ratio of the heights of two lines that are not of one paragraph."""

_PRECISION = 4
_HYPHENATED = re.compile(r"[a-zß-ÿ]{2}-$")
_GOES_ON = re.compile(r"[a-zß-ÿ]{2}")
_SENTENCE_END = re.compile(r"[.!?:。！？：][\"'”’」』）)]*$")
_WIDE = rf"{HAN_AND_KANA}\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f"
_WIDE_END = re.compile(rf"[{_WIDE}]$")
_WIDE_START = re.compile(rf"[{_WIDE}]")


class _Row(NamedTuple):
    """What stands beside each other in one column: a line, or the cells of a row of a table."""

    cells: tuple[str, ...]
    lines: tuple[RecognisedLine, ...]
    column: tuple[float, float]

    @property
    def middle(self) -> float:
        return median(line.middle for line in self.lines)

    @property
    def height(self) -> float:
        return median(line.height for line in self.lines)

    @property
    def text(self) -> str:
        return CELL_GAP.join(self.cells)


def add_page(builder: TextBuilder, page: RecognisedPage, label: str) -> None:
    """Append the text of a recognised page in reading order, with the box of each line."""
    rows = _in_order(page)
    if not rows:
        return
    builder.page(label)
    for span, row in _add_rows(builder, rows):
        builder.boxes.append(_boxed(span, row, page))


class Placement(NamedTuple):
    """Where a picture is on its page, as fractions of the width and height of the page."""

    left: float
    top: float
    right: float
    bottom: float

    def of(self, part: BoxedSpan) -> BoxedSpan:
        """Return where a part of the picture is on the page."""
        width, height = self.right - self.left, self.bottom - self.top
        edges = (
            self.left + part.left * width,
            self.top + part.top * height,
            self.left + part.right * width,
            self.top + part.bottom * height,
        )
        return BoxedSpan(part.span, *(round(edge, _PRECISION) for edge in edges))


def add_picture(
    builder: TextBuilder, picture: RecognisedPage, *, place: Placement | None = None
) -> None:
    """Append the text of a picture that stands in a document, in reading order.

    With its ``place`` on a page, each line has a box.
    """
    for span, row in _add_rows(builder, _in_order(picture)):
        if place is not None:
            builder.boxes.append(place.of(_boxed(span, row, picture)))


def _in_order(page: RecognisedPage) -> list[_Row]:
    return [row for column in _columns(_levelled(page)) for row in _rows(column)]


def _add_rows(builder: TextBuilder, rows: Sequence[_Row]) -> Iterator[tuple[Span, _Row]]:
    """Append rows as lines and paragraphs, and yield the span of each that has text."""
    pitch = _pitch(rows)
    gap, cut = "\n\n", 0
    for row, following in pairwise([*rows, None]):
        assert row is not None
        after, cut = ("", 0) if following is None else _gap(row, following, pitch)
        span = builder.add(row.text[: len(row.text) - cut], gap=gap)
        if len(row.cells) > 1:
            builder.frame(FrameKind.ROW, span.start, row_key(row.cells))
        if span.end > span.start:
            yield span, row
        gap = after


def _boxed(span: Span, row: _Row, page: RecognisedPage) -> BoxedSpan:
    left = min(line.left for line in row.lines) / page.width
    right = max(line.right for line in row.lines) / page.width
    top = min(line.top for line in row.lines) / page.height
    bottom = max(line.bottom for line in row.lines) / page.height
    for _ in range(page.turns):
        left, top, right, bottom = 1 - bottom, left, 1 - top, right
    edges = (round(min(1.0, max(0.0, edge)), _PRECISION) for edge in (left, top, right, bottom))
    return BoxedSpan(span, *edges)


class _Levelled(NamedTuple):
    """A line, and the height of its centre if the page were not turned."""

    line: RecognisedLine
    level: float


def _levelled(page: RecognisedPage) -> list[_Levelled]:
    slopes = [line.slope for line in page.lines if line.width > _LONG_SLOPE * line.height]
    slope = median(slopes) if slopes else 0.0
    return [
        _Levelled(line, line.middle - slope * (line.left + line.right) / 2) for line in page.lines
    ]


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
    """Yield the rows of a column from the top."""
    if not column:
        return
    edges = min(item.line.left for item in column), max(item.line.right for item in column)
    row: list[_Levelled] = []
    for item in sorted(column, key=lambda item: item.level):
        if row and item.level - row[0].level > min(item.line.height, row[0].line.height) / 2:
            yield _row(row, edges)
            row = []
        row.append(item)
    yield _row(row, edges)


def _row(row: Sequence[_Levelled], column: tuple[float, float]) -> _Row:
    lines = sorted((item.line for item in row), key=lambda line: line.left)
    cells = [lines[0].text]
    for line, following in pairwise(lines):
        if following.left - line.right > _CELL_WIDTHS * min(line.height, following.height):
            cells.append(following.text)
        else:
            wide = _WIDE_END.search(cells[-1]) and _WIDE_START.match(following.text)
            cells[-1] += following.text if wide else f" {following.text}"
    return _Row(tuple(cells), tuple(lines), column)


def _pitch(rows: Sequence[_Row]) -> float:
    """Return the usual distance of lines, as a multiple of their height."""
    distances = sorted(
        (following.middle - row.middle) / row.height
        for row, following in pairwise(rows)
        if 0.7 * row.height < following.middle - row.middle < 4 * row.height
    )
    return distances[len(distances) // 4] if distances else 1.4


def _gap(row: _Row, following: _Row, pitch: float) -> tuple[str, int]:
    """Return the separator of two rows, and the number of characters to drop before it."""
    is_table = len(row.cells) > 1, len(following.cells) > 1
    if all(is_table):
        return "\n", 0
    if any(is_table) or _ends_paragraph(row, following, pitch):
        return "\n\n", 0
    if _HYPHENATED.search(row.text) and _GOES_ON.match(following.text):
        return "", 1
    if _WIDE_END.search(row.text) and _WIDE_START.match(following.text):
        return "", 0
    return "\n", 0


def _ends_paragraph(row: _Row, following: _Row, pitch: float) -> bool:
    distance = following.middle - row.middle
    larger = max(row.height, following.height)
    ends = _SENTENCE_END.search(row.text) is not None
    if distance < 0 or row.column != following.column:  # the next column
        return ends or not _goes_on(following.text)
    if distance > _PARAGRAPH_GAP * pitch * larger:
        return True
    if larger > _OTHER_SIZE * min(row.height, following.height) and not _goes_on(following.text):
        return True
    left, right = row.column
    is_short = row.lines[-1].right - left < _SHORT_LINE * (right - left)
    if is_short and not _goes_on(following.text):
        return ends or bool(_WIDE_END.search(row.text))
    return False


def _goes_on(text: str) -> bool:
    return text[:1].islower() or bool(_WIDE_START.match(text))
