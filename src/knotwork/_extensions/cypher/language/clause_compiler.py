"""Compile queries to pipes, which are functions from rows to rows, clause by clause."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from sys import getsizeof, maxsize
from typing import Any

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.aggregates import (
    AGGREGATES,
    ENTRY_BYTES,
    Aggregate,
    Distinct,
)
from knotwork._extensions.cypher.language.expression_compiler import ExpressionCompiler
from knotwork._extensions.cypher.language.kept_values import KeptValues
from knotwork._extensions.cypher.language.limits import Budget
from knotwork._extensions.cypher.language.match_planner import (
    BoundRelationship,
    Condition,
    Expansion,
    NodePart,
    NodeScan,
    PatternParts,
    PatternReader,
    PlannedStep,
    Planner,
    split_condition,
)
from knotwork._extensions.cypher.language.match_steps import MatchSteps, Pipe, Rows, Test, test_of
from knotwork._extensions.cypher.language.property_graph import PropertyGraph, Value
from knotwork._extensions.cypher.language.runtime import Evaluate, Row
from knotwork._extensions.cypher.language.static_analysis import (
    NameKind,
    Scope,
    aggregates_in,
    names_in,
    walk_parts,
)
from knotwork._extensions.cypher.language.values import group_key, order_key, truth
from knotwork.errors import QueryRefused, QuerySyntaxError


@dataclass(slots=True)
class CompiledQuery:
    """A query as a function from the values it imports to its rows, with its columns."""

    run: Callable[[list[Value]], Rows]
    columns: tuple[str, ...]


_LESS = ("<", "<=")
_LABELLED = (None, "equal", "in")
"""Kinds of seek of a node scan that return only nodes with the label of the pattern."""


class _Tests:
    """Conditions that wait until the names they use are bound."""

    def __init__(
        self, compiler: QueryCompiler, conditions: Iterable[Condition], own: set[str], scope: Scope
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
        """Drop the test of the label by which a node was found."""
        known = tree.HasLabel(tree.Variable(node.name), tree.LabelIs(node.label or ""))
        self._waiting = [item for item in self._waiting if item[2] != known]

    def ready(self, done: set[str]) -> Test | None:
        """Return a test of the conditions that have become testable, None without any.

        ``done`` are the names bound so far.
        """
        now = [test for names, test, _ in self._waiting if names <= done]
        self._waiting = [item for item in self._waiting if not item[0] <= done]
        return test_of(now)


def _names_of(step: PlannedStep) -> set[str]:
    """Return the names that a step binds."""
    if isinstance(step, NodeScan):
        return {step.node.name}
    relationship = step.relationship
    if isinstance(step, Expansion):
        return {relationship.name, step.near, step.far}
    return {relationship.name, relationship.left, relationship.right}


def _chain(pipes: list[Pipe]) -> Pipe:
    def run(rows: Rows) -> Rows:
        for pipe in pipes:
            rows = pipe(rows)
        return rows

    return run


def _optional(pipe: Pipe, slots: list[int]) -> Pipe:
    """Return the pipe of an OPTIONAL MATCH: without a match, a row with null in ``slots``."""

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


def _check_shortest_paths(parts: PatternParts) -> None:
    """Raise QueryRefused for conditions that a longer path may satisfy if the shortest does not."""
    for path in parts.paths:
        shortest = [r for r in map(parts.relationships.get, path.relationships) if r and r.shortest]
        for condition in parts.conditions:
            if shortest and path.name in condition.names and not _bounds(condition, path.name):
                raise QueryRefused(
                    "A condition in WHERE on a shortest path is not supported.",
                    fix=f"Put WITH * before WHERE to filter the paths found for `{path.name}`.",
                )
    for relationship in parts.relationships.values():
        if relationship.shortest and (relationship.lengths or (1, 1))[0] > 1:
            raise QueryRefused(
                "A shortest path with a minimum length above 1 is not supported.",
                fix="Start the length at 0 or 1, as in [*..6].",
            )


def _bounds(condition: Condition, name: str) -> bool:
    """Return True if a condition only limits the length of a path from above."""
    expression = condition.expression
    if not isinstance(expression, tree.Comparison) or len(expression.steps) != 1:
        return False
    (operator, other), first = expression.steps[0], expression.first
    length = tree.Call("length", (tree.Variable(name),))
    return first == length and operator in _LESS and isinstance(other, tree.Constant)


_PAIRED = ("percentilecont", "percentiledisc")


@dataclass(slots=True)
class _CompiledAggregate:
    """A compiled aggregate call: a factory of aggregates, and the value to add for each row.

    ``every`` is True for ``count(*)``, which counts rows whatever their values.
    """

    make: Callable[[KeptValues], Aggregate]
    value: Evaluate | None
    every: bool


def _fill(row: Row, slots: list[int], values: list[Value]) -> None:
    for slot, value in zip(slots, values, strict=True):
        row[slot] = value


def _form_groups(
    rows: Rows,
    keys: list[Evaluate],
    counted: list[_CompiledAggregate],
    kept: KeptValues,
    budget: Budget,
    *,
    total: bool,
) -> list[tuple[list[Value], list[Aggregate]]]:
    """Return the key values and the aggregates of each group, whose memory ``kept`` counts."""
    groups: dict[Hashable, tuple[list[Value], list[Aggregate]]] = {}
    if total:
        groups[()] = [], [item.make(kept) for item in counted]
    step, single = budget.charge_part, len(keys) == 1
    size = ENTRY_BYTES + _AGGREGATE_BYTES * (1 + len(counted))
    takers = [(item.value, item.every) for item in counted]
    for row in rows:
        values = [key(row) for key in keys]
        if single:
            group: Hashable = group_key(values[0], step)
        else:
            group = tuple([group_key(value, step) for value in values])
        found = groups.get(group)
        if found is None:
            found = groups[group] = values, [item.make(kept) for item in counted]
            kept.add_all(values, size)
            if isinstance(group, tuple):  # the keys of lists and maps; others are the values
                for part in group:
                    if type(part) is tuple:
                        kept.add(part)
        for (value, every), aggregate in zip(takers, found[1], strict=True):
            taken = True if every or value is None else value(row)
            if taken is not None:
                aggregate.add(taken)
    return list(groups.values())


def _require_grouped(expression: tree.Expression, keys: list[tree.Expression]) -> None:
    """Raise QuerySyntaxError if a name is neither in an aggregate nor one of the grouping keys."""
    known = {key for key in keys if isinstance(key, tree.Variable | tree.PropertyAccess)}
    waiting: list[tuple[object, frozenset[str]]] = [(expression, frozenset())]
    while waiting:
        part, local = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend((inner, local) for inner in part)
        elif isinstance(part, tree.Variable):
            if part not in known and part.name not in local:
                raise QuerySyntaxError(
                    f"`{part.name}` is neither aggregated nor a grouping key.",
                    fix="Put it in a column of its own, or inside an aggregate such as collect().",
                )
        elif is_dataclass(part) and not isinstance(part, tree.Subquery):
            _require_outside_lists(part)
            counted = isinstance(part, tree.Call) and part.name in AGGREGATES
            if not counted and part not in known:
                seen = local | _local_names(part)
                waiting.extend((getattr(part, field.name), seen) for field in fields(part))


def _require_outside_lists(part: object) -> None:
    """Raise QuerySyntaxError for an aggregate inside the body of a list expression."""
    for field in ("condition", "result", "step"):
        listed = isinstance(
            part, tree.Comprehension | tree.Quantifier | tree.Reduction | tree.PatternComprehension
        )
        if listed and aggregates_in(getattr(part, field, None)):
            raise QuerySyntaxError("An aggregate cannot be used for each item of a list.")


def _local_names(part: object) -> frozenset[str]:
    """Return the names that an expression declares for its own parts."""
    if isinstance(part, tree.PatternComprehension):
        return frozenset(names_in(part.pattern))
    found = (getattr(part, key, None) for key in ("variable", "accumulator"))
    return frozenset(name for name in found if isinstance(name, str))


_FEW = 10_000
"""Most rows to select without sorting all rows."""
_SPARE_ROWS = 1_000
"""Rows that are kept beyond those selected, before they are sorted and dropped."""
_ROW_BYTES = 200
_KEY_BYTES = 100
_AGGREGATE_BYTES = 120

_Sorted = tuple[tuple[Any, ...], bool, list[Value]]
"""The sort keys of a row, whether it passes WHERE, and the values of its columns."""


def _items(clause: tree.Projection, scope: Scope) -> list[tree.ProjectedItem]:
    """Return the columns of a projection, those that ``*`` stands for first."""
    found: list[tree.ProjectedItem] = []
    if clause.star:
        names = sorted(scope.visible())
        if not names and clause.final:
            raise QuerySyntaxError("`RETURN *` needs at least one variable.")
        found = [tree.ProjectedItem(tree.Variable(name), name, named=True) for name in names]
    return found + list(clause.items)


def _require_names(items: list[tree.ProjectedItem], clause: tree.Projection) -> None:
    known: dict[str, tree.ProjectedItem] = {}
    for item in items:
        if known.setdefault(item.alias, item) != item or (
            item.named and item is not known[item.alias]
        ):
            raise QuerySyntaxError(
                f"Two columns have the name `{item.alias}`.", fix="Rename one with AS."
            )
    if not clause.final:
        for item in items:
            if not item.named:
                raise QuerySyntaxError(
                    f"`{item.alias}` in WITH needs a name.", fix="Give it one with AS."
                )


def distinct_rows(rows: Rows, slots: Sequence[int], budget: Budget) -> Rows:
    """Yield the first of all rows with the same values in ``slots``."""
    seen: set[Hashable] = set()
    kept = KeptValues(budget)
    try:
        for row in rows:
            key = tuple([group_key(row[slot], budget.charge_part) for slot in slots])
            if key not in seen:
                seen.add(key)
                kept.add_all(key, ENTRY_BYTES)
                yield row
    finally:
        kept.clear()


def _ordered(
    rows: Iterator[_Sorted], directions: list[bool], wanted: int | None, budget: Budget
) -> Iterator[_Sorted]:
    """Yield at most ``wanted`` rows in order; the sort is stable."""
    kept, before = KeptValues(budget), budget.transient
    try:
        if wanted is not None and wanted <= _FEW:
            found = _first_rows(rows, directions, wanted, kept, budget)
        else:
            found = []
            for row in rows:
                found.append(row)
                _keep(row, kept)
            _sort(found, directions, kept, budget)
        budget.transient = before
        for row in found:
            budget.transient = before
            yield row
    finally:
        kept.clear()


def _keep(row: _Sorted, kept: KeptValues) -> None:
    keys, _, values = row
    size = _ROW_BYTES + _KEY_BYTES * len(keys)
    for key in keys:
        kind = type(key[-1])
        if kind is str:
            size += getsizeof(key[-1])
        elif kind is tuple:
            kept.add_all(key)
    kept.add_all(values, size)


def _first_rows(
    rows: Iterator[_Sorted],
    directions: list[bool],
    wanted: int,
    kept: KeptValues,
    budget: Budget,
) -> list[_Sorted]:
    """Return the first ``wanted`` rows in order, keeping few others at a time."""
    found: list[_Sorted] = []
    single = len(directions) == 1
    descending, last = directions[0], None
    for row in rows:
        if single and last is not None:
            # A row that equals the last one selected comes after it.
            key = row[0]
            if key <= last if descending else key >= last:
                continue
        found.append(row)
        _keep(row, kept)
        if len(found) >= wanted + _SPARE_ROWS:
            _sort(found, directions, kept, budget)
            del found[wanted:]
            last = found[-1][0]
            kept.clear()
            for chosen in found:
                _keep(chosen, kept)
    _sort(found, directions, kept, budget)
    return found[:wanted]


def _sort(found: list[_Sorted], directions: list[bool], kept: KeptValues, budget: Budget) -> None:
    # Long keys take long to compare, and much memory.
    parts = max(len(found) * len(directions), kept.count() // (_ROW_BYTES + _KEY_BYTES))
    budget.check_sort(parts, len(found))
    for place in reversed(range(len(directions))):
        found.sort(key=lambda row: row[0][place], reverse=directions[place])


def _imported(clause: tree.CallSubquery, scope: Scope) -> list[str]:
    """Return the names that a subquery imports: those in brackets, or of a WITH at its start."""
    if clause.imports is not None:
        return list(scope.visible()) if clause.imports == ("*",) else list(clause.imports)
    names: dict[str, None] = {}
    for part in clause.query.parts:
        first = part.clauses[0]
        if not isinstance(first, tree.Projection) or first.final:
            continue
        if first.star:
            names.update(dict.fromkeys(scope.visible()))
        for item in first.items:
            if not isinstance(item.expression, tree.Variable) or item.alias != item.expression.name:
                break
            names[item.alias] = None
    return [name for name in names if name in scope.names]


def known_count(query: tree.SingleQuery, graph: PropertyGraph) -> tuple[str, int] | None:
    """Return the column and value of a query that only counts nodes or relationships.

    Returns None unless the query is one MATCH and one count() that the graph can answer without
    reading rows.
    """
    if len(query.clauses) != 2:
        return None
    match, projection = query.clauses
    if not isinstance(match, tree.Match) or not isinstance(projection, tree.Projection):
        return None
    if match.optional or match.condition is not None or len(match.patterns) != 1:
        return None
    pattern = match.patterns[0]
    if pattern.variable is not None or not _counts(projection, pattern):
        return None
    count = _count_edges(pattern, graph) if pattern.relationships else _count_nodes(pattern, graph)
    return None if count is None else (projection.items[0].alias, count)


def _counts(projection: tree.Projection, pattern: tree.PathPattern) -> bool:
    """Return True if a projection is exactly the count of the matches of a pattern."""
    plain = len(projection.items) == 1 and not projection.star and not projection.order
    if not plain or projection.skip or projection.limit or projection.condition:
        return False
    call = projection.items[0].expression
    if not isinstance(call, tree.Call) or call.name != "count" or call.distinct:
        return False
    named = {node.variable for node in pattern.nodes if node.variable}
    named |= {edge.variable for edge in pattern.relationships if edge.variable}
    argument = call.arguments[0] if len(call.arguments) == 1 else None
    return call.star or (isinstance(argument, tree.Variable) and argument.name in named)


def _count_nodes(pattern: tree.PathPattern, graph: PropertyGraph) -> int | None:
    (node,) = pattern.nodes
    if node.properties is not None or node.condition is not None:
        return None
    if node.labels is None:
        return len(graph.nodes)
    if isinstance(node.labels, tree.LabelIs) and node.labels.name != "%":
        return len(graph.labelled(node.labels.name))
    return None


def _count_edges(pattern: tree.PathPattern, graph: PropertyGraph) -> int | None:
    if len(pattern.relationships) != 1 or pattern.shortest:
        return None
    (edge,), ends = pattern.relationships, pattern.nodes
    names = [end.variable for end in ends if end.variable]
    bare = all(tree.NodePattern(end.variable) == end for end in ends) and len(set(names)) == len(
        names
    )
    if not bare or edge.direction == "both" or edge.lengths is not None:
        return None
    if edge.properties is not None or edge.condition is not None or edge.variable in names:
        return None
    return graph.count_of(graph.types(edge.types))


class QueryCompiler(ExpressionCompiler):
    """Compiles whole queries: their clauses in sequence, patterns, groups and subqueries."""

    def compile_query(
        self, query: tree.UnionQuery, imports: list[str], outer: Scope
    ) -> CompiledQuery:
        """Compile a query that imports the names ``imports`` from an outer scope."""
        parts = [self._single(part, imports, outer) for part in query.parts]
        columns = parts[0].columns
        if any(part.columns != columns for part in parts):
            raise QuerySyntaxError(
                "All parts of a UNION must return the same columns in the same order.",
                fix=f"Return the columns {', '.join(columns)} in every part.",
            )

        def run(values: list[Value]) -> Rows:
            for part in parts:
                yield from part.run(values)

        if len(parts) == 1 or not query.distinct:
            return CompiledQuery(run, columns)
        return CompiledQuery(self._distinct(run, len(columns)), columns)

    def _distinct(
        self, run: Callable[[list[Value]], Rows], width: int
    ) -> Callable[[list[Value]], Rows]:
        def distinct(values: list[Value]) -> Rows:
            return distinct_rows(run(values), range(width), self.runtime.budget)

        return distinct

    def _single(self, query: tree.SingleQuery, imports: list[str], outer: Scope) -> CompiledQuery:
        known = None if imports else known_count(query, self.runtime.graph)
        if known is not None:
            column, count = known
            return CompiledQuery(lambda _: iter(([count],)), (column,))
        scope = Scope()
        for name in imports:
            scope.declare(name, outer.find(name).kind)
        first, pipes, columns = scope.layout, list[Pipe](), tuple[str, ...]()
        for clause in query.clauses:
            pipe, scope, columns = self._clause(clause, scope)
            pipes.append(pipe)

        def run(values: list[Value]) -> Rows:
            rows: Rows = iter(([*values, *[None] * (first.size - len(values))],))
            for pipe in pipes:
                rows = pipe(rows)
            return rows

        return CompiledQuery(run, columns)

    def _clause(self, clause: tree.Clause, scope: Scope) -> tuple[Pipe, Scope, tuple[str, ...]]:
        if isinstance(clause, tree.Projection):
            return self.project(clause, scope)
        if isinstance(clause, tree.Match):
            return self.match(clause, scope), scope, ()
        if isinstance(clause, tree.Unwind):
            return self._unwind(clause, scope), scope, ()
        return self._call_subquery(clause, scope), scope, ()

    def _unwind(self, clause: tree.Unwind, scope: Scope) -> Pipe:
        source = self.compile(clause.source, scope)
        if clause.variable in scope.names:
            raise QuerySyntaxError(
                f"The variable `{clause.variable}` is already defined.", fix="Use another name."
            )
        slot, budget = scope.declare(clause.variable), self.runtime.budget
        step = budget.step

        def run(rows: Rows) -> Rows:
            for row in rows:
                value = source(row)
                if value is None:
                    continue
                before = budget.transient
                for item in value if isinstance(value, list) else (value,):
                    step()
                    budget.transient = before
                    row[slot] = item
                    yield row

        return run

    def query(self, query: tree.UnionQuery, scope: Scope) -> Callable[[Row], Iterator[Row]]:
        """Return a function that runs a subquery of an expression, which sees all names."""
        names = list(scope.visible())
        slots = [scope.names[name].slot for name in names]
        compiled = self.compile_query(query, names, scope)
        width, returns = len(compiled.columns), bool(compiled.columns)

        def run(row: Row) -> Iterator[Row]:
            for found in compiled.run([row[slot] for slot in slots]):
                yield found[:width] if returns else found

        return run

    def _call_subquery(self, clause: tree.CallSubquery, scope: Scope) -> Pipe:
        names = _imported(clause, scope)
        slots = [scope.find(name).slot for name in names]
        compiled = self.compile_query(clause.query, names, scope)
        for column in compiled.columns:
            if column in scope.names:
                raise QuerySyntaxError(
                    f"The variable `{column}` is already defined.",
                    fix="Return the column under another name.",
                )
        targets = [scope.declare(column) for column in compiled.columns]
        budget = self.runtime.budget

        def run(rows: Rows) -> Rows:
            for row in rows:
                found = False
                before = budget.transient
                for returned in compiled.run([row[slot] for slot in slots]):
                    budget.step()
                    found = True
                    for place, target in enumerate(targets):
                        row[target] = returned[place]
                    yield row
                budget.transient = before
                if clause.optional and not found:
                    for target in targets:
                        row[target] = None
                    yield row

        return run

    def match(self, clause: tree.Match, scope: Scope) -> Pipe:
        """Return the pipe of a MATCH; the names of its patterns are added to ``scope``."""
        pipe, slots = self._pipe(clause.patterns, split_condition(clause.condition), scope)
        return _optional(pipe, slots) if clause.optional else pipe

    def pattern(
        self, pattern: tree.PathPattern, condition: tree.Expression | None, scope: Scope
    ) -> Callable[[Row], Rows]:
        """Return a function that yields a row once for every match of a pattern."""
        pipe, _ = self._pipe((pattern,), split_condition(condition), scope)
        return lambda row: pipe(iter((row,)))

    def _pipe(
        self, patterns: tuple[tree.PathPattern, ...], conditions: list[Condition], scope: Scope
    ) -> tuple[Pipe, list[int]]:
        before = set(scope.names)
        reader = PatternReader(scope, self.runtime.graph)
        for pattern in patterns:
            reader.read(pattern)
        parts = reader.parts
        parts.conditions += conditions
        for condition in parts.conditions:
            self.require_truth(condition.expression, scope)
        _check_shortest_paths(parts)
        planned = Planner(self.runtime, parts, set(before)).plan()
        return self._assemble(planned, parts, before, scope), parts.slots

    def _assemble(
        self, planned: list[PlannedStep], parts: PatternParts, before: set[str], scope: Scope
    ) -> Pipe:
        steps = MatchSteps(self.runtime, parts)
        own = set(scope.names) - before
        tests = _Tests(self, parts.conditions, own, scope)
        pipes: list[Pipe] = []
        waiting, done = list(parts.paths), set[str]()
        for step in planned:
            done |= _names_of(step)
            if isinstance(step, NodeScan) and not step.node.bound and step.seek in _LABELLED:
                tests.drop(step.node)
            pipes.append(self._step(steps, step, tests.ready(done), scope))
            complete = [p for p in waiting if done.issuperset([*p.nodes, *p.relationships])]
            for path in complete:
                waiting.remove(path)
                done.add(path.name)
                pipes.append(steps.path(path, tests.ready(done)))
        return _chain(pipes)

    def _step(self, steps: MatchSteps, step: PlannedStep, test: Test | None, scope: Scope) -> Pipe:
        if isinstance(step, NodeScan):
            value = None if step.value is None else self.compile(step.value, scope)
            return steps.scan(step, value, test)
        if isinstance(step, BoundRelationship):
            return steps.bind_ends(step, test)
        each = [self.compile(part.expression, scope) for part in step.relationship.each]
        return steps.expand(step, test, test_of(each))

    def group(
        self,
        items: list[tree.ProjectedItem],
        sorts: tuple[tree.Expression, ...],
        scope: Scope,
        inner: Scope,
    ) -> Pipe:
        """Return the pipe from rows to groups; their columns are declared in ``inner``.

        ``sorts`` are the expressions of ORDER BY, which may contain aggregates too. Raises
        QuerySyntaxError if a column mixes aggregates with expressions that are not grouped by.
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
            _require_grouped(sort, [*(tree.Variable(key.alias) for key in keys), *grouped])
        counted = [self._counted(call, scope) for call in calls]
        call_slots = [inner.layout.add() for _ in calls]
        inner.replaced.update(zip(calls, call_slots, strict=True))
        results = [self._result(item, inner, grouped) for item in items]
        slots = [inner.declare(item.alias) for item in items]
        for item, slot in zip(items, slots, strict=True):
            inner.replaced.setdefault(item.expression, slot)
        for item in items:
            inner.replaced.pop(tree.Variable(item.alias), None)
        budget, total = self.runtime.budget, bool(calls) and not keys

        def run(rows: Rows) -> Rows:
            kept, before = KeptValues(budget), budget.transient
            try:
                for values, aggregates in _form_groups(
                    rows, work, counted, kept, budget, total=total
                ):
                    budget.transient = before
                    row: Row = [None] * inner.layout.size
                    _fill(row, key_slots, values)
                    _fill(row, call_slots, [aggregate.result() for aggregate in aggregates])
                    _fill(row, slots, [result(row) for result in results])
                    yield row
            finally:
                kept.clear()

        return run

    def _result(
        self, item: tree.ProjectedItem, inner: Scope, keys: list[tree.Expression]
    ) -> Evaluate:
        if aggregates_in(item.expression):
            _require_grouped(item.expression, keys)
        return self.compile(item.expression, inner)

    def _counted(self, call: tree.Call, scope: Scope) -> _CompiledAggregate:
        make = AGGREGATES[call.name]
        if call.star:
            return _CompiledAggregate(lambda kept: make(self.runtime, kept), None, every=True)
        wanted = 2 if call.name in _PAIRED else 1
        if len(call.arguments) != wanted:
            values = "1 argument" if wanted == 1 else f"{wanted} arguments"
            raise QuerySyntaxError(f"{call.name}() takes {values}, not {len(call.arguments)}.")
        for argument in call.arguments:
            if aggregates_in(argument):
                raise QuerySyntaxError(f"{call.name}() cannot contain another aggregate.")
            if any(
                isinstance(part, tree.Call) and part.name == "rand" for part in walk_parts(argument)
            ):
                raise QuerySyntaxError(f"{call.name}() cannot contain rand().")
        arguments = [self.compile(argument, scope) for argument in call.arguments]
        value: Evaluate = arguments[0]
        if wanted == 2:

            def paired(row: Row) -> Value:
                first = arguments[0](row)
                return None if first is None else (first, arguments[1](row))

            value = paired

        def made(kept: KeptValues) -> Aggregate:
            aggregate = make(self.runtime, kept)
            return Distinct(self.runtime, kept, aggregate) if call.distinct else aggregate

        return _CompiledAggregate(made, value, every=False)

    def project(self, clause: tree.Projection, scope: Scope) -> tuple[Pipe, Scope, tuple[str, ...]]:
        """Return the pipe of a projection, the scope after it, and its columns.

        Raises QuerySyntaxError for duplicate or missing column names and misplaced aggregates.
        """
        items = _items(clause, scope)
        _require_names(items, clause)
        after = Scope()
        for item in items:
            after.declare(item.alias, self._kind_after(item.expression, scope))
        grouped = any(aggregates_in(item.expression) for item in items)
        if not grouped and aggregates_in(tuple(item.expression for item in clause.order)):
            raise QuerySyntaxError("ORDER BY contains an aggregate, but no column does.")
        if grouped or clause.distinct:
            sources, inner = self._grouped(clause, items, scope, counting=grouped)
        else:
            sources, inner = self._plain(items, scope)
        pipe = self._arranged(clause, items, sources, inner, after)
        return pipe, after, tuple(item.alias for item in items)

    def _kind_after(self, expression: tree.Expression, scope: Scope) -> NameKind:
        if isinstance(expression, tree.Variable) and expression.name in scope.names:
            return scope.names[expression.name].kind
        return "value" if self.type_of(expression, scope) is None else "plain"

    def _plain(self, items: list[tree.ProjectedItem], scope: Scope) -> tuple[Pipe, Scope]:
        """Return the pipe that adds columns to each row, and the scope that includes them."""
        work = [self.compile(item.expression, scope) for item in items]
        inner = scope.inner()
        slots = [inner.declare(item.alias) for item in items]
        for item, slot in zip(items, slots, strict=True):
            if not isinstance(item.expression, tree.Variable):
                inner.replaced[item.expression] = slot

        def run(rows: Rows) -> Rows:
            for row in rows:
                values = [evaluate(row) for evaluate in work]
                for slot, value in zip(slots, values, strict=True):
                    row[slot] = value
                yield row

        return run, inner

    def _grouped(
        self,
        clause: tree.Projection,
        items: list[tree.ProjectedItem],
        scope: Scope,
        *,
        counting: bool,
    ) -> tuple[Pipe, Scope]:
        """Return the pipe that groups rows, and the scope of a group."""
        sorts = tuple(item.expression for item in clause.order) if counting else ()
        inner = Scope()
        inner.grouped = counting
        pipe = self.group(items, sorts, scope, inner)
        if counting and clause.distinct:
            slots = [inner.names[item.alias].slot for item in items]
            budget = self.runtime.budget
            return lambda rows: distinct_rows(pipe(rows), slots, budget), inner
        return pipe, inner

    def _arranged(
        self,
        clause: tree.Projection,
        items: list[tree.ProjectedItem],
        sources: Pipe,
        inner: Scope,
        after: Scope,
    ) -> Pipe:
        """Return the whole pipe: columns, then ORDER BY, SKIP, LIMIT and WHERE."""
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
                found = _ordered(found, directions, wanted, self.runtime.budget)
            size = layout.size
            for _, passes, values in islice(found, min(skip, maxsize), wanted):
                if passes:
                    yield values + [None] * (size - len(values))

        return run

    def _where(self, condition: tree.Expression | None, inner: Scope) -> Evaluate | None:
        if condition is None:
            return None
        self.require_truth(condition, inner)
        return self.compile(condition, inner)

    def _sort_key(self, item: tree.SortItem, scope: Scope) -> Callable[[Row], Any]:
        evaluate, part = self.compile(item.expression, scope), self.runtime.budget.charge_part
        return lambda row: order_key(evaluate(row), part)

    def _count(self, expression: tree.Expression | None, word: str) -> int | None:
        """Return the number of rows of SKIP or LIMIT. Raises QuerySyntaxError if it is invalid."""
        if expression is None:
            return None
        if names_in(expression):
            raise QuerySyntaxError(f"{word} cannot use variables.")
        scope = Scope()
        evaluate = self.compile(expression, scope)
        count = evaluate([None] * scope.layout.size)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise QuerySyntaxError(f"{word} takes a whole number from 0, not {count!r:.40}.")
        return count
