"""Provide what a statement needs to run: parameters, budget, operators and function signatures.

Operators and functions take and return Cypher values; null yields null.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from sys import getsizeof
from typing import NamedTuple, TypeAlias

from knotwork._extensions.cypher.language.limits import (
    OTHER_BYTES,
    SMALL_STRING,
    Budget,
    list_bytes,
)
from knotwork._extensions.cypher.language.patterns import Patterns
from knotwork._extensions.cypher.language.property_graph import (
    GraphNode,
    GraphPath,
    GraphRelationship,
    PropertyGraph,
    Value,
)
from knotwork._extensions.cypher.language.values import Temporal, is_number, kind_of, operand_error
from knotwork.errors import QuerySyntaxError

Row: TypeAlias = list[Value]
Evaluate: TypeAlias = Callable[[Row], Value]
"""A compiled expression."""


@dataclass(slots=True)
class Runtime:
    """The graph, parameters and budget of a statement, and the time at which it began."""

    graph: PropertyGraph
    budget: Budget
    parameters: Mapping[str, Value]
    operators: Operators = field(init=False)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def __post_init__(self) -> None:
        self.operators = Operators(self.budget)


_MIN_INTEGER, _MAX_INTEGER = -(1 << 63), (1 << 63) - 1
_MANY_CHARACTERS = 4_096

Operator = Callable[[Value, Value], Value]


def check_integer(number: int) -> int:
    """Return an integer. Raises QuerySyntaxError if it does not fit into 64 bits."""
    if _MIN_INTEGER <= number <= _MAX_INTEGER:
        return number
    raise QuerySyntaxError("Integer overflow: the result does not fit into 64 bits.")


class Operators:
    """The binary operators, as functions of two values; null yields null."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._patterns = Patterns(budget)
        self.by_sign: dict[str, Operator] = {
            "+": self.add,
            "-": self.subtract,
            "*": self.multiply,
            "/": self.divide,
            "%": partial(_of_numbers, "%", _modulo),
            "^": partial(_of_numbers, "^", _power),
            "STARTS WITH": self._of_strings(str.startswith),
            "ENDS WITH": self._of_strings(str.endswith),
            "CONTAINS": self._of_strings(str.__contains__),
            "=~": self.matches,
        }

    def add(self, left: Value, right: Value) -> Value:
        """Add numbers or durations, or concatenate strings or lists."""
        if isinstance(left, list) or isinstance(right, list):
            return self._join_lists(left, right)
        if left is None or right is None:
            return None
        if is_number(left) and is_number(right):
            return _number(left + right)
        if isinstance(left, str) or isinstance(right, str):
            return self._join_strings(left, right)
        if isinstance(left, Temporal) and isinstance(right, Temporal):
            self._budget.charge(OTHER_BYTES)
            return left.plus(right)
        raise operand_error("+", left, right)

    def _join_lists(self, left: Value, right: Value) -> Value:
        if (left is None and isinstance(right, list)) or (right is None and isinstance(left, list)):
            return None
        one = left if isinstance(left, list) else [left]
        other = right if isinstance(right, list) else [right]
        count = self._budget.check_items(len(one) + len(other))
        self._budget.charge(list_bytes(count) + getsizeof(left if one is not left else right))
        return one + other

    def _join_strings(self, left: Value, right: Value) -> str:
        for value in (left, right):
            if not (isinstance(value, str | Temporal) or is_number(value)):
                raise operand_error("+", left, right)
        one, other = text_of(left), text_of(right)
        self._budget.check_characters(len(one) + len(other))
        joined = one + other
        if len(joined) > SMALL_STRING:
            self._budget.charge(getsizeof(joined))
        return joined

    def subtract(self, left: Value, right: Value) -> Value:
        """Subtract numbers or durations."""
        if isinstance(left, Temporal) and isinstance(right, Temporal):
            self._budget.charge(OTHER_BYTES)
            return left.plus(right, -1)
        return _of_numbers("-", operator.sub, left, right)

    def multiply(self, left: Value, right: Value) -> Value:
        """Multiply numbers, or a duration by a number."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Temporal) and is_number(other):
                self._budget.charge(OTHER_BYTES)
                return one.scaled(other)
        return _of_numbers("*", operator.mul, left, right)

    def divide(self, left: Value, right: Value) -> Value:
        """Divide; the quotient of integers is an integer, rounded toward zero."""
        if isinstance(left, Temporal) and is_number(right) and right != 0:
            self._budget.charge(OTHER_BYTES)
            return left.scaled(1 / right)
        return _of_numbers("/", _divide, left, right)

    def matches(self, text: Value, pattern: Value) -> Value:
        """Return True if a regular expression matches a whole text; see `Patterns.matches`."""
        if not isinstance(text, str) or not isinstance(pattern, str):
            return None
        return self._patterns.matches(text, pattern)

    def _of_strings(self, test: Callable[[str, str], bool]) -> Operator:
        work = self._budget.work

        def holds(left: Value, right: Value) -> Value:
            if isinstance(left, str) and isinstance(right, str):
                if len(left) > _MANY_CHARACTERS:
                    work(len(left) >> 10)
                return test(left, right)
            return None

        return holds


def text_of(value: Value) -> str:
    """Return a string, number, boolean or time as a string, as Cypher writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    if "e" in text:
        mantissa, exponent = text.split("e")
        point = mantissa if "." in mantissa else f"{mantissa}.0"
        return f"{point}E{int(exponent)}"
    return text


def _number(value: Value) -> Value:
    return check_integer(value) if isinstance(value, int) else value


def _of_numbers(sign: str, work: Operator, left: Value, right: Value) -> Value:
    """Return the result of an operator on two numbers, null if one is null."""
    if left is None or right is None:
        return None
    if not (is_number(left) and is_number(right)):
        raise operand_error(sign, left, right)
    try:
        return _number(work(left, right))
    except OverflowError:
        return math.inf


def _divide(left: Value, right: Value) -> Value:
    if isinstance(left, int) and isinstance(right, int):
        if right == 0:
            raise QuerySyntaxError("An integer cannot be divided by 0.")
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    return left / right


def _modulo(left: Value, right: Value) -> Value:
    if right == 0:
        if isinstance(left, int) and isinstance(right, int):
            raise QuerySyntaxError("An integer cannot be divided by 0.")
        return math.nan
    if isinstance(left, int) and isinstance(right, int):
        return int(math.copysign(1, left)) * (abs(left) % abs(right))
    return math.fmod(left, right)


def _power(left: Value, right: Value) -> float:
    try:
        return math.pow(left, right)
    except ValueError:
        return math.nan


class ArgumentType(NamedTuple):
    """A type of an argument: as a phrase, as a test, and by the static types that have it."""

    phrase: str
    accepts: Callable[[Value], bool]
    static: tuple[str, ...] = ()


_STATIC_TYPES = (
    "boolean", "list", "map", "node", "number", "path", "relationship", "string", "walk",
)  # fmt: skip
"""The types that `StaticTypes` finds; a walk is a list of relationships."""

_TYPES = {
    "any": ArgumentType("a value", lambda _: True, _STATIC_TYPES),
    "boolean": ArgumentType("a boolean", lambda value: isinstance(value, bool), ("boolean",)),
    "duration": ArgumentType("a duration", lambda v: isinstance(v, Temporal) and v.rank < 0),
    "integer": ArgumentType("an integer", lambda v: type(v) is int, ("number",)),
    "list": ArgumentType("a list", lambda value: isinstance(value, list), ("list", "walk")),
    "map": ArgumentType("a map", lambda value: isinstance(value, dict), ("map",)),
    "moment": ArgumentType("a date or time", lambda v: isinstance(v, Temporal) and v.rank >= 0),
    "node": ArgumentType("a node", lambda value: isinstance(value, GraphNode), ("node",)),
    "number": ArgumentType("a number", is_number, ("number",)),
    "path": ArgumentType("a path", lambda value: isinstance(value, GraphPath), ("path",)),
    "relationship": ArgumentType(
        "a relationship", lambda value: isinstance(value, GraphRelationship), ("relationship",)
    ),
    "string": ArgumentType("a string", lambda value: isinstance(value, str), ("string",)),
}


@cache
def argument_type(names: str) -> ArgumentType:
    """Return the type of several names, such as "string|list"."""
    types = [_TYPES[name] for name in names.split("|")]
    if len(types) == 1:
        return types[0]
    *first, last = (type_.phrase for type_ in types)
    tests = [type_.accepts for type_ in types]
    return ArgumentType(
        f"{', '.join(first)} or {last}",
        lambda value: any(accepts(value) for accepts in tests),
        tuple(name for type_ in types for name in type_.static),
    )


class Function(NamedTuple):
    """A function of ``least`` to ``most`` arguments, each of a type of ``takes``.

    Arguments beyond ``takes`` may have any type. ``call`` gets the runtime first if
    ``needs_runtime``. It is not called with null, for which it returns null, unless ``takes_null``.
    The memory of its result is counted unless it is ``plain``: null, a boolean, a number, or a
    value that exists.
    """

    call: Callable[..., Value]
    takes: tuple[ArgumentType, ...]
    least: int
    most: int
    needs_runtime: bool
    takes_null: bool
    plain: bool


def make_function(
    takes: str,
    call: Callable[..., Value],
    *,
    most: int = 0,
    runtime: bool = False,
    takes_null: bool = False,
    plain: bool = False,
) -> Function:
    """Return a function that takes arguments such as "string [integer]", of which one is optional.

    ``most`` is the number of arguments if there may be more.
    """
    names = takes.split()
    types = tuple(argument_type(name.strip("[]")) for name in names)
    least = sum(name[0] != "[" for name in names)
    return Function(call, types, least, most or len(names), runtime, takes_null, plain)


def type_error(name: str, value: Value, wanted: str) -> QuerySyntaxError:
    """Return the error for an argument of the wrong type."""
    return QuerySyntaxError(f"{name}() takes {wanted}, not {kind_of(value)}.")


def require_number(name: str, value: Value) -> float:
    """Return a number. Raises QuerySyntaxError for any other value."""
    if not is_number(value):
        raise type_error(name, value, "a number")
    return value  # type: ignore[no-any-return]


def require_string(name: str, value: Value) -> str:
    """Return a string. Raises QuerySyntaxError for any other value."""
    if not isinstance(value, str):
        raise type_error(name, value, "a string")
    return value
