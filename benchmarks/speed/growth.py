"""Measure how an index file grows: time to write, file, memory, searches, communities.

    python benchmarks/speed/growth.py --data DIR --sizes 62500,125000,250000 --cache FOLDER

The options are those of search.py; `--plot FILE` draws what was measured. One index grows through
all sizes and is copied at each of them, so the cache folder needs room for twice the largest. A
size whose copy is in the cache is measured again, but not written again. "ready" is the time
until the first hits of a process with an open file, "searching" the peak of memory of a
process that asked all questions with five retrievers, "communities" that of one that found them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from remixed import grow
from search import measure, peak_mib, run_apart

from knotwork._indexing.communities.detection import (
    CommunityOptions,
    detect_communities,
    read_network,
)
from knotwork._stores.embedded import EmbeddedStore

COLUMNS = (
    "passages",
    "written, s",
    "file, GB",
    "open, ms",
    "ready, s",
    "bm25, ms",
    "dense, ms",
    "auto p50, ms",
    "auto p95, ms",
    "searching, MiB",
    "communities, s",
    "communities, MiB",
)


def write_copies(folder: Path, data: Sequence[Path], sizes: Sequence[int]) -> None:
    """Write an index of each size, and what it took beside it."""
    growing = folder / "growing.knot"
    for part in folder.glob("growing.knot*"):
        part.unlink()
    opened = partial(EmbeddedStore.open, growing, create=True)
    for size, finish in grow(lambda: closing(opened()), data, sizes):
        target = folder / f"search-{size}.knot"
        shutil.copyfile(growing, target)
        with closing(EmbeddedStore.open(target)) as copy:
            built = asdict(finish(copy))
        target.with_suffix(".json").write_text(json.dumps(built), encoding="utf-8")
        print(f"wrote {target}: {built}", flush=True)
    growing.unlink()


def measure_opening(path: Path) -> float:
    start = time.perf_counter()
    store = EmbeddedStore.open(path, read_only=True)
    store.documents.document_count()
    spent = time.perf_counter() - start
    store.close()
    return spent


def measure_communities(path: Path) -> dict[str, float]:
    store = EmbeddedStore.open(path, read_only=True)
    cpu = time.process_time()
    options = CommunityOptions().division(store.graph.entity_count())
    found = detect_communities(read_network(store), options)
    store.close()
    return {"cpu_s": time.process_time() - cpu, "peak_mib": peak_mib(), "count": len(found)}


def row_of(result: dict[str, Any]) -> list[str]:
    searches = result["searches"]
    return [
        f"{searches['chunks']:,}",
        f"{result['built']['write_cpu_s']:,.0f}",
        f"{searches['disk_mib'] / 1024:.1f}",
        f"{1_000 * result['open_s']:.0f}",
        f"{searches['first_search_s']:.2f}",
        *(f"{searches[name]['p50_ms']:.0f}" for name in ("bm25", "dense", "auto")),
        f"{searches['auto']['p95_ms']:.0f}",
        f"{searches['peak_mib']:,.0f}",
        f"{result['communities']['cpu_s']:.0f}",
        f"{result['communities']['peak_mib']:,.0f}",
    ]


def draw(results: Sequence[dict[str, Any]], target: Path) -> None:
    """Draw time, file, memory and latency by the number of passages."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    sizes = [result["searches"]["chunks"] / 1_000 for result in results]
    panels: list[tuple[str, dict[str, list[float]]]] = [
        ("time to write, minutes", {"": [r["built"]["write_cpu_s"] / 60 for r in results]}),
        ("file, GB", {"": [r["searches"]["disk_mib"] / 1024 for r in results]}),
        (
            "peak memory, GiB",
            {
                "searching": [r["searches"]["peak_mib"] / 1024 for r in results],
                "communities": [r["communities"]["peak_mib"] / 1024 for r in results],
            },
        ),
        (
            "latency, ms",
            {
                f"{name} {percentile}": [r["searches"][name][f"{percentile}_ms"] for r in results]
                for name, percentile in (
                    ("auto", "p95"),
                    ("auto", "p50"),
                    ("bm25", "p50"),
                    ("dense", "p50"),
                )
            },
        ),
    ]
    with mpl.rc_context({"svg.hashsalt": "knotwork", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 6), layout="constrained")
        for axes, (title, lines) in zip(figure.subplots(2, 2).flat, panels, strict=True):
            for label, values in lines.items():
                axes.plot(sizes, values, marker="o", label=label)
            axes.set_title(title)
            axes.set_xlabel("thousand passages")
            top = max(max(values) for values in lines.values())
            axes.set_ylim(0, 1.1 * top if len(lines) == 1 else 1.4 * top)  # room for the legend
            if len(lines) > 1:
                axes.legend(loc="upper left", ncols=2)
        figure.savefig(target, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, action="append", default=[], help="repeatable")
    parser.add_argument("--sizes", default="62500,125000,250000,500000,1000000")
    parser.add_argument("--cache", type=Path, required=True, help="where to keep the indexes")
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--plot", type=Path, help="an SVG file to write")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    sizes = sorted(map(int, options.sizes.split(",")))
    paths = [options.cache / f"search-{size}.knot" for size in sizes]
    if not all(path.exists() and path.with_suffix(".json").exists() for path in paths):
        run_apart(write_copies, options.cache, options.data, sizes)
    results = []
    if not options.json:
        print("| " + " | ".join(COLUMNS) + " |")
        print("|" + "--:|" * len(COLUMNS))
    for size, path in zip(sizes, paths, strict=True):
        result = {
            "built": json.loads(path.with_suffix(".json").read_text(encoding="utf-8")),
            "open_s": run_apart(measure_opening, path),
            "searches": run_apart(measure, path, options.data, size, options.questions),
            "communities": run_apart(measure_communities, path),
        }
        results.append(result)
        if not options.json:
            print("| " + " | ".join(row_of(result)) + " |", flush=True)
    if options.json:
        print(json.dumps(results, indent=2))
    if options.plot:
        draw(results, options.plot)


if __name__ == "__main__":
    main()
