"""Dates inside sentences and cells, in English and Chinese, as YYYY-MM-DD."""

from __future__ import annotations

import datetime as dt
import re

from knotwork.text.dates import MONTHS, month_number

MONTH = rf"({'|'.join(m[:3] + '(?:' + m[3:] + ')?' if m[3:] else m for m in MONTHS)})\.?"
_ORDINAL = r"(\d{1,2})(?:st|nd|rd|th)?"
DATES = (
    re.compile(rf"\b{MONTH}\s+{_ORDINAL}\s*,?\s+(\d{{4}})\b", re.IGNORECASE),
    re.compile(rf"\b{_ORDINAL}\s+(?:of\s+)?{MONTH}\s*,?\s+(\d{{4}})\b", re.IGNORECASE),
    re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b"),
    re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b"),
    re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日"),
)
_WHOLE = re.compile(
    rf"(?:(?P<year>\d{{4}})(?:-|/|\.|年\s*)(?P<month>\d{{1,2}})(?:-|/|\.|月\s*)(?P<day>\d{{1,2}})日?"
    rf"|(?P<first>\d{{1,2}})[/.-](?P<second>\d{{1,2}})[/.-](?P<last>\d{{4}})"
    rf"|(?P<named>{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\s*,?\s+\d{{4}}"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?[\s-]+(?:of\s+)?{MONTH}[\s-]*,?[\s-]*\d{{4}}))"
    r"(?:[T ]+(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)


def read_date(text: str) -> str:
    """Return a date in a text as YYYY-MM-DD, days before months; "" without a date."""
    match = None
    for number, pattern in enumerate(DATES):
        match = pattern.search(text)
        if match:
            return _iso(number, match)
    return ""


def _iso(number: int, match: re.Match[str]) -> str:
    first, second, third = match.groups()
    if number == 0:
        year, month, day = third, month_number(first), int(second)
    elif number == 1:
        year, month, day = third, month_number(second), int(first)
    elif number == 3:
        year, month, day = third, int(second), int(first)
        if month > 12:
            month, day = day, month
    else:
        year, month, day = first, int(second), int(third)
    return f"{year}-{month:02d}-{day:02d}" if 1 <= month <= 12 and 1 <= day <= 31 else ""


def parse_date(text: str, *, day_first: bool) -> str:
    """Return a text that is a date as YYYY-MM-DD, with its time behind a space; "" for another.

    Of 3/4/2023 the first number is the day with ``day_first``, else the month.
    """
    match = _WHOLE.fullmatch(text.strip())
    if match is None:
        return ""
    if match["named"]:
        day = read_date(match["named"].replace("-", " "))
    elif match["year"]:
        day = _join(match["year"], match["month"], match["day"])
    else:
        one, other = match["first"], match["second"]
        day = _join(match["last"], *((other, one) if day_first else (one, other)))
    try:
        dt.date.fromisoformat(day)
    except ValueError:
        return ""
    return f"{day} {match['time'].zfill(5)}" if match["time"] else day


def _join(year: str, month: str, day: str) -> str:
    return f"{year}-{int(month):02d}-{int(day):02d}"
