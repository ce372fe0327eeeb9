"""Measure agents without a model against the retrievers that they are made of.

    python benchmarks/queries/agents.py --data data/bench/qa --cache FOLDER --output a.json

Every agent gets the same questions as `graph` and `hybrid`. Differences are tested in pairs, and
what was lost is printed beside what was won. Questions without an answer, where a set has such,
show whether an agent abstains as well as its first tool. Indexes are copied before they are opened.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from knotwork._extensions.agents.agent import Agent, correct, iterate, make_tools
from knotwork._extensions.evaluation.metrics import all_gold, compare_paired, recall
from knotwork._extensions.evaluation.questions import Dataset, load_dataset
from knotwork._extensions.evaluation.retriever_runs import index_dataset, index_path
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._transform.extractor import make_extractor
from knotwork.records import Evidence, Query

DEPTH = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="where indexes are kept")
    parser.add_argument("--sets", default="musique_train100,hotpot_train100,multihoprag_lite")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--agents", default="agent,corrective")
    parser.add_argument("--embedder", default="local:multilingual-e5-small")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    embedder = open_embedder(options.embedder)
    results: dict[str, Any] = {}
    for name in options.sets.split(","):
        dataset = load_dataset(options.data / name, limit=options.limit)
        with tempfile.TemporaryDirectory() as folder:
            store = open_index(dataset, embedder, options.cache, Path(folder))
            results[name] = measure(dataset, store, embedder, options.agents.split(","))
            store.close()
        options.output.write_text(json.dumps(results), "utf-8")


def open_index(dataset: Dataset, embedder: Embedder | None, cache: Path, folder: Path) -> Store:
    """Open a copy of the kept index of a set, or make one."""
    kept = index_path(dataset, embedder=embedder, folder=cache)
    path = folder / kept.name
    if kept.exists():
        shutil.copy(kept, path)
    store = open_store(str(path), create=True)
    index_dataset(dataset, store=store, embedder=embedder, extractor=make_extractor())
    return store


def measure(
    dataset: Dataset, store: Store, embedder: Embedder | None, agents: list[str]
) -> dict[str, Any]:
    tools = make_tools(("graph", "hybrid"), store=store, embedder=embedder)
    asked: dict[str, Any] = dict(tools)
    planners = {"agent": partial(iterate, store), "corrective": correct}
    asked |= {name: Agent(planners[name], tools, store, name=name) for name in agents}
    found: dict[str, Any] = {"questions": len(dataset.cases)}
    for name, retriever in asked.items():
        rows = []
        for case in [*dataset.cases, *dataset.unanswerable]:
            started = time.perf_counter()
            evidence = retriever.retrieve(Query(case.question, k=DEPTH))
            seconds = time.perf_counter() - started
            ranked = uris(evidence, store)
            rows.append(
                {
                    "recall@5": recall(ranked, case.gold, k=5) if case.gold else None,
                    "all_gold@5": all_gold(ranked, case.gold, k=5) if case.gold else None,
                    "recall@2": recall(ranked, case.gold, k=2) if case.gold else None,
                    "ms": 1000 * seconds,
                    "steps": steps_of(evidence),
                    "confidence": evidence.confidence,
                    "trace": list(evidence.trace),
                    "abstains": any("poor" in note for note in evidence.notes),
                }
            )
        found[name] = rows
        report(dataset, name, found)
    return found


def report(dataset: Dataset, name: str, found: dict[str, Any]) -> None:
    count = len(dataset.cases)
    rows = found[name][:count]
    line = f"{dataset.name} {name}:"
    for metric in ("recall@2", "recall@5", "all_gold@5"):
        line += f" {metric} {100 * fmean(row[metric] for row in rows):.1f}"
    line += f" ms {median(row['ms'] for row in rows):.0f}"
    line += f" steps {fmean(row['steps'] for row in rows):.1f}"
    print(line, flush=True)
    for other in ("graph", "hybrid"):
        if other in found and other != name:
            for metric in ("recall@5", "all_gold@5"):
                pair = (
                    [row[metric] for row in part[:count]] for part in (found[name], found[other])
                )
                test = compare_paired(*pair)
                print(
                    f"   {metric} against {other}: {100 * test.difference:+.1f},"
                    f" {test.wins} won, {test.losses} lost, p {test.p_value:.3f}",
                    flush=True,
                )
    if dataset.unanswerable:
        answerable = [row["confidence"] for row in rows]
        without = [row["confidence"] for row in found[name][count:]]
        wins = fmean((a > b) + 0.5 * (a == b) for a in answerable for b in without)
        wrong = fmean(row["abstains"] or row["confidence"] < 0.5 for row in rows)
        right = fmean(row["abstains"] or row["confidence"] < 0.5 for row in found[name][count:])
        print(
            f"   abstention: AUC {wins:.3f}; at 0.5 {100 * right:.1f} % of those without an answer,"
            f" {100 * wrong:.1f} % of the others",
            flush=True,
        )


def steps_of(evidence: Evidence) -> int:
    return sum(line[:1].isdigit() for line in evidence.trace) or 1


def uris(evidence: Evidence, store: Store) -> list[str]:
    ids = [hit.chunk.document_id for hit in evidence.hits]
    documents = store.documents.documents(ids)
    return list(dict.fromkeys(documents[identifier].uri for identifier in ids))


if __name__ == "__main__":
    main()
