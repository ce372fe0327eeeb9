"""Rows of spreadsheets and delimited files, read as tables."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.records.documents import Span

Cell = str | int | float | None

COLUMN_TYPES = ("text", "integer", "number", "date")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its header as it is written, and the type of all its values.

    ``type`` is one of `COLUMN_TYPES`; dates are kept as YYYY-MM-DD, with the time behind a space.
    """

    label: str
    type: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a document; ``name`` is that of its sheet, empty if the file has no sheets.

    ``rows`` are the rows below the header, without rows of totals. ``numbers`` are their numbers in
    the file or sheet, from 1, and ``spans`` their lines in the text of the document.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...]
    spans: tuple[Span, ...]
