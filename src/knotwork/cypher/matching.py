"""MATCH: patterns planned against the graph and put together from steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from knotwork.cypher.expressions import Expressions
from knotwork.cypher.pattern_parts import (
    Condition,
    NodePart,
    PathPart,
    PatternParts,
    PatternReader,
    split_condition,
)
from knotwork.cypher.planning import Expansion, Given, PlannedStep, Planner, Start
from knotwork.cypher.scopes import Scope
from knotwork.cypher.steps import Pipe, Row, Rows, Steps, Test, test_of
from knotwork.cypher.syntax import (
    Call,
    Comparison,
    Constant,
    Expression,
    HasLabel,
    LabelIs,
    Match,
    PathPattern,
    Variable,
)
from knotwork.errors import QueryRefused

_LESS = ("<", "<=")
_LABELLED = (None, "equal", "in")
"""Ways to find nodes that find those of a label alone."""


class Matching(Expressions):
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
        makers = Steps(self.runtime, parts)
        own = set(scope.names) - before
        tests = _Tests(self, parts.conditions, own, scope)
        pipes: list[Pipe] = []
        waiting, done = list(parts.paths), set[str]()
        for step in planned:
            done |= _names_of(step)
            if isinstance(step, Start) and not step.node.bound and step.seek in _LABELLED:
                tests.drop(step.node)
            pipes.append(self._step(makers, step, tests.ready(done), scope))
            for path in [path for path in waiting if _is_complete(path, done)]:
                waiting.remove(path)
                done.add(path.name)
                pipes.append(makers.path(path, tests.ready(done)))
        return _chain(pipes)

    def _step(self, makers: Steps, step: PlannedStep, test: Test | None, scope: Scope) -> Pipe:
        if isinstance(step, Start):
            value = None if step.value is None else self.compile(step.value, scope)
            return makers.start(step, value, test)
        if isinstance(step, Given):
            return makers.given(step, test)
        each = [self.compile(part.expression, scope) for part in step.relationship.each]
        return makers.expand(step, test, test_of(each))


class _Tests:
    """Conditions that wait for the names they speak of."""

    def __init__(
        self, compiler: Matching, conditions: Iterable[Condition], own: set[str], scope: Scope
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
    if isinstance(step, Start):
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
