"""Read the rows of tables, and compare those of a reply with those of its passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from knotwork._synthesis.grounding.faults import Fault, Finding
from knotwork._text.plain_text import split_row
from knotwork.records import BlockKind, Chunk

_ROW = re.compile(r"\|.+\|")


def is_row(statement: str) -> bool:
    """Return True for a row of a table."""
    return _ROW.fullmatch(statement.strip()) is not None


def name_cells(columns: Sequence[str], cells: Sequence[str]) -> str:
    """Return the cells of a row with the names of their columns, as "Part: fuse; Price: 2"."""
    named = pair_cells(columns, cells)
    return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named)


def read_rows(chunk: Chunk) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the rows in a chunk: the names of their columns, and their cells."""
    columns: tuple[str, ...] = ()
    for block in chunk.blocks:
        if block.kind is BlockKind.TABLE:
            columns = split_row(block.label)
        elif block.kind is BlockKind.ROW and columns and chunk.span.contains(block.span):
            yield columns, split_row(chunk.text_at(block.span))


Row = list[tuple[str, str]]
"""The cells of a row, each behind the name of its column."""


def find_cell_fault(row: Row, known: Sequence[Row]) -> Finding | None:
    """Return the fault of a row with a cell that tables have in other rows or columns alone.

    The first cell names the subject of the row; a cell that no table has is not judged. ``known``
    are the rows of the tables.
    """
    tables = [_fold(other) for other in known]
    (_, subject), *others = _fold(row)
    about = [other for other in tables if any(cell == subject for _, cell in other)]
    for place, (column, cell) in enumerate(others, start=1):
        is_known = about and any(cell == value for other in tables for _, value in other)
        if is_known and not any(_gives(other, column, cell) for other in about):
            return Finding(Fault.NUMBER, row[place][1])
    return None


def _fold(row: Row) -> Row:
    return [(column.casefold(), cell.casefold()) for column, cell in row]


def _gives(row: Row, column: str, cell: str) -> bool:
    """Return True if a row has a cell, and below the column of that name if it has one."""
    named = [value for name, value in row if name == column]
    return cell in named or (not named and any(cell == value for _, value in row))


def pair_cells(columns: Sequence[str], cells: Sequence[str]) -> Row:
    """Return the cells of a row with the names of their columns, without empty cells."""
    named = zip(columns, cells, strict=False)
    return [(column, " ".join(cell.split())) for column, cell in named if cell]
