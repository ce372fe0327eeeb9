"""Learn the weights of a fusion of retrievers from questions with known documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from knotwork._extensions.evaluation.metrics import PairedComparison, compare_paired, recall
from knotwork._extensions.evaluation.questions import EvaluationCase
from knotwork._retrieval.retriever_registry import (
    RetrieverSum,
    parse_specification,
    show_specification,
)
from knotwork.errors import ConfigError, RetrievalError
from knotwork.records import Document, Evidence

RECALL_DEPTH = 5
"""Number of top documents for which recall is measured."""
FOLDS = 5
MIN_PART_WEIGHT = 0.01
"""Retrievers with a smaller weight are left out."""
_RIDGE = 1e-3
_STEEPEST = 50.0
_START = 5.0

PartWeights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FusionExample:
    """The results of the retrievers for one question.

    ``scores`` has shape (chunks, retrievers), with 1 for the best chunk of each retriever.
    ``facts`` has the rows that state each gold fact, ``documents`` the document id of each row.
    """

    scores: NDArray[np.float64]
    facts: tuple[NDArray[np.intp], ...]
    documents: tuple[str, ...]
    gold: tuple[frozenset[str], ...]

    def recall(self, weights: PartWeights) -> float:
        """Return the recall among the first `RECALL_DEPTH` documents with these weights."""
        order = np.argsort(-(self.scores @ weights), kind="stable")
        ranked = list(dict.fromkeys(self.documents[row] for row in order))
        return recall(ranked, self.gold, k=RECALL_DEPTH)


@dataclass(frozen=True, slots=True)
class FusionReport:
    """The learned fusion as a specification, and its recall in cross-validation.

    ``learned``, ``equal`` and ``single`` are recalls among the first `RECALL_DEPTH` documents: with
    weights learned from other questions, with equal weights, and of ``best``, the best retriever.
    """

    specification: str
    weights: Mapping[str, float]
    questions: int
    usable: int
    learned: float
    equal: float
    single: float
    best: str
    over_equal: PairedComparison
    over_best: PairedComparison


def read_parts(specification: str) -> list[str]:
    """Return the retrievers in a sum, each as a specification without its weight.

    Raises ConfigError if the specification is not a sum of at least two retrievers.
    """
    whole, *later = parse_specification(specification).stages
    if later or not isinstance(whole, RetrieverSum):
        raise ConfigError(
            f"`{specification}` is not a sum of retrievers.", fix="Write it as `graph + bm25`."
        )
    return [show_specification(part) for _, part in whole.parts]


def collect_fusion_examples(
    parts: Sequence[str], cases: Sequence[EvaluationCase], search: Callable[[str, str], Evidence]
) -> Iterator[FusionExample | None]:
    """Yield the example of each question, or None if no retriever found a gold document.

    ``search(question, retriever)`` returns evidence with up to `retrieval.fusion.FUSION_DEPTH`
    hits.
    """
    for case in cases:
        rows: dict[str, list[float]] = {}
        documents: dict[str, str] = {}
        for column, part in enumerate(parts):
            hits = search(case.question, part).hits
            best = max((hit.score for hit in hits), default=0.0)
            for hit in hits:
                row = rows.setdefault(hit.chunk.id, [0.0] * len(parts))
                row[column] = hit.score / best if best > 0 else 0.0
                documents[hit.chunk.id] = hit.chunk.document_id
        yield _example(case, rows, documents)


def _example(
    case: EvaluationCase, rows: Mapping[str, list[float]], documents: Mapping[str, str]
) -> FusionExample | None:
    gold = tuple(frozenset(Document(uri, "").id for uri in group) for group in case.gold)
    ids = sorted(rows)
    places = tuple(documents[identifier] for identifier in ids)
    facts = [np.flatnonzero([place in group for place in places]) for group in gold]
    found = tuple(fact for fact in facts if len(fact))
    if not found:
        return None
    return FusionExample(np.array([rows[i] for i in ids]), found, places, gold)


def fit_weights(examples: Sequence[FusionExample]) -> PartWeights:
    """Return non-negative weights with sum 1 that maximize the likelihood of gold chunks.

    The likelihood is a softmax of fused scores over the chunks of a question, with one factor per
    fact (the top-one probability of ListNet: Cao et al., ICML 2007). It is maximized by L-BFGS-B.
    """
    from scipy.optimize import minimize

    count = examples[0].scores.shape[1]
    objective: Callable[[PartWeights], tuple[float, PartWeights]] = lambda w: _loss(w, examples)  # noqa: E731
    fitted = minimize(
        objective,
        np.full(count, _START),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, _STEEPEST)] * count,
    )
    total = float(fitted.x.sum())
    return fitted.x / total if total > 0 else np.full(count, 1 / count)


def _loss(weights: PartWeights, examples: Sequence[FusionExample]) -> tuple[float, PartWeights]:
    value, slope = _RIDGE * float(weights @ weights), 2 * _RIDGE * weights
    for example in examples:
        fused = example.scores @ weights
        exponents = np.exp(fused - fused.max())
        mean_of_all = exponents @ example.scores / exponents.sum()
        for fact in example.facts:
            inside = exponents[fact]
            share = len(example.facts) * len(examples)
            value -= float(np.log(inside.sum() / exponents.sum())) / share
            slope = slope - (inside @ example.scores[fact] / inside.sum() - mean_of_all) / share
    return value, slope


def train_fusion(parts: Sequence[str], found: Sequence[FusionExample | None]) -> FusionReport:
    """Learn the weights of a fusion, and measure them by five-fold cross-validation.

    ``found`` is the result of `collect_fusion_examples`. Raises RetrievalError if the retrievers
    found a gold document for fewer than five questions.
    """
    examples = [example for example in found if example is not None]
    if len(examples) < FOLDS:
        raise RetrievalError(
            f"The retrievers found a gold document for {len(examples)} of {len(found)} questions; "
            f"at least {FOLDS} are required.",
            fix="Add questions, or check that `gold_pids` are documents of this index.",
        )
    count = len(parts)
    learned = _held_back(examples)
    equal = [example.recall(np.full(count, 1 / count)) for example in examples]
    alone = [[example.recall(row) for example in examples] for row in np.eye(count)]
    best = max(range(count), key=lambda column: fmean(alone[column]))
    weights = dict(zip(parts, map(float, fit_weights(examples)), strict=True))
    share = len(examples) / len(found)
    return FusionReport(
        specification=write_specification(weights),
        weights=weights,
        questions=len(found),
        usable=len(examples),
        learned=share * fmean(learned),
        equal=share * fmean(equal),
        single=share * fmean(alone[best]),
        best=parts[best],
        over_equal=compare_paired(learned, equal),
        over_best=compare_paired(learned, alone[best]),
    )


def _held_back(examples: Sequence[FusionExample]) -> list[float]:
    """Return the recall of each question with weights learned from the other folds."""
    recalls = [0.0] * len(examples)
    for fold in range(FOLDS):
        others = [example for place, example in enumerate(examples) if place % FOLDS != fold]
        weights = fit_weights(others)
        for place in range(fold, len(examples), FOLDS):
            recalls[place] = examples[place].recall(weights)
    return recalls


def write_specification(weights: Mapping[str, float]) -> str:
    """Return the specification of a fusion with weights rounded to hundredths."""
    kept = {part: weight for part, weight in weights.items() if weight >= MIN_PART_WEIGHT}
    if len(kept) == 1:
        return next(iter(kept))
    terms = []
    for part, weight in kept.items():
        has_steps = len(parse_specification(part).stages) > 1
        terms.append(f"{weight:.2f}*({part})" if has_steps else f"{weight:.2f}*{part}")
    return show_specification(parse_specification(" + ".join(terms)))
