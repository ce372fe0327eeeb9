"""Measure indexing with local embedders: processor time per chunk, and what it is spent on.

    python benchmarks/speed/embedding.py --data data/bench/qa/musique_train100 --passages 300
    python benchmarks/speed/embedding.py --data DIR --passages 300 --threads 1 --threads 2

`--data` is a folder with a `corpus.jsonl` of {title, text}, or with *.md and *.txt files. The
passages are indexed in slices, by one embedder after the other, so that what else the machine does
falls on both. All figures are seconds of the processor: they change little where others use the
machine, and those of the clock mean nothing there. Times are exclusive: the forward pass of a name
counts as a forward pass, not as storing. "other" is everything else: reading, splitting, the run.

With `--threads` the passages are embedded alone, by the first embedder, with each number of threads
in turn: rates per second of the clock and of the processor, and the peak memory of a process of its
own. The rate per second of the clock shows what threads gain only while the cores are free: "free"
is the processor time that the process got per second of the clock.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import knotwork
from knotwork._config import EmbeddingSettings
from knotwork._extensions.local_models import encoder
from knotwork._extensions.local_models import local_embedders as embedders
from knotwork._extensions.local_models.encoder import TransformerEncoder, open_session
from knotwork._extensions.local_models.local_embedders import LocalEmbedder, open_local
from knotwork._indexing import commit
from knotwork._indexing.splitters import make_splitter
from knotwork._inference.embedder import PassageText
from knotwork._transform.rules.rule_extractor import RuleExtractor
from knotwork.records import Document, Span

PARTS = ("forward pass", "tokenizing", "word vectors", "pooling", "rules", "storing", "other")
Text = tuple[str, str]


class Stopwatch:
    """Adds up processor time by part; the innermost part that runs gets it."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._stack = ["other"]
        self._last_s = time.process_time()

    def wrap(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time counted for ``part``."""

        def timed(*args: Any, **options: Any) -> Any:  # noqa: ANN401  passed on
            self._lap()
            self._stack.append(part)
            try:
                return function(*args, **options)
            finally:
                self._lap()
                self._stack.pop()

        return timed

    def _lap(self) -> None:
        now_s = time.process_time()
        self.seconds[self._stack[-1]] += now_s - self._last_s
        self._last_s = now_s


def main() -> None:
    options = parse_options()
    texts = list(read_texts(options.data))[: options.passages]
    if options.threads:
        name = options.embedder[0]
        turns = [
            embed_apart(name, texts, n) for _ in range(options.slices) for n in options.threads
        ]
        print(json.dumps(turns, indent=2)) if options.json else print_threads(turns)
        return
    opened = {name: open_embedder(name) for name in options.embedder}
    found: dict[str, dict[str, float]] = {name: defaultdict(float) for name in opened}
    for embedder in opened.values():
        index_slice(embedder, texts[:3])  # loads dictionaries
    for start in range(options.slices):
        for name, embedder in opened.items():
            for part, value in index_slice(embedder, texts[start :: options.slices]).items():
                found[name][part] += value
    print(json.dumps(found, indent=2)) if options.json else print_shares(found)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with corpus.jsonl or text")
    parser.add_argument("--passages", type=int, default=300)
    parser.add_argument("--slices", type=int, default=3, help="turns of each embedder")
    parser.add_argument("--embedder", action="append", metavar="NAME", help="local:…, repeatable")
    parser.add_argument("--threads", type=int, action="append", metavar="N", help="repeatable")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.embedder = options.embedder or ["local:multilingual-e5-small", "local:all-MiniLM-L6-v2"]
    return options


def read_texts(folder: Path) -> Iterator[Text]:
    """Yield (title, text) of every passage or file."""
    corpus = folder / "corpus.jsonl"
    if corpus.is_file():
        with corpus.open(encoding="utf-8") as lines:
            for line in lines:
                passage = json.loads(line)
                yield passage.get("title", ""), passage["text"]
        return
    for file in sorted(folder.rglob("*")):
        if file.suffix in {".md", ".txt"}:
            yield file.stem, file.read_text("utf-8")


def index_slice(embedder: LocalEmbedder, texts: Sequence[Text]) -> Mapping[str, float]:
    """Index texts in one thread; return the processor seconds of each part, and the chunks."""
    documents = [
        knotwork.Document(f"{number}.txt", text, title=title)
        for number, (title, text) in enumerate(texts)
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        knotwork.open(Path(folder) / "index.knot", embedder=embedder, index_workers=0) as kb,
    ):
        watch = Stopwatch()
        with timed_parts(watch):
            report = watch.wrap("other", kb.index_documents)(documents)
    watch.seconds["chunks"] = report.chunks
    watch.seconds["names"] = report.embedded - report.chunks
    return watch.seconds


class TimedSession:
    """A session of onnxruntime with a method that can be patched."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401  untyped library
        self._session = session

    def run(self, outputs: object, inputs: object) -> object:
        """Run a forward pass."""
        return self._session.run(outputs, inputs)


def open_embedder(name: str, *, threads: int = 1) -> LocalEmbedder:
    """Return an embedder whose model is loaded."""

    def open_timed(*args: Any, **options: Any) -> TimedSession:  # noqa: ANN401  passed on
        return TimedSession(open_session(*args, **options))

    embedder = open_local(name.removeprefix("local:"), EmbeddingSettings(threads=threads))
    with patch.object(encoder, "open_session", open_timed):
        assert embedder.dimension
    return embedder


def timed_parts(watch: Stopwatch) -> ExitStack:
    """Count the time of the parts while the context is open."""
    stack = ExitStack()
    pool = embedders._Pool  # noqa: SLF001
    for owner, name, part in (
        (TransformerEncoder, "_forward", "word vectors"),
        (TimedSession, "run", "forward pass"),
        (TransformerEncoder, "tokenise", "tokenizing"),
        (pool, "add", "pooling"),
        (pool, "vectors", "pooling"),
        (RuleExtractor, "extract", "rules"),
        (commit, "commit_documents", "storing"),
    ):
        stack.enter_context(patch.object(owner, name, watch.wrap(part, getattr(owner, name))))
    return stack


def embed_apart(name: str, texts: Sequence[Text], threads: int) -> dict[str, float]:
    """Embed texts in a process of its own, so that its peak of memory is its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(embed_texts, name, texts, threads).result()


def embed_texts(name: str, texts: Sequence[Text], threads: int) -> dict[str, float]:
    splitter = make_splitter()
    passages = []
    for number, (title, text) in enumerate(texts):
        _, chunks = splitter.split(Document(f"{number}.txt", text, title=title))
        passages += [
            PassageText(
                chunk.text,
                chunk.context,
                tuple(
                    Span(s.start - chunk.span.start, s.end - chunk.span.start)
                    for s in chunk.sentences
                ),
            )
            for chunk in chunks
            if not chunk.is_parent
        ]
    embedder = open_embedder(name, threads=threads)
    embedder.embed_passages(passages[:2])
    loaded_mib = peak_mib()
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    for _ in embedder.stream_passages(passages):
        pass
    wall_s, cpu_s = time.perf_counter() - start_s, time.process_time() - start_cpu_s
    return {
        "threads": threads,
        "chunks": len(passages),
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "loaded_mib": loaded_mib,
        "peak_mib": peak_mib(),
    }


def shift(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def print_shares(found: Mapping[str, Mapping[str, float]]) -> None:
    """Print milliseconds per chunk and shares, and the ratios of the embedders."""
    totals = {name: sum(seconds[part] for part in PARTS) for name, seconds in found.items()}
    each = {name: 1000 * totals[name] / found[name]["chunks"] for name in found}
    print(f"| CPU ms per chunk | {' | '.join(found)} |")
    print(f"|---|{'--:|' * len(found)}")
    for part in PARTS:
        cells = [
            f"{1000 * seconds[part] / seconds['chunks']:.2f} ({seconds[part] / totals[name]:.1%})"
            for name, seconds in found.items()
        ]
        print(f"| {part} | {' | '.join(cells)} |")
    print(f"| all of it | {' | '.join(f'{value:.1f}' for value in each.values())} |")
    counts = [f"{seconds['chunks']:.0f}, {seconds['names']:.0f}" for seconds in found.values()]
    print(f"| chunks, names embedded | {' | '.join(counts)} |")
    first = next(iter(each.values()))
    print(f"| ratio to the first | {' | '.join(f'{v / first:.2f}' for v in each.values())} |")


def print_threads(turns: Sequence[Mapping[str, float]]) -> None:
    print("| threads | chunks | chunks/s | chunks/CPU s | free | loaded MiB | peak MiB |")
    print(f"|{'--:|' * 7}")
    for turn in turns:
        cells = (
            f"{turn['threads']}",
            f"{turn['chunks']:,}",
            f"{turn['chunks'] / turn['wall_s']:.1f}",
            f"{turn['chunks'] / turn['cpu_s']:.1f}",
            f"{turn['cpu_s'] / turn['wall_s']:.2f}",
            f"{turn['loaded_mib']:.0f}",
            f"{turn['peak_mib']:.0f}",
        )
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
