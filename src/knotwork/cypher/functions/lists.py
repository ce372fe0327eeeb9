"""Functions of lists."""

from __future__ import annotations

from knotwork.cypher.functions.signature import Function, items, plain, whole_number, wrong
from knotwork.cypher.graph import Path, Value
from knotwork.cypher.runtime import Runtime
from knotwork.cypher.values import order_key, value_error


def _size(value: Value) -> int:
    if isinstance(value, str | list):
        return len(value)
    raise wrong("size", value, "a string or a list")


def _length(value: Value) -> int:
    if isinstance(value, Path):
        return len(value.relationships)
    if isinstance(value, str | list):
        return len(value)
    raise wrong("length", value, "a path")


def _head(value: Value) -> Value:
    found = items("head", value)
    return found[0] if found else None


def _last(value: Value) -> Value:
    found = items("last", value)
    return found[-1] if found else None


def _tail(value: Value) -> list[Value]:
    return items("tail", value)[1:]


def _range(runtime: Runtime, start: Value, end: Value, step: Value = 1) -> list[Value]:
    first, last = whole_number("range", start), whole_number("range", end)
    by = whole_number("range", step)
    if by == 0:
        raise value_error("range() takes no step of nought.")
    found = range(first, last + (1 if by > 0 else -1), by)
    count = max((found.stop - found.start + by - (1 if by > 0 else -1)) // by, 0)
    runtime.budget.items(count)
    return list(found)


def _sorted(runtime: Runtime, value: Value) -> list[Value]:
    found = items("sort", value)
    runtime.budget.items(len(found))
    runtime.budget.sort(len(found))
    step = runtime.budget.step
    keys = [(step(), order_key(item, step))[1] for item in found]
    return [found[place] for place in sorted(range(len(found)), key=keys.__getitem__)]


def _is_empty(value: Value) -> bool:
    if isinstance(value, str | list | dict):
        return not value
    raise wrong("isEmpty", value, "a string, a list or a map")


def _coalesce(_: Runtime, *values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _null_if(one: Value, other: Value) -> Value:
    return None if one == other else one


LISTS: dict[str, Function] = {
    "coalesce": Function(_coalesce, 1, 1_000, takes_null=True),
    "coll.sort": Function(_sorted),
    "head": plain(_head),
    "isempty": plain(_is_empty),
    "last": plain(_last),
    "length": plain(_length),
    "nullif": plain(_null_if, 2),
    "range": Function(_range, 2, 3),
    "size": plain(_size),
    "tail": plain(_tail),
}
