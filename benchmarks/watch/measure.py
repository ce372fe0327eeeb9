"""Measure the seconds from a change of a file until another process finds it in the index.

Starts `knotwork watch` on a folder of short notes, then creates, edits, renames and deletes single
files, and looks for each change in the index through a reader of its own.

    python benchmarks/watch/measure.py --files 100 1000 --changes 40
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import knotwork
from knotwork.errors import KnotworkError

NOTE = "# Note {n}\n\nAnn Lee met Bob Holm in room {n}. The lamp of {word} hangs in Marrow Lane.\n"
WORDS = ("Lund", "Oslo", "Bergen", "Turku", "Malmo", "Aarhus")
LOOK_S = 0.02


def main() -> None:
    """Print a row of the table for each size of the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=[100, 1_000])
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--embedder", default="hashing:64")
    given = parser.parse_args()
    print("| files | changes | median | p95 | most | first comparison |\n|--:|--:|--:|--:|--:|--:|")
    for files in given.files:
        with tempfile.TemporaryDirectory() as folder:
            first_s, seconds = measure(Path(folder), files, given.changes, given.embedder)
        p95 = sorted(seconds)[int(0.95 * (len(seconds) - 1))]
        figures = (statistics.median(seconds), p95, max(seconds), first_s)
        print(f"| {files:,} | {len(seconds)} | " + " | ".join(f"{x:.1f} s" for x in figures) + " |")


def measure(place: Path, files: int, changes: int, embedder: str) -> tuple[float, list[float]]:
    """Return the seconds of a comparison without changes, and those of each change."""
    random_ = random.Random(1)
    root, store = place / "notes", place / "x.knot"
    root.mkdir()
    for n in range(files):
        (root / f"{n}.md").write_text(note(n, random_), encoding="utf-8")
    with knotwork.open(store, embedding_model=embedder) as kb:
        kb.index(root)
    command = [sys.executable, "-m", "knotwork", "watch", str(root), "--store", str(store)]
    command += ["--set", f"embedding.model={embedder}", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        try:
            assert watch.stdout is not None, "it is a pipe"
            report = json.loads(watch.stdout.readline())["report"]
            with knotwork.open(store, embedding_model=embedder, read_only=True) as kb:
                seconds = [change(kb, root, n, random_) for n in range(changes)]
        finally:
            watch.terminate()
    return report["seconds"]["total"], seconds


def change(kb: knotwork.KnowledgeBase, root: Path, number: int, random_: random.Random) -> float:
    """Change one file, and return the seconds until a reader of the index finds that."""
    file = random_.choice(sorted(root.iterdir()))
    other = root / f"new{number}.md"
    text = note(10_000 + number, random_)
    time.sleep(random_.random())
    if number % 4 == 0:
        other.write_text(text, encoding="utf-8")
        return seconds_until(lambda: text_of(kb, other) == text.strip())
    if number % 4 == 1:
        file.write_text(text, encoding="utf-8")
        return seconds_until(lambda: text_of(kb, file) == text.strip())
    if number % 4 == 2:
        file.rename(other)
        return seconds_until(lambda: bool(text_of(kb, other)) and not text_of(kb, file))
    file.unlink()
    return seconds_until(lambda: not text_of(kb, file))


def note(number: int, random_: random.Random) -> str:
    """Return the text of a note."""
    return NOTE.format(n=number, word=random_.choice(WORDS))


def text_of(kb: knotwork.KnowledgeBase, file: Path) -> str:
    """Return the text of a document, "" if the index has none of the file."""
    try:
        return kb.document(f"notes/{file.name}").text.strip()
    except KnotworkError:
        return ""


def seconds_until(condition: Callable[[], bool]) -> float:
    """Wait until a condition holds, and return for how long."""
    started_s = time.monotonic()
    while not condition():
        time.sleep(LOOK_S)
    return time.monotonic() - started_s


if __name__ == "__main__":
    main()
