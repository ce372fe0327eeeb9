"""Dates, times and durations as ISO 8601 has them, read and written."""

from __future__ import annotations

from fractions import Fraction

import regex

from knotwork.cypher.moments import (
    SECOND,
    Duration,
    Moment,
    civil,
    days_of,
    find_zone,
    month_length,
    weekday,
    zone_offset,
)
from knotwork.cypher.values import value_error
from knotwork.errors import QuerySyntaxError

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
_LONGEST = 80
_MONTH_DAYS = Fraction(2_629_746, 86_400)


def _wrong(what: str, text: str) -> QuerySyntaxError:
    return value_error(f"`{text[:_LONGEST]}` is not {what}.")


def read_date(text: str) -> int:
    """Return the days since 1970 of a date. Raises QuerySyntaxError for what is none."""
    found = _DATE.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise _wrong("a date", text)
    part = {key: int(value) for key, value in found.groupdict().items() if value is not None}
    year = part["year"]
    if "week" in part:
        return week_day(year, part["week"], part.get("weekday", 1))
    if "quarter" in part:
        first = days_of(year, part["quarter"] * 3 - 2, 1)
        return first + part.get("quarterday", 1) - 1
    if "ordinal" in part:
        return ordinal_day(year, part["ordinal"])
    return days_of(year, part.get("month", 1), part.get("day", 1))


def week_day(year: int, week: int, day: int) -> int:
    """Return a day by its week. Raises QuerySyntaxError for one that is not there."""
    fourth = days_of(year, 1, 4)
    found = fourth - weekday(fourth) + 7 * (week - 1) + day
    if not 1 <= day <= 7 or not 1 <= week <= 53:
        raise value_error(f"There is no day {day} of week {week}.")
    return found


def ordinal_day(year: int, day: int) -> int:
    """Return a day by its number in the year. Raises QuerySyntaxError for one that is not there."""
    if not 1 <= day <= 365 + (month_length(year, 2) == 29):
        raise value_error(f"The year {year} has no day {day}.")
    return days_of(year, 1, 1) + day - 1


def read_time(text: str) -> int:
    """Return the nanoseconds of a time of day. Raises QuerySyntaxError for what is none."""
    found = _TIME.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise _wrong("a time", text)
    hour, minute, second = (int(found[key] or 0) for key in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise _wrong("a time", text)
    return (hour * 3_600 + minute * 60 + second) * SECOND + int(
        (found["part"] or "0").ljust(9, "0")
    )


def read_offset(text: str) -> int:
    """Return the seconds of an offset from UTC. Raises QuerySyntaxError for what is none."""
    found = _OFFSET.fullmatch(text) if len(text) <= _LONGEST else None
    if found is None:
        raise _wrong("an offset of time", text)
    seconds = sum(int(found[key] or 0) * size for key, size in (("h", 3_600), ("m", 60), ("s", 1)))
    if seconds > 18 * 3_600:
        raise _wrong("an offset of time", text)
    return -seconds if found["sign"] == "-" else seconds


def split_zone(text: str) -> tuple[str, str | None, str | None]:
    """Return a time without its offset, the offset and the zone, where there are any."""
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
    """Return a moment of a kind: date, localtime, time, localdatetime or datetime."""
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
    """Return a duration, fractions of months and days passing on to what is smaller."""
    whole_months = int(months)
    days += (months - whole_months) * _MONTH_DAYS
    whole_days = int(days)
    nanos += (days - whole_days) * 86_400 * SECOND
    if max(abs(whole_months), abs(whole_days), abs(nanos) // SECOND) > 1 << 62:
        raise value_error("A duration is too long.")
    return Duration(whole_months, whole_days, int(nanos))


def read_duration(text: str) -> Duration:
    """Return a duration. Raises QuerySyntaxError for what is none."""
    if len(text) <= _LONGEST:
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
    """Write a date, a time or both."""
    day = "" if moment.days is None else _write_day(moment.days)
    clock = "" if moment.nanos is None else _write_clock(moment.nanos)
    offset = "" if moment.offset is None else write_offset(moment.offset)
    zone = f"[{moment.zone}]" if moment.zone else ""
    return ("T".join(part for part in (day, clock) if part)) + offset + zone


def _write_day(days: int) -> str:
    year, month, day = civil(days)
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
    """Write an offset from UTC."""
    if offset == 0:
        return "Z"
    size = abs(offset)
    text = f"{'-' if offset < 0 else '+'}{size // 3_600:02}:{size // 60 % 60:02}"
    return text + (f":{size % 60:02}" if size % 60 else "")


def write_duration(duration: Duration) -> str:
    """Write a duration, each part with its own sign."""
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
