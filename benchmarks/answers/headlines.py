"""Measure headlines: are the short answers right, and of the kind that the question asks for?

    python benchmarks/answers/headlines.py --data data/bench/realdocs
    python benchmarks/answers/headlines.py --set sample --show
    python benchmarks/answers/headlines.py --indexes DIR --held

`headlines.tsv` has questions with the kind of answer that they ask for. Many stand beside a near
value of another kind: a duration where money is asked for, an organization for a person. `--data`
has `docs/` of each set; the set `sample` is that of the demo. `--indexes` keeps the index of each
set, DIR/SET.knot, and uses it again. Every third question is held out, to check rules that were
made with the others: `--held` asks these alone, `--seen` the others.

    wrong_kind  share of the headlines that are of another kind, by the independent check below
    wrong       share of the headlines that are not right
    kept        share of the questions with a right headline that get it
"""

from __future__ import annotations

import argparse
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import knotwork
from knotwork.demo import open_sample

HERE = Path(__file__).resolve().parent
_NUMBER = (
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
    r"|[一二三四五六七八九十]"
)
_TIME = (
    r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|cycles?|s\b|秒|分钟|小时|天|[个]?月|年"
)
_MONTH = r"january|february|march|april|may|june|july|august|september|october|november|december"
_OF_KIND = {
    "money": r"crowns?|[$€£¥]|元|克朗|^[\d.,]+$",
    "duration": rf"(?:{_NUMBER}).*(?:{_TIME})|every|^\d{1, 3}$",
    "length": rf"(?:{_NUMBER}).*(?:met|kilomet|公里|米)",
    "weight": rf"(?:{_NUMBER}).*(?:kilo|gram|公斤|千克)",
    "date": rf"\b[12]\d{{3}}\b|{_MONTH}|day|\d:\d\d|年|月|日|night|end of",
    "clock": r"\d:\d\d|点",
    "share": r"%|third|half|quarter|百分|percent",
    "count": rf"(?:{_NUMBER})(?!.*(?:%|percent|third))",
    "level": _NUMBER,
    "version": r"\d",
    "person": r"^[^\d]*$",
    "organization": r"^[^\d]*$",
    "place": r"[^\W\d]",
    "name": r"[^\W\d]",
    "yes_no": r"^(?:yes|no|是|否|可以|不)",
}
"""What the headline of each kind has; a person is also none of the organizations below."""
_NO_PERSON = (
    r"authority|chandlers|instruments|corp|公司|港务站|office$|station$|project$|foundation|办事处$"
)


class Asked(NamedTuple):
    documents: str
    kind: str
    question: str
    right: tuple[str, ...]
    is_held: bool


def read_questions() -> Iterator[Asked]:
    lines = (HERE / "headlines.tsv").read_text(encoding="utf8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    for number, (documents, kind, question, right) in enumerate(rows):
        yield Asked(
            documents, kind, question, tuple(filter(None, right.split("|"))), number % 3 == 2
        )


def fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def is_of_kind(kind: str, headline: str) -> bool:
    held = fold(headline)
    is_no_person = kind == "person" and re.search(_NO_PERSON, held)
    return re.search(_OF_KIND[kind], held) is not None and not is_no_person


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data/bench/realdocs"))
    parser.add_argument("--set", action="append", help="a set; by default all that are there")
    parser.add_argument("--indexes", type=Path, help="folder that keeps the indexes")
    parser.add_argument("--held", action="store_true", help="only the questions that are held out")
    parser.add_argument("--seen", action="store_true", help="only the others")
    parser.add_argument("--limit", type=int, help="only so many questions")
    parser.add_argument("--show", action="store_true", help="print each headline")
    args = parser.parse_args()
    questions = [
        asked
        for asked in read_questions()
        if (not args.set or asked.documents in args.set)
        and not (args.held and not asked.is_held)
        and not (args.seen and asked.is_held)
    ][: args.limit]
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="knotwork-headlines-"))
        folder = args.indexes or Path(scratch)
        for name in dict.fromkeys(asked.documents for asked in questions):
            documents = (
                stack.enter_context(open_sample())
                if name == "sample"
                else args.data / name / "docs"
            )
            if not documents.is_dir():
                print(f"{name}: no documents in {documents}")
                continue
            base = stack.enter_context(knotwork.open(folder / f"{name}.knot"))
            base.index(documents)
            for asked in questions:
                if asked.documents == name:
                    short = base.ask(asked.question).short
                    judge(asked, short, counts, is_shown=args.show)
    given, known = max(counts["given"], 1), max(counts["known"], 1)
    print(
        f"questions {counts['asked']}  headlines {counts['given']}"
        f"  wrong_kind {counts['other'] / given:.3f}  wrong {counts['wrong'] / given:.3f}"
        f"  kept {counts['right'] / known:.3f} of {counts['known']}"
    )


def judge(asked: Asked, short: str, counts: Counter[str], *, is_shown: bool) -> None:
    """Count one headline, "" for none."""
    is_right = any(fold(right) in fold(short) for right in asked.right) and bool(short)
    is_other = bool(short) and not is_right and not is_of_kind(asked.kind, short)
    found = {
        "asked": True,
        "known": bool(asked.right),
        "given": bool(short),
        "right": is_right,
        "wrong": bool(short) and not is_right,
        "other": is_other,
    }
    counts.update(name for name, holds in found.items() if holds)
    if is_shown:
        mark = "other" if is_other else "right" if is_right else "WRONG" if short else ""
        print(f"{mark:6}{asked.kind:13}{asked.question}  →  {short or '-'}", flush=True)


if __name__ == "__main__":
    main()
