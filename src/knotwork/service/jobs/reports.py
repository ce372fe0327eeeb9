"""The report of indexing as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from knotwork.indexing.report import IndexReport, describe_counts


def report_of(report: IndexReport) -> dict[str, Any]:
    """Return what a run did and cost; its counts are those of `knotwork index --json`."""
    return {
        **describe_counts(report),
        "without_vectors": report.without_vectors,
        "usage": {stage: asdict(used) for stage, used in report.usage.items()},
        "money": None if report.money is None else str(report.money),
        "seconds": {stage: round(value, 3) for stage, value in report.seconds.items()},
        "notes": list(report.notes),
    }
