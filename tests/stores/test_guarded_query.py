"""SQL statements of users stay below their time, their memory and the size of a result."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from knotwork._extensions.tables.table_file import TableFile
from knotwork._query_memory import MB, POOL, QueryMemory
from knotwork.errors import QueryRefused, QueryTimeout

_ROOT = Path(__file__).parents[2]
_LONG = "format('%.*c', 60000, 'a')"
_DOUBLING = ", ".join(f"x{i} AS (SELECT a || a AS a FROM x{i - 1})" for i in range(1, 25))
_JOINING = ", ".join(f"x{i} AS (SELECT p.a FROM x{i - 1} p, x{i - 1} q)" for i in range(1, 25))
_REFUSED = (
    "SELECT format('%.*c', 900000, 'x') FROM t",
    f"SELECT {_LONG} FROM t",
    f"SELECT {', '.join([_LONG] * 600)}",
    f"SELECT concat({', '.join([_LONG] * 100)})",
    f"SELECT count(*) FROM (SELECT DISTINCT {_LONG} || p.a || q.b AS x FROM t p, t q)",
    "SELECT p.a, sum(p.a) OVER (ORDER BY q.b) FROM t p, t q, t r",
    "SELECT p.b || q.b AS x FROM t p, t q, t r ORDER BY x",
    "SELECT string_agg(p.b, q.b) OVER (ORDER BY p.a) FROM t p, t q",
    "SELECT group_concat(p.b) FROM t p, t q",
    f"WITH x0 AS (SELECT 'a' AS a), {_DOUBLING} SELECT a FROM x24",
    f"WITH x0 AS (SELECT 'a' AS a), {_JOINING} SELECT count(*) FROM x24",
    f"SELECT {', '.join(['x'] * 1_900)} FROM (SELECT {_LONG} AS x FROM t)",
    f"SELECT {', '.join(['instr(x, y)'] * 600)} FROM (SELECT {_LONG} AS x, 'b' || b AS y FROM t)",
    f"SELECT {', '.join([f'{_LONG} LIKE b'] * 400)} FROM t",
    "SELECT zeroblob(1000000000)",
    "SELECT randomblob(1000000000)",
    "SELECT hex(zeroblob(1000))",
    "SELECT printf('%1000000000d', 1)",
    "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r",
)
_LATE = (
    "SELECT count(*) FROM t p, t q, t r, t s",
    f"SELECT count(*) FROM t p, t q WHERE instr({_LONG}, p.b || q.b) > p.a",
    f"SELECT count(*) FROM t p, t q, t r WHERE trim({_LONG} || p.b, {_LONG} || 'b') = q.b",
    f"SELECT count(*) FROM t p, t q, t r WHERE {_LONG} || q.a LIKE '%{'a' * 90}b%'",
    f"SELECT count(*) FROM t p, t q, t r WHERE replace({_LONG}, {_LONG} || p.b, 'x') = q.b",
)


@pytest.fixture
def tables(tmp_path: Path) -> TableFile:
    file = TableFile(tmp_path / "tables")
    file.put("t", [("a", "integer"), ("b", "text")], [(i, f"row {i}") for i in range(3_000)])
    return file


def test_a_result_has_a_largest_size(tables: TableFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(POOL, "ceilings", QueryMemory(result_bytes=MB))
    with pytest.raises(QueryRefused, match=r"larger than 1 MB.*query\.result_mb"):
        tables.run("SELECT format('%.*c', 10000, 'x') FROM t")
    assert POOL.reserved == 0


def test_long_cells_are_read_but_not_made(tmp_path: Path) -> None:
    file = TableFile(tmp_path / "tables")
    file.put("t", [("body", "text"), ("name", "text")], [("x" * 300_000, "n")])
    assert len(file.run("SELECT body FROM t").rows[0][0]) == 300_000
    assert file.run("SELECT name || '!' FROM t").rows == (("n!",),)
    with pytest.raises(QueryRefused, match="more than 65,536 bytes"):
        file.run("SELECT body || '!' FROM t")
    with pytest.raises(QueryRefused, match="more than 65,536 bytes"):
        file.run("SELECT $text", {"text": "x" * 70_000})


@pytest.mark.parametrize(
    "expression",
    [
        "instr(b, '2')",
        "instr(b, '')",
        "instr(NULL, 'a')",
        "instr(a, 2)",
        "replace(b, 'row', 'line')",
        "replace(b, '', 'x')",
        "replace(a, 2, '-')",
        "replace(b, NULL, 'x')",
        "trim(b, 'r2w')",
        "ltrim(b, 'ro')",
        "rtrim(b, '0123456789 ')",
        "trim(NULL, 'x')",
        "rtrim(12.50, '5')",
    ],
)
def test_functions_in_their_place_return_what_sqlite_returns(
    tables: TableFile, expression: str
) -> None:
    own = tables.run(f"SELECT {expression} FROM t WHERE a IN (2, 22)").rows
    replaced = tables.run(f"SELECT {expression}, b || '' FROM t WHERE a IN (2, 22)").rows
    assert own == tuple(row[:1] for row in replaced)


def test_statements_that_repeat_names_are_run_if_they_are_small(tables: TableFile) -> None:
    statement = (
        "WITH low AS (SELECT a, b FROM t WHERE a > 5 AND a < 100), "
        "high AS (SELECT a, b, a * 2 AS c FROM low WHERE a > 7 OR a = 6), "
        "both AS (SELECT low.a, high.c FROM low JOIN high ON low.a = high.a WHERE low.a > 10) "
        "SELECT count(a), max(a), min(a), sum(c) / count(c) FROM both WHERE a < 20 GROUP BY c > 0"
    )
    assert tables.run(statement).rows == ((9, 19, 11, 30),)


@pytest.mark.parametrize("statement", _REFUSED, ids=lambda text: text[:50])
def test_large_values_are_refused(tables: TableFile, statement: str) -> None:
    with pytest.raises(QueryRefused):
        tables.run(statement, timeout_s=60)
    assert POOL.reserved == 0


def test_slow_work_is_stopped(tables: TableFile) -> None:
    for statement in _LATE:
        with pytest.raises(QueryTimeout):
            tables.run(statement, timeout_s=0.1)
    assert POOL.reserved == 0


_CHILD = """
import json, resource, sys, threading, time
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from pathlib import Path
from knotwork._extensions.tables.table_file import TableFile
from knotwork.errors import RetrievalError
file, statements = TableFile(Path(sys.argv[1])), json.loads(sys.argv[2])

def run(statement):
    started = time.thread_time()
    try:
        file.run(statement, timeout_s=float(sys.argv[3]))
        outcome = ""
    except RetrievalError as error:
        outcome = type(error).__name__
    outcomes.append((statement, outcome, time.thread_time() - started))

outcomes = []
run("SELECT a FROM t ORDER BY b")
outcomes.clear()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for statement in statements:
    run(statement)
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({"grown_mb": grown / 1024, "outcomes": outcomes}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are measured as Linux counts them")
@pytest.mark.parametrize("timeout_s", [0.2, pytest.param(1.0, marks=pytest.mark.nightly)])
def test_no_statement_takes_much_more_than_its_memory_and_time(
    tables: TableFile, timeout_s: float
) -> None:
    statements = json.dumps([*_REFUSED, *_LATE])
    found = subprocess.run(
        [sys.executable, "-c", _CHILD, str(tables.path), statements, str(timeout_s)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    read = json.loads(found.stdout)
    assert read["grown_mb"] < 450
    assert [o for o in read["outcomes"] if not o[1] or o[2] > timeout_s + 1.5] == []
