"""Means, differences and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from knotwork._extensions.evaluation.metrics import PairedComparison, compare_paired

Results = dict[str, Any]


def mean(found: dict[str, Any], metric: str, places: Sequence[int] | None = None) -> float | None:
    """Return the mean over the questions it applies to, or over those at ``places``."""
    values = found.get("values", {}).get(metric)
    if values is None:
        return None
    chosen = values if places is None else [values[n] for n in places]
    present = [value for value in chosen if value is not None]
    return fmean(present) if present else None


def difference(
    entry: dict[str, Any], other: str, metric: str, places: Sequence[int] | None = None
) -> PairedComparison | None:
    """Compare `auto` with another retriever question by question."""
    retrievers = entry.get("retrievers", {})
    if "auto" not in retrievers or other not in retrievers:
        return None
    first, second = (retrievers[name]["values"][metric] for name in ("auto", other))
    chosen = range(len(first)) if places is None else places
    return compare_paired([first[n] for n in chosen], [second[n] for n in chosen])


def percent(value: float | None) -> str:
    """Write a share in percent; nothing when it was not measured."""
    return "" if value is None else f"{100 * value:.1f}"


def points(value: float | None) -> str:
    """Write a difference of shares in points, with its sign."""
    return "" if value is None else f"{100 * value:+.1f}".replace("-", "−")


def show_p(value: float) -> str:
    """Write a p-value with as many digits as 10,000 draws carry."""
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
