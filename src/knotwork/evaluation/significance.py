"""Whether two retrievers differ on the same questions by more than chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """A paired comparison: mean difference (first minus second), wins, losses, two-sided p."""

    difference: float
    wins: int
    losses: int
    p_value: float


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
    signs = np.random.default_rng(seed).choice((-1.0, 1.0), size=(DRAWS, len(moved)))
    drawn = np.abs(signs @ moved)
    extreme = int((drawn >= abs(moved.sum()) - 1e-12).sum())
    return Comparison(mean, wins, losses, (extreme + 1) / (DRAWS + 1))
