"""Clauses put in a row: each takes the rows of the one before; UNION and subqueries of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from knotwork.cypher.counting import known_count
from knotwork.cypher.graph import Value
from knotwork.cypher.projecting import Projecting
from knotwork.cypher.scopes import Scope
from knotwork.cypher.steps import Pipe, Row, Rows
from knotwork.cypher.syntax import (
    CallSubquery,
    Clause,
    Match,
    Projection,
    Query,
    SingleQuery,
    Unwind,
    Variable,
)
from knotwork.cypher.values import group_key
from knotwork.errors import QuerySyntaxError


@dataclass(slots=True)
class CompiledQuery:
    """A query: what runs it for one row of imported values, and its columns."""

    run: Callable[[list[Value]], Rows]
    columns: tuple[str, ...]


class Clauses(Projecting):
    """Compiles queries."""

    def compile_query(self, query: Query, imports: list[str], outer: Scope) -> CompiledQuery:
        """Compile a query that sees ``imports`` of an outer scope."""
        parts = [self._single(part, imports, outer) for part in query.parts]
        columns = parts[0].columns
        if any(part.columns != columns for part in parts):
            raise QuerySyntaxError("The parts of a UNION have the same columns, in the same order.")

        def run(values: list[Value]) -> Rows:
            for part in parts:
                yield from part.run(values)

        if len(parts) == 1 or not query.distinct:
            return CompiledQuery(run, columns)
        return CompiledQuery(self._distinct(run, len(columns)), columns)

    def _distinct(
        self, run: Callable[[list[Value]], Rows], width: int
    ) -> Callable[[list[Value]], Rows]:
        budget = self.runtime.budget

        def distinct(values: list[Value]) -> Rows:
            seen: set[Hashable] = set()
            for row in run(values):
                key = tuple(group_key(value, budget.step) for value in row[:width])
                if key not in seen:
                    seen.add(key)
                    budget.hold()
                    yield row

        return distinct

    def _single(self, query: SingleQuery, imports: list[str], outer: Scope) -> CompiledQuery:
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

    def _clause(self, clause: Clause, scope: Scope) -> tuple[Pipe, Scope, tuple[str, ...]]:
        if isinstance(clause, Projection):
            projected = self.project(clause, scope)
            return projected.pipe, projected.scope, projected.columns
        if isinstance(clause, Match):
            return self.match(clause, scope), scope, ()
        if isinstance(clause, Unwind):
            return self._unwind(clause, scope), scope, ()
        return self._call_subquery(clause, scope), scope, ()

    def _unwind(self, clause: Unwind, scope: Scope) -> Pipe:
        source = self.compile(clause.source, scope)
        if clause.variable in scope.names:
            raise QuerySyntaxError(
                f"The variable `{clause.variable}` stands for something already."
            )
        slot, step = scope.declare(clause.variable), self.runtime.budget.step

        def run(rows: Rows) -> Rows:
            for row in rows:
                value = source(row)
                if value is None:
                    continue
                for item in value if isinstance(value, list) else (value,):
                    step()
                    row[slot] = item
                    yield row

        return run

    def query(self, query: Query, scope: Scope) -> Callable[[Row], Iterator[Row]]:
        """Return the function that runs a subquery of an expression, which sees all names."""
        names = list(scope.visible())
        slots = [scope.names[name].slot for name in names]
        compiled = self.compile_query(query, names, scope)
        width, returns = len(compiled.columns), bool(compiled.columns)

        def run(row: Row) -> Iterator[Row]:
            for found in compiled.run([row[slot] for slot in slots]):
                yield found[:width] if returns else found

        return run

    def _call_subquery(self, clause: CallSubquery, scope: Scope) -> Pipe:
        names = _imported(clause, scope)
        slots = [scope.find(name).slot for name in names]
        compiled = self.compile_query(clause.query, names, scope)
        for column in compiled.columns:
            if column in scope.names:
                raise QuerySyntaxError(f"The variable `{column}` is there already.")
        targets = [scope.declare(column) for column in compiled.columns]
        step = self.runtime.budget.step

        def run(rows: Rows) -> Rows:
            for row in rows:
                found = False
                for returned in compiled.run([row[slot] for slot in slots]):
                    step()
                    found = True
                    for place, target in enumerate(targets):
                        row[target] = returned[place]
                    yield row
                if clause.optional and not found:
                    for target in targets:
                        row[target] = None
                    yield row

        return run


def _imported(clause: CallSubquery, scope: Scope) -> list[str]:
    """Return what a subquery sees: what it names in brackets, or in a WITH at its beginning."""
    if clause.imports is not None:
        return list(scope.visible()) if clause.imports == ("*",) else list(clause.imports)
    names: dict[str, None] = {}
    for part in clause.query.parts:
        first = part.clauses[0]
        if not isinstance(first, Projection) or first.final:
            continue
        if first.star:
            names.update(dict.fromkeys(scope.visible()))
        for item in first.items:
            if not isinstance(item.expression, Variable) or item.alias != item.expression.name:
                break
            names[item.alias] = None
    return [name for name in names if name in scope.names]
