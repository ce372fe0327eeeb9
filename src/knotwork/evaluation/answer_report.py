"""Describe runs over known questions as plain values for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from knotwork.evaluation.answer_figures import FIGURES, Group, Measured, compare_answers
from knotwork.evaluation.answer_questions import AnswerQuestion
from knotwork.evaluation.answer_runs import JudgedAnswer


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """The answers under one choice of settings, and their figures; ``missing`` are gold documents
    that are not in the index.
    """

    name: str
    store: str
    answers: tuple[JudgedAnswer, ...]
    measured: Measured
    missing: tuple[str, ...]


def as_json(
    questions: Sequence[AnswerQuestion], runs: Sequence[AnswerRun], *, file: str = ""
) -> dict[str, Any]:
    """Return runs over the same questions as one JSON object; shares are from 0 to 1."""
    first, *others = runs
    return {
        "file": file,
        "questions": len(questions),
        "unanswerable": sum(not question.is_answerable for question in questions),
        "settings": {run.name: _describe_run(run) for run in runs},
        "comparisons": [
            asdict(item)
            for other in others
            for item in compare_answers(
                first.answers, other.answers, names=(first.name, other.name)
            )
        ],
        "cases": [
            {
                "id": question.id,
                "line": question.line,
                "question": question.text,
                "type": question.type,
                "expected": [list(alternatives) for alternatives in question.answers],
                "results": {run.name: _describe_answer(run.answers[number]) for run in runs},
            }
            for number, question in enumerate(questions)
        ],
    }


def _describe_run(run: AnswerRun) -> dict[str, Any]:
    measured = run.measured
    return {
        "store": run.store,
        **_describe_group(measured.overall),
        "right_interval": (
            [_rounded(measured.right.low), _rounded(measured.right.high)]
            if measured.right
            else None
        ),
        "auroc": _rounded(measured.auroc),
        "ece": _rounded(measured.ece),
        "median_ms": round(measured.median_ms, 3),
        "median_cpu_ms": round(measured.median_cpu_ms, 3),
        "tokens": round(measured.tokens, 1),
        "missing_documents": list(run.missing),
        "by_type": {name: _describe_group(group) for name, group in measured.by_type.items()},
    }


def _describe_group(group: Group) -> dict[str, Any]:
    figures = {figure.name: _rounded(group.figures.get(figure.name)) for figure in FIGURES}
    return {"questions": group.questions, **figures}


def _describe_answer(item: JudgedAnswer) -> dict[str, Any]:
    judgement = item.judgement
    return {
        "correct": item.is_correct,
        "right": judgement.right,
        "right_first": judgement.right_first,
        "found": judgement.found,
        "cited": judgement.cites_gold,
        "answered": judgement.answered,
        "answer": item.answer.text,
        "short": item.answer.short,
        "short_right": judgement.short_right,
        "documents": [citation.document for citation in item.answer.citations],
        "noise": list(judgement.noise),
        "words": judgement.words,
        "confidence": _rounded(item.answer.confidence),
        "ms": round(1000 * item.seconds, 3),
        "cpu_ms": round(1000 * item.cpu_s, 3),
        "tokens": item.tokens,
        "notes": list(item.answer.notes),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
