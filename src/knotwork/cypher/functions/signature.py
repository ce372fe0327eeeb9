"""What a function is: how it is called, with how many values, and what it makes of null."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from knotwork.cypher.graph import Value
from knotwork.cypher.values import is_number, kind_of, value_error
from knotwork.errors import QuerySyntaxError


class Function(NamedTuple):
    """``call`` takes the runtime, then ``least`` to ``most`` values.

    Null makes null, unless ``takes_null``.
    """

    call: Callable[..., Value]
    least: int = 1
    most: int = 1
    takes_null: bool = False


def plain(call: Callable[..., Value], least: int = 1, most: int | None = None) -> Function:
    """Return a function that needs nothing of the runtime."""
    return Function(lambda _, *values: call(*values), least, most or least)


def wrong(name: str, value: Value, wanted: str) -> QuerySyntaxError:
    """Return the error of a function that got a value of another type."""
    return value_error(f"{name}() takes {wanted}, not {kind_of(value)}.")


def number(name: str, value: Value) -> float:
    """Return a number. Raises QuerySyntaxError for any other value."""
    if not is_number(value):
        raise wrong(name, value, "a number")
    return value  # type: ignore[no-any-return]


def whole_number(name: str, value: Value) -> int:
    """Return a whole number. Raises QuerySyntaxError for any other value."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, value, "a whole number")
    return value


def string(name: str, value: Value) -> str:
    """Return a string. Raises QuerySyntaxError for any other value."""
    if not isinstance(value, str):
        raise wrong(name, value, "a string")
    return value


def items(name: str, value: Value) -> list[Value]:
    """Return a list. Raises QuerySyntaxError for any other value."""
    if not isinstance(value, list):
        raise wrong(name, value, "a list")
    return value
