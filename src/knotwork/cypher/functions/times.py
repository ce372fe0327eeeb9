"""Functions of dates, times and durations."""

from __future__ import annotations

from collections.abc import Callable

from knotwork.cypher.functions.signature import Function, string, whole_number, wrong
from knotwork.cypher.graph import Value
from knotwork.cypher.moment_making import make_duration_of, make_moment, truncate
from knotwork.cypher.moment_texts import read_duration, read_moment
from knotwork.cypher.moments import Duration, Moment
from knotwork.cypher.runtime import Runtime
from knotwork.cypher.temporal_arithmetic import between

_KINDS = ("date", "localtime", "time", "localdatetime", "datetime")
_EPOCH_DAY = 719_163


def _now(runtime: Runtime, kind: str) -> Moment:
    now = runtime.now
    nanos = (now.hour * 3_600 + now.minute * 60 + now.second) * 1_000_000_000
    nanos += now.microsecond * 1_000
    return _as(kind, Moment(now.toordinal() - _EPOCH_DAY, nanos, 0))


def _as(kind: str, moment: Moment) -> Moment:
    """Return what a moment has of a kind."""
    return make_moment(kind, {"date": moment} if kind == "date" else _sources(kind, moment))


def _sources(kind: str, moment: Moment) -> dict[str, Value]:
    if kind in ("localtime", "time"):
        return {"time": moment}
    return {"datetime": moment}


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
        raise wrong(kind, value, "a string, a map, a date or a time")

    return Function(call, 0, 1)


def _clock(kind: str) -> Function:
    return Function(lambda runtime, *_: _now(runtime, kind), 0, 1)


def _truncate(kind: str) -> Function:
    def call(runtime: Runtime, unit: Value, moment: Value = None, parts: Value = None) -> Moment:
        chosen = _now(runtime, kind) if moment is None else moment
        if not isinstance(chosen, Moment):
            raise wrong(f"{kind}.truncate", moment, "a date or time")
        given = {} if parts is None else parts
        if not isinstance(given, dict):
            raise wrong(f"{kind}.truncate", parts, "a map")
        return truncate(kind, string(f"{kind}.truncate", unit), chosen, given)

    return Function(call, 1, 3)


def _duration(_: Runtime, value: Value) -> Duration:
    if isinstance(value, str):
        return read_duration(value)
    if isinstance(value, dict):
        return make_duration_of(value)
    if isinstance(value, Duration):
        return value
    raise wrong("duration", value, "a string or a map")


def _between(unit: str) -> Function:
    def call(_: Runtime, first: Value, second: Value) -> Duration:
        for value in (first, second):
            if not isinstance(value, Moment):
                raise wrong("duration.between", value, "dates or times")
        return between(first, second, unit)

    return Function(call, 2, 2)


def _from_epoch(_: Runtime, seconds: Value, nanos: Value) -> Moment:
    parts = {
        "epochSeconds": whole_number("datetime.fromEpoch", seconds),
        "nanosecond": whole_number("datetime.fromEpoch", nanos),
    }
    return make_moment("datetime", parts)


def _from_epoch_millis(_: Runtime, millis: Value) -> Moment:
    return make_moment("datetime", {"epochMillis": whole_number("fromEpochMillis", millis)})


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
