"""Measure how well the follow-ups of threads are understood.

    python benchmarks/threads/measure.py --data data/bench/realdocs
    python benchmarks/threads/measure.py --data DIR --set sample --held --show

`threads.jsonl` has a thread a line: its `set` of documents, its `lang`, and its `turns`. A turn
`asks` a question; one that leans on the turns before `means` a full question. It is right if the
printed answer holds `any` of these texts, or, if there are none, if nothing is answered. Threads
that are `held` were not looked at when the rules were written.

Told are the right first turns, turns that change the topic, follow-ups in their threads, and full
questions of the follow-ups asked alone, which is the best there is to reach. Answers before a turn
are those that Knotwork gave. `sample` is that of `knotwork demo`; `--cache` keeps the indexes, all
of which have vectors: those of the manuals take about four minutes each.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import knotwork
from knotwork import Answer, KnowledgeBase
from knotwork.demo import open_sample

EMBEDDER = "local:multilingual-e5-small"
SETS = ("sample", "handbook_en", "handbook_zh", "postgresql")
KINDS = ("first", "change", "follow-up", "in full")
_MARK = re.compile(r"\s*\[M?\d+\]")

Turn = Mapping[str, Any]
Thread = Mapping[str, Any]


def read_threads(path: Path) -> list[Thread]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", _MARK.sub(" ", text)).casefold().split())


def is_right(answer: Answer, turn: Turn) -> bool:
    """Whether a text of the turn stands in the answer, or none is given where there is none."""
    if not turn["any"]:
        return not answer.answered
    said = _plain(answer.text)
    return answer.answered and any(_plain(text) in said for text in turn["any"])


def ask_thread(base: KnowledgeBase, thread: Thread) -> Iterator[tuple[str, Turn, bool, Answer]]:
    """Yield the kind of each question, its turn, whether its answer is right, and the answer."""
    before: list[tuple[str, str]] = []
    for turn in thread["turns"]:
        answer = base.ask(turn["asks"], turns=before, use_llm=False)
        kind = "follow-up" if "means" in turn else "change" if before else "first"
        yield kind, turn, is_right(answer, turn), answer
        before.append((turn["asks"], answer.text))
        if kind == "follow-up":
            alone = base.ask(turn["means"], use_llm=False)
            yield "in full", turn, is_right(alone, turn), alone


def show(kind: str, turn: Turn, answer: Answer, *, right: bool) -> None:
    understood = next((n for n in answer.notes if n.startswith("Understood as: ")), "")
    print(f"  {'+' if right else '-'} {kind}: {turn['asks']}  ({understood or 'as it is'})")
    if not right:
        print(f"      {turn['any']} but {answer.text[:200]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data/bench/realdocs"))
    parser.add_argument("--set", action="append", choices=SETS, dest="sets")
    parser.add_argument("--cache", type=Path, help="keep the indexes in this folder")
    parser.add_argument("--held", action="store_true", help="the threads that are held alone")
    parser.add_argument("--all", action="store_true", help="these too")
    parser.add_argument("--limit", type=int, help="threads of each set")
    parser.add_argument("--show", action="store_true", help="print each turn")
    options = parser.parse_args()
    threads = read_threads(Path(__file__).with_name("threads.jsonl"))
    right, asked = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    with tempfile.TemporaryDirectory(prefix="knotwork-threads-") as temporary:
        for name in options.sets or SETS:
            chosen = [
                thread
                for thread in threads
                if thread["set"] == name
                and (options.all or thread.get("held", False) == options.held)
            ]
            path = (options.cache or Path(temporary)) / f"{name}.knot"
            is_new = not path.exists()
            with open_sample() as sample, knotwork.open(path, embedding_model=EMBEDDER) as base:
                if is_new:
                    base.index(sample if name == "sample" else options.data / name / "docs")
                for thread in chosen[: options.limit]:
                    for kind, turn, is_so, answer in ask_thread(base, thread):
                        for group in (name, thread["lang"], "all"):
                            asked[group, kind] += 1
                            right[group, kind] += is_so
                        if options.show:
                            show(kind, turn, answer, right=is_so)
                    if options.show:
                        print()
    groups = dict.fromkeys(group for group, _ in asked)
    print(f"{'':12}" + "".join(f"{kind:>16}" for kind in KINDS) + f"{'share':>8}")
    for group in sorted(groups, key=lambda group: group == "all"):
        cells = "".join(f"{right[group, k]:>10} /{asked[group, k]:4}" for k in KINDS)
        share = right[group, "follow-up"] / max(right[group, "in full"], 1)
        print(f"{group:12}{cells}{share:8.2f}")


if __name__ == "__main__":
    main()
