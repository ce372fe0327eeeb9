"""Measure answers about the sibling of what is asked: buoy 7 for buoy 9, trips abroad for Mars.

    python benchmarks/answers/siblings.py
    python benchmarks/answers/siblings.py --together --show

`siblings.tsv` has questions about the small documents of `siblings/`, of twelve kinds in English
and in Chinese. About half name a thing of which the documents say nothing, beside another one
that is like it. The others ask for what is there in other words. Each folder is indexed alone;
`--together` makes one index of each language.

    sure    share of the questions about siblings that are answered as "Found in the text"
    likely  share of them that are answered as "Likely, check the source"
    kept    share of the other questions with a right answer that is "Found in the text"
    right   share of the other questions with a right answer
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import knotwork
from knotwork import Answer

HERE = Path(__file__).resolve().parent


class Asked(NamedTuple):
    folder: str
    question: str
    right: tuple[str, ...]

    def is_right(self, answer: Answer) -> bool:
        text = f"{answer.short} {answer.text}".casefold()
        return answer.answered and any(words.casefold() in text for words in self.right)


def read_questions() -> Iterator[Asked]:
    for line in (HERE / "siblings.tsv").read_text(encoding="utf8").splitlines():
        if not line.startswith("#"):
            folder, question, right = line.split("\t")
            yield Asked(folder, question, tuple(filter(None, right.split("|"))))


def ask_all(documents: Sequence[str], asked: Sequence[Asked]) -> Iterator[tuple[Asked, Answer]]:
    with (
        tempfile.TemporaryDirectory(prefix="knotwork-siblings-") as scratch,
        knotwork.open(Path(scratch) / "index.knot") as base,
    ):
        base.index([HERE / "siblings" / name for name in documents])
        for each in asked:
            yield each, base.ask(each.question)


def mark(asked: Asked, answer: Answer) -> str:
    """Return how an answer is: sure, likely or refused, and WRONG if what is there is missed."""
    strength = {"strong": "sure", "weak": "likely", "none": "refused"}[str(answer.strength)]
    return strength if not asked.right or asked.is_right(answer) else f"WRONG {strength}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--together", action="store_true", help="one index of each language")
    parser.add_argument("--set", action="append", help="a folder; by default all")
    parser.add_argument("--limit", type=int, help="only so many questions of each index")
    parser.add_argument("--show", action="store_true", help="print each answer")
    args = parser.parse_args()
    groups: dict[str, list[Asked]] = defaultdict(list)
    for each in read_questions():
        if args.set and each.folder not in args.set:
            continue
        groups[each.folder[:2] if args.together else each.folder].append(each)
    marks: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for name, group in groups.items():
        asked = group[: args.limit]
        for each, answer in ask_all(sorted({one.folder for one in asked}), asked):
            found = mark(each, answer)
            marks[each.folder[:2], bool(each.right)].append(found)
            if args.show:
                kind = "there" if each.right else "sibling"
                text = " ".join(answer.text.split())[:150] if answer.answered else ""
                print(f"{kind:8}{found:14}{answer.confidence or 0:.2f}  {name}: {each.question}")
                print(f"{'':8}{answer.short or '-'} / {text} {'; '.join(answer.notes)}", flush=True)
    for language in ("en", "zh"):
        siblings, others = marks[language, False], marks[language, True]
        shares = {
            "sure": (siblings, ["sure"]),
            "likely": (siblings, ["likely"]),
            "kept": (others, ["sure"]),
            "right": (others, ["sure", "likely"]),
        }
        print(f"{language}  siblings {len(siblings)}  others {len(others)}", end="")
        for name, (held, wanted) in shares.items():
            print(f"  {name} {sum(map(held.count, wanted)) / max(len(held), 1):.3f}", end="")
        print()


if __name__ == "__main__":
    main()
