"""Compare gold statements on a graph database with our engine.

`python -m benchmarks.cypher.servers FOLDER bolt://USER:PASSWORD@HOST/DATABASE` writes the films of
Neo4j's tutorials (or those of TuGraph, with `--only chinese`) into an empty database, connects to
it as to any live graph, and runs the gold statements about them on both.

Rows are compared as sets, lists inside of them too, because neither side promises an order: "equal
in order" counts the statements with the same rows in the same order. A LIMIT may choose among ties:
"equal without LIMIT" counts statements whose rows are the same without it. Elements are compared by
labels, type and properties.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from pathlib import Path

from benchmarks.cypher.gold import SETS, Gold, read_graphs

from knotwork._extensions.cypher.language import Limits, run_statement
from knotwork._extensions.cypher.language.property_graph import PropertyGraph, Value
from knotwork._extensions.graphs.servers.bolt_connection import BoltConnection, BoltStatement
from knotwork._extensions.graphs.servers.server_address import read_address
from knotwork._extensions.graphs.servers.server_statements import run_on_server
from knotwork.errors import GraphServerError, RetrievalError

_BATCH = 1_000
_LIMIT = re.compile(r"\bLIMIT\s+\d+", re.IGNORECASE)
_ROWS = 20_000


def write_graph(connection: BoltConnection, graph: PropertyGraph) -> None:
    """Write a graph into an empty database; the property `_n` finds the ends of relationships."""
    labels = sorted({":".join(f"`{label}`" for label in node.labels) for node in graph.nodes})
    for label in labels:
        rows = [
            {**node.properties, "_n": node.index}
            for node in graph.nodes
            if ":".join(f"`{name}`" for name in node.labels) == label
        ]
        text = f"UNWIND $rows AS row CREATE (n:{label}) SET n = row"
        for start in range(0, len(rows), _BATCH):
            connection.write([BoltStatement(text, {"rows": rows[start : start + _BATCH]})])
    edges = [graph.relationship(index) for index in range(graph.relationship_count)]
    for type_ in sorted({edge.type for edge in edges}):
        rows = [
            {"s": e.source, "t": e.target, "p": dict(e.properties)}
            for e in edges
            if e.type == type_
        ]
        text = (
            "UNWIND $rows AS row MATCH (a) WHERE a._n = row.s MATCH (b) WHERE b._n = row.t"
            f" CREATE (a)-[r:`{type_}`]->(b) SET r = row.p"
        )
        for start in range(0, len(rows), _BATCH):
            connection.write([BoltStatement(text, {"rows": rows[start : start + _BATCH]})])
    connection.write([BoltStatement("MATCH (n) REMOVE n._n", {})])


def compare(connection: BoltConnection, graph: PropertyGraph, gold: Gold) -> tuple[str, str]:
    """Return what became of a statement, and what there is to say."""
    limits = Limits(rows=_ROWS, timeout_s=30, result_bytes=10**9)
    try:
        run_statement(graph, gold.statement, limits=limits)
    except RetrievalError:
        return "not ours", ""
    try:
        ours, theirs = _run_both(connection, graph, gold.statement)
        if ours == theirs:
            return "equal in order", ""
        if Counter(ours) == Counter(theirs):
            return "equal", ""
        whole = _LIMIT.sub("", gold.statement)
        if whole != gold.statement:
            all_ours, all_theirs = _run_both(connection, graph, whole)
            if Counter(all_ours) == Counter(all_theirs):
                return "equal without LIMIT", ""
    except (RetrievalError, GraphServerError) as error:
        return type(error).__name__, str(error)
    return "different", f"{ours[:2]}\n{theirs[:2]}"


def _run_both(
    connection: BoltConnection, graph: PropertyGraph, statement: str
) -> tuple[list[str], list[str]]:
    """Return the rows of a statement here and there, as comparable texts."""
    limits = Limits(rows=_ROWS, timeout_s=30, result_bytes=10**9)
    ours = run_statement(graph, statement, limits=limits)
    theirs = run_on_server(connection, statement, None, row_limit=_ROWS, timeout_s=30)
    return [_key(row) for row in ours.rows], [_key(row) for row in theirs.rows]


def _key(value: Value) -> str:
    return json.dumps(_unordered(value), sort_keys=True, ensure_ascii=False)


def _unordered(value: Value) -> Value:
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in ("id", "source", "target")}
        is_element = "properties" in value
        return {k: _unordered(v) for k, v in (kept if is_element else value).items()}
    if isinstance(value, list | tuple):
        return sorted(map(_unordered, value), key=lambda item: json.dumps(item, sort_keys=True))
    return round(value, 9) if isinstance(value, float) else value


def main() -> None:
    """Print what became of the statements about one graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="the folder `text2cypher`")
    parser.add_argument("url", help="an empty database")
    parser.add_argument("--only", default="opus", choices=("opus", "chinese", "crimes"))
    parser.add_argument("--most", type=int, default=1_000, help="statements to run")
    parser.add_argument("--show", type=int, default=0, help="failures to show")
    options = parser.parse_args()
    chosen = [gold for gold in SETS[options.only](options.root) if gold.graph][: options.most]
    graph = read_graphs(options.root)[chosen[0].graph]
    connection = BoltConnection(read_address(options.url))
    write_graph(connection, graph)
    found: Counter[str] = Counter()
    shown = 0
    for gold in chosen:
        outcome, words = compare(connection, graph, gold)
        found[outcome] += 1
        if not outcome.startswith(("equal", "not ours")) and shown < options.show:
            shown += 1
            print(f"--- {outcome}: {words}\n{gold.statement}")
    connection.close()
    good = sum(count for name, count in found.items() if name.startswith("equal"))
    print(f"{good} of {len(chosen) - found['not ours']} equal: {dict(found)}")


if __name__ == "__main__":
    main()
