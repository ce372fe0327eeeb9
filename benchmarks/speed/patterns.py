"""Measure the latency of every registered retriever, and of compositions, on a large index.

    python benchmarks/speed/patterns.py --data DIR --cache FOLDER

The index is that of search.py, made out of real passages (see remixed.py), with communities and
their extractive reports; it is made once and kept in the cache folder. At 100,000 chunks it has
127,000 entities and 540,000 relations. Retrievers that need a language model are left out.
Embedding the question is left out: its vector is at hand. "own" is the processor time of the thread
that searches, which tells more than the clock where others use the machine. A retriever whose
median is above the ceiling (150 ms) is marked.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from remixed import DIMENSION, ask, build, unit
from search import KnownVectors, run_apart, timed_calls

from knotwork._indexing.communities.detection import refresh_communities
from knotwork._indexing.communities.index_reports import refresh_reports
from knotwork._retrieval.community_search import REPORT_INDEX
from knotwork._retrieval.retriever_registry import RETRIEVERS, build_retriever
from knotwork._stores.embedded import EmbeddedStore
from knotwork.records import Query

K = 10
CEILING_MS = 150.0
COMPOSED = (
    "rewrite > graph",
    "expand > hybrid",
    "expand > graph",
    "hyde > hybrid",
    "hyde > graph",
    "decompose > hybrid",
    "decompose > graph",
    "graph > rerank",
    "graph > diversify",
    "graph > prune",
    "bm25 + dense",
    "graph + hybrid",
    "graph + pagerank",
    "graph + paths",
)
BATCH = 2_000


def make_index(path: Path, folders: Sequence[Path], size: int) -> None:
    """Make the index of search.py, where it is missing, and what patterns need beside it."""
    if not path.exists():
        store = EmbeddedStore.open(path, create=True)
        build(store, folders, size)
        store.close()
    store = EmbeddedStore.open(path, create=True)
    if not store.communities.levels():
        refresh_communities(store)
    ids = [identifier for level in store.communities.levels() for identifier in level]
    if len(store.communities.reports(ids)) < len(ids):
        refresh_reports(store)
    if store.vectors(REPORT_INDEX).count() < len(ids):
        put_report_vectors(store, ids)
    store.close()


def put_report_vectors(store: EmbeddedStore, ids: Sequence[str]) -> None:
    """Give reports random vectors: how long a search takes does not depend on what they say."""
    generator = np.random.default_rng(6)
    for first in range(0, len(ids), BATCH):
        block = ids[first : first + BATCH]
        rows = unit(generator.normal(size=(len(block), DIMENSION)))
        with store.transaction():
            store.vectors(REPORT_INDEX).put(
                (identifier, identifier, row[np.newaxis])
                for identifier, row in zip(block, rows, strict=True)
            )


def measure(
    path: Path, folders: Sequence[Path], size: int, questions: int, names: Sequence[str]
) -> dict[str, Any]:
    """Measure retrievers on one index; in a process of its own."""
    asked = ask(folders, questions, size)
    store = EmbeddedStore.open(path, read_only=True)
    queries = [Query(item.text, k=K) for item in asked]
    result: dict[str, Any] = {
        "chunks": store.documents.chunk_count(),
        "entities": store.graph.entity_count(),
        "relations": sum(store.graph.schema().relations.values()),
        "communities": sum(map(len, store.communities.levels())),
        "questions": len(asked),
        "retrievers": {},
    }
    for name in names:
        retriever = build_retriever(name, store=store, embedder=KnownVectors(asked))
        calls = [lambda r=retriever, q=q: r.retrieve(q) for q in queries]
        result["retrievers"][name] = timed_calls(calls)
        show(name, result["retrievers"][name])
    store.close()
    return result


def show(name: str, row: dict[str, float]) -> None:
    mark = "   above the ceiling" if row["own_p50_ms"] > CEILING_MS else ""
    times = f"{row['p50_ms']:9.1f}{row['p95_ms']:9.1f}{row['own_p50_ms']:9.1f}"
    print(f"  {name:22}{times}{mark}", flush=True)


def main() -> None:
    known = RETRIEVERS.names(plugins=False)
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--size", type=int, default=100_000, help="chunks")
    parser.add_argument("--cache", type=Path, help="where to keep the index")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument(
        "--retrievers", default=";".join((*known, *COMPOSED)), help="parted by semicolons"
    )
    parser.add_argument("--output", type=Path, help="a file for the figures, in JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.cache or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"search-{options.size}.knot"
        run_apart(make_index, path, options.data, options.size)
        print(f"  {'retriever':22}{'p50 ms':>9}{'p95 ms':>9}{'own ms':>9}", flush=True)
        names = options.retrievers.split(";")
        result = run_apart(measure, path, options.data, options.size, options.questions, names)
    print(
        f"{result['chunks']:,} chunks, {result['entities']:,} entities, "
        f"{result['relations']:,} relations, {result['communities']:,} communities, "
        f"{result['questions']} questions"
    )
    if options.output:
        options.output.write_text(json.dumps(result, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
