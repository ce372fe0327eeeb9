"""Expressions that go through lists, patterns or subqueries, each in a scope of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from knotwork.cypher.graph import Element, Value
from knotwork.cypher.properties import read_property
from knotwork.cypher.scopes import Scope
from knotwork.cypher.static_types import StaticTypes
from knotwork.cypher.syntax import (
    Comprehension,
    Expression,
    ListOf,
    MapOf,
    MapProjection,
    PatternComprehension,
    PatternPredicate,
    Quantifier,
    Query,
    Reduction,
    Subquery,
)
from knotwork.cypher.values import kind_of, truth, value_error
from knotwork.errors import QuerySyntaxError

if TYPE_CHECKING:
    from knotwork.cypher.syntax import PathPattern

Row: TypeAlias = list[Value]
Evaluate: TypeAlias = Callable[[Row], Value]
Match: TypeAlias = Callable[[Row], Iterable[Row]]

_HIDDEN = " path"
"""A name that no person can give."""


class ListExpressions(StaticTypes, ABC):
    """Comprehensions, quantifiers, maps and patterns inside expressions."""

    @abstractmethod
    def compile(self, expression: Expression, scope: Scope) -> Evaluate:
        """Return the function of a row that works an expression out."""

    @abstractmethod
    def pattern(self, pattern: PathPattern, condition: Expression | None, scope: Scope) -> Match:
        """Return the function that yields a row once for every match of a pattern.

        The names of the pattern are added to ``scope``.
        """

    @abstractmethod
    def query(self, query: Query, scope: Scope) -> Match:
        """Return the function that runs a subquery for a row and yields the rows it returns."""

    def list_of(self, expression: ListOf, scope: Scope) -> Evaluate:
        """Compile a list."""
        items = [self.compile(item, scope) for item in expression.items]
        hold = self.runtime.budget.hold

        def evaluate(row: Row) -> Value:
            hold(len(items) // 8)
            return [item(row) for item in items]

        return evaluate

    def map_of(self, expression: MapOf, scope: Scope) -> Evaluate:
        """Compile a map."""
        entries = [(key, self.compile(value, scope)) for key, value in expression.entries]
        return lambda row: {key: value(row) for key, value in entries}

    def map_projection(self, expression: MapProjection, scope: Scope) -> Evaluate:
        """Compile a choice of the properties of an element or map."""
        subject = self.compile(expression.subject, scope)
        entries = [
            (key, None if value is None else self.compile(value, scope))
            for key, value in expression.entries
        ]

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
            return found

        return evaluate

    def _source(self, expression: Expression, scope: Scope) -> Callable[[Row], list[Value] | None]:
        self.require_list(expression, scope)
        source = self.compile(expression, scope)

        def items(row: Row) -> list[Value] | None:
            value = source(row)
            if value is None or isinstance(value, list):
                return value
            raise value_error(f"A list is needed here, not {kind_of(value)}.")

        return items

    def comprehension(self, expression: Comprehension, scope: Scope) -> Evaluate:
        """Compile ``[x IN list WHERE condition | result]``."""
        source, inner = self._source(expression.source, scope), scope.inner()
        slot = inner.declare(expression.variable)
        condition = self._optional(expression.condition, inner)
        result = self._optional(expression.result, inner)
        hold = self.runtime.budget.hold

        def evaluate(row: Row) -> Value:
            items = source(row)
            if items is None:
                return None
            found: list[Value] = []
            for item in items:
                hold()
                row[slot] = item
                if condition is None or truth(condition(row), "WHERE"):
                    found.append(item if result is None else result(row))
            return found

        return evaluate

    def _optional(self, expression: Expression | None, scope: Scope) -> Evaluate | None:
        return None if expression is None else self.compile(expression, scope)

    def quantifier(self, expression: Quantifier, scope: Scope) -> Evaluate:
        """Compile ``all``, ``any``, ``none`` and ``single``, of which null makes null."""
        source, inner = self._source(expression.source, scope), scope.inner()
        slot = inner.declare(expression.variable)
        self.require_truth(expression.condition, inner)
        condition, kind = self.compile(expression.condition, inner), expression.kind
        step = self.runtime.budget.step

        def evaluate(row: Row) -> Value:
            items = source(row)
            if items is None:
                return None
            held = unknown = 0
            for item in items:
                step()
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

    def reduction(self, expression: Reduction, scope: Scope) -> Evaluate:
        """Compile ``reduce(total = start, x IN list | step)``."""
        source, start = (
            self._source(expression.source, scope),
            self.compile(expression.start, scope),
        )
        inner = scope.inner()
        total, slot = inner.declare(expression.accumulator), inner.declare(expression.variable)
        work, step = self.compile(expression.step, inner), self.runtime.budget.step

        def evaluate(row: Row) -> Value:
            value, items = start(row), source(row)
            if items is None:
                return None
            for item in items:
                step()
                row[total], row[slot] = value, item
                value = work(row)
            return value

        return evaluate

    def pattern_comprehension(self, expression: PatternComprehension, scope: Scope) -> Evaluate:
        """Compile ``[pattern WHERE condition | result]``."""
        inner = scope.inner()
        match = self.pattern(expression.pattern, expression.condition, inner)
        result, hold = self.compile(expression.result, inner), self.runtime.budget.hold

        def evaluate(row: Row) -> Value:
            found: list[Value] = []
            for matched in match(row):
                hold()
                found.append(result(matched))
            return found

        return evaluate

    def pattern_predicate(self, expression: PatternPredicate, scope: Scope) -> Evaluate:
        """Compile a pattern that stands for whether it is there, or for its shortest paths."""
        if expression.pattern.shortest:
            return self._shortest(expression.pattern, scope)
        match = self._known_pattern(expression.pattern, scope)
        return lambda row: any(True for _ in match(row))

    def _known_pattern(self, pattern: PathPattern, scope: Scope) -> Match:
        named = [node.variable for node in pattern.nodes]
        named += [relationship.variable for relationship in pattern.relationships]
        for name in named:
            if name is not None:
                scope.find(name)
        return self.pattern(pattern, None, scope.inner())

    def _shortest(self, pattern: PathPattern, scope: Scope) -> Evaluate:
        inner = scope.inner()
        named = replace(pattern, variable=_HIDDEN)
        match = self.pattern(named, None, inner)
        slot, every = inner.find(_HIDDEN).slot, pattern.shortest == "all"

        def evaluate(row: Row) -> Value:
            if every:
                return [matched[slot] for matched in match(row)]
            return next((matched[slot] for matched in match(row)), None)

        return evaluate

    def call_of_pattern(
        self, name: str, predicate: PatternPredicate, scope: Scope
    ) -> Evaluate | None:
        """Compile ``size(pattern)`` and ``exists(pattern)``; None for other functions."""
        if predicate.pattern.shortest or name not in ("size", "exists"):
            return None
        match = self._known_pattern(predicate.pattern, scope)
        if name == "exists":
            return lambda row: any(True for _ in match(row))
        return lambda row: sum(1 for _ in match(row))

    def subquery(self, expression: Subquery, scope: Scope) -> Evaluate:
        """Compile ``EXISTS { }``, ``COUNT { }`` and ``COLLECT { }``."""
        run, hold = self.query(expression.query, scope), self.runtime.budget.hold
        if expression.kind == "EXISTS":
            return lambda row: any(True for _ in run(row))
        if expression.kind == "COUNT":
            return lambda row: sum(1 for _ in run(row))

        def collect(row: Row) -> Value:
            found: list[Value] = []
            for returned in run(row):
                hold()
                if len(returned) != 1:
                    raise QuerySyntaxError("COLLECT { } returns exactly one column.")
                found.append(returned[0])
            return found

        return collect
