"""Find the type that all cells of a column have, and convert them.

The decimal sign, the order of day and month, and the unit are those of the column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from knotwork._text.dates import parse_date
from knotwork.records import Cell

MISSING = frozenset({"", "-", "–", "—", "n/a", "na", "nan", "null", "none", "#n/a", "?", "无"})
_CODES = """
    CHF SEK NOK DKK HUF CAD AUD NZD HKD SGD TWD BRL MXN ZAR TRY ILS UAH ISK THB AED SAR VND IDR MYR
    PHP RON BGN Fr. ₺ ₪ ฿ ₫ ₴
"""
_CURRENCIES = {
    **dict.fromkeys(("$", "US$", "USD"), "USD"),
    **dict.fromkeys(("€", "EUR", "Euro"), "EUR"),
    **dict.fromkeys(("£", "GBP"), "GBP"),
    **dict.fromkeys(("¥", "￥", "元", "CNY", "RMB"), "CNY"),
    **dict.fromkeys(("円", "JPY"), "JPY"),
    **dict.fromkeys(("₩", "원", "KRW"), "KRW"),
    **dict.fromkeys(("₹", "Rs.", "INR"), "INR"),
    **dict.fromkeys(("₽", "RUB"), "RUB"),
    **dict.fromkeys(("zł", "PLN"), "PLN"),
    **dict.fromkeys(("Kč", "CZK"), "CZK"),
    **{f"{letters}$": f"{letters}D" for letters in ("CA", "AU", "NZ", "HK", "SG")},
    "NT$": "TWD",
    "R$": "BRL",
    "kr": "kr",
    **{code: code for code in _CODES.split()},
}
_CURRENCY = "|".join(sorted(map(re.escape, _CURRENCIES), key=len, reverse=True))
_NUMERAL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−])?\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[-+−])?\s*"
    rf"(?P<digits>[\d.,'’ ]*\d)\s*(?P<scale>[万萬亿億])?\s*"
    rf"(?P<after>[%％]|{_CURRENCY})?\s*(?P<close>\))?(?P<behind>[-−])?"
)
_SCALES = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_GROUPED = {
    ".": re.compile(r"\d*(?:\.\d+)?|(?:\d{1,3}(?:[,'’ ]\d{3})+|\d{1,2}(?:,\d\d)+,\d{3})(?:\.\d+)?"),
    ",": re.compile(r"\d*(?:,\d+)?|\d{1,3}(?:[.'’ ]\d{3})+(?:,\d+)?"),
}
"""Numbers by their decimal sign: groups of three digits, or of two as in India."""
_UNCLEAR = re.compile(r"[1-9]\d{0,2}([.,])\d{3}")
_EXPONENT = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)[eE][-+]?\d{1,3}")
_CODE = re.compile(r"[-+]?0\d")
_DAY = re.compile(r"(\d{1,2})[/.-](\d{1,2})[/.-]\d{4}")
_NO_UNIT = re.compile(r"[\d.,'’\s()+−/-]|E[+-]\d+")
_MAX_NUMBER_LENGTH = 60
_MAX_INTEGER_DIGITS = 18
"""Digits of an integer that fits into SQLite's 64 bits."""


class ShownCell(str):
    """The text that a format shows, and the ``value`` of the cell: a number or an ISO date."""

    __slots__ = ("value",)
    value: int | float | str

    def __new__(cls, text: str, value: float | str) -> Self:
        cell = super().__new__(cls, text)
        cell.value = value
        return cell


@dataclass(frozen=True, slots=True)
class Signs:
    """How a table writes numbers and dates where a column alone does not show it; "" is unknown.

    ``decimal`` is the decimal sign, ``first`` is "day" or "month".
    """

    decimal: str = ""
    first: str = ""


class Numeral(NamedTuple):
    """A number as it is written: its digits with separators, sign, scale and unit."""

    digits: str
    sign: int = 1
    scale: int = 1
    unit: str = ""

    @property
    def decimal(self) -> str:
        """The decimal sign that the digits show, "?" if they may be grouped, "" without any."""
        marks = [mark for mark in self.digits if mark in ".,"]
        if not marks:
            return ""
        if len(set(marks)) == 2:
            return marks[-1]
        if len(marks) > 1:
            return "," if marks[0] == "." else "."
        return "?" if _UNCLEAR.fullmatch(self.digits) else marks[0]

    def value(self, decimal: str) -> int | float | None:
        """Return the number, given the decimal sign; None if the digits are not one."""
        if not _GROUPED[decimal].fullmatch(self.digits):
            return None
        plain = re.sub("[.'’ ]" if decimal == "," else "[,'’ ]", "", self.digits).replace(",", ".")
        value = float(plain) if "." in plain else int(plain)
        if self.scale > 1:
            value = round(value * self.scale, 6)
            value = int(value) if value == int(value) else value
        return self.sign * value


def read_numeral(cell: str) -> Numeral | None:
    """Return a number without its unit, bracket or sign; None for other text."""
    if len(cell) > _MAX_NUMBER_LENGTH:
        return None
    match = _NUMERAL.fullmatch(cell)
    if match is None or bool(match["open"]) != bool(match["close"]):
        return None
    signs = [sign for sign in (match["sign"], match["inner"], match["behind"]) if sign]
    units = [unit for unit in (match["before"], match["after"]) if unit]
    if len(signs) > 1 or len({_CURRENCIES.get(unit, unit) for unit in units}) > 1:
        return None
    sign = -1 if match["open"] or (signs and signs[0] != "+") else 1
    unit = _CURRENCIES.get(units[0], "%") if units else ""
    return Numeral(match["digits"], sign, _SCALES.get(match["scale"] or "", 1), unit)


def signs_of(columns: Sequence[Sequence[str]], default: str = "") -> Signs:
    """Return the signs on which the columns of a table agree; ``default`` is a decimal sign."""
    decimals = {sign for cells in columns for sign in _decimals(cells)} - {"", "?"}
    firsts = {first for cells in columns for first in _firsts(cells)}
    return Signs(
        decimals.pop() if len(decimals) == 1 else default,
        firsts.pop() if len(firsts) == 1 else "",
    )


def type_column(cells: Sequence[str], signs: Signs = Signs()) -> tuple[str, list[Cell]]:
    """Return the common type of a column and its converted values, None for missing values.

    The type is "integer", "number", "date" or "text". Numbers may have thousands separators, a
    currency, a percent sign, or brackets as a minus sign. Codes such as 007, and numbers of several
    units, are text. Dates become YYYY-MM-DD.
    """
    present = [cell for cell in cells if not _is_missing(cell)]
    if not present:
        return "text", [None] * len(cells)
    for kind, values in (_read_numbers(present, signs), ("date", _read_dates(present, signs))):
        if len(values) == len(present):
            left = iter(values)
            return kind, [None if _is_missing(cell) else next(left) for cell in cells]
    return "text", [cell + "" if cell else None for cell in cells]


def units_of(cells: Sequence[str]) -> set[str]:
    """Return the units of the numbers of a column; empty if some cell is not a number."""
    found = [_unit_of(cell) for cell in cells if not _is_missing(cell)]
    return {unit for unit in found if unit} if None not in found else set()


def is_currency(cell: str) -> bool:
    """Return True for the name or the sign of a currency."""
    return cell in _CURRENCIES


def number_of(cell: str, signs: Signs = Signs()) -> int | float | None:
    """Return the number of a single cell, None if it is not one or could be two."""
    if _is_missing(cell):
        return None
    _, values = _read_numbers([cell], signs)
    return values[0] if values and isinstance(values[0], int | float) else None


def _is_missing(cell: str) -> bool:
    return not isinstance(cell, ShownCell) and cell.lower() in MISSING


def _unit_of(cell: str) -> str | None:
    numeral = read_numeral(cell)
    if numeral is not None:
        return numeral.unit
    if isinstance(cell, ShownCell) and not isinstance(cell.value, str):
        return _NO_UNIT.sub("", cell)
    return "" if _EXPONENT.fullmatch(cell) else None


def _decimals(cells: Sequence[str]) -> Iterator[str]:
    """Yield the decimal signs of the cells that are numbers in a column of numbers."""
    numerals = []
    for cell in cells:
        if isinstance(cell, ShownCell) or _is_missing(cell):
            continue
        numeral = read_numeral(cell)
        if numeral is None:
            return
        numerals.append(numeral)
    yield from (numeral.decimal for numeral in numerals)


def _read_numbers(present: Sequence[str], signs: Signs) -> tuple[str, Sequence[Cell]]:
    """Return "integer" or "number" and the values; [] if the column is not one of numbers."""
    if any(_CODE.match(cell) and not re.match(r"[-+]?0[.,]", cell) for cell in present):
        return "number", []
    units = units_of(present)
    is_bare = [_unit_of(cell) == "" and bool(cell.strip("0.,")) for cell in present]
    if len(units) > 1 or ("%" in units and any(is_bare)):
        return "number", []
    shown = set(_decimals(present))
    certain = shown - {"", "?"}
    if "?" in shown and len(certain) != 1:
        unclear = {match[1] for cell in present if (match := _UNCLEAR.search(cell))}
        if certain or len(unclear) > 1:
            return "number", []
        has_long = any(re.fullmatch(r"[1-9]\d{3,}", cell) for cell in present)
        certain = unclear if has_long else {signs.decimal or "."}
    values: list[int | float] = []
    for cell in present:
        value = _read_number(cell, certain.copy().pop() if len(certain) == 1 else "")
        if value is None:
            return "number", []
        values.append(value)
    if all(isinstance(value, int) and abs(value) < 10**_MAX_INTEGER_DIGITS for value in values):
        return "integer", values
    return "number", [float(value) for value in values]


def _read_number(cell: str, decimal: str) -> int | float | None:
    """Return the number in a cell, None for other text; "" takes the decimal sign of the cell."""
    if isinstance(cell, ShownCell):
        return None if isinstance(cell.value, str) else cell.value
    if _EXPONENT.fullmatch(cell):
        value = float(cell)
        return value if abs(value) < float("inf") else None
    numeral = read_numeral(cell)
    return numeral.value(decimal or numeral.decimal or ".") if numeral else None


def _firsts(cells: Sequence[str]) -> set[str]:
    """Return what the dates of a column show to be first: "day", "month", both or neither."""
    pairs = [match for cell in cells if (match := _DAY.match(cell))]
    day = any(int(match[1]) > 12 for match in pairs) or any("." in match[0] for match in pairs)
    month = any(int(match[2]) > 12 for match in pairs)
    return {name for name, is_shown in (("day", day), ("month", month)) if is_shown}


def _read_dates(present: Sequence[str], signs: Signs) -> Sequence[Cell]:
    """Return the dates; [] if a cell is not one, or day and month cannot be distinguished."""
    firsts = _firsts(present) or {signs.first}
    if len(firsts) > 1 or ("" in firsts and any(map(_DAY.match, present))):
        return []
    dates: list[Cell] = []
    for cell in present:
        shown = cell.value if isinstance(cell, ShownCell) else ""
        date = shown if isinstance(shown, str) and shown else ""
        date = date or parse_date(cell, day_first="day" in firsts)
        if not date:
            return []
        dates.append(date)
    return dates
