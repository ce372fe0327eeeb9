"""Detect tables on PDF pages by columns of aligned text and by ruling lines.

A column ends at a vertical strip that is blank over several lines. In doubt, lines are not a table:
prose in columns, lists, formulas and code have aligned gaps too.
Lengths in "sizes" are multiples of the font size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from knotwork._extensions.formats.grids import SpanningCell, read_table
from knotwork._extensions.formats.raised import write_raised
from knotwork._extensions.pdf.pdf_annotations import CELL
from knotwork._extensions.pdf.pdf_characters import OBLIQUE, RIGHT_TO_LEFT
from knotwork._extensions.pdf.pdf_pages import Piece, RulingLine
from knotwork._indexing.loaders.tables import Interval, merge_intervals, names_columns
from knotwork._indexing.loaders.titles_and_captions import (
    is_bold_font,
    is_monospaced_font,
    is_table_caption,
)

_THICK = 1.5
"""Largest distance of the two edges of a ruling line, or of a double line, in points."""
_MIN_LINES = 3
_MAX_LINES = 200
_GUTTER = 0.6
"""Smallest width of the strip between columns, in sizes; a space between words has a quarter."""
COLUMN_GAP = 0.9
"""Smallest gap between two words in different columns, in sizes."""
_WORD_GAP = 0.15
_TOLERANCE = 0.3
"""Largest difference of baselines within a line, in sizes."""
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
_NEAR = 2.5
"""Largest distance of a table's upper border from the first baseline, in sizes."""
_COVERED = 0.8
"""Smallest width of a ruling line between rows, as a share of the width of the table."""
SHIFTED_COLUMN = 3.0
"""Points by which the columns of a table may shift from one page to the next."""
_MIN_ROWS = 3
_MOST_SHARE = 0.8
"""The share that counts as "most": of monospaced words in code, and of rows that follow each other
in the file."""
_FILLED = 0.55
"""Smallest share of filled cells in a table."""
_MOST_HEADER_LINES = 4
"""Lines at the top of a table, and above it, to search for a header of several rows."""
_MAX_FULL_LINES = 2
"""Where ruling lines separate rows: the most lines that fill all columns in a row."""
_MIN_BARE_ROWS = 4
"""Fewest rows without ruling lines, header font and caption."""
_SIGN = re.compile(
    r"[•·▪◦‣●○■□◆◇►▶➢➤✓–—*\-+]|[(\[（]?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)\]）、:]|\[\w{1,12}\]|[①-⑳]"
)
_FORMULA = re.compile(r"[=≈≤≥<>∈→⇒]")
_ENTRY = re.compile(r"[^\W\d_]{2}\S*,?\s\d{1,4}(?:[-–,]\s*\d{1,4})*\Z")
_COUNT = re.compile(r"\d{1,4}")
_SECTION = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?")
_MAX_BORDERS = 2
"""With more horizontal ruling lines than this, the first and last are the borders of the table."""
_CAPTION_ABOVE, _CAPTION_BELOW = 3, 2
"""Lines above and below a table to search for its caption."""
_SEEN_ROWS = 4
_SEEN_PIECES = 12
"""Words before a raised figure that say how it is written."""


class FoundTable(NamedTuple):
    """A table of a page.

    ``rows`` are its cells, top to bottom, with line ends between the lines of a cell. ``pieces``
    are the indices of the words of each row. ``has_header`` is True if font or a ruling line sets
    the first row apart. ``columns`` are the left and right edges of the columns in points,
    without the header.
    """

    rows: tuple[tuple[str, ...], ...]
    pieces: tuple[tuple[int, ...], ...]
    has_header: bool
    columns: tuple[Interval, ...]


def find_tables(
    pieces: Sequence[Piece], drawn: Sequence[RulingLine], upright: Sequence[RulingLine] = ()
) -> Iterator[FoundTable]:
    """Yield the tables among the words (``pieces``) and ruling lines (``drawn``) of a page.

    The words have gaps at ``upright`` lines.
    """
    found = (_read_table(block, drawn, upright) for block in _blocks(pieces, drawn))
    yield from filter(None, found)


def find_rows_of(
    pieces: Sequence[Piece], drawn: Sequence[RulingLine], columns: Sequence[Interval]
) -> FoundTable | None:
    """Return the first rows of a page whose cells are in these columns.

    They may continue the table of the page before, whose columns these are, and be too few to show
    columns of their own.
    """
    block: list[_TextLine] = []
    cells: list[_RowPieces] = []
    for line in _lines(next(_flows(pieces), [])):
        row = _cells_at(line, columns)
        is_near = not block or block[-1].y - line.y <= _MAX_LINE_DISTANCE * line.size
        if row is not None and is_near:
            block.append(line)
            cells.append(row)
        elif block:
            break
    if not any(sum(map(bool, row)) > 1 for row in cells[:1]):
        return None
    _, texts, numbers = _assemble(block, cells, _levels(block, drawn))
    if not _in_file_order(numbers):
        return None
    return FoundTable(tuple(texts), numbers, has_header=False, columns=tuple(columns))


def _assemble(
    block: Sequence[_TextLine], cells: Sequence[_RowPieces], levels: Sequence[float]
) -> tuple[list[list[_RowPieces]], list[tuple[str, ...]], tuple[tuple[int, ...], ...]]:
    """Return the rows of a block, their texts, and the indices of the words of each."""
    rows = [[cells[i] for i in row] for row in _rows(block, cells, levels)]
    texts = [
        tuple(
            "\n".join(_cell_text(part) for part in parts if part)
            for parts in zip(*row, strict=True)
        )
        for row in rows
    ]
    return rows, texts, tuple(tuple(n for line in r for c in line for n, _ in c) for r in rows)


def _cell_text(part: _CellPieces) -> str:
    """Return the words of a line of a cell in the order of reading."""
    if any(RIGHT_TO_LEFT.search(piece.text) for _, piece in part):
        part = sorted(part, key=lambda item: item[0])
    return _join([piece for _, piece in part]) if part else ""


def are_aligned(one: Interval, other: Interval) -> bool:
    """Return True if two columns, or a cell and a column, have an edge or the middle in common."""
    left, right = abs(one[0] - other[0]), abs(one[1] - other[1])
    middle = abs(sum(one) - sum(other)) / 2
    return min(left, right, middle) <= SHIFTED_COLUMN


def _cells_at(line: _TextLine, columns: Sequence[Interval]) -> _RowPieces | None:
    """Return the cells of a line in these columns, None if its gaps differ."""
    middles = [(one[1] + other[0]) / 2 for one, other in pairwise(columns)]
    cells: _RowPieces = [[] for _ in columns]
    before = -1
    for number, piece in line.pieces:
        column = sum(piece.left > middle for middle in middles)
        last = cells[before][-1][1] if before >= 0 else None
        is_apart = last is None or piece.left - last.right >= COLUMN_GAP * line.size
        if (column > before) is not is_apart:
            return None
        cells[column].append((number, piece))
        before = column
    first, own = next((cell, own) for cell, own in zip(cells, columns, strict=True) if cell)
    return cells if are_aligned(_edges(first), own) else None


def _read_table(
    block: _Block, drawn: Sequence[RulingLine], upright: Sequence[RulingLine]
) -> FoundTable | None:
    lines = block.lines
    around = (*block.above[-_CAPTION_ABOVE:], *block.below[:_CAPTION_BELOW])
    has_caption = any(is_table_caption(line.text) for line in around)
    levels = _levels(lines, drawn)
    if len(levels) > _MAX_BORDERS:
        # Lines may be only between the rows, not around them.
        above = sum(line.y > levels[0] for line in lines)
        below = sum(line.y < levels[-1] for line in lines)
        lines = lines[above if above > 1 else 0 : len(lines) - (below if below > 1 else 0)]
    header = _joined_header(block, lines, [*drawn, *upright])
    if header is not None:
        lines, cells = lines[header.own :], header.below
    else:
        cells = _divide(lines)
    if not cells or _is_code(lines):
        return None
    rows, texts, numbers = _assemble(lines, cells, levels)
    is_form = any(piece.font == CELL for line in lines for _, piece in line.pieces)
    has_header = (is_form or _has_header(rows, levels)) and names_columns(texts[0], texts[1])
    if header is not None:
        rows, texts = [[], *rows], [header.names, *texts]
        numbers, has_header = (header.pieces, *numbers), True
    is_ruled = len(levels) > 1 and any(lines[-1].y < y < lines[0].y for y in levels)
    is_known = has_header or has_caption or is_form
    fewest = 2 if is_ruled else _MIN_ROWS if is_known else _MIN_BARE_ROWS
    if (
        len(rows) < fewest
        or not (is_form or _in_file_order(numbers))
        or (_is_numbered(texts, is_ruled=is_ruled) and not is_form)
        or not _is_full(texts)
        or not (is_ruled or is_known or _has_figures(texts))
    ):
        return None
    body = [line for row in rows[has_header:] for line in row]
    return FoundTable(tuple(texts), numbers, has_header, _columns_of(body))


class _Header(NamedTuple):
    """A header of several rows: its names, how many lines of a block it has, the cells below it."""

    names: tuple[str, ...]
    pieces: tuple[int, ...]
    own: int
    below: Sequence[_RowPieces]


def _joined_header(
    block: _Block, lines: Sequence[_TextLine], drawn: Sequence[RulingLine]
) -> _Header | None:
    """Return the header of a table whose first row, or the line above it, spans other names."""
    above = block.above[-2:]
    seen = [*above, *lines]
    for place in range(min(_MOST_HEADER_LINES, len(seen) - 2)):
        top, named, below = seen[place : place + 3]
        if top.y - named.y > _APART * (named.y - below.y):
            continue
        if place and seen[place - 1].y - top.y < _WRAPPED * top.size:
            # Names are at half the height of a heading.
            both = [*seen[place - 1].pieces, *top.pieces]
            top = _TextLine(top.y, top.size, sorted(both, key=lambda item: item[1].left))
        cells = _divide(seen[place + 1 :])
        spans, is_ruled = _spans(top, cells, drawn) if cells else ([], False)
        if not spans:
            continue
        rows = [spans, *([SpanningCell(_cell_text(part)) for part in row] for row in cells[:2])]
        is_marked = is_ruled or (top.bold and named.bold and not below.bold)
        grid = read_table(rows, marked=2 * is_marked)
        is_several = len(grid.rows) == len(rows) - 2
        if is_several and names_columns(grid.header):
            used = tuple(number for number, _ in (*top.pieces, *named.pieces))
            return _Header(grid.header, used, place + 2 - len(above), cells[1:])
    return None


def _spans(
    line: _TextLine, cells: Sequence[_RowPieces], drawn: Sequence[RulingLine]
) -> tuple[list[SpanningCell], bool]:
    """Return the cells of a line above columns, and whether drawn lines say that one spans several.

    A heading spans the columns between the lines around it, else those below it. Names without a
    heading belong to the one beside them if the first column, or a name twice, says that all do.
    """
    columns = _columns_of(cells)
    texts = [*map(_cell_text, cells[0])]
    named = {number for number, text in enumerate(texts) if text}
    parts: list[_CellPieces] = []
    for item in line.pieces:
        last = parts[-1][-1][1] if parts else None
        is_level = last is not None and abs(last.y - item[1].y) < _TOLERANCE * line.size
        if last is None or not is_level or item[1].left - last.right >= COLUMN_GAP * line.size:
            parts.append([])
        parts[-1].append(item)
    edges = [_edges(part) for part in parts]
    ends = columns[0][0], columns[-1][1]
    cut = [_between_lines(edge, line, ends, drawn) for edge in edges]
    spans = [_below(edge, columns) for edge in cut]
    is_ruled = any(len(span) > 1 for span, a, b in zip(spans, cut, edges, strict=True) if a != b)
    taken = {column for span in spans for column in span}
    is_central = abs(sum(edges[0]) - sum(ends)) < 4 * line.size
    is_title = len(parts) == 1 and (0 in taken or is_central)
    if (is_title and not is_ruled) or len(taken) < sum(map(len, spans)):
        return [], False
    over = [n for n, span in enumerate(spans) if 0 not in span and named.issuperset(span)]
    if over and (0 in taken or len(set(texts)) < len(texts)):
        shifts = [abs(edges[n][0] - columns[spans[n][0]][0]) for n in over]
        for column in sorted(named - taken - {0}):
            left, right = columns[column]
            before = [n for n in over if edges[n][0] < left]
            if before and max(shifts) <= SHIFTED_COLUMN:
                spans[before[-1]].append(column)
            else:
                nearest = min(over, key=lambda n: max(left - edges[n][1], edges[n][0] - right))
                spans[nearest].append(column)
    first = {min(span): (max(span) + 1, part) for span, part in zip(spans, parts, strict=True)}
    found: list[SpanningCell] = []
    column = 0
    while column < len(columns):
        end, part = first.pop(column, (column + 1, []))
        found.append(SpanningCell(_cell_text(part), end - column))
        column = end
    return ([], False) if first else (found, is_ruled)


def _between_lines(
    edge: Interval, line: _TextLine, ends: Interval, drawn: Sequence[RulingLine]
) -> Interval:
    """Return where the lines beside a heading are, or the ends of the shortest one along it.

    A line between the ``ends`` of the table says nothing.
    """
    left, right = ends
    sides = [r.place for r in drawn if r.upright and r.start < line.y < r.end]
    before = [place for place in sides if place <= edge[0] + _THICK]
    after = [place for place in sides if place >= edge[1] - _THICK]
    if before and after:
        return max(before), min(after)
    near = (r for r in drawn if not r.upright and abs(r.place - line.y) < 2 * line.size)
    along = [
        (r.start, r.end)
        for r in near
        if r.start <= edge[0] and edge[1] <= r.end and not (r.start <= left and right <= r.end)
    ]
    return min(along, key=lambda rule: rule[1] - rule[0], default=edge)


def _below(edge: Interval, columns: Sequence[Interval]) -> list[int]:
    """Return the columns below a heading, else those beside it."""
    found = [n for n, (left, right) in enumerate(columns) if left < edge[1] and edge[0] < right]
    after = sum(right < edge[0] for _, right in columns)
    return found or [n for n in (after - 1, after) if 0 <= n < len(columns)]


def _edges(part: _CellPieces) -> Interval:
    """Return the left and right edge of words from left to right."""
    return part[0][1].left, part[-1][1].right


def _columns_of(rows: Sequence[_RowPieces]) -> tuple[Interval, ...]:
    """Return the left and right edges of the columns of lines."""
    columns = ([_edges(cell) for cell in column if cell] for column in zip(*rows, strict=True))
    return tuple(
        (min(left for left, _ in held), max(right for _, right in held)) if held else (0.0, 0.0)
        for held in columns
    )


def _rows(
    block: Sequence[_TextLine], cells: Sequence[_RowPieces], levels: Sequence[float]
) -> list[list[int]]:
    """Group lines to rows, as indices: at ruling lines, else by first cells."""
    groups: list[list[int]] = []
    for number, line in enumerate(block):
        above = block[number - 1].y if number else float("inf")
        if not groups or any(line.y < y < above for y in levels):
            groups.append([])
        groups[-1].append(number)
    full = max(sum(all(cells[i]) for i in group) for group in groups)
    if len(groups) >= _MIN_ROWS and full <= _MAX_FULL_LINES:
        return groups
    rows: list[list[int]] = []
    for group in groups:
        for i in group:
            if i == group[0] or _begins_row(cells[i]):
                rows.append([])
            rows[-1].append(i)
    return rows


def _begins_row(cells: _RowPieces) -> bool:
    """Return True if a line begins a row: its first cell is filled, and is no rest of a text."""
    return bool(cells[0]) and (any(cells[1:]) or not cells[0][0][1].text[:1].islower())


def _has_header(rows: Sequence[Sequence[_RowPieces]], levels: Sequence[float]) -> bool:
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


def _is_code(block: Sequence[_TextLine]) -> bool:
    pieces = [piece for line in block for _, piece in line.pieces]
    return sum(is_monospaced_font(piece.font) for piece in pieces) >= _MOST_SHARE * len(pieces)


def _is_full(rows: Sequence[Sequence[str]]) -> bool:
    """Return True if enough cells are filled, and several in at least two columns."""
    columns = [sum(map(bool, column)) for column in zip(*rows, strict=True)]
    return sum(count > 1 for count in columns) > 1 and sum(columns) >= _FILLED * (
        len(columns) * len(rows)
    )


def _is_numbered(rows: Sequence[Sequence[str]], *, is_ruled: bool) -> bool:
    """Return True if rows are numbered lines, list items, or entries of a table of contents.

    Rows with ruling lines may count.
    """
    first = [row[0] for row in rows if row[0]]
    last = [row[-1] for row in rows if row[-1]]
    if len(rows[0]) == 2 and _are_most(_SIGN, first):
        return True
    counted = [int(cell) for cell in first if _COUNT.fullmatch(cell)]
    if len(counted) == len(first) and all(a + 1 == b for a, b in pairwise(counted)):
        return len(counted) > 1 and not (is_ruled and len(rows[0]) > 2)
    pages = [int(cell) for cell in last if _COUNT.fullmatch(cell)]
    in_order = len(pages) == len(last) and all(a <= b for a, b in pairwise(pages))
    return in_order and _are_most(_SECTION, first)


def _are_most(form: re.Pattern[str], cells: Sequence[str]) -> bool:
    return 2 * sum(form.fullmatch(cell) is not None for cell in cells) > len(cells)


def _has_figures(rows: Sequence[Sequence[str]]) -> bool:
    """Return True for three or more columns of which one has figures, without formulas.

    At least one column must not look like entries with page numbers, as all columns of an index do.
    """
    columns = [[cell for cell in column if cell] for column in zip(*rows, strict=True)]
    formulas = sum(_FORMULA.match(cell) is not None for column in columns for cell in column)
    return (
        len(columns) > 2
        and any(2 * sum(any(map(str.isdigit, c)) for c in held) >= len(held) for held in columns)
        and any(2 * sum(bool(_ENTRY.search(c)) for c in held) < len(held) for held in columns)
        and 2 * formulas < len(rows)
    )


def _in_file_order(numbers: Sequence[Sequence[int]]) -> bool:
    """Return True if rows follow each other in the file; columns of prose do not.

    ``numbers`` are the indices of the words of each row, in file order.
    """
    pairs = list(pairwise(numbers))
    return sum(max(a) < min(b) for a, b in pairs) >= _MOST_SHARE * len(pairs)


_CellPieces = list[tuple[int, Piece]]
"""The words of a line in one column, with their indices on the page."""
_RowPieces = list[_CellPieces]


@dataclass(slots=True)
class _TextLine:
    """The words on one baseline from left to right, with their indices on the page."""

    y: float
    size: float
    pieces: _CellPieces

    @property
    def text(self) -> str:
        return _join([piece for _, piece in self.pieces])

    @property
    def bold(self) -> bool:
        return all(is_bold_font(piece.font) for _, piece in self.pieces)


class _Block(NamedTuple):
    """Consecutive lines with common columns, with the lines above and below."""

    lines: list[_TextLine]
    above: list[_TextLine]
    below: list[_TextLine]


def _blocks(pieces: Sequence[Piece], drawn: Sequence[RulingLine]) -> Iterator[_Block]:
    """Yield the blocks of lines that may be tables."""
    for flow in _flows(pieces):
        lines = _lines(flow)
        start = 0
        while start < len(lines):
            block = _grow(lines, start, drawn)
            if len(block) >= _MIN_LINES:
                after = start + len(block)
                rows = _without_edges(block, _levels(block, drawn))
                yield _Block(rows, lines[:start], lines[after:])
                start = after
            else:
                start += 1


def _levels(block: Sequence[_TextLine], drawn: Sequence[RulingLine]) -> list[float]:
    """Return the heights of the ruling lines across a block, top to bottom."""
    covered = _covered_by(block)
    left, right = covered[0][0], covered[-1][1]
    top, bottom = block[0].y + _NEAR * block[0].size, block[-1].y - _NEAR * block[-1].size
    heights: list[tuple[float, list[Interval]]] = []
    for rule in drawn:
        if bottom < rule.place < top and rule.start < right and rule.end > left:
            if not heights or heights[-1][0] - rule.place > _THICK:
                heights.append((rule.place, []))
            heights[-1][1].append((max(left, rule.start), min(right, rule.end)))
    joined = ((y, merge_intervals(parts, apart=_THICK)) for y, parts in heights)
    widths = ((y, sum(end - start for start, end in parts)) for y, parts in joined)
    return [y for y, width in widths if width >= _COVERED * (right - left)]


def _divide(block: Sequence[_TextLine]) -> list[_RowPieces]:
    """Return the cells of each line by the common columns, [] if there is only one column."""
    size = max((line.size for line in block), default=0.0)
    middles = [sum(gutter) / 2 for gutter in _gutters(_covered_by(block), size)]
    return [_split(line, middles) for line in block if middles]


def _grow(lines: Sequence[_TextLine], start: int, drawn: Sequence[RulingLine]) -> list[_TextLine]:
    """Return the lines from ``start`` on that have columns in common."""
    first = lines[start]
    if not _is_parted(first):
        return [first]
    block = [first]
    covered, size = _covered_by(block), first.size
    gutters = _gutters(covered, size)
    ends = 1
    for line in lines[start + 1 : start + _MAX_LINES]:
        distance = block[-1].y - line.y
        parted = any(_sides(line, gutter) for gutter in gutters)
        longest = _MAX_LINE_DISTANCE * max(first.size, line.size)
        is_framed = any(
            line.y - longest < rule.place < line.y
            and gutters
            and rule.start < gutters[0][0] < gutters[-1][1] < rule.end
            for rule in drawn
        )
        farthest = longest if parted or is_framed else _WRAPPED * max(first.size, line.size)
        if distance > farthest or (
            len(block) >= _MIN_LINES
            and distance > _NEXT_TABLE * max(a.y - b.y for a, b in pairwise(block))
        ):
            break
        covered, size = merge_intervals([*covered, *_covered_by([line])]), max(size, line.size)
        common = _gutters(covered, size)
        known = [gutter for gutter in gutters if sum(_sides(row, gutter) for row in block) > 1]
        is_kept = all(any(c[0] < g[1] and g[0] < c[1] for c in common) for g in known)
        if not common or not is_kept:
            break
        block.append(line)
        gutters = common
        if parted:
            ends = len(block)
    # Lines right of the first column at the end of a table continue a cell of its last row.
    while ends < len(block) and block[ends].pieces[0][1].left > sum(gutters[0]) / 2:
        ends += 1
    last = min(_levels(block, drawn), default=block[-1].y)
    return block[: max(ends, sum(line.y > last for line in block))]


def _gutters(covered: Sequence[Interval], size: float) -> list[Interval]:
    """Return the wide strips between the intervals that have text in a font of this size."""
    between = ((one[1], other[0]) for one, other in pairwise(covered))
    return [(left, right) for left, right in between if right - left >= _GUTTER * size]


def _is_parted(line: _TextLine) -> bool:
    """Return True if a line has a gap that may separate columns."""
    return any(
        after.left - before.right >= COLUMN_GAP * line.size
        for (_, before), (_, after) in pairwise(line.pieces)
    )


def _flows(pieces: Sequence[Piece]) -> Iterator[list[tuple[int, Piece]]]:
    """Yield the words of each column of prose, which follow each other in the file."""
    for turn in sorted({piece.turn for piece in pieces} - {OBLIQUE}):
        flow: list[tuple[int, Piece]] = []
        for number, piece in enumerate(pieces):
            if piece.turn != turn or not piece.size:
                continue
            if flow and piece.y - flow[-1][1].y > _NEXT_COLUMN:
                yield flow
                flow = []
            flow.append((number, piece))
        if flow:
            yield flow


def _lines(flow: Sequence[tuple[int, Piece]]) -> list[_TextLine]:
    """Group words to lines, top to bottom."""
    lines: list[_TextLine] = []
    for number, piece in sorted(flow, key=lambda item: -item[1].y):
        last = lines[-1] if lines else None
        if last is not None and last.y - piece.y < _TOLERANCE * max(last.size, piece.size):
            last.pieces.append((number, piece))
            if piece.size > last.size:
                last.size, last.y = piece.size, piece.y
        else:
            lines.append(_TextLine(piece.y, piece.size, [(number, piece)]))
    for line in lines:
        line.pieces.sort(key=lambda item: item[1].left)
    return lines


def _join(pieces: Sequence[Piece]) -> str:
    """Return the text of words from left to right, with spaces at gaps."""
    spaced = [
        before is not None
        and (
            piece.is_spaced
            or (piece.begins_line and piece.left - before.right > _WORD_GAP * piece.size)
        )
        for before, piece in zip([None, *pieces[:-1]], pieces, strict=True)
    ]
    return "".join(written_parts(pieces, spaced)).strip()


def written_parts(pieces: Sequence[Piece], spaced: Sequence[bool]) -> list[str]:
    """Return what is written for each word of a line, with raised and lowered figures apart.

    ``spaced`` says before which words there is a space.
    """
    shown = [" " * gap + piece.text for gap, piece in zip(spaced, pieces, strict=True)]
    start = 0
    while start < len(pieces):
        rise, after = pieces[start].rise, start + 1
        while after < len(pieces) and rise and pieces[after].rise == rise:
            both = pieces[after - 1].text + pieces[after].text
            if spaced[after] and not both.isalpha():
                break
            after += 1
        if rise:
            before = "".join(shown[max(0, start - _SEEN_PIECES) : start]) + " " * spaced[start]
            text = "".join(piece.text for piece in pieces[start:after])
            following = "".join(shown[after : after + 2])
            is_note = rise > 0 and not before.strip() and len(following.split()) > 1
            written = write_raised(before, text, lowered=rise < 0, is_note=is_note, after=following)
            written = " " + written.lstrip() if spaced[start] else written
            shown[start:after] = [written, *[""] * (after - start - 1)]
        start = after
    return shown


def _covered_by(lines: Sequence[_TextLine]) -> list[Interval]:
    """Return the horizontal intervals in which some line has text, from left to right."""
    return merge_intervals(((p.left, p.right) for line in lines for _, p in line.pieces))


def _sides(line: _TextLine, gutter: Interval) -> bool:
    """Return True if a line has text on both sides of a gutter."""
    left, right = _edges(line.pieces)
    return left < sum(gutter) / 2 < right


def _without_edges(block: list[_TextLine], levels: Sequence[float]) -> list[_TextLine]:
    """Drop a first or last line that is far from the others, such as a running head or foot.

    A line between two ruling lines is a row of the table.
    """
    distances = [above.y - below.y for above, below in pairwise(block)]
    if len(distances) >= _MIN_LINES:
        farthest = _APART * max(distances[1:-1])
        beyond = [sum(y > line.y for y in levels) for line in block]
        if distances[-1] > farthest and not beyond[-2] < beyond[-1] < len(levels):
            block = block[:-1]
        if distances[0] > farthest and not 0 < beyond[0] < beyond[1]:
            block = block[1:]
    return block


def _split(line: _TextLine, middles: Sequence[float]) -> _RowPieces:
    cells: _RowPieces = [[] for _ in range(len(middles) + 1)]
    for item in line.pieces:
        cells[sum(item[1].left > middle for middle in middles)].append(item)
    return cells
