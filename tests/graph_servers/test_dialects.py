"""Servers are recognised by their greeting, and statements that write by their plans."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from knotwork._extensions.graphs.servers.dialects import find_dialect
from knotwork._extensions.graphs.servers.server_statements import refuse_writing_plan
from knotwork.errors import QueryRefused


@pytest.mark.parametrize(
    ("agent", "name", "is_tested"),
    [
        ("Neo4j/5.26.0 compatible (ArcadeDB 26.10.2)", "ArcadeDB", True),
        ("Neo4j/5.20.0", "Neo4j", False),
        ("Neo4j/v5.11.0 compatible graph database server - Memgraph", "Memgraph", False),
        ("Neo4j/tugraph-db", "TuGraph", False),
        ("something else", "Neo4j", False),
    ],
)
def test_a_server_is_recognised(agent, name, is_tested):
    dialect = find_dialect(agent)
    assert (dialect.name, dialect.is_tested) == (name, is_tested)


@pytest.mark.parametrize(
    ("agent", "kind", "plan"),
    [
        ("Neo4j/5.20.0", "w", ""),
        ("Neo4j/5.20.0", "rw", ""),
        ("Neo4j/5.20.0", "s", ""),
        ("ArcadeDB", "w", "Execution Plan:\n+ MATCH NODE (a)\n+ SET (1 items)\n"),
        ("ArcadeDB", "w", "+ CALL algo.pagerank()\n"),
        ("Memgraph", "r", " * Produce {a}\n * SetProperty\n * ScanAll (a)\n"),
        ("Memgraph", "r", " * CreateNode\n * Once\n"),
        ("Neo4j/tugraph-db", "r", "Produce Results\n    Set Property\n        Scan"),
    ],
)
def test_a_plan_that_writes_is_refused(agent, kind, plan):
    with pytest.raises(QueryRefused, match="would change the graph"):
        refuse_writing_plan(find_dialect(agent), SimpleNamespace(query_type=kind), plan)


@pytest.mark.parametrize(
    ("agent", "kind", "plan"),
    [
        ("Neo4j/5.20.0", "r", "ProduceResults"),
        ("ArcadeDB", "w", "+ MATCH NODE (a:Set)\n+ CALL SUBQUERY { ... }\n+ PROJECT RETURN a"),
        ("Memgraph", "r", " * Produce {a}\n * ScanAllByLabel (a :Created)\n"),
        ("Neo4j/tugraph-db", "r", "Produce Results\n    All Node Scan [a]"),
    ],
)
def test_a_plan_that_reads_is_not(agent, kind, plan):
    refuse_writing_plan(find_dialect(agent), SimpleNamespace(query_type=kind), plan)
