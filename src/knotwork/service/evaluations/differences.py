"""The paired difference of two retrievers, of one evaluation or of two, question by question."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from knotwork.errors import Conflict, UnknownName
from knotwork.evaluation.significance import compare_paired
from knotwork.service.evaluations.records import Evaluation
from knotwork.service.shapes.evaluations import (
    DifferenceShape,
    MetricDifference,
    PairedQuestion,
    SideShape,
)

Values = dict[str, float]


@dataclass(frozen=True, slots=True)
class Side:
    """One retriever of one evaluation."""

    evaluation: Evaluation
    retriever: str

    def __post_init__(self) -> None:
        known = self.evaluation.plan.retrievers
        if self.retriever not in known:
            place = f" in the evaluation `{self.evaluation.plan.id}`"
            raise UnknownName("retriever", self.retriever, known, place=place)

    def describe(self) -> SideShape:
        """Return the side as JSON."""
        plan = self.evaluation.plan
        return SideShape(evaluation=plan.id, name=plan.name, retriever=self.retriever)

    def values(self) -> dict[tuple[str, str], Values]:
        """Return the metrics by question, as its id and its text."""
        cases = self.evaluation.questions().all
        return {
            (cases[result.position].id, cases[result.position].question): result.values
            for result in self.evaluation.results()
            if result.retriever == self.retriever
        }


def compare(one: Side, other: Side, *, metric: str, limit: int) -> DifferenceShape:
    """Compare two sides on all questions on which both were measured.

    Up to ``limit`` questions are told, those first that differ most in a metric, by default the
    first. Raises UnknownName for a metric that was not measured, Conflict without a common
    question.
    """
    found, others = one.values(), other.values()
    common = [key for key in found if key in others and found[key].keys() & others[key].keys()]
    if not common:
        raise Conflict(
            "The two have no question in common that was measured.",
            fix="Compare evaluations of the same questions, when they are done.",
        )
    metrics = {name: None for key in common for name in found[key] if name in others[key]}
    sorted_by = metric or next(iter(metrics))
    if sorted_by not in metrics:
        raise UnknownName("metric", metric, metrics)

    def distance(key: tuple[str, str]) -> float:
        return abs(found[key].get(sorted_by, 0.0) - others[key].get(sorted_by, 0.0))

    shown = sorted(common, key=lambda key: -distance(key))[:limit]
    return DifferenceShape(
        first=one.describe(),
        second=other.describe(),
        questions=len(common),
        metrics={
            name: _compare_metric([(found[key], others[key]) for key in common], name)
            for name in metrics
        },
        sorted_by=sorted_by,
        cases=[
            PairedQuestion(id=key[0], question=key[1], first=found[key], second=others[key])
            for key in shown
        ],
    )


def _compare_metric(pairs: list[tuple[Values, Values]], metric: str) -> MetricDifference:
    both = [(a[metric], b[metric]) for a, b in pairs if metric in a and metric in b]
    first, second = [a for a, _ in both], [b for _, b in both]
    compared = compare_paired(first, second)
    return MetricDifference(
        first=fmean(first),
        second=fmean(second),
        difference=compared.difference,
        wins=compared.wins,
        ties=len(both) - compared.wins - compared.losses,
        losses=compared.losses,
        p_value=compared.p_value,
        questions=len(both),
    )
