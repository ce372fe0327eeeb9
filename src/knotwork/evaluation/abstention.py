"""What abstaining gains and costs, for every confidence below which no answer is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(21))


@dataclass(frozen=True, slots=True)
class Abstention:
    """Shares abstained on: of questions without an answer (right), of others (wrong)."""

    threshold: float
    unanswerable: float
    answerable: float


def share_below(confidences: Sequence[float], threshold: float) -> float:
    """Return the share of confidences below a threshold; 0 of none."""
    return sum(value < threshold for value in confidences) / max(len(confidences), 1)


def abstention_curve(
    answerable: Sequence[float],
    unanswerable: Sequence[float],
    *,
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[Abstention]:
    """Return one point for each threshold, given the confidences of both kinds of questions."""
    return [
        Abstention(
            threshold, share_below(unanswerable, threshold), share_below(answerable, threshold)
        )
        for threshold in thresholds
    ]


def separation(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """Return how often an answerable question gets more confidence than another, ties half.

    This is the area under the curve (Mann-Whitney U over the number of pairs); 0.5 is chance. NaN
    when either side is empty.
    """
    if not answerable or not unanswerable:
        return float("nan")
    gaps = np.subtract.outer(np.asarray(answerable, float), np.asarray(unanswerable, float))
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())
