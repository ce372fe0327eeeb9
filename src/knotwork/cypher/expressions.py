"""Expressions made into functions of a row."""

from __future__ import annotations

import operator as operator_functions
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from knotwork.cypher.aggregates import AGGREGATES
from knotwork.cypher.functions import find_function
from knotwork.cypher.graph import Element, Value
from knotwork.cypher.labels import label_test
from knotwork.cypher.list_expressions import ListExpressions
from knotwork.cypher.properties import read_item, read_property, read_slice
from knotwork.cypher.scopes import Scope
from knotwork.cypher.syntax import (
    Binary,
    Call,
    Case,
    Comparison,
    Comprehension,
    Constant,
    Expression,
    HasLabel,
    Item,
    Junction,
    ListOf,
    MapOf,
    MapProjection,
    Parameter,
    PatternComprehension,
    PatternPredicate,
    Property,
    Quantifier,
    Reduction,
    Slice,
    Subquery,
    Unary,
    Variable,
)
from knotwork.cypher.values import contains, equal, holds_order, is_number, kind_of, truth
from knotwork.errors import QuerySyntaxError

if TYPE_CHECKING:
    from knotwork.cypher.runtime import Runtime

_PLAIN_COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "=": operator_functions.eq,
    "<>": operator_functions.ne,
    "<": operator_functions.lt,
    "<=": operator_functions.le,
    ">": operator_functions.gt,
    ">=": operator_functions.ge,
}

Row: TypeAlias = list[Value]
Evaluate: TypeAlias = Callable[[Row], Value]


class Expressions(ListExpressions):
    """Compiles expressions; each becomes a function that takes a row and gives a value."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime)
        self._makers: dict[type, Callable[[Any, Scope], Evaluate]] = {
            Binary: self._binary,
            Call: self._call,
            Case: self._case,
            Comparison: self._comparison,
            Comprehension: self.comprehension,
            Constant: self._constant,
            HasLabel: self._has_label,
            Item: self._item,
            Junction: self._junction,
            ListOf: self.list_of,
            MapOf: self.map_of,
            MapProjection: self.map_projection,
            Parameter: self._parameter,
            PatternComprehension: self.pattern_comprehension,
            PatternPredicate: self.pattern_predicate,
            Property: self._property,
            Quantifier: self.quantifier,
            Reduction: self.reduction,
            Slice: self._slice,
            Subquery: self.subquery,
            Unary: self._unary,
            Variable: self._variable,
        }

    def compile(self, expression: Expression, scope: Scope) -> Evaluate:
        """Return the function of a row that works an expression out.

        Raises QuerySyntaxError for names that are not known, QueryRefused for functions that are
        not.
        """
        if scope.replaced:
            slot = scope.replaced.get(expression)
            if slot is not None:
                return lambda row: row[slot]
        return self._makers[type(expression)](expression, scope)

    def _constant(self, expression: Constant, _: Scope) -> Evaluate:
        value = expression.value
        return lambda _: value

    def _parameter(self, expression: Parameter, _: Scope) -> Evaluate:
        if expression.name not in self.runtime.parameters:
            given = ", ".join(f"${name}" for name in self.runtime.parameters) or "none"
            raise QuerySyntaxError(f"The parameter ${expression.name} is missing; given: {given}.")
        value = self.runtime.parameters[expression.name]
        return lambda _: value

    def _variable(self, expression: Variable, scope: Scope) -> Evaluate:
        slot = scope.find(expression.name).slot
        return lambda row: row[slot]

    def _property(self, expression: Property, scope: Scope) -> Evaluate:
        self.require_no_walk(expression.subject, scope)
        subject, key = self.compile(expression.subject, scope), expression.key
        if isinstance(expression.subject, Variable) and expression.subject not in scope.replaced:
            return _property_at(scope.find(expression.subject.name).slot, key)

        def evaluate(row: Row) -> Value:
            value = subject(row)
            if isinstance(value, Element):
                return value.properties.get(key)
            return read_property(value, key)

        return evaluate

    def _item(self, expression: Item, scope: Scope) -> Evaluate:
        subject = self.compile(expression.subject, scope)
        index = self.compile(expression.index, scope)
        return lambda row: read_item(subject(row), index(row))

    def _slice(self, expression: Slice, scope: Scope) -> Evaluate:
        subject = self.compile(expression.subject, scope)
        start = None if expression.start is None else self.compile(expression.start, scope)
        end = None if expression.end is None else self.compile(expression.end, scope)

        def evaluate(row: Row) -> Value:
            first = 0 if start is None else start(row)
            value = subject(row)
            if end is None:
                return None if first is None else read_slice(value, first, None)
            last = end(row)
            return None if first is None or last is None else read_slice(value, first, last)

        return evaluate

    def _unary(self, expression: Unary, scope: Scope) -> Evaluate:
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
                raise QuerySyntaxError(f"`{expression.operator}` cannot sign {kind_of(value)}.")
            if not start or value is None:
                return value
            return -value if isinstance(value, float) else subtract(0, value)

        return sign

    def _binary(self, expression: Binary, scope: Scope) -> Evaluate:
        left, right = self.compile(expression.left, scope), self.compile(expression.right, scope)
        if expression.operator == "IN":
            self.require_list(expression.right, scope)
            step = self.runtime.budget.step
            return lambda row: contains(right(row), left(row), step)
        operator = self.runtime.operators.by_sign[expression.operator]
        return lambda row: operator(left(row), right(row))

    def _comparison(self, expression: Comparison, scope: Scope) -> Evaluate:
        steps: list[Evaluate] = []
        left = self.compile(expression.first, scope)
        for operator, operand in expression.steps:
            right = self.compile(operand, scope)
            plain = _plain_number(self._known(operand))
            compared = self._compared(operator, left, right)
            steps.append(compared if plain is None else _against(operator, left, plain, compared))
            left = right
        return steps[0] if len(steps) == 1 else _conjunction(steps)

    def _known(self, expression: Expression) -> Value:
        """Return the value of a literal or parameter, or null."""
        if isinstance(expression, Parameter):
            return self.runtime.parameters.get(expression.name)
        return expression.value if isinstance(expression, Constant) else None

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

    def _junction(self, expression: Junction, scope: Scope) -> Evaluate:
        for operand in expression.operands:
            self.require_truth(operand, scope)
        operands = [self.compile(operand, scope) for operand in expression.operands]
        if expression.operator == "AND":
            return _conjunction(operands)
        return _disjunction(operands) if expression.operator == "OR" else _exclusive(operands)

    def _has_label(self, expression: HasLabel, scope: Scope) -> Evaluate:
        subject, test = self.compile(expression.subject, scope), label_test(expression.labels)

        def evaluate(row: Row) -> Value:
            value = subject(row)
            return None if value is None else test(value)

        return evaluate

    def _case(self, expression: Case, scope: Scope) -> Evaluate:
        subject = None if expression.subject is None else self.compile(expression.subject, scope)
        branches = [
            (self.compile(condition, scope), self.compile(result, scope))
            for condition, result in expression.branches
        ]
        otherwise = self.compile(expression.otherwise or Constant(None), scope)
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

    def _call(self, expression: Call, scope: Scope) -> Evaluate:
        name, given = expression.name, expression.arguments
        if name in AGGREGATES:
            raise QuerySyntaxError(f"{name}() counts over rows, which is not possible here.")
        if len(given) == 1 and isinstance(given[0], PatternPredicate):
            special = self.call_of_pattern(name, given[0], scope)
            if special is not None:
                return special
        function = find_function(name, len(given))
        if expression.distinct:
            raise QuerySyntaxError(f"DISTINCT has no meaning in {name}().")
        self.require_kinds(name, given, scope)
        arguments = [self.compile(argument, scope) for argument in given]
        call, runtime = function.call, self.runtime
        if function.takes_null:
            return lambda row: call(runtime, *[argument(row) for argument in arguments])

        def evaluate(row: Row) -> Value:
            values = [argument(row) for argument in arguments]
            return None if None in values else call(runtime, *values)

        def evaluate_one(row: Row) -> Value:
            value = argument(row)
            return None if value is None else call(runtime, value)

        if len(arguments) == 1:
            argument = arguments[0]
            return evaluate_one
        return evaluate


def _property_at(slot: int, key: str) -> Evaluate:
    """Return what reads a property of what stands at a place of the row."""

    def evaluate(row: Row) -> Value:
        value = row[slot]
        if isinstance(value, Element):
            return value.properties.get(key)
        return read_property(value, key)

    return evaluate


def _plain_number(value: Value) -> float | None:
    return value if type(value) in (int, float) and value == value else None  # noqa: PLR0124 - NaN


def _against(operator: str, left: Evaluate, number: float, compared: Evaluate) -> Evaluate:
    """Return a comparison with a number that is known, which is most of what filters do."""
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
