"""Measure searches at size: every retriever, walks, the stages of `auto`, memory and disk.

    python benchmarks/speed/search.py --data DIR --sizes 10000,100000 --cache FOLDER

`--data`, repeatable, is a folder with `corpus.jsonl` ({pid, title, text}) and `questions.jsonl`
({question, gold_pids}); without it, text is made up. An index of each size is made out of these
passages once (see remixed.py) and kept in the cache folder. Embedding the question is left out:
its vector is at hand. "own" is the processor time of the thread that searches, which is steadier
than the clock where others use the machine. Each size runs in a process of its own, so that peaks
of memory are its own. The reference is brute force over everything in memory: one matrix product,
and BM25 over postings in arrays; "x" is how many times as long a search takes as both of these
together, by own time.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import multiprocessing
import resource
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from remixed import DIMENSION, Asked, ask, build

from knotwork._retrieval import base, graph_retriever
from knotwork._retrieval.evidence_builder import ChunkFeatures
from knotwork._retrieval.retriever_registry import build_retriever
from knotwork._stores.base import FloatMatrix, Store
from knotwork._stores.embedded import EmbeddedStore
from knotwork._text.terms import query_terms, terms
from knotwork.records import Query

RETRIEVERS = ("bm25", "dense", "hybrid", "auto", "pagerank")
WARM_CALLS = 3
K = 10
STAGES = (
    (base, "read_question", "question"),
    (graph_retriever, "first_stage", "first stage"),
    (ChunkFeatures, "fetch", "features"),
    (graph_retriever, "build_bridges", "bridges"),
    (graph_retriever, "make_evidence", "hits"),
)
"""What `auto` calls, where its calls find it, and what to call that here."""


class KnownVectors:
    """An embedder that knows the questions asked, and takes any other text for the last of them."""

    name = "known"
    dimension = DIMENSION

    def __init__(self, asked: Sequence[Asked]) -> None:
        self._vectors = {item.text: item.vector for item in asked}
        self._last = asked[0].vector

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        rows = []
        for text in texts:
            self._last = self._vectors.get(text, self._last)
            rows.append(self._last)
        return np.stack(rows)


class Stopwatch:
    """Sums the time spent in functions, without that in others it watches inside them."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inner = [0.0]

    def watch(self, owner: object, function: str, stage: str) -> Callable[[], None]:
        """Replace a function by one that is timed; return how to undo that."""
        plain = getattr(owner, function)

        def timed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self._inner.append(0.0)
            start = time.perf_counter()
            try:
                return plain(*args, **kwargs)
            finally:
                took = time.perf_counter() - start
                self.seconds[stage] += took - self._inner.pop()
                self._inner[-1] += took

        setattr(owner, function, timed)
        return lambda: setattr(owner, function, plain)


@contextmanager
def watched_stages() -> Iterator[Stopwatch]:
    watch = Stopwatch()
    undo = [watch.watch(owner, name, stage) for owner, name, stage in STAGES]
    try:
        yield watch
    finally:
        for restore in undo:
            restore()


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return the median and the 95th percentile, in milliseconds."""
    p50, p95 = np.percentile(times, [50, 95])
    return {"p50_ms": 1_000 * float(p50), "p95_ms": 1_000 * float(p95)}


def timed_calls(calls: Sequence[Callable[[], object]]) -> dict[str, float]:
    """Time each call once, after a few warm ones, by the clock and by this thread's processor."""
    for call in calls[:WARM_CALLS]:
        call()
    times, own = [], []
    gc.collect()
    for call in calls:
        start, own_start = time.perf_counter(), time.thread_time()
        call()
        times.append(time.perf_counter() - start)
        own.append(time.thread_time() - own_start)
    return percentiles(times) | {"own_p50_ms": percentiles(own)["p50_ms"]}


def measure(path: Path, folders: Sequence[Path], size: int, questions: int) -> dict[str, Any]:
    """Measure one index; in a process of its own."""
    asked = ask(folders, questions, size)
    embedder = KnownVectors(asked)
    before = peak_mib()
    store = EmbeddedStore.open(path, read_only=True)
    start = time.perf_counter()
    auto = build_retriever("auto", store=store, embedder=embedder)
    auto.retrieve(Query(asked[0].text, k=K))
    result: dict[str, Any] = {"first_search_s": time.perf_counter() - start, "start_mib": before}
    for name in RETRIEVERS:
        retriever = build_retriever(name, store=store, embedder=embedder)
        queries = [Query(item.text, k=K) for item in asked]
        result[name] = timed_calls([lambda r=retriever, q=q: r.retrieve(q) for q in queries])
    with watched_stages() as watch:
        for item in asked:
            auto.retrieve(Query(item.text, k=K))
    result["stages_ms"] = {
        stage: 1_000 * watch.seconds[stage] / len(asked) for _, _, stage in STAGES
    }
    seeds = [seeds_of(store, auto.retrieve(Query(item.text, k=3))) for item in asked]
    result["explore"] = timed_calls(
        [lambda s=s: store.graph.explore(s, depth=2, fan=32, limit=1_000) for s in seeds]
    )
    result["peak_mib"] = peak_mib()
    result["disk_mib"] = path.stat().st_size / 2**20
    schema = store.graph.schema()
    result["chunks"] = store.documents.chunk_count()
    result["entities"] = store.graph.entity_count()
    result["relations"] = sum(schema.relations.values())
    result["questions"] = len(asked)
    store.close()
    return result


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seeds_of(store: Store, evidence: Any) -> list[str]:  # noqa: ANN401
    """Return up to three entities that each of the best chunks is about."""
    found = store.graph.mentions([hit.chunk.id for hit in evidence.hits])
    best = sorted((m for row in found.values() for m in row), key=lambda m: -m.about)
    return list(dict.fromkeys(mention.entity_id for mention in best))[:3]


class BruteForce:
    """Every chunk scored for every question, all in memory."""

    def __init__(self, store: Store) -> None:
        found = store.documents.chunk_ids_of(store.documents.document_ids())
        ids = [i for chunks in found.values() for i in chunks]
        postings: defaultdict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        lengths, rows = [], []
        for start in range(0, len(ids), 1_000):
            block = ids[start : start + 1_000]
            chunks, vectors = store.documents.chunks(block), store.vectors("chunk").get(block)
            for identifier in block:
                chunk = chunks[identifier]
                counts = Counter(terms(f"{chunk.context}\n{chunk.text}"))
                for term, times in counts.items():
                    postings[term][0].append(len(lengths))
                    postings[term][1].append(times)
                lengths.append(counts.total())
                rows.append(vectors[identifier][0])
        self._matrix = np.stack(rows)
        self._share = 1.2 * (0.25 + 0.75 * np.array(lengths) / np.mean(lengths))
        self._postings = {
            term: (np.array(places, dtype=np.int32), np.array(times, dtype=np.float32))
            for term, (places, times) in postings.items()
        }

    def search(self, item: Asked) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        cosines = self._matrix @ item.vector
        scores = np.zeros(len(self._share))
        for term in query_terms(item.text):
            if term not in self._postings:
                continue
            places, times = self._postings[term]
            odds = (len(scores) - len(places) + 0.5) / (len(places) + 0.5)
            idf = max(math.log(odds), 1e-6)
            scores[places] += idf * times * 2.2 / (times + self._share[places])
        return _best(cosines, 100), _best(scores, 200)


def _best(scores: NDArray[np.floating], k: int) -> NDArray[np.intp]:
    chosen = np.argpartition(scores, -k)[-k:]
    return np.asarray(chosen[np.argsort(-scores[chosen])])


def measure_reference(
    path: Path, folders: Sequence[Path], size: int, questions: int
) -> dict[str, Any]:
    asked = ask(folders, questions, size)
    store = EmbeddedStore.open(path, read_only=True)
    reference = BruteForce(store)
    times = timed_calls([lambda i=item: reference.search(i) for item in asked])
    return times | {"peak_mib": peak_mib()}


def make_index(path: Path, folders: Sequence[Path], size: int) -> dict[str, float]:
    store = EmbeddedStore.open(path, create=True)
    built = build(store, folders, size)
    store.close()
    return asdict(built) | {"peak_mib": peak_mib()}


def run_apart(function: Callable[..., Any], *arguments: object) -> Any:  # noqa: ANN401
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def show(results: Sequence[dict[str, Any]]) -> None:
    for result in results:
        reference = result["reference"]["own_p50_ms"]
        print(
            f"\n{result['chunks']:,} chunks, {result['entities']:,} entities, "
            f"{result['relations']:,} relations, {result['questions']} questions"
        )
        print(f"  {'operation':12}{'p50 ms':>9}{'p95 ms':>9}{'own ms':>9}{'x':>8}{'growth':>8}")
        for name in (*RETRIEVERS, "explore", "reference"):
            row, first = result[name], results[0][name]
            own = row["own_p50_ms"]
            ratio = "" if name in {"explore", "reference"} else f"{own / reference:.2f}"
            growth = own / first["own_p50_ms"]
            times = f"{row['p50_ms']:9.1f}{row['p95_ms']:9.1f}{own:9.1f}"
            print(f"  {name:12}{times}{ratio:>8}{growth:8.2f}")
        stages = ", ".join(f"{name} {ms:.1f}" for name, ms in result["stages_ms"].items())
        print(f"  stages of auto, mean ms: {stages}")
        print(
            f"  first search {result['first_search_s']:.2f} s; peak {result['peak_mib']:,.0f} MiB "
            f"({result['start_mib']:,.0f} before); disk {result['disk_mib']:,.0f} MiB"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--sizes", default="10000,100000", help="chunks, with commas between")
    parser.add_argument("--cache", type=Path, help="where to keep the indexes")
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.cache or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in map(int, options.sizes.split(",")):
            path = folder / f"search-{size}.knot"
            if not path.exists():
                built = run_apart(make_index, path, options.data, size)
                print(f"made {path}: {built}")
            given = (path, options.data, size, options.questions)
            results.append(run_apart(measure, *given))
            results[-1]["reference"] = run_apart(measure_reference, *given)
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        show(results)


if __name__ == "__main__":
    main()
