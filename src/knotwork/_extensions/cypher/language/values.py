"""Compare, sort, group and access Cypher values with three-valued logic: null means unknown.

Functions that descend into lists and maps call ``step`` for every part, because values may share
parts: traversing them can take much longer than their memory suggests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from itertools import zip_longest
from math import isnan
from typing import Any, cast

from knotwork._extensions.cypher.language.property_graph import (
    Element,
    GraphNode,
    GraphPath,
    GraphRelationship,
    Value,
)
from knotwork.errors import QuerySyntaxError

Step = Callable[[], None]
OrderKey = tuple[Any, ...]

_NUMBER = (int, float)


class Temporal(ABC):
    """A date, a time, both, or a duration.

    ``kind`` names the type in errors; values with a negative ``rank`` have no order.
    """

    kind: str
    rank: int

    @abstractmethod
    def sort_key(self) -> tuple[float, ...]:
        """Return a key that sorts values of one kind."""

    @abstractmethod
    def component(self, name: str) -> Value:
        """Return a component by name, such as "year", or None if it has no such component."""

    @abstractmethod
    def plus(self, other: Temporal, sign: int = 1) -> Temporal:
        """Add another value, or subtract it for a ``sign`` of -1. Raises QuerySyntaxError."""

    def scaled(self, factor: float) -> Temporal:
        """Multiply by a number. Raises QuerySyntaxError for all but durations."""
        raise QuerySyntaxError(f"{self.kind} cannot be multiplied by {factor}.".capitalize())

    @abstractmethod
    def __str__(self) -> str: ...


def kind_of(value: Value) -> str:
    """Return the type of a value as a phrase for errors, such as "a list"."""
    if value is None:
        return "null"
    for kind, types in _KINDS:
        if isinstance(value, types):
            return kind
    return value.kind if isinstance(value, Temporal) else type(value).__name__


_KINDS: tuple[tuple[str, Any], ...] = (
    ("a boolean", bool),
    ("an integer", int),
    ("a number", float),
    ("a string", str),
    ("a map", dict),
    ("a node", GraphNode),
    ("a relationship", GraphRelationship),
    ("a list", list),
    ("a path", GraphPath),
)


def operand_error(operator: str, left: Value, right: Value) -> QuerySyntaxError:
    """Return the error for an operator that does not accept the types of two values."""
    return QuerySyntaxError(f"`{operator}` does not accept {kind_of(left)} and {kind_of(right)}.")


def is_number(value: Value) -> bool:
    """Return True for numbers; a boolean is not one."""
    return isinstance(value, _NUMBER) and not isinstance(value, bool)


def equal(one: Value, other: Value, step: Step) -> bool | None:
    """Return True if two values are equal, None if a null makes that unknown."""
    if one is None or other is None:
        return None
    kind = type(one)
    if kind is str:
        return bool(one == other)
    if kind is list:
        return _lists_equal(one, other, step) if type(other) is list else False
    if kind is dict:
        return _maps_equal(one, other, step) if type(other) is dict else False
    if kind is bool or type(other) is bool:
        return kind is type(other) and one == other
    return bool(one == other)


def _lists_equal(one: list[Value], other: list[Value], step: Step) -> bool | None:
    if len(one) != len(other):
        return False
    known: bool | None = True
    for left, right in zip(one, other, strict=True):
        step()
        same = equal(left, right, step)
        if same is False:
            return False
        if same is None:
            known = None
    return known


def _maps_equal(one: dict[str, Value], other: dict[str, Value], step: Step) -> bool | None:
    if one.keys() != other.keys():
        return False
    return _lists_equal(list(one.values()), [other[key] for key in one], step)


def compare(  # noqa: PLR0911 - one return a kind
    one: Value, other: Value, step: Step
) -> int | None:
    """Return -1, 0 or 1 for two comparable values, None for others, for null and for NaN.

    `holds_order` distinguishes NaN, for which every comparison is false, from unknown.
    """
    if isinstance(one, str):
        return (one > other) - (one < other) if isinstance(other, str) else None
    if is_number(one):
        if not is_number(other) or isnan(one) or isnan(other):
            return None
        return int(one > other) - int(one < other)
    if isinstance(one, bool):
        return int(one) - int(other) if isinstance(other, bool) else None
    if isinstance(one, list):
        return _compare_lists(one, other, step) if isinstance(other, list) else None
    if isinstance(one, Temporal) and one.rank >= 0:
        if not isinstance(other, Temporal) or one.kind != other.kind:
            return None
        left, right = one.sort_key(), other.sort_key()
        return (left > right) - (left < right)
    return None


_ABSENT = object()


def _compare_lists(one: list[Value], other: list[Value], step: Step) -> int | None:
    for left, right in zip_longest(one, other, fillvalue=_ABSENT):
        step()
        if left is _ABSENT:
            return -1
        if right is _ABSENT:
            return 1
        order = compare(left, right, step)
        if order != 0:
            return order
    return 0


def holds_order(operator: str, one: Value, other: Value, step: Step) -> bool | None:
    """Return the result of ``<``, ``<=``, ``>`` or ``>=``; None if it is unknown."""
    order = compare(one, other, step)
    if order is None:
        both_numbers = is_number(one) and is_number(other)
        return False if both_numbers else None
    if operator == "<":
        return order < 0
    if operator == "<=":
        return order <= 0
    return order > 0 if operator == ">" else order >= 0


def contains(items: Value, value: Value, step: Step) -> bool | None:
    """Return the result of ``value IN items``, None if a null makes it unknown."""
    if items is None:
        return None
    if not isinstance(items, list):
        raise QuerySyntaxError(f"IN takes a list, not {kind_of(items)}.")
    known: bool | None = False
    for item in items:
        step()
        same = equal(item, value, step)
        if same:
            return True
        if same is None:
            known = None
    return known


def group_key(value: Value, step: Step) -> Hashable:  # noqa: PLR0911 - one a kind
    """Return a key that is equal for values that DISTINCT and grouping treat as equal."""
    kind, plain = type(value), cast(Hashable, value)
    if kind is str or value is None or isinstance(value, Element | Temporal):
        return plain
    if kind is int:
        return plain
    step()
    if kind is bool:
        return (bool, value)
    if kind is float and isnan(value):
        return (float, "NaN")
    if kind is list:
        return (list, tuple(_item_keys(value, group_key, step)))
    if kind is dict:
        return (dict, frozenset((key, group_key(item, step)) for key, item in value.items()))
    return plain


def _item_keys(
    items: list[Value], key: Callable[[Value, Step], Hashable], step: Step
) -> Iterator[Hashable]:
    """Yield the keys of the items of a list, each of which is a part."""
    for item in items:
        step()
        yield key(item, step)


def order_key(value: Value, step: Step) -> OrderKey:
    """Return a key that sorts values of all types.

    The order of types is: map, node, relationship, list, path, time, string, boolean, number, null.
    """
    if value is None:
        return (99,)
    if isinstance(value, bool):
        return (60, value)
    if isinstance(value, str):
        return (50, value)
    if isinstance(value, int | float):
        return (71,) if isnan(value) else (70, value)
    return _composite_order(value, step)


def _composite_order(value: Value, step: Step) -> OrderKey:
    step()
    if isinstance(value, dict):
        items = sorted(value.items())
        return (10, tuple(key for key, _ in items), tuple(order_key(v, step) for _, v in items))
    if isinstance(value, Element):
        return (20 if isinstance(value, GraphNode) else 25, value.index)
    if isinstance(value, list):
        return (30, tuple(_item_keys(value, order_key, step)))
    if isinstance(value, GraphPath):
        nodes = tuple(node.index for node in value.nodes)
        return (35, nodes, tuple(edge.index for edge in value.relationships))
    return (40, value.kind, value.sort_key())


def truth(value: Value, what: str) -> bool | None:
    """Return a boolean or None. Raises QuerySyntaxError for other values of ``what``."""
    if value is None or value is True or value is False:
        return value
    raise QuerySyntaxError(f"{what} takes booleans, not {kind_of(value)}.")


def read_property(value: Value, key: str) -> Value:
    """Return a property of an element, map or time; None for null and missing properties."""
    if value is None:
        return None
    if isinstance(value, Element):
        return value.properties.get(key)
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, Temporal):
        return value.component(key)
    raise QuerySyntaxError(f"{kind_of(value)} has no property `{key}`.".capitalize())


def read_item(value: Value, index: Value) -> Value:
    """Return an item of a list by its position, or a property by its name."""
    if value is None or index is None:
        return None
    if isinstance(value, list):
        if isinstance(index, bool) or not isinstance(index, int):
            raise QuerySyntaxError(f"The index of a list must be an integer, not {kind_of(index)}.")
        return value[index] if -len(value) <= index < len(value) else None
    if isinstance(value, dict | Element | Temporal):
        if not isinstance(index, str):
            raise QuerySyntaxError(f"A property name must be a string, not {kind_of(index)}.")
        return read_property(value, index)
    raise QuerySyntaxError(f"Only lists, maps and elements can be indexed, not {kind_of(value)}.")


def read_slice(value: Value, start: Value, end: Value) -> Value:
    """Return the part of a list or string from ``start`` to before ``end``."""
    if value is None:
        return None
    if not isinstance(value, list | str):
        raise QuerySyntaxError(f"Only lists and strings can be sliced, not {kind_of(value)}.")
    for bound in (start, end):
        if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int)):
            raise QuerySyntaxError(f"The bounds of a slice are integers, not {kind_of(bound)}.")
    return value[start:end]
