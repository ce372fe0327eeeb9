"""Measure indexing: the rate of every stage, how it grows, memory and disk.

    python benchmarks/speed/indexing.py --data DIR --chunks 1000 --chunks 10000 --embedder none

`--data` is a folder with a `corpus.jsonl` of {title, text}; without it, text is made up. The
passages are written to files in Markdown and plain text, `--passages-per-file` to a file, and
indexed as a user's folder would be. Each size runs in a process of its own, so that peaks of
memory are its own. The reference of each stage is the first size: a stage that scales keeps its
growth, in time per chunk, at 1. Stages that go on in other processes (`--workers`) add up to more
than the whole takes. "overhead" is what the whole takes without the embedder. Seconds of the
processor tell more than those of the clock where others use the machine.
Then one file is added to the full index, one is changed, one is deleted, and nothing is done, to
show what the incremental life costs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import accumulate
from pathlib import Path
from typing import Any

import knotwork
from knotwork._indexing.report import IndexReport
from knotwork._indexing.run import STAGES

WORDS_PER_PASSAGE = 120
VOCABULARY = 30_000


def main() -> None:
    options = parse_options()
    passages = list(read_corpus(options.data) if options.data else make_corpus(options.chunks[-1]))
    results = []
    for size in options.chunks:
        with tempfile.TemporaryDirectory() as folder:
            count = write_files(passages, size, Path(folder) / "docs", options.passages_per_file)
            results.append(run_apart(Path(folder), options.embedder, options.workers))
            results[-1]["passages"] = count
    if options.json:
        print(json.dumps(results, indent=2))
    else:
        print_table(results)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with a corpus.jsonl")
    parser.add_argument("--chunks", type=int, action="append", help="passages to index, repeatable")
    parser.add_argument("--embedder", default="none", help="as embedding.model: none, local:…")
    parser.add_argument("--workers", type=int, default=-1, help="as index.workers")
    parser.add_argument("--passages-per-file", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.chunks = sorted(options.chunks or [1_000, 10_000])
    return options


def read_corpus(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield (title, text) of every passage."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            passage = json.loads(line)
            yield passage.get("title", ""), passage["text"]


def make_corpus(count: int) -> Iterator[tuple[str, str]]:
    """Yield made-up passages whose words and names follow a long-tailed distribution."""
    random_ = random.Random(1)
    weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
    words = ["".join(random_.choices("aeioulnrstm", k=random_.randint(2, 9))) for _ in weights]
    names = [
        " ".join(word.capitalize() for word in random_.sample(words, random_.randint(1, 3)))
        for _ in range(max(200, count // 2))
    ]
    name_weights = list(accumulate(1 / (rank + 5) for rank in range(len(names))))
    for i in range(count):
        sentences = []
        for _ in range(6):
            body = random_.choices(words, cum_weights=weights, k=WORDS_PER_PASSAGE // 6 - 4)
            subject, other = random_.choices(names, cum_weights=name_weights, k=2)
            sentences.append(f"{subject} {' '.join(body)} {other}.")
        yield names[i % len(names)], " ".join(sentences)


def write_files(passages: list[tuple[str, str]], size: int, folder: Path, per_file: int) -> int:
    """Write ``size`` passages (repeated with marks if there are fewer) and return how many."""
    folder.mkdir()
    written = 0
    while written < size:
        batch = [passages[i % len(passages)] for i in range(written, min(size, written + per_file))]
        lap = written // len(passages)
        mark = f" Edition {lap}." if lap else ""
        if (written // per_file) % 2:
            text = "\n\n".join(f"{title}. {body}{mark}" for title, body in batch)
            (folder / f"{written:07}.txt").write_text(text, "utf-8")
        else:
            text = "\n\n".join(f"# {title}\n\n{body}{mark}" for title, body in batch)
            (folder / f"{written:07}.md").write_text(text, "utf-8")
        written += len(batch)
    return written


def run_apart(folder: Path, embedder: str, workers: int) -> dict[str, Any]:
    """Measure one size in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, folder, embedder, workers).result()


def measure(folder: Path, embedder: str, workers: int) -> dict[str, Any]:
    docs, index = folder / "docs", folder / "index.knot"
    with knotwork.open(index, embedding_model=embedder, index_workers=workers) as kb:
        warm_up(embedder)
        cpu_s = spent_cpu_s()
        report = kb.index(docs)
        cpu_s = spent_cpu_s() - cpu_s
        result = describe(report) | {"cpu_s": cpu_s, "chunks_per_cpu_s": report.chunks / cpu_s}
        result["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        result["nothing_ms"] = 1000 * kb.index(docs).seconds["total"]
        (docs / "new.txt").write_text("A newcomer. Ada Lovelace wrote it in London.", "utf-8")
        result["add_one_ms"] = 1000 * timed(lambda: kb.index(docs / "new.txt"))
        (docs / "new.txt").write_text("A change. Ada Lovelace wrote it in Paris.", "utf-8")
        result["change_one_ms"] = 1000 * timed(lambda: kb.index(docs / "new.txt"))
        result["delete_one_ms"] = 1000 * timed(lambda: kb.delete("docs/new.txt"))
    result["disk_mib"] = sum(file.stat().st_size for file in folder.glob("index.knot*")) / 2**20
    return result


def warm_up(embedder: str) -> None:
    """Load models and dictionaries, which a long run does once."""
    with knotwork.open("memory:", embedding_model=embedder) as kb:
        kb.index_documents(
            [knotwork.Document("w", "Ada Lovelace met 王小明 in London. 他在北京工作。")]
        )


def spent_cpu_s() -> float:
    """Return the seconds of the processor, those of ended processes below this one among them."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def describe(report: IndexReport) -> dict[str, Any]:
    seconds = dict(report.seconds)
    overhead_s = seconds["total"] - seconds["embed"]
    return {
        "chunks": report.chunks,
        "documents": report.documents,
        "sentences": report.sentences,
        "mentions": report.mentions,
        "relations": report.relations,
        "entities": report.total_entities,
        "embedded": report.embedded,
        "seconds": seconds,
        "overhead_chunks_per_s": report.chunks / overhead_s,
        "chunks_per_s": report.chunks / seconds["total"],
    }


def print_table(results: list[dict[str, Any]]) -> None:
    first = results[0]
    for result in results:
        print(
            f"\n{result['chunks']:,} chunks of {result['documents']:,} files: "
            f"{result['sentences']:,} sentences, {result['entities']:,} entities, "
            f"{result['mentions']:,} mentions, {result['relations']:,} relations, "
            f"{result['embedded']:,} texts embedded"
        )
        print(f"  {'stage':<10}{'seconds':>9}{'chunks/s':>10}{'ms/chunk':>10}{'growth':>8}")
        for stage in (*STAGES, "total"):
            seconds = result["seconds"][stage]
            if seconds:
                each = seconds / result["chunks"]
                growth = each / (first["seconds"][stage] / first["chunks"])
                row = f"{seconds:>9.2f}{1 / each:>10,.0f}{1000 * each:>10.3f}{growth:>8.2f}"
                print(f"  {stage:<10}{row}")
        print(f"  overhead without the model: {result['overhead_chunks_per_s']:,.0f} chunks/s")
        rate = result["chunks_per_cpu_s"]
        print(f"  processor: {result['cpu_s']:.2f} s, {rate:,.0f} chunks/s with all stages")
        one = ", ".join(
            f"{name} {result[key]:.0f} ms"
            for name, key in (
                ("nothing to do", "nothing_ms"),
                ("add one", "add_one_ms"),
                ("change one", "change_one_ms"),
                ("delete one", "delete_one_ms"),
            )
        )
        print(f"  then: {one}")
        kib = 1024 * result["disk_mib"] / result["chunks"]
        disk = f"{result['disk_mib']:.1f} MiB on disk ({kib:.1f} KiB a chunk)"
        print(f"  peak {result['peak_mib']:.0f} MiB, {disk}")


if __name__ == "__main__":
    main()
