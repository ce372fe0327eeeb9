"""What results come to: means with intervals, costs and times of each retriever."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from knotwork.evaluation.significance import estimate_mean
from knotwork.service.shapes.evaluations import EstimateShape, MeasuredQuestion, OutcomeShape


def summarize(
    retrievers: Sequence[str], results: Iterable[MeasuredQuestion], skipped: Mapping[str, str]
) -> list[OutcomeShape]:
    """Return what each retriever came to, in the order in which they are named."""
    tallies = {name: _Tally() for name in retrievers}
    for result in results:
        tallies[result.retriever].add(result)
    return [tally.outcome(name, skipped.get(name, "")) for name, tally in tallies.items()]


class _Tally:
    """Adds up the results of one retriever."""

    def __init__(self) -> None:
        self._values: dict[str, list[float]] = {}
        self._times: tuple[list[float], list[float]] = ([], [])
        self._tokens = 0
        self._money: Decimal | None = Decimal(0)

    def add(self, result: MeasuredQuestion) -> None:
        for metric, value in result.values.items():
            self._values.setdefault(metric, []).append(value)
        self._times[0].append(result.seconds)
        if result.answer is not None:
            self._times[1].append(result.answer.usage.seconds)
        self._tokens += result.tokens
        if self._money is not None:
            self._money = None if result.money is None else self._money + Decimal(result.money)

    def outcome(self, retriever: str, skipped: str) -> OutcomeShape:
        metrics = {}
        for metric, values in self._values.items():
            found = estimate_mean(values)
            if found is not None:
                metrics[metric] = EstimateShape(
                    mean=found.mean, low=found.low, high=found.high, questions=len(values)
                )
        searching, answering = self._times
        return OutcomeShape(
            retriever=retriever,
            asked=len(searching),
            metrics=metrics,
            tokens=self._tokens,
            money=None if self._money is None else str(self._money),
            p50_ms=_percentile(searching, 50),
            p95_ms=_percentile(searching, 95),
            answer_p50_ms=_percentile(answering, 50),
            answer_p95_ms=_percentile(answering, 95),
            skipped=skipped,
        )


def _percentile(seconds: Sequence[float], percent: float) -> float | None:
    return round(1_000 * float(np.percentile(seconds, percent)), 3) if seconds else None
