"""Measure what each tier costs and brings: none, lean and full side by side on development sets.

    python benchmarks/tiers/measure.py --data ../shared/bench/qa --sets musique_train100,drcd300_zh
    python benchmarks/tiers/measure.py --data ... --llm openai:NAME --base-url http://127.0.0.1:8000/v1

Each set is indexed anew in each tier, a passage a chunk; vectors of passages come from the index of
the tier before, since no tier changes them. Reported are recall of the retriever, tokens of the
language model for each token of text by stage, and the seconds of the processor that indexing took
without the embedder. Without `--llm` the model is the brain by rules of the test server: tokens and
seconds then are those of a model that says as much as it is asked for, but what it finds is what
rules can find, so that recall says only that nothing is lost.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import knotwork
from knotwork._config import Settings
from knotwork._extensions.evaluation.datasets import Dataset, load_dataset
from knotwork._extensions.evaluation.metrics import compare_paired
from knotwork._extensions.evaluation.retriever_runs import (
    WHOLE_SPLITTER,
    EvaluationRun,
    evaluate_retrievers,
    index_path,
)
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.chat_models import ScriptedChatModel
from knotwork._indexing.changes import Tier
from knotwork._inference.chat import ChatModel
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._text.token_counts import count_tokens

EMBEDDER = "local:multilingual-e5-small"
METRICS = ("recall@2", "recall@5", "recall@10")


def main() -> None:
    options = parse_options()
    embedder = open_embedder(options.embedder, Settings().embedding)
    results = []
    for name in options.sets.split(","):
        dataset = load_dataset(options.data / name)
        with tempfile.TemporaryDirectory() as folder:
            results += measure(dataset, name, embedder, Path(folder), options)
            print_rows(results[-len(Tier) :])
    if options.json:
        print(json.dumps(results, indent=2))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="a folder with one for each set")
    parser.add_argument("--sets", required=True, help="names, separated by commas")
    parser.add_argument("--retriever", default="auto")
    parser.add_argument(
        "--splitter", default=WHOLE_SPLITTER, help="as index.splitter; a passage a chunk"
    )
    parser.add_argument("--embedder", default=EMBEDDER, help="as embedding.model")
    parser.add_argument("--cache", type=Path, help="indexes of benchmarks/retrieval, for vectors")
    parser.add_argument("--llm", default="", help="as llm.model; a brain by rules without it")
    parser.add_argument("--base-url", default="", help="the server of --llm")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def measure(
    dataset: Dataset,
    name: str,
    embedder: Embedder | None,
    folder: Path,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    """Return a result for each tier of one set."""
    path = folder / "index.knot"
    if options.cache:
        kept = index_path(
            dataset, embedder=embedder, folder=options.cache, splitter=options.splitter
        )
        if kept.exists():
            shutil.copy(kept, path)
    text_tokens = sum(count_tokens(document.text) for document in dataset.documents)
    results: list[dict[str, Any]] = []
    base: dict[str, list[float]] = {}
    for tier in Tier:
        values, result = measure_tier(dataset, tier, path, embedder, options)
        base = base or values
        result |= {"set": name, "tier": str(tier), "text_tokens": text_tokens}
        result["p"] = compare_paired(values["recall@5"], base["recall@5"]).p_value
        results.append(result)
    return results


def measure_tier(
    dataset: Dataset,
    tier: Tier,
    path: Path,
    embedder: Embedder | None,
    options: argparse.Namespace,
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Return each question's recalls, and what the tier cost."""
    settings: dict[str, Any] = {"index_splitter": options.splitter, "llm_tier": str(tier)}
    settings["index_workers"] = 0  # so that all seconds of the processor are those of this process
    if options.llm:
        settings |= {"llm_model": options.llm, "llm_base_url": options.base_url}
    model = None if options.llm else brain()
    with knotwork.open(path, embedder=embedder, chat_model=model, **settings) as kb:
        started_s = time.process_time()
        report = kb.index_documents(dataset.documents, remove_others=True, tier=str(tier))
        cpu_s = time.process_time() - started_s
        run = EvaluationRun(dataset.name, len(dataset.cases))
        for _ in evaluate_retrievers(
            dataset, [options.retriever], store=kb.store, embedder=embedder, run=run
        ):
            pass
    outcome = run.runs[options.retriever]
    return outcome.values, {
        "chunks": report.total_chunks,
        "entities": report.total_entities,
        "recall": {metric: fmean(outcome.values[metric]) for metric in METRICS},
        "usage": {stage: vars_of(used) for stage, used in report.usage.items()},
        "readings": {str(status): count for status, count in report.readings.items()},
        "cpu_s": cpu_s - report.seconds["embed"],
        "search_ms": 1_000 * fmean(outcome.seconds),
    }


def brain() -> ChatModel:
    """Return the brain by rules as a model in this process."""
    rules = RuleBrain()
    return ScriptedChatModel(lambda request: rules(request.messages), name="scripted:rules")


def vars_of(used: Any) -> dict[str, int]:  # noqa: ANN401  a record of counts
    return {"calls": used.calls, "in": used.input_tokens, "out": used.output_tokens}


def print_rows(results: list[dict[str, Any]]) -> None:
    for result in results:
        tokens = {
            stage: (used["in"] + used["out"]) / result["text_tokens"]
            for stage, used in result["usage"].items()
        }
        told = ", ".join(f"{stage} {share:.2f}" for stage, share in tokens.items() if share)
        recall = " / ".join(f"{100 * result['recall'][metric]:.1f}" for metric in METRICS)
        print(
            f"| {result['set']} | {result['tier']} | {recall} | {result['p']:.2f} | "
            f"{result['entities']:,} | {sum(tokens.values()):.2f} ({told or 'none'}) | "
            f"{result['cpu_s']:.1f} | {result['search_ms']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
