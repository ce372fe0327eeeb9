"""Adding, subtracting and scaling dates, times and durations, and what lies between two."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

from knotwork.cypher.moment_texts import make_duration
from knotwork.cypher.moments import (
    DAY,
    SECOND,
    Civil,
    Duration,
    Moment,
    civil,
    days_of,
    month_length,
    truncated,
    zone_offset,
)
from knotwork.cypher.values import Temporal, kind_of, value_error
from knotwork.errors import QuerySyntaxError


def _cannot(sign: str, left: Temporal, right: Temporal) -> QuerySyntaxError:
    return value_error(f"`{sign}` cannot work on {kind_of(left)} and {kind_of(right)}.")


def add_temporal(left: Temporal, right: Temporal) -> Temporal:
    """Add a duration to a date or time, or to another duration."""
    if isinstance(left, Duration) and isinstance(right, Duration):
        return Duration(
            left.months + right.months, left.days + right.days, left.nanos + right.nanos
        )
    if isinstance(left, Duration) and isinstance(right, Moment):
        return _move(right, left)
    if isinstance(left, Moment) and isinstance(right, Duration):
        return _move(left, right)
    raise _cannot("+", left, right)


def subtract_temporal(left: Temporal, right: Temporal) -> Temporal:
    """Take a duration from a date or time, or from another duration."""
    if not isinstance(right, Duration):
        raise _cannot("-", left, right)
    return add_temporal(left, Duration(-right.months, -right.days, -right.nanos))


def scale_duration(value: Temporal, factor: float) -> Temporal:
    """Multiply a duration."""
    if not isinstance(value, Duration) or not isfinite(factor):
        raise value_error(f"{kind_of(value)} cannot be multiplied by {factor}.".capitalize())
    by = Fraction(factor) if isinstance(factor, int) else Fraction(repr(factor))
    return make_duration(value.months * by, value.days * by, value.nanos * by)


def add_months(days: int, months: int) -> int:
    """Return a day some months later, or the last of that month."""
    found = civil(days)
    year, month = divmod(found.year * 12 + found.month - 1 + months, 12)
    return days_of(year, month + 1, min(found.day, month_length(year, month + 1)))


def _move(moment: Moment, by: Duration) -> Moment:
    days = moment.days
    if days is not None:
        days = add_months(days, by.months) + by.days
        if moment.nanos is None:
            return Moment(_near(days + truncated(by.nanos, DAY)))
    nanos = (moment.nanos or 0) + by.nanos
    if days is None:
        return Moment(None, nanos % DAY, moment.offset)
    later, nanos = divmod(nanos, DAY)
    found = Moment(_near(days + later), nanos, moment.offset)
    if moment.zone is None:
        return found
    if by.nanos == 0 or moment.offset is None:
        return in_zone(found, moment.zone)
    return shift_offset(found, zone_offset(moment.zone, found.days or 0, nanos), moment.zone)


def _near(days: int) -> int:
    if abs(days) > 366 * 999_999_999:
        raise value_error("A date is too far away.")
    return days


def in_zone(moment: Moment, zone: str) -> Moment:
    """Return the same local time, in a zone."""
    days, nanos = moment.days or 0, moment.nanos or 0
    return Moment(days, nanos, zone_offset(zone, days, nanos), zone)


def shift_offset(moment: Moment, offset: int, zone: str | None = None) -> Moment:
    """Return the same instant, at another offset."""
    nanos = (moment.nanos or 0) + (offset - (moment.offset or 0)) * SECOND
    if moment.days is None:
        return Moment(None, nanos % DAY, offset)
    later, nanos = divmod(nanos, DAY)
    return Moment(moment.days + later, nanos, offset, zone)


def between(first: Moment, second: Moment, unit: str = "") -> Duration:
    """Return what lies between two moments, in ``unit`` (months, days, seconds) or all of them.

    Where one has no date, only times of day count; where one has no time, it is midnight.
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
    """Put a moment without an offset into the zone of the other, whose clocks may be changed."""
    if moment.offset is not None or other.zone is None:
        return moment
    days = other.days if moment.days is None else moment.days
    return in_zone(Moment(days, moment.nanos or 0), other.zone)


def _local(moment: Moment) -> int:
    return (moment.days or 0) * DAY + (moment.nanos or 0)


def _months_between(start: int, end: int) -> int:
    one, other = civil(start // DAY), civil(end // DAY)
    months = (other.year - one.year) * 12 + other.month - one.month
    before, after = _in_month(one, start), _in_month(other, end)
    if months > 0 and after < before:
        return months - 1
    return months + 1 if months < 0 and after > before else months


def _in_month(day: Civil, nanos: int) -> tuple[int, int]:
    return day.day, nanos % DAY
