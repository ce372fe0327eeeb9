"""Run the statements of users on a graph database, which they can only read.

A statement is parsed and compiled by our own language, which has no clause that writes and no
function that reaches out. What is sent is written from the syntax tree. The server explains it
first, where it can, and a plan that writes is refused. It then runs in a transaction for reading,
which is rolled back whatever happened in it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from knotwork._extensions.cypher.language import Limits, PropertyGraph, check_statement
from knotwork._extensions.cypher.language.parser import parse_statement
from knotwork._extensions.cypher.language.statement_writer import WritingRules, write_statement
from knotwork._extensions.graphs.servers.bolt_connection import (
    BoltConnection,
    BoltStatement,
    NodeIds,
    Rows,
    ValueConverter,
    element_id,
    own_id,
    unknown_ends,
)
from knotwork._extensions.graphs.servers.dialects import Dialect
from knotwork._extensions.graphs.servers.mirror import STAMP, CheckMirror, read_mirror
from knotwork.errors import QueryRefused
from knotwork.records import PropertyValue, QueryResult

if TYPE_CHECKING:
    from neo4j import ResultSummary

_READS = "r"
_EMPTY = PropertyGraph(
    ids=[],
    labels=[],
    types=[],
    sources=[],
    targets=[],
    node_properties=lambda _: {},
    relationship_properties=lambda _: {},
)


_MIRROR_RULES = WritingRules(hidden_label=STAMP, ids_are_properties=True)
"""How statements are written for the mirror of an index."""


def refuse_writing_plan(dialect: Dialect, summary: ResultSummary, text: str) -> None:
    """Raise QueryRefused if the plan of a statement writes."""
    if dialect.writing_steps is not None:
        writes = dialect.writing_steps.search(text) is not None
    else:
        writes = summary.query_type not in (_READS, None)
    if writes:
        raise QueryRefused(
            f"{dialect.name} says that the statement would change the graph; it was not run."
        )


def run_on_server(
    connection: BoltConnection,
    statement: str,
    parameters: Mapping[str, PropertyValue] | None,
    *,
    row_limit: int,
    timeout_s: float,
    check_mirror: CheckMirror | None = None,
) -> QueryResult:
    """Run a statement and return its rows, at most ``row_limit``.

    ``check_mirror`` is for the mirror of an index; see `read_mirror`. Raises QueryRefused,
    QuerySyntaxError, QueryTimeout and GraphServerError.
    """
    started_s = time.monotonic()
    given = dict(parameters or {})
    columns = check_statement(_EMPTY, statement, given)
    rules = None if check_mirror is None else _MIRROR_RULES
    written = write_statement(parse_statement(statement, Limits()), given, rules)
    sent = [BoltStatement(written.text, written.parameters)]
    read = (
        connection.read if check_mirror is None else partial(read_mirror, connection, check_mirror)
    )
    (rows,) = read(
        sent, row_limit=max(row_limit, 0), timeout_s=timeout_s, check=refuse_writing_plan
    )
    node_id: NodeIds = element_id if check_mirror is None else own_id
    rows = _arrange(rows, columns)
    ends = _find_ends(connection, rows, node_id, timeout_s=timeout_s)
    converter = ValueConverter(node_id, ends)
    return QueryResult(
        language="cypher",
        statement=statement,
        columns=columns,
        rows=tuple(converter.row(row) for row in rows.rows),
        parameters=given,
        truncated=rows.truncated,
        seconds=time.monotonic() - started_s,
    )


def _arrange(rows: Rows, columns: tuple[str, ...]) -> Rows:
    """Return rows in the order of the columns; `*` has another one on a server."""
    if set(rows.columns) != set(columns) or rows.columns == columns:
        return rows
    places = [rows.columns.index(name) for name in columns]
    return rows._replace(rows=[tuple(row[place] for place in places) for row in rows.rows])


def _find_ends(
    connection: BoltConnection, rows: Rows, node_id: NodeIds, *, timeout_s: float
) -> dict[str, str]:
    """Return the ids of ends of relationships that came without properties, by element id."""
    unknown = sorted(unknown_ends(rows.rows, node_id))
    if not unknown:
        return {}
    asked = BoltStatement(
        "MATCH (n) WHERE elementId(n) IN $ids RETURN elementId(n), n.id", {"ids": unknown}
    )
    (found,) = connection.read([asked], row_limit=len(unknown), timeout_s=timeout_s)
    return {str(key): str(own) for key, own in found.rows}
