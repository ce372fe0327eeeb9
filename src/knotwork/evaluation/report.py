"""What a run came to, as plain values for JSON, tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from knotwork.evaluation.runner import EvaluationRun

COMPARED_METRICS = ("recall@5", "all_gold@5")
"""The metrics of which differences are printed; JSON has those of all."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One retriever against another on one metric over the same questions: ``difference`` is the
    mean of the first less that of the second.
    """

    first: str
    second: str
    metric: str
    difference: float
    wins: int
    losses: int
    p_value: float


def differences(run: EvaluationRun, *, metrics: Sequence[str] = ()) -> list[Difference]:
    """Compare the first retriever with each of the others, on all metrics unless some are named."""
    if not run.runs:
        return []
    first, *others = run.runs
    wanted = metrics or list(run.runs[first].values)
    return [
        Difference(first, other, metric, **asdict(run.compare(first, other, metric)))
        for other in others
        for metric in wanted
    ]


def as_json(run: EvaluationRun) -> dict[str, Any]:
    """Return the run as one JSON object; metrics are fractions from 0 to 1, tokens a question."""
    return {
        "dataset": run.dataset,
        "questions": run.questions,
        "retrievers": {name: outcome.means() for name, outcome in run.runs.items()},
        "median_ms": {
            name: round(1000 * median(outcome.seconds), 3) if outcome.seconds else 0.0
            for name, outcome in run.runs.items()
        },
        "tokens": {
            name: round(outcome.tokens / max(run.questions, 1), 1)
            for name, outcome in run.runs.items()
        },
        "skipped": dict(run.skipped),
        "comparisons": [asdict(item) for item in differences(run)],
    }
