"""Statements stay below their memory, one by one and all together, and give it back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cypher.graphs import NOTHING, PEOPLE, rows
from tests.cypher.hostile import heavy

from knotwork import KnowledgeBase
from knotwork._config import QuerySettings, Settings
from knotwork._extensions.cypher.language import Limits, run_statement
from knotwork._query_memory import MB, POOL, QueryMemory, Reservation
from knotwork._stores.urls import open_store
from knotwork.errors import QueryRefused, QueryTimeout, RetrievalError

_ROOT = Path(__file__).parents[2]


def _refusal(statement: str, limits: Limits) -> str:
    with pytest.raises(QueryRefused) as refused:
        run_statement(PEOPLE, statement, limits=limits)
    assert POOL.reserved == 0
    return str(refused.value)


@pytest.mark.parametrize(
    "statement",
    [
        "UNWIND range(1, 100000) AS x RETURN collect(x)",
        "UNWIND range(1, 100000) AS x WITH x ORDER BY x RETURN count(*)",
        "UNWIND range(1, 100000) AS x RETURN count(DISTINCT x)",
        "UNWIND range(1, 100000) AS x WITH DISTINCT x RETURN count(*)",
        "UNWIND range(1, 100000) AS x RETURN 1 UNION UNWIND range(1, 100000) AS x RETURN x AS `1`",
        "UNWIND range(1, 100000) AS x WITH x, count(*) AS c RETURN count(*)",
        "UNWIND range(1, 100000) AS x WITH max([x, 'a', x]) AS m, collect(x) AS c RETURN size(c)",
        "UNWIND range(1, 100000) AS x WITH stDev(x) AS d, percentileCont(x, 0.5) AS p RETURN d, p",
        "RETURN size([x IN range(1, 100000) | x])",
        "RETURN size([x IN range(1, 100) | range(1, 1000)])",
        "RETURN size([x IN range(1, 100000) | {a: x}])",
        "RETURN reduce(s = 'x', i IN range(1, 19) | s + s)",
        "RETURN size(reduce(l = [], i IN range(1, 100000) | [l, i]))",
        "RETURN size(split(reduce(s = 'x', i IN range(1, 16) | s + s), ''))",
        "RETURN size(COLLECT { UNWIND range(1, 100000) AS x RETURN x })",
        "CALL { UNWIND range(1, 100000) AS x RETURN collect(x) AS l } RETURN size(l)",
        "RETURN size(coll.sort([x IN range(1, 20) | range(1, 500)]))",
    ],
)
def test_whatever_keeps_values_is_counted(statement: str) -> None:
    limits = Limits(memory_bytes=500_000, timeout_s=60)
    assert "more than 0 MB" in _refusal(statement, limits) or "memory" in _refusal(
        statement, limits
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UNWIND range(1, 10000) AS x WITH toUpper('some text ' + x) AS t RETURN count(t)",
        "UNWIND range(1, 10000) AS x WITH [x, x + 1, x + 2] AS l RETURN sum(l[0])",
        "UNWIND range(1, 10000) AS x WITH [y IN range(1, 100) | y + x] AS l RETURN max(size(l))",
        "UNWIND range(1, 5000) AS x CALL { UNWIND [1, 2] AS y RETURN collect(y) AS l } RETURN 1",
        "UNWIND range(1, 3000) AS x RETURN sum(size(COLLECT { UNWIND [1, 2, 3] AS y RETURN y }))",
        "RETURN reduce(n = 0, x IN range(1, 10000) | n + size([x, x]))",
        "RETURN size(reduce(l = [], x IN range(1, 2000) | l + x))",
        "UNWIND range(1, 10000) AS x RETURN [x] AS l ORDER BY x DESC LIMIT 3",
        "UNWIND range(1, 10000) AS x RETURN max('some text ' + x)",
        "RETURN all(x IN range(1, 10000) WHERE size(range(1, 100)) = 100)",
    ],
)
def test_discarded_entries_do_not_add_up(statement: str) -> None:
    run_statement(PEOPLE, statement, limits=Limits(memory_bytes=2_500_000, timeout_s=60))
    assert POOL.reserved == 0


def test_shared_values_are_counted_once() -> None:
    statement = (
        "WITH range(1, 10000) AS l UNWIND range(1, 1000) AS x WITH l, x ORDER BY x DESC"
        " RETURN count(l)"
    )
    run_statement(PEOPLE, statement, limits=Limits(memory_bytes=4_000_000))


def test_sorting_keeps_only_the_rows_that_are_wanted() -> None:
    found = rows(
        NOTHING, "UNWIND range(1, 5000) AS x RETURN (x * 7) % 5000 AS y ORDER BY y LIMIT 5"
    )
    assert found == [0, 1, 2, 3, 4]
    statement = "UNWIND range(1, 5000) AS x RETURN x % 3 AS y, x ORDER BY y {} SKIP 1 LIMIT 3"
    assert rows(NOTHING, statement.format("DESC")) == [(2, 5), (2, 8), (2, 11)]
    assert rows(NOTHING, statement.format("")) == [(0, 6), (0, 9), (0, 12)]


def test_a_result_has_a_largest_size() -> None:
    limits = Limits(result_bytes=1_000_000)
    words = _refusal(f"UNWIND range(1, 500) AS x RETURN toString(x) + '{'y' * 5_000}'", limits)
    assert "larger than 1 MB" in words
    assert "query.result_mb" in words


def test_a_statement_is_refused_if_others_use_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(POOL, "ceilings", QueryMemory(8 * MB, 10 * MB, MB))
    other = Reservation(8 * MB)
    other.grow(7 * MB)
    statement = "UNWIND range(1, 60000) AS x RETURN size(collect(x))"
    with pytest.raises(QueryRefused, match="statements that are running"):
        run_statement(NOTHING, statement)
    other.close()
    assert rows(NOTHING, statement) == [60_000]
    assert POOL.reserved == 0


def test_the_memory_of_a_statement_that_fails_is_given_back() -> None:
    for statement in ("UNWIND [1, 2, 'x'] AS x RETURN collect(x), sum(x)", "RETURN [1] + 1 / 0"):
        with pytest.raises(RetrievalError):
            run_statement(NOTHING, statement)
    with pytest.raises(QueryTimeout):
        run_statement(
            NOTHING,
            "UNWIND range(1, 2000000) AS x RETURN collect(x)",
            limits=Limits(timeout_s=0.01),
        )
    assert POOL.reserved == 0


def test_settings_set_the_ceilings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(POOL, "ceilings", QueryMemory())
    KnowledgeBase(open_store("memory:"), Settings(query=QuerySettings(3, 5, 2)))
    assert POOL.ceilings == QueryMemory(3 * MB, 5 * MB, 2 * MB)
    assert Limits().memory_bytes == 3 * MB
    assert Limits().result_bytes == 2 * MB


_CHILD = """
import json, resource, sys, threading, time
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
from knotwork._extensions.cypher.language import Limits, run_statement
from knotwork.errors import RetrievalError
from tests.cypher.hostile import heavy
from tests.cypher.graphs import PEOPLE

def run(statement):
    started = time.thread_time()
    try:
        run_statement(PEOPLE, statement, limits=Limits(timeout_s=float(sys.argv[2])))
        outcome = ""
    except RetrievalError as error:
        outcome = f"{type(error).__name__}: {error}"
    outcomes.append((statement, outcome, time.thread_time() - started))

outcomes = []
run("RETURN 'a' =~ 'a'")
outcomes.clear()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
chosen = heavy() if sys.argv[1] == "each" else [heavy()[int(sys.argv[1])]] * 8
threads = [threading.Thread(target=run, args=(statement,)) for statement in chosen]
for thread in threads:
    thread.start()
    if sys.argv[1] == "each":
        thread.join()
for thread in threads:
    thread.join()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({"grown_mb": grown / 1024, "outcomes": outcomes}))
"""


def _run_child(which: str, timeout_s: float) -> tuple[float, list[tuple[str, str, float]]]:
    """Run heavy statements in a process; return the growth of its peak in MB, and outcomes."""
    found = subprocess.run(
        [sys.executable, "-c", _CHILD, which, str(timeout_s)],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    read = json.loads(found.stdout)
    return read["grown_mb"], read["outcomes"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are measured as Linux counts them")
@pytest.mark.parametrize("timeout_s", [0.2, pytest.param(1.0, marks=pytest.mark.nightly)])
def test_no_statement_takes_much_more_than_its_memory_and_time(timeout_s: float) -> None:
    grown_mb, outcomes = _run_child("each", timeout_s)
    assert len(outcomes) == len(heavy())
    assert not [o for o in outcomes if "more memory than is available" in o[1]]
    assert grown_mb < 350
    late = [(statement, seconds) for statement, _, seconds in outcomes if seconds > timeout_s + 1.5]
    assert late == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peaks are measured as Linux counts them")
@pytest.mark.parametrize("which", [4, pytest.param(17, marks=pytest.mark.nightly)])
def test_eight_statements_at_once_stay_below_one_ceiling(which: int) -> None:
    grown_mb, outcomes = _run_child(str(which), 30.0)
    assert grown_mb < 700
    assert all(outcome.startswith("QueryRefused") for _, outcome, _ in outcomes)
    assert any("statements that are running" in outcome for _, outcome, _ in outcomes)
