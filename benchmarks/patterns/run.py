"""Measure retrieval patterns, and compositions of them, beside `hybrid` and `graph`.

    python benchmarks/patterns/run.py --data data/bench/qa --cache DIR --output patterns.json
    python benchmarks/patterns/run.py --output patterns.json \
        --markdown benchmarks/results/patterns.md

Indexes are those of `benchmarks/retrieval/run.py`, in the same cache; a missing one is made. A
pattern is any name or specification that `knotwork search --retriever` takes. What is in the
results is not measured again, unless `--again` is given. `--markdown` fills the table between the
marks of the file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "retrieval"))

from indexes import open_index
from known_vectors import EMBEDDER, KnownVectors
from measures import measure_budget
from sets import MULTI_HOP, SETS, BenchmarkSet
from table import fill_table

from knotwork._extensions.evaluation.metrics import METRICS
from knotwork._extensions.evaluation.questions import Dataset, load_dataset
from knotwork._extensions.evaluation.retriever_runs import EvaluationRun, evaluate_retrievers
from knotwork._extensions.model_indexing.question_writer import QuestionWriter
from knotwork._indexing.chunk_questions import QUESTIONS, put_questions
from knotwork._indexing.embedding import Embedding
from knotwork._inference.model_registry import open_embedder
from knotwork._retrieval.retriever_registry import RETRIEVERS
from knotwork._stores.base import Store
from knotwork.records import Extraction

USUAL_SETS = (
    *MULTI_HOP,
    "twowiki_full6119",
    "popqa300",
    "multihoprag_lite",
    "drcd300_zh",
    "cmrc2018_trial",
    "netoperator_zh",
    "graphragbench_novel",
)
KEPT = ("recall@2", "recall@5", "recall@10", "all_gold@5")
PATTERNS = (
    "hybrid",
    "graph",
    "bm25",
    "dense",
    "sentence_window",
    "siblings",
    "parent_child",
    "bottom_up",
    "top_down",
    "summaries",
    "questions",
    "pagerank",
    "explore",
    "explore(depth=1)",
    "entity_vectors",
    "graph_vector",
    "graph_vector(depth=0)",
    "ontology",
    "ontology(ontology=derived)",
    "drill_down",
    "communities",
    "communities(level=0)",
    "paths",
    "cypher_templates",
    "dynamic_cypher",
    "text_to_cypher",
    "text_to_sql",
    "rewrite > graph",
    "hyde > graph",
    "expand > graph",
    "expand(by=graph) > graph",
    "decompose > graph",
    "decompose > hybrid",
    "graph > rerank",
    "graph > diversify",
    "graph > prune",
    "bm25 + dense",
    "graph + hybrid",
    "graph + pagerank",
    "graph + paths",
    "decompose > graph + paths",
)
"""Every retriever that needs no model, then compositions."""


def main() -> None:
    left_out = {*RETRIEVERS.names(plugins=False)} - {*PATTERNS}
    assert not left_out, f"PATTERNS lacks {left_out}"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with a folder for each set")
    parser.add_argument("--output", type=Path, required=True, help="the results file, in JSON")
    parser.add_argument("--cache", type=Path, help="where indexes are kept")
    parser.add_argument("--sets", default=",".join(USUAL_SETS), help="names, by commas")
    parser.add_argument("--patterns", default=";".join(PATTERNS), help="parted by semicolons")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--again", action="store_true", help="repeat what is in the results")
    parser.add_argument("--markdown", type=Path, help="a file whose marked table is filled")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    if options.output.exists():
        results = json.loads(options.output.read_text("utf-8"))
    if options.data:
        embedder = KnownVectors(open_embedder(EMBEDDER))
        for name in options.sets.split(","):
            measure_set(name, options, results, embedder)
    if options.markdown:
        fill_table(options.markdown, {name: in_order(entry) for name, entry in results.items()})


def in_order(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the measures of a set in the order of the patterns, others behind them."""
    return {pattern: entry[pattern] for pattern in [*PATTERNS, *entry] if pattern in entry}


def measure_set(
    name: str, options: argparse.Namespace, results: dict[str, Any], embedder: KnownVectors
) -> None:
    measured = SETS[name]
    dataset = load_dataset(
        options.data / measured.folder, hide_titles=measured.hide_titles, limit=options.limit
    )
    store = open_index(dataset, embedder, options.cache, measured.splitter)
    try:
        entry = results.setdefault(name, {})
        for pattern in options.patterns.split(";"):
            known = entry.get(pattern.strip())
            if known and len(known["all_gold@5"]) == len(dataset.cases) and not options.again:
                continue
            if "questions" in pattern:
                add_questions(store, embedder)
            entry[pattern.strip()] = measure_pattern(
                pattern.strip(), measured, dataset, store, embedder
            )
            options.output.write_text(json.dumps(results), "utf-8")
            report(name, pattern.strip(), entry[pattern.strip()])
    finally:
        store.close()


def add_questions(store: Store, embedder: KnownVectors) -> None:
    """Write the questions of all chunks into an index that has none; other patterns see nothing."""
    if store.texts(QUESTIONS).count():
        return
    writer, embedding = QuestionWriter(), Embedding(embedder)
    for document_id in store.documents.document_ids():
        ids = store.documents.chunk_ids_of([document_id])[document_id]
        chunks = list(store.documents.chunks(ids).values())
        mentions = store.graph.mentions([chunk.id for chunk in chunks])
        found = [Extraction(chunk.id, tuple(mentions.get(chunk.id, ()))) for chunk in chunks]
        questions = writer.write([chunk for chunk in chunks if not chunk.is_parent], found)
        with store.transaction():
            put_questions(store, questions, embedding)


def measure_pattern(
    pattern: str, measured: BenchmarkSet, dataset: Dataset, store: Store, embedder: KnownVectors
) -> dict[str, Any]:
    """Return the measures of every question, and the milliseconds without embedding."""
    run = EvaluationRun(dataset.name, len(dataset.cases))
    spent, before = [], embedder.seconds
    budgets: dict[str, list[float]] = {}
    for asked in evaluate_retrievers(dataset, [pattern], store=store, embedder=embedder, run=run):
        seconds = run.runs[asked.retriever].seconds[-1]
        spent.append(1_000 * (seconds - (embedder.seconds - before)))
        before = embedder.seconds
        for measure, value in measure_budget(measured, asked.case, asked.evidence).items():
            budgets.setdefault(measure, []).append(round(value, 4))
    values = run.runs[pattern].values
    found: dict[str, Any] = {m: [round(v, 4) for v in values[m]] for m in METRICS if m in KEPT}
    return found | budgets | {"ms": round(median(spent), 1)}


def report(name: str, pattern: str, found: dict[str, Any]) -> None:
    means = {name: 100 * fmean(values) for name, values in found.items() if name != "ms"}
    numbers = "  ".join(f"{name} {value:.1f}" for name, value in means.items() if value)
    print(f"{name:18} {pattern:28} {numbers}  {found['ms']:.0f} ms", flush=True)


if __name__ == "__main__":
    main()
