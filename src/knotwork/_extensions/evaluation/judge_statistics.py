"""Statistics of judged values: bootstrap intervals, agreement, and prediction-powered means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from knotwork._extensions.evaluation.metrics import Z_95, MeanEstimate, estimate_mean

RESAMPLES = 2_000
_BLOCK_INDICES = 2_000_000
"""Maximum number of indices drawn at a time, so that many values need little memory."""
POSITIVE_FROM = 0.5
"""The value from which a score or a label counts as positive for accuracy and kappa."""


def bootstrap_mean(values: Sequence[float], *, seed: int = 0) -> MeanEstimate | None:
    """Return the mean of values in [0, 1] with its 95 % interval, or None without values.

    This is the percentile bootstrap over the values (Efron, Annals of Statistics 1979), with
    `RESAMPLES` drawn from ``seed``. Equal values would give an interval without width, so they get
    the score interval of `estimate_mean`.
    """
    if not values:
        return None
    data = np.asarray(values, dtype=np.float64)
    if data.min() == data.max() and 0.0 <= data[0] <= 1.0:
        return estimate_mean(values)
    chance = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    rows = max(1, _BLOCK_INDICES // len(data))
    for begin in range(0, RESAMPLES, rows):
        end = min(begin + rows, RESAMPLES)
        drawn = chance.integers(0, len(data), size=(end - begin, len(data)))
        means[begin:end] = data[drawn].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return MeanEstimate(fmean(values), float(low), float(high))


def accuracy(labels: Sequence[bool], verdicts: Sequence[bool]) -> float:
    """Return the share of equal pairs. Raises ValueError without pairs or for unequal lengths."""
    if not labels:
        raise ValueError("Expected at least one label.")
    return fmean(a is b for a, b in zip(labels, verdicts, strict=True))


def cohen_kappa(labels: Sequence[bool], verdicts: Sequence[bool]) -> float | None:
    """Return Cohen's kappa of two raters: their agreement beyond chance, at most 1.

    ``(p_o - p_e) / (1 - p_e)``, with the observed agreement ``p_o`` and the agreement ``p_e`` that
    independent raters with these shares would have (Cohen, Educational and Psychological
    Measurement 1960). None if both raters give all items the same verdict, as 0 / 0 is undefined.
    Raises as `accuracy`.
    """
    observed = accuracy(labels, verdicts)
    p, q = fmean(labels), fmean(verdicts)
    expected = p * q + (1 - p) * (1 - q)
    if expected == 1.0:
        return None
    return (observed - expected) / (1 - expected)


@dataclass(frozen=True, slots=True)
class PoweredMean(MeanEstimate):
    """A prediction-powered mean with its 95 % interval.

    ``shift`` was added to the judge's mean over the cases without labels.
    """

    shift: float


def prediction_powered_mean(
    judged: Sequence[float], labelled: Sequence[float], labels: Sequence[float]
) -> PoweredMean | None:
    """Return the mean of ``judged``, corrected by the judge's error on labelled cases.

    ``judged`` are the judge's values of the cases without labels, ``labelled`` its values of the
    cases with ``labels``. The mean is ``mean(judged) + mean(labels - labelled)``, with the normal
    interval of the variance ``var(judged) / N + var(labels - labelled) / n`` (prediction-powered
    inference for a mean: Angelopoulos et al., Science 2023, as ARES applies it, Saad-Falcon et al.
    2023). The interval is not cut at 0 and 1. None with fewer than two cases on either side. Raises
    ValueError if the lengths of ``labelled`` and ``labels`` differ.
    """
    errors = [label - value for label, value in zip(labels, labelled, strict=True)]
    if len(judged) < 2 or len(errors) < 2:
        return None
    shift = fmean(errors)
    mean = fmean(judged) + shift
    variance = np.var(judged, ddof=1) / len(judged) + np.var(errors, ddof=1) / len(errors)
    margin = Z_95 * math.sqrt(float(variance))
    return PoweredMean(mean, mean - margin, mean + margin, shift)
