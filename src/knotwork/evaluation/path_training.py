"""Training the coarse ranker of paths: examples out of questions with answers, and the fit.

The trees are LightGBM's; what comes out is its text form, which `retrieval.paths.trees` runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import MissingExtra, RetrievalError
from knotwork.evaluation.path_questions import PathQuestion
from knotwork.retrieval.paths.features import FEATURES
from knotwork.retrieval.paths.search import find_candidates
from knotwork.retrieval.paths.trees import Rows
from knotwork.stores.base import Store

EQUAL = 0.9
"""Overlap (F1) of a pattern's answers with the known ones from which it counts as right."""
LEAST = 0.5
"""Overlap from which the best pattern counts as right where none is `EQUAL`."""


@dataclass(frozen=True, slots=True)
class Examples:
    """The patterns of one question: their features, and the overlap of each with its answers."""

    rows: Rows
    overlaps: NDArray[np.float64]

    @property
    def labels(self) -> NDArray[np.bool_]:
        """Which patterns are right."""
        best = self.overlaps.max(initial=0.0)
        bar = EQUAL if best >= EQUAL else max(best, LEAST)
        return self.overlaps >= bar


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How the trees are grown: few, small and slow, since questions come from few sources."""

    trees: int = 150
    leaves: int = 7
    rate: float = 0.06
    least_in_leaf: int = 40
    l2: float = 5.0
    share: float = 0.8
    seed: int = 7


def collect_examples(store: Store, questions: Iterable[PathQuestion]) -> Iterator[Examples]:
    """Yield the patterns of each question for which there are any."""
    for question in questions:
        found = find_candidates(question.text, store)
        if not found.patterns:
            continue
        overlaps = [
            overlap(frozenset(pattern.answers), question.answers) for pattern in found.patterns
        ]
        yield Examples(found.rows(), np.array(overlaps))


def overlap(found: frozenset[str], wanted: frozenset[str]) -> float:
    """Return the F1 of two sets, from 0 to 1."""
    both = len(found | wanted) and len(found) + len(wanted)
    return 2 * len(found & wanted) / both if both else 0.0


def fit_ranker(examples: Sequence[Examples], settings: TrainingSettings | None = None) -> str:
    """Fit trees that tell right patterns from wrong ones; return them in LightGBM's text form.

    Every question weighs the same. Raises MissingExtra without LightGBM, RetrievalError when no
    question has a right pattern.
    """
    try:
        import lightgbm
    except ImportError as error:
        raise MissingExtra("Training a ranker of paths", "rank") from error
    chosen = settings or TrainingSettings()
    usable = [one for one in examples if one.labels.any()]
    if not usable:
        raise RetrievalError(
            "No path of the graph leads to the answers of any of the questions.",
            fix="Check that the answers are names of entities, and that the graph has relations.",
        )
    weights = [np.full(len(one.rows), 100 / len(one.rows)) for one in usable]
    data = lightgbm.Dataset(
        np.concatenate([one.rows for one in usable]),
        np.concatenate([one.labels for one in usable]).astype(np.float64),
        weight=np.concatenate(weights),
        feature_name=list(FEATURES),
    )
    parameters = {
        "objective": "binary",
        "num_leaves": chosen.leaves,
        "learning_rate": chosen.rate,
        "min_child_samples": chosen.least_in_leaf,
        "lambda_l2": chosen.l2,
        "feature_fraction": chosen.share,
        "bagging_fraction": chosen.share,
        "bagging_freq": 1,
        "seed": chosen.seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    model = lightgbm.train(parameters, data, chosen.trees)
    trees, mark, _ = str(model.model_to_string()).partition("end of trees")
    return f"{trees}{mark}\n"
