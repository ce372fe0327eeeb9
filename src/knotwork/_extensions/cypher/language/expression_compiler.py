"""Compile expressions to functions that take a row and return a value."""

from __future__ import annotations

import operator as operator_functions
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from sys import getsizeof
from typing import Any, TypeAlias

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.aggregates import AGGREGATES
from knotwork._extensions.cypher.language.functions import find_function
from knotwork._extensions.cypher.language.kept_values import KeptValues, deep_bytes
from knotwork._extensions.cypher.language.limits import (
    SCALAR_BYTES,
    SCALARS,
    SMALL_STRING,
    Budget,
    map_bytes,
)
from knotwork._extensions.cypher.language.property_graph import (
    Element,
    GraphNode,
    GraphRelationship,
    Value,
)
from knotwork._extensions.cypher.language.runtime import (
    ArgumentType,
    Evaluate,
    Row,
    Runtime,
    argument_type,
    type_error,
)
from knotwork._extensions.cypher.language.static_analysis import TYPE_WORDS, Scope
from knotwork._extensions.cypher.language.values import (
    contains,
    equal,
    holds_order,
    is_number,
    kind_of,
    read_item,
    read_property,
    read_slice,
    truth,
)
from knotwork.errors import QuerySyntaxError

MatchRows: TypeAlias = Callable[[Row], Iterable[Row]]

_HIDDEN = " path"
"""A name that a statement cannot use, because it begins with a space."""

_PLAIN_COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "=": operator_functions.eq,
    "<>": operator_functions.ne,
    "<": operator_functions.lt,
    "<=": operator_functions.le,
    ">": operator_functions.gt,
    ">=": operator_functions.ge,
}


class ExpressionCompiler(ABC):
    """Compiles expressions of all kinds; a subclass adds patterns and subqueries.

    Types that are evident from the statement are checked before a run, other types during it.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self._makers: dict[type, Callable[[Any, Scope], Evaluate]] = {
            tree.Binary: self._binary,
            tree.Call: self._call,
            tree.Case: self._case,
            tree.Comparison: self._comparison,
            tree.Comprehension: self._comprehension,
            tree.Constant: self._constant,
            tree.HasLabel: self._has_label,
            tree.IndexAccess: self._item,
            tree.Junction: self._junction,
            tree.ListOf: self._list_of,
            tree.MapOf: self._map_of,
            tree.MapProjection: self._map_projection,
            tree.Parameter: self._parameter,
            tree.PatternComprehension: self._pattern_comprehension,
            tree.PatternPredicate: self._pattern_predicate,
            tree.PropertyAccess: self._property,
            tree.Quantifier: self._quantifier,
            tree.Reduction: self._reduction,
            tree.Slice: self._slice,
            tree.Subquery: self._subquery,
            tree.Unary: self._unary,
            tree.Variable: self._variable,
        }

    def compile(self, expression: tree.Expression, scope: Scope) -> Evaluate:
        """Return a function that evaluates an expression for a row.

        Raises QuerySyntaxError for unknown names and wrong types, QueryRefused for unknown
        functions.
        """
        if scope.replaced:
            slot = scope.replaced.get(expression)
            if slot is not None:
                return lambda row: row[slot]
        return self._makers[type(expression)](expression, scope)

    @abstractmethod
    def pattern(
        self, pattern: tree.PathPattern, condition: tree.Expression | None, scope: Scope
    ) -> MatchRows:
        """Return a function that yields a row once for every match of a pattern.

        The names of the pattern are added to ``scope``.
        """

    @abstractmethod
    def query(self, query: tree.UnionQuery, scope: Scope) -> MatchRows:
        """Return a function that runs a subquery for a row and yields the rows it returns."""

    def type_of(  # noqa: PLR0911 - one return a kind
        self, expression: tree.Expression, scope: Scope
    ) -> str | None:
        """Return the type of an expression, None if it depends on the row."""
        if isinstance(expression, tree.Constant):
            return _constant_type(expression.value)
        if isinstance(expression, tree.Variable):
            kind = scope.find(expression.name).kind
            return None if kind in ("value", "plain") else kind
        if isinstance(expression, tree.ListOf | tree.Comprehension | tree.PatternComprehension):
            return "list"
        if isinstance(expression, tree.MapOf):
            return "map"
        if isinstance(expression, tree.PatternPredicate) and expression.pattern.shortest:
            return "path" if expression.pattern.shortest == "one" else "list"
        if isinstance(
            expression,
            tree.Junction
            | tree.Comparison
            | tree.HasLabel
            | tree.Quantifier
            | tree.PatternPredicate,
        ) or (isinstance(expression, tree.Subquery) and expression.kind == "EXISTS"):
            return "boolean"
        if isinstance(expression, tree.Unary) and expression.operator not in "+-":
            return "boolean"
        if isinstance(expression, tree.Binary) and expression.operator not in "+-*/%^":
            return "boolean"
        return None

    def require_truth(self, expression: tree.Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError if an expression is evidently not a boolean."""
        self.require_type("Expected", argument_type("boolean"), expression, scope)

    def require_list(self, expression: tree.Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError if an expression is evidently not a list."""
        self.require_type("Expected", argument_type("list"), expression, scope)

    def require_properties(self, expression: tree.Expression, scope: Scope) -> None:
        """Raise QuerySyntaxError if an expression evidently has no properties."""
        wanted = argument_type("node|relationship|map")
        self.require_type("A property needs", wanted, expression, scope)

    def require_type(
        self, demand: str, wanted: ArgumentType, expression: tree.Expression, scope: Scope
    ) -> None:
        """Raise QuerySyntaxError if an expression is evidently of another type."""
        found = self.type_of(expression, scope)
        if found is not None and found not in wanted.static:
            actual = TYPE_WORDS.get(found, f"a {found}")
            raise QuerySyntaxError(f"{demand} {wanted.phrase}, not {actual}.")

    def _constant(self, expression: tree.Constant, _: Scope) -> Evaluate:
        value = expression.value
        return lambda _: value

    def _parameter(self, expression: tree.Parameter, _: Scope) -> Evaluate:
        if expression.name not in self.runtime.parameters:
            given = ", ".join(f"${name}" for name in self.runtime.parameters) or "none"
            raise QuerySyntaxError(
                f"The parameter ${expression.name} is missing. Parameters passed: {given}."
            )
        value = self.runtime.parameters[expression.name]
        return lambda _: value

    def _variable(self, expression: tree.Variable, scope: Scope) -> Evaluate:
        slot = scope.find(expression.name).slot
        return lambda row: row[slot]

    def _property(self, expression: tree.PropertyAccess, scope: Scope) -> Evaluate:
        self.require_properties(expression.subject, scope)
        subject, key = self.compile(expression.subject, scope), expression.key
        if (
            isinstance(expression.subject, tree.Variable)
            and expression.subject not in scope.replaced
        ):
            return _property_at(scope.find(expression.subject.name).slot, key)

        def evaluate(row: Row) -> Value:
            value = subject(row)
            if isinstance(value, Element):
                return value.properties.get(key)
            return read_property(value, key)

        return evaluate

    def _item(self, expression: tree.IndexAccess, scope: Scope) -> Evaluate:
        subject = self.compile(expression.subject, scope)
        index = self.compile(expression.index, scope)
        return lambda row: read_item(subject(row), index(row))

    def _slice(self, expression: tree.Slice, scope: Scope) -> Evaluate:
        subject = self.compile(expression.subject, scope)
        start = None if expression.start is None else self.compile(expression.start, scope)
        end = None if expression.end is None else self.compile(expression.end, scope)
        created = self.runtime.budget.created

        def evaluate(row: Row) -> Value:
            first = 0 if start is None else start(row)
            value = subject(row)
            last = None if end is None else end(row)
            if first is None or (end is not None and last is None):
                return None
            return created(read_slice(value, first, last))

        return evaluate

    def _unary(self, expression: tree.Unary, scope: Scope) -> Evaluate:
        operand = self.compile(expression.operand, scope)
        if expression.operator == "IS NULL":
            return lambda row: operand(row) is None
        if expression.operator == "IS NOT NULL":
            return lambda row: operand(row) is not None
        if expression.operator == "NOT":
            self.require_truth(expression.operand, scope)

            def negate(row: Row) -> Value:
                value = truth(operand(row), "NOT")
                return None if value is None else not value

            return negate
        subtract, start = self.runtime.operators.subtract, expression.operator == "-"

        def sign(row: Row) -> Value:
            value = operand(row)
            if value is not None and not is_number(value):
                raise QuerySyntaxError(
                    f"`{expression.operator}` takes a number, not {kind_of(value)}."
                )
            if not start or value is None:
                return value
            return -value if isinstance(value, float) else subtract(0, value)

        return sign

    def _binary(self, expression: tree.Binary, scope: Scope) -> Evaluate:
        left, right = self.compile(expression.left, scope), self.compile(expression.right, scope)
        if expression.operator == "IN":
            self.require_list(expression.right, scope)
            step = self.runtime.budget.step
            return lambda row: contains(right(row), left(row), step)
        operator = self.runtime.operators.by_sign[expression.operator]
        return lambda row: operator(left(row), right(row))

    def _comparison(self, expression: tree.Comparison, scope: Scope) -> Evaluate:
        steps: list[Evaluate] = []
        left = self.compile(expression.first, scope)
        for operator, operand in expression.steps:
            right = self.compile(operand, scope)
            plain = _plain_number(self._known(operand))
            compared = self._compared(operator, left, right)
            steps.append(compared if plain is None else _against(operator, left, plain, compared))
            left = right
        return steps[0] if len(steps) == 1 else _conjunction(steps)

    def _known(self, expression: tree.Expression) -> Value:
        """Return the value of a literal or parameter, None for other expressions."""
        if isinstance(expression, tree.Parameter):
            return self.runtime.parameters.get(expression.name)
        return expression.value if isinstance(expression, tree.Constant) else None

    def _compared(self, operator: str, left: Evaluate, right: Evaluate) -> Evaluate:
        step = self.runtime.budget.step
        if operator == "=":
            return lambda row: equal(left(row), right(row), step)
        if operator == "<>":

            def differs(row: Row) -> Value:
                same = equal(left(row), right(row), step)
                return None if same is None else not same

            return differs
        return lambda row: holds_order(operator, left(row), right(row), step)

    def _junction(self, expression: tree.Junction, scope: Scope) -> Evaluate:
        for operand in expression.operands:
            self.require_truth(operand, scope)
        operands = [self.compile(operand, scope) for operand in expression.operands]
        if expression.operator == "AND":
            return _conjunction(operands)
        return _disjunction(operands) if expression.operator == "OR" else _exclusive(operands)

    def _has_label(self, expression: tree.HasLabel, scope: Scope) -> Evaluate:
        subject, test = self.compile(expression.subject, scope), label_test(expression.labels)

        def evaluate(row: Row) -> Value:
            value = subject(row)
            return None if value is None else test(value)

        return evaluate

    def _case(self, expression: tree.Case, scope: Scope) -> Evaluate:
        subject = None if expression.subject is None else self.compile(expression.subject, scope)
        branches = [
            (self.compile(condition, scope), self.compile(result, scope))
            for condition, result in expression.branches
        ]
        otherwise = self.compile(expression.otherwise or tree.Constant(None), scope)
        step = self.runtime.budget.step

        def evaluate(row: Row) -> Value:
            value = None if subject is None else subject(row)
            for condition, result in branches:
                held = condition(row)
                if subject is not None:
                    both_null = held is None and value is None
                    held = both_null or equal(value, held, step)
                if truth(held, "CASE WHEN"):
                    return result(row)
            return otherwise(row)

        return evaluate

    def _call(self, expression: tree.Call, scope: Scope) -> Evaluate:
        name, given = expression.name, expression.arguments
        if name in AGGREGATES:
            raise QuerySyntaxError(
                f"{name}() aggregates rows, which is possible in WITH and RETURN only."
            )
        if len(given) == 1 and isinstance(given[0], tree.PatternPredicate):
            special = self._call_of_pattern(name, given[0], scope)
            if special is not None:
                return special
        usual, function = find_function(name, len(given))
        if expression.distinct:
            raise QuerySyntaxError(f"DISTINCT is for aggregates; {name}() is not one.")
        if len(given) == 1:
            self.require_type(f"{usual}() takes", function.takes[0], given[0], scope)
        arguments = [self.compile(argument, scope) for argument in given]
        call = partial(function.call, self.runtime) if function.needs_runtime else function.call
        if function.takes_null:
            return lambda row: call(*[argument(row) for argument in arguments])
        types = function.takes
        if len(arguments) == 1:
            evaluate = _call_one(usual, call, arguments[0], types[0])
        else:
            evaluate = _call_many(usual, call, arguments, types)
        created = self.runtime.budget.created

        def count(row: Row) -> Value:
            found = evaluate(row)
            kind = type(found)
            small = kind in SCALARS or (kind is str and len(found) < SMALL_STRING)
            return found if small else created(found)

        return evaluate if function.plain else count

    def _list_of(self, expression: tree.ListOf, scope: Scope) -> Evaluate:
        """Compile ``[a, b, c]``."""
        items = [self.compile(item, scope) for item in expression.items]
        charge, size = self.runtime.budget.charge, 64 + SCALAR_BYTES * len(items)

        def evaluate(row: Row) -> Value:
            found = [item(row) for item in items]
            charge(size + sum([getsizeof(value) for value in found if type(value) is str]))
            return found

        return evaluate

    def _map_of(self, expression: tree.MapOf, scope: Scope) -> Evaluate:
        """Compile ``{key: value}``."""
        entries = [(key, self.compile(value, scope)) for key, value in expression.entries]
        charge = self.runtime.budget.charge
        size = map_bytes(len(entries)) + SCALAR_BYTES * len(entries)

        def evaluate(row: Row) -> Value:
            found = {key: value(row) for key, value in entries}
            texts = [getsizeof(value) for value in found.values() if type(value) is str]
            charge(size + sum(texts))
            return found

        return evaluate

    def _map_projection(self, expression: tree.MapProjection, scope: Scope) -> Evaluate:
        """Compile ``subject {.key, .*, name: value}``."""
        subject = self.compile(expression.subject, scope)
        entries = [
            (key, None if value is None else self.compile(value, scope))
            for key, value in expression.entries
        ]
        created = self.runtime.budget.created

        def evaluate(row: Row) -> Value:
            value = subject(row)
            if value is None:
                return None
            found: dict[str, Value] = {}
            for key, entry in entries:
                if entry is not None:
                    found[key] = entry(row)
                elif key == "*":
                    found.update(value.properties if isinstance(value, Element) else value)
                else:
                    found[key] = read_property(value, key)
            return created(found)

        return evaluate

    def _source(
        self, expression: tree.Expression, scope: Scope
    ) -> Callable[[Row], list[Value] | None]:
        self.require_list(expression, scope)
        source = self.compile(expression, scope)

        def items(row: Row) -> list[Value] | None:
            value = source(row)
            if value is None or isinstance(value, list):
                return value
            raise QuerySyntaxError(f"Expected a list, not {kind_of(value)}.")

        return items

    def _comprehension(self, expression: tree.Comprehension, scope: Scope) -> Evaluate:
        """Compile ``[x IN list WHERE condition | result]``."""
        source, inner = self._source(expression.source, scope), scope.inner()
        slot = inner.declare(expression.variable)
        condition = self._optional(expression.condition, inner)
        result = self._optional(expression.result, inner)
        budget = self.runtime.budget

        def evaluate(row: Row) -> Value:
            items = source(row)
            if items is None:
                return None
            found: list[Value] = []
            size, left, before = 64, _ITEMS_BETWEEN_CHECKS, budget.transient
            for item in items:
                left -= 1
                if not left:
                    left = _ITEMS_BETWEEN_CHECKS
                    budget.work(left)
                    budget.charge(size)
                    size, before = 0, budget.transient
                row[slot] = item
                if condition is None or truth(condition(row), "WHERE"):
                    value = item if result is None else result(row)
                    found.append(value)
                    kind = type(value)
                    if kind in SCALARS:
                        size += SCALAR_BYTES
                    elif kind is str and result is not None:
                        size += getsizeof(value) + 9
                    else:
                        size += budget.transient - before + 9
                    if size > _UNCOUNTED_BYTES:
                        left = 1
                budget.transient = before
            budget.charge(size)
            return found

        return evaluate

    def _optional(self, expression: tree.Expression | None, scope: Scope) -> Evaluate | None:
        return None if expression is None else self.compile(expression, scope)

    def _quantifier(self, expression: tree.Quantifier, scope: Scope) -> Evaluate:
        """Compile ``all``, ``any``, ``none`` and ``single`` with three-valued logic."""
        source, inner = self._source(expression.source, scope), scope.inner()
        slot = inner.declare(expression.variable)
        self.require_truth(expression.condition, inner)
        condition, kind = self.compile(expression.condition, inner), expression.kind
        budget = self.runtime.budget
        step = budget.step

        def evaluate(row: Row) -> Value:
            items = source(row)
            if items is None:
                return None
            held = unknown = 0
            before = budget.transient
            for item in items:
                step()
                budget.transient = before
                row[slot] = item
                value = truth(condition(row), kind)
                held += value is True
                unknown += value is None
                if (value is False and kind == "all") or (value and kind in ("any", "none")):
                    return kind == "any"
                if kind == "single" and held > 1:
                    return False
            if unknown:
                return None
            return held == 1 if kind == "single" else kind != "any"

        return evaluate

    def _reduction(self, expression: tree.Reduction, scope: Scope) -> Evaluate:
        """Compile ``reduce(total = start, x IN list | step)``."""
        source = self._source(expression.source, scope)
        start = self.compile(expression.start, scope)
        inner = scope.inner()
        total, slot = inner.declare(expression.accumulator), inner.declare(expression.variable)
        work, budget = self.compile(expression.step, inner), self.runtime.budget

        def evaluate(row: Row) -> Value:
            value, items = start(row), source(row)
            if items is None:
                return None
            before, step = budget.transient, budget.step
            measured_at = before + _UNMEASURED_BYTES
            for item in items:
                step()
                row[total], row[slot] = value, item
                value = work(row)
                kind = type(value)
                if kind in SCALARS:
                    budget.transient = before
                elif kind is str:
                    budget.transient = before + getsizeof(value)
                elif budget.transient > measured_at:
                    # The totals before are gone, but what they were made of may be in this one.
                    budget.transient = before
                    size = deep_bytes(value, budget)
                    budget.transient += size
                    measured_at = before + 2 * size + _UNMEASURED_BYTES
            return value

        return evaluate

    def _pattern_comprehension(
        self, expression: tree.PatternComprehension, scope: Scope
    ) -> Evaluate:
        """Compile ``[pattern WHERE condition | result]``."""
        inner = scope.inner()
        match = self.pattern(expression.pattern, expression.condition, inner)
        result, budget = self.compile(expression.result, inner), self.runtime.budget

        def evaluate(row: Row) -> Value:
            return _collect((result(matched) for matched in match(row)), budget)

        return evaluate

    def _pattern_predicate(self, expression: tree.PatternPredicate, scope: Scope) -> Evaluate:
        """Compile a pattern as a condition, true if it has a match, or a shortest path function."""
        if expression.pattern.shortest:
            return self._shortest(expression.pattern, scope)
        match = self._known_pattern(expression.pattern, scope)
        return lambda row: any(True for _ in match(row))

    def _known_pattern(self, pattern: tree.PathPattern, scope: Scope) -> MatchRows:
        named = [node.variable for node in pattern.nodes]
        named += [relationship.variable for relationship in pattern.relationships]
        for name in named:
            if name is not None:
                scope.find(name)
        return self.pattern(pattern, None, scope.inner())

    def _shortest(self, pattern: tree.PathPattern, scope: Scope) -> Evaluate:
        inner = scope.inner()
        named = replace(pattern, variable=_HIDDEN)
        match = self.pattern(named, None, inner)
        slot, every = inner.find(_HIDDEN).slot, pattern.shortest == "all"

        def evaluate(row: Row) -> Value:
            if every:
                return [matched[slot] for matched in match(row)]
            return next((matched[slot] for matched in match(row)), None)

        return evaluate

    def _call_of_pattern(
        self, name: str, predicate: tree.PatternPredicate, scope: Scope
    ) -> Evaluate | None:
        """Compile ``size(pattern)`` and ``exists(pattern)``; None for other functions."""
        if predicate.pattern.shortest or name not in ("size", "exists"):
            return None
        match = self._known_pattern(predicate.pattern, scope)
        if name == "exists":
            return lambda row: any(True for _ in match(row))
        return lambda row: sum(1 for _ in match(row))

    def _subquery(self, expression: tree.Subquery, scope: Scope) -> Evaluate:
        """Compile ``EXISTS { }``, ``COUNT { }`` and ``COLLECT { }``."""
        run, budget = self.query(expression.query, scope), self.runtime.budget
        if expression.kind == "EXISTS":
            return lambda row: any(True for _ in run(row))
        if expression.kind == "COUNT":
            return lambda row: sum(1 for _ in run(row))

        def values(row: Row) -> Iterator[Value]:
            for returned in run(row):
                if len(returned) != 1:
                    raise QuerySyntaxError("COLLECT { } returns exactly one column.")
                yield returned[0]

        return lambda row: _collect(values(row), budget)


_ITEMS_BETWEEN_CHECKS = 64
_UNCOUNTED_BYTES = 100_000
"""Memory of the items of a list that is counted at once."""
_UNMEASURED_BYTES = 1_000_000
"""Memory by which a total of reduce() may grow before it is measured."""


def _collect(values: Iterable[Value], budget: Budget) -> list[Value]:
    """Return values as a list, whose memory is counted with the current row."""
    found: list[Value] = []
    kept, before = KeptValues(budget), budget.transient
    for value in values:
        found.append(value)
        kept.add(value, 9)
    budget.transient = before
    budget.charge(kept.clear() + 64)
    return found


def _property_at(slot: int, key: str) -> Evaluate:
    """Return a function that reads a property of the value in a slot of the row."""

    def evaluate(row: Row) -> Value:
        value = row[slot]
        if isinstance(value, Element):
            return value.properties.get(key)
        return read_property(value, key)

    return evaluate


def _plain_number(value: Value) -> float | None:
    """Return a number that is neither a boolean nor NaN, else None."""
    return value if type(value) in (int, float) and value == value else None  # noqa: PLR0124 - NaN


def _against(operator: str, left: Evaluate, number: float, compared: Evaluate) -> Evaluate:
    """Return a comparison with a constant number, a fast path for the most frequent filters."""
    holds = _PLAIN_COMPARISONS[operator]

    def evaluate(row: Row) -> Value:
        value = left(row)
        kind = type(value)
        return holds(value, number) if kind is int or kind is float else compared(row)

    return evaluate


def _conjunction(operands: list[Evaluate]) -> Evaluate:
    def evaluate(row: Row) -> Value:
        known: bool | None = True
        for operand in operands:
            value = operand(row)
            if value is False:
                return False
            if value is not True:
                known = truth(value, "AND")
        return known

    return evaluate


def _disjunction(operands: list[Evaluate]) -> Evaluate:
    def evaluate(row: Row) -> Value:
        known: bool | None = False
        for operand in operands:
            value = operand(row)
            if value is True:
                return True
            if value is not False:
                known = truth(value, "OR")
        return known

    return evaluate


def _exclusive(operands: list[Evaluate]) -> Evaluate:
    def evaluate(row: Row) -> Value:
        values = [truth(operand(row), "XOR") for operand in operands]
        return None if None in values else sum(map(bool, values)) % 2 == 1

    return evaluate


def _call_one(
    name: str, call: Callable[..., Value], argument: Evaluate, type_: ArgumentType
) -> Evaluate:
    accepts, wanted = type_.accepts, type_.phrase

    def evaluate(row: Row) -> Value:
        value = argument(row)
        if value is None:
            return None
        if not accepts(value):
            raise type_error(name, value, wanted)
        return call(value)

    return evaluate


def _call_many(
    name: str,
    call: Callable[..., Value],
    arguments: list[Evaluate],
    types: tuple[ArgumentType, ...],
) -> Evaluate:
    def evaluate(row: Row) -> Value:
        values = [argument(row) for argument in arguments]
        if None in values:
            return None
        for value, type_ in zip(values, types, strict=False):
            if not type_.accepts(value):
                raise type_error(name, value, type_.phrase)
        return call(*values)

    return evaluate


def _constant_type(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "number"


def label_test(labels: tree.LabelExpression) -> Callable[[Value], bool]:
    """Return a test of the labels of a node, or the type of a relationship."""
    test = tree.names_test(labels)

    def holds(value: Value) -> bool:
        if isinstance(value, GraphNode):
            return test(value.labels)
        if isinstance(value, GraphRelationship):
            return test((value.type,))
        raise QuerySyntaxError(f"Only nodes and relationships have labels, not {kind_of(value)}.")

    return holds
