"""Load Excel workbooks and delimited text (CSV, TSV): a table of the text, and one of its values.

The header row is detected. In the latter, rows of totals are left out, and a column is typed as
integer, number or date if all of its values are; otherwise it is text.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from statistics import median
from typing import Any

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.decoding import decode_text
from knotwork._indexing.loaders.loader import (
    Content,
    FormatLoader,
    Source,
    TextMeter,
    check_archive,
    clean_line,
    clean_text,
    flat_metadata,
)
from knotwork._indexing.loaders.table_rows import MAX_HEADER_LENGTH, names_columns
from knotwork._indexing.loaders.titles_and_captions import is_title_like, readable_name
from knotwork._stores.export.formats import is_neutralized_export
from knotwork._text.dates import parse_date
from knotwork._text.spreadsheet_cells import restore_cell
from knotwork.records import Cell, Column, Span, Table

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
DEFAULT_SHEET_NAME = re.compile(r"(?:sheet|tabelle|feuil|hoja|工作表)\s*\d*", re.IGNORECASE)
_SAMPLE_CHARACTERS = 20_000


class SheetsLoader(FormatLoader, name="xlsx"):
    """Reads .xlsx: a page for each sheet, and the stored results of formulas."""

    def load(self, source: Source) -> Content:
        import openpyxl

        check_archive(source)
        workbook = openpyxl.load_workbook(
            io.BytesIO(source.data), read_only=True, data_only=True, keep_links=False
        )
        writer = BlockWriter(source)
        meter = TextMeter(source)
        try:
            for sheet in workbook.worksheets:
                writer.page(sheet.title)
                if not DEFAULT_SHEET_NAME.fullmatch(sheet.title):
                    writer.heading(1, sheet.title)
                # Ignore the declared dimensions, which may be absurd, and read the actual rows.
                sheet.reset_dimensions()
                rows = ([_cell_text(value) for value in row] for row in sheet.values)
                add_grid(writer, read_grid(rows, meter), name=str(sheet.title))
            properties = workbook.properties
        finally:
            workbook.close()
        metadata = flat_metadata(
            {
                "author": properties.creator,
                "subject": properties.subject,
                "keywords": properties.keywords,
                "pages": len(workbook.worksheets),
            }
        )
        return writer.content(
            MEDIA_TYPE, title=properties.title or readable_name(source.name), metadata=metadata
        )


class DelimitedLoader(FormatLoader, name="csv"):
    """Reads .csv, with the delimiter that it uses, and .tsv."""

    def load(self, source: Source) -> Content:
        text = decode_text(source)
        # The limit of the csv module is global, and not needed: the file size is limited.
        csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
        tabs = source.suffix == ".tsv"
        delimiter = "\t" if tabs else _delimiter(text[:_SAMPLE_CHARACTERS])
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        writer = BlockWriter(source)
        rows: Iterable[list[str]] = reader
        if is_neutralized_export(text[:_SAMPLE_CHARACTERS]):
            rows = ([restore_cell(cell) for cell in row] for row in reader)
        add_grid(writer, read_grid(rows, TextMeter(source)))
        return writer.content(
            "text/tab-separated-values" if tabs else "text/csv", title=readable_name(source.name)
        )


def add_grid(writer: BlockWriter, grid: Grid, *, name: str = "") -> None:
    """Append the rows of a grid, and record its table."""
    for row in grid.above:
        cells = list(filter(None, row))
        writer.paragraph((": " if len(cells) == 2 else ", ").join(cells))
    rows = [*filter(None, [grid.header]), *(row for _, row in grid.rows)]
    columns = [column for column in zip_longest(*rows, fillvalue="") if any(column)]
    lead = writer.last if grid.above and is_title_like(writer.last) else None
    spans = writer.table(zip(*columns, strict=True), header=bool(grid.header), lead=lead)
    table = make_table(grid, spans, name=name)
    if table is not None:
        writer.tables.append(table)


def _delimiter(sample: str) -> str:
    """Return the delimiter that occurs equally often in most lines, "," by default."""
    lines = [line for line in sample.split("\n")[:50] if line.strip()]

    def regularity(delimiter: str) -> tuple[int, int]:
        counts = [line.count(delimiter) for line in lines]
        usual = max(set(counts), key=lambda count: (count > 0, counts.count(count)))
        return (counts.count(usual) if usual else 0, usual)

    return max(",;\t|", key=regularity) if lines else ","


def _cell_text(value: Any) -> str:  # noqa: ANN401 - whatever a cell holds
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, dt.datetime):
        text = value.isoformat(sep=" ", timespec="minutes")
        return text.removesuffix(" 00:00")
    return str(value)


LEADING_ROWS = 20
"""Most rows to search for a header; a title and notes may be above it."""
_SEEN_ROWS = 30
_MIN_FILLED = 0.6
"""Smallest width of a header relative to the rows below, and smallest share of cells it names."""
_TOTALS = re.compile(
    r"(?:grand |sub-?)?totals?\b.*|sums?|subtotals?\b.*|(?:合|总|總|小|共)(?:计|計)?[:：]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of cells: the rows above the header, the header, and the rows below.

    ``rows`` are pairs of a row's number in the file, from 1, and its cells. If no header was found,
    ``header`` is empty and all rows are in ``rows``. ``totals`` are the numbers of total rows.
    """

    above: tuple[tuple[str, ...], ...]
    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    totals: frozenset[int] = frozenset()


def read_grid(
    rows: Iterable[Sequence[str]], meter: TextMeter | None = None, *, header: Sequence[str] = ()
) -> Grid:
    """Split the rows of a file or sheet at the header, leaving out blank rows.

    ``meter`` counts the characters, and the cells before the last one of a row. All rows are below
    a known ``header``.

    The header is the first row that is about as wide as the rows below it, provided that it has
    short texts and no numbers. Narrower rows above it are a title and notes.
    """
    filled: list[tuple[int, tuple[str, ...]]] = []
    for number, row in enumerate(rows, start=1):
        if meter is not None:
            meter.add(sum(map(len, row)) + len(row))
        if any(_clean_cells(cell).strip() for cell in row):
            filled.append((number, tuple(" ".join(_clean_cells(cell).split()) for cell in row)))
    if header:
        return Grid(
            (), tuple(map(clean_line, header)), tuple(filled), frozenset(_totals_of(filled))
        )
    place = _find_header(filled)
    if place is None:
        return Grid((), (), tuple(filled))
    body = filled[place + 1 :]
    above = tuple(row for _, row in filled[:place])
    return Grid(above, filled[place][1], tuple(body), frozenset(_totals_of(body)))


def _clean_cells(cell: str) -> str:
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
    """Return True if a row is about as wide as the rows below, and covers most of their cells."""
    usual = median(sum(map(bool, cells)) for cells in below)
    filled = [place for cells in below for place, cell in enumerate(cells) if cell]
    named = sum(place < len(row) and bool(row[place]) for place in filled)
    return sum(map(bool, row)) >= _MIN_FILLED * usual and named >= _MIN_FILLED * len(filled)


def _may_name_columns(row: Sequence[str], below: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Return True for short texts without digits, even repeated ones, above numbers."""
    words = [cell for cell in row if cell]
    if any(any(c.isdigit() for c in cell) or len(cell) > MAX_HEADER_LENGTH for cell in words):
        return False
    digits = [any(c.isdigit() for c in cell) for _, r in below for cell in r if cell]
    return sum(digits) * 4 >= len(digits) > 0


def _totals_of(body: Sequence[tuple[int, Sequence[str]]]) -> Iterable[int]:
    for number, row in reversed(body):
        first = next((cell for cell in row if cell), "")
        if not _TOTALS.fullmatch(first) or len(body) == 1:
            return
        yield number


MIN_COLUMNS = 2
MAX_COLUMNS = 1_000
"""SQLite allows 2,000 columns; a wider table is a matrix."""
_MISSING = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "null", "none", "#n/a", "?", "无"})
_CURRENCY = r"(?:[$€£¥￥]|US\$|(?:USD|EUR|GBP|CNY|RMB|CHF|JPY)\b|元)"
_DECORATED = re.compile(
    rf"(?P<open>\()?\s*{_CURRENCY}?\s*(?P<number>[-+−]?\s*{_CURRENCY}?\s*[\d.,' ]*\d)"
    rf"\s*(?:%|{_CURRENCY})?\s*(?P<close>\))?"
)
_POINT = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:[,' ]\d{3})+)?(?:\.\d+)?")
_COMMA = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:[.' ]\d{3})+)(?:,\d+)?")
_EXPONENT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d{1,3}")
_CODE = re.compile(r"[-+]?0\d")
_MAX_NUMBER_LENGTH = 60
_MAX_INTEGER_DIGITS = 18
"""Digits of an integer that fits into SQLite's 64 bits."""


def make_table(grid: Grid, spans: Sequence[Span], *, name: str = "") -> Table | None:
    """Return the typed table of a grid; ``spans`` are the spans of its rows in the text.

    Rows of totals and columns without a name and values are left out. Returns None if the grid has
    no header or no rows, or fewer than ``MIN_COLUMNS`` or more than ``MAX_COLUMNS`` columns.
    """
    kept = [
        (row, number, span)
        for (number, row), span in zip(grid.rows, spans, strict=True)
        if number not in grid.totals
    ]
    if not grid.header or not kept:
        return None
    width = max(len(grid.header), *(len(row) for row, _, _ in kept))
    columns: list[Column] = []
    values: list[Sequence[Cell]] = []
    for place in range(width):
        label = grid.header[place] if place < len(grid.header) else ""
        cells = [row[place] if place < len(row) else "" for row, _, _ in kept]
        if not label and not any(cells):
            continue
        kind, converted = type_column(cells)
        columns.append(Column(label or f"column {place + 1}", kind))
        values.append(converted)
        if len(columns) > MAX_COLUMNS:
            return None
    if not MIN_COLUMNS <= len(columns) <= MAX_COLUMNS:
        return None
    return Table(
        name,
        tuple(columns),
        tuple(zip(*values, strict=True)),
        tuple(number for _, number, _ in kept),
        tuple(span for _, _, span in kept),
    )


def type_column(cells: Sequence[str]) -> tuple[str, list[Cell]]:
    """Return the common type of a column and its converted values, None for missing values.

    The type is "integer", "number", "date" or "text". Numbers may have thousands separators, a
    currency, a percent sign, or brackets as a minus sign; codes such as 007 are text. Dates become
    YYYY-MM-DD.
    """
    present = [cell for cell in cells if cell.lower() not in _MISSING]
    if not present:
        return "text", [None] * len(cells)
    for kind, values in (_read_numbers(present), ("date", _read_dates(present))):
        if len(values) == len(present):
            by_cell = dict(zip(present, values, strict=True))
            return kind, [by_cell.get(cell) for cell in cells]
    return "text", [cell or None for cell in cells]


def _read_numbers(present: Sequence[str]) -> tuple[str, Sequence[Cell]]:
    """Return "integer" or "number" and the values up to the first cell that has another type.

    A column of codes has no numbers.
    """
    if any(_CODE.match(cell) and not re.match(r"[-+]?0[.,]", cell) for cell in present):
        return "number", []
    bare = [_bare(cell) for cell in present]
    has_decimal_comma = any(re.search(r",\d{1,2}$|,\d{4,}$|\.\d{3},", cell) for cell in bare)
    decimal = "," if has_decimal_comma else "."
    read = (_read_number(cell, decimal) for cell in present)
    values = list(takewhile(lambda value: value is not None, read))
    if all(isinstance(value, int) for value in values) and not any(map(_is_too_long, present)):
        return "integer", values
    return "number", [float(value) for value in values if value is not None]


def _is_too_long(cell: str) -> bool:
    return len(re.sub(r"\D", "", cell)) > _MAX_INTEGER_DIGITS


def _bare(cell: str) -> str:
    """Return a number without currency, percent sign and brackets; "" for other text."""
    match = _DECORATED.fullmatch(cell)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return ""
    digits = re.sub(rf"{_CURRENCY}|\s(?!\d{{3}})", "", match["number"]).replace("−", "-").strip()
    return f"-{digits}" if match["open"] and not digits.startswith("-") else digits


def _read_number(cell: str, decimal: str) -> int | float | None:
    """Return the number in a cell, whose decimal separator is given; None for other text."""
    if _EXPONENT.fullmatch(cell):
        value = float(cell)
        return value if abs(value) < float("inf") else None
    digits = _bare(cell)
    pattern, thousands = (_COMMA, ".' ") if decimal == "," else (_POINT, ",' ")
    if not 0 < len(digits) <= _MAX_NUMBER_LENGTH or not pattern.fullmatch(digits):
        return None
    plain = re.sub(f"[{thousands}]", "", digits).replace(",", ".")
    return float(plain) if "." in plain else int(plain)


def _read_dates(present: Sequence[str]) -> Sequence[Cell]:
    """Return the dates up to the first cell that is none.

    Day or month is first as some value of the column shows; [] if that is ambiguous.
    """
    pairs = [m for cell in present if (m := re.match(r"(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}", cell))]
    day_first = any(int(m[1]) > 12 for m in pairs) or any("." in m[0] for m in pairs)
    month_first = any(int(m[2]) > 12 for m in pairs)
    if pairs and day_first == month_first:
        return []
    return list(takewhile(bool, (parse_date(cell, day_first=day_first) for cell in present)))
