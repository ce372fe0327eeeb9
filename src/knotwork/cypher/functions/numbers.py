"""Functions of numbers."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, ROUND_UP, Decimal

from knotwork.cypher.functions.signature import Function, number, plain, string, whole_number
from knotwork.cypher.graph import Value
from knotwork.cypher.operators import whole
from knotwork.cypher.values import value_error

_MODES = {
    "UP": ROUND_UP,
    "DOWN": ROUND_DOWN,
    "CEILING": ROUND_CEILING,
    "FLOOR": ROUND_FLOOR,
    "HALF_UP": ROUND_HALF_UP,
    "HALF_DOWN": "ROUND_HALF_DOWN",
    "HALF_EVEN": "ROUND_HALF_EVEN",
}
_MOST_PLACES = 300
_random = random.SystemRandom()


def _real(name: str, work: Callable[[float], float]) -> Function:
    def call(value: Value) -> float:
        try:
            return float(work(float(number(name, value))))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return plain(call)


def _abs(value: Value) -> Value:
    found = abs(number("abs", value))
    return whole(found) if isinstance(found, int) else found


def _sign(value: Value) -> int:
    real = number("sign", value)
    return (real > 0) - (real < 0)


def _round(value: Value, places: Value = 0, mode: Value = None) -> float:
    real, count = float(number("round", value)), whole_number("round", places)
    if not math.isfinite(real) or count > _MOST_PLACES:
        return real
    if count < 0:
        raise value_error("round() takes no negative number of places.")
    if mode is None and count == 0:
        return float(math.floor(real + 0.5))
    rounding = _MODES.get("HALF_UP" if mode is None else string("round", mode).upper())
    if rounding is None:
        raise value_error(f"round() knows {', '.join(_MODES)}, not {mode}.")
    return float(Decimal(repr(real)).quantize(Decimal(1).scaleb(-count), rounding=rounding))


def _floor(value: float) -> float:
    return float(math.floor(value)) if math.isfinite(value) else value


def _ceil(value: float) -> float:
    return float(math.ceil(value)) if math.isfinite(value) else value


def _log(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _log10(value: float) -> float:
    return -math.inf if value == 0 else math.log10(value)


def _atan2(one: Value, other: Value) -> float:
    return math.atan2(number("atan2", one), number("atan2", other))


def _cot(value: float) -> float:
    tangent = math.tan(value)
    return math.copysign(math.inf, tangent) if tangent == 0 else 1 / tangent


def _is_nan(value: Value) -> bool:
    return math.isnan(number("isNaN", value))


def _haversin(value: float) -> float:
    return (1 - math.cos(value)) / 2


NUMBERS: dict[str, Function] = {
    "abs": plain(_abs),
    "acos": _real("acos", math.acos),
    "asin": _real("asin", math.asin),
    "atan": _real("atan", math.atan),
    "atan2": plain(_atan2, 2),
    "ceil": _real("ceil", _ceil),
    "ceiling": _real("ceiling", _ceil),
    "cos": _real("cos", math.cos),
    "cot": _real("cot", _cot),
    "degrees": _real("degrees", math.degrees),
    "e": plain(lambda: math.e, 0),
    "exp": _real("exp", math.exp),
    "floor": _real("floor", _floor),
    "haversin": _real("haversin", _haversin),
    "isnan": plain(_is_nan),
    "log": _real("log", _log),
    "log10": _real("log10", _log10),
    "pi": plain(lambda: math.pi, 0),
    "radians": _real("radians", math.radians),
    "rand": plain(_random.random, 0),
    "round": plain(_round, 1, 3),
    "sign": plain(_sign),
    "sin": _real("sin", math.sin),
    "sqrt": _real("sqrt", math.sqrt),
    "tan": _real("tan", math.tan),
}
