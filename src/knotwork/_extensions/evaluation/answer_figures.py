"""Compute figures of judged answers: correctness, length, refusals, calibration, time and cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any

from knotwork._extensions.evaluation.answer_questions import AnswerQuestion
from knotwork._extensions.evaluation.answer_runs import AnswerJudgement, JudgedAnswer
from knotwork._extensions.evaluation.metrics import (
    MeanEstimate,
    MetricDifference,
    compare_paired,
    estimate_mean,
    separation,
)
from knotwork._shapes.base import fields_of

CALIBRATION_BINS = 10
"""Number of bins of confidence for the calibration error."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over answers. ``values`` returns the values of one answer, none if it does not apply.

    ``column`` is the short form of ``label``. A share is from 0 to 1.
    """

    name: str
    column: str
    label: str
    values: Callable[[JudgedAnswer], Sequence[float]]
    is_share: bool = True


def _value(value: float | None, *, applies: bool = True) -> list[float]:
    return [float(value)] if applies and value is not None else []


def _if_answerable(
    value: Callable[[AnswerJudgement], float],
) -> Callable[[JudgedAnswer], list[float]]:
    return lambda item: _value(value(item.judgement), applies=item.question.is_answerable)


FIGURES = (
    Figure("right", "right", "Right", _if_answerable(lambda found: found.right)),
    Figure("right_first", "first", "Right in the first sentence",
           _if_answerable(lambda found: found.right_first)),
    Figure("found", "found", "Answer in the passages found",
           _if_answerable(lambda found: found.found)),
    Figure("cited", "cited", "Cites a gold document",
           lambda item: _value(item.judgement.cites_gold)),
    Figure("noise", "noise", "Sentences that are noise",
           lambda item: list(map(float, item.judgement.noise))),
    Figure("words", "words", "Words in an answer",
           lambda item: _value(item.judgement.words, applies=item.question.is_answerable
                               and item.judgement.answered),
           is_share=False),
    Figure("short", "short", "Gives a short answer",
           lambda item: _value(item.judgement.short_right is not None,
                               applies=item.judgement.answered)),
    Figure("short_right", "short ok", "Right short answers",
           lambda item: _value(item.judgement.short_right)),
    Figure("refused_rightly", "refused", "Refused rightly",
           lambda item: _value(not item.judgement.answered,
                               applies=not item.question.is_answerable)),
    Figure("refused_wrongly", "wrongly", "Refused wrongly",
           _if_answerable(lambda found: not found.answered)),
)  # fmt: skip
"""All figures of answers. `docs/evaluation.md` defines them."""


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The figures of a group of questions by name, without those that apply to none of them."""

    questions: int
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """The figures of a run.

    ``right`` is the share of right answers with its 95 % interval, None if no question is
    answerable. ``auroc`` is the probability that a right answer has a higher confidence than a
    wrong one, None if all or none are right; ``ece`` is the expected calibration error. Both ignore
    answers without a confidence. ``median_ms`` and ``median_cpu_ms`` are per question, ``tokens``
    is the mean number of model tokens per question.
    """

    overall: GroupFigures
    by_type: dict[str, GroupFigures]
    right: MeanEstimate | None
    auroc: float | None
    ece: float | None
    median_ms: float
    median_cpu_ms: float
    tokens: float


def measure_answers(answers: Sequence[JudgedAnswer]) -> AnswerFigures:
    """Compute the figures of all answers, and by type if the questions have types.

    Raises ValueError if there are no answers.
    """
    if not answers:
        raise ValueError("Expected at least one answer.")
    types = dict.fromkeys(item.question.type for item in answers)
    of_type = {
        name: [item for item in answers if item.question.type == name]
        for name in types
        if types.keys() != {""}
    }
    estimated = [
        (item.answer.confidence, item.judgement.right)
        for item in answers
        if item.answer.confidence is not None
    ]
    good = [confidence for confidence, right in estimated if right]
    others = [confidence for confidence, right in estimated if not right]
    return AnswerFigures(
        overall=_measure_group(answers),
        by_type={name: _measure_group(items) for name, items in of_type.items()},
        right=estimate_mean([v for item in answers for v in FIGURES[0].values(item)]),
        auroc=separation(good, others) if good and others else None,
        ece=calibration_error(
            [confidence for confidence, _ in estimated], [right for _, right in estimated]
        )
        if estimated
        else None,
        median_ms=1000 * median(item.seconds for item in answers),
        median_cpu_ms=1000 * median(item.cpu_s for item in answers),
        tokens=fmean(item.tokens for item in answers),
    )


def calibration_error(confidences: Sequence[float], rights: Sequence[bool]) -> float:
    """Return the expected calibration error of confidences, from 0 to 1.

    This is the distance between mean confidence and the share of right answers, averaged over
    `CALIBRATION_BINS` of equal width weighted by size (Naeini et al., AAAI 2015). Raises ValueError
    if the lengths differ or are 0.
    """
    if not confidences:
        raise ValueError("Expected at least one confidence.")
    edges = [number / CALIBRATION_BINS for number in range(1, CALIBRATION_BINS)]
    held: list[list[float]] = [[] for _ in range(CALIBRATION_BINS)]
    for confidence, right in zip(confidences, rights, strict=True):
        held[bisect_right(edges, confidence)].append(confidence - right)
    return sum(abs(sum(gaps)) for gaps in held) / len(confidences)


def compare_answers(
    first: Sequence[JudgedAnswer], second: Sequence[JudgedAnswer], *, names: tuple[str, str]
) -> list[MetricDifference]:
    """Compare two runs over the same questions, figure by figure.

    Each figure is compared on the questions that it applies to in both runs, so words and noise on
    those that both answered. Raises ValueError if the questions or their order differ.
    """
    if [item.question for item in first] != [item.question for item in second]:
        raise ValueError("Expected the same questions in the same order.")
    compared = []
    for figure in FIGURES:
        both = [
            (fmean(one), fmean(other))
            for one, other in zip(
                map(figure.values, first), map(figure.values, second), strict=True
            )
            if one and other
        ]
        if both:
            found = compare_paired([a for a, _ in both], [b for _, b in both])
            run = MetricDifference(
                **asdict(found), first=names[0], second=names[1], metric=figure.name
            )
            compared.append(run)
    return compared


def _measure_group(answers: Sequence[JudgedAnswer]) -> GroupFigures:
    figures = {}
    for figure in FIGURES:
        values = [value for item in answers for value in figure.values(item)]
        if values:
            figures[figure.name] = fmean(values)
    return GroupFigures(len(answers), figures)


@dataclass(frozen=True, slots=True)
class AnswerRun:
    """The answers under one choice of settings, and their figures; ``missing`` are gold documents
    that are not in the index.
    """

    name: str
    store: str
    answers: tuple[JudgedAnswer, ...]
    measured: AnswerFigures
    missing: tuple[str, ...]


def describe_answer_runs(
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
            [rounded(measured.right.low), rounded(measured.right.high)] if measured.right else None
        ),
        "auroc": rounded(measured.auroc),
        "ece": rounded(measured.ece),
        "median_ms": round(measured.median_ms, 3),
        "median_cpu_ms": round(measured.median_cpu_ms, 3),
        "tokens": round(measured.tokens, 1),
        "missing_documents": list(run.missing),
        "by_type": {name: _describe_group(group) for name, group in measured.by_type.items()},
    }


def _describe_group(group: GroupFigures) -> dict[str, Any]:
    figures = {figure.name: rounded(group.figures.get(figure.name)) for figure in FIGURES}
    return {"questions": group.questions, **figures}


def _describe_answer(item: JudgedAnswer) -> dict[str, Any]:
    judgement, answer = item.judgement, item.answer
    return {
        "correct": item.is_correct,
        **fields_of(judgement, "right", "right_first", "found", "answered", "short_right", "words"),
        "cited": judgement.cites_gold,
        "noise": list(judgement.noise),
        "answer": answer.text,
        "short": answer.short,
        "documents": [citation.document for citation in answer.citations],
        "confidence": rounded(answer.confidence),
        "ms": round(1000 * item.seconds, 3),
        "cpu_ms": round(1000 * item.cpu_s, 3),
        "tokens": item.tokens,
        "notes": list(answer.notes),
    }


def rounded(value: float | None) -> float | None:
    """Return a figure as it is printed in JSON."""
    return None if value is None else round(value, 4)
