"""The figures of judged answers: how often they are right, short and honest, and at what cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from knotwork.evaluation.abstention import separation
from knotwork.evaluation.answer_runs import JudgedAnswer
from knotwork.evaluation.report import Difference
from knotwork.evaluation.significance import Estimate, compare_paired, estimate_mean

BINS = 10
"""Of confidences, for their calibration error."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over answers; ``values`` returns what one answer adds to it, nothing if it is not
    concerned. ``column`` is the short form of its label.
    """

    name: str
    column: str
    label: str
    values: Callable[[JudgedAnswer], Sequence[float]]
    is_share: bool = True


def _if_answerable(value: Callable[[JudgedAnswer], bool]) -> Callable[[JudgedAnswer], list[float]]:
    """Return a figure's values: 0 or 1 for a question that has an answer."""
    return lambda item: [float(value(item))] if item.question.is_answerable else []


def _cited(item: JudgedAnswer) -> list[float]:
    cites_gold = item.judgement.cites_gold
    return [] if cites_gold is None else [float(cites_gold)]


def _words(item: JudgedAnswer) -> list[float]:
    is_printed = item.question.is_answerable and item.judgement.answered
    return [item.judgement.words] if is_printed else []


def _short(item: JudgedAnswer) -> list[float]:
    judgement = item.judgement
    return [float(judgement.short_right is not None)] if judgement.answered else []


def _short_right(item: JudgedAnswer) -> list[float]:
    is_right = item.judgement.short_right
    return [] if is_right is None else [float(is_right)]


def _refused_rightly(item: JudgedAnswer) -> list[float]:
    return [] if item.question.is_answerable else [float(not item.judgement.answered)]


FIGURES = (
    Figure("right", "right", "Right", _if_answerable(lambda item: item.judgement.right)),
    Figure(
        "right_first",
        "first",
        "Right in the first sentence",
        _if_answerable(lambda item: item.judgement.right_first),
    ),
    Figure(
        "found",
        "found",
        "Answer in the passages found",
        _if_answerable(lambda item: item.judgement.found),
    ),
    Figure("cited", "cited", "Cites a gold document", _cited),
    Figure(
        "noise",
        "noise",
        "Sentences that are noise",
        lambda item: [float(noise) for noise in item.judgement.noise],
    ),
    Figure("words", "words", "Words in an answer", _words, is_share=False),
    Figure("short", "short", "Gives a short answer", _short),
    Figure("short_right", "short ok", "Right short answers", _short_right),
    Figure("refused_rightly", "refused", "Refused what is not there", _refused_rightly),
    Figure(
        "refused_wrongly",
        "wrongly",
        "Refused wrongly",
        _if_answerable(lambda item: not item.judgement.answered),
    ),
)
"""What is measured of every answer; `docs/evaluation.md` defines them."""


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of some questions, by name; one that concerns none of them is missing."""

    questions: int
    figures: dict[str, float]


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures of a run.

    ``right`` has the share of right answers with its 95 % interval, None if no question has one.
    ``auroc`` is the probability that a right answer has more confidence than another, None where
    all or none are right; ``ece`` the expected calibration error. Both leave out answers without a
    confidence. ``median_ms`` and
    ``median_cpu_ms`` are of a question, ``tokens`` of a language model the mean of a question.
    """

    overall: Group
    by_type: dict[str, Group]
    right: Estimate | None
    auroc: float | None
    ece: float | None
    median_ms: float
    median_cpu_ms: float
    tokens: float


def measure_answers(answers: Sequence[JudgedAnswer]) -> Measured:
    """Return the figures of all answers, and by type of question where types are given.

    Raises ValueError for no answers.
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
    return Measured(
        overall=_group(answers),
        by_type={name: _group(items) for name, items in of_type.items()},
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


def calibration_error(
    confidences: Sequence[float], rights: Sequence[bool], *, bins: int = BINS
) -> float:
    """Return the expected calibration error: how far confidence is from the share of right answers.

    The mean over ``bins`` of equal width, weighed by their answers (Naeini et al., AAAI 2015).
    Raises ValueError when the lengths differ or are 0.
    """
    if not confidences:
        raise ValueError("Expected at least one confidence.")
    edges = [number / bins for number in range(1, bins)]
    held: list[list[float]] = [[] for _ in range(bins)]
    for confidence, right in zip(confidences, rights, strict=True):
        held[bisect_right(edges, confidence)].append(confidence - right)
    return sum(abs(sum(gaps)) for gaps in held) / len(confidences)


def compare_answers(
    first: Sequence[JudgedAnswer], second: Sequence[JudgedAnswer], *, names: tuple[str, str]
) -> list[Difference]:
    """Compare two runs over the same questions, in equal order, figure by figure.

    A figure is compared on the questions that it concerns in both runs: words and noise on those
    that both answered. Raises ValueError when the questions differ.
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
            compared.append(
                Difference(
                    *names, figure.name, found.difference, found.wins, found.losses, found.p_value
                )
            )
    return compared


def _group(answers: Sequence[JudgedAnswer]) -> Group:
    figures = {}
    for figure in FIGURES:
        values = [value for item in answers for value in figure.values(item)]
        if values:
            figures[figure.name] = fmean(values)
    return Group(len(answers), figures)
