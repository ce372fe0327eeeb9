"""Define the functions of Cypher except temporal ones, and register all functions.

Functions only compute values from values. A function that is not registered is refused.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, ROUND_UP, Decimal
from difflib import get_close_matches
from sys import getsizeof

from knotwork._extensions.cypher.language.limits import SCALAR_BYTES
from knotwork._extensions.cypher.language.property_graph import (
    Element,
    GraphNode,
    GraphPath,
    GraphRelationship,
    Value,
)
from knotwork._extensions.cypher.language.runtime import (
    Function,
    Runtime,
    check_integer,
    pure,
    require_integer,
    require_list,
    require_number,
    require_string,
    text_of,
    type_error,
)
from knotwork._extensions.cypher.language.temporal_functions import TIMES
from knotwork._extensions.cypher.language.values import Temporal, is_number, order_key
from knotwork.errors import QueryRefused, QuerySyntaxError

_STRING_BYTES = 80
"""Memory of a short string."""
_MAX_TRIMMED = 1_000


def _substring(text: Value, start: Value, length: Value = None) -> str:
    written, begin = require_string("substring", text), require_integer("substring", start)
    count = len(written) if length is None else require_integer("substring", length)
    if begin < 0 or count < 0:
        raise QuerySyntaxError(
            f"substring() takes a start and a length from 0, not {begin} and {count}."
        )
    return written[begin : begin + count]


def _left(text: Value, length: Value) -> str:
    count = require_integer("left", length)
    if count < 0:
        raise QuerySyntaxError(f"left() takes a length from 0, not {count}.")
    return require_string("left", text)[:count]


def _right(text: Value, length: Value) -> str:
    count = require_integer("right", length)
    if count < 0:
        raise QuerySyntaxError(f"right() takes a length from 0, not {count}.")
    return require_string("right", text)[-count:] if count else ""


def _replace(runtime: Runtime, text: Value, old: Value, new: Value) -> str:
    written, search = require_string("replace", text), require_string("replace", old)
    other = require_string("replace", new)
    return _replaced(runtime, written, search, other)


def _replaced(runtime: Runtime, text: str, old: str, new: str) -> str:
    times = text.count(old)
    runtime.budget.check_characters(len(text) + times * max(len(new) - len(old), 0))
    return text.replace(old, new)


def _split(runtime: Runtime, text: Value, marks: Value) -> list[Value]:
    written = require_string("split", text)
    if isinstance(marks, list):
        for mark in marks[1:]:
            runtime.budget.work((len(written) >> 10) + 1)
            written = _replaced(
                runtime, written, require_string("split", mark), require_string("split", marks[0])
            )
        marks = marks[0] if marks else ""
    mark = require_string("split", marks)
    count = runtime.budget.check_items(written.count(mark) + 1 if mark else len(written))
    runtime.budget.charge(getsizeof(written) + _STRING_BYTES * count)
    return list(written.split(mark)) if mark else list(written)


def _reverse(value: Value) -> Value:
    if isinstance(value, str | list):
        return value[::-1]
    raise type_error("reverse", value, "a string or a list")


def _trim(side: str, name: str) -> Function:
    def call(_: Runtime, text: Value, letters: Value = " \t\n\r\f\v\u3000\xa0") -> str:
        written, chosen = require_string(name, text), require_string(name, letters)
        if len(chosen) > _MAX_TRIMMED and len(set(chosen)) > _MAX_TRIMMED:
            raise QueryRefused(
                f"{name}() removes at most {_MAX_TRIMMED:,} different characters at a time."
            )
        chosen = "".join(dict.fromkeys(chosen))
        if side == "left":
            return written.lstrip(chosen)
        return written.rstrip(chosen) if side == "right" else written.strip(chosen)

    return Function(call, 1, 2)


def _join(runtime: Runtime, texts: Value, mark: Value) -> str:
    words = [require_string("join", text) for text in require_list("join", texts)]
    runtime.budget.check_characters(
        sum(map(len, words)) + len(words) * len(require_string("join", mark))
    )
    return require_string("join", mark).join(words)


def _upper(text: Value) -> str:
    return require_string("toUpper", text).upper()


def _lower(text: Value) -> str:
    return require_string("toLower", text).lower()


STRINGS: dict[str, Function] = {
    "btrim": _trim("both", "btrim"),
    "join": Function(_join, 2, 2),
    "left": pure(_left, 2),
    "lower": pure(_lower),
    "ltrim": _trim("left", "ltrim"),
    "replace": Function(_replace, 3, 3),
    "reverse": pure(_reverse),
    "right": pure(_right, 2),
    "rtrim": _trim("right", "rtrim"),
    "split": Function(_split, 2, 2),
    "substring": pure(_substring, 2, 3),
    "tolower": pure(_lower),
    "toupper": pure(_upper),
    "trim": _trim("both", "trim"),
    "upper": pure(_upper),
}


_MODES = {
    "UP": ROUND_UP,
    "DOWN": ROUND_DOWN,
    "CEILING": ROUND_CEILING,
    "FLOOR": ROUND_FLOOR,
    "HALF_UP": ROUND_HALF_UP,
    "HALF_DOWN": "ROUND_HALF_DOWN",
    "HALF_EVEN": "ROUND_HALF_EVEN",
}
_MAX_PLACES = 300
_random = random.SystemRandom()


def _real(name: str, work: Callable[[float], float]) -> Function:
    def call(value: Value) -> float:
        try:
            return float(work(float(require_number(name, value))))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return pure(call, plain=True)


def _abs(value: Value) -> Value:
    found = abs(require_number("abs", value))
    return check_integer(found) if isinstance(found, int) else found


def _sign(value: Value) -> int:
    real = require_number("sign", value)
    return (real > 0) - (real < 0)


def _round(value: Value, places: Value = 0, mode: Value = None) -> float:
    real, count = float(require_number("round", value)), require_integer("round", places)
    if not math.isfinite(real) or count > _MAX_PLACES:
        return real
    if count < 0:
        raise QuerySyntaxError(f"round() takes a number of places from 0, not {count}.")
    if mode is None and count == 0:
        return float(math.floor(real + 0.5))
    rounding = _MODES.get("HALF_UP" if mode is None else require_string("round", mode).upper())
    if rounding is None:
        raise QuerySyntaxError(f"The mode of round() is {', '.join(_MODES)}, not {mode!r:.40}.")
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
    return math.atan2(require_number("atan2", one), require_number("atan2", other))


def _cot(value: float) -> float:
    tangent = math.tan(value)
    return math.copysign(math.inf, tangent) if tangent == 0 else 1 / tangent


def _is_nan(value: Value) -> bool:
    return math.isnan(require_number("isNaN", value))


def _haversin(value: float) -> float:
    return (1 - math.cos(value)) / 2


NUMBERS: dict[str, Function] = {
    "abs": pure(_abs),
    "acos": _real("acos", math.acos),
    "asin": _real("asin", math.asin),
    "atan": _real("atan", math.atan),
    "atan2": pure(_atan2, 2),
    "ceil": _real("ceil", _ceil),
    "ceiling": _real("ceiling", _ceil),
    "cos": _real("cos", math.cos),
    "cot": _real("cot", _cot),
    "degrees": _real("degrees", math.degrees),
    "e": pure(lambda: math.e, 0),
    "exp": _real("exp", math.exp),
    "floor": _real("floor", _floor),
    "haversin": _real("haversin", _haversin),
    "isnan": pure(_is_nan),
    "log": _real("log", _log),
    "log10": _real("log10", _log10),
    "pi": pure(lambda: math.pi, 0),
    "radians": _real("radians", math.radians),
    "rand": pure(_random.random, 0),
    "round": pure(_round, 1, 3),
    "sign": pure(_sign),
    "sin": _real("sin", math.sin),
    "sqrt": _real("sqrt", math.sqrt),
    "tan": _real("tan", math.tan),
}


_KEY_BYTES = 160
"""Memory of the key by which a value is sorted, and of its place."""


def _size(value: Value) -> int:
    if isinstance(value, str | list):
        return len(value)
    raise type_error("size", value, "a string or a list")


def _length(value: Value) -> int:
    if isinstance(value, GraphPath):
        return len(value.relationships)
    if isinstance(value, str | list):
        return len(value)
    raise type_error("length", value, "a path")


def _head(value: Value) -> Value:
    found = require_list("head", value)
    return found[0] if found else None


def _last(value: Value) -> Value:
    found = require_list("last", value)
    return found[-1] if found else None


def _tail(value: Value) -> list[Value]:
    return require_list("tail", value)[1:]


def _range(runtime: Runtime, start: Value, end: Value, step: Value = 1) -> list[Value]:
    first, last = require_integer("range", start), require_integer("range", end)
    by = require_integer("range", step)
    if by == 0:
        raise QuerySyntaxError("The step of range() must not be 0.")
    found = range(first, last + (1 if by > 0 else -1), by)
    count = max((found.stop - found.start + by - (1 if by > 0 else -1)) // by, 0)
    runtime.budget.charge(SCALAR_BYTES * runtime.budget.check_items(count))
    return list(found)


def _sorted(runtime: Runtime, value: Value) -> list[Value]:
    found = require_list("sort", value)
    budget = runtime.budget
    before = budget.transient
    budget.charge(_KEY_BYTES * len(found))
    keys = [order_key(item, budget.charge_part) for item in found]
    budget.check_sort((budget.transient - before) // _KEY_BYTES, len(found))
    return [found[place] for place in sorted(range(len(found)), key=keys.__getitem__)]


def _is_empty(value: Value) -> bool:
    if isinstance(value, str | list | dict):
        return not value
    raise type_error("isEmpty", value, "a string, a list or a map")


def _coalesce(_: Runtime, *values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _null_if(one: Value, other: Value) -> Value:
    return None if one == other else one


LISTS: dict[str, Function] = {
    "coalesce": Function(_coalesce, 1, 1_000, takes_null=True),
    "coll.sort": Function(_sorted),
    "head": pure(_head, plain=True),
    "isempty": pure(_is_empty, plain=True),
    "last": pure(_last, plain=True),
    "length": pure(_length, plain=True),
    "nullif": pure(_null_if, 2),
    "range": Function(_range, 2, 3),
    "size": pure(_size, plain=True),
    "tail": pure(_tail),
}


def _labels(value: Value) -> list[Value]:
    if isinstance(value, GraphNode):
        return list(value.labels)
    raise type_error("labels", value, "a node")


def _type(value: Value) -> str:
    if isinstance(value, GraphRelationship):
        return value.type
    raise type_error("type", value, "a relationship")


def _properties(value: Value) -> dict[str, Value]:
    if isinstance(value, Element):
        return dict(value.properties)
    if isinstance(value, dict):
        return dict(value)
    raise type_error("properties", value, "a node, a relationship or a map")


def _keys(value: Value) -> list[Value]:
    if isinstance(value, Element):
        return list(value.properties)
    if isinstance(value, dict):
        return list(value)
    raise type_error("keys", value, "a node, a relationship or a map")


def _id(value: Value) -> int:
    if isinstance(value, Element):
        return value.index
    raise type_error("id", value, "a node or a relationship")


def element_id(runtime: Runtime, value: Value) -> str:
    """Return the id of a node or relationship in the source of the graph."""
    if isinstance(value, GraphNode):
        return value.id
    if isinstance(value, GraphRelationship):
        return runtime.graph.relationship_id(value.index)
    raise type_error("elementId", value, "a node or a relationship")


def _nodes(value: Value) -> list[Value]:
    if isinstance(value, GraphPath):
        return list(value.nodes)
    raise type_error("nodes", value, "a path")


def _relationships(value: Value) -> list[Value]:
    if isinstance(value, GraphPath):
        return list(value.relationships)
    raise type_error("relationships", value, "a path")


def _start_node(runtime: Runtime, value: Value) -> GraphNode:
    if isinstance(value, GraphRelationship):
        return runtime.graph.nodes[value.source]
    raise type_error("startNode", value, "a relationship")


def _end_node(runtime: Runtime, value: Value) -> GraphNode:
    if isinstance(value, GraphRelationship):
        return runtime.graph.nodes[value.target]
    raise type_error("endNode", value, "a relationship")


def _exists(_: Runtime, value: Value) -> bool:
    return value is not None


ELEMENTS: dict[str, Function] = {
    "elementid": Function(element_id),
    "endnode": Function(_end_node, plain=True),
    "exists": Function(_exists, takes_null=True),
    "id": pure(_id, plain=True),
    "keys": pure(_keys),
    "labels": pure(_labels),
    "nodes": pure(_nodes),
    "properties": pure(_properties),
    "relationships": pure(_relationships),
    "rels": pure(_relationships),
    "startnode": Function(_start_node, plain=True),
    "type": pure(_type, plain=True),
}


_MAX_NUMBER_LENGTH = 400


def _to_integer(value: Value) -> Value:
    if isinstance(value, bool):
        return int(value)
    if is_number(value):
        return _truncated(value)
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _MAX_NUMBER_LENGTH or "_" in text:
            return None
        try:
            return check_integer(int(text))
        except (ValueError, QuerySyntaxError):
            real = _read_float(text)
            return None if real is None else _truncated(real)
    raise type_error("toInteger", value, "a number, a string or a boolean")


def _truncated(value: float) -> Value:
    if isinstance(value, int):
        return value
    return check_integer(int(value)) if math.isfinite(value) else None


def _read_float(text: str) -> float | None:
    if len(text) > _MAX_NUMBER_LENGTH or "_" in text:
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
    raise type_error("toFloat", value, "a number or a string")


def _to_boolean(value: Value) -> Value:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    if isinstance(value, int):
        return value != 0
    raise type_error("toBoolean", value, "a string, a boolean or an integer")


def _to_string(value: Value) -> str:
    if isinstance(value, str | bool | Temporal) or is_number(value):
        return text_of(value)
    raise type_error("toString", value, "a number, a string, a boolean or a time")


def _lenient(convert: Callable[[Value], Value]) -> Function:
    return pure(lambda value: _try_convert(convert, value))


def _each_item(name: str, convert: Callable[[Value], Value]) -> Function:
    def call(runtime: Runtime, value: Value) -> list[Value]:
        found = require_list(name, value)
        runtime.budget.charge(_STRING_BYTES * len(found))
        return [None if item is None else _try_convert(convert, item) for item in found]

    return Function(call)


def _try_convert(convert: Callable[[Value], Value], value: Value) -> Value:
    """Return a converted value, null if the conversion does not accept its type."""
    try:
        return convert(value)
    except QuerySyntaxError:
        return None


CONVERSIONS: dict[str, Function] = {
    "toboolean": pure(_to_boolean),
    "tobooleanlist": _each_item("toBooleanList", _to_boolean),
    "tobooleanornull": _lenient(_to_boolean),
    "tofloat": pure(_to_float),
    "tofloatlist": _each_item("toFloatList", _to_float),
    "tofloatornull": _lenient(_to_float),
    "toint": pure(_to_integer),
    "tointeger": pure(_to_integer),
    "tointegerlist": _each_item("toIntegerList", _to_integer),
    "tointegerornull": _lenient(_to_integer),
    "tostring": pure(_to_string),
    "tostringlist": _each_item("toStringList", _to_string),
    "tostringornull": _lenient(_to_string),
}


_FUNCTIONS: dict[str, Function] = {
    **CONVERSIONS,
    **ELEMENTS,
    **LISTS,
    **NUMBERS,
    **STRINGS,
    **TIMES,
}
_VENDORS = ("apoc.", "gds.", "db.", "dbms.", "tx.", "genai.", "vector.", "algo.", "graph.")


def find_function(name: str, count: int) -> Function:
    """Return the function with a name in lower case, for ``count`` arguments.

    Raises QueryRefused for an unknown function, QuerySyntaxError for a wrong number of arguments.
    """
    found = _FUNCTIONS.get(name)
    if found is None:
        if name.startswith(_VENDORS):
            raise QueryRefused(f"`{name}()` is specific to another database, and not supported.")
        near = get_close_matches(name, _FUNCTIONS, n=1)
        raise QueryRefused(
            f"Unknown or unsupported function `{name}()`.",
            fix=f"Did you mean `{near[0]}()`?" if near else "",
        )
    if not found.least <= count <= found.most:
        wanted = f"{found.least}" if found.least == found.most else f"{found.least}-{found.most}"
        raise QuerySyntaxError(
            f"{name}() takes {wanted} argument{'s' * (wanted != '1')}, not {count}."
        )
    return found
