"""Rows of tables as lines that read like sentences: ``Header: value; Header: value``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

LONGEST_HEADER = 60
_NUMBER = re.compile(r"[-+$€£¥(]*\d[\d.,:/%\s-]*\)?")


def row_lines(rows: Iterable[Sequence[str]], *, header: bool | None = None) -> Iterator[str]:
    """Yield a line for each row that is not blank.

    ``header`` says whether the first row names the columns; None looks at it: names are distinct,
    short, and not numbers. Cells without a value are left out, for an empty cell says nothing.
    """
    cleaned = ([" ".join(cell.split()) for cell in row] for row in rows)
    filled = (row for row in cleaned if any(row))
    first = next(filled, None)
    if first is None:
        return
    second = next(filled, None)
    rest = chain([second] if second is not None else [], filled)
    if header is None:
        header = second is not None and names_columns(first)
    if not header or second is None:
        yield from map(plain_line, chain([first], rest))
        return
    for row in rest:
        yield labelled_line(first, row)


def labelled_line(header: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as ``Header: value; Header: value``."""
    named = zip(_padded(header, len(row)), row, strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def plain_line(row: Sequence[str]) -> str:
    """Return a row without a header."""
    return " | ".join(filter(None, row))


def names_columns(row: Sequence[str]) -> bool:
    """Return whether a row looks like a header: distinct, short names, none of them a number."""
    names = list(row)
    while names and not names[-1]:
        names.pop()
    return (
        len(names) > 1
        and sum(map(bool, names)) * 2 > len(names)
        and len({name for name in names if name}) == sum(map(bool, names))
        and all(len(name) <= LONGEST_HEADER and not _NUMBER.fullmatch(name) for name in names)
    )


def _padded(names: Sequence[str], width: int) -> list[str]:
    return [*names, *[""] * (width - len(names))]
