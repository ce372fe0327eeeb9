"""Tables of PDF pages, recognized by columns of text, and by lines that are drawn if there are any.

What is not surely a table stays text: prose in columns, lists, formulas, code, contents pages and
forms have aligned gaps too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from knotwork.indexing.loaders.cues import is_bold, is_monospaced, is_table_caption
from knotwork.indexing.loaders.pdf_columns import (
    Block,
    Cell,
    Cells,
    Columns,
    TextLine,
    join_pieces,
)
from knotwork.indexing.loaders.pdf_pieces import Drawn, Piece
from knotwork.indexing.loaders.rows import names_columns

_FEWEST_ROWS = 3
_LONGER = 1.15
"""How much further than the lines of a cell those of rows are apart."""
_MOST = 0.8
"""The share of the pieces of code that are monospaced, of cells that are aligned, and of rows
that follow each other in the file."""
_PROSE = 25
"""Characters of the lines of a column that is prose if they are all as long."""
_FILLED = 0.55
"""The share of the cells of a table that are not blank."""
_MIXED = 0.34
_MOST_FULL = 2
"""The share of rows that have several lines with all cells, and so many at most, where lines are
drawn between rows."""
_FILLED_RULED = 0.4
"""The same of a table with lines drawn between its rows."""
_ALIGNED = 0.4
"""Sizes of type by which the cells of a column may begin or end in different places."""
_FEWEST_BARE = 4
_FILLED_BARE = 0.85
"""The fewest rows and the share of cells of a table that neither lines, type nor a caption show."""
_SIGN = re.compile(
    r"[•·▪◦‣●○■□◆◇►▶➢➤✓–—*\-+]|[(\[（]?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)\]）、:]|\[\w{1,12}\]|[①-⑳]"
)
_WORDED = re.compile(r"[^\W\d_]{2}|[\u3400-\u9fff]")
_NUMBER = re.compile(r"[-+−±$€£¥(]*\d[\d.,:/%\s-]*\)?")
_FORMULA = re.compile(r"[=≈≤≥<>∈→⇒]")
_ENTRY = re.compile(r"[^\W\d_]{2}\S*,?\s\d{1,4}(?:[-–,]\s*\d{1,4})*\Z")
_COUNT = re.compile(r"\d{1,4}")
_SECTION = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?")
_MOST_BORDERS = 2
"""Lines drawn across a table of which none need be above and below it."""
_CAPTION_ABOVE, _CAPTION_BELOW = 3, 2
"""Lines above and below a table one of which may be the first line of its caption."""
_MOST_HEADER_LINES = 4
_SEEN_ROWS = 4
_FEWEST_WORDED = 3


class FoundTable(NamedTuple):
    """A table of a page.

    ``rows`` are its rows, top to bottom; the lines of a cell are parted by line ends. ``pieces``
    are the numbers of the pieces that each row has. ``has_header`` is whether its type or a ruled
    line sets the first row apart. ``lefts`` are where its columns begin, in points.
    """

    rows: tuple[tuple[str, ...], ...]
    pieces: tuple[tuple[int, ...], ...]
    has_header: bool
    lefts: tuple[float, ...]


def find_tables(pieces: Sequence[Piece], drawn: Drawn) -> Iterator[FoundTable]:
    """Yield the tables of a page."""
    columns = Columns(drawn)
    for block in columns.blocks(pieces):
        table = _read_table(block, columns)
        if table is not None:
            yield table


def _read_table(block: Block, columns: Columns) -> FoundTable | None:
    """Return the table that a block of lines is, None if it is something else."""
    lines = block.lines
    levels = columns.levels(lines)
    if len(levels) > _MOST_BORDERS:
        lines = [line for line in lines if levels[-1] < line.y < levels[0]]
    cells = columns.divide(lines)
    if not cells or _is_prose(cells) or _is_code(lines):
        return None
    rows = [[cells[i] for i in row] for row in _rows(lines, cells, levels)]
    texts = [tuple(_text(parts) for parts in zip(*row, strict=True)) for row in rows]
    numbers = tuple(tuple(n for line in row for cell in line for n, _ in cell) for row in rows)
    has_header = _has_header(rows, levels) and names_columns(texts[0], texts[1])
    is_ruled = len(levels) > 1 and any(lines[-1].y < y < lines[0].y for y in levels)
    if not (
        _follow(numbers)
        and not _is_numbered(texts)
        and (
            _is_full(texts, fewest=2, filled=_FILLED_RULED)
            if is_ruled
            else _is_full(texts, fewest=_FEWEST_ROWS, filled=_FILLED)
            if has_header or _has_caption(block)
            else _is_full(texts, fewest=_FEWEST_BARE, filled=_FILLED_BARE)
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


def _has_caption(block: Block) -> bool:
    """Return whether a caption of a table stands above or below."""
    around = (*block.above[-_CAPTION_ABOVE:], *block.below[:_CAPTION_BELOW])
    return any(is_table_caption(line.text) for line in around)


def _text(parts: Sequence[Cell]) -> str:
    """Return the text of a cell, with a line end between its lines."""
    return "\n".join(join_pieces([piece for _, piece in part]) for part in parts if part)


def _rows(
    block: Sequence[TextLine], cells: Sequence[Cells], levels: Sequence[float]
) -> list[list[int]]:
    """Return the numbers of the lines that each row has."""
    groups: list[list[int]] = []
    for number, line in enumerate(block):
        above = block[number - 1].y if number else float("inf")
        if not groups or any(line.y < y < above for y in levels):
            groups.append([])
        groups[-1].append(number)
    full = [sum(all(cells[i]) for i in group) for group in groups]
    mixed = sum(count > 1 for count in full)
    if len(groups) >= _FEWEST_ROWS and mixed <= _MIXED * len(groups) and max(full) <= _MOST_FULL:
        return groups
    if len(groups) > 1 and len(groups[0]) <= _MOST_HEADER_LINES and full[0] <= 1:
        header, rest = groups[0], groups[1:]
    else:
        bold = next((n for n, line in enumerate(block) if not line.bold), 0)
        is_header = bold <= _MOST_HEADER_LINES and sum(map(all, cells[:bold])) <= 1
        header = list(range(bold)) if is_header else []
        rest = [[i for i in group if i not in header] for group in groups]
    rows = [header] if header else []
    for group in rest:
        rows.extend(_rows_of(group, block, cells))
    return rows


def _rows_of(
    group: Sequence[int], block: Sequence[TextLine], cells: Sequence[Cells]
) -> list[list[int]]:
    """Return rows by the distances of lines, else by their first cells."""
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


def _begins_row(cells: Cells) -> bool:
    if cells[0]:
        first = cells[0][0][1].text
        return any(cells[1:]) or not first[:1].islower()
    texts = [join_pieces([piece for _, piece in cell]) for cell in cells[1:]]
    return len(texts) > 1 and all(texts) and any(map(_NUMBER.fullmatch, texts))


def _has_header(rows: Sequence[Sequence[Cells]], levels: Sequence[float]) -> bool:
    """Return whether its type or a line drawn below it sets the first row apart from the others."""
    if len(rows) < 2:
        return False
    pieces = [[piece for line in row for cell in line for _, piece in cell] for row in rows]
    types = [{(piece.font, piece.size) for piece in row} for row in pieces[:_SEEN_ROWS]]
    bold = [all(is_bold(font) for font, _ in row) for row in types]
    if bold[0] and not any(bold[1:]):
        return True
    if len(rows) < _FEWEST_ROWS:
        return False
    if all(map(types[0].isdisjoint, types[1:])):
        return True
    ends = [(max(p.y for p in row), min(p.y for p in row)) for row in pieces]
    between = [any(b[0] < y < a[1] for y in levels) for a, b in pairwise(ends[:_SEEN_ROWS])]
    return between[0] and not any(between[1:])


def _is_prose(cells: Sequence[Cells]) -> bool:
    """Return whether all columns have long lines, as those of a newspaper."""
    lengths = [
        median([sum(len(piece.text) + 1 for _, piece in cell) for cell in column if cell] or [0])
        for column in zip(*cells, strict=True)
    ]
    return min(lengths) >= _PROSE


def _is_code(block: Sequence[TextLine]) -> bool:
    pieces = [piece for line in block for _, piece in line.pieces]
    return sum(is_monospaced(piece.font) for piece in pieces) >= _MOST * len(pieces)


def _is_full(rows: Sequence[Sequence[str]], *, fewest: int, filled: float) -> bool:
    """Return whether there are rows and words enough, and few blank cells."""
    columns = [[cell for cell in column if cell] for column in zip(*rows, strict=True)]
    cells = [cell for column in columns for cell in column]
    return (
        len(rows) >= fewest
        and sum(len(column) > 1 for column in columns) > 1
        and len(cells) >= filled * len(columns) * len(rows)
        and sum(_WORDED.search(cell) is not None for cell in cells) >= _FEWEST_WORDED
    )


def _is_numbered(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether rows are lines with numbers, items of a list, or entries of contents."""
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
    """Return whether one of three columns or more has figures, and no cells are formulas.

    All cells of a column of an index or a list of names are of one kind.
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


def _is_aligned(cells: Sequence[Cells], size: float) -> bool:
    """Return whether the text of each column begins, ends or has its middle in one place."""
    for column in zip(*cells, strict=True):
        ends = [(cell[0][1].left, cell[-1][1].right) for cell in column if cell]
        places = zip(*((left, right, (left + right) / 2) for left, right in ends), strict=True)
        shares = [_share_near(place, _ALIGNED * size) for place in places]
        if max(shares) < _MOST:
            return False
    return True


def _share_near(places: Sequence[float], distance: float) -> float:
    """Return the share of places that are near the one in their middle."""
    middle = median(places)
    return sum(abs(place - middle) <= distance for place in places) / len(places)


def _follow(numbers: Sequence[Sequence[int]]) -> bool:
    """Return whether the file has the rows one after another, unlike the columns of prose."""
    pairs = list(pairwise(numbers))
    return sum(max(a) < min(b) for a, b in pairs) >= _MOST * len(pairs)
