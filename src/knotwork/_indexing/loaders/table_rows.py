"""Read the rows of tables: header rows, the cell that names a row, cells that span others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

MAX_HEADER_LENGTH = 60
MAX_SPAN = 50
"""Most columns that a cell may span; a damaged table may declare any number."""
MAX_REPEATED = 200_000
"""Most cells that repeat the text of one that spans rows."""
_NUMBER = re.compile(r"[-+$€£¥(]*\d[\d.,:/%\s-]*\)?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class SpanningCell(NamedTuple):
    """A cell that may span several columns and rows."""

    text: str
    columns: int = 1
    rows: int = 1


def row_key(row: Sequence[str]) -> str:
    """Return the cell that names a row: the first one with letters, "" if it is too long."""
    cells = [cell for cell in row if cell]
    if len(cells) < 2:
        return ""
    worded = (cell for cell in cells if any(map(str.isalpha, cell)))
    key = next(worded, cells[0])
    return key.rstrip(":： ") if len(key) <= MAX_HEADER_LENGTH else ""


def spread_cells(
    rows: Iterable[Iterable[SpanningCell]], *, headers: int = 1
) -> Iterator[list[str]]:
    """Yield rows with one text for each column, "" after the first column of a wide cell.

    The text of a cell that spans rows is repeated in each of them if it is short: it is their key.
    Several ``headers`` at the top become one row, in which a wide cell is part of the name of each
    of its columns.
    """
    reaching: dict[int, tuple[str, int]] = {}
    above: list[list[str]] = []
    repeated = 0
    for number, row in enumerate(rows):
        is_header = number < headers > 1
        texts: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in row:
            while len(texts) in reaching:
                texts.append(_extend(reaching, below, len(texts)))
            width = max(1, min(cell.columns, MAX_SPAN))
            added = [cell.text, *[cell.text if is_header else ""] * (width - 1)]
            for column, text in enumerate(added, len(texts)) if cell.rows > 1 else ():
                below[column] = text if len(text) <= MAX_HEADER_LENGTH else "", cell.rows - 1
            texts += added
        for column in range(len(texts), max(reaching, default=-1) + 1):
            texts.append(_extend(reaching, below, column) if column in reaching else "")
        repeated += len(below)
        reaching = below if repeated <= MAX_REPEATED else {}
        if is_header:
            above.append(texts)
        if not is_header or number == headers - 1:
            yield _merged(above) if is_header else texts


def _merged(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of columns whose parts are in several rows, each part once."""
    return [" ".join(dict.fromkeys(filter(None, parts))) for parts in zip_longest(*rows)]


def join_header_rows(
    rows: Sequence[Sequence[SpanningCell]], marked: int = 0
) -> tuple[Sequence[Sequence[SpanningCell]], bool]:
    """Return the rows of a table with those of its header as one, and True if there were several.

    The names of a column are joined, as in "Load (t) Near". The ``marked`` first rows are the
    header; else the first two are, if a cell of the first is above several names.
    """
    count = marked
    if count < 2 and len(rows) > 2 and len(rows[0]) > 1:
        names = [cell.text for cell in rows[1] if cell.text]
        is_wide = any(cell.text and cell.columns > 1 for cell in rows[0])
        is_named = len(names) > 1 and not any(map(_NUMBER.fullmatch, names))
        below = [cell.text for cell in rows[2]]
        count = 2 if is_wide and is_named and any(map(_NUMBER.fullmatch, below)) else count
    if not 1 < count < len(rows):
        return rows, False
    names = next(spread_cells(rows[:count], headers=count))
    return [[SpanningCell(name) for name in names], *rows[count:]], True


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
