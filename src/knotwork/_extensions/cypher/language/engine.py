"""Compile and run read-only openCypher statements.

`run_statement` parses a statement, compiles it clause by clause to functions from rows to rows,
and returns plain values. Counts of labels and types are answered without reading rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from sys import getsizeof

from knotwork._extensions.cypher.language.clause_compiler import CompiledQuery, QueryCompiler
from knotwork._extensions.cypher.language.limits import (
    SCALAR_BYTES,
    Budget,
    Limits,
    list_bytes,
    map_bytes,
)
from knotwork._extensions.cypher.language.missing_names import report_missing
from knotwork._extensions.cypher.language.parser import parse_statement
from knotwork._extensions.cypher.language.property_graph import (
    GraphNode,
    GraphPath,
    GraphRelationship,
    PropertyGraph,
    Value,
)
from knotwork._extensions.cypher.language.runtime import Runtime
from knotwork._extensions.cypher.language.static_analysis import Scope
from knotwork._extensions.cypher.language.syntax_tree import UnionQuery
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
        query, compiled = _compile(statement, runtime)
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
        notes=report_missing(query, graph, found),
    )


def check_statement(
    graph: PropertyGraph, statement: str, parameters: Mapping[str, Value] | None = None
) -> tuple[str, ...]:
    """Compile a statement without running it, and return the names of its columns.

    Raises QuerySyntaxError and QueryRefused for everything that can be detected before a run.
    """
    budget = Budget(Limits())
    try:
        return _compile(statement, Runtime(graph, budget, dict(parameters or {})))[1].columns
    finally:
        budget.close()


def _compile(statement: str, runtime: Runtime) -> tuple[UnionQuery, CompiledQuery]:
    query = parse_statement(statement, runtime.budget.limits)
    runtime.budget.check_time()
    return query, QueryCompiler(runtime).compile_query(query, [], Scope())


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
