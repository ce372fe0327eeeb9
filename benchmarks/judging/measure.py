"""Judge the answers to a public data set, and try how robust they are.

    python benchmarks/judging/measure.py --data data/bench/qa --set hotpot_train100 --limit 20

The judge is `word_judge.py`, which compares words and costs nothing; --model names a chat model to
judge, and to write the answers with --writes. The index is in memory. --embedder adds vectors, and
answer relevance.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from word_judge import word_judge

import knotwork
from knotwork._config import load_settings
from knotwork._extensions.evaluation.judge_runs import JudgeRun, JudgingOptions, describe_judged_run
from knotwork._extensions.evaluation.questions import Dataset, load_dataset
from knotwork._inference.chat import ChatModel
from knotwork._inference.model_registry import ChatModels
from knotwork.evaluation import AnswerQuestion, evaluate_answers, measure_answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="hotpot_train100")
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--model", default="")
    parser.add_argument("--writes", action="store_true")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    dataset = load_dataset(options.data / options.set, limit=options.limit)
    model = _open_model(options.model)
    with knotwork.open(
        "memory:",
        embedding_model=options.embedder,
        chat_model=model if options.writes else None,
    ) as kb:
        kb.index_documents(dataset.documents, tier="none")
        answers = evaluate_answers(kb, _questions(dataset))
        started = time.perf_counter()
        judging = JudgingOptions(with_judge=True, with_conditions=True)
        with JudgeRun(kb, answers, judging, model=model, writes=options.writes) as run:
            estimate = run.estimate()
            report = run.run(lambda *_: None)
        seconds = time.perf_counter() - started
    described = describe_judged_run(report)
    if options.output:
        options.output.write_text(json.dumps(described, ensure_ascii=False), encoding="utf-8")
    print(f"{dataset.name}: {len(answers)} questions, judged by {model.name} in {seconds:.1f} s")
    print(f"estimated {estimate.calls:,} calls and {estimate.input_tokens.expected:,} tokens in")
    print(f"used      {report.usage.calls:,} calls and {report.usage.input_tokens:,} tokens in")
    print(f"right, by strings: {measure_answers(answers).overall.figures['right']:.3f}")
    totals = described["judge"]["metrics"] | described["robustness"]["figures"]
    for name, found in totals.items():
        print(f"{name:28} {found['mean']} {found['interval']} {found['unreadable']} unreadable")


def _questions(dataset: Dataset) -> list[AnswerQuestion]:
    return [
        AnswerQuestion(
            text=case.question,
            answers=(case.answers,),
            documents=tuple(sorted(case.gold_uris)),
            type=case.type,
            id=case.id,
        )
        for case in dataset.cases
        if case.answers
    ]


def _open_model(name: str) -> ChatModel:
    if not name:
        return word_judge()
    opened = ChatModels(load_settings(overrides={"llm.model": name}).settings.llm).open("judge")
    assert opened is not None
    return opened


if __name__ == "__main__":
    main()
