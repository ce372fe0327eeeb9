"""Define the functions of dates, times and durations: construct, truncate and compare them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from knotwork._extensions.cypher.language.property_graph import Value
from knotwork._extensions.cypher.language.runtime import (
    Function,
    Runtime,
    require_integer,
    require_string,
    type_error,
)
from knotwork._extensions.cypher.language.temporal import (
    DAY,
    SECOND,
    Duration,
    Moment,
    between,
    calendar_date,
    check_range,
    days_since_epoch,
    find_zone,
    in_zone,
    make_duration,
    ordinal_day,
    read_duration,
    read_moment,
    read_offset,
    shift_offset,
    week_day,
    week_of,
    weekday,
)
from knotwork._extensions.cypher.language.values import is_number, kind_of
from knotwork.errors import QuerySyntaxError

_KINDS = ("date", "localtime", "time", "localdatetime", "datetime")
_EPOCH_DAY = 719_163


def _now(runtime: Runtime, kind: str) -> Moment:
    now = runtime.now
    nanos = (now.hour * 3_600 + now.minute * 60 + now.second) * 1_000_000_000
    nanos += now.microsecond * 1_000
    return _as(kind, Moment(now.toordinal() - _EPOCH_DAY, nanos, 0))


def _as(kind: str, moment: Moment) -> Moment:
    """Convert a moment to a kind, dropping the components that the kind does not have."""
    return make_moment(kind, _sources(kind, moment))


def _sources(kind: str, moment: Moment) -> dict[str, Value]:
    """Return a moment as the map from which `make_moment` takes the components of a kind."""
    if kind == "date":
        return {"date": moment}
    return {"time" if kind in ("localtime", "time") else "datetime": moment}


def _maker(kind: str) -> Function:
    def call(runtime: Runtime, value: Value = None) -> Moment:
        if value is None:
            return _now(runtime, kind)
        if isinstance(value, str):
            return read_moment(kind, value)
        if isinstance(value, dict):
            if set(value) == {"timezone"}:
                return _now(runtime, kind)
            return make_moment(kind, value)
        if isinstance(value, Moment):
            return _as(kind, value)
        raise type_error(kind, value, "a string, a map, a date or a time")

    return Function(call, 0, 1)


def _clock(kind: str) -> Function:
    return Function(lambda runtime, *_: _now(runtime, kind), 0, 1)


def _truncate(kind: str) -> Function:
    def call(runtime: Runtime, unit: Value, moment: Value = None, parts: Value = None) -> Moment:
        chosen = _now(runtime, kind) if moment is None else moment
        if not isinstance(chosen, Moment):
            raise type_error(f"{kind}.truncate", moment, "a date or time")
        given = {} if parts is None else parts
        if not isinstance(given, dict):
            raise type_error(f"{kind}.truncate", parts, "a map")
        return truncate(kind, require_string(f"{kind}.truncate", unit), chosen, given)

    return Function(call, 1, 3)


def _duration(_: Runtime, value: Value) -> Duration:
    if isinstance(value, str):
        return read_duration(value)
    if isinstance(value, dict):
        return make_duration_of(value)
    if isinstance(value, Duration):
        return value
    raise type_error("duration", value, "a string or a map")


def _between(unit: str) -> Function:
    def call(_: Runtime, first: Value, second: Value) -> Duration:
        for value in (first, second):
            if not isinstance(value, Moment):
                raise type_error("duration.between", value, "dates or times")
        return between(first, second, unit)

    return Function(call, 2, 2)


def _from_epoch(_: Runtime, seconds: Value, nanos: Value) -> Moment:
    parts = {
        "epochSeconds": require_integer("datetime.fromEpoch", seconds),
        "nanosecond": require_integer("datetime.fromEpoch", nanos),
    }
    return make_moment("datetime", parts)


def _from_epoch_millis(_: Runtime, millis: Value) -> Moment:
    return make_moment("datetime", {"epochMillis": require_integer("fromEpochMillis", millis)})


def _timestamp(runtime: Runtime) -> int:
    return int(runtime.now.timestamp() * 1_000)


def _all_kinds(name: str, make: Callable[[str], Function]) -> dict[str, Function]:
    return {f"{kind}{name}": make(kind) for kind in _KINDS}


TIMES: dict[str, Function] = {
    **_all_kinds("", _maker),
    **_all_kinds(".truncate", _truncate),
    **_all_kinds(".transaction", _clock),
    **_all_kinds(".statement", _clock),
    **_all_kinds(".realtime", _clock),
    "datetime.fromepoch": Function(_from_epoch, 2, 2),
    "datetime.fromepochmillis": Function(_from_epoch_millis),
    "duration": Function(_duration),
    "duration.between": _between(""),
    "duration.indays": _between("days"),
    "duration.inmonths": _between("months"),
    "duration.inseconds": _between("seconds"),
    "timestamp": Function(_timestamp, 0, 0),
}


_CLOCK = (("hour", 24), ("minute", 60), ("second", 60))
_PARTS = (
    ("millisecond", 1_000, 1_000_000),
    ("microsecond", 1_000_000, 1_000),
    ("nanosecond", SECOND, 1),
)
_DURATION = {
    "years": ("m", 12),
    "quarters": ("m", 3),
    "months": ("m", 1),
    "weeks": ("d", 7),
    "days": ("d", 1),
    "hours": ("n", 3_600 * SECOND),
    "minutes": ("n", 60 * SECOND),
    "seconds": ("n", SECOND),
    "milliseconds": ("n", 1_000_000),
    "microseconds": ("n", 1_000),
    "nanoseconds": ("n", 1),
}
_DATE_UNITS = {"millennium": 1_000, "century": 100, "decade": 10, "year": 1}
_CLOCK_UNITS = {
    "hour": 3_600 * SECOND,
    "minute": 60 * SECOND,
    "second": SECOND,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
}

Parts = Mapping[str, Value]


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


def _of_epoch(parts: Parts) -> Moment:
    nanos = _whole(parts, "epochSeconds", 0) * SECOND
    nanos += _whole(parts, "epochMillis", 0) * 1_000_000 + _whole(parts, "nanosecond", 0)
    days, rest = divmod(nanos, DAY)
    return Moment(check_range(days), rest, 0)


def make_moment(kind: str, parts: Parts) -> Moment:
    """Return a moment of a kind from a map of its components.

    The map may contain other moments, such as ``{date: d, hour: 12}``, whose components are used
    unless the map has its own. Raises QuerySyntaxError for invalid components.
    """
    if kind == "datetime" and ("epochSeconds" in parts or "epochMillis" in parts):
        return _of_epoch(parts)
    has_date = kind in ("date", "localdatetime", "datetime")
    has_clock = kind != "date"
    days = _make_date(parts, _moment(parts, "date", "datetime")) if has_date else None
    source = _moment(parts, "time", "datetime")
    nanos = _make_clock(parts, source) if has_clock else None
    if kind in ("date", "localtime", "localdatetime"):
        return Moment(days, nanos)
    return _with_offset(Moment(days, nanos), parts, source)


def _with_offset(moment: Moment, parts: Parts, source: Moment | None) -> Moment:
    """Return a moment in the zone of ``timezone``, else in that of its source, else in UTC."""
    zone = parts.get("timezone")
    known = source is not None and source.offset is not None
    if zone is None:
        if source is None or source.offset is None:
            return Moment(moment.days, moment.nanos, 0)
        if source.zone is not None and moment.days is not None:
            return in_zone(moment, source.zone)
        return Moment(moment.days, moment.nanos, source.offset)
    if not isinstance(zone, str):
        raise QuerySyntaxError(f"`timezone` must be a string, not {kind_of(zone)}.")
    if known and parts.get("hour") is None and source is not None:
        here = Moment(moment.days, moment.nanos, source.offset)
        if source.zone is not None and moment.days is not None:
            here = in_zone(here, source.zone)
        return _move_to(here, zone)
    return _place_in(moment, zone)


def _is_offset(zone: str) -> bool:
    return zone[:1] in "+-Zz"


def _place_in(moment: Moment, zone: str) -> Moment:
    """Return the same local time in a zone or at an offset."""
    if _is_offset(zone):
        return Moment(moment.days, moment.nanos, read_offset(zone))
    if moment.days is None:
        raise _zone_without_date(zone)
    find_zone(zone)
    return in_zone(moment, zone)


def _zone_without_date(zone: str) -> QuerySyntaxError:
    return QuerySyntaxError(
        f"A time without a date cannot be in the zone `{zone[:60]}`.",
        fix="Use an offset such as +01:00.",
    )


def _move_to(moment: Moment, zone: str) -> Moment:
    """Return the same instant in a zone or at an offset."""
    if _is_offset(zone):
        return shift_offset(moment, read_offset(zone))
    if moment.days is None:
        raise _zone_without_date(zone)
    guess = in_zone(moment, zone)
    moved = shift_offset(moment, guess.offset or 0, zone)
    again = in_zone(moved, zone)
    return again if again.offset == moved.offset else shift_offset(moment, again.offset or 0, zone)


def _make_date(parts: Parts, source: Moment | None) -> int:
    """Return the days from 1970-01-01 of the date in a map, completed from a source."""
    base = source.days if source is not None else None
    if source is not None and base is None:
        raise QuerySyntaxError("A time has no date to take over.")
    if base is None and "year" not in parts:
        raise QuerySyntaxError("A date needs a year.")
    known = calendar_date(base or 0)
    if "week" in parts or "dayOfWeek" in parts:
        year, week = week_of(base) if base is not None else (0, 1)
        day = weekday(base) if base is not None else 1
        chosen = (_whole(parts, "year", year), _whole(parts, "week", week))
        return week_day(*chosen, _whole(parts, "dayOfWeek", day))
    year = _whole(parts, "year", known.year)
    if "ordinalDay" in parts:
        return ordinal_day(year, _whole(parts, "ordinalDay", 1))
    if "quarter" in parts or "dayOfQuarter" in parts:
        return _quarter_date(parts, base, year)
    month = _whole(parts, "month", known.month if base is not None else 1)
    return days_since_epoch(year, month, _whole(parts, "day", known.day if base is not None else 1))


def _quarter_date(parts: Parts, base: int | None, year: int) -> int:
    found = Moment(days=base or 0)
    quarter = _whole(parts, "quarter", found.component("quarter"))
    if not 1 <= quarter <= 4:
        raise QuerySyntaxError(f"Invalid quarter {quarter}: quarters are 1 to 4.")
    first = days_since_epoch(year, quarter * 3 - 2, 1)
    if base is None or "dayOfQuarter" in parts:
        return first + _whole(parts, "dayOfQuarter", 1) - 1
    known = calendar_date(base)
    return days_since_epoch(year, quarter * 3 - 2 + (known.month - 1) % 3, known.day)


def _make_clock(parts: Parts, source: Moment | None) -> int:
    """Return the nanoseconds of the time of day in a map, completed from a source."""
    base = (source.nanos or 0) if source is not None else 0
    seconds, rest = divmod(base, SECOND)
    figures = (seconds // 3_600, seconds // 60 % 60, seconds % 60)
    total = 0
    for (key, size), known in zip(_CLOCK, figures, strict=True):
        number = _whole(parts, key, known)
        if not 0 <= number < size:
            raise QuerySyntaxError(f"Invalid {key} {number}: it must be below {size}.")
        total = total * 60 + number
    given = [key for key, _, _ in _PARTS if parts.get(key) is not None]
    if given:
        rest, limit = 0, SECOND
        for key, size, nanos in _PARTS:
            number = _whole(parts, key, 0)
            if not 0 <= number < min(size, limit):
                raise QuerySyntaxError(
                    f"Invalid {key} {number}: it must be below {min(size, limit):,}."
                )
            if key in given:
                limit = nanos
            rest += number * nanos
    return total * SECOND + rest


def make_duration_of(parts: Parts) -> Duration:
    """Return a duration from a map of its components, which may have fractions."""
    total = {"m": Fraction(0), "d": Fraction(0), "n": Fraction(0)}
    for key, value in parts.items():
        unit = _DURATION.get(key)
        if unit is None:
            raise QuerySyntaxError(
                f"Unknown component `{key}` of a duration; known: {', '.join(_DURATION)}."
            )
        if value is None:
            continue
        if not is_number(value) or value in (float("inf"), float("-inf")) or value != value:  # noqa: PLR0124
            raise QuerySyntaxError(f"`{key}` is a number, not {kind_of(value)}.")
        total[unit[0]] += Fraction(repr(value)) * unit[1]
    return make_duration(total["m"], total["d"], total["n"])


def truncate(kind: str, unit: str, moment: Moment, parts: Parts) -> Moment:
    """Truncate a moment to a unit, then set the given components; return it as ``kind``."""
    if kind in ("date", "localdatetime", "datetime") and moment.days is None:
        raise QuerySyntaxError(f"{kind}.truncate() needs a value with a date, not a time.")
    days, nanos = moment.days, moment.nanos or 0
    if unit in _CLOCK_UNITS and kind != "date":
        nanos -= nanos % _CLOCK_UNITS[unit]
    elif unit == "day" or days is not None:
        nanos, days = 0, None if days is None else _truncate_date(unit, days)
    else:
        raise _no_unit(unit)
    offset, zone = moment.offset, moment.zone
    base = Moment(days, nanos, offset, zone)
    rest = {key: value for key, value in parts.items() if key != "timezone"}
    rest = _keep_small(rest, nanos)
    found = make_moment(kind, {**rest, **_sources(kind, base)})
    if "timezone" in parts and isinstance(parts["timezone"], str):
        return _place_in(Moment(found.days, found.nanos), parts["timezone"])
    return found


def _keep_small(parts: dict[str, Value], nanos: int) -> dict[str, Value]:
    """Keep larger fractions of a second, as milliseconds, if only smaller ones are set."""
    if not any(parts.get(key) is not None for key, _, _ in _PARTS):
        return parts
    rest = nanos % SECOND
    kept = {
        "millisecond": rest // 1_000_000,
        "microsecond": rest // 1_000 % 1_000,
        "nanosecond": rest % 1_000,
    }
    total = sum(_whole(parts, key, kept[key]) * size for key, _, size in _PARTS)
    others = {key: value for key, value in parts.items() if key not in kept}
    return {**others, "nanosecond": total}


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
    if unit in _DATE_UNITS:
        return days_since_epoch(year - year % _DATE_UNITS[unit], 1, 1)
    raise _no_unit(unit)


def _no_unit(unit: str) -> QuerySyntaxError:
    return QuerySyntaxError(f"A date or time cannot be truncated to `{unit[:40]}`.")
