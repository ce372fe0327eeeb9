"""Write tables and lists into the text of a document.

Rows become lines that read like sentences (``Header: value; Header: value``). The sentence that
introduces a table or list is the label of its frame.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from knotwork._indexing.loaders.loader import TextBuilder
from knotwork._indexing.loaders.titles_and_captions import is_title_like
from knotwork.records import FrameKind, Span

MAX_HEADER_LENGTH = 60
MAX_SPAN = 50
"""Most columns that a cell may span; a damaged table may declare any number."""
_NUMBER = re.compile(r"[-+$€£¥(]*\d[\d.,:/%\s-]*\)?")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")


class SpanningCell(NamedTuple):
    """A cell that may span several columns and rows."""

    text: str
    columns: int = 1
    rows: int = 1


def add_table(
    builder: TextBuilder,
    rows: Iterable[Sequence[str]],
    *,
    header: bool | None = None,
    keyed: bool = False,
    title: str = "",
) -> None:
    """Append a table, framed by its title and its lead-in sentence.

    Every row that is not blank becomes a line, without its empty cells. ``header`` says whether the
    first row names the columns; None means to detect it. ``keyed`` says that instead the first cell
    of each row names the others.
    """
    start, lead = builder.length, builder.lead()
    cleaned = [[" ".join(cell.split()) for cell in row] for row in rows]
    filled = [row for row in cleaned if any(row)]
    names: Sequence[str] = ()
    if header is None and not keyed:
        header = len(filled) > 1 and names_columns(filled[0], filled[1])
    if header and len(filled) > 1:
        names, *filled = filled
    for number, row in enumerate(filled):
        add_row(builder, names, row, keyed=keyed, gap="\n" if number else "\n\n")
    builder.frame(FrameKind.LEAD, start, lead)
    builder.frame(FrameKind.TITLE, start, title)


def add_row(
    builder: TextBuilder,
    header: Sequence[str],
    row: Sequence[str],
    *,
    keyed: bool = False,
    gap: str = "\n",
) -> Span:
    """Append a row as a line, framed by its key, and return the span of the line."""
    if keyed:
        line = labelled_line(("", row[0].rstrip(":：")), ("", *row[1:])) or row[0]
    else:
        line = labelled_line(header, row) if header else plain_line(row)
    span = builder.add(line, gap=gap)
    builder.frame(FrameKind.ROW, span.start, row_key(row))
    return span


def row_key(row: Sequence[str]) -> str:
    """Return the cell that names a row: the first one with letters, "" if it is too long."""
    cells = [cell for cell in row if cell]
    if len(cells) < 2:
        return ""
    worded = (cell for cell in cells if any(map(str.isalpha, cell)))
    key = next(worded, cells[0])
    return key.rstrip(":：") if len(key) <= MAX_HEADER_LENGTH else ""


def spread_cells(rows: Iterable[Iterable[SpanningCell]]) -> Iterator[list[str]]:
    """Yield rows with one text for each column, "" after the first column of a wide cell.

    The text of a cell that spans rows is repeated in each of them if it is short: it is their key.
    """
    reaching: dict[int, tuple[str, int]] = {}
    for row in rows:
        texts: list[str] = []
        below: dict[int, tuple[str, int]] = {}
        for cell in row:
            while len(texts) in reaching:
                texts.append(_extend(reaching, below, len(texts)))
            width = max(1, min(cell.columns, MAX_SPAN))
            for column in range(len(texts), len(texts) + width):
                text = cell.text if column == len(texts) else ""
                if cell.rows > 1:
                    repeated = text if len(text) <= MAX_HEADER_LENGTH else ""
                    below[column] = (repeated, cell.rows - 1)
            texts += [cell.text, *[""] * (width - 1)]
        for column in range(len(texts), max(reaching, default=-1) + 1):
            texts.append(_extend(reaching, below, column) if column in reaching else "")
        reaching = below
        yield texts


def _extend(
    above: dict[int, tuple[str, int]], below: dict[int, tuple[str, int]], column: int
) -> str:
    """Return the text of the cell that spans into this row, and record the rows it still spans."""
    text, rows = above[column]
    if rows > 1:
        below[column] = (text, rows - 1)
    return text


def labelled_line(header: Sequence[str], row: Sequence[str]) -> str:
    """Return a row as ``Header: value; Header: value``."""
    names = [*header, *[""] * (len(row) - len(header))]
    named = zip(names, row, strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def plain_line(row: Sequence[str]) -> str:
    """Return a row without a header as ``value | value``."""
    return " | ".join(filter(None, row))


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


MAX_LEVEL = 20


class _OpenList(NamedTuple):
    level: int
    start: int
    lead: str


class ListWriter:
    """Appends list items, and frames each list with its lead-in sentence.

    The lead-in of a nested list is the item above it, if that is short.
    """

    def __init__(self, builder: TextBuilder) -> None:
        self._builder = builder
        self._open: list[_OpenList] = []
        self._item = ""

    def add(self, text: str, *, level: int = 0, number: int = 0) -> None:
        """Append an item; ``level`` 0 is the outermost, ``number`` 0 means a bullet."""
        level = max(0, min(level, MAX_LEVEL))
        gap = "\n" if self._open else "\n\n"
        while self._open and self._open[-1].level > level:
            self._close_innermost()
        if not self._open or self._open[-1].level < level:
            above = self._item if self._open and is_title_like(self._item) else ""
            lead = self._builder.lead() or above
            self._open.append(_OpenList(level, self._builder.length, lead))
        self._item = text.strip()
        self._builder.add(f"{f'{number}.' if number else '-'} {self._item}", gap=gap)

    def close(self) -> None:
        """End all open lists; call this before appending another block."""
        while self._open:
            self._close_innermost()

    def _close_innermost(self) -> None:
        ended = self._open.pop()
        self._builder.frame(FrameKind.LEAD, ended.start, ended.lead)
