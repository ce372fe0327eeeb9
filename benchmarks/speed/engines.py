"""Measure the engines beside each other: worker processes, and Ray with as many processors.

    python benchmarks/speed/engines.py --files DIR --workers 2 --embedder none

Both index the same folder in turns, `--rounds` times, in one run of this program, and the last line
is the ratio of the medians: a cluster is only worth its machinery if one machine loses little.
Ray is started before the first round, and its start is a line of its own; so are its processes,
which start in the first round. Without `--files`, the folder is made up. The indexes are compared.
"""

from __future__ import annotations

import argparse
import logging
import os
import tempfile
import time
from pathlib import Path
from statistics import median

import knotwork
from indexing import make_corpus, warm_up, write_files
from knotwork._extensions.upkeep.copies import PartDigest, store_digest
from knotwork._stores.base import Store

PASSAGES_A_FILE = 10


def main() -> None:
    options = parse_options()
    with tempfile.TemporaryDirectory() as scratch:
        files = options.files or make_files(Path(scratch), options.passages)
        count, size = measure_files(files)
        print(f"{count:,} files, {size / 1e6:.1f} MB, {options.workers} workers")
        warm_up(options.embedder)
        print(f"Ray started in {start_ray(options.workers):.1f} s")
        took: dict[str, list[float]] = {"processes": [], "ray": []}
        digests = []
        for turn in range(1, options.rounds + 1):
            for compute, seconds in took.items():
                elapsed, digest, chunks = index(files, compute, options)
                seconds.append(elapsed)
                digests.append(digest)
                rate = chunks / elapsed
                print(f"round {turn} {compute:<10} {elapsed:7.2f} s {rate:8.1f} chunks/s")
        print(f"contents equal: {all(digest == digests[0] for digest in digests)}")
        ratio = median(took["ray"]) / median(took["processes"])
        print(f"median seconds, ray / processes: {ratio:.2f}")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=Path, help="folder of ordinary files")
    parser.add_argument("--passages", type=int, default=2_000, help="made up without --files")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--embedder", default="none", help="as embedding.model: none, local:…")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def make_files(scratch: Path, passages: int) -> Path:
    folder = scratch / "docs"
    write_files(list(make_corpus(passages)), passages, folder, PASSAGES_A_FILE)
    return folder


def measure_files(folder: Path) -> tuple[int, int]:
    sizes = [file.stat().st_size for file in folder.rglob("*") if file.is_file()]
    return len(sizes), sum(sizes)


def start_ray(workers: int) -> float:
    """Start Ray on this machine, which the engine then finds, and return the seconds."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    begun = time.perf_counter()
    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    return time.perf_counter() - begun


def index(
    files: Path, compute: str, options: argparse.Namespace
) -> tuple[float, dict[str, PartDigest], int]:
    """Index the files from nothing; return the seconds, hashes of the index and its chunks."""
    with tempfile.TemporaryDirectory() as folder:
        base = knotwork.open(
            Path(folder) / "index.knot",
            embedding_model=options.embedder,
            index_workers=options.workers,
            index_compute=compute,
        )
        with base as kb:
            begun = time.perf_counter()
            report = kb.index(files)
            return time.perf_counter() - begun, digest_of(kb.store), report.total_chunks


def digest_of(store: Store) -> dict[str, PartDigest]:
    """Return the hashes of all that an index holds, but for when its files were read."""
    return {name: part for name, part in store_digest(store).parts.items() if name != "ledger"}


if __name__ == "__main__":
    main()
