"""The report of indexing as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from knotwork.indexing.report import IndexReport


def report_of(report: IndexReport) -> dict[str, Any]:
    """Return what a run did, with the keys of `knotwork index --json`."""
    return {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "removed": list(report.removed),
        "skipped": [asdict(failure) for failure in report.failures],
        "chunks": report.chunks,
        "sentences": report.sentences,
        "mentions": report.mentions,
        "relations": report.relations,
        "index": {
            "documents": report.total_documents,
            "chunks": report.total_chunks,
            "entities": report.total_entities,
        },
        "embedder": report.embedder,
        "embedded": report.embedded,
        "without_vectors": report.without_vectors,
        "usage": {stage: asdict(used) for stage, used in report.usage.items()},
        "money": None if report.money is None else str(report.money),
        "seconds": {stage: round(value, 3) for stage, value in report.seconds.items()},
        "notes": list(report.notes),
    }
