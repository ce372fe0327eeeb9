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
from knotwork.retrieval.paths.trees import Rows, Trees, parse_trees
from knotwork.stores.base import Store

EQUAL = 0.9
"""Overlap (F1) of a pattern's answers with the known ones from which it counts as right."""
_HELD_BACK = 5
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


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """A trained model, and how it ranks the questions that were held back.

    ``right_at_1`` and ``right_at_3`` are shares of the questions held back whose right pattern is
    first, or among the first three, as ranked by a model that did not see them; the ``model``
    itself saw all. ``importances`` are shares of the gain by feature, the largest first.
    """

    model: str
    questions: int
    usable: int
    held_back: int
    right_at_1: float
    right_at_3: float
    importances: dict[str, float]


def train_ranker(
    store: Store,
    questions: Sequence[PathQuestion],
    *,
    settings: TrainingSettings | None = None,
    seed: int = 0,
) -> TrainingReport:
    """Train a ranker on questions about a store, with every fifth held back for the report."""
    examples = list(collect_examples(store, questions))
    order = np.random.default_rng(seed).permutation(len(examples)).tolist()
    held = [examples[i] for i in order[::_HELD_BACK]]
    rest = [examples[i] for place, i in enumerate(order) if place % _HELD_BACK]
    trial = parse_trees(fit_ranker(rest, settings))
    model = fit_ranker(examples, settings)
    trees = parse_trees(model)
    gains = dict(zip(trees.features, trees.gains, strict=True))
    total = sum(gains.values()) or 1.0
    ranked = sorted(gains, key=lambda name: (-gains[name], name))
    return TrainingReport(
        model=model,
        questions=len(questions),
        usable=sum(bool(one.labels.any()) for one in examples),
        held_back=len(held),
        right_at_1=measure_ranker(trial, held, k=1),
        right_at_3=measure_ranker(trial, held, k=3),
        importances={name: gains[name] / total for name in ranked},
    )


def measure_ranker(trees: Trees, examples: Sequence[Examples], *, k: int) -> float:
    """Return the share of questions with a pattern of the right answers among the first ``k``."""
    if not examples:
        return 0.0
    right = 0
    for one in examples:
        order = np.argsort(-trees.predict(one.rows), kind="stable")[:k]
        right += bool((one.overlaps[order] >= EQUAL).any())
    return right / len(examples)
