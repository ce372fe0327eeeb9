"""Rules that all local rerankers share: how pairs of texts are read and scores checked."""

from __future__ import annotations

import math
from collections.abc import Iterable

from knotwork.errors import ModelError

MAX_TOKENS = 512
"""Of question and text together, if the model does not set fewer; what is longer is cut off."""


def check_scores(scores: Iterable[float], *, source: str) -> list[float]:
    """Return the scores as floats. Raises ModelError if one is not finite."""
    found = [float(score) for score in scores]
    if not all(math.isfinite(score) for score in found):
        raise ModelError(f"The model `{source}` gave scores that are not numbers.")
    return found


def check_score_count(count: int, *, source: str) -> None:
    """Raise ModelError if a model gives several scores for a text."""
    if count != 1:
        raise ModelError(
            f"The model `{source}` gives {count} scores for a text, and not one.",
            fix="Choose a cross-encoder for ranking.",
        )
