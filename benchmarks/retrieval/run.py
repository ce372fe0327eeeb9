"""Measure retrievers, answers and abstention on the development sets.

    python benchmarks/retrieval/run.py --data data/bench/qa --output results.json
    python benchmarks/retrieval/run.py --output results.json \
        --markdown benchmarks/results/retrieval.md

Every set runs with the same setting. A result is kept as soon as a retriever has been asked all
questions of a set, and is not repeated by the next run; `--again` repeats those of the sets and
retrievers named. Indexes are kept in `--cache` and shared with `knotwork eval`. `--markdown`
renders the tables from the results, between the marks of the file, without measuring anything
unless `--data` is given.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from measures import answer_confidence, measure_answer, measure_budget, measure_ranking
from platformdirs import user_cache_path
from published import read_published
from results import code_fingerprint, is_done, open_results, save_results
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from sets import SETS, BenchmarkSet
from tables import fill_tables

from knotwork._extensions.evaluation.questions import Dataset, load_dataset
from knotwork._extensions.evaluation.retriever_runs import (
    EvaluationRun,
    evaluate_retrievers,
    index_dataset,
    index_path,
)
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._retrieval.retriever_registry import retriever_names
from knotwork._stores.base import Store
from knotwork._stores.urls import open_store
from knotwork._transform.extractor import make_extractor

EMBEDDER = "local:multilingual-e5-small"
RETRIEVERS = "auto,hybrid,dense,bm25,pagerank"
DIGITS = 5

console = Console(highlight=False)


def main() -> None:
    options = parse_options()
    results = open_results(options.output, embedder=options.embedder)
    if options.data:
        try:
            run_sets(options, results)
        except KeyboardInterrupt:
            console.print(f"Interrupted; what was finished is in {options.output}.")
            raise SystemExit(130) from None
    if options.markdown:
        fill_tables(options.markdown, results)
        console.print(f"Filled the tables of {options.markdown}.")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with a folder for each set")
    parser.add_argument("--output", type=Path, required=True, help="the results file, in JSON")
    parser.add_argument("--sets", default=",".join(SETS), help="names, separated by commas")
    parser.add_argument("--retrievers", default=RETRIEVERS, help="names, separated by commas")
    parser.add_argument("--cache", type=Path, help="where indexes are kept")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    parser.add_argument("--embedder", default=EMBEDDER, help="as embedding.model")
    parser.add_argument("--again", action="store_true", help="repeat what is in the results")
    parser.add_argument("--markdown", type=Path, help="a file whose marked tables are filled")
    options = parser.parse_args()
    options.sets = options.sets.split(",")
    options.retrievers = options.retrievers.split(",")
    for names, known in ((options.sets, SETS), (options.retrievers, retriever_names())):
        if unknown := [name for name in names if name not in known]:
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return options


def run_sets(options: argparse.Namespace, results: dict[str, Any]) -> None:
    """Measure every set that is not measured yet, saving each result as it is finished."""
    folder = options.cache or user_cache_path("knotwork", appauthor=False) / "evaluation"
    folder.mkdir(parents=True, exist_ok=True)
    embedder = open_embedder(options.embedder)
    for name in options.sets:
        measured = SETS[name]
        source = options.data / measured.folder
        dataset = load_dataset(source, hide_titles=measured.hide_titles, limit=options.limit)
        questions = len(dataset.cases)
        missing = [
            retriever
            for retriever in options.retrievers
            if options.again or not is_done(results, name, retriever, questions)
        ]
        if published := read_published(source):
            results.setdefault("published", {})[name] = published
        if missing:
            run_set(measured, dataset, missing, options, results, embedder, folder)
    save_results(options.output, results)


def run_set(
    measured: BenchmarkSet,
    dataset: Dataset,
    retrievers: list[str],
    options: argparse.Namespace,
    results: dict[str, Any],
    embedder: Embedder | None,
    folder: Path,
) -> None:
    path = index_path(dataset, embedder=embedder, folder=folder, splitter=measured.splitter)
    entry = results["sets"].setdefault(measured.name, {})
    if entry.get("questions") != len(dataset.cases):
        entry.clear()
    store = open_store(str(path), create=True)
    try:
        describe_set(entry, dataset)
        index_set(measured, dataset, store, embedder, entry)
        for retriever in retrievers:
            started = time.perf_counter()
            found = ask_set(measured, dataset, retriever, store, embedder)
            found["seconds"] = round(time.perf_counter() - started, 1)
            found["code"] = code_fingerprint()
            entry.setdefault("retrievers", {})[retriever] = found
            save_results(options.output, results)
            report_result(measured.name, retriever, found)
    finally:
        store.close()


def describe_set(entry: dict[str, Any], dataset: Dataset) -> None:
    entry["questions"] = len(dataset.cases)
    entry["unanswerable"] = len(dataset.unanswerable)
    entry["types"] = [case.type for case in dataset.cases]
    entry["documents"] = len(dataset.documents)


def index_set(
    measured: BenchmarkSet,
    dataset: Dataset,
    store: Store,
    embedder: Embedder | None,
    entry: dict[str, Any],
) -> None:
    """Bring the index up to date; the seconds of the first time are kept."""
    started = time.perf_counter()
    fresh = store.documents.document_count() == 0
    with show_progress(f"{measured.name}: indexing", len(dataset.documents)) as advance:
        for step in index_dataset.run(
            dataset,
            store=store,
            embedder=embedder,
            extractor=make_extractor(),
            splitter=measured.splitter,
        ):
            advance(step.done)
    entry["chunks"] = store.documents.chunk_count()
    seconds = time.perf_counter() - started
    if fresh:
        entry["index_seconds"] = round(seconds, 1)
    console.print(f"{measured.name}: index ready in {seconds:.1f} s, {entry['chunks']:,} chunks")


def ask_set(
    measured: BenchmarkSet,
    dataset: Dataset,
    retriever: str,
    store: Store,
    embedder: Embedder | None,
) -> dict[str, Any]:
    """Ask one retriever every question, also those without an answer."""
    values: list[dict[str, float]] = []
    confidences: list[float] = []
    run = EvaluationRun(dataset.name, len(dataset.cases))
    with show_progress(f"{measured.name}: {retriever}", len(dataset.cases)) as advance:
        for asked in evaluate_retrievers(
            dataset, [retriever], store=store, embedder=embedder, run=run
        ):
            outcome = run.runs[retriever]
            metrics = {name: found[-1] for name, found in outcome.values.items()}
            values.append(
                measure_ranking(measured, asked.case, outcome.ranked[-1], metrics)
                | measure_budget(measured, asked.case, asked.evidence)
                | measure_answer(measured, asked.case, asked.evidence, store)
            )
            confidences.append(answer_confidence(asked.evidence, store))
            advance(asked.done)
    nulls = replace(dataset, cases=dataset.unanswerable)
    rest = EvaluationRun(dataset.name, len(nulls.cases))
    unanswerable = [
        answer_confidence(asked.evidence, store)
        for asked in evaluate_retrievers(
            nulls, [retriever], store=store, embedder=embedder, run=rest
        )
    ]
    names = dict.fromkeys(name for value in values for name in value)
    return {
        "values": {name: [_shorten(value.get(name)) for value in values] for name in names},
        "confidence": [_shorten(value) for value in confidences],
        "unanswerable_confidence": [_shorten(value) for value in unanswerable],
        "median_ms": round(1_000 * median(run.runs[retriever].seconds), 1),
    }


def _shorten(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


def report_result(name: str, retriever: str, found: dict[str, Any]) -> None:
    """Print the means of one result."""
    means = {
        metric: fmean(value for value in values if value is not None)
        for metric, values in found["values"].items()
    }
    shown = "  ".join(f"{metric} {value:.3f}" for metric, value in means.items())
    console.print(f"{name} {retriever} ({found['seconds']} s): {shown}", soft_wrap=True)


@contextmanager
def show_progress(label: str, total: int) -> Iterator[Any]:
    """Show a bar that its function moves to a count."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, completed=done)


if __name__ == "__main__":
    main()
