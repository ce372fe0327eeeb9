"""Reading a part of a value: a property, an item, a slice."""

from __future__ import annotations

from knotwork.cypher.graph import Element, Value
from knotwork.cypher.values import Temporal, kind_of, value_error


def read_property(value: Value, key: str) -> Value:
    """Return a property of an element, map or time; null has only nulls."""
    if value is None:
        return None
    if isinstance(value, Element):
        return value.properties.get(key)
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, Temporal):
        return value.component(key)
    raise value_error(f"{kind_of(value)} has no property `{key}`.".capitalize())


def read_item(value: Value, index: Value) -> Value:
    """Return an item of a list by its position, or a property by its name."""
    if value is None or index is None:
        return None
    if isinstance(value, list):
        if isinstance(index, bool) or not isinstance(index, int):
            raise value_error(f"A list is asked for its items by number, not by {kind_of(index)}.")
        return value[index] if -len(value) <= index < len(value) else None
    if isinstance(value, dict | Element | Temporal):
        if not isinstance(index, str):
            raise value_error(f"A property is asked for by name, not by {kind_of(index)}.")
        return read_property(value, index)
    raise value_error(f"Only lists, maps and elements have items, not {kind_of(value)}.")


def read_slice(value: Value, start: Value, end: Value) -> Value:
    """Return a part of a list (or string), from ``start`` up to before ``end``."""
    if value is None:
        return None
    if not isinstance(value, list | str):
        raise value_error(f"Only a list has parts, not {kind_of(value)}.")
    for place in (start, end):
        if place is not None and (isinstance(place, bool) or not isinstance(place, int)):
            raise value_error(f"A part of a list is given by numbers, not by {kind_of(place)}.")
    return value[start:end]
