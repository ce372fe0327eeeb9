"""Measure what a model reads: the share of questions whose answer is in the prompt.

    python benchmarks/answers/context.py --data data/bench/realdocs
    python benchmarks/answers/context.py --data DIR --index INDEXES --set articles_zh --missing

`--data` is as for run.py, whose sets these are. `--index` is a folder with INDEXES/SET.knot
of earlier runs; missing ones are made there. Without it, each set is indexed into a temporary
folder. The questions are asked in mode "basic" with a model that records its prompt. The answer is
in a prompt if its material, without the question, holds an alternative of each group of the answer,
by the rule of the judge. `parts` is the mean share of the groups that it holds, `tokens` the mean
length of the material. `--missing` lists the questions whose answer is not in the longest prompt.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from run import SETS, QuestionSet, load_judge, print_table, read_set

import knotwork
from knotwork._text.token_counts import count_tokens
from knotwork.testing import ScriptedChatModel

BUDGETS = (2_000, 4_000)
_QUESTION = re.compile(r"<question>.*?</question>", re.DOTALL)

Holds = Callable[[str, list[str]], bool]


def read_material(index: Path, questions: list[dict[str, Any]], budget: int) -> list[str]:
    """Return the material of the prompt of each question, "" if the model was not asked."""
    # Instructions end with the sentence for "no answer". Calls are cached by the name of the model,
    # so that each run needs a new one.
    model = ScriptedChatModel(
        lambda request: request.messages[0].content.rpartition("\n")[2],
        name=f"scripted:{time.time_ns()}",
    )
    found = []
    with knotwork.open(index, chat_model=model, answer_context_tokens=budget) as base:
        for question in questions:
            asked = len(model.requests)
            base.ask(question["question"], mode="basic")
            sent = [request.messages[-1].content for request in model.requests[asked:]]
            found.append(_QUESTION.sub("", sent[0]) if sent else "")
    return found


def measure(asked: QuestionSet, index: Path, holds: Holds, *, missing: bool) -> dict[str, float]:
    """Return the figures of one set, at each budget."""
    if not index.exists():
        with knotwork.open(index) as base:
            base.index(asked.documents)
    answerable = [question for question in asked.questions if question["answers"]]
    row: dict[str, float] = {"n": len(answerable)}
    for budget in BUDGETS:
        texts = read_material(index, answerable, budget)
        held = [
            [holds(text, group) for group in question["answers"]]
            for text, question in zip(texts, answerable, strict=True)
        ]
        row[f"in {budget}"] = sum(map(all, held)) / len(held)
        row[f"parts {budget}"] = sum(sum(groups) / len(groups) for groups in held) / len(held)
        row[f"tokens {budget}"] = sum(map(count_tokens, texts)) / len(texts)
    if missing:
        for question, groups in zip(answerable, held, strict=True):
            absent = [g for g, found in zip(question["answers"], groups, strict=True) if not found]
            if absent:
                print(question["qid"], question["type"], question["question"], absent)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the judge")
    parser.add_argument("--index", type=Path, help="a folder of indexes to use or to make")
    parser.add_argument("--set", action="append", choices=SETS, help="by default all sets")
    parser.add_argument("--missing", action="store_true", help="list what the last prompts lack")
    arguments = parser.parse_args()
    data: Path = arguments.data.resolve()
    holds: Holds = load_judge(data / "score.py").__globals__["holds"]  # type: ignore[attr-defined]
    rows: dict[str, dict[str, float]] = {}
    kept = arguments.index
    with nullcontext(kept) if kept else tempfile.TemporaryDirectory() as folder:
        for name in arguments.set or SETS:
            index = Path(folder) / f"{name}.knot"
            asked = read_set(name, data)
            rows[name] = measure(asked, index, holds, missing=arguments.missing)
            print_table("set", {name: rows[name]}, list(rows[name]))
    figures = list(next(iter(rows.values())))
    mean = {figure: sum(row[figure] for row in rows.values()) / len(rows) for figure in figures}
    print_table("set", rows | {"mean": mean}, figures)


if __name__ == "__main__":
    main()
