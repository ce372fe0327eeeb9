"""Represent dates, times and durations: values, ISO 8601 text and arithmetic.

Days count from 1970-01-01 in the proleptic Gregorian calendar. The conversions between days and
dates are those of Howard Hinnant's `days_from_civil` and `civil_from_days`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex

from knotwork._extensions.cypher.language.property_graph import Value
from knotwork._extensions.cypher.language.values import Temporal, kind_of, operand_error
from knotwork.errors import QuerySyntaxError

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
_ERA_DAYS = 146_097
_EPOCH = 719_468
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_ZONE = regex.compile(r"[A-Za-z_]+(?:/[A-Za-z_+\-0-9]+){0,2}")
_MAX_YEAR = 999_999_999


class CalendarDate(NamedTuple):
    """A date of the proleptic Gregorian calendar."""

    year: int
    month: int
    day: int


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date. Raises QuerySyntaxError if it does not exist."""
    if not 1 <= month <= 12 or not 1 <= day <= month_length(year, month):
        raise QuerySyntaxError(f"Invalid date {year}-{month}-{day}.")
    if abs(year) > _MAX_YEAR:
        raise QuerySyntaxError(f"The year {year} is out of range: years have at most nine digits.")
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * _ERA_DAYS + day_of_era - _EPOCH


def calendar_date(days: int) -> CalendarDate:
    """Return the date that is ``days`` days after 1970-01-01."""
    era, day_of_era = divmod(days + _EPOCH, _ERA_DAYS)
    year_of_era = (
        day_of_era - day_of_era // 1_460 + day_of_era // 36_524 - day_of_era // 146_096
    ) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + (3 if shifted < 10 else -9)
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    return CalendarDate(year_of_era + era * 400 + (month <= 2), month, day)


def month_length(year: int, month: int) -> int:
    """Return the number of days of a month."""
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def weekday(days: int) -> int:
    """Return the ISO day of the week, from 1 for Monday."""
    return (days + 3) % 7 + 1


def week_of(days: int) -> tuple[int, int]:
    """Return the ISO week of a day: the year that the week belongs to, and its number."""
    thursday = days - weekday(days) + 4
    year = calendar_date(thursday).year
    return year, (thursday - days_since_epoch(year, 1, 1)) // 7 + 1


@lru_cache(maxsize=256)
def find_zone(name: str) -> ZoneInfo:
    """Return a time zone by name. Raises QuerySyntaxError if it is unknown."""
    try:
        if len(name) <= _MAX_TEXT_LENGTH and _ZONE.fullmatch(name):
            return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise QuerySyntaxError(f"Unknown time zone `{name[:60]}`; use one such as Europe/Berlin.")


def zone_offset(name: str, days: int, nanos: int) -> int:
    """Return the offset of a time zone from UTC at a local time, in seconds."""
    ordinal = min(max(days + _EPOCH_ORDINAL, 366), date.max.toordinal() - 366)
    local = datetime.fromordinal(ordinal) + timedelta(microseconds=nanos // 1_000)
    offset = local.replace(tzinfo=find_zone(name)).utcoffset() or timedelta()
    return int(offset.total_seconds())


@dataclass(frozen=True, slots=True)
class Moment(Temporal):
    """A date, a time of day, or both, optionally with an offset from UTC and a time zone.

    ``days`` count from 1970-01-01, ``nanos`` from midnight; ``offset`` is in seconds.
    """

    days: int | None = None
    nanos: int | None = None
    offset: int | None = None
    zone: str | None = None

    rank = 0

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The type of the value as a phrase for errors."""
        if self.nanos is None:
            return "a date"
        if self.days is None:
            return "a local time" if self.offset is None else "a time"
        return "a local datetime" if self.offset is None else "a datetime"

    def sort_key(self) -> tuple[float, ...]:
        """Return the instant in nanoseconds, then the offset, which orders equal instants."""
        shift = (self.offset or 0) * SECOND
        instant = (self.days or 0) * DAY + (self.nanos or 0) - shift
        return (instant, -(self.offset or 0))

    def component(self, name: str) -> Value:
        """Return a component by name, None if it is unknown or the value does not have it."""
        found = _COMPONENTS.get(name)
        if found is None:
            return None
        needs, read = found
        have = {"d": self.days, "t": self.nanos, "o": self.offset}
        return None if any(have[need] is None for need in needs) else read(self)

    def __str__(self) -> str:
        return write_moment(self)


@dataclass(frozen=True, slots=True)
class Duration(Temporal):
    """A duration in months, days and nanoseconds, each of which may be negative."""

    months: int = 0
    days: int = 0
    nanos: int = 0

    rank = -1
    kind = "a duration"

    def sort_key(self) -> tuple[float, ...]:
        """Return the approximate length in nanoseconds, with months of average length."""
        return (self.months * 2_629_746 * SECOND + self.days * DAY + self.nanos,)

    def component(self, name: str) -> Value:
        """Return a component by name, None if it is unknown."""
        read = _DURATION_PARTS.get(name)
        return None if read is None else read(self)

    def __str__(self) -> str:
        return write_duration(self)


def truncated(number: int, divisor: int) -> int:
    """Divide and round toward zero."""
    return number // divisor if number >= 0 else -(-number // divisor)


def _quarter_day(moment: Moment) -> int:
    """Return the day of the quarter, from 1."""
    days = moment.days or 0
    found = calendar_date(days)
    return days - days_since_epoch(found.year, (found.month - 1) // 3 * 3 + 1, 1) + 1


def _epoch(moment: Moment) -> int:
    return int(moment.sort_key()[0])


_COMPONENTS: dict[str, tuple[str, Callable[[Moment], Value]]] = {
    "year": ("d", lambda m: calendar_date(m.days or 0).year),
    "quarter": ("d", lambda m: (calendar_date(m.days or 0).month - 1) // 3 + 1),
    "month": ("d", lambda m: calendar_date(m.days or 0).month),
    "day": ("d", lambda m: calendar_date(m.days or 0).day),
    "week": ("d", lambda m: week_of(m.days or 0)[1]),
    "weekYear": ("d", lambda m: week_of(m.days or 0)[0]),
    "ordinalDay": (
        "d",
        lambda m: (m.days or 0) - days_since_epoch(calendar_date(m.days or 0).year, 1, 1) + 1,
    ),
    "weekDay": ("d", lambda m: weekday(m.days or 0)),
    "dayOfWeek": ("d", lambda m: weekday(m.days or 0)),
    "dayOfQuarter": ("d", _quarter_day),
    "hour": ("t", lambda m: (m.nanos or 0) // (3_600 * SECOND)),
    "minute": ("t", lambda m: (m.nanos or 0) // (60 * SECOND) % 60),
    "second": ("t", lambda m: (m.nanos or 0) // SECOND % 60),
    "millisecond": ("t", lambda m: (m.nanos or 0) % SECOND // 1_000_000),
    "microsecond": ("t", lambda m: (m.nanos or 0) % SECOND // 1_000),
    "nanosecond": ("t", lambda m: (m.nanos or 0) % SECOND),
    "timezone": ("o", lambda m: m.zone or write_offset(m.offset or 0)),
    "offset": ("o", lambda m: write_offset(m.offset or 0)),
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


_DATE = regex.compile(
    r"(?P<year>[+-]?\d{4,9}?)(?:-?W(?P<week>\d\d)(?:-?(?P<weekday>\d))?"
    r"|-?Q(?P<quarter>\d)(?:-?(?P<quarterday>\d\d))?"
    r"|-(?P<ordinal>\d{3})|(?P<ordinal>\d{3})"
    r"|-(?P<month>\d\d?)(?:-(?P<day>\d\d?))?|(?P<month>\d\d)(?P<day>\d\d)?)?"
)
_TIME = regex.compile(
    r"(?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,](?P<part>\d{1,9}))?)?)?"
)
_OFFSET = regex.compile(r"Z|z|(?P<sign>[+-])(?P<h>\d\d)(?::?(?P<m>\d\d)(?::?(?P<s>\d\d))?)?")
_FIGURE = r"([+-]?\d+(?:[.,]\d*)?)"
_DURATION = regex.compile(
    rf"(?P<minus>-)?P(?:{_FIGURE}Y)?(?:{_FIGURE}M)?(?:{_FIGURE}W)?(?:{_FIGURE}D)?"
    rf"(?:T(?:{_FIGURE}H)?(?:{_FIGURE}M)?(?:{_FIGURE}S)?)?"
)
_DATED = regex.compile(r"P(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d+)?)")
_MAX_TEXT_LENGTH = 80
_MONTH_DAYS = Fraction(2_629_746, 86_400)


def _wrong(what: str, text: str) -> QuerySyntaxError:
    return QuerySyntaxError(f"`{text[:_MAX_TEXT_LENGTH]}` is not {what}.")


def read_date(text: str) -> int:
    """Return an ISO 8601 date as days from 1970-01-01. Raises QuerySyntaxError if invalid."""
    found = _DATE.fullmatch(text) if len(text) <= _MAX_TEXT_LENGTH else None
    if found is None:
        raise _wrong("a date", text)
    part = {key: int(value) for key, value in found.groupdict().items() if value is not None}
    year = part["year"]
    if "week" in part:
        return week_day(year, part["week"], part.get("weekday", 1))
    if "quarter" in part:
        first = days_since_epoch(year, part["quarter"] * 3 - 2, 1)
        return first + part.get("quarterday", 1) - 1
    if "ordinal" in part:
        return ordinal_day(year, part["ordinal"])
    return days_since_epoch(year, part.get("month", 1), part.get("day", 1))


def week_day(year: int, week: int, day: int) -> int:
    """Return the day of an ISO week as days from 1970-01-01. Raises QuerySyntaxError if invalid."""
    fourth = days_since_epoch(year, 1, 4)
    found = fourth - weekday(fourth) + 7 * (week - 1) + day
    if not 1 <= day <= 7 or not 1 <= week <= 53:
        raise QuerySyntaxError(f"Invalid day {day} of week {week}: days are 1-7, weeks 1-53.")
    return found


def ordinal_day(year: int, day: int) -> int:
    """Return a day of the year as days from 1970-01-01. Raises QuerySyntaxError if invalid."""
    if not 1 <= day <= 365 + (month_length(year, 2) == 29):
        raise QuerySyntaxError(f"The year {year} has no day {day}.")
    return days_since_epoch(year, 1, 1) + day - 1


def read_time(text: str) -> int:
    """Return a time of day as nanoseconds. Raises QuerySyntaxError if invalid."""
    found = _TIME.fullmatch(text) if len(text) <= _MAX_TEXT_LENGTH else None
    if found is None:
        raise _wrong("a time", text)
    hour, minute, second = (int(found[key] or 0) for key in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise _wrong("a time", text)
    return (hour * 3_600 + minute * 60 + second) * SECOND + int(
        (found["part"] or "0").ljust(9, "0")
    )


def read_offset(text: str) -> int:
    """Return an offset from UTC as seconds. Raises QuerySyntaxError if invalid or above 18 h."""
    found = _OFFSET.fullmatch(text) if len(text) <= _MAX_TEXT_LENGTH else None
    if found is None:
        raise _wrong("an offset of time", text)
    seconds = sum(int(found[key] or 0) * size for key, size in (("h", 3_600), ("m", 60), ("s", 1)))
    if seconds > 18 * 3_600:
        raise _wrong("an offset of time", text)
    return -seconds if found["sign"] == "-" else seconds


def split_zone(text: str) -> tuple[str, str | None, str | None]:
    """Split a time into the time of day, its offset and its zone; None for missing parts."""
    zone: str | None = None
    if text.endswith("]") and "[" in text:
        text, _, name = text[:-1].partition("[")
        zone = name
    place = max(text.find("Z"), text.find("z"), text.rfind("+"))
    minus = text.rfind("-")
    if place < 0 and minus > 0:
        place = minus
    return (text, None, zone) if place < 0 else (text[:place], text[place:], zone)


def read_moment(kind: str, text: str) -> Moment:
    """Parse a date, localtime, time, localdatetime or datetime, as ``kind`` says.

    Raises QuerySyntaxError if the text is invalid.
    """
    if kind == "date":
        return Moment(days=read_date(text))
    if kind == "localtime":
        return Moment(nanos=read_time(text))
    if kind == "time":
        clock, offset, zone = split_zone(text)
        if zone is not None:
            raise _wrong("a time", text)
        return Moment(nanos=read_time(clock), offset=read_offset(offset) if offset else 0)
    day, _, clock = text.partition("T")
    if kind == "localdatetime":
        return Moment(read_date(day), read_time(clock) if clock else 0)
    clock, offset, zone = split_zone(clock) if clock else ("", None, None)
    days, nanos = read_date(day), read_time(clock) if clock else 0
    if zone is not None:
        find_zone(zone)
        return Moment(days, nanos, zone_offset(zone, days, nanos), zone)
    return Moment(days, nanos, read_offset(offset) if offset else 0)


def make_duration(months: Fraction, days: Fraction, nanos: Fraction) -> Duration:
    """Return a duration; fractions of months and days are converted to smaller units."""
    whole_months = int(months)
    days += (months - whole_months) * _MONTH_DAYS
    whole_days = int(days)
    nanos += (days - whole_days) * 86_400 * SECOND
    return check_length(Duration(whole_months, whole_days, int(nanos)))


def check_length(duration: Duration) -> Duration:
    """Return a duration. Raises QuerySyntaxError if it is too long."""
    if max(abs(duration.months), abs(duration.days), abs(duration.nanos) // SECOND) > 1 << 62:
        raise QuerySyntaxError("A duration is too long.")
    return duration


def read_duration(text: str) -> Duration:
    """Parse an ISO 8601 duration. Raises QuerySyntaxError if invalid."""
    if len(text) <= _MAX_TEXT_LENGTH:
        dated = _DATED.fullmatch(text)
        if dated is not None:
            years, months, days, hours, minutes, seconds = map(Fraction, dated.groups())
            clock = (hours * 3_600 + minutes * 60 + seconds) * SECOND
            return make_duration(years * 12 + months, days, clock)
        found = _DURATION.fullmatch(text)
        if found is not None and any(found.groups()[1:]):
            minus, *figures = found.groups()
            part = [Fraction((figure or "0").replace(",", ".").rstrip(".")) for figure in figures]
            years, months, weeks, days, hours, minutes, seconds = part
            clock = (hours * 3_600 + minutes * 60 + seconds) * SECOND
            sign = -1 if minus else 1
            total = (years * 12 + months) * sign, (weeks * 7 + days) * sign
            return make_duration(*total, clock * sign)
    raise _wrong("a duration", text)


def write_moment(moment: Moment) -> str:
    """Format a date, a time or both as ISO 8601, with a zone in square brackets."""
    day = "" if moment.days is None else _write_day(moment.days)
    clock = "" if moment.nanos is None else _write_clock(moment.nanos)
    offset = "" if moment.offset is None else write_offset(moment.offset)
    zone = f"[{moment.zone}]" if moment.zone else ""
    return ("T".join(part for part in (day, clock) if part)) + offset + zone


def _write_day(days: int) -> str:
    year, month, day = calendar_date(days)
    sign = "-" if year < 0 else "+" if year > 9_999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _write_clock(nanos: int) -> str:
    seconds, part = divmod(nanos, SECOND)
    text = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or part:
        text += f":{seconds % 60:02}"
    return text + _write_part(part)


def _write_part(nanos: int) -> str:
    return f".{nanos:09}".rstrip("0") if nanos else ""


def write_offset(offset: int) -> str:
    """Format an offset from UTC in seconds, "Z" for 0."""
    if offset == 0:
        return "Z"
    size = abs(offset)
    text = f"{'-' if offset < 0 else '+'}{size // 3_600:02}:{size // 60 % 60:02}"
    return text + (f":{size % 60:02}" if size % 60 else "")


def write_duration(duration: Duration) -> str:
    """Format a duration as ISO 8601, each component with its own sign."""
    year_sign = -1 if duration.months < 0 else 1
    years, months = (year_sign * n for n in divmod(abs(duration.months), 12))
    text = "".join(
        f"{number}{unit}"
        for number, unit in ((years, "Y"), (months, "M"), (duration.days, "D"))
        if number
    )
    sign, size = ("-" if duration.nanos < 0 else ""), abs(duration.nanos)
    hours, minutes = size // (3_600 * SECOND), size // (60 * SECOND) % 60
    seconds, part = size // SECOND % 60, _write_part(size % SECOND)
    clock = "".join(f"{sign}{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if seconds or part:
        clock += f"{sign}{seconds}{part}S"
    if clock:
        return f"P{text}T{clock}"
    return f"P{text}" if text else "PT0S"


def add_temporal(left: Temporal, right: Temporal) -> Temporal:
    """Add a duration to a date or time, or to another duration."""
    if isinstance(left, Duration) and isinstance(right, Duration):
        return check_length(
            Duration(left.months + right.months, left.days + right.days, left.nanos + right.nanos)
        )
    if isinstance(left, Duration) and isinstance(right, Moment):
        return _move(right, left)
    if isinstance(left, Moment) and isinstance(right, Duration):
        return _move(left, right)
    raise operand_error("+", left, right)


def subtract_temporal(left: Temporal, right: Temporal) -> Temporal:
    """Subtract a duration from a date or time, or from another duration."""
    if not isinstance(right, Duration):
        raise operand_error("-", left, right)
    return add_temporal(left, Duration(-right.months, -right.days, -right.nanos))


def scale_duration(value: Temporal, factor: float) -> Temporal:
    """Multiply a duration by a number. Raises QuerySyntaxError for other temporal values."""
    if not isinstance(value, Duration) or not isfinite(factor):
        raise QuerySyntaxError(f"{kind_of(value)} cannot be multiplied by {factor}.".capitalize())
    by = Fraction(factor) if isinstance(factor, int) else Fraction(repr(factor))
    return make_duration(value.months * by, value.days * by, value.nanos * by)


def add_months(days: int, months: int) -> int:
    """Return a day some months later, clipped to the last day of that month."""
    found = calendar_date(days)
    year, month = divmod(found.year * 12 + found.month - 1 + months, 12)
    return days_since_epoch(year, month + 1, min(found.day, month_length(year, month + 1)))


def _move(moment: Moment, by: Duration) -> Moment:
    """Return a moment later by a duration, at the offset that its zone then has."""
    days = moment.days
    if days is not None:
        days = add_months(days, by.months) + by.days
        if moment.nanos is None:
            return Moment(check_range(days + truncated(by.nanos, DAY)))
    nanos = (moment.nanos or 0) + by.nanos
    if days is None:
        return Moment(None, nanos % DAY, moment.offset)
    later, nanos = divmod(nanos, DAY)
    found = Moment(check_range(days + later), nanos, moment.offset)
    if moment.zone is None:
        return found
    if by.nanos == 0 or moment.offset is None:
        return in_zone(found, moment.zone)
    return shift_offset(found, zone_offset(moment.zone, found.days or 0, nanos), moment.zone)


def check_range(days: int) -> int:
    """Return days from 1970-01-01. Raises QuerySyntaxError if the date is out of range."""
    if abs(days) > 366 * _MAX_YEAR:
        raise QuerySyntaxError("The date is out of range: years have at most nine digits.")
    return days


def in_zone(moment: Moment, zone: str) -> Moment:
    """Return the same local time in a zone."""
    days, nanos = moment.days or 0, moment.nanos or 0
    return Moment(days, nanos, zone_offset(zone, days, nanos), zone)


def shift_offset(moment: Moment, offset: int, zone: str | None = None) -> Moment:
    """Return the same instant at another offset."""
    nanos = (moment.nanos or 0) + (offset - (moment.offset or 0)) * SECOND
    if moment.days is None:
        return Moment(None, nanos % DAY, offset)
    later, nanos = divmod(nanos, DAY)
    return Moment(moment.days + later, nanos, offset, zone)


def between(first: Moment, second: Moment, unit: str = "") -> Duration:
    """Return the duration between two moments, in ``unit`` ("months", "days", "seconds") or in all.

    If one has no date, only the times of day are compared. A missing time is midnight.
    """
    first, second = _beside(first, second), _beside(second, first)
    if first.days is None or second.days is None:
        first, second = Moment(0, first.nanos, first.offset), Moment(0, second.nanos, second.offset)
    start, end = _local(first), _local(second)
    if first.offset is not None and second.offset is not None:
        end += (first.offset - second.offset) * SECOND
    if unit == "seconds":
        return Duration(nanos=end - start)
    if unit == "days":
        return Duration(days=truncated(end - start, DAY))
    months = _months_between(start, end)
    if unit == "months":
        return Duration(months)
    rest = end - (add_months(start // DAY, months) * DAY + start % DAY)
    days = truncated(rest, DAY)
    return Duration(months, days, rest - days * DAY)


def _beside(moment: Moment, other: Moment) -> Moment:
    """Return a moment without an offset in the zone of the other, which may change its clocks."""
    if moment.offset is not None or other.zone is None:
        return moment
    days = other.days if moment.days is None else moment.days
    return in_zone(Moment(days, moment.nanos or 0), other.zone)


def _local(moment: Moment) -> int:
    return (moment.days or 0) * DAY + (moment.nanos or 0)


def _months_between(start: int, end: int) -> int:
    one, other = calendar_date(start // DAY), calendar_date(end // DAY)
    months = (other.year - one.year) * 12 + other.month - one.month
    before, after = _in_month(one, start), _in_month(other, end)
    if months > 0 and after < before:
        return months - 1
    return months + 1 if months < 0 and after > before else months


def _in_month(day: CalendarDate, nanos: int) -> tuple[int, int]:
    return day.day, nanos % DAY
