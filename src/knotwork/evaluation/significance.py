"""Whether two retrievers differ on the same questions by more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

DRAWS = 10_000
_MOST_SIGNS = 16_000_000
_BLOCK_SIGNS = 4_000_000
"""Signs that are drawn at a time, at most: all, or those of a block."""
_Z_95 = 1.959964
"""The standard normal deviate that leaves 2.5 % on either side."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison: mean difference (first minus second), wins, losses, two-sided p."""

    difference: float
    wins: int
    losses: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the bounds between which it lies with 95 % confidence."""

    mean: float
    low: float
    high: float


def estimate_mean(values: Sequence[float]) -> Estimate | None:
    """Return the mean of values from 0 to 1 with its 95 % interval; None of no values.

    The score interval of a share (Wilson, JASA 1927). For values between 0 and 1 that are not only
    those two it is wider than need be, as none have a greater variance with the same mean; unlike
    the bootstrap it does not shrink to nothing where all of a few questions came out alike.
    """
    if not values:
        return None
    number, mean = len(values), fmean(values)
    spread = _Z_95**2 / number
    middle = (mean + spread / 2) / (1 + spread)
    margin = math.sqrt(spread * (mean * (1 - mean) + spread / 4)) / (1 + spread)
    return Estimate(
        mean, max(0.0, min(mean, middle - margin)), min(1.0, max(mean, middle + margin))
    )


def compare_paired(first: Sequence[float], second: Sequence[float], *, seed: int = 0) -> Comparison:
    """Compare two retrievers question by question with a sign-flip permutation test.

    Under the null hypothesis the sign of each difference is a coin toss (Fisher's randomization
    test; Smucker et al., CIKM 2007). The p-value counts the observed split among the draws.
    Raises ValueError when the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError("Paired values must have equal lengths.")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    moved = differences[differences != 0]
    mean = float(differences.mean()) if len(differences) else 0.0
    if not len(moved):
        return Comparison(mean, wins, losses, 1.0)
    drawn = np.abs(_draw_sums(moved, np.random.default_rng(seed)))
    extreme = int((drawn >= abs(moved.sum()) - 1e-12).sum())
    return Comparison(mean, wins, losses, (extreme + 1) / (DRAWS + 1))


def _draw_sums(moved: NDArray[np.float64], chance: np.random.Generator) -> NDArray[np.float64]:
    """Return the sums of differences under coin tosses, one for each draw."""
    number = len(moved)
    if DRAWS * number <= _MOST_SIGNS:
        signs = chance.choice((-1.0, 1.0), size=(DRAWS, number))
        return np.asarray(signs @ moved, dtype=np.float64)
    # A sum with signs is twice that of the heads less that of all; coins are bits, a block of draws
    # at a time, so that thousands of questions take neither long nor much memory.
    sums = np.empty(DRAWS)
    rows, width = max(1, _BLOCK_SIGNS // number), -(-number // 8)
    for begin in range(0, DRAWS, rows):
        end = min(begin + rows, DRAWS)
        coins = np.frombuffer(chance.bytes((end - begin) * width), np.uint8)
        heads = np.unpackbits(coins.reshape(-1, width), axis=1, count=number)
        sums[begin:end] = 2.0 * (heads.astype(np.float64) @ moved) - moved.sum()
    return sums
