"""Run gold statements of text-to-Cypher data: `python -m benchmarks.cypher.gold FOLDER`.

Where the graph is there and a number of rows is known, both must agree; where it is there alone,
the statement must run; where it is not, it must be parsed and planned.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.cypher.building import GraphBuilder
from benchmarks.cypher.graphs import read_chinese_movies, read_crimes, read_movies

from knotwork._extensions.cypher.language import Limits, check_statement, run_statement
from knotwork._extensions.cypher.language.property_graph import PropertyGraph
from knotwork.errors import QueryRefused, RetrievalError

_VENDOR = re.compile(r"\b(apoc|gds|db|dbms|algo)\.|\beuid\(|\bCALL\s+[a-z_]", re.IGNORECASE)
_WRITES = re.compile(r"\b(CREATE|SET|DELETE|MERGE|REMOVE)\b")


class Gold(NamedTuple):
    """A statement, the graph it is for ("": none), and how many rows it returns (None: unknown)."""

    statement: str
    graph: str = ""
    rows: int | None = None


def crimes(root: Path) -> Iterator[Gold]:
    """Yield the statements of ZOGRASCOPE's training data."""
    with (root / "zograscope/zograscope_train_v1.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            yield Gold(row["mr"], "crimes", int(float(row["return_count"])))


def opus(root: Path) -> Iterator[Gold]:
    """Yield the statements of the Opus data that ran and returned something."""
    with (root / "neo4jlabs_opus/text2cypher_claudeopus.csv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            ran = (row["syntax_error"], row["timeout"], row["returns_results"])
            if ran == ("False", "False", "True"):
                yield Gold(row["cypher"], "movies" if row["database"] == "movies" else "")


def chinese(root: Path) -> Iterator[Gold]:
    """Yield the statements of TuGraph's questions."""
    for name in ("dev", "train"):
        text = (root / f"dbgpt_gql_zh/{name}.json").read_text(encoding="utf-8")
        for row in json.loads(text):
            yield Gold(row["output"], "chinese" if row["db_id"] == "movie" else "")


def ldbc(root: Path) -> Iterator[Gold]:
    """Yield the statements of the 31 questions about a social network."""
    text = (root / "kuzu_ldbc_31q/questions_and_cypher.txt").read_text(encoding="utf-8")
    for block in re.split(r"\nQ\d+:", text)[1:]:
        body = block.partition("\n")[2]
        statement = re.split(r"\nA\d+:|\n-----", body)[0].strip()
        if statement:
            yield Gold(statement)


SETS: dict[str, Callable[[Path], Iterator[Gold]]] = {
    "crimes": crimes,
    "opus": opus,
    "chinese": chinese,
    "ldbc": ldbc,
}


def read_graphs(root: Path) -> dict[str, PropertyGraph]:
    """Return the graphs by name."""
    return {
        "crimes": read_crimes(root / "zograscope/pole-data-importer.zip"),
        "chinese": read_chinese_movies(root / "dbgpt_gql_zh/tugraph_movie_graph"),
        "movies": read_movies(root / "graphs/movies/movies.cypher"),
        "": GraphBuilder().graph(),
    }


def try_gold(gold: Gold, graphs: dict[str, PropertyGraph]) -> tuple[str, str]:
    """Return what became of a statement, and what there is to say."""
    try:
        if not gold.graph:
            check_statement(graphs[""], gold.statement)
            return "planned", ""
        limits = Limits(rows=200_000, timeout_s=30, result_bytes=10**9)
        result = run_statement(graphs[gold.graph], gold.statement, limits=limits)
    except QueryRefused as error:
        if _WRITES.search(gold.statement) and "changes the graph" in str(error):
            return "writes", str(error)
        return ("vendor" if _VENDOR.search(gold.statement) else "refused"), str(error)
    except RetrievalError as error:
        return "failed", f"{type(error).__name__} {error}"
    if gold.rows is not None and len(result.rows) != gold.rows:
        return "differs", f"{len(result.rows)} rows for {gold.rows}"
    return ("right" if gold.rows is not None else "ran" if result.rows else "ran empty"), ""


def main() -> None:
    """Print what became of the statements of every set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path, help="the folder `text2cypher`")
    parser.add_argument("--show", type=int, default=0, help="failures to show for each set")
    parser.add_argument("--only", default="", help="one set")
    options = parser.parse_args()
    graphs = read_graphs(options.root)
    for name, read in SETS.items():
        if options.only not in name:
            continue
        found: Counter[str] = Counter()
        shown = 0
        for gold in read(options.root):
            outcome, words = try_gold(gold, graphs)
            found[outcome] += 1
            if outcome in ("failed", "differs", "refused", "vendor") and shown < options.show:
                shown += 1
                print(f"--- {name} {outcome}: {words}\n{gold.statement}")
        good = sum(found[key] for key in ("right", "ran", "ran empty", "planned"))
        asked = sum(found.values()) - found["vendor"] - found["writes"]
        print(f"{name:10}{good:6} of {asked:6} {good / max(asked, 1):7.1%}  {dict(found)}")


if __name__ == "__main__":
    main()
