"""Measure printed answers: ask the questions of real documents and judge what is printed.

    python benchmarks/answers/run.py --data data/bench/realdocs
    python benchmarks/answers/run.py --data DIR --set handbook_mixed --set postgresql --types

`--data` is a folder with `score.py`, the judge, which explains the figures, and with a folder of
`questions.jsonl` and `docs/` for each development set. handbook_mixed stands beside this script.
The documents of articles_zh are in `data/mission`. Each set is indexed into an index of its own,
which is removed afterwards. `--out` keeps the predictions, DIR/SET/predictions.jsonl.

`index_s` and `ask_s` are seconds of the processor for the whole index and for a question, those of
worker processes included once these have ended. Time on the clock is not measured.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import knotwork
from knotwork import Answer

HERE = Path(__file__).resolve().parent
SETS = ("postgresql", "handbook_en", "handbook_zh", "articles_zh", "handbook_mixed")
FIGURES = (
    *("n", "right", "right1", "items", "clean", "cited", "noise", "words"),
    *("abstain", "wrongful", "auroc", "ece"),
)
COSTS = ("index_s", "ask_s")

Figures = Mapping[str, float]
Row = dict[str, Any]
Judge = Callable[[list[Row], dict[str, Row]], dict[str, dict[str, float]]]


@dataclass(frozen=True)
class QuestionSet:
    name: str
    documents: Path
    questions: list[Row]


def read_set(name: str, data: Path) -> QuestionSet:
    folder = HERE / name if name == "handbook_mixed" else data / name
    documents = folder / "docs" if name != "articles_zh" else data.parent.parent / "mission"
    with (folder / "questions.jsonl").open(encoding="utf8") as lines:
        return QuestionSet(name, documents, [json.loads(line) for line in lines if line.strip()])


def load_judge(path: Path) -> Judge:
    """Return the function ``score`` of the judge's script."""
    spec = importlib.util.spec_from_file_location("score", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python script")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    judge: Judge = module.score
    return judge


def processor_s() -> float:
    """The processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def as_prediction(question: Row, answer: Answer) -> Row:
    """What the judge reads of an answer; nothing is printed of one that answers nothing."""
    cited = answer.citations if answer.answered else ()
    pieces = getattr(answer, "pieces", ()) if answer.answered else ()
    confidence = answer.confidence
    if confidence is None:  # a count or an outline, which only state what is in the index
        confidence = float(answer.answered)
    return {
        "qid": question["qid"],
        "text": answer.text if answer.answered else "",
        "answered": answer.answered,
        "confidence": confidence,
        "sentences": [piece.markdown for piece in pieces] or [hit.quote for hit in cited],
        "documents": [str(hit.document) for hit in cited],
    }


def ask_all(asked: QuestionSet) -> tuple[list[Row], dict[str, float]]:
    """Index the documents of a set and ask its questions: the predictions and what they cost."""
    with tempfile.TemporaryDirectory(prefix="knotwork-answers-") as folder:
        start_s = processor_s()
        with knotwork.open(Path(folder) / "index.knot") as base:
            base.index(asked.documents)
            indexed_s = processor_s()
            predictions = [as_prediction(q, base.ask(q["question"])) for q in asked.questions]
            asked_s = processor_s()
    costs = {"index_s": indexed_s - start_s, "ask_s": (asked_s - indexed_s) / len(predictions)}
    return predictions, costs


def write(predictions: Iterable[Row], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (json.dumps(row, ensure_ascii=False) + "\n" for row in predictions)
    path.write_text("".join(rows), encoding="utf8")


def mean(rows: Sequence[Figures]) -> dict[str, float]:
    """The mean of each figure over the sets that have it; of n the sum."""
    means = {}
    for figure in (*FIGURES, *COSTS):
        values = [row[figure] for row in rows if not math.isnan(row.get(figure, math.nan))]
        if values:
            means[figure] = sum(values) / (1 if figure == "n" else len(values))
    return means


def print_table(first: str, rows: Mapping[str, Figures], figures: Sequence[str]) -> None:
    print(first.ljust(16) + "".join(figure.rjust(9) for figure in figures))
    for name, row in rows.items():
        cells = [_cell(figure, row.get(figure)) for figure in figures]
        print(name.ljust(16) + "".join(cell.rjust(9) for cell in cells))


def _cell(figure: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if figure == "n" else f"{value:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the judge")
    parser.add_argument("--set", action="append", choices=SETS, help="by default all sets")
    parser.add_argument("--out", type=Path, help="a folder for the predictions")
    parser.add_argument("--types", action="store_true", help="show each set by type of question")
    arguments = parser.parse_args()
    data: Path = arguments.data.resolve()
    judge = load_judge(data / "score.py")
    rows: dict[str, Figures] = {}
    for name in arguments.set or SETS:
        asked = read_set(name, data)
        predictions, costs = ask_all(asked)
        if arguments.out is not None:
            write(predictions, arguments.out / name / "predictions.jsonl")
        scores = judge(asked.questions, {row["qid"]: row for row in predictions})
        rows[name] = scores["all"] | costs
        if arguments.types:
            print_table(name, scores, FIGURES[:-2])
            print()
    print_table("set", rows | {"mean": mean(list(rows.values()))}, (*FIGURES, *COSTS))


if __name__ == "__main__":
    main()
