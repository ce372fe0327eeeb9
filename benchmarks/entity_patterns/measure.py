"""Measure the patterns over entities beside `hybrid` and `graph`, and what graph features bring.

    python benchmarks/entity_patterns/measure.py --data ../shared/bench/qa --cache DIR --output FILE
    python benchmarks/entity_patterns/measure.py --output FILE --tables

Indexes are copies of those of `benchmarks/retrieval/run.py` in `--source`, with communities and
their extractive reports; they are made once and kept in `--cache`. Differences are paired by
question: recall@5 less that of `hybrid` and of `graph`, questions won and lost, and the two-sided p
of a sign-flip permutation test, uncorrected. What is in the results is not measured again.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "retrieval"))

import numpy as np
from sets import SETS  # type: ignore[import-not-found]

from knotwork.evaluation.datasets import Dataset, load_dataset
from knotwork.evaluation.metrics import all_gold, recall
from knotwork.evaluation.runner import index_path
from knotwork.evaluation.significance import compare_paired
from knotwork.indexing.communities import refresh_communities, refresh_reports
from knotwork.indexing.embedding import Embedding
from knotwork.inference import open_embedder
from knotwork.inference.base import Embedder, FloatMatrix
from knotwork.records import Query
from knotwork.retrieval.registry import build_retriever
from knotwork.stores.base import Store
from knotwork.stores.registry import open_store

EMBEDDER = "local:all-MiniLM-L6-v2"
DEPTH = 50
USUAL_SETS = (
    "musique_train100",
    "hotpot_train100",
    "twowiki_fg101",
    "musique_train100_untitled",
    "hotpot_train100_untitled",
    "twowiki_fg101_untitled",
    "multihoprag_lite",
    "popqa300",
    "drcd300_zh",
    "cmrc2018_trial",
)
ROWS: dict[str, tuple[str, dict[str, object]]] = {
    "hybrid": ("hybrid", {}),
    "graph": ("graph", {}),
    "pagerank": ("pagerank", {}),
    "explore": ("explore", {}),
    "explore, depth 1": ("explore", {"depth": 1}),
    "entity_vectors": ("entity_vectors", {}),
    "graph_vector": ("graph_vector", {}),
    "graph_vector, depth 0": ("graph_vector", {"depth": 0}),
    "ontology": ("ontology", {}),
    "ontology, derived": ("ontology", {"ontology": "derived"}),
    "drill_down": ("drill_down", {}),
    "communities": ("communities", {}),
    "communities, level 0": ("communities", {"level": 0}),
}
"""What is measured: the retriever and its options by the name of the row."""

METRICS: dict[str, Callable[[Sequence[str], Any], float]] = {
    "R@2": lambda ranked, gold: recall(ranked, gold, k=2),
    "R@5": lambda ranked, gold: recall(ranked, gold, k=5),
    "R@10": lambda ranked, gold: recall(ranked, gold, k=10),
    "all@5": lambda ranked, gold: all_gold(ranked, gold, k=5),
}


class KnownVectors:
    """An embedder that remembers questions, so that patterns are not timed by its model."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.languages = getattr(embedder, "languages", frozenset())
        self.dimension = embedder.dimension
        self.embed_passages = embedder.embed_passages
        self._known: dict[str, FloatMatrix] = {}

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            self._known.update(zip(missing, self._embedder.embed(missing), strict=True))
        return np.stack([self._known[text] for text in texts])


def open_copy(source: Path, cache: Path, embedder: Embedder) -> Store:
    """Open the copy of an index, which is made first where there is none."""
    path = cache / source.name
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".new")
        with sqlite3.connect(f"file:{source}?mode=ro", uri=True) as old:
            with sqlite3.connect(beside) as new:
                old.backup(new)
            new.close()
        old.close()
        store = open_store(str(beside))
        refresh_communities(store)
        refresh_reports(store, embedding=Embedding(embedder))
        store.close()
        beside.rename(path)
    return open_store(str(path))


def ask_all(
    dataset: Dataset, store: Store, row: tuple[str, dict[str, object]], embedder: Embedder
) -> dict[str, Any]:
    """Ask one retriever every question; the first few are asked twice, to be warm."""
    name, options = row
    retriever = build_retriever(name, store=store, embedder=embedder, options=options)
    uris = {d.id: d.uri for d in dataset.documents}
    values: dict[str, list[float]] = {metric: [] for metric in METRICS}
    own: list[float] = []
    for case in dataset.cases[:3]:
        retriever.retrieve(Query(case.question, k=DEPTH))
    for case in dataset.cases:
        started = time.thread_time()
        evidence = retriever.retrieve(Query(case.question, k=DEPTH))
        own.append(time.thread_time() - started)
        ranked = list(dict.fromkeys(uris[hit.chunk.document_id] for hit in evidence.hits))
        for metric, measure in METRICS.items():
            values[metric].append(round(measure(ranked, case.gold), 5))
    return {"values": values, "own_ms": round(1_000 * median(own), 1)}


def show_tables(results: dict[str, Any]) -> Iterator[str]:
    """Yield the table of all patterns: means in percent, and paired differences in recall@5."""
    yield "| set | pattern | R@2 | R@5 | R@10 | all@5 | − hybrid (won/lost) p | − graph (won/lost) p |"  # noqa: E501
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for name in (name for name in USUAL_SETS if "hybrid" in results.get(name, {})):
        rows = results[name]
        shown = f"{name} ({len(rows['hybrid']['values']['R@5'])})"
        for row in (row for row in ROWS if row in rows):
            values = rows[row]["values"]
            means = " | ".join(f"{100 * fmean(values[metric]):.1f}" for metric in METRICS)
            paired = " | ".join(_difference(rows, row, other) for other in ("hybrid", "graph"))
            yield f"| {shown} | {row} | {means} | {paired} |"
            shown = ""


def _difference(rows: dict[str, Any], row: str, other: str) -> str:
    if row == other or other not in rows:
        return ""
    found = compare_paired(rows[row]["values"]["R@5"], rows[other]["values"]["R@5"])
    p = "< .001" if found.p_value < 0.001 else f"{found.p_value:.3f}".removeprefix("0")
    points = f"{100 * found.difference:+.1f}".replace("-", "−")
    return f"{points} ({found.wins}/{found.losses}) {p}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with a folder for each set")
    parser.add_argument("--source", type=Path, help="the cache of benchmarks/retrieval/run.py")
    parser.add_argument("--cache", type=Path, help="where copies with communities are kept")
    parser.add_argument("--output", type=Path, required=True, help="the results file, in JSON")
    parser.add_argument("--sets", default=",".join(USUAL_SETS))
    parser.add_argument("--rows", default=";".join(ROWS), help="names, semicolons between")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--again", action="store_true", help="repeat what is in the results")
    parser.add_argument("--tables", action="store_true", help="print the tables")
    options = parser.parse_args()
    results = json.loads(options.output.read_text("utf-8")) if options.output.exists() else {}
    if options.data:
        embedder = open_embedder(EMBEDDER)
        assert embedder is not None
        known = KnownVectors(embedder)
        for name in options.sets.split(","):
            measured = SETS[name]
            dataset = load_dataset(
                options.data / measured.folder,
                hide_titles=measured.hide_titles,
                limit=options.limit,
            )
            source = index_path(dataset, embedder=embedder, folder=options.source)
            store = open_copy(source, options.cache, embedder)
            found = results.setdefault(name, {})
            for row in options.rows.split(";"):
                if row not in found or options.again:
                    found[row] = ask_all(dataset, store, ROWS[row], known)
                    options.output.write_text(json.dumps(results) + "\n", "utf-8")
                    print(name, row, fmean(found[row]["values"]["R@5"]), flush=True)
            store.close()
    if options.tables:
        print("\n".join(show_tables(results)))


if __name__ == "__main__":
    main()
