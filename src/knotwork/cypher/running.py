"""Running a statement from its text to its rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import islice

from knotwork.cypher.clauses import Clauses, CompiledQuery
from knotwork.cypher.graph import PropertyGraph, Value
from knotwork.cypher.limits import Budget, Limits
from knotwork.cypher.results import Results
from knotwork.cypher.runtime import Runtime
from knotwork.cypher.scopes import Scope
from knotwork.cypher.statement_parser import parse_statement
from knotwork.errors import QueryRefused, QuerySyntaxError
from knotwork.records import QueryResult

_DEEPEST_PARAMETER = 32


def run_statement(
    graph: PropertyGraph,
    statement: str,
    parameters: Mapping[str, Value] | None = None,
    *,
    limits: Limits | None = None,
) -> QueryResult:
    """Run one reading statement on a graph and return its rows, at most ``limits.rows``.

    Nodes come as mappings with id, labels and properties, relationships with id, type, source,
    target and properties, paths with nodes and relationships, times as ISO 8601 strings.
    Raises QuerySyntaxError, QueryRefused, QueryTimeout.
    """
    started = time.monotonic()
    allowed = limits or Limits()
    budget = Budget(allowed)
    given = dict(parameters or {})
    runtime = Runtime(graph, budget, {name: _parameter(v, name) for name, v in given.items()})
    try:
        compiled = _compile(statement, runtime)
        results, width = Results(graph, budget), len(compiled.columns)
        found = [
            tuple(results.plain(value) for value in row[:width])
            for row in islice(compiled.run([]), max(allowed.rows, 0) + 1)
        ]
        budget.look()
    except RecursionError:
        raise QueryRefused("The statement, or a value in it, nests too deeply.") from None
    except MemoryError:
        raise QueryRefused("The statement needs more memory than there is.") from None
    return QueryResult(
        language="cypher",
        statement=statement,
        columns=compiled.columns,
        rows=tuple(found[: max(allowed.rows, 0)]),
        parameters=given,
        truncated=len(found) > max(allowed.rows, 0),
        seconds=time.monotonic() - started,
    )


def check_statement(
    graph: PropertyGraph, statement: str, parameters: Mapping[str, Value] | None = None
) -> tuple[str, ...]:
    """Compile a statement without running it, and return the names of its columns.

    Raises QuerySyntaxError and QueryRefused, as `run_statement` does before its first row.
    """
    runtime = Runtime(graph, Budget(Limits()), dict(parameters or {}))
    return _compile(statement, runtime).columns


def _compile(statement: str, runtime: Runtime) -> CompiledQuery:
    query = parse_statement(statement, runtime.budget.limits)
    runtime.budget.look()
    return Clauses(runtime).compile_query(query, [], Scope())


def _parameter(value: Value, name: str, depth: int = 0) -> Value:
    """Return a parameter as a value of the language; parameters are values and nothing else."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if depth < _DEEPEST_PARAMETER:
        if isinstance(value, list | tuple):
            return [_parameter(item, name, depth + 1) for item in value]
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: _parameter(item, name, depth + 1) for key, item in value.items()}
    raise QuerySyntaxError(f"The parameter ${name} is a {type(value).__name__}, which is no value.")
