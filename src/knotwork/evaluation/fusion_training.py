"""Train the weights of a fusion of retrievers on questions with known documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from knotwork.errors import ConfigError, RetrievalError
from knotwork.evaluation.datasets import EvaluationCase
from knotwork.evaluation.metrics import PairedComparison, compare_paired, recall
from knotwork.records import Document, Evidence
from knotwork.retrieval.specification_grammar import (
    RetrieverSum,
    parse_specification,
    show_specification,
)

RECALL_DEPTH = 5
"""Places in which recall is measured."""
FOLDS = 5
MIN_PART_WEIGHT = 0.01
"""A share below which a retriever is left out."""
_RIDGE = 1e-3
_STEEPEST = 50.0
_START = 5.0

PartWeights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FusionExample:
    """What the retrievers found for one question.

    ``scores`` has a row for each chunk and a column for each retriever, 1 for its best; ``facts``
    the rows that give each fact of the gold; ``documents`` the document of each row.
    """

    scores: NDArray[np.float64]
    facts: tuple[NDArray[np.intp], ...]
    documents: tuple[str, ...]
    gold: tuple[frozenset[str], ...]

    def recall(self, weights: PartWeights) -> float:
        """Return recall among the first `K` documents of the fusion with these weights."""
        order = np.argsort(-(self.scores @ weights), kind="stable")
        ranked = list(dict.fromkeys(self.documents[row] for row in order))
        return recall(ranked, self.gold, k=RECALL_DEPTH)


@dataclass(frozen=True, slots=True)
class FusionReport:
    """The learned fusion as a specification, and how well it does on questions not learned from.

    ``learned``, ``equal`` and ``single`` are recalls in the first `K` places: with weights learned
    from the other questions, with equal weights, and of the best retriever alone, ``best``.
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
    """Return the retrievers that a sum joins, each as a specification, without their weights.

    Raises ConfigError for what is no sum of at least two.
    """
    whole, *later = parse_specification(specification).stages
    if later or not isinstance(whole, RetrieverSum):
        raise ConfigError(
            f"`{specification}` joins no retrievers.", fix="Write for example `graph + bm25`."
        )
    return [show_specification(part) for _, part in whole.parts]


def collect_fusion_examples(
    parts: Sequence[str], cases: Sequence[EvaluationCase], search: Callable[[str, str], Evidence]
) -> Iterator[FusionExample | None]:
    """Yield what was found for each question; None where no retriever found a gold document.

    ``search`` returns the evidence of a question, given with the retriever to ask, and should give
    `retrieval.fusion.DEPTH` hits.
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
    """Return the weights, none negative, their sum 1, under which gold is most likely on top.

    Likelihood is the softmax of fused scores over the chunks of a question, one factor a fact
    (ListNet's top-one probability: Cao et al., ICML 2007), found by L-BFGS-B.
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
    """Learn the weights of a fusion, and measure them on questions that they were not learned from.

    ``found`` is what `collect_fusion_examples` gave. Raises RetrievalError when too few questions
    have a gold document among what was found.
    """
    examples = [example for example in found if example is not None]
    if len(examples) < FOLDS:
        raise RetrievalError(
            f"Of {len(found)} questions {len(examples)} have a gold document among what the "
            f"retrievers found, and {FOLDS} are needed.",
            fix="Give more questions, or check that `gold_pids` are documents of this index.",
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
    """Return the recall of each question with the weights learned from the other folds."""
    recalls = [0.0] * len(examples)
    for fold in range(FOLDS):
        others = [example for place, example in enumerate(examples) if place % FOLDS != fold]
        weights = fit_weights(others)
        for place in range(fold, len(examples), FOLDS):
            recalls[place] = examples[place].recall(weights)
    return recalls


def write_specification(weights: Mapping[str, float]) -> str:
    """Return the sum of the parts that count, with their weights rounded to hundredths."""
    kept = {part: weight for part, weight in weights.items() if weight >= MIN_PART_WEIGHT}
    if len(kept) == 1:
        return next(iter(kept))
    tree = parse_specification(" + ".join(f"{w:.2f}*{_joined(part)}" for part, w in kept.items()))
    return show_specification(tree)


def _joined(part: str) -> str:
    return part if len(parse_specification(part).stages) == 1 else f"({part})"
