"""Functions that turn a value into one of another type."""

from __future__ import annotations

import math
from collections.abc import Callable

from knotwork.cypher.functions.signature import Function, items, plain, wrong
from knotwork.cypher.graph import Value
from knotwork.cypher.operators import text_of, whole
from knotwork.cypher.runtime import Runtime
from knotwork.cypher.values import Temporal, is_number
from knotwork.errors import QuerySyntaxError

_LONGEST_NUMBER = 400


def _to_integer(value: Value) -> Value:
    if isinstance(value, bool):
        return int(value)
    if is_number(value):
        return _truncated(value)
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _LONGEST_NUMBER or "_" in text:
            return None
        try:
            return whole(int(text))
        except (ValueError, QuerySyntaxError):
            real = _read_float(text)
            return None if real is None else _truncated(real)
    raise wrong("toInteger", value, "a number, a string or a truth value")


def _truncated(value: float) -> Value:
    if isinstance(value, int):
        return value
    return whole(int(value)) if math.isfinite(value) else None


def _read_float(text: str) -> float | None:
    if len(text) > _LONGEST_NUMBER or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _to_float(value: Value) -> Value:
    if isinstance(value, str):
        return _read_float(value.strip())
    if is_number(value):
        return float(value)
    raise wrong("toFloat", value, "a number or a string")


def _to_boolean(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    if isinstance(value, int):
        return value != 0
    raise wrong("toBoolean", value, "a string, a truth value or a whole number")


def _to_string(value: Value) -> str:
    if isinstance(value, str | bool | Temporal) or is_number(value):
        return text_of(value)
    raise wrong("toString", value, "a number, a string, a truth value or a time")


def _lenient(convert: Callable[[Value], Value]) -> Function:
    def call(value: Value) -> Value:
        try:
            return convert(value)
        except QuerySyntaxError:
            return None

    return plain(call)


def _each(name: str, convert: Callable[[Value], Value]) -> Function:
    def call(runtime: Runtime, value: Value) -> list[Value]:
        found = items(name, value)
        runtime.budget.items(len(found))
        return [None if item is None else _try(convert, item) for item in found]

    return Function(call)


def _try(convert: Callable[[Value], Value], value: Value) -> Value:
    try:
        return convert(value)
    except QuerySyntaxError:
        return None


CONVERSIONS: dict[str, Function] = {
    "toboolean": plain(_to_boolean),
    "tobooleanlist": _each("toBooleanList", _to_boolean),
    "tobooleanornull": _lenient(_to_boolean),
    "tofloat": plain(_to_float),
    "tofloatlist": _each("toFloatList", _to_float),
    "tofloatornull": _lenient(_to_float),
    "toint": plain(_to_integer),
    "tointeger": plain(_to_integer),
    "tointegerlist": _each("toIntegerList", _to_integer),
    "tointegerornull": _lenient(_to_integer),
    "tostring": plain(_to_string),
    "tostringlist": _each("toStringList", _to_string),
    "tostringornull": _lenient(_to_string),
}
