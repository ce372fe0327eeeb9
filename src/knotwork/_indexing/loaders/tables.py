"""Distinguish the header of a table from its rows, and merge intervals of columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_HEADER_LENGTH = 60
YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_NUMBER = re.compile(r"[-+$€£¥(]*\d[\d.,:/%\s-]*\)?")


def row_key(row: Sequence[str]) -> str:
    """Return the cell that names a row: the first one with letters, "" if it is too long."""
    cells = [cell for cell in row if cell]
    if len(cells) < 2:
        return ""
    worded = (cell for cell in cells if any(map(str.isalpha, cell)))
    key = next(worded, cells[0])
    return key.rstrip(":： ") if len(key) <= MAX_HEADER_LENGTH else ""


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
            YEAR.fullmatch(names[place])
            and place < len(below)
            and not YEAR.fullmatch(below[place])
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
