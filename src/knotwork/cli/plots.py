"""Images of evaluation results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knotwork.errors import MissingExtra

if TYPE_CHECKING:
    from knotwork.evaluation.runner import EvaluationRun


def draw_means(run: EvaluationRun, target: Path) -> None:
    """Draw every metric of every retriever as bars; the suffix of ``target`` is the format.

    Raises MissingExtra without the extra `plot`, OSError where the place cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("A plot", "plot") from error
    means = {name: outcome.means() for name, outcome in run.runs.items()}
    metrics = list(next(iter(means.values())))
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(means)
    for number, (name, values) in enumerate(means.items()):
        places = [place + number * width for place in range(len(metrics))]
        axes.bar(places, [values[metric] * 100 for metric in metrics], width, label=name)
    axes.set_xticks([place + 0.4 - width / 2 for place in range(len(metrics))], metrics)
    axes.set_ylim(0, 100)
    axes.set_ylabel("percent")
    axes.set_title(f"{run.dataset}, {run.questions} questions")
    axes.legend()
    figure.savefig(target)
