"""The curve of abstention as an image."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from abstention import abstention_curve

from knotwork._config import AnswerSettings

FINE = tuple(step / 1_000 for step in range(1_001))
MARKED = (0.1, 0.3, 0.5, 0.7, 0.9)


def draw_abstention(found: dict[str, Any], target: Path) -> bool:
    """Draw right against wrong abstention; False where the extra `plot` is not installed."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        return False
    default = AnswerSettings().abstain_below
    confidences = (found["confidence"], found["unanswerable_confidence"])
    curve = abstention_curve(*confidences, thresholds=FINE)
    marks = abstention_curve(*confidences, thresholds=MARKED)
    with mpl.rc_context({"svg.hashsalt": "knotwork", "svg.fonttype": "none"}):
        figure = Figure(figsize=(5.5, 4.5), layout="constrained")
        axes = figure.add_subplot()
        axes.plot([100 * p.answerable for p in curve], [100 * p.unanswerable for p in curve])
        axes.plot([0, 100], [0, 100], linestyle=":", color="grey")
        for point in marks:
            place = (100 * point.answerable, 100 * point.unanswerable)
            axes.plot(*place, marker="o", color="C3" if point.threshold == default else "C0")
            axes.annotate(f"{point.threshold:g}", place, (6, -10), textcoords="offset points")
        axes.set_xlabel("answerable questions abstained on, %")
        axes.set_ylabel("questions without an answer abstained on, %")
        axes.set_title("MultiHop-RAG, by threshold of confidence")
        figure.savefig(target, metadata={"Date": None})
    return True
