"""Rows brought together: by what they have in common, with what is counted over each group."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields, is_dataclass

from knotwork.cypher.aggregates import AGGREGATES, Aggregate, Distinct
from knotwork.cypher.graph import Value
from knotwork.cypher.matching import Matching
from knotwork.cypher.names import aggregates_in, names_in, walk_parts
from knotwork.cypher.scopes import Scope
from knotwork.cypher.steps import Evaluate, Pipe, Row, Rows
from knotwork.cypher.syntax import (
    Call,
    Comprehension,
    Expression,
    PatternComprehension,
    ProjectedItem,
    Property,
    Quantifier,
    Reduction,
    Subquery,
    Variable,
)
from knotwork.cypher.values import group_key
from knotwork.errors import QuerySyntaxError

_PAIRED = ("percentilecont", "percentiledisc")


@dataclass(slots=True)
class _Counted:
    """A call that counts over rows: what makes its aggregate, and the value it takes of a row."""

    make: Callable[[], Aggregate]
    value: Evaluate | None
    every: bool


class Grouping(Matching):
    """Compiles grouping."""

    def group(
        self,
        items: list[ProjectedItem],
        sorts: tuple[Expression, ...],
        scope: Scope,
        inner: Scope,
    ) -> Pipe:
        """Return the step from rows to groups, giving ``inner`` the names and columns of a group.

        Raises QuerySyntaxError where a column mixes what is counted with what is not grouped by.
        """
        keys = [item for item in items if not aggregates_in(item.expression)]
        work = [self.compile(item.expression, scope) for item in keys]
        key_slots = [inner.layout.add() for _ in keys]
        for item, slot in zip(keys, key_slots, strict=True):
            inner.replaced[item.expression] = slot
        calls = list(
            dict.fromkeys(
                [call for item in items for call in aggregates_in(item.expression)]
                + aggregates_in(sorts)
            )
        )
        grouped = [key.expression for key in keys]
        for sort in filter(aggregates_in, sorts):
            _require_grouped(sort, [*(Variable(key.alias) for key in keys), *grouped])
        counted = [self._counted(call, scope) for call in calls]
        call_slots = [inner.layout.add() for _ in calls]
        inner.replaced.update(zip(calls, call_slots, strict=True))
        results = [self._result(item, inner, grouped) for item in items]
        slots = [inner.declare(item.alias) for item in items]
        for item, slot in zip(items, slots, strict=True):
            inner.replaced.setdefault(item.expression, slot)
        for item in items:
            inner.replaced.pop(Variable(item.alias), None)
        groups = _Groups(self, work, counted, total=bool(calls) and not keys)

        def run(rows: Rows) -> Rows:
            for values, aggregates in groups.form(rows):
                row: Row = [None] * inner.layout.size
                _fill(row, key_slots, values)
                _fill(row, call_slots, [aggregate.result() for aggregate in aggregates])
                _fill(row, slots, [result(row) for result in results])
                yield row

        return run

    def _result(self, item: ProjectedItem, inner: Scope, keys: list[Expression]) -> Evaluate:
        if aggregates_in(item.expression):
            _require_grouped(item.expression, keys)
        return self.compile(item.expression, inner)

    def _counted(self, call: Call, scope: Scope) -> _Counted:
        make = AGGREGATES[call.name]
        if call.star:
            return _Counted(lambda: make(self.runtime), None, every=True)
        wanted = 2 if call.name in _PAIRED else 1
        if len(call.arguments) != wanted:
            raise QuerySyntaxError(f"{call.name}() takes {wanted} values.")
        for argument in call.arguments:
            if aggregates_in(argument):
                raise QuerySyntaxError(f"{call.name}() cannot count what is counted already.")
            if any(isinstance(part, Call) and part.name == "rand" for part in walk_parts(argument)):
                raise QuerySyntaxError(f"{call.name}() cannot count over what rand() makes.")
        arguments = [self.compile(argument, scope) for argument in call.arguments]
        value: Evaluate = arguments[0]
        if wanted == 2:

            def paired(row: Row) -> Value:
                first = arguments[0](row)
                return None if first is None else (first, arguments[1](row))

            value = paired

        def made() -> Aggregate:
            aggregate = make(self.runtime)
            return Distinct(self.runtime, aggregate) if call.distinct else aggregate

        return _Counted(made, value, every=False)


def _fill(row: Row, slots: list[int], values: list[Value]) -> None:
    for slot, value in zip(slots, values, strict=True):
        row[slot] = value


class _Groups:
    """Forms groups, in the order in which their first rows come."""

    def __init__(
        self, compiler: Grouping, keys: list[Evaluate], counted: list[_Counted], *, total: bool
    ) -> None:
        self._budget = compiler.runtime.budget
        self._keys = keys
        self._counted = counted
        self._total = total

    def form(self, rows: Rows) -> list[tuple[list[Value], list[Aggregate]]]:
        """Return the values that each group has in common, and what was counted over it."""
        groups: dict[Hashable, tuple[list[Value], list[Aggregate]]] = {}
        if self._total:
            groups[()] = [], [counted.make() for counted in self._counted]
        step, single = self._budget.step, len(self._keys) == 1
        takers = [(counted.value, counted.every) for counted in self._counted]
        for row in rows:
            values = [key(row) for key in self._keys]
            if single:
                group: Hashable = group_key(values[0], step)
            else:
                group = tuple([group_key(value, step) for value in values])
            found = groups.get(group)
            if found is None:
                self._budget.hold(1 + len(takers))
                found = groups[group] = values, [counted.make() for counted in self._counted]
            for (value, every), aggregate in zip(takers, found[1], strict=True):
                taken = True if every or value is None else value(row)
                if taken is not None:
                    aggregate.take(taken)
        return list(groups.values())


def _require_grouped(expression: Expression, keys: list[Expression]) -> None:
    """Refuse a column in which something that is neither counted nor grouped by stands."""
    known = {key for key in keys if isinstance(key, Variable | Property)}
    waiting: list[tuple[object, frozenset[str]]] = [(expression, frozenset())]
    while waiting:
        part, local = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend((inner, local) for inner in part)
        elif isinstance(part, Variable):
            if part not in known and part.name not in local:
                raise QuerySyntaxError(
                    f"`{part.name}` is neither counted over nor grouped by.",
                    fix="Put it in a column of its own, or inside count(), collect() and the like.",
                )
        elif is_dataclass(part) and not isinstance(part, Subquery):
            _require_outside_lists(part)
            counted = isinstance(part, Call) and part.name in AGGREGATES
            if not counted and part not in known:
                seen = local | _local_names(part)
                waiting.extend((getattr(part, field.name), seen) for field in fields(part))


def _require_outside_lists(part: object) -> None:
    """Refuse what counts over rows for each item of a list."""
    for field in ("condition", "result", "step"):
        listed = isinstance(part, Comprehension | Quantifier | Reduction | PatternComprehension)
        if listed and aggregates_in(getattr(part, field, None)):
            raise QuerySyntaxError("Rows cannot be counted over for each item of a list.")


def _local_names(part: object) -> frozenset[str]:
    """Return the names that an expression gives to parts of itself."""
    if isinstance(part, PatternComprehension):
        return frozenset(names_in(part.pattern))
    found = (getattr(part, key, None) for key in ("variable", "accumulator"))
    return frozenset(name for name in found if isinstance(name, str))
