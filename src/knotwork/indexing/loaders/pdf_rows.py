"""Rows of PDF tables as lines that read like sentences, with the names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from knotwork.indexing.loaders.pdf_lines import Line
from knotwork.indexing.loaders.rows import labelled_line, names_columns, plain_line

_SHIFTED = 3.0
"""Points by which the columns of a table may be elsewhere on the next page."""


def name_cells_of_rows(lines: Sequence[Line], join: Callable[[str, str], str]) -> list[Line]:
    """Return lines with each row as "Column: cell; Column: cell", without the rows of headers.

    ``join`` puts two lines of a cell together. A table at the top of a page that has the columns of
    the one at the end of the page before goes on from there. The places of rows count from there.
    """
    firsts = [line.row for line in lines if line.row is not None and line.row.place == 0]
    marks_headers = 2 * sum(row.is_header for row in firsts) > len(firsts)
    named: list[Line] = []
    names: Sequence[str] = ()
    for table in _tables(lines):
        rows = [(line, line.row) for line in table if line.row is not None]
        if not rows:
            named.extend(table)
            continue
        texts = [[reduce(join, cell.split("\n")) for cell in row.cells] for _, row in rows]
        before = named[-1] if named else None
        goes_on = before is not None and _goes_on(before, rows[0][0])
        is_marked = rows[0][1].is_header
        goes_on = goes_on and (not is_marked or texts[0] == list(names))
        if goes_on:
            repeated = len(texts) > 1 and texts[0] == list(names)
            texts, rows = texts[repeated:], rows[repeated:]
        elif _has_header(texts, is_marked=is_marked, marks_headers=marks_headers):
            names, texts, rows = texts[0], texts[1:], rows[1:]
        else:
            names = ()
        first = before.row.place + 1 if goes_on and before is not None and before.row else 0
        for place, ((line, row), cells) in enumerate(zip(rows, texts, strict=True), first):
            text = labelled_line(names, cells) if names else plain_line(cells)
            named.append(
                line._replace(text=text, row=row._replace(cells=tuple(cells), place=place))
            )
    return named


def _tables(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines by the tables they are rows of, and those between tables."""
    run: list[Line] = []
    for line in lines:
        if run and (_place(line) == 0 or (line.row is None) != (run[-1].row is None)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _place(line: Line) -> int | None:
    return line.row.place if line.row is not None else None


def _has_header(rows: Sequence[Sequence[str]], *, is_marked: bool, marks_headers: bool) -> bool:
    """Return whether the first row names the columns.

    Where type or drawn lines mark the headers of most tables of the file, others have none.
    """
    if len(rows) < 2 or (marks_headers and not is_marked):
        return False
    return names_columns(rows[0], rows[1])


def _goes_on(before: Line, line: Line) -> bool:
    """Return whether a row at the top of a page is of the table of the row before it."""
    if before.row is None or line.row is None or line.page != before.page + 1:
        return False
    ours, theirs = before.row.lefts, line.row.lefts
    return len(ours) == len(theirs) and all(
        abs(a - b) <= _SHIFTED for a, b in zip(ours, theirs, strict=True)
    )
