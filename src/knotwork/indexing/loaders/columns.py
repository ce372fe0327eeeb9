"""Types of the columns of tables, and their values as numbers and dates.

A column has a type only if all its values have it, so that no sum leaves out what could not be
read: a column of numbers with one text among them is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from knotwork.indexing.loaders.grids import Grid
from knotwork.records import Cell, Column, Span, Table
from knotwork.text.dates import parse_date

LEAST_COLUMNS = 2
MOST_COLUMNS = 1_000
"""SQLite holds 2,000; what has more is a matrix."""
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
_LONGEST_NUMBER = 60
_LONGEST_INTEGER = 18
"""Digits of an integer that SQLite holds."""


def make_table(grid: Grid, spans: Sequence[Span], *, name: str = "") -> Table | None:
    """Return the table of a grid with a header and rows; ``spans`` are those of its rows.

    Columns without a header and without a value are left out, as are rows of totals. Returns None
    for a grid without a table, or with too many columns for one.
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
    if not LEAST_COLUMNS <= len(columns) <= MOST_COLUMNS:
        return None
    return Table(
        name,
        tuple(columns),
        tuple(zip(*values, strict=True)),
        tuple(number for _, number, _ in kept),
        tuple(span for _, _, span in kept),
    )


def type_column(cells: Sequence[str]) -> tuple[str, list[Cell]]:
    """Return the type that all values of a column have, and the values; missing ones are None.

    Numbers may have thousands separators, a currency, a percent sign, or brackets for minus;
    codes such as 007 are text. Dates are given as YYYY-MM-DD.
    """
    present = [cell for cell in cells if cell.lower() not in _MISSING]
    if not present:
        return "text", [None] * len(cells)
    for kind, convert in (*_number_readers(present), ("date", _read_dates(present))):
        found = _convert_all(present, convert)
        if found is not None:
            by_cell = dict(zip(present, found, strict=True))
            return kind, [by_cell.get(cell) for cell in cells]
    return "text", [cell or None for cell in cells]


def _convert_all(cells: Sequence[str], convert: Callable[[str], Cell]) -> list[Cell] | None:
    found: list[Cell] = []
    for cell in cells:
        value = convert(cell)
        if value is None:
            return None
        found.append(value)
    return found


def _number_readers(present: Sequence[str]) -> list[tuple[str, Callable[[str], Cell]]]:
    """Return how the numbers of a column may be read; none for codes."""
    if any(_CODE.match(cell) and not re.match(r"[-+]?0[.,]", cell) for cell in present):
        return []
    bare = [_bare(cell) for cell in present]
    has_decimal_comma = any(re.search(r",\d{1,2}$|,\d{4,}$|\.\d{3},", cell) for cell in bare)
    decimal = "," if has_decimal_comma else "."

    def integer(cell: str) -> Cell:
        value = _read_number(cell, decimal)
        digits = len(re.sub(r"\D", "", cell))
        return int(value) if isinstance(value, int) and digits <= _LONGEST_INTEGER else None

    def number(cell: str) -> Cell:
        value = _read_number(cell, decimal)
        return None if value is None else float(value)

    return [("integer", integer), ("number", number)]


def _bare(cell: str) -> str:
    """Return a number without its currency and brackets; "" for other text."""
    match = _DECORATED.fullmatch(cell)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return ""
    digits = re.sub(rf"{_CURRENCY}|\s(?!\d{{3}})", "", match["number"]).replace("−", "-").strip()
    return f"-{digits}" if match["open"] and not digits.startswith("-") else digits


def _read_number(cell: str, decimal: str) -> int | float | None:
    if _EXPONENT.fullmatch(cell):
        value = float(cell)
        return value if abs(value) < float("inf") else None
    digits = _bare(cell)
    pattern, thousands = (_COMMA, ".' ") if decimal == "," else (_POINT, ",' ")
    if not 0 < len(digits) <= _LONGEST_NUMBER or not pattern.fullmatch(digits):
        return None
    plain = re.sub(f"[{thousands}]", "", digits).replace(",", ".")
    return float(plain) if "." in plain else int(plain)


def _read_dates(present: Sequence[str]) -> Callable[[str], Cell]:
    """Return how the dates of a column are read: day or month first, as some date shows it."""
    pairs = [m for cell in present if (m := re.match(r"(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}", cell))]
    day_first = any(int(m[1]) > 12 for m in pairs) or any("." in m[0] for m in pairs)
    month_first = any(int(m[2]) > 12 for m in pairs)
    is_ambiguous = bool(pairs) and day_first == month_first

    def read(cell: str) -> Cell:
        return None if is_ambiguous else parse_date(cell, day_first=day_first) or None

    return read
