"""Rows of cells as they stand in a file: where the header is, and which rows are data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from knotwork.indexing.loaders.base import clean_text
from knotwork.indexing.loaders.rows import LONGEST_HEADER, names_columns

LEADING_ROWS = 20
"""Rows that may stand above a header, as a title and notes."""
_SEEN_ROWS = 30
_LEAST_FILLED = 0.6
"""The share of cells below a header that it names, and of their number in a row that it has."""
_TOTALS = re.compile(
    r"(?:grand |sub-?)?totals?\b.*|sums?|subtotals?\b.*|(?:合|总|總|小|共)(?:计|計)?[:：]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Grid:
    """A table in a file: what stands above its header, the header, and the rows below.

    Rows come with their numbers in the file, from 1. ``header`` is empty if none was found: all
    rows are then in ``rows``. ``totals`` are the numbers of rows that sum up others.
    """

    above: tuple[tuple[str, ...], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    totals: frozenset[int] = frozenset()


def read_grid(rows: Iterable[Sequence[str]]) -> Grid:
    """Return the rows of a file or sheet with the header that names their columns.

    The header is the first row that is about as wide as the rows below it, if it has short texts
    and no numbers; narrower rows above it are a title and notes. Rows without a value are left out.
    """
    filled = [
        (number, tuple(" ".join(_clean(cell).split()) for cell in row))
        for number, row in enumerate(rows, start=1)
        if any(_clean(cell).strip() for cell in row)
    ]
    place = _find_header(filled)
    if place is None:
        return Grid((), (), tuple(filled))
    body = filled[place + 1 :]
    above = tuple(row for _, row in filled[:place])
    return Grid(above, filled[place][1], tuple(body), frozenset(_totals_of(body)))


def _clean(cell: str) -> str:
    return cell if cell.isascii() and "\x00" not in cell else clean_text(cell)


def _find_header(filled: Sequence[tuple[int, Sequence[str]]]) -> int | None:
    for place, (_, row) in enumerate(filled[:LEADING_ROWS]):
        below = filled[place + 1 : place + 1 + _SEEN_ROWS]
        if not below:
            return None
        if sum(map(bool, row)) >= 2 and _is_above(row, [cells for _, cells in below]):
            is_header = names_columns(row) or _may_name_columns(row, below)
            return place if is_header else None
    return None


def _is_above(row: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return whether a row is about as wide as those below it, and has cells above theirs."""
    usual = median(sum(map(bool, cells)) for cells in below)
    filled = [place for cells in below for place, cell in enumerate(cells) if cell]
    named = sum(place < len(row) and bool(row[place]) for place in filled)
    return sum(map(bool, row)) >= _LEAST_FILLED * usual and named >= _LEAST_FILLED * len(filled)


def _may_name_columns(row: Sequence[str], below: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Return whether a row without numbers, in which names repeat, stands above numbers."""
    words = [cell for cell in row if cell]
    if any(any(c.isdigit() for c in cell) or len(cell) > LONGEST_HEADER for cell in words):
        return False
    digits = [any(c.isdigit() for c in cell) for _, r in below for cell in r if cell]
    return sum(digits) * 4 >= len(digits) > 0


def _totals_of(body: Sequence[tuple[int, Sequence[str]]]) -> Iterable[int]:
    """Yield the numbers of the last rows that are totals of those above."""
    for number, row in reversed(body):
        first = next((cell for cell in row if cell), "")
        if not _TOTALS.fullmatch(first) or len(body) == 1:
            return
        yield number
