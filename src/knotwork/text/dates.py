"""Dates in texts that are a date and nothing else, as ranges of days.

A date may leave out the day or the month: "2023" is all days of that year.
"""

from __future__ import annotations

import re
from datetime import date
from email.utils import parsedate
from typing import NamedTuple

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = "|".join(f"{m[:3]}(?:{m[3:]})?" if m[3:] else m for m in MONTHS).replace("sep(", "sept?(")
_TIME = r"(?:[T ]+\d{1,2}:\d{2}.*)?"
_LONGEST = 60

_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<y>[12]\d{3})",
        r"(?P<y>[12]\d{3})[-/](?P<m>\d{1,2})",
        rf"(?P<y>[12]\d{{3}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}}){_TIME}",
        rf"(?P<y>[12]\d{{3}})(?P<m>\d{{2}})(?P<d>\d{{2}}){_TIME}",
        rf"(?P<y>[12]\d{{3}})\s*年(?:\s*(?P<m>\d{{1,2}})\s*月(?:\s*(?P<d>\d{{1,2}})\s*[日号]{_TIME})?)?",
        rf"(?P<n>{_MONTH})\.?,?\s+(?P<y>[12]\d{{3}})",
        rf"(?P<n>{_MONTH})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s+(?P<y>[12]\d{{3}}){_TIME}",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(?P<n>{_MONTH})\.?\s*,?\s+(?P<y>[12]\d{{3}}){_TIME}",
    )
)
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun),", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2([12]\d{3})")
"""Day and month in an order that differs between countries."""


class DayRange(NamedTuple):
    """The days from ``start`` up to, but without, ``end``, as `datetime.date.toordinal` counts."""

    start: int
    end: int


def read_day_range(text: str) -> DayRange | None:
    """Return the days that a text names, or None if it is not a date.

    Day and month in figures are read only where one of them cannot be a month.
    """
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST or not any(c.isdigit() for c in text):
        return None
    for form in _FORMS:
        match = form.fullmatch(text)
        if match:
            return _range_of(match.groupdict())
    numeric = _NUMERIC.fullmatch(text)
    if numeric:
        first, second, year = int(numeric[1]), int(numeric[3]), int(numeric[4])
        if max(first, second) > len(MONTHS) or first == second:
            day, month = (second, first) if second > len(MONTHS) else (first, second)
            return _days(year, month, day)
        return None
    parts = parsedate(text) if _WEEKDAY.match(text) else None  # as in the headers of emails
    return _days(*parts[:3]) if parts else None


def _range_of(parts: dict[str, str | None]) -> DayRange | None:
    name = parts.get("n")
    month = month_number(name) if name else int(parts.get("m") or 0)
    return _days(int(parts["y"] or 0), month, int(parts.get("d") or 0))


def month_number(name: str) -> int:
    """Return the number of a month, from 1, by its English name or the beginning of it."""
    return 1 + next(i for i, month in enumerate(MONTHS) if month.startswith(name[:3].lower()))


def _days(year: int, month: int, day: int) -> DayRange | None:
    """Return the days of a year, of its month, or one day; None if there is no such day."""
    try:
        if day:
            start = date(year, month, day).toordinal()
            return DayRange(start, start + 1)
        if month:
            following = (year + 1, 1) if month == len(MONTHS) else (year, month + 1)
            return DayRange(date(year, month, 1).toordinal(), date(*following, 1).toordinal())
        return DayRange(date(year, 1, 1).toordinal(), date(year + 1, 1, 1).toordinal())
    except ValueError:
        return None
