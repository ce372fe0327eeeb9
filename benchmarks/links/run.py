"""Measure questions whose answer stands behind a link, with links followed and without.

    python benchmarks/links/run.py --data data/bench/realdocs
    python benchmarks/links/run.py --data DIR --indexes FOLDER --links 0 0.5 1 2 --search-only

`--data` has a folder with `docs/` and `questions.jsonl` for each set. A question of the file beside
this script names things of one passage, which links to the passage with the answer. Its `uri` and
`heading` are where the link leads, and `quote` is the text with the answer; `answers` are groups of
words, of which an answer has one each. `ordinary` are the questions of the sets themselves: the
share of their evidence among the hits, which links must not change for the worse.

All values of `BridgeWeights.links` are measured in one run, question by question, so that they are
paired. Milliseconds are those of the processor for a search; a search before them is not counted.
`--indexes` keeps the indexes; one that exists is used as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import knotwork
from knotwork import KnowledgeBase
from knotwork._retrieval.weights import DEFAULT_WEIGHTS
from knotwork.records import content_id

QUESTIONS = Path(__file__).with_name("questions.jsonl")
HITS = (5, 10)
Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """Return the lines of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def flat(text: str) -> str:
    """Return letters and digits only, so that Markdown and line breaks do not matter."""
    return re.sub(r"\W+", "", text).casefold()


def ranks(kb: KnowledgeBase, question: str, quotes: Iterable[tuple[str, str]]) -> list[int]:
    """Return the rank of the first hit with each (uri, quote), a large one if none has it."""
    hits = kb.search(question, k=max(HITS)).hits
    texts = [(hit.chunk.document_id, flat(hit.chunk.text)) for hit in hits]
    return [
        next(
            (
                n
                for n, (at, text) in enumerate(texts, 1)
                if at == content_id("document", uri) and flat(quote) in text
            ),
            99,
        )
        for uri, quote in quotes
    ]


def has_words(text: str, groups: Sequence[Sequence[str]]) -> bool:
    """Return True if a text has one word or phrase of each group."""
    shown = " ".join(re.sub(r"[*`_\\]", "", text).split()).casefold()
    bare = [[re.sub(r"[*`_\\]", "", words).casefold() for words in group] for group in groups]
    return all(any(words in shown for words in group) for group in bare)


def measure(
    kb: KnowledgeBase, row: Row, *, asks: bool, linked: bool
) -> Iterator[tuple[str, float]]:
    """Yield the figures of one question."""
    kind = "linked" if linked else "ordinary"
    begun = time.process_time()
    found = ranks(kb, row["question"], row["quotes"])
    yield f"{kind} ms", 1000 * (time.process_time() - begun)
    for most in HITS:
        yield f"{kind} R@{most}", mean(rank <= most for rank in found)
    if asks:
        yield f"{kind} answered", has_words(kb.ask(row["question"]).text, row["answers"])


def main() -> None:
    """Print a table with a row for each value."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--indexes", type=Path)
    parser.add_argument("--links", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--search-only", action="store_true")
    parser.add_argument("--limit", type=int, help="only the first questions of each set")
    given = parser.parse_args()
    rows = read_rows(QUESTIONS)
    figures: dict[tuple[float, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    with tempfile.TemporaryDirectory() as scratch:
        for name in dict.fromkeys(row["set"] for row in rows):
            index = (given.indexes or Path(scratch)) / f"{name}.knot"
            with knotwork.open(index) as kb:
                if not kb.documents():
                    kb.index(given.data / name / "docs")
                own = [
                    row | {"quotes": [(row["uri"], row["quote"])]}
                    for row in rows
                    if row["set"] == name
                ][: given.limit]
                others = [
                    row | {"quotes": [(f"docs/{e['file']}", e["quote"]) for e in row["evidence"]]}
                    for row in read_rows(given.data / name / "questions.jsonl")
                    if row["evidence"]
                ][: given.limit]
                for number, row in enumerate([*own, *others]):
                    kb.search(row["question"])
                    # The order alternates, as the second of two searches finds what was read.
                    for value in given.links[:: 1 if number % 2 else -1]:
                        object.__setattr__(DEFAULT_WEIGHTS.bridge, "links", value)
                        linked = number < len(own)
                        asks = linked and not given.search_only
                        for figure, got in measure(kb, row, asks=asks, linked=linked):
                            for place in (name, "all"):
                                figures[value, place][figure].append(got)
    names = list(dict.fromkeys(figure for found in figures.values() for figure in found))
    print("| links | set |", " | ".join(names), "|")
    for (value, place), found in sorted(figures.items()):
        shown = (f"{mean(found[n]):.{1 if n.endswith('ms') else 3}f}" for n in names)
        print(f"| {value:g} | {place} |", " | ".join(shown), "|")


if __name__ == "__main__":
    main()
