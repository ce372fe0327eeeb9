"""Cosines of different embedders on one scale.

The cosines of some models lie in a narrow band: those of E5, trained with a low temperature, are
0.75 for unrelated texts and 0.9 for a question and its answer. Code that compares cosines with
constants, or adds them to other evidence, first moves the cosine of unrelated texts to 0 and leaves
1 at 1. The order never changes.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Cosines = TypeVar("Cosines", float, NDArray[np.float32], NDArray[np.float64])

_BASELINES = {
    "local:multilingual-e5-*": 0.75,
    "*e5-small*": 0.75,
    "*e5-base*": 0.72,
    "*e5-large*": 0.72,
    "*text-embedding-ada-002*": 0.7,
}
"""The mean cosine of unrelated texts by patterns of embedder names; the first that fits counts."""


def baseline_cosine(embedder: str) -> float:
    """Return the mean cosine of unrelated texts for an embedder of this name; 0 if not known."""
    return next(
        (value for pattern, value in _BASELINES.items() if fnmatchcase(embedder, pattern)), 0.0
    )


def to_similarity(cosines: Cosines, embedder: str) -> Cosines:
    """Return cosines as similarities: 0 for unrelated texts, 1 for equal ones."""
    baseline = baseline_cosine(embedder)
    return (cosines - baseline) / (1.0 - baseline) if baseline else cosines
