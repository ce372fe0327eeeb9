"""Dates, times and durations: values, ISO 8601 text, arithmetic, and the functions on them.

Days count from 1970-01-01 in the proleptic Gregorian calendar. It repeats every 400 years, so that
`datetime.date` computes within one cycle while years have up to nine digits.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache, partial
from math import isfinite
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import regex

from knotwork._extensions.cypher.language.property_graph import Value
from knotwork._extensions.cypher.language.runtime import Function, Runtime, make_function
from knotwork._extensions.cypher.language.values import (
    Temporal,
    is_number,
    kind_of,
    operand_error,
)
from knotwork.errors import QuerySyntaxError

SECOND = 1_000_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3_600 * SECOND, 86_400 * SECOND
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_START = date(2000, 1, 1).toordinal()
_MAX_YEAR = 999_999_999
_MAX_TEXT_LENGTH = 80
_MONTH_DAYS = Fraction(2_629_746, 86_400)
_ZONE = regex.compile(r"[A-Za-z_]+(?:/[A-Za-z_+\-0-9]+){0,2}")

_KINDS = {"date": "d", "localtime": "t", "time": "to", "localdatetime": "dt", "datetime": "dto"}
"""What a moment of each kind has: a date, a time of day, an offset from UTC."""


class CalendarDate(NamedTuple):
    """A date of the proleptic Gregorian calendar."""

    year: int
    month: int
    day: int


def _in_cycle(year: int) -> int:
    return 2_000 + year % _CYCLE_YEARS


def days_since_epoch(year: int, month: int, day: int) -> int:
    """Return the days from 1970-01-01 to a date. Raises QuerySyntaxError if it does not exist."""
    try:
        ordinal = date(_in_cycle(year), month, day).toordinal()
    except (ValueError, OverflowError):
        raise QuerySyntaxError(f"Invalid date {year}-{month}-{day}.") from None
    if abs(year) > _MAX_YEAR:
        raise QuerySyntaxError(f"The year {year} is out of range: years have at most nine digits.")
    return ordinal - _EPOCH + (year // _CYCLE_YEARS - 2_000 // _CYCLE_YEARS) * _CYCLE_DAYS


def _date_in_cycle(days: int) -> tuple[date, int]:
    """Return the date of a day within the cycle, and the years that it is away from there."""
    cycles, rest = divmod(days + _EPOCH - _CYCLE_START, _CYCLE_DAYS)
    return date.fromordinal(_CYCLE_START + rest), cycles * _CYCLE_YEARS


def calendar_date(days: int) -> CalendarDate:
    """Return the date that is ``days`` days after 1970-01-01."""
    found, years = _date_in_cycle(days)
    return CalendarDate(found.year + years, found.month, found.day)


def weekday(days: int) -> int:
    """Return the ISO day of the week, from 1 for Monday."""
    return (days + 3) % 7 + 1


def week_of(days: int) -> tuple[int, int]:
    """Return the ISO week of a day: the year that the week belongs to, and its number."""
    found, years = _date_in_cycle(days)
    year, week, _ = found.isocalendar()
    return year + years, week


def week_day(year: int, week: int, day: int) -> int:
    """Return the day of an ISO week as days from 1970-01-01. Raises QuerySyntaxError if invalid."""
    fourth = days_since_epoch(year, 1, 4)
    if not 1 <= day <= 7 or not 1 <= week <= 53:
        raise QuerySyntaxError(f"Invalid day {day} of week {week}: days are 1-7, weeks 1-53.")
    return fourth - weekday(fourth) + 7 * (week - 1) + day


def ordinal_day(year: int, day: int) -> int:
    """Return a day of the year as days from 1970-01-01. Raises QuerySyntaxError if invalid."""
    first = days_since_epoch(year, 1, 1)
    if not 1 <= day <= days_since_epoch(year, 12, 31) - first + 1:
        raise QuerySyntaxError(f"The year {year} has no day {day}.")
    return first + day - 1


def add_months(days: int, months: int) -> int:
    """Return a day some months later, clipped to the last day of that month."""
    found = calendar_date(days)
    year, month = divmod(found.year * 12 + found.month - 1 + months, 12)
    length = monthrange(_in_cycle(year), month + 1)[1]
    return days_since_epoch(year, month + 1, min(found.day, length))


def check_range(days: int) -> int:
    """Return days from 1970-01-01. Raises QuerySyntaxError if the date is out of range."""
    if abs(days) > 366 * _MAX_YEAR:
        raise QuerySyntaxError("The date is out of range: years have at most nine digits.")
    return days


def truncated(number: int, divisor: int) -> int:
    """Divide and round toward zero."""
    return number // divisor if number >= 0 else -(-number // divisor)


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

    @property
    def local(self) -> int:
        """The nanoseconds from 1970-01-01, without the offset; a missing time is midnight."""
        return (self.days or 0) * DAY + (self.nanos or 0)

    @property
    def instant(self) -> int:
        """The nanoseconds from 1970-01-01 in UTC."""
        return self.local - (self.offset or 0) * SECOND

    def sort_key(self) -> tuple[float, ...]:
        """Return the instant in nanoseconds, then the offset, which orders equal instants."""
        return (self.instant, -(self.offset or 0))

    def component(self, name: str) -> Value:
        """Return a component by name, None if it is unknown or the value does not have it."""
        if self.days is not None and name in _DATE_PARTS:
            return _DATE_PARTS[name](self.days, calendar_date(self.days))
        if self.nanos is not None and name in _CLOCK_PARTS:
            size, count = _CLOCK_PARTS[name]
            return self.nanos // size % count
        if self.offset is not None and name in _OFFSET_PARTS:
            return _OFFSET_PARTS[name](self)
        if name in _EPOCH_PARTS and None not in (self.days, self.nanos, self.offset):
            return self.instant // _EPOCH_PARTS[name]
        return None

    def plus(self, other: Temporal, sign: int = 1) -> Moment:
        """Return the moment later by a duration, at the offset that its zone then has."""
        if not isinstance(other, Duration):
            raise operand_error("+" if sign > 0 else "-", self, other)
        by, days = other.times(sign), self.days
        if days is None:
            return replace(self, nanos=((self.nanos or 0) + by.nanos) % DAY)
        days = add_months(days, by.months) + by.days
        if self.nanos is None:
            return Moment(check_range(days + truncated(by.nanos, DAY)))
        later, nanos = divmod(self.nanos + by.nanos, DAY)
        found = Moment(check_range(days + later), nanos, self.offset)
        if self.zone is None:
            return found
        if by.nanos == 0:
            return in_zone(found, self.zone)
        return shift_offset(found, zone_offset(self.zone, found.days or 0, nanos), self.zone)

    def __str__(self) -> str:
        day, clock = "", ""
        if self.days is not None:
            year, month, number = calendar_date(self.days)
            sign = "-" if year < 0 else "+" if year > 9_999 else ""
            day = f"{sign}{abs(year):04}-{month:02}-{number:02}"
        if self.nanos is not None:
            seconds, part = divmod(self.nanos, SECOND)
            clock = f"{seconds // 3_600:02}:{seconds // 60 % 60:02}"
            clock += f":{seconds % 60:02}{_write_part(part)}" if seconds % 60 or part else ""
        offset = "" if self.offset is None else write_offset(self.offset)
        zone = f"[{self.zone}]" if self.zone else ""
        return "T".join(part for part in (day, clock) if part) + offset + zone


_DATE_PARTS: dict[str, Callable[[int, CalendarDate], int]] = {
    "year": lambda _, day: day.year,
    "quarter": lambda _, day: (day.month + 2) // 3,
    "month": lambda _, day: day.month,
    "day": lambda _, day: day.day,
    "week": lambda days, _: week_of(days)[1],
    "weekYear": lambda days, _: week_of(days)[0],
    "ordinalDay": lambda days, day: days - days_since_epoch(day.year, 1, 1) + 1,
    "weekDay": lambda days, _: weekday(days),
    "dayOfWeek": lambda days, _: weekday(days),
    "dayOfQuarter": lambda days, _: days - _truncate_date("quarter", days) + 1,
}
_CLOCK_PARTS = {
    "hour": (HOUR, 24),
    "minute": (MINUTE, 60),
    "second": (SECOND, 60),
    "millisecond": (1_000_000, 1_000),
    "microsecond": (1_000, 1_000_000),
    "nanosecond": (1, SECOND),
}
"""The length of a component, and how many of them there are in the next larger one."""
_OFFSET_PARTS: dict[str, Callable[[Moment], Value]] = {
    "timezone": lambda moment: moment.zone or write_offset(moment.offset or 0),
    "offset": lambda moment: write_offset(moment.offset or 0),
    "offsetMinutes": lambda moment: (moment.offset or 0) // 60,
    "offsetSeconds": lambda moment: moment.offset,
}
_EPOCH_PARTS = {"epochMillis": 1_000_000, "epochSeconds": SECOND}


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
        name, count = _UNITS_OF.get(name, (name, 0))
        if name not in _UNITS:
            return None
        field, size = _UNITS[name]
        whole = getattr(self, field)
        floors = field == "nanos" and size <= SECOND
        found = whole // size if floors else truncated(whole, size)
        return found % count if count else found

    def times(self, sign: int) -> Duration:
        """Return the duration, or for -1 its negative."""
        return Duration(sign * self.months, sign * self.days, sign * self.nanos)

    def plus(self, other: Temporal, sign: int = 1) -> Temporal:
        """Add a duration, or return a moment later by this duration."""
        if isinstance(other, Moment) and sign > 0:
            return other.plus(self)
        if not isinstance(other, Duration):
            raise operand_error("+" if sign > 0 else "-", self, other)
        by = other.times(sign)
        return Duration(
            self.months + by.months, self.days + by.days, self.nanos + by.nanos
        ).checked()

    def scaled(self, factor: float) -> Duration:
        """Multiply by a number. Raises QuerySyntaxError for one that is not finite."""
        if not isfinite(factor):
            raise QuerySyntaxError(f"A duration cannot be multiplied by {factor}.")
        by = Fraction(factor) if isinstance(factor, int) else Fraction(repr(factor))
        return make_duration(self.months * by, self.days * by, self.nanos * by)

    def checked(self) -> Duration:
        """Return the duration. Raises QuerySyntaxError if it is too long."""
        if max(abs(self.months), abs(self.days), abs(self.nanos) // SECOND) > 1 << 62:
            raise QuerySyntaxError("A duration is too long.")
        return self

    def __str__(self) -> str:
        year_sign = -1 if self.months < 0 else 1
        years, months = (year_sign * n for n in divmod(abs(self.months), 12))
        dated = ((years, "Y"), (months, "M"), (self.days, "D"))
        text = "".join(f"{number}{unit}" for number, unit in dated if number)
        sign, size = ("-" if self.nanos < 0 else ""), abs(self.nanos)
        timed = ((size // HOUR, "H"), (size // MINUTE % 60, "M"))
        clock = "".join(f"{sign}{number}{unit}" for number, unit in timed if number)
        seconds, part = size // SECOND % 60, _write_part(size % SECOND)
        if seconds or part:
            clock += f"{sign}{seconds}{part}S"
        if clock:
            return f"P{text}T{clock}"
        return f"P{text}" if text else "PT0S"


_UNITS = {
    "years": ("months", 12),
    "quarters": ("months", 3),
    "months": ("months", 1),
    "weeks": ("days", 7),
    "days": ("days", 1),
    "hours": ("nanos", HOUR),
    "minutes": ("nanos", MINUTE),
    "seconds": ("nanos", SECOND),
    "milliseconds": ("nanos", 1_000_000),
    "microseconds": ("nanos", 1_000),
    "nanoseconds": ("nanos", 1),
}
"""The components of a duration: what they are part of, and how many of its units each has."""
_UNITS_OF = {
    "quartersOfYear": ("quarters", 4),
    "monthsOfQuarter": ("months", 3),
    "monthsOfYear": ("months", 12),
    "daysOfWeek": ("days", 7),
    "minutesOfHour": ("minutes", 60),
    "secondsOfMinute": ("seconds", 60),
    "millisecondsOfSecond": ("milliseconds", 1_000),
    "microsecondsOfSecond": ("microseconds", 1_000_000),
    "nanosecondsOfSecond": ("nanoseconds", SECOND),
}


def make_duration(months: Fraction, days: Fraction, nanos: Fraction) -> Duration:
    """Return a duration; fractions of months and days are converted to smaller units."""
    whole_months = int(months)
    days += (months - whole_months) * _MONTH_DAYS
    whole_days = int(days)
    nanos += (days - whole_days) * DAY
    return Duration(whole_months, whole_days, int(nanos)).checked()


def _write_part(nanos: int) -> str:
    return f".{nanos:09}".rstrip("0") if nanos else ""


def write_offset(offset: int) -> str:
    """Format an offset from UTC in seconds, "Z" for 0."""
    if offset == 0:
        return "Z"
    size = abs(offset)
    text = f"{'-' if offset < 0 else '+'}{size // 3_600:02}:{size // 60 % 60:02}"
    return text + (f":{size % 60:02}" if size % 60 else "")


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
    ordinal = min(max(days + _EPOCH, 366), date.max.toordinal() - 366)
    local = datetime.fromordinal(ordinal) + timedelta(microseconds=nanos // 1_000)
    offset = local.replace(tzinfo=find_zone(name)).utcoffset() or timedelta()
    return int(offset.total_seconds())


def in_zone(moment: Moment, zone: str) -> Moment:
    """Return the same local time in a zone."""
    days, nanos = moment.days or 0, moment.nanos or 0
    return Moment(days, nanos, zone_offset(zone, days, nanos), zone)


def shift_offset(moment: Moment, offset: int, zone: str | None = None) -> Moment:
    """Return the same instant at another offset."""
    shifted = moment.local + (offset - (moment.offset or 0)) * SECOND
    if moment.days is None:
        return Moment(None, shifted % DAY, offset)
    return Moment(*divmod(shifted, DAY), offset, zone)


def _offset_in(zone: str, moment: Moment) -> int | None:
    """Return the offset that a zone is written as, None for a named zone, which needs a date."""
    if zone[:1] in "+-Zz":
        return read_offset(zone)
    if moment.days is None:
        raise QuerySyntaxError(
            f"A time without a date cannot be in the zone `{zone[:60]}`.",
            fix="Use an offset such as +01:00.",
        )
    return None


def _place_in(moment: Moment, zone: str) -> Moment:
    """Return the same local time in a zone or at an offset."""
    offset = _offset_in(zone, moment)
    if offset is None:
        return in_zone(moment, zone)
    return Moment(moment.days, moment.nanos, offset)


def _move_to(moment: Moment, zone: str) -> Moment:
    """Return the same instant in a zone or at an offset."""
    offset = _offset_in(zone, moment)
    if offset is not None:
        return shift_offset(moment, offset)
    moved = shift_offset(moment, in_zone(moment, zone).offset or 0, zone)
    again = in_zone(moved, zone)
    return again if again.offset == moved.offset else shift_offset(moment, again.offset or 0, zone)


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


def _wrong(what: str, text: str) -> QuerySyntaxError:
    return QuerySyntaxError(f"`{text[:_MAX_TEXT_LENGTH]}` is not {what}.")


def _match(form: regex.Pattern[str], what: str, text: str) -> regex.Match[str]:
    found = form.fullmatch(text) if len(text) <= _MAX_TEXT_LENGTH else None
    if found is None:
        raise _wrong(what, text)
    return found


def read_date(text: str) -> int:
    """Return an ISO 8601 date as days from 1970-01-01. Raises QuerySyntaxError if invalid."""
    found = _match(_DATE, "a date", text).groupdict()
    part = {key: int(value) for key, value in found.items() if value is not None}
    year = part["year"]
    if "week" in part:
        return week_day(year, part["week"], part.get("weekday", 1))
    if "quarter" in part:
        first = days_since_epoch(year, part["quarter"] * 3 - 2, 1)
        return first + part.get("quarterday", 1) - 1
    if "ordinal" in part:
        return ordinal_day(year, part["ordinal"])
    return days_since_epoch(year, part.get("month", 1), part.get("day", 1))


def read_time(text: str) -> int:
    """Return a time of day as nanoseconds. Raises QuerySyntaxError if invalid."""
    found = _match(_TIME, "a time", text)
    hour, minute, second = (int(found[key] or 0) for key in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise _wrong("a time", text)
    part = int((found["part"] or "0").ljust(9, "0"))
    return hour * HOUR + minute * MINUTE + second * SECOND + part


def read_offset(text: str) -> int:
    """Return an offset from UTC as seconds. Raises QuerySyntaxError if invalid or above 18 h."""
    found = _match(_OFFSET, "an offset of time", text)
    seconds = sum(int(found[key] or 0) * size for key, size in (("h", 3_600), ("m", 60), ("s", 1)))
    if seconds > 18 * 3_600:
        raise _wrong("an offset of time", text)
    return -seconds if found["sign"] == "-" else seconds


def split_zone(text: str) -> tuple[str, str | None, str | None]:
    """Split a time into the time of day, its offset and its zone; None for missing parts."""
    zone: str | None = None
    if text.endswith("]") and "[" in text:
        text, _, zone = text[:-1].partition("[")
    place = max(text.find("Z"), text.find("z"), text.rfind("+"))
    minus = text.rfind("-")
    if place < 0 and minus > 0:
        place = minus
    return (text, None, zone) if place < 0 else (text[:place], text[place:], zone)


def read_moment(kind: str, text: str) -> Moment:
    """Parse a moment of a kind, such as "datetime". Raises QuerySyntaxError if it is invalid."""
    has = _KINDS[kind]
    if has == "d":
        return Moment(read_date(text))
    day, _, clock = text.partition("T") if "d" in has else ("", "", text)
    offset = zone = None
    if "o" in has:
        clock, offset, zone = split_zone(clock)
        if zone is not None and "d" not in has:
            raise _wrong("a time", text)
    days = read_date(day) if "d" in has else None
    nanos = read_time(clock) if clock or days is None else 0
    if zone is not None:
        return in_zone(Moment(days, nanos), zone)
    return Moment(days, nanos, (read_offset(offset) if offset else 0) if "o" in has else None)


def read_duration(text: str) -> Duration:
    """Parse an ISO 8601 duration. Raises QuerySyntaxError if invalid."""
    if len(text) <= _MAX_TEXT_LENGTH:
        if dated := _DATED.fullmatch(text):
            years, months, days, *clock = map(Fraction, dated.groups())
            return make_duration(years * 12 + months, days, _clock_length(*clock))
        found = _DURATION.fullmatch(text)
        if found is not None and any(found.groups()[1:]):
            minus, *figures = found.groups()
            part = [Fraction((figure or "0").replace(",", ".").rstrip(".")) for figure in figures]
            years, months, weeks, days, *clock = part
            sign = -1 if minus else 1
            total = (years * 12 + months) * sign, (weeks * 7 + days) * sign
            return make_duration(*total, _clock_length(*clock) * sign)
    raise _wrong("a duration", text)


def _clock_length(hours: Fraction, minutes: Fraction, seconds: Fraction) -> Fraction:
    return (hours * 3_600 + minutes * 60 + seconds) * SECOND


def between(first: Moment, second: Moment, unit: str = "") -> Duration:
    """Return the duration between two moments, in ``unit`` ("months", "days", "seconds") or in all.

    If one has no date, only the times of day are compared. A missing time is midnight.
    """
    first, second = _beside(first, second), _beside(second, first)
    if first.days is None or second.days is None:
        first, second = replace(first, days=0), replace(second, days=0)
    start, end = first.local, second.local
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


def _months_between(start: int, end: int) -> int:
    one, other = calendar_date(start // DAY), calendar_date(end // DAY)
    months = (other.year - one.year) * 12 + other.month - one.month
    before, after = (one.day, start % DAY), (other.day, end % DAY)
    if months > 0 and after < before:
        return months - 1
    return months + 1 if months < 0 and after > before else months


Parts = Mapping[str, Value]
"""The components from which a moment or duration is made, by name."""


def _whole(parts: Parts, key: str, default: int) -> int:
    value = parts.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int):
        raise QuerySyntaxError(f"`{key}` must be an integer, not {kind_of(value)}.")
    return value


def _moment(parts: Parts, *keys: str) -> Moment | None:
    for key in keys:
        value = parts.get(key)
        if isinstance(value, Moment):
            return value
        if value is not None:
            raise QuerySyntaxError(f"`{key}` must be a date or time, not {kind_of(value)}.")
    return None


def make_moment(kind: str, parts: Parts) -> Moment:
    """Return a moment of a kind from a map of its components.

    The map may contain other moments, such as ``{date: d, hour: 12}``, whose components are used
    unless the map has its own. Raises QuerySyntaxError for invalid components.
    """
    has = _KINDS[kind]
    if kind == "datetime" and not parts.keys().isdisjoint(_EPOCH_PARTS):
        nanos = sum(_whole(parts, key, 0) * size for key, size in _EPOCH_PARTS.items())
        day, rest = divmod(nanos + _whole(parts, "nanosecond", 0), DAY)
        return Moment(check_range(day), rest, 0)
    date_of, source = _moment(parts, "date", "datetime"), _moment(parts, "time", "datetime")
    days = _make_date(parts, date_of) if "d" in has else None
    local = Moment(days, _make_clock(parts, source) if "t" in has else None)
    return _with_offset(local, parts, source) if "o" in has else local


def _convert(kind: str, moment: Moment, **parts: Value) -> Moment:
    """Return a moment as another kind, without the components that it does not have."""
    has = _KINDS[kind]
    key = "date" if has == "d" else "datetime" if "d" in has else "time"
    return make_moment(kind, {**parts, key: moment})


def _with_offset(moment: Moment, parts: Parts, source: Moment | None) -> Moment:
    """Return a moment in the zone of ``timezone``, else in that of its source, else in UTC."""
    zone = parts.get("timezone")
    if zone is not None and not isinstance(zone, str):
        raise QuerySyntaxError(f"`timezone` must be a string, not {kind_of(zone)}.")
    if source is None or source.offset is None:
        return replace(moment, offset=0) if zone is None else _place_in(moment, zone)
    if zone is not None and parts.get("hour") is not None:
        return _place_in(moment, zone)
    here = replace(moment, offset=source.offset)
    if source.zone is not None and moment.days is not None:
        here = in_zone(moment, source.zone)
    return here if zone is None else _move_to(here, zone)


def _make_date(parts: Parts, source: Moment | None) -> int:
    """Return the days from 1970-01-01 of the date in a map, completed from a source."""
    base = source.days if source is not None else None
    if source is not None and base is None:
        raise QuerySyntaxError("A time has no date to take over.")
    if base is None and "year" not in parts:
        raise QuerySyntaxError("A date needs a year.")
    known = CalendarDate(0, 1, 1) if base is None else calendar_date(base)
    if "week" in parts or "dayOfWeek" in parts:
        year, week = (0, 1) if base is None else week_of(base)
        chosen = _whole(parts, "year", year), _whole(parts, "week", week)
        return week_day(*chosen, _whole(parts, "dayOfWeek", 1 if base is None else weekday(base)))
    year = _whole(parts, "year", known.year)
    if "ordinalDay" in parts:
        return ordinal_day(year, _whole(parts, "ordinalDay", 1))
    if "quarter" in parts or "dayOfQuarter" in parts:
        quarter = _whole(parts, "quarter", (known.month + 2) // 3)
        if not 1 <= quarter <= 4:
            raise QuerySyntaxError(f"Invalid quarter {quarter}: quarters are 1 to 4.")
        if base is None or "dayOfQuarter" in parts:
            first = days_since_epoch(year, quarter * 3 - 2, 1)
            return first + _whole(parts, "dayOfQuarter", 1) - 1
        return days_since_epoch(year, quarter * 3 - 2 + (known.month - 1) % 3, known.day)
    return days_since_epoch(
        year, _whole(parts, "month", known.month), _whole(parts, "day", known.day)
    )


_SECOND_PARTS = ("millisecond", "microsecond", "nanosecond")


def _make_clock(parts: Parts, source: Moment | None) -> int:
    """Return the nanoseconds of the time of day in a map, completed from a source."""
    known = Moment(nanos=(source.nanos or 0) if source is not None else 0)
    total = 0
    for key in ("hour", "minute", "second"):
        size, count = _CLOCK_PARTS[key]
        number = _whole(parts, key, known.component(key))
        if not 0 <= number < count:
            raise QuerySyntaxError(f"Invalid {key} {number}: it must be below {count}.")
        total += number * size
    given = [key for key in _SECOND_PARTS if parts.get(key) is not None]
    if not given:
        return total + int(known.component("nanosecond"))
    limit = SECOND
    for key in _SECOND_PARTS:
        size, count = _CLOCK_PARTS[key]
        number = _whole(parts, key, 0)
        if not 0 <= number < min(count, limit):
            raise QuerySyntaxError(
                f"Invalid {key} {number}: it must be below {min(count, limit):,}."
            )
        limit = size if key in given else limit
        total += number * size
    return total


def make_duration_of(parts: Parts) -> Duration:
    """Return a duration from a map of its components, which may have fractions."""
    total = {"months": Fraction(0), "days": Fraction(0), "nanos": Fraction(0)}
    for key, value in parts.items():
        if key not in _UNITS:
            raise QuerySyntaxError(
                f"Unknown component `{key}` of a duration; known: {', '.join(_UNITS)}."
            )
        if value is None:
            continue
        if not is_number(value) or not isfinite(value):
            raise QuerySyntaxError(f"`{key}` is a number, not {kind_of(value)}.")
        field, size = _UNITS[key]
        total[field] += Fraction(repr(value)) * size
    return make_duration(**total)


_YEARS = {"millennium": 1_000, "century": 100, "decade": 10, "year": 1}


def truncate(kind: str, unit: str, moment: Moment, parts: Parts) -> Moment:
    """Truncate a moment to a unit, then set the given components; return it as ``kind``."""
    if "d" in _KINDS[kind] and moment.days is None:
        raise QuerySyntaxError(f"{kind}.truncate() needs a value with a date, not a time.")
    days, nanos = moment.days, moment.nanos or 0
    if unit in _CLOCK_PARTS and unit != "nanosecond" and kind != "date":
        nanos -= nanos % _CLOCK_PARTS[unit][0]
    elif unit == "day" or days is not None:
        nanos, days = 0, None if days is None else _truncate_date(unit, days)
    else:
        raise _no_unit(unit)
    zone = parts.get("timezone")
    given = {key: value for key, value in parts.items() if key != "timezone"}
    if any(given.get(key) is not None for key in _SECOND_PARTS):
        # The larger fractions of a second stay if only smaller ones are set.
        rest = 0
        for key in _SECOND_PARTS:
            size = _CLOCK_PARTS[key][0]
            rest += _whole(given, key, nanos // size % 1_000) * size
            given.pop(key, None)
        given["nanosecond"] = rest
    found = _convert(kind, Moment(days, nanos, moment.offset, moment.zone), **given)
    return _place_in(Moment(found.days, found.nanos), zone) if isinstance(zone, str) else found


def _truncate_date(unit: str, days: int) -> int:
    year, month, _ = calendar_date(days)
    if unit == "day":
        return days
    if unit == "week":
        return days - weekday(days) + 1
    if unit == "weekYear":
        return week_day(week_of(days)[0], 1, 1)
    if unit == "month":
        return days_since_epoch(year, month, 1)
    if unit == "quarter":
        return days_since_epoch(year, (month - 1) // 3 * 3 + 1, 1)
    if unit in _YEARS:
        return days_since_epoch(year - year % _YEARS[unit], 1, 1)
    raise _no_unit(unit)


def _no_unit(unit: str) -> QuerySyntaxError:
    return QuerySyntaxError(f"A date or time cannot be truncated to `{unit[:40]}`.")


def _now(kind: str, runtime: Runtime, *_: Value) -> Moment:
    now = runtime.now
    clock = now.hour * HOUR + now.minute * MINUTE + now.second * SECOND
    nanos = clock + now.microsecond * 1_000
    return _convert(kind, Moment(now.toordinal() - _EPOCH, nanos, 0))


def _make(kind: str, runtime: Runtime, value: Value = None) -> Moment:
    if value is None or (isinstance(value, dict) and set(value) == {"timezone"}):
        return _now(kind, runtime)
    if isinstance(value, str):
        return read_moment(kind, value)
    return make_moment(kind, value) if isinstance(value, dict) else _convert(kind, value)


def _truncated(
    kind: str, runtime: Runtime, unit: str, moment: Moment | None = None, parts: Parts | None = None
) -> Moment:
    return truncate(kind, unit, moment or _now(kind, runtime), parts or {})


def _duration(value: Value) -> Duration:
    if isinstance(value, str):
        return read_duration(value)
    return make_duration_of(value) if isinstance(value, dict) else value


def _from_epoch(seconds: int, nanos: int) -> Moment:
    return make_moment("datetime", {"epochSeconds": seconds, "nanosecond": nanos})


TIMES: dict[str, Function] = {
    "duration": make_function("string|map|duration", _duration),
    "duration.between": make_function("moment moment", between),
    "duration.inDays": make_function("moment moment", partial(between, unit="days")),
    "duration.inMonths": make_function("moment moment", partial(between, unit="months")),
    "duration.inSeconds": make_function("moment moment", partial(between, unit="seconds")),
    "datetime.fromEpoch": make_function("integer integer", _from_epoch),
    "datetime.fromEpochMillis": make_function(
        "integer", lambda millis: make_moment("datetime", {"epochMillis": millis})
    ),
    "timestamp": make_function(
        "", lambda runtime: int(runtime.now.timestamp() * 1_000), runtime=True
    ),
}
for _kind in _KINDS:
    TIMES[_kind] = make_function("[string|map|moment]", partial(_make, _kind), runtime=True)
    TIMES[f"{_kind}.truncate"] = make_function(
        "string [moment] [map]", partial(_truncated, _kind), runtime=True
    )
    for _clock in ("transaction", "statement", "realtime"):
        TIMES[f"{_kind}.{_clock}"] = make_function("[any]", partial(_now, _kind), runtime=True)
