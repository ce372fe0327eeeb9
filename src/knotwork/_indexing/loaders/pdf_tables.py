"""Detect tables on PDF pages by columns of aligned text and by ruling lines.

A column ends at a vertical strip that is blank over several lines, or at a vertical ruling line. In
doubt, lines are not a table: prose in columns, lists, formulas and code have aligned gaps too.
Lengths in "sizes" are multiples of the font size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from knotwork._indexing.loaders.pdf_columns import (
    COLUMN_GAP,
    MAX_LINE_DISTANCE,
    ColumnBlock,
    ColumnFinder,
    RowPieces,
    TextLine,
    join_pieces,
    read_flows,
    read_lines,
)
from knotwork._indexing.loaders.pdf_pages import Piece, RulingLines
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
    for line in read_lines(next(read_flows(pieces), [])):
        row = _cells_at(line, lefts)
        is_near = not block or block[-1].y - line.y <= MAX_LINE_DISTANCE * line.size
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
    texts = [
        tuple(
            "\n".join(join_pieces([piece for _, piece in part]) for part in parts if part)
            for parts in zip(*row, strict=True)
        )
        for row in rows
    ]
    return rows, texts, tuple(tuple(n for line in r for c in line for n, _ in c) for r in rows)


def _cells_at(line: TextLine, lefts: Sequence[float]) -> RowPieces | None:
    """Return the cells of a line in columns that begin at ``lefts``, None if its gaps differ."""
    cells: RowPieces = [[] for _ in lefts]
    before = -1
    for number, piece in line.pieces:
        column = sum(piece.left >= left - SHIFTED_COLUMN for left in lefts) - 1
        last = cells[before][-1][1] if before >= 0 else None
        is_apart = last is None or piece.left - last.right >= COLUMN_GAP * line.size
        if column < 0 or (column > before) is not is_apart:
            return None
        if last is None and abs(piece.left - lefts[column]) > SHIFTED_COLUMN:
            return None
        cells[column].append((number, piece))
        before = column
    return cells


def _read_table(block: ColumnBlock, columns: ColumnFinder) -> FoundTable | None:
    lines = block.lines
    around = (*block.above[-_CAPTION_ABOVE:], *block.below[:_CAPTION_BELOW])
    has_caption = any(is_table_caption(line.text) for line in around)
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
            if has_header or has_caption
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
