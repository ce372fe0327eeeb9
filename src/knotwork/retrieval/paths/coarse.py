"""The coarse ranking: boosted trees over features of a pattern and the question.

The model that ships was trained on questions of knowledge bases and on questions made of relation
names; `knotwork train paths` trains another. It is run without LightGBM (see `trees`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from knotwork.errors import ConfigError
from knotwork.retrieval.paths.enumeration import Pattern
from knotwork.retrieval.paths.features import FEATURES
from knotwork.retrieval.paths.search import Candidates
from knotwork.retrieval.paths.trees import Trees, parse_trees

SHIPPED = "data/relation_paths.model"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A pattern with the log-odds that it answers the question, and what they are made of."""

    pattern: Pattern
    score: float
    scores: dict[str, float]

    @property
    def probability(self) -> float:
        return sigmoid(self.score)


def sigmoid(odds: float) -> float:
    """Return the probability that log-odds stand for."""
    return 1.0 / (1.0 + math.exp(-min(max(odds, -30.0), 30.0)))


@cache
def shipped_trees() -> Trees:
    """Return the model that ships beside this module."""
    text = files("knotwork.retrieval.paths").joinpath(SHIPPED).read_text("utf-8")
    return check_trees(parse_trees(text), SHIPPED)


def read_trees(path: Path) -> Trees:
    """Read a model that `knotwork train paths` wrote. Raises ConfigError for another file."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The model `{path}` cannot be read: {error}.") from error
    return check_trees(parse_trees(text), str(path))


def check_trees(trees: Trees, place: str) -> Trees:
    """Return the trees if they were trained on the features of today, else raise ConfigError."""
    if trees.features != FEATURES:
        raise ConfigError(
            f"The model `{place}` was trained on other features of paths.",
            fix="Train it again: knotwork train paths.",
        )
    return trees


def rank_coarsely(candidates: Candidates, trees: Trees) -> list[Ranked]:
    """Return the patterns of a question, the likeliest first; ties keep the enumerated order."""
    if not candidates.patterns:
        return []
    odds = trees.predict(candidates.rows())
    order = np.argsort(-odds, kind="stable")
    return [
        Ranked(candidates.patterns[i], float(odds[i]), {"coarse": float(odds[i])}) for i in order
    ]
