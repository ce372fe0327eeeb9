"""Find and read dates in English and Chinese texts.

Every date is a range of days: "2023" is all days of that year, "1990s" those of ten years. The
patterns find dates in a sentence; `read_day_range` returns the days that a date names.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from email.utils import parsedate
from typing import NamedTuple

MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
)
_NAME = "|".join(f"{m[:3]}(?:{m[3:]})?" if m[3:] else m for m in MONTHS).replace("sep(", "sept?(")
_MONTH = rf"(?:{_NAME})\.?"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"

DAY = (
    rf"(?:\b\d{{4}}-\d{{1,2}}-\d{{1,2}}\b|\d{{4}}\s*年\s*\d{{1,2}}\s*月\s*\d{{1,2}}\s*[日号號]"
    rf"|\b{_MONTH}\s+{_ORDINAL}\s*,?\s+\d{{4}}\b"
    rf"|\b{_ORDINAL}\s+(?:of\s+)?{_MONTH}\s*,?\s+\d{{4}}\b)"
)
"""A day in a sentence, as a pattern without groups; match it case-insensitively."""
MONTH_OF_YEAR = (
    r"(?:(?<![\d-])\d{4}-(?:0[1-9]|1[0-2])(?![\d-])|\d{4}\s*年\s*\d{1,2}\s*月份?"
    rf"|\b{_MONTH}\s*,?\s+\d{{4}}\b)"
)
"""A month of a year."""
DAY_OF_YEAR = (
    rf"(?:\b{_MONTH}\s+{_ORDINAL}(?![\d:])|\b{_ORDINAL}\s+(?:of\s+)?{_MONTH}(?![a-z])"
    r"|(?<!\d)\d{1,2}\s*月\s*\d{1,2}\s*[日号])"
)
"""A day without its year."""
DECADE = r"(?:\b\d{3}0['’]?s\b|\d{2}\s*世纪\s*\d0\s*年代|\d{3}0\s*年代)"
"""A decade."""
RELATIVE = (
    r"(?:\b(?:last|this)\s+(?:year|month)\b|\b(?:today|yesterday)\b"
    r"|去年|今年|上个?月|这个月|本月|今天|昨天)"
)
"""A time relative to today; see `resolve_relative`."""
NUMERIC_DAY = r"(?:\b\d{1,2}[/.]\d{1,2}[/.]\d{4}\b)"
"""A day in digits, whose order of day and month differs between countries."""

_TIME = r"(?:[T ]+\d{1,2}:\d{2}.*)?"
_LONGEST = 60
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?P<y>[12]\d{3})",
        r"(?P<y>[12]\d{3})[-/](?P<m>\d{1,2})",
        rf"(?P<y>[12]\d{{3}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}}){_TIME}",
        rf"(?P<y>[12]\d{{3}})(?P<m>\d{{2}})(?P<d>\d{{2}}){_TIME}",
        rf"(?P<y>[12]\d{{3}})\s*年(?:\s*(?P<m>\d{{1,2}})\s*月份?(?:\s*(?P<d>\d{{1,2}})\s*[日号號]{_TIME})?)?",
        rf"(?P<n>{_NAME})\.?\s*,?\s+(?P<y>[12]\d{{3}})",
        rf"(?P<n>{_NAME})\.?[\s-]+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?[\s-]*,?[\s-]+(?P<y>[12]\d{{3}}){_TIME}",
        rf"(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?[\s-]+(?:of\s+)?(?P<n>{_NAME})\.?[\s-]*,?[\s-]+(?P<y>[12]\d{{3}}){_TIME}",
        r"(?P<y>[12]\d{2}0)(?:['’]?s|\s*年代)(?P<decade>)",
        r"(?P<century>\d{2})\s*世纪\s*(?P<y>\d0)\s*年代(?P<decade>)",
    )
)
_WEEKDAY = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun),", re.IGNORECASE)
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2([12]\d{3})")
_WRITTEN_DAY = re.compile(f"{DAY}|{NUMERIC_DAY}", re.IGNORECASE)
_CELL = re.compile(
    rf"(?P<day>[12]\d{{3}}([-/.])\d{{1,2}}\2\d{{1,2}}|\d{{1,2}}[/.-]\d{{1,2}}[/.-]\d{{4}}|{DAY}"
    rf"|{_ORDINAL}-{_MONTH}-\d{{4}}|{_MONTH}-{_ORDINAL}-\d{{4}})"
    r"(?:[T ]+(?P<time>\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?)?",
    re.IGNORECASE,
)


class DayRange(NamedTuple):
    """A half-open range of days, as ordinals of `datetime.date.toordinal`."""

    start: int
    end: int

    @property
    def first(self) -> str:
        """The first day, as YYYY-MM-DD."""
        return date.fromordinal(self.start).isoformat()

    @property
    def last(self) -> str:
        """The last day, as YYYY-MM-DD."""
        return date.fromordinal(self.end - 1).isoformat()


def read_day_range(text: str, *, day_first: bool | None = None) -> DayRange | None:
    """Return the days that a text names, or None if the whole text is not a date.

    In 3/4/2023, the first number is the day if ``day_first`` is True and the month if it is False.
    By default, such a date is read only if one of the numbers cannot be a month.
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
        return _numeric_range(int(numeric[1]), int(numeric[3]), int(numeric[4]), day_first)
    parts = parsedate(text) if _WEEKDAY.match(text) else None  # the form of email headers
    return _days(*parts[:3]) if parts else None


def resolve_relative(words: str, today: date) -> str:
    """Return "last month" or 去年 as a date that `read_day_range` reads; other text unchanged."""
    text = " ".join(words.lower().split()).removeprefix("the ")
    last_month = today.replace(day=1) - timedelta(days=1)
    times = (
        (f"{today.year - 1}", ("last year", "去年")),
        (f"{today.year}", ("this year", "今年")),
        (f"{last_month:%Y-%m}", ("last month", "上月", "上个月")),
        (f"{today:%Y-%m}", ("this month", "这个月", "本月")),
        (today.isoformat(), ("today", "今天")),
        ((today - timedelta(days=1)).isoformat(), ("yesterday", "昨天")),
        ((today + timedelta(days=1)).isoformat(), ("tomorrow", "明天")),
    )
    return next((time for time, names in times if text in names), text)


def find_days(text: str) -> list[re.Match[str]]:
    """Return the matches of days in a text, including those in digits."""
    return list(_WRITTEN_DAY.finditer(text))


def read_date(text: str) -> str:
    """Return the first day in a text as YYYY-MM-DD, or "" without one.

    In 3/4/2023, the first number is the day, unless it must be the month.
    """
    for match in find_days(text):
        days = read_day_range(match[0], day_first=True) or read_day_range(match[0])
        if days is not None:
            return days.first
    return ""


def parse_date(text: str, *, day_first: bool) -> str:
    """Return a text that is a day as "YYYY-MM-DD", or "YYYY-MM-DD HH:MM" with a time; else "".

    In 3/4/2023, the first number is the day if ``day_first`` is True, otherwise the month.
    """
    match = _CELL.fullmatch(" ".join(text.split()))
    days = read_day_range(match["day"], day_first=day_first) if match else None
    if match is None or days is None:
        return ""
    return f"{days.first} {match['time'].zfill(5)}" if match["time"] else days.first


def _range_of(parts: dict[str, str | None]) -> DayRange | None:
    year = int(parts["y"] or 0)
    if parts.get("decade") is not None:
        century = parts.get("century")
        first = (int(century) - 1) * 100 + year if century else year
        return _years(first, 10)
    name = parts.get("n")
    return _days(
        year, _month_number(name) if name else int(parts.get("m") or 0), int(parts.get("d") or 0)
    )


def _numeric_range(first: int, second: int, year: int, day_first: bool | None) -> DayRange | None:
    if day_first is None:
        if first <= len(MONTHS) and second <= len(MONTHS) and first != second:
            return None
        day_first = second <= len(MONTHS)
    day, month = (first, second) if day_first else (second, first)
    return _days(year, month, day)


def _month_number(name: str) -> int:
    return 1 + next(i for i, month in enumerate(MONTHS) if month.startswith(name[:3].lower()))


def _days(year: int, month: int, day: int) -> DayRange | None:
    try:
        if day:
            start = date(year, month, day).toordinal()
            return DayRange(start, start + 1)
        if month:
            following = (year + 1, 1) if month == len(MONTHS) else (year, month + 1)
            return DayRange(date(year, month, 1).toordinal(), date(*following, 1).toordinal())
    except ValueError:
        return None
    return _years(year, 1)


def _years(first: int, count: int) -> DayRange | None:
    try:
        return DayRange(date(first, 1, 1).toordinal(), date(first + count, 1, 1).toordinal())
    except ValueError:
        return None
