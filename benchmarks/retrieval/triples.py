"""Measure what recorded triples of a model add to the zero-token graph.

    python benchmarks/retrieval/triples.py --data data/bench/qa --output triples.json \\
        --markdown benchmarks/results/retrieval.md

Rows are kept as they are finished and not repeated by the next run.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path
from results import code_fingerprint
from rich.console import Console
from summary import percent, points, show_p
from tables import fill_marks, table
from variants import Facts, Variant, build_variant

from knotwork._extensions.evaluation.metrics import METRICS, compare_paired
from knotwork._extensions.evaluation.questions import Dataset, load_dataset
from knotwork._extensions.evaluation.retriever_runs import RANKED_DEPTH, index_dataset
from knotwork._extensions.graphs.recorded_extractor import RecordedExtractor, Recording
from knotwork._inference.embedder import Embedder
from knotwork._inference.model_registry import open_embedder
from knotwork._stores.base import FloatMatrix, Store
from knotwork._stores.urls import open_store
from knotwork._transform.extractor import Extractor, make_extractor
from knotwork.records import Chunk, Document, Extraction, Query, content_id

SET = "musique_train100"
OPENIE = "openie_gpt-3.5-turbo-1106.jsonl"
EMBEDDER = "local:multilingual-e5-small"
SHOWN = ("recall@2", "recall@5", "recall@10")

VARIANTS = (
    Variant("no triples: the zero-token tier", index="rules"),
    Variant("with triples, all names alike", alike=True),
    Variant("**with triples, as the package has it**"),
    Variant("+ synonym edges", synonyms=True),
    Variant("+ fact linking", linking=True),
    Variant("+ filter", filter=True),
    Variant("+ fact linking and filter", linking=True, filter=True),
    Variant("+ synonym edges, fact linking and filter", synonyms=True, linking=True, filter=True),
    Variant("− passage nodes", passages=False),
    Variant("− passage nodes + fact linking", passages=False, linking=True),
    Variant("triples alone", index="triples"),
    Variant("triples alone + synonym edges", index="triples", synonyms=True),
    Variant("triples alone + fact linking", index="triples", linking=True),
    Variant("no triples", index="rules", retriever="pagerank"),
    Variant("with triples", retriever="pagerank"),
    Variant("+ synonym edges", retriever="pagerank", synonyms=True),
    Variant("+ fact linking", retriever="pagerank", linking=True),
    Variant("+ fact linking and filter", retriever="pagerank", linking=True, filter=True),
    Variant("− passage nodes", retriever="pagerank", passages=False),
    Variant("− passage nodes + fact linking", retriever="pagerank", passages=False, linking=True),
    Variant("triples alone", index="triples", retriever="pagerank"),
    Variant(
        "triples alone + synonym edges, fact linking and filter",
        index="triples",
        retriever="pagerank",
        synonyms=True,
        linking=True,
        filter=True,
    ),
)
BESIDE = VARIANTS[:3]
"""Rows that are measured with titles hidden and without vectors too."""

console = Console(highlight=False)


class _NoExtractor:
    """Finds nothing, so that the triples are all there is."""

    name = "none"

    def extract(self, document: Document, chunks: Sequence[Chunk]) -> list[Extraction]:
        del document
        return [Extraction(chunk.id) for chunk in chunks if not chunk.is_parent]


class _Remembering:
    """An embedder that embeds an equal text once: every row asks the same questions."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[tuple[str, ...], FloatMatrix] = {}

    def __getattr__(self, name: str) -> object:
        return getattr(self._embedder, name)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        key = tuple(texts)
        if key not in self._known:
            self._known[key] = self._embedder.embed(key)
        return self._known[key]


def main() -> None:
    options = parse_options()
    results = json.loads(options.output.read_text("utf-8")) if options.output.exists() else {}
    if options.data:
        embedder = open_embedder(EMBEDDER)
        assert embedder is not None
        run(options, results, embedder)
    if options.markdown:
        rows = {"triples": list(show_rows(results)), "triples_beside": list(show_beside(results))}
        fill_marks(options.markdown, rows)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with a folder for each set")
    parser.add_argument("--output", type=Path, required=True, help="the results file, in JSON")
    parser.add_argument("--cache", type=Path, help="where indexes are kept")
    parser.add_argument("--markdown", type=Path, help="a file whose marked tables are filled")
    return parser.parse_args()


def run(options: argparse.Namespace, results: dict[str, Any], embedder: Embedder) -> None:
    """Measure every row that is not measured yet by this state of the code."""
    remembering: Any = _Remembering(embedder)
    folder = options.cache or user_cache_path("knotwork", appauthor=False) / "evaluation"
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording.read(options.data / SET / OPENIE)
    extractors: dict[str, Extractor] = {
        "rules": make_extractor(),
        "both": RecordedExtractor(recording),
        "triples": RecordedExtractor(recording, rules=_NoExtractor()),
    }
    code = code_fingerprint()
    for hidden in (False, True):
        dataset = load_dataset(options.data / SET, hide_titles=hidden)
        for index, extractor in extractors.items():
            wanted = [
                (variant, vectors)
                for variant in (BESIDE if hidden else VARIANTS)
                for vectors in (True, False)
                if variant.index == index and (vectors or variant in BESIDE)
            ]
            missing = [
                (variant, vectors)
                for variant, vectors in wanted
                if results.get(_key(variant, hidden, vectors), {}).get("code") != code
            ]
            if not missing:
                continue
            store = open_index(dataset, extractor, embedder, folder)
            if index == "both" and not hidden:
                results["counts"] = count_recording(recording, extractor, dataset, store)
            facts = Facts.of(store, embedder, folder)
            for variant, vectors in missing:
                values = ask(dataset, variant, store, remembering, facts, vectors=vectors)
                results[_key(variant, hidden, vectors)] = {"code": code, "values": values}
                options.output.write_text(json.dumps(results), "utf-8")
                means = " ".join(f"{m} {percent(_mean(values[m]))}" for m in values)
                console.print(f"{_key(variant, hidden, vectors)}: {means}", soft_wrap=True)
            store.close()


def open_index(dataset: Dataset, extractor: Extractor, embedder: Embedder, folder: Path) -> Store:
    name = content_id(dataset.fingerprint, embedder.name, extractor.name)
    store = open_store(str(folder / f"{name}.knot"), create=True)
    index_dataset(dataset, store=store, embedder=embedder, extractor=extractor)
    return store


def count_recording(
    recording: Recording, extractor: Extractor, dataset: Dataset, store: Store
) -> dict[str, int]:
    """Count what became of the recording's records."""
    assert isinstance(extractor, RecordedExtractor)
    complaints: Counter[str] = Counter()
    for document in dataset.documents:
        chunks = store.documents.chunks(store.documents.chunk_ids_of([document.id])[document.id])
        _, unused = extractor.read_document(document, list(chunks.values()))
        complaints.update(complaint.reason for complaint in unused)
    drafts = recording.drafts.values()
    return {
        "triples": sum(len(draft.relations) for draft in drafts),
        "entities": sum(len(draft.entities) for draft in drafts),
        "repeated": sum(draft.repeated for draft in drafts),
        **complaints,
    }


def ask(
    dataset: Dataset,
    variant: Variant,
    store: Store,
    embedder: Embedder,
    facts: Facts,
    *,
    vectors: bool,
) -> dict[str, list[float]]:
    retriever = build_variant(variant, store, embedder if vectors else None, facts)
    values: dict[str, list[float]] = {}
    for case in dataset.cases:
        facts.ask(embedder.embed([case.question])[0])
        hits = retriever.retrieve(Query(case.question, k=RANKED_DEPTH)).hits
        documents = store.documents.documents({hit.chunk.document_id for hit in hits})
        ranked = [documents[hit.chunk.document_id].uri for hit in hits]
        for name, measure in METRICS.items():
            values.setdefault(name, []).append(measure(ranked, case.gold))
    return values


def _key(variant: Variant, hidden: bool, vectors: bool) -> str:
    parts = [variant.retriever, variant.index, variant.name]
    return " | ".join([*parts, *["hidden"] * hidden, *["no vectors"] * (not vectors)])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def show_rows(results: dict[str, Any]) -> Iterator[str]:
    """Render every row beside the zero-token row of its retriever."""
    rows = []
    for variant in VARIANTS:
        found = results.get(_key(variant, hidden=False, vectors=True))
        if found is not None:
            zero = next(v for v in VARIANTS if v.retriever == variant.retriever)
            base = results[_key(zero, hidden=False, vectors=True)]["values"]
            rows.append((variant.retriever, variant.name, *_cells(found["values"], base)))
    yield from table(("retriever", "graph", *_HEADER), rows, left=2)


def show_beside(results: dict[str, Any]) -> Iterator[str]:
    rows = []
    for hidden in (False, True):
        for vectors in (True, False):
            base = results[_key(BESIDE[0], hidden, vectors)]["values"]
            label = f"{'hidden' if hidden else 'kept'}, {'vectors' if vectors else 'none'}"
            for variant in BESIDE:
                values = results[_key(variant, hidden, vectors)]["values"]
                rows.append((label, variant.name, *_cells(values, base)))
    yield from table(("titles, vectors", "graph of `auto`", *_HEADER), rows, left=2)


_HEADER = ("R@2", "R@5", "R@10", "all@5", "− zero-token R@2", "R@5", "R@10", "p R@2", "R@5", "R@10")


def _cells(values: dict[str, list[float]], base: dict[str, list[float]]) -> list[str]:
    means = [percent(_mean(values[name])) for name in (*SHOWN, "all_gold@5")]
    if values == base:
        return [*means, *[""] * (2 * len(SHOWN))]
    compared = [compare_paired(values[name], base[name]) for name in SHOWN]
    moved = [f"{points(c.difference)} ({c.wins}/{c.losses})" for c in compared]
    return [*means, *moved, *(show_p(c.p_value) for c in compared)]


if __name__ == "__main__":
    main()
