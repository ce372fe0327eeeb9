"""The functions of Cypher: a table of their arguments' types and what they compute.

Functions only compute values from values. A function that is not in the table is refused.
"""

from __future__ import annotations

import decimal
import math
import operator
import random
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from sys import getsizeof

from knotwork._extensions.cypher.language.limits import SCALAR_BYTES
from knotwork._extensions.cypher.language.property_graph import Element, GraphNode, GraphPath, Value
from knotwork._extensions.cypher.language.runtime import (
    Function,
    Runtime,
    check_integer,
    make_function,
    require_string,
    text_of,
)
from knotwork._extensions.cypher.language.times import TIMES
from knotwork._extensions.cypher.language.values import order_key
from knotwork.errors import QueryRefused, QuerySyntaxError

_STRING_BYTES = 80
"""Memory of a short string."""
_KEY_BYTES = 160
"""Memory of the key by which a value is sorted, and of its place."""
_MAX_TRIMMED = 1_000
_MAX_PLACES = 300
_MAX_NUMBER_LENGTH = 400
_ELEMENT = "node|relationship"
_random = random.SystemRandom()


def _require_counts(name: str, what: str, *counts: int) -> None:
    if min(counts) < 0:
        shown = " and ".join(map(str, counts))
        raise QuerySyntaxError(f"{name}() takes {what} from 0, not {shown}.")


def _substring(text: str, start: int, length: int | None = None) -> str:
    count = len(text) if length is None else length
    _require_counts("substring", "a start and a length", start, count)
    return text[start : start + count]


def _left(text: str, length: int) -> str:
    _require_counts("left", "a length", length)
    return text[:length]


def _right(text: str, length: int) -> str:
    _require_counts("right", "a length", length)
    return text[-length:] if length else ""


def _replace(runtime: Runtime, text: str, old: str, new: str) -> str:
    times = text.count(old)
    runtime.budget.check_characters(len(text) + times * max(len(new) - len(old), 0))
    return text.replace(old, new)


def _split(runtime: Runtime, text: str, marks: Value) -> list[Value]:
    mark, *others = marks if isinstance(marks, list) and marks else [marks or ""]
    mark = require_string("split", mark)
    for other in others:
        runtime.budget.work((len(text) >> 10) + 1)
        text = _replace(runtime, text, require_string("split", other), mark)
    count = runtime.budget.check_items(text.count(mark) + 1 if mark else len(text))
    runtime.budget.charge(getsizeof(text) + _STRING_BYTES * count)
    return list(text.split(mark)) if mark else list(text)


def _trim(name: str, strip: Callable[[str, str], str]) -> Function:
    def call(text: str, letters: str = " \t\n\r\f\v\u3000\xa0") -> str:
        if len(letters) > _MAX_TRIMMED and len(set(letters)) > _MAX_TRIMMED:
            raise QueryRefused(
                f"{name}() removes at most {_MAX_TRIMMED:,} different characters at a time."
            )
        return strip(text, "".join(dict.fromkeys(letters)))

    return make_function("string [string]", call)


def _join(runtime: Runtime, texts: list[Value], mark: str) -> str:
    words = [require_string("join", text) for text in texts]
    runtime.budget.check_characters(sum(map(len, words)) + len(words) * len(mark))
    return mark.join(words)


_STRINGS = {
    "btrim": _trim("btrim", str.strip),
    "join": make_function("list string", _join, runtime=True),
    "left": make_function("string integer", _left),
    "ltrim": _trim("ltrim", str.lstrip),
    "replace": make_function("string string string", _replace, runtime=True),
    "reverse": make_function("string|list", lambda value: value[::-1]),
    "right": make_function("string integer", _right),
    "rtrim": _trim("rtrim", str.rstrip),
    "split": make_function("string string|list", _split, runtime=True),
    "substring": make_function("string integer [integer]", _substring),
    "toLower": make_function("string", str.lower),
    "toUpper": make_function("string", str.upper),
    "trim": _trim("trim", str.strip),
}


def _real(work: Callable[[float], float]) -> Function:
    def call(value: float) -> float:
        try:
            return float(work(float(value)))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return make_function("number", call, plain=True)


def _abs(value: float) -> float:
    return check_integer(abs(value)) if isinstance(value, int) else abs(value)


def _round(real: float, places: int = 0, mode: str | None = None) -> float:
    real = float(real)
    if not math.isfinite(real) or places > _MAX_PLACES:
        return real
    _require_counts("round", "a number of places", places)
    if mode is None and places == 0:
        return float(math.floor(real + 0.5))
    rounding = _MODES.get("HALF_UP" if mode is None else mode.upper())
    if rounding is None:
        raise QuerySyntaxError(f"The mode of round() is {', '.join(_MODES)}, not {mode!r:.40}.")
    unit = decimal.Decimal(1).scaleb(-places)
    return float(decimal.Decimal(repr(real)).quantize(unit, rounding=rounding))


_MODES = {
    mode: getattr(decimal, f"ROUND_{mode}")
    for mode in ("UP", "DOWN", "CEILING", "FLOOR", "HALF_UP", "HALF_DOWN", "HALF_EVEN")
}


def _whole(work: Callable[[float], int]) -> Function:
    return _real(lambda value: work(value) if math.isfinite(value) else value)


def _cot(value: float) -> float:
    tangent = math.tan(value)
    return math.copysign(math.inf, tangent) if tangent == 0 else 1 / tangent


_NUMBERS = {
    "abs": make_function("number", _abs),
    "atan2": make_function("number number", math.atan2),
    "ceil": _whole(math.ceil),
    "ceiling": _whole(math.ceil),
    "cot": _real(_cot),
    "e": make_function("", lambda: math.e),
    "floor": _whole(math.floor),
    "haversin": _real(lambda value: (1 - math.cos(value)) / 2),
    "isNaN": make_function("number", math.isnan),
    "log": _real(lambda value: -math.inf if value == 0 else math.log(value)),
    "log10": _real(lambda value: -math.inf if value == 0 else math.log10(value)),
    "pi": make_function("", lambda: math.pi),
    "rand": make_function("", _random.random),
    "round": make_function("number [integer] [string]", _round),
    "sign": make_function("number", lambda real: (real > 0) - (real < 0)),
} | {
    work.__name__: _real(work)
    for work in (
        math.acos, math.asin, math.atan, math.cos, math.degrees, math.exp, math.radians, math.sin,
        math.sqrt, math.tan,
    )
}  # fmt: skip


def _length(value: Value) -> int:
    return len(value.relationships if isinstance(value, GraphPath) else value)


def _range(runtime: Runtime, first: int, last: int, by: int = 1) -> list[Value]:
    if by == 0:
        raise QuerySyntaxError("The step of range() must not be 0.")
    found = range(first, last + (1 if by > 0 else -1), by)
    count = max((found.stop - found.start + by - (1 if by > 0 else -1)) // by, 0)
    runtime.budget.charge(SCALAR_BYTES * runtime.budget.check_items(count))
    return list(found)


def _sorted(runtime: Runtime, found: list[Value]) -> list[Value]:
    budget = runtime.budget
    before = budget.transient
    budget.charge(_KEY_BYTES * len(found))
    keys = [order_key(item, budget.charge_part) for item in found]
    budget.check_sort((budget.transient - before) // _KEY_BYTES, len(found))
    return [found[place] for place in sorted(range(len(found)), key=keys.__getitem__)]


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


_LISTS = {
    "coalesce": make_function("any", _coalesce, most=1_000, takes_null=True),
    "coll.sort": make_function("list", _sorted, runtime=True),
    "head": make_function("list", lambda found: found[0] if found else None, plain=True),
    "isEmpty": make_function("string|list|map", operator.not_, plain=True),
    "last": make_function("list", lambda found: found[-1] if found else None, plain=True),
    "length": make_function("path|string|list", _length, plain=True),
    "nullIf": make_function("any any", lambda one, other: None if one == other else one),
    "range": make_function("integer integer [integer]", _range, runtime=True),
    "size": make_function("string|list", len, plain=True),
    "tail": make_function("list", lambda found: found[1:]),
}


def _mapped(value: Value) -> Mapping[str, Value]:
    return value.properties if isinstance(value, Element) else value


def element_id(runtime: Runtime, value: Element) -> str:
    """Return the id of a node or relationship in the source of the graph."""
    if isinstance(value, GraphNode):
        return value.id
    return runtime.graph.relationship_id(value.index)


_ELEMENTS = {
    "elementId": make_function(_ELEMENT, element_id, runtime=True),
    "endNode": make_function(
        "relationship", lambda runtime, edge: runtime.graph.nodes[edge.target],
        runtime=True, plain=True,
    ),
    "exists": make_function("any", lambda value: value is not None, takes_null=True),
    "id": make_function(_ELEMENT, lambda element: element.index, plain=True),
    "keys": make_function(f"{_ELEMENT}|map", lambda value: list(_mapped(value))),
    "labels": make_function("node", lambda node: list(node.labels)),
    "nodes": make_function("path", lambda path: list(path.nodes)),
    "properties": make_function(f"{_ELEMENT}|map", lambda value: dict(_mapped(value))),
    "relationships": make_function("path", lambda path: list(path.relationships)),
    "startNode": make_function(
        "relationship", lambda runtime, edge: runtime.graph.nodes[edge.source],
        runtime=True, plain=True,
    ),
    "type": make_function("relationship", lambda edge: edge.type, plain=True),
}  # fmt: skip


def _to_integer(value: Value) -> Value:
    if isinstance(value, str):
        text = value.strip()
        if len(text) > _MAX_NUMBER_LENGTH or "_" in text:
            return None
        try:
            return check_integer(int(text))
        except (ValueError, QuerySyntaxError):
            value = _to_float(text)
    if isinstance(value, float):
        return check_integer(int(value)) if math.isfinite(value) else None
    return None if value is None else int(value)


def _to_float(value: Value) -> float | None:
    if not isinstance(value, str):
        return float(value)
    if len(value.strip()) > _MAX_NUMBER_LENGTH or "_" in value:
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _to_boolean(value: Value) -> Value:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return bool(value)


def _conversions(
    name: str, takes: str, convert: Callable[[Value], Value]
) -> Iterator[tuple[str, Function]]:
    """Yield a conversion, one that returns null for values of other types, and one of lists."""
    function = make_function(takes, convert)
    (type_,) = function.takes

    def try_convert(value: Value) -> Value:
        try:
            return convert(value) if value is not None and type_.accepts(value) else None
        except QuerySyntaxError:
            return None

    def convert_items(runtime: Runtime, found: list[Value]) -> list[Value]:
        runtime.budget.charge(_STRING_BYTES * len(found))
        return [try_convert(item) for item in found]

    yield name, function
    yield f"{name}OrNull", make_function("any", try_convert)
    yield f"{name}List", make_function("list", convert_items, runtime=True)


NAMES: dict[str, Function] = {
    **_STRINGS,
    **_NUMBERS,
    **_LISTS,
    **_ELEMENTS,
    **dict(_conversions("toBoolean", "string|boolean|integer", _to_boolean)),
    **dict(_conversions("toFloat", "number|string", _to_float)),
    **dict(_conversions("toInteger", "number|string|boolean", _to_integer)),
    **dict(_conversions("toString", "number|string|boolean|moment|duration", text_of)),
    **TIMES,
}
"""The functions by their usual names."""

ALIASES = {
    "lower": "toLower",
    "rels": "relationships",
    "toint": "toInteger",
    "upper": "toUpper",
}
"""Other names of functions, in lower case."""

FUNCTIONS = {name.lower(): (name, function) for name, function in NAMES.items()} | {
    alias: (name, NAMES[name]) for alias, name in ALIASES.items()
}
"""The usual name and the function by all names in lower case."""

_VENDORS = ("apoc.", "gds.", "db.", "dbms.", "tx.", "genai.", "vector.", "algo.", "graph.")


def find_function(name: str, count: int) -> tuple[str, Function]:
    """Return the usual name and the function of a name in lower case, for ``count`` arguments.

    Raises QueryRefused for an unknown function, QuerySyntaxError for a wrong number of arguments.
    """
    if name not in FUNCTIONS:
        if name.startswith(_VENDORS):
            raise QueryRefused(f"`{name}()` is specific to another database, and not supported.")
        near = get_close_matches(name, FUNCTIONS, n=1)
        raise QueryRefused(
            f"Unknown or unsupported function `{name}()`.",
            fix=f"Did you mean `{near[0]}()`?" if near else "",
        )
    usual, found = FUNCTIONS[name]
    if not found.least <= count <= found.most:
        wanted = f"{found.least}" if found.least == found.most else f"{found.least}-{found.most}"
        raise QuerySyntaxError(
            f"{name}() takes {wanted} argument{'s' * (wanted != '1')}, not {count}."
        )
    return usual, found
