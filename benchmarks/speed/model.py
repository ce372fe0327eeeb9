"""Measure indexing with a model that reads every chunk: the rate, and how busy its server is.

    python benchmarks/speed/model.py --passages 1100 --latency 0 --latency 0.2 --concurrency 32

The server is the local one of `knotwork.testing`, in a process of its own, asked through the client
that asks any other. Its brain says what the rules find in a chunk, worked out before the clock runs
(a first run over the same text), so that a call costs the server little beside its latency. Text is
made up, as in `indexing.py`, or that of the `*.md` of `--data`, repeated with marks. The index gets
no vectors.

"reading" is from the start of `KnowledgeBase.index` until all chunks are read and stored: finding
and reading files, splitting, rules, calls, keeping each reply, storing. "all" is the whole of it,
with names, descriptions, communities and reports. "busy" is the time in calls over `concurrency`
places while chunks are read: first over all of that time, start and end included, then from the
first call to the end of the last. "client" and "server" are milliseconds of the processor for each
chunk that is read, which tell more than the clock where others use the machine: to keep a server
busy, the client may use no more than latency / concurrency for each. `--again` also measures a
second index of the same text, for which every reply is known.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import knotwork
from indexing import make_corpus, write_files
from knotwork._extensions.testing.brains import RuleBrain
from knotwork._extensions.testing.model_server.traffic import Totals
from knotwork._inference.chat import Message
from knotwork._run import Stage
from knotwork.testing.model_server import ModelTestServer, Traffic

MODEL = "openai:knotwork-test"


def main() -> None:
    options = parse_options()
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = options.passages
        passages = read_pieces(options.data) if options.data else list(make_corpus(count))
        write_files(passages, count, folder / "docs", options.passages_per_file)
        with served() as server:
            run = Run(folder, server.url, options.concurrency, options.only_reading)
            run_apart(run)  # the brain works its replies out
            for latency_s, number in product(options.latency, range(options.repeats)):
                for again in (False, True) if options.again and not number else (False,):
                    server.set_latency(latency_s)
                    found = run_apart(replace(run, name=str(number), again=again))
                    rows.append(describe(found, latency_s, options.concurrency))
                shutil.rmtree(folder / str(number))
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        print_table(rows)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with *.md")
    parser.add_argument("--passages", type=int, default=1_100, help="about as many chunks")
    parser.add_argument("--latency", type=float, action="append", metavar="S")
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--passages-per-file", type=int, default=10)
    parser.add_argument("--again", action="store_true", help="index once more from kept replies")
    parser.add_argument("--only-reading", action="store_true", help="leave out what comes after")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.latency = options.latency or [0.0, 0.2]
    return options


def read_pieces(folder: Path) -> list[tuple[str, str]]:
    """Return (title, text) of passages of about 900 characters, by paragraphs."""
    pieces: list[tuple[str, str]] = []
    for file in sorted(folder.glob("*.md")):
        text = ""
        for paragraph in file.read_text("utf-8").split("\n\n"):
            text = f"{text}\n\n{paragraph}"
            if len(text) >= 900:
                pieces.append((file.stem, text.strip()))
                text = ""
    return pieces


class RememberingBrain:
    """Says what the rule brain said the first time, at the price of looking it up."""

    def __init__(self) -> None:
        self._brain = RuleBrain()
        self._said: dict[str, str] = {}

    def __call__(self, messages: Sequence[Message]) -> str:
        asked = messages[-1].content
        if asked not in self._said:
            self._said[asked] = self._brain(messages)
        return self._said[asked]


class ServerProcess:
    """A model server in a process of its own."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self.url: str = pipe.recv()

    def set_latency(self, latency_s: float) -> None:
        """Set how long calls take from now on, and start counting from zero."""
        self._pipe.send(latency_s)
        self._pipe.recv()


@contextmanager
def served() -> Iterator[ServerProcess]:
    """Run a server until the block ends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs,))
    process.start()
    try:
        yield ServerProcess(ours)
    finally:
        ours.send(None)
        process.join()


def serve(pipe: Connection) -> None:
    """Serve with the latencies that are sent, until None is."""
    with ModelTestServer(RememberingBrain(), traffic=CountedTraffic(kept_calls=0)) as server:
        pipe.send(server.url)
        while (latency_s := pipe.recv()) is not None:
            server.latency_s = latency_s
            server.traffic.reset()
            pipe.send(None)


@dataclass(slots=True)
class CountedTotals(Totals):
    """Totals with the seconds of the processor that the server took so far."""

    cpu_s: float = 0.0


class CountedTraffic(Traffic):
    """Traffic whose totals are `CountedTotals`."""

    @property
    def totals(self) -> Totals:
        return CountedTotals(**asdict(super().totals), cpu_s=time.process_time())


@dataclass(frozen=True, slots=True)
class Run:
    """What to measure: the documents of a folder, indexed in the file ``name`` beside them.

    ``again`` has the replies of an earlier run of this name, but not its index.
    """

    folder: Path
    url: str
    concurrency: int
    only_reading: bool
    name: str = "first"
    again: bool = False


def run_apart(run: Run) -> dict[str, Any]:
    """Measure one run in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, run).result()


def measure(run: Run) -> dict[str, Any]:
    home = run.folder / run.name
    home.mkdir(exist_ok=True)
    for file in home.glob("index.knot*") if run.again else ():
        if ".calls" not in file.name:
            file.unlink()
    warm_up()
    options = {
        "embedding_model": "none",
        "llm_model": MODEL,
        "llm_base_url": run.url,
        "llm_tier": "full",
        "llm_concurrency": run.concurrency,
    }
    server_cpu_s = read_traffic(run.url)["cpu_s"]
    found: dict[str, Any] = {}
    with knotwork.open(home / "index.knot", **options) as kb:
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        for step in kb.index.run(run.folder / "docs"):
            if step.stage in {Stage.ENRICHING, Stage.FINISHED} and not found:
                read_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
                found = {"read_s": read_s, "cpu_s": cpu_s, "traffic": read_traffic(run.url)}
                if run.only_reading:
                    break
        wall_s = time.perf_counter() - start_s
        chunks = kb.stats().chunks
        assert sum(kb.store.readings.counts().values()) == chunks
    found["traffic"]["cpu_s"] -= server_cpu_s
    return found | {"wall_s": wall_s, "chunks": chunks}


def read_traffic(url: str) -> dict[str, Any]:
    """Return what a server counted so far."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/traffic") as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def warm_up() -> None:
    """Load the dictionaries and the client, which a long run does once."""
    import openai

    assert openai.OpenAI
    with knotwork.open("memory:", embedding_model="none") as kb:
        text = "Ada Lovelace met 王小明 in London. 他在北京工作。"
        kb.index_documents([knotwork.Document("w", text)])


def describe(row: dict[str, Any], latency_s: float, concurrency: int) -> dict[str, Any]:
    traffic = row["traffic"]
    places_s = concurrency * traffic["span_s"]
    return row | {
        "latency_s": latency_s,
        "chunks_per_s": row["chunks"] / row["read_s"],
        "all_chunks_per_s": row["chunks"] / row["wall_s"],
        "busy_over_reading": traffic["busy_s"] / (concurrency * row["read_s"]),
        "busy_over_calls": traffic["busy_s"] / places_s if places_s else 0.0,
        "client_ms": 1000 * row["cpu_s"] / row["chunks"],
        "server_ms": 1000 * traffic["cpu_s"] / row["chunks"],
        "load": os.getloadavg()[0],
    }


def print_table(rows: list[dict[str, Any]]) -> None:
    heads = (
        "latency ms", "chunks", "calls", "chunks/s reading", "all", "busy reading",
        "busy calls", "at once", "client ms", "server ms", "load",
    )  # fmt: skip
    print(f"| {' | '.join(heads)} |")
    print(f"|{'--:|' * len(heads)}")
    for row in rows:
        cells = (
            f"{1000 * row['latency_s']:.0f}",
            f"{row['chunks']:,}",
            f"{row['traffic']['calls']:,}",
            f"{row['chunks_per_s']:,.0f}",
            f"{row['all_chunks_per_s']:,.0f}",
            f"{row['busy_over_reading']:.0%}",
            f"{row['busy_over_calls']:.0%}",
            f"{row['traffic']['peak']}",
            f"{row['client_ms']:.1f}",
            f"{row['server_ms']:.1f}",
            f"{row['load']:.1f}",
        )
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
