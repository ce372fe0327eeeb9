"""Compile and run read-only openCypher statements.

`run_statement` parses a statement, compiles it clause by clause to functions from rows to rows,
and returns plain values. Counts of labels and types are answered without reading rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from sys import getsizeof

from knotwork._extensions.cypher.language import syntax_tree as tree
from knotwork._extensions.cypher.language.clause_compiler import ProjectionCompiler, distinct_rows
from knotwork._extensions.cypher.language.limits import (
    SCALAR_BYTES,
    Budget,
    Limits,
    list_bytes,
    map_bytes,
)
from knotwork._extensions.cypher.language.match_steps import Pipe, Rows
from knotwork._extensions.cypher.language.parser import parse_statement
from knotwork._extensions.cypher.language.property_graph import (
    GraphNode,
    GraphPath,
    GraphRelationship,
    PropertyGraph,
    Value,
)
from knotwork._extensions.cypher.language.runtime import Row, Runtime
from knotwork._extensions.cypher.language.static_analysis import Scope
from knotwork._extensions.cypher.language.values import Temporal
from knotwork._query_memory import result_too_large
from knotwork.errors import QueryRefused, QuerySyntaxError
from knotwork.records import QueryResult

_MAX_PARAMETER_DEPTH = 32


def run_statement(
    graph: PropertyGraph,
    statement: str,
    parameters: Mapping[str, Value] | None = None,
    *,
    limits: Limits | None = None,
) -> QueryResult:
    """Run a read-only statement on a graph and return its rows, at most ``limits.rows``.

    Nodes are returned as mappings with id, labels and properties; relationships with id, type,
    source, target and properties; paths with nodes and relationships; times as ISO 8601 strings.

    Raises QuerySyntaxError if the statement is invalid, QueryRefused if it is unsupported or
    exceeds a limit other than time, and QueryTimeout.
    """
    started = time.monotonic()
    allowed = limits or Limits()
    budget = Budget(allowed)
    given = dict(parameters or {})
    runtime = Runtime(graph, budget, {name: _parameter(v, name) for name, v in given.items()})
    most, truncated = max(allowed.rows, 0), False
    found: list[tuple[Value, ...]] = []
    try:
        compiled = _compile(statement, runtime)
        results, width = ResultConverter(graph, budget), len(compiled.columns)
        for row in compiled.run([]):
            if len(found) == most:
                truncated = True
                break
            found.append(results.row(row[:width]))
        budget.check_time()
    except RecursionError:
        raise QueryRefused("The statement, or a value in it, nests too deeply.") from None
    except MemoryError:
        raise QueryRefused("The statement needs more memory than is available.") from None
    finally:
        budget.close()
    return QueryResult(
        language="cypher",
        statement=statement,
        columns=compiled.columns,
        rows=tuple(found),
        parameters=given,
        truncated=truncated,
        seconds=time.monotonic() - started,
    )


def check_statement(
    graph: PropertyGraph, statement: str, parameters: Mapping[str, Value] | None = None
) -> tuple[str, ...]:
    """Compile a statement without running it, and return the names of its columns.

    Raises QuerySyntaxError and QueryRefused for everything that can be detected before a run.
    """
    budget = Budget(Limits())
    try:
        return _compile(statement, Runtime(graph, budget, dict(parameters or {}))).columns
    finally:
        budget.close()


def _compile(statement: str, runtime: Runtime) -> CompiledQuery:
    query = parse_statement(statement, runtime.budget.limits)
    runtime.budget.check_time()
    return QueryCompiler(runtime).compile_query(query, [], Scope())


def _parameter(value: Value, name: str, depth: int = 0) -> Value:
    """Return a parameter as a Cypher value, with lists for tuples.

    Raises QuerySyntaxError for other types, keys that are not strings, and deep nesting.
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth < _MAX_PARAMETER_DEPTH:
        if isinstance(value, list | tuple):
            return [_parameter(item, name, depth + 1) for item in value]
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: _parameter(item, name, depth + 1) for key, item in value.items()}
    raise QuerySyntaxError(
        f"The parameter ${name} contains a {type(value).__name__}, which is not supported.",
        fix=f"Pass null, booleans, numbers, strings, and lists or maps of them, at most "
        f"{_MAX_PARAMETER_DEPTH} levels deep.",
    )


@dataclass(slots=True)
class CompiledQuery:
    """A query as a function from the values it imports to its rows, with its columns."""

    run: Callable[[list[Value]], Rows]
    columns: tuple[str, ...]


class QueryCompiler(ProjectionCompiler):
    """Compiles whole queries: UNION, clauses in sequence, UNWIND and subqueries."""

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
            projected = self.project(clause, scope)
            return projected.pipe, projected.scope, projected.columns
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
    if not edge.types:
        return graph.relationship_count
    return sum(graph.type_counts.get(name, 0) for name in edge.types)


class ResultConverter:
    """Converts Cypher values to plain Python values, under the limits of a statement."""

    def __init__(self, graph: PropertyGraph, budget: Budget) -> None:
        self._graph = graph
        self._budget = budget
        self._size = 0

    def row(self, values: list[Value]) -> tuple[Value, ...]:
        """Return the plain values of a row.

        Raises QueryRefused for a value that nests too deeply, and if all rows together are larger
        than ``result_bytes``. Every occurrence of a string counts, as it will be written.
        """
        self._grow(list_bytes(len(values)))
        return tuple([self.plain(value) for value in values])

    def _grow(self, count: int) -> None:
        self._size += count
        if self._size > self._budget.limits.result_bytes:
            raise result_too_large(self._budget.limits.result_bytes)

    def plain(self, value: Value, depth: int = 0) -> Value:  # noqa: PLR0911 - one a kind
        """Return a plain value."""
        if isinstance(value, str):
            self._grow(getsizeof(value))
            return value
        if value is None or isinstance(value, bool | int | float):
            self._grow(SCALAR_BYTES)
            return value
        self._budget.step()
        self._grow(map_bytes(1))
        if depth > self._budget.limits.depth:
            raise QueryRefused("A value nests too deeply to be returned.")
        if isinstance(value, GraphPath):
            return {
                "nodes": [self.plain(node, depth + 1) for node in value.nodes],
                "relationships": [self.plain(edge, depth + 1) for edge in value.relationships],
            }
        if isinstance(value, list | tuple):
            return [self.plain(item, depth + 1) for item in value]
        if isinstance(value, GraphNode):
            properties = self.plain(dict(value.properties), depth + 1)
            return {"id": value.id, "labels": list(value.labels), "properties": properties}
        if isinstance(value, GraphRelationship):
            return self._relationship(value, depth)
        if isinstance(value, Temporal):
            return str(value)
        return {key: self.plain(item, depth + 1) for key, item in value.items()}

    def _relationship(self, edge: GraphRelationship, depth: int) -> Value:
        return {
            "id": self._graph.relationship_id(edge.index),
            "type": edge.type,
            "source": self._graph.nodes[edge.source].id,
            "target": self._graph.nodes[edge.target].id,
            "properties": self.plain(dict(edge.properties), depth + 1),
        }
