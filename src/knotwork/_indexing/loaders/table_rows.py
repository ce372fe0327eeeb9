"""Read the rows of tables: header rows, the cell that names a row, cells that span others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

MAX_HEADER_LENGTH = 60
MAX_SPAN = 50
"""Most columns that a cell may span; a damaged table may declare any number."""
MOST_NESTED = 400
"""Characters of a table in a cell that is read as a part of its row."""
MAX_REPEATED = 200_000
"""Most cells that repeat the text of one that spans rows."""
_NUMBER = re.compile(r"[-+$€£¥(]*\d[\d.,:/%\s-]*\)?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


WideCells = Mapping[int, Sequence[tuple[int, int]]]
"""The first and last column of wide cells, from 0, by the number of their row, from 1."""


class SpanningCell(NamedTuple):
    """A cell that may span several columns and rows.

    ``is_name`` is True if it is marked as one that names a row or a column, None if it is blank.
    """

    text: str
    columns: int = 1
    rows: int = 1
    is_name: bool | None = False


def row_key(row: Sequence[str]) -> str:
    """Return the cell that names a row: the first one with letters, "" if it is too long."""
    cells = [cell for cell in row if cell]
    if len(cells) < 2:
        return ""
    worded = (cell for cell in cells if any(map(str.isalpha, cell)))
    key = next(worded, cells[0])
    return key.rstrip(":： ") if len(key) <= MAX_HEADER_LENGTH else ""


def spread_cells(
    rows: Sequence[Sequence[SpanningCell]],
    wide: dict[int, list[tuple[int, int]]] | None = None,
) -> Iterator[list[str]]:
    """Yield rows with one text for each column, and add those of wide cells to ``wide``.

    A short text is in each of the columns and rows that its cell spans. The first cell of a row
    names the row and is not repeated beside it. Columns that no row has a cell for are not filled:
    a page may say 99 for "all".
    """
    most = count_columns(rows)
    reaching: dict[int, tuple[str, int]] = {}
    repeated = 0
    for number, row in enumerate(rows, start=1):
        texts: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in row:
            while len(texts) in reaching:
                texts.append(_extend(reaching, below, len(texts)))
            width = max(1, min(cell.columns, MAX_SPAN))
            first, short = len(texts), cell.text if len(cell.text) <= MAX_HEADER_LENGTH else ""
            if wide is not None and width > 1 and cell.text:
                wide.setdefault(number, []).append((first, first + width - 1))
            filled = max(0, min(width, most - first) - 1) if first else 0
            texts += [cell.text, *[short] * filled, *[""] * (width - 1 - filled)]
            for column in range(first, len(texts)) if cell.rows > 1 else ():
                below[column] = texts[column] and short, cell.rows - 1
        for column in range(len(texts), max(reaching, default=-1) + 1):
            texts.append(_extend(reaching, below, column) if column in reaching else "")
        repeated += len(below)
        reaching = below if repeated <= MAX_REPEATED else {}
        yield texts


def count_columns(rows: Sequence[Sequence[SpanningCell]]) -> int:
    """Return the most cells that a row has with those that reach into it from above."""
    most = reaching = 0
    ends: Counter[int] = Counter()
    for number, row in enumerate(rows):
        reaching -= ends[number]
        most = max(most, len(row) + reaching)
        for cell in row:
            if cell.rows > 1:
                reaching += 1
                ends[number + cell.rows] += 1
    return most


def rows_on_a_line(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows of a table that is in a cell of another one."""
    if len(rows) > 1 and names_columns(rows[0], rows[1]):
        names, *others = rows
        rows = [[f"{n}: {cell}" for n, cell in zip(names, row, strict=False)] for row in others]
        return "; ".join(map(", ".join, rows))
    return "; ".join(map(" ".join, rows))


def _extend(
    above: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]], column: int
) -> str:
    """Return the text of the cell that spans into this row, and record the rows it still spans."""
    text, rows = above[column]
    if rows > 1:
        below[column] = (text, rows - 1)
    return text


def names_columns(row: Sequence[str], below: Sequence[str] = ()) -> bool:
    """Return True if a row looks like a header: distinct short names, none of them a number.

    A year may name a column if other cells are names and the cell ``below`` is another number.
    """
    names = list(row)
    while names and not names[-1]:
        names.pop()
    filled = [name for name in names if name]
    numbers = [place for place, name in enumerate(names) if _NUMBER.fullmatch(name)]
    return (
        len(names) > 1
        and len(filled) * 2 > len(names)
        and len(set(filled)) == len(filled)
        and len(numbers) < len(filled)
        and all(len(name) <= MAX_HEADER_LENGTH for name in filled)
        and all(
            _YEAR.fullmatch(names[place])
            and place < len(below)
            and not _YEAR.fullmatch(below[place])
            and _NUMBER.fullmatch(below[place])
            for place in numbers
        )
    )


Interval = tuple[float, float]


def merge_intervals(parts: Iterable[Interval], *, apart: float = 0.0) -> list[Interval]:
    """Return intervals in ascending order, merging those at most ``apart`` from each other."""
    merged: list[Interval] = []
    for start, end in sorted(parts):
        if merged and start <= merged[-1][1] + apart:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
