"""Compile MATCH, WITH and RETURN to functions from rows to rows.

Each compiler extends the one before: patterns, then grouping with aggregates, then projections
with DISTINCT, ORDER BY, SKIP and LIMIT.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from heapq import nlargest, nsmallest
from itertools import islice
from sys import maxsize
from typing import Any

from knotwork.cypher.aggregates import AGGREGATES, Aggregate, Distinct
from knotwork.cypher.expression_compiler import ExpressionCompiler
from knotwork.cypher.limits import Budget
from knotwork.cypher.match_planner import (
    BoundRelationship,
    Condition,
    Expansion,
    NodePart,
    NodeScan,
    PathPart,
    PatternParts,
    PatternReader,
    PlannedStep,
    Planner,
    split_condition,
)
from knotwork.cypher.match_steps import MatchSteps, Pipe, Rows, Test, test_of
from knotwork.cypher.property_graph import Value
from knotwork.cypher.runtime import Evaluate, Row
from knotwork.cypher.static_analysis import NameKind, Scope, aggregates_in, names_in, walk_parts
from knotwork.cypher.syntax_tree import (
    Call,
    Comparison,
    Comprehension,
    Constant,
    Expression,
    HasLabel,
    LabelIs,
    Match,
    PathPattern,
    PatternComprehension,
    ProjectedItem,
    Projection,
    PropertyAccess,
    Quantifier,
    Reduction,
    SortItem,
    Subquery,
    Variable,
)
from knotwork.cypher.values import group_key, order_key, truth
from knotwork.errors import QueryRefused, QuerySyntaxError

_LESS = ("<", "<=")
_LABELLED = (None, "equal", "in")
"""Ways to find nodes that find those of a label alone."""


class MatchCompiler(ExpressionCompiler):
    """Compiles patterns, in a MATCH or inside an expression."""

    def match(self, clause: Match, scope: Scope) -> Pipe:
        """Return the step of a MATCH; names of its patterns are added to ``scope``."""
        pipe, slots = self._pipe(clause.patterns, split_condition(clause.condition), scope)
        return _optional(pipe, slots) if clause.optional else pipe

    def pattern(
        self, pattern: PathPattern, condition: Expression | None, scope: Scope
    ) -> Callable[[Row], Rows]:
        """Return the function that yields a row once for every match of a pattern."""
        pipe, _ = self._pipe((pattern,), split_condition(condition), scope)
        return lambda row: pipe(iter((row,)))

    def _pipe(
        self, patterns: tuple[PathPattern, ...], conditions: list[Condition], scope: Scope
    ) -> tuple[Pipe, list[int]]:
        before = set(scope.names)
        reader = PatternReader(scope)
        for pattern in patterns:
            reader.read(pattern)
        parts = reader.parts
        parts.conditions += conditions
        for condition in parts.conditions:
            self.require_truth(condition.expression, scope)
        _refuse_what_shortest_cannot(parts)
        planned = Planner(self.runtime, parts, set(before)).plan()
        return self._assemble(planned, parts, before, scope), parts.slots

    def _assemble(
        self, planned: list[PlannedStep], parts: PatternParts, before: set[str], scope: Scope
    ) -> Pipe:
        makers = MatchSteps(self.runtime, parts)
        own = set(scope.names) - before
        tests = _Tests(self, parts.conditions, own, scope)
        pipes: list[Pipe] = []
        waiting, done = list(parts.paths), set[str]()
        for step in planned:
            done |= _names_of(step)
            if isinstance(step, NodeScan) and not step.node.bound and step.seek in _LABELLED:
                tests.drop(step.node)
            pipes.append(self._step(makers, step, tests.ready(done), scope))
            for path in [path for path in waiting if _is_complete(path, done)]:
                waiting.remove(path)
                done.add(path.name)
                pipes.append(makers.path(path, tests.ready(done)))
        return _chain(pipes)

    def _step(self, makers: MatchSteps, step: PlannedStep, test: Test | None, scope: Scope) -> Pipe:
        if isinstance(step, NodeScan):
            value = None if step.value is None else self.compile(step.value, scope)
            return makers.start(step, value, test)
        if isinstance(step, BoundRelationship):
            return makers.given(step, test)
        each = [self.compile(part.expression, scope) for part in step.relationship.each]
        return makers.expand(step, test, test_of(each))


class _Tests:
    """Conditions that wait for the names they speak of."""

    def __init__(
        self, compiler: MatchCompiler, conditions: Iterable[Condition], own: set[str], scope: Scope
    ) -> None:
        self._own = own
        self._waiting = [
            (
                condition.names & own,
                compiler.compile(condition.expression, scope),
                condition.expression,
            )
            for condition in conditions
        ]

    def drop(self, node: NodePart) -> None:
        """Leave out the test of a label by which a node was found."""
        known = HasLabel(Variable(node.name), LabelIs(node.label or ""))
        self._waiting = [item for item in self._waiting if item[2] != known]

    def ready(self, done: set[str]) -> Test | None:
        """Return the test of all conditions that can be tested now and could not before."""
        now = [test for names, test, _ in self._waiting if names <= done]
        self._waiting = [item for item in self._waiting if not item[0] <= done]
        return test_of(now)


def _names_of(step: PlannedStep) -> set[str]:
    if isinstance(step, NodeScan):
        return {step.node.name}
    relationship = step.relationship
    if isinstance(step, Expansion):
        return {relationship.name, step.near, step.far}
    return {relationship.name, relationship.left, relationship.right}


def _is_complete(path: PathPart, done: set[str]) -> bool:
    return {*path.nodes, *path.relationships} <= done


def _chain(pipes: list[Pipe]) -> Pipe:
    def run(rows: Rows) -> Rows:
        for pipe in pipes:
            rows = pipe(rows)
        return rows

    return run


def _optional(pipe: Pipe, slots: list[int]) -> Pipe:
    def run(rows: Rows) -> Rows:
        for row in rows:
            found = False
            for matched in pipe(iter((row,))):
                found = True
                yield matched
            if not found:
                for slot in slots:
                    row[slot] = None
                yield row

    return run


def _refuse_what_shortest_cannot(parts: PatternParts) -> None:
    """Refuse conditions that the first shortest path may fail while a longer one holds them."""
    for path in parts.paths:
        shortest = [r for r in map(parts.relationships.get, path.relationships) if r and r.shortest]
        for condition in parts.conditions:
            if shortest and path.name in condition.names and not _bounds(condition, path.name):
                raise QueryRefused(
                    "A condition in WHERE on a shortest path is not supported.",
                    fix=f"Put WITH * before the WHERE to filter what was found for `{path.name}`.",
                )
    for relationship in parts.relationships.values():
        if relationship.shortest and (relationship.lengths or (1, 1))[0] > 1:
            raise QueryRefused("A shortest path with a least length above 1 is not supported.")


def _bounds(condition: Condition, name: str) -> bool:
    """Tell whether a condition is one that no longer path can hold where a shorter does not."""
    expression = condition.expression
    if not isinstance(expression, Comparison) or len(expression.steps) != 1:
        return False
    (operator, other), first = expression.steps[0], expression.first
    length = Call("length", (Variable(name),))
    return first == length and operator in _LESS and isinstance(other, Constant)


_PAIRED = ("percentilecont", "percentiledisc")


@dataclass(slots=True)
class _CompiledAggregate:
    """A call that counts over rows: what makes its aggregate, and the value it takes of a row."""

    make: Callable[[], Aggregate]
    value: Evaluate | None
    every: bool


class GroupingCompiler(MatchCompiler):
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

    def _counted(self, call: Call, scope: Scope) -> _CompiledAggregate:
        make = AGGREGATES[call.name]
        if call.star:
            return _CompiledAggregate(lambda: make(self.runtime), None, every=True)
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

        return _CompiledAggregate(made, value, every=False)


def _fill(row: Row, slots: list[int], values: list[Value]) -> None:
    for slot, value in zip(slots, values, strict=True):
        row[slot] = value


class _Groups:
    """Forms groups, in the order in which their first rows come."""

    def __init__(
        self,
        compiler: GroupingCompiler,
        keys: list[Evaluate],
        counted: list[_CompiledAggregate],
        *,
        total: bool,
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
                    aggregate.add(taken)
        return list(groups.values())


def _require_grouped(expression: Expression, keys: list[Expression]) -> None:
    """Refuse a column in which something that is neither counted nor grouped by stands."""
    known = {key for key in keys if isinstance(key, Variable | PropertyAccess)}
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


_FEW = 10_000
"""As many rows as are kept in a heap; more are sorted all at once."""

_Sorted = tuple[tuple[Any, ...], bool, list[Value]]
"""What a row is sorted by, whether it passes WHERE, and the values of its columns."""


@dataclass(slots=True)
class CompiledProjection:
    """A compiled WITH or RETURN: the step, what is seen after it, and its columns."""

    pipe: Pipe
    scope: Scope
    columns: tuple[str, ...]


class ProjectionCompiler(GroupingCompiler):
    """Compiles projections."""

    def project(self, clause: Projection, scope: Scope) -> CompiledProjection:
        """Return the compiled projection. Raises QuerySyntaxError for columns without a name."""
        items = _items(clause, scope)
        _require_names(items, clause)
        after = Scope()
        for item in items:
            after.declare(item.alias, self._kind_after(item.expression, scope))
        grouped = any(aggregates_in(item.expression) for item in items)
        if not grouped and aggregates_in(tuple(item.expression for item in clause.order)):
            raise QuerySyntaxError("ORDER BY counts over rows, but no column does.")
        if grouped or clause.distinct:
            sources, inner = self._grouped(clause, items, scope, counting=grouped)
        else:
            sources, inner = self._plain(items, scope)
        pipe = self._arranged(clause, items, sources, inner, after)
        return CompiledProjection(pipe, after, tuple(item.alias for item in items))

    def _kind_after(self, expression: Expression, scope: Scope) -> NameKind:
        if isinstance(expression, Variable) and expression.name in scope.names:
            return scope.names[expression.name].kind
        return "value" if self.type_of(expression, scope) is None else "plain"

    def _plain(self, items: list[ProjectedItem], scope: Scope) -> tuple[Pipe, Scope]:
        """Return the step that works out the columns beside what is in the row."""
        work = [self.compile(item.expression, scope) for item in items]
        inner = scope.inner()
        slots = [inner.declare(item.alias) for item in items]
        for item, slot in zip(items, slots, strict=True):
            if not isinstance(item.expression, Variable):
                inner.replaced[item.expression] = slot

        def run(rows: Rows) -> Rows:
            for row in rows:
                values = [evaluate(row) for evaluate in work]
                for slot, value in zip(slots, values, strict=True):
                    row[slot] = value
                yield row

        return run, inner

    def _grouped(
        self, clause: Projection, items: list[ProjectedItem], scope: Scope, *, counting: bool
    ) -> tuple[Pipe, Scope]:
        """Return the step that groups rows, and what is seen of a group."""
        sorts = tuple(item.expression for item in clause.order) if counting else ()
        inner = Scope()
        inner.grouped = counting
        pipe = self.group(items, sorts, scope, inner)
        if counting and clause.distinct:
            return _then_distinct(pipe, inner, items, self.runtime.budget.step), inner
        return pipe, inner

    def _arranged(
        self,
        clause: Projection,
        items: list[ProjectedItem],
        sources: Pipe,
        inner: Scope,
        after: Scope,
    ) -> Pipe:
        """Return the whole step: columns, then order, SKIP, LIMIT and WHERE."""
        slots = [inner.names[item.alias].slot for item in items]
        keys = [self._sort_key(item, inner) for item in clause.order]
        skip = self._count(clause.skip, "SKIP") or 0
        limit = self._count(clause.limit, "LIMIT")
        where = self._where(clause.condition, inner)
        layout = after.layout
        directions = [item.descending for item in clause.order]

        def projected(rows: Rows) -> Iterator[_Sorted]:
            for row in sources(rows):
                passes = where is None or truth(where(row), "WHERE") is True
                values = [row[slot] for slot in slots]
                yield tuple(key(row) for key in keys), passes, values

        def run(rows: Rows) -> Rows:
            if limit == 0:
                return
            wanted = None if limit is None else min(skip + limit, maxsize)
            found = projected(rows)
            if keys:
                found = iter(_ordered(found, directions, wanted, self.runtime.budget))
            size = layout.size
            for _, passes, values in islice(found, min(skip, maxsize), wanted):
                if passes:
                    yield values + [None] * (size - len(values))

        return run

    def _where(self, condition: Expression | None, inner: Scope) -> Evaluate | None:
        if condition is None:
            return None
        self.require_truth(condition, inner)
        return self.compile(condition, inner)

    def _sort_key(self, item: SortItem, scope: Scope) -> Callable[[Row], Any]:
        evaluate, step = self.compile(item.expression, scope), self.runtime.budget.step
        return lambda row: order_key(evaluate(row), step)

    def _count(self, expression: Expression | None, word: str) -> int | None:
        """Return how many rows SKIP or LIMIT says. Raises QuerySyntaxError for what is no count."""
        if expression is None:
            return None
        if names_in(expression):
            raise QuerySyntaxError(f"{word} cannot depend on a row.")
        scope = Scope()
        evaluate = self.compile(expression, scope)
        count = evaluate([None] * scope.layout.size)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise QuerySyntaxError(f"{word} takes a whole number that is not negative.")
        return count


def _items(clause: Projection, scope: Scope) -> list[ProjectedItem]:
    found: list[ProjectedItem] = []
    if clause.star:
        names = sorted(scope.visible())
        if not names and clause.final:
            raise QuerySyntaxError("`*` stands for all variables, but there are none.")
        found = [ProjectedItem(Variable(name), name, named=True) for name in names]
    return found + list(clause.items)


def _require_names(items: list[ProjectedItem], clause: Projection) -> None:
    known: dict[str, ProjectedItem] = {}
    for item in items:
        if known.setdefault(item.alias, item) != item or (
            item.named and item is not known[item.alias]
        ):
            raise QuerySyntaxError(f"Two columns have the name `{item.alias}`.")
    if not clause.final:
        for item in items:
            if not item.named:
                raise QuerySyntaxError(
                    f"`{item.alias}` in WITH needs a name.", fix="Give it one with AS."
                )


def _then_distinct(
    pipe: Pipe, inner: Scope, items: list[ProjectedItem], step: Callable[[], None]
) -> Pipe:
    slots = [inner.names[item.alias].slot for item in items]

    def run(rows: Rows) -> Rows:
        seen: set[Any] = set()
        for row in pipe(rows):
            key = tuple(group_key(row[slot], step) for slot in slots)
            if key not in seen:
                seen.add(key)
                yield row

    return run


def _ordered(
    rows: Iterator[_Sorted],
    directions: list[bool],
    wanted: int | None,
    budget: Budget,
) -> list[_Sorted]:
    """Return rows in order, equal ones as they came; at most ``wanted``."""

    def counted() -> Iterator[_Sorted]:
        for row in rows:
            budget.hold()
            yield row

    def key(row: _Sorted) -> Any:  # noqa: ANN401
        return row[0]

    if wanted is not None and wanted <= _FEW and len(set(directions)) == 1:
        choose = nlargest if directions[0] else nsmallest
        return choose(wanted, counted(), key=key)
    found = list(counted())
    budget.check_sort(len(found) * len(directions))
    for place in reversed(range(len(directions))):
        found.sort(key=lambda row: row[0][place], reverse=directions[place])
    return found
