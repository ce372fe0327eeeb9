"""Dates, times, both, and durations: whole numbers of days and nanoseconds, in any year.

The arithmetic of the civil calendar counts days from 1970 in eras of 400 years.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex

from knotwork.cypher.graph import Value
from knotwork.cypher.values import Temporal, value_error

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
_ERA_DAYS = 146_097
_EPOCH = 719_468
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_ZONE = regex.compile(r"[A-Za-z_]+(?:/[A-Za-z_+\-0-9]+){0,2}")
_MOST_YEARS = 999_999_999


class Civil(NamedTuple):
    """A day of the calendar."""

    year: int
    month: int
    day: int


def days_of(year: int, month: int, day: int) -> int:
    """Return the days since 1970 of a day. Raises QuerySyntaxError for one that is not there."""
    if not 1 <= month <= 12 or not 1 <= day <= month_length(year, month):
        raise value_error(f"There is no day {year}-{month}-{day}.")
    if abs(year) > _MOST_YEARS:
        raise value_error(f"The year {year} is too far away.")
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - _EPOCH


def civil(days: int) -> Civil:
    """Return the day of the calendar that lies so many days after 1970."""
    era, day_of_era = divmod(days + _EPOCH, _ERA_DAYS)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    return Civil(year_of_era + era * 400 + (month <= 2), month, day)


def month_length(year: int, month: int) -> int:
    """Return how many days a month has."""
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def weekday(days: int) -> int:
    """Return the day of the week, Monday being 1."""
    return (days + 3) % 7 + 1


def week_of(days: int) -> tuple[int, int]:
    """Return the year that a week belongs to, and its number."""
    thursday = days - weekday(days) + 4
    year = civil(thursday).year
    return year, (thursday - days_of(year, 1, 1)) // 7 + 1


@lru_cache(maxsize=256)
def find_zone(name: str) -> ZoneInfo:
    """Return a zone of time by its name. Raises QuerySyntaxError for one that is not known."""
    try:
        if _ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise value_error(f"There is no zone of time `{name[:60]}`.")


def zone_offset(name: str, days: int, nanos: int) -> int:
    """Return how many seconds a zone is ahead at a local time there."""
    ordinal = min(max(days + _EPOCH_ORDINAL, 366), date.max.toordinal() - 366)
    local = datetime.fromordinal(ordinal) + timedelta(microseconds=nanos // 1_000)
    offset = local.replace(tzinfo=find_zone(name)).utcoffset() or timedelta()
    return int(offset.total_seconds())


@dataclass(frozen=True, slots=True)
class Moment(Temporal):
    """A date, a time of day, or both; with an offset from UTC in seconds, and perhaps a zone."""

    days: int | None = None
    nanos: int | None = None
    offset: int | None = None
    zone: str | None = None

    rank = 0

    @property
    def kind(self) -> str:  # type: ignore[override]
        """What a person calls it."""
        if self.nanos is None:
            return "a date"
        if self.days is None:
            return "a local time" if self.offset is None else "a time"
        return "a local datetime" if self.offset is None else "a datetime"

    def sort_key(self) -> tuple[float, ...]:
        """Return the instant, then what tells equal instants apart."""
        shift = (self.offset or 0) * SECOND
        instant = (self.days or 0) * DAY + (self.nanos or 0) - shift
        return (instant, -(self.offset or 0))

    def component(self, name: str) -> Value:
        """Return a part by its name, or null."""
        found = _COMPONENTS.get(name)
        if found is None:
            return None
        needs, read = found
        have = {"d": self.days, "t": self.nanos, "o": self.offset}
        return None if any(have[need] is None for need in needs) else read(self)

    def __str__(self) -> str:
        from knotwork.cypher.moment_texts import write_moment

        return write_moment(self)


@dataclass(frozen=True, slots=True)
class Duration(Temporal):
    """Months, days and nanoseconds, each of which may be less than none."""

    months: int = 0
    days: int = 0
    nanos: int = 0

    rank = -1
    kind = "a duration"

    def sort_key(self) -> tuple[float, ...]:
        """Return about how long it is."""
        return (self.months * 2_629_746 * SECOND + self.days * DAY + self.nanos,)

    def component(self, name: str) -> Value:
        """Return a part by its name, or null."""
        read = _DURATION_PARTS.get(name)
        return None if read is None else read(self)

    def __str__(self) -> str:
        from knotwork.cypher.moment_texts import write_duration

        return write_duration(self)


def truncated(number: int, divisor: int) -> int:
    """Divide and round towards nought."""
    return number // divisor if number >= 0 else -(-number // divisor)


def _quarter_day(moment: Moment) -> int:
    days = moment.days or 0
    found = civil(days)
    return days - days_of(found.year, (found.month - 1) // 3 * 3 + 1, 1) + 1


def _epoch(moment: Moment) -> int:
    return int(moment.sort_key()[0])


def _offset_text(moment: Moment) -> str:
    from knotwork.cypher.moment_texts import write_offset

    return write_offset(moment.offset or 0)


_COMPONENTS: dict[str, tuple[str, Callable[[Moment], Value]]] = {
    "year": ("d", lambda m: civil(m.days or 0).year),
    "quarter": ("d", lambda m: (civil(m.days or 0).month - 1) // 3 + 1),
    "month": ("d", lambda m: civil(m.days or 0).month),
    "day": ("d", lambda m: civil(m.days or 0).day),
    "week": ("d", lambda m: week_of(m.days or 0)[1]),
    "weekYear": ("d", lambda m: week_of(m.days or 0)[0]),
    "ordinalDay": ("d", lambda m: (m.days or 0) - days_of(civil(m.days or 0).year, 1, 1) + 1),
    "weekDay": ("d", lambda m: weekday(m.days or 0)),
    "dayOfWeek": ("d", lambda m: weekday(m.days or 0)),
    "dayOfQuarter": ("d", _quarter_day),
    "hour": ("t", lambda m: (m.nanos or 0) // (3_600 * SECOND)),
    "minute": ("t", lambda m: (m.nanos or 0) // (60 * SECOND) % 60),
    "second": ("t", lambda m: (m.nanos or 0) // SECOND % 60),
    "millisecond": ("t", lambda m: (m.nanos or 0) % SECOND // 1_000_000),
    "microsecond": ("t", lambda m: (m.nanos or 0) % SECOND // 1_000),
    "nanosecond": ("t", lambda m: (m.nanos or 0) % SECOND),
    "timezone": ("o", lambda m: m.zone or _offset_text(m)),
    "offset": ("o", _offset_text),
    "offsetMinutes": ("o", lambda m: (m.offset or 0) // 60),
    "offsetSeconds": ("o", lambda m: m.offset),
    "epochMillis": ("dto", lambda m: _epoch(m) // 1_000_000),
    "epochSeconds": ("dto", lambda m: _epoch(m) // SECOND),
}


_DURATION_PARTS: dict[str, Callable[[Duration], Value]] = {
    "years": lambda d: truncated(d.months, 12),
    "quarters": lambda d: truncated(d.months, 3),
    "months": lambda d: d.months,
    "weeks": lambda d: truncated(d.days, 7),
    "days": lambda d: d.days,
    "hours": lambda d: truncated(d.nanos, 3_600 * SECOND),
    "minutes": lambda d: truncated(d.nanos, 60 * SECOND),
    "seconds": lambda d: d.nanos // SECOND,
    "milliseconds": lambda d: d.nanos // 1_000_000,
    "microseconds": lambda d: d.nanos // 1_000,
    "nanoseconds": lambda d: d.nanos,
    "quartersOfYear": lambda d: truncated(d.months, 3) % 4,
    "monthsOfQuarter": lambda d: d.months % 3,
    "monthsOfYear": lambda d: d.months % 12,
    "daysOfWeek": lambda d: d.days % 7,
    "minutesOfHour": lambda d: truncated(d.nanos, 60 * SECOND) % 60,
    "secondsOfMinute": lambda d: d.nanos // SECOND % 60,
    "millisecondsOfSecond": lambda d: d.nanos % SECOND // 1_000_000,
    "microsecondsOfSecond": lambda d: d.nanos % SECOND // 1_000,
    "nanosecondsOfSecond": lambda d: d.nanos % SECOND,
}
