"""Rows of spreadsheets and delimited files, with typed columns, for statements to run on."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from knotwork.errors import LoadError
from knotwork.indexing.loaders.archives import check_archive
from knotwork.indexing.loaders.base import Source
from knotwork.indexing.loaders.decoding import decode_text
from knotwork.stores.tables.database import Cell, TableFile, TableShape

DELIMITED = (".csv", ".tsv")
SHEETS = (".xlsx", ".xlsm")
_INTEGER = re.compile(r"[-+]?\d{1,18}")
_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")
_LEADING_ZERO = re.compile(r"[-+]?0\d")


@dataclass(frozen=True, slots=True)
class ReadTable:
    """A table as read: its name, the columns with their types, and the rows."""

    name: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]


def add_tables(tables: TableFile, path: Path) -> list[TableShape]:
    """Put all tables of a file beside an index, each under its file's or sheet's name.

    Raises LoadError for a file that holds no table, StoreError when they cannot be kept.
    """
    return [
        tables.put(table.name, table.columns, table.rows, source=str(path))
        for table in read_tables(path)
    ]


def read_tables(path: Path) -> list[ReadTable]:
    """Return the tables of a .csv, .tsv or .xlsx file; the first row names the columns.

    Raises LoadError for another file, and for one without a row below its header.
    """
    suffix = path.suffix.lower()
    if suffix not in (*DELIMITED, *SHEETS):
        valid = ", ".join((*DELIMITED, *SHEETS))
        raise LoadError("not a table", f"`{path}` holds no table: it ends in none of {valid}.")
    try:
        source = Source(path.name, path.read_bytes())
    except OSError as error:
        raise LoadError("unreadable", f"`{path}` cannot be read: {error.strerror}.") from error
    if suffix in DELIMITED:
        found = [(path.stem, _delimited_rows(source))]
    else:
        sheets = _sheet_rows(source)
        single = len(sheets) == 1
        found = [(path.stem if single else f"{path.stem} {name}", rows) for name, rows in sheets]
    made = [_make_table(name, rows) for name, rows in found]
    whole = [table for table in made if table is not None]
    if not whole:
        raise LoadError("empty", f"`{path}` holds no row below a header.")
    return whole


def _delimited_rows(source: Source) -> list[list[Cell]]:
    text = decode_text(source)
    delimiter = "\t" if source.suffix == ".tsv" else _delimiter(text)
    return [list(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]


def _delimiter(text: str) -> str:
    """Return the delimiter of which the header has most."""
    header = text.lstrip("\ufeff\n\r").split("\n", 1)[0]
    return max(",;\t|", key=header.count)


def _sheet_rows(source: Source) -> list[tuple[str, list[list[Cell]]]]:
    import openpyxl

    check_archive(source)
    workbook = openpyxl.load_workbook(
        io.BytesIO(source.data), read_only=True, data_only=True, keep_links=False
    )
    try:
        sheets = []
        for sheet in workbook.worksheets:
            # The size a file claims may be absurd; without it, rows are as long as they are.
            sheet.reset_dimensions()
            rows = [[_cell(value) for value in row] for row in sheet.values]
            sheets.append((str(sheet.title), rows))
        return sheets
    finally:
        workbook.close()


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, int | float | str):
        return int(value) if isinstance(value, bool) else value
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="seconds").removesuffix(" 00:00:00")
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)


def _make_table(name: str, rows: Sequence[Sequence[Cell]]) -> ReadTable | None:
    filled = [row for row in rows if any(cell not in (None, "") for cell in row)]
    if len(filled) < 2:
        return None
    header = [str(cell if cell is not None else "").strip() for cell in filled[0]]
    width = max(len(header), *(len(row) for row in filled[1:]))
    header += [""] * (width - len(header))
    columns = list(_columns(filled[1:], width))
    types = [_type_of(column) for column in columns]
    values = [
        [_convert(cell, kind) for cell in column]
        for column, kind in zip(columns, types, strict=True)
    ]
    named = tuple(zip(header, types, strict=True))
    return ReadTable(name, named, tuple(zip(*values, strict=True)))


def _columns(rows: Sequence[Sequence[Cell]], width: int) -> Iterator[list[Cell]]:
    for place in range(width):
        yield [_clean(row[place]) if place < len(row) else None for row in rows]


def _clean(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return cell.strip() or None
    return cell


def _type_of(column: Sequence[Cell]) -> str:
    """Return the type that all values have; codes such as 007 stay text."""
    present = [str(cell) for cell in column if cell is not None]
    if not present or any(_LEADING_ZERO.match(text) and "." not in text for text in present):
        return "text"
    if all(_INTEGER.fullmatch(text) for text in present):
        return "integer"
    return "number" if all(_NUMBER.fullmatch(text) for text in present) else "text"


def _convert(cell: Cell, kind: str) -> Cell:
    if cell is None:
        return None
    if kind == "integer":
        return int(cell)
    return float(cell) if kind == "number" else str(cell)
