"""Read and compare the moments that facts of a conversation state.

A moment is text such as "1990s", "2021", "2021-05", "2021-05-01" or "2021-05-01T09:30". It names a
period, and moments of different precision are compared as periods: none is padded.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import NamedTuple

from knotwork._text.dates import DAY, DECADE, MONTH_OF_YEAR, NUMERIC_DAY, read_day_range

_MINUTE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}")
_YEAR = r"(?<!\d)(?<!\d-)[12]\d{3}(?:\s*年)?(?!\d|-\d{1,2}(?!\d))"
_STATED = re.compile(
    rf"(?P<minute>(?<!\d){_MINUTE.pattern})|(?P<day>{DAY}|{NUMERIC_DAY})|(?P<month>{MONTH_OF_YEAR})|(?P<decade>{DECADE})|(?P<year>{_YEAR})",
    re.IGNORECASE,
)
_DAYS_OF_DECADE = 3_650
_DAYS_OF_YEAR = 365
_DAYS_OF_MONTH = 28
_FIRST_DAY = re.compile(
    r"(?<!\d)0?1(?:st|[日号號])?(?!\d)|\bfirst\b|\bnew year|\bbeginning\b|\bstart of\b"
    r"|[一初]日|初一|元旦|[年月]初",
    re.IGNORECASE,
)
_JANUARY = re.compile(
    r"\bjan(?:uary)?\b|(?<!\d)0?1月|[一元]月|元旦|\bnew year|\bmonths?\b|月", re.IGNORECASE
)
_RELATIVE_DAY = re.compile(
    r"\b(?:to|yester)day\b|\btonight\b|\bdays?\b|\bweeks?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|今[天日]|昨[天日]|前天|周|星期|礼拜|天前",
    re.IGNORECASE,
)


class Period(NamedTuple):
    """A half-open period, as ISO texts of one form that are compared as text."""

    start: str
    end: str


BEGINNING = ""
"""A moment before all others: an unknown beginning."""


def period_of(moment: str) -> Period:
    """Return the period that a moment names; other text stands for itself, as a point."""
    if _MINUTE.fullmatch(moment):
        try:
            following = datetime.fromisoformat(moment) + timedelta(minutes=1)
        except (ValueError, OverflowError):
            return Period(moment, moment)
        return Period(moment, following.isoformat(timespec="minutes"))
    days = read_day_range(moment)
    if days is None:
        return Period(moment, moment)
    return Period(f"{days.first}T00:00", f"{date.fromordinal(days.end).isoformat()}T00:00")


def is_before(one: str, other: str) -> bool:
    """Return True if a moment begins before another one or, at the same time, ends before it.

    This is a total order of moments: "2021-01-01" is before "2021", and "2021" before "2021-02".
    """
    return period_of(one) < period_of(other)


def contains(outer: str, inner: str) -> bool:
    """Return True if a moment contains all of another one, as a year contains its months."""
    around, within = period_of(outer), period_of(inner)
    return around.start <= within.start and within.end <= around.end


def moment_after(moment: str) -> str:
    """Return the next moment of the same precision; the moment itself at the end of time."""
    period, days = period_of(moment), read_day_range(moment)
    if days is None or _MINUTE.fullmatch(moment):
        return period.end
    return _write(date.fromordinal(days.end), days.end - days.start)


def read_moment(text: str) -> str:
    """Return the first of the most precise dates in a text as a moment, or "" without one.

    In 3/4/2023, the first number is the day, unless it must be the month.
    """
    return max(_stated_moments(text), key=_precision, default="")


def keep_precision(moment: str, text: str) -> str:
    """Return a moment with at most the precision of the text that it was read from.

    A model tends to write "May 2021" as 2021-05-01 and "last year" as 2025-01-01. The moment
    becomes that of the text which contains it. If the text has none, as in "last May", a first day
    or month that the text does not name is left out.
    """
    stated = _stated_moments(text)
    if moment in stated:
        return moment
    around = [found for found in stated if contains(found, moment)]
    if around:
        return max(around, key=_precision)
    kept = re.fullmatch(r"(\d{4})(-\d{2})-01", moment)
    if kept and not (_FIRST_DAY.search(text) or _RELATIVE_DAY.search(text)):
        moment = f"{kept[1]}{kept[2]}"
    kept = re.fullmatch(r"(\d{4})-01", moment)
    if kept and not _JANUARY.search(text):
        moment = kept[1]
    return moment


def _stated_moments(text: str) -> list[str]:
    found = []
    for match in _STATED.finditer(text):
        if match["minute"] and read_day_range(match[0]):
            found.append(match[0])
            continue
        days = read_day_range(match[0], day_first=True) or read_day_range(match[0])
        if days is not None:
            found.append(_write(date.fromordinal(days.start), days.end - days.start))
    return found


def _precision(moment: str) -> int:
    return 0 if moment.endswith("s") else len(moment)


def _write(first: date, days: int) -> str:
    if days >= _DAYS_OF_DECADE:
        return f"{first.year:04d}s"
    if days >= _DAYS_OF_YEAR:
        return f"{first.year:04d}"
    return first.isoformat()[: len("2021-05")] if days >= _DAYS_OF_MONTH else first.isoformat()
