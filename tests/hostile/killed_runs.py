"""Kill `knotwork index` again and again, and compare the index with that of an uninterrupted run.

    python -m tests.hostile.killed_runs --kills 200 --seed 1
    python -m tests.hostile.killed_runs --kills 200 --seed 1 --model hashing:64 --slow-ms 20

Each run is killed with its whole process group (SIGKILL) at a random time, and the next one
continues, until one ends by itself; then an empty index starts again. `--slow-ms` makes an embedder
in this process take that long for each passage. The work that a kill costs is bounded from outside:
the time since the last document was committed, and the reading of the files that workers had
prepared before it. With a slow embedder that counts vectors which were kept before their document
was: so it also prints the seconds of embedding that were really repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.indexing.snapshots import snapshot

from knotwork._inference.embedder import HashingEmbedder, PassageText
from knotwork._stores.urls import open_store
from knotwork.errors import KnotworkError

ROOT = Path(__file__).parents[2]
COMMITS = {"added", "changed", "removed"}
EARLY_SHARE = 0.1
"""Share of the runs that are killed before they have found the files."""
WORDS = ("river", "bank", "stone", "mill", "road", "winter", "harbour", "letter", "clock", "garden")
NAMES = ("Ada Byron", "Grace Moor", "Travel Office", "Elm Harbour", "Linus Vale", "Northern Line")


def write_files(folder: Path, *, files: int, seed: int) -> None:
    """Write text files of 1 to 9 kB, and one of 90 kB, about a few names."""
    random_ = random.Random(seed)

    def sentence() -> str:
        one, other = random_.sample(NAMES, 2)
        return f"{one} {' '.join(random_.choices(WORDS, k=9))} with {other} in {number}."

    folder.mkdir(parents=True)
    for number in range(files):
        sentences = 1_000 if number == files // 2 else random_.randint(12, 100)
        parts = [sentence() for _ in range(sentences)]
        text = "\n\n".join(" ".join(parts[at : at + 6]) for at in range(0, sentences, 6))
        (folder / f"{number:04}.md").write_text(f"# Note {number}\n\n{text}\n", "utf-8")


@dataclass
class Run:
    """What a run said before it ended or was killed, with the time of each commit."""

    code: int
    found_s: float = 0.0
    ended_s: float = 0.0
    commits_s: list[float] = field(default_factory=list)
    started: dict[str, float] = field(default_factory=dict)
    report: dict[str, object] = field(default_factory=dict)
    errors: str = ""


@dataclass(frozen=True)
class Job:
    """A folder to index, the embedder, and a log of the passages that it embedded."""

    folder: Path
    model: str
    slow_ms: float
    workers: int
    log: Path

    def command(self, store: Path) -> list[str]:
        own = [sys.executable, "-m", "tests.hostile.killed_runs", "command"]
        settings = [f"embedding.model={self.model}", f"index.workers={self.workers}"]
        return [
            *own, str(self.slow_ms), str(self.log), "index", str(self.folder),
            "--store", str(store), "--progress", "json",
            *[part for one in settings for part in ("--set", one)],
        ]  # fmt: skip

    def run(self, store: Path, *, kill_after_s: float | None = None, early: bool = False) -> Run:
        """Run `knotwork index`; kill it this long after it has found the files, or has started."""
        process = subprocess.Popen(
            self.command(store),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        run = Run(0)
        found = threading.Event()
        reader = threading.Thread(target=_read, args=(process.stderr, run, found))
        reader.start()
        if kill_after_s is not None:
            if not early:
                found.wait(60)
            try:
                process.wait(kill_after_s)
            except subprocess.TimeoutExpired:
                run.ended_s = time.monotonic()
                os.killpg(process.pid, signal.SIGKILL)
        process.stdout.read()
        run.code = process.wait()
        reader.join()
        process.stdout.close()
        process.stderr.close()
        return run


def _read(lines, run: Run, found: threading.Event) -> None:
    for line in lines:
        now_s = time.monotonic()
        try:
            event = json.loads(line)
        except ValueError:
            run.errors += line
            continue
        kind = event.get("event")
        if kind == "discovered":
            run.found_s = now_s
            found.set()
        elif kind == "started":
            run.started[event["uri"]] = now_s
        elif kind in COMMITS:
            run.commits_s.append(now_s)
    found.set()


@dataclass
class Outcome:
    """The result of all runs; ``lost_s`` has the seconds of work that each kill cost at most.

    ``repeated`` counts the passages of each run that a later one embedded again.
    """

    kills: int = 0
    rounds: int = 0
    lost_s: list[float] = field(default_factory=list)
    passages: Counter[str] = field(default_factory=Counter)
    repeated: list[int] = field(default_factory=list)

    def count_passages(self, runs: list[list[str]]) -> None:
        """Add the passages that the runs of an index embedded; those of the last run are final."""
        later: set[str] = set()
        for embedded in reversed(runs):
            self.repeated.append(len(later.intersection(embedded)))
            later.update(embedded)
        self.passages.update({"embedded": sum(map(len, runs)), "needed": len(later)})


def contents(store: Path) -> dict[str, object]:
    """Return all that an index holds. Fails if it is damaged."""
    opened = open_store(str(store), read_only=True)
    try:
        assert opened.check() == []
        return snapshot(opened, times=True)
    finally:
        opened.close()


def differences(found: dict[str, object], expected: dict[str, object]) -> str:
    """Return the parts of an index that differ from those of another, with what only one holds."""
    parts = []
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            one, other = (_items(contents.get(name)) for contents in (found, expected))
            only = [
                [repr(item)[:300] for item in a if item not in b][:3]
                for a, b in ((one, other), (other, one))
            ]
            parts.append(f"{name}: {only[0]} instead of {only[1]}")
    return "; ".join(parts)


def _items(part: object) -> list[object]:
    if isinstance(part, dict):
        return list(part.items())
    return list(part) if isinstance(part, list | tuple | set) else [part]


def stored_uris(store: Path) -> set[str]:
    """Return the files that an index holds; none if it was killed while it was created."""
    try:
        opened = open_store(str(store), read_only=True)
    except KnotworkError:
        return set()
    try:
        return {entry.uri for entry in opened.ledger.entries()}
    finally:
        opened.close()


def kill_runs(job: Job, folder: Path, *, kills: int, seed: int, longest_s: float) -> Outcome:
    """Index through this many kills, and return what they cost. Fails if an index differs."""
    random_ = random.Random(seed)
    whole = folder / "whole.knot"
    started_s = time.monotonic()
    first = job.run(whole)
    assert first.code == 0, first.errors
    whole_s = time.monotonic() - started_s
    expected = contents(whole)
    sizes = {f"{job.folder.name}/{path.name}": path.stat().st_size for path in job.folder.iterdir()}
    reading_s = whole_s / sum(sizes.values())  # more than reading takes
    job.log.unlink(missing_ok=True)
    outcome = Outcome()
    while outcome.kills < kills:
        store = folder / f"killed-{outcome.rounds}.knot"
        embedded: list[list[str]] = []
        while True:
            early = random_.random() < EARLY_SHARE
            after_s = random_.uniform(0, longest_s)
            left = outcome.kills < kills
            run = job.run(store, kill_after_s=after_s if left else None, early=early)
            if job.log.exists():
                embedded.append(job.log.read_text("utf-8").split())
                job.log.unlink()
            if run.code == 0:
                break
            assert run.code == -signal.SIGKILL, run.errors
            outcome.kills += 1
            sys.stderr.write(f"\r{outcome.kills} kills, {outcome.rounds} indexes")
            if run.found_s:
                committed_s = run.commits_s[-1] if run.commits_s else run.found_s
                unsaved = run.started.keys() - stored_uris(store)
                ahead = [uri for uri in unsaved if run.started[uri] < committed_s]
                reading = sum(sizes[uri] * reading_s for uri in ahead)
                outcome.lost_s.append(run.ended_s - committed_s + reading)
        outcome.rounds += 1
        outcome.count_passages(embedded)
        found = contents(store)
        assert found == expected, f"{store.name} differs: {differences(found, expected)}"
        for path in folder.glob(f"{store.name}*"):
            path.unlink()
    return outcome


def run_command(arguments: list[str]) -> None:
    """Run `knotwork` with an embedder that is slow, and writes a line for each passage."""
    from knotwork._cli.main import main as knotwork

    slow_ms, log, *rest = arguments
    embed = HashingEmbedder.embed_passages

    def embed_passages(self, passages: list[PassageText]):
        time.sleep(float(slow_ms) / 1_000 * len(passages))
        vectors = embed(self, passages)
        lines = "".join(f"{hash_of(passage)}\n" for passage in passages)
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, lines.encode())
        os.close(descriptor)
        return vectors

    HashingEmbedder.embed_passages = embed_passages
    sys.argv = ["knotwork", *rest]
    knotwork()


def hash_of(passage: PassageText) -> str:
    """Return a hash of a passage that is the same in every process."""
    from knotwork.records import content_id

    return content_id(passage.context, passage.text)


def main() -> None:
    if sys.argv[1:2] == ["command"]:
        run_command(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--model", default="none", help="none or hashing:DIMENSION")
    parser.add_argument("--slow-ms", type=float, default=0, help="milliseconds for a passage")
    parser.add_argument("--workers", type=int, default=-1, help="as index.workers")
    parser.add_argument("--longest-s", type=float, default=8.0, help="longest time before a kill")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder / "docs", files=options.files, seed=options.seed)
        job = Job(
            folder / "docs", options.model, options.slow_ms, options.workers, folder / "passages"
        )
        outcome = kill_runs(
            job, folder, kills=options.kills, seed=options.seed, longest_s=options.longest_s
        )
    lost_s = sorted(outcome.lost_s)
    figures = {
        "kills": outcome.kills,
        "indexes compared, all equal": outcome.rounds,
        "seconds lost per kill: median": round(lost_s[len(lost_s) // 2], 2),
        "95 %": round(lost_s[int(len(lost_s) * 0.95)], 2),
        "most": round(lost_s[-1], 2),
        **outcome.passages,
        "seconds of embedding repeated per run: most": round(
            max(outcome.repeated, default=0) * options.slow_ms / 1_000, 2
        ),
    }
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
