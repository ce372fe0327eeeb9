"""The shares of right and of wrong abstention at thresholds of confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(21))


@dataclass(frozen=True, slots=True)
class AbstentionPoint:
    """The shares of unanswerable and of answerable questions below a threshold of confidence."""

    threshold: float
    unanswerable: float
    answerable: float


def share_below(confidences: Sequence[float], threshold: float) -> float:
    """Return the share of confidences below a threshold, or 0 without any."""
    return sum(value < threshold for value in confidences) / max(len(confidences), 1)


def abstention_curve(
    answerable: Sequence[float],
    unanswerable: Sequence[float],
    *,
    thresholds: Sequence[float] = THRESHOLDS,
) -> list[AbstentionPoint]:
    """Return the point of each threshold for the confidences of both kinds of questions."""
    return [
        AbstentionPoint(
            threshold, share_below(unanswerable, threshold), share_below(answerable, threshold)
        )
        for threshold in thresholds
    ]
