"""Measure where rules send questions: the share of each set that is routed to each mode.

python benchmarks/questions/routing.py --data data/bench [--show MODE]
"""

from __future__ import annotations

import argparse
import csv
import json
from collections import Counter
from pathlib import Path

from knotwork._synthesis.engine import choose_mode

FACTOID = (
    "musique_train100", "hotpot_train100", "twowiki_fg101", "popqa300", "multihoprag_lite",
    "drcd300_zh", "cmrc2018_trial",
)  # fmt: skip
GLOBAL = Path("global/kevin_scott/Kevin Scott Questions.csv")


def read_sets(data: Path) -> dict[str, list[str]]:
    sets = {}
    with (data / GLOBAL).open(encoding="utf-8-sig", newline="") as file:
        sets["kevin_scott (global)"] = [row["question_text"] for row in csv.DictReader(file)]
    for name in FACTOID:
        with (data / "qa" / name / "questions.jsonl").open(encoding="utf-8") as lines:
            sets[name] = [json.loads(line)["question"] for line in lines]
    return sets


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", default="", help="print the questions sent to this mode")
    arguments = parser.parse_args()
    for name, questions in read_sets(arguments.data).items():
        counts = Counter(choose_mode(question) for question in questions)
        shares = ", ".join(
            f"{m} {100 * n / len(questions):.1f} %" for m, n in sorted(counts.items())
        )
        print(f"{name} ({len(questions):,}): {shares}")
        for question in questions:
            if arguments.show and choose_mode(question) == arguments.show:
                print("   ", question)


if __name__ == "__main__":
    main()
