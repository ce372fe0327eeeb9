"""Read tables of plain text: cells between bars, behind tabs, or aligned in columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from knotwork._indexing.loaders.table_rows import merge_intervals
from knotwork._text.sentences import is_wide

_BORDER = re.compile(r"(?=.*[-=]{2})[-=+|:\s]+")
_BARS = re.compile(r"(?<!\\)\|")
_CELL = re.compile(r"\S+(?: \S+)*")
_GAP = re.compile(r"\t+| {2,}|\u3000+")
_OPTION = re.compile(r"--?\w|/\w+$|<\w")
_FEWEST_ROWS = 3
_MOST_CELL = 200
_MOST_RAGGED_CELL = 40
_FILLER = "\0"
"""Stands behind a wide character, so that each has two columns."""


class TextTable(NamedTuple):
    """The rows of a table in ``lines`` lines; ``has_options`` if they are options and texts."""

    rows: Sequence[Sequence[str]]
    has_header: bool
    lines: int
    has_options: bool = False


def is_border(text: str) -> bool:
    """Return True for a line of a table without cells, such as "---|---" or "+---+"."""
    return _BORDER.fullmatch(text) is not None


def is_closed(text: str) -> bool:
    """Return True for a line that begins and ends with a bar."""
    return text.startswith("|") and text.endswith("|") and len(text) > 2


def read_bars(lines: Sequence[str]) -> TextTable | None:
    """Return the table of successive lines with bars, None if it has one column.

    Without a border, there must be two lines at least.
    """
    parts: list[list[list[str]]] = [[]]
    for line in lines:
        if is_border(line):
            parts.append([])
        else:
            parts[-1].append(_split_bars(line))
    parts = [part for part in parts if part]
    has_border = any(map(is_border, lines))
    if not parts or not (has_border or len(lines) > 1):
        return None
    if max(len(row) for part in parts for row in part) < 2:
        return None
    if len(parts) > 2:  # a border after each row: the lines of a row are joined
        rows = [_join_rows(part) for part in parts]
    else:
        rows = [row for part in parts for row in part]
    return TextTable(rows, has_border and len(rows) > 1, len(lines))


def _split_bars(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.replace("\\|", "|").strip() for cell in _BARS.split(inner)]


def _join_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    width = max(map(len, rows))
    padded = [[*row, *[""] * (width - len(row))] for row in rows]
    return [" ".join(filter(None, cells)) for cells in zip(*padded, strict=True)]


def read_aligned(lines: Iterable[str]) -> TextTable | None:
    """Return the table that successive lines begin with, None if no cells are aligned."""
    taken: list[str] = []
    for line in lines:
        if is_border(line.strip()) or has_gap(line) or (taken and _is_deep(line, taken[0])):
            taken.append(line)
        else:
            break
    cut = [line for line in taken if not is_border(line.strip())]
    if len(cut) < 2:
        return None
    rows = _tabbed(cut) or _in_columns(cut) or _ragged(cut)
    if rows is None or any(len(cell) > _MOST_CELL for row in rows for cell in row):
        return None
    has_options = all(len(row) == 2 and _OPTION.match(row[0]) for row in rows)
    places = [number for number, line in enumerate(taken) if is_border(line.strip())]
    return TextTable(rows, any(0 < n < len(taken) - 1 for n in places), len(taken), has_options)


def has_gap(line: str) -> bool:
    """Return True if a line may have several cells: there is a tab or a wide gap in it."""
    return _GAP.search(line.lstrip().rstrip(" ")) is not None


def _is_deep(line: str, first: str) -> bool:
    """Return True if a line begins below the second cell of the first line."""
    found = list(_CELL.finditer(_widened(first)))
    indent = len(line) - len(line.lstrip())
    return len(found) > 1 and indent >= found[1].start() > 0


def _tabbed(lines: Sequence[str]) -> Sequence[Sequence[str]] | None:
    """Return the cells between tabs if all lines have equally many, or at most as the first."""
    if lines[0].startswith("\t") or not all("\t" in line.strip(" ") for line in lines):
        return None
    for tab in ("\t", "\t+"):
        rows = [[cell.strip() for cell in re.split(tab, line.strip(" "))] for line in lines]
        if len({len(row) for row in rows}) == 1:
            return rows
    rows = [line.strip(" ").split("\t") for line in lines]
    return rows if all(len(row) <= len(rows[0]) for row in rows) else None


def _widened(line: str) -> str:
    wide = line.expandtabs(8).replace("\u3000", "  ")
    return wide if wide.isascii() else "".join(c + _FILLER * is_wide(c) for c in wide)


def _in_columns(lines: Sequence[str]) -> Sequence[Sequence[str]] | None:
    """Return the cells of columns that are separated by spaces in all lines.

    A line with one cell that is not in the first column continues the row above.
    """
    if len(lines) < _FEWEST_ROWS and not all(_OPTION.match(line.strip()) for line in lines):
        return None
    found = [list(_CELL.finditer(_widened(line))) for line in lines]
    columns = merge_intervals(match.span() for row in found for match in row)
    if len(columns) < 2:
        return None
    rows: list[list[str]] = []
    for matches in found:
        row = [""] * len(columns)
        for match in matches:
            place = next(n for n, (_, end) in enumerate(columns) if match.start() < end)
            row[place] = f"{row[place]} {match[0].replace(_FILLER, '')}".strip()
        if rows and not row[0] and sum(map(bool, row)) == 1:
            rows[-1] = _join_rows([rows[-1], row])
        else:
            rows.append(row)
    several = sum(sum(map(bool, row)) > 1 for row in rows)
    return rows if len(rows) > 1 and 3 * several >= 2 * len(rows) else None


def _ragged(lines: Sequence[str]) -> Sequence[Sequence[str]] | None:
    """Return the short cells between wide gaps if all lines have equally many."""
    rows = [[cell.strip() for cell in _GAP.split(line.strip())] for line in lines]
    is_table = len({len(row) for row in rows}) == 1 and all(
        len(cell) <= _MOST_RAGGED_CELL for row in rows for cell in row
    )
    return rows if is_table and len(rows) >= _FEWEST_ROWS else None
