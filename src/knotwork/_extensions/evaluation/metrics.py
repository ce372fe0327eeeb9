"""Metrics of rankings, answers and confidence, and the statistics of their differences."""

from __future__ import annotations

import math
import re
import string
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from knotwork._text.languages import HAN_AND_KANA

Gold = Sequence[Collection[str]]
"""For each required fact, the passages that state it."""


def recall(ranked: Sequence[str], gold: Gold, *, k: int) -> float:
    """Return the share of facts stated by a passage among the first ``k``."""
    if not gold:
        return 0.0
    top = set(ranked[:k])
    return sum(not top.isdisjoint(group) for group in gold) / len(gold)


def all_gold(ranked: Sequence[str], gold: Gold, *, k: int) -> float:
    """Return 1 if the first ``k`` passages state every fact, else 0."""
    return float(bool(gold) and recall(ranked, gold, k=k) == 1.0)


def hits(ranked: Sequence[str], gold: Gold, *, k: int) -> float:
    """Return 1 if the first ``k`` passages state any fact, else 0.

    This is Hits@k of the evaluation script of MultiHop-RAG (Tang and Yang, COLM 2024).
    """
    return float(recall(ranked, gold, k=k) > 0.0)


def reciprocal_rank(ranked: Sequence[str], gold: Gold) -> float:
    """Return the reciprocal rank of the first passage that states a fact, or 0."""
    wanted = {uri for group in gold for uri in group}
    return next((1.0 / rank for rank, uri in enumerate(ranked, start=1) if uri in wanted), 0.0)


METRICS: Mapping[str, Callable[[Sequence[str], Gold], float]] = {
    "recall@2": lambda ranked, gold: recall(ranked, gold, k=2),
    "recall@5": lambda ranked, gold: recall(ranked, gold, k=5),
    "recall@10": lambda ranked, gold: recall(ranked, gold, k=10),
    "all_gold@5": lambda ranked, gold: all_gold(ranked, gold, k=5),
    "all_gold@8": lambda ranked, gold: all_gold(ranked, gold, k=8),
    "mrr": reciprocal_rank,
}
"""The metrics of `knotwork eval`, by name."""


_ARTICLES = frozenset({"a", "an", "the"})
_WIDE = re.compile(f"([{HAN_AND_KANA}])")
_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)
_VERDICTS = frozenset({"yes", "no"})


def normalize_as_squad(text: str) -> tuple[str, ...]:
    """Return the normalized words of an answer.

    Like the evaluation script of SQuAD (Rajpurkar et al., EMNLP 2016): in lower case, without
    punctuation and articles. As in the script of CMRC 2018, each Chinese character is a word;
    character widths are unified. Punctuation beyond ASCII separates words.
    """
    folded = unicodedata.normalize("NFKC", text).lower().translate(_ASCII_PUNCTUATION)
    kept = "".join(" " if unicodedata.category(c).startswith("P") else c for c in folded)
    return tuple(word for word in _WIDE.sub(r" \1 ", kept).split() if word not in _ARTICLES)


def contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Return True if ``text`` contains the normalized words of an answer as a sequence."""
    words = f" {' '.join(normalize_as_squad(text))} "
    wanted = [normalize_as_squad(answer) for answer in answers]
    return any(f" {' '.join(answer)} " in words for answer in wanted if answer)


def is_verdict(answers: Sequence[str]) -> bool:
    """Return True if the answer is "yes" or "no", which sources do not contain."""
    return any(" ".join(normalize_as_squad(answer)) in _VERDICTS for answer in answers)


def separation(answerable: Sequence[float], unanswerable: Sequence[float]) -> float:
    """Return the probability that an answerable question has a higher confidence than another.

    This is the area under the ROC curve (Mann-Whitney U divided by the number of pairs, ties count
    half); 0.5 is chance. Returns NaN if either side is empty.
    """
    if not answerable or not unanswerable:
        return float("nan")
    gaps = np.subtract.outer(np.asarray(answerable, float), np.asarray(unanswerable, float))
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


CALIBRATION_BINS = 10
"""Number of bins of confidence for the calibration error."""


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


DRAWS = 10_000
_MOST_SIGNS = 16_000_000
_BLOCK_SIGNS = 4_000_000
"""Maximum number of random signs drawn at a time: for all draws, or for one block of them."""
Z_95 = 1.959964
"""The 97.5th percentile of the standard normal distribution."""


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """A paired comparison: mean of first minus second, wins and losses of first, two-sided p."""

    difference: float
    wins: int
    losses: int
    p_value: float


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def estimate_mean(values: Sequence[float]) -> MeanEstimate | None:
    """Return the mean of values from 0 to 1 with its 95 % interval, or None without values.

    This is the score interval of a proportion (Wilson, JASA 1927). For values other than 0 and 1
    it is wider than necessary, since these two have the greatest variance for a given mean. Unlike
    a bootstrap interval, it has a positive width even if a few questions all have the same result.
    """
    if not values:
        return None
    number, mean = len(values), fmean(values)
    spread = Z_95**2 / number
    middle = (mean + spread / 2) / (1 + spread)
    margin = math.sqrt(spread * (mean * (1 - mean) + spread / 4)) / (1 + spread)
    return MeanEstimate(
        mean, max(0.0, min(mean, middle - margin)), min(1.0, max(mean, middle + margin))
    )


def compare_paired(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0
) -> PairedComparison:
    """Compare two lists of values, question by question, with a sign-flip permutation test.

    Under the null hypothesis, the sign of each difference is random (Fisher's randomization test;
    Smucker et al., CIKM 2007). The p-value counts the observed assignment as one of the draws.
    Raises ValueError if the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"Paired values differ in length: {len(first)} and {len(second)}.")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    moved = differences[differences != 0]
    mean = float(differences.mean()) if len(differences) else 0.0
    if not len(moved):
        return PairedComparison(mean, wins, losses, 1.0)
    drawn = np.abs(_draw_sums(moved, np.random.default_rng(seed)))
    extreme = int((drawn >= abs(moved.sum()) - 1e-12).sum())
    return PairedComparison(mean, wins, losses, (extreme + 1) / (DRAWS + 1))


def _draw_sums(moved: NDArray[np.float64], chance: np.random.Generator) -> NDArray[np.float64]:
    """Return the sum of the differences with random signs, for each draw."""
    number = len(moved)
    if DRAWS * number <= _MOST_SIGNS:
        signs = chance.choice((-1.0, 1.0), size=(DRAWS, number))
        return np.asarray(signs @ moved, dtype=np.float64)
    # A signed sum is twice the sum of the positive terms minus the sum of all. Signs are bits drawn
    # in blocks, so that thousands of questions need little time and memory.
    sums = np.empty(DRAWS)
    rows, width = max(1, _BLOCK_SIGNS // number), -(-number // 8)
    for begin in range(0, DRAWS, rows):
        end = min(begin + rows, DRAWS)
        coins = np.frombuffer(chance.bytes((end - begin) * width), np.uint8)
        heads = np.unpackbits(coins.reshape(-1, width), axis=1, count=number)
        sums[begin:end] = 2.0 * (heads.astype(np.float64) @ moved) - moved.sum()
    return sums


@dataclass(frozen=True, slots=True)
class MetricDifference(PairedComparison):
    """A comparison of the run ``first`` with ``second`` on one metric over the same questions."""

    first: str
    second: str
    metric: str


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
