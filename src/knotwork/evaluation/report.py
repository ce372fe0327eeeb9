"""What a run came to, as plain values for JSON, tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from knotwork.evaluation.metrics import METRICS
from knotwork.evaluation.runner import EvaluationRun

COMPARED_METRIC = "recall@5"


@dataclass(frozen=True, slots=True)
class Difference:
    """One retriever against another on one metric over the same questions."""

    first: str
    second: str
    metric: str
    difference: float
    wins: int
    losses: int
    p_value: float


def differences(run: EvaluationRun, *, metric: str = COMPARED_METRIC) -> list[Difference]:
    """Compare the first retriever with each of the others."""
    names = list(run.runs)
    return [
        Difference(names[0], other, metric, **asdict(run.compare(names[0], other, metric)))
        for other in names[1:]
    ]


def as_json(run: EvaluationRun) -> dict[str, Any]:
    """Return the run as one JSON object; metrics are fractions from 0 to 1."""
    return {
        "dataset": run.dataset,
        "questions": run.questions,
        "retrievers": {
            name: {
                **outcome.means(),
                "latency_ms_p50": 1000 * median(outcome.seconds or [0.0]),
            }
            for name, outcome in run.runs.items()
        },
        "differences": [asdict(item) for item in differences(run)],
    }


def table_rows(run: EvaluationRun) -> list[tuple[str, Sequence[float]]]:
    """Return, for each retriever, its metrics in the order of `METRICS`."""
    return [
        (name, [outcome.means()[metric] for metric in METRICS])
        for name, outcome in run.runs.items()
        if outcome.values
    ]
