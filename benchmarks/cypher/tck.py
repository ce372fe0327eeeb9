"""Run the reading scenarios of the openCypher TCK: `python -m benchmarks.cypher.tck FOLDER`."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from benchmarks.cypher.building import GraphBuilder
from benchmarks.cypher.features import Scenario, TableValue, loosened, read_features, shown

from knotwork._extensions.cypher.language.clause_compiler import QueryCompiler
from knotwork._extensions.cypher.language.limits import Budget, Limits
from knotwork._extensions.cypher.language.parser import parse_statement
from knotwork._extensions.cypher.language.property_graph import PropertyGraph
from knotwork._extensions.cypher.language.runtime import Runtime
from knotwork._extensions.cypher.language.static_analysis import Scope
from knotwork.errors import QueryRefused, RetrievalError

_WRITES = ("create", "merge", "delete", "set", "remove")


def run_scenario(scenario: Scenario, root: Path) -> tuple[str, str]:  # noqa: PLR0911
    """Return "passed", "failed", "refused" or "not read", and what there is to say."""
    builder = GraphBuilder()
    try:
        if scenario.graph:
            name = scenario.graph
            builder.execute((root.parent / "graphs" / name / f"{name}.cypher").read_text())
        for preparation in scenario.preparations:
            builder.execute(preparation)
    except (RetrievalError, OSError) as error:
        return "not read", f"preparation: {error}"
    graph = builder.graph()
    try:
        given = {key: _given(text) for key, text in scenario.parameters}
        columns, rows = run(graph, scenario.query, given)
    except QueryRefused as error:
        if _writes(str(error)) or scenario.procedures:
            return "not read", str(error)
        if "raised" in scenario.outcome:
            return "passed", ""
        kind = "refused"
        return kind, str(error)
    except RetrievalError as error:
        return ("passed", "") if "raised" in scenario.outcome else ("failed", str(error))
    if "raised" in scenario.outcome:
        return "failed", f"no error, but {scenario.outcome}: {rows[:2]}"
    return _compare(scenario, columns, rows)


def run(graph: PropertyGraph, statement: str, given: dict[str, object]) -> tuple[list[str], list]:
    """Run a statement and return its columns and rows as `features.shown` shows them."""
    runtime = Runtime(graph, Budget(Limits(rows=10**6)), given)
    compiled = QueryCompiler(runtime).compile_query(parse_statement(statement), [], Scope())
    width = len(compiled.columns)
    rows = [tuple(shown(value, graph) for value in row[:width]) for row in compiled.run([])]
    return list(compiled.columns), rows


def _given(text: str) -> object:
    runtime = Runtime(GraphBuilder().graph(), Budget(Limits()), {})
    query = parse_statement(f"RETURN {text}")
    return next(iter(QueryCompiler(runtime).compile_query(query, [], Scope()).run([])))[0]


def _writes(words: str) -> bool:
    return "changes the graph" in words or "Procedures are not called" in words


def _compare(scenario: Scenario, columns: list[str], rows: list) -> tuple[str, str]:
    if "empty" in scenario.outcome and not scenario.table:
        return ("passed", "") if not rows else ("failed", f"not empty: {rows[:2]}")
    if not scenario.table:
        return "not read", scenario.outcome
    wanted = [tuple(TableValue(cell).read() for cell in row) for row in scenario.table[1:]]
    if scenario.table[0] != columns:
        return "failed", f"columns {columns} for {scenario.table[0]}"
    if "ignoring element order" in scenario.outcome:
        wanted = [tuple(map(loosened, row)) for row in wanted]
        rows = [tuple(map(loosened, row)) for row in rows]
    ordered = "in order" in scenario.outcome
    same = wanted == rows if ordered else Counter(wanted) == Counter(rows)
    return ("passed", "") if same else ("failed", f"wanted {wanted[:3]} got {rows[:3]}")


def main() -> None:
    """Print how many scenarios pass, by folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="the folder `features`")
    parser.add_argument("--only", default="", help="folders that contain this")
    parser.add_argument("--show", type=int, default=0, help="failures to show for each folder")
    options = parser.parse_args()
    counts: dict[str, Counter[str]] = {}
    reasons: Counter[str] = Counter()
    for scenario in read_features(options.root):
        if options.only not in scenario.folder:
            continue
        outcome, words = run_scenario(scenario, options.root)
        found = counts.setdefault(scenario.folder, Counter())
        found[outcome] += 1
        if outcome in ("failed", "refused"):
            reasons[words[:70]] += 1
            if found["failed"] + found["refused"] <= options.show:
                print(f"--- {scenario.folder} {scenario.name}: {words}\n{scenario.query}")
    print(f"{'folder':46}{'passed':>8}{'failed':>8}{'refused':>8}{'not read':>9}{'rate':>8}")
    total: Counter[str] = Counter()
    for folder, found in counts.items():
        _print_row(folder, found)
        total += found
    _print_row("all", total)


def _print_row(folder: str, found: Counter[str]) -> None:
    asked = found["passed"] + found["failed"] + found["refused"]
    rate = found["passed"] / asked if asked else 1.0
    figures = "".join(f"{found[key]:8}" for key in ("passed", "failed", "refused"))
    print(f"{folder:46}{figures}{found['not read']:9}{rate:8.1%}")


if __name__ == "__main__":
    main()
