"""Reports and estimates of indexing runs as JSON, for the command line and the jobs of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from knotwork._indexing.report import IndexReport
from knotwork._inference.chat import TokenUsage
from knotwork._inference.own_prompts import OwnPrompts
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.run_estimates import IndexEstimate, RunEstimate
    from knotwork._indexing.report import Enrichment
    from knotwork._run import Progress


def describe_report(report: IndexReport) -> dict[str, Any]:
    """Return a report.

    The key ``model`` is present only if a language model was used, ``left_out`` only if a strict
    schema left something out, ``prompts`` only if the user has some.
    """
    described: dict[str, Any] = {
        **fields_of(report, "added", "changed", "unchanged", "removed"),
        "skipped": [asdict(failure) for failure in report.failures],
        **fields_of(report, "chunks", "sentences", "mentions", "relations"),
        "index": {
            "documents": report.total_documents,
            "chunks": report.total_chunks,
            "entities": report.total_entities,
        },
        **fields_of(report, "embedder", "embedded", "reused", "without_vectors"),
        "seconds": {stage: round(value, 3) for stage, value in report.seconds.items()},
        **fields_of(report, "notes", "interrupted"),
    }
    if report.left_out:
        described["left_out"] = {
            "entities": dict(report.left_out.entities.most_common()),
            "relations": dict(report.left_out.relations.most_common()),
        }
    if report.prompts:
        described["prompts"] = describe_prompts(report.prompts)
    if report.usage or report.readings:
        described["model"] = {
            "readings": {str(status): count for status, count in report.readings.items()},
            "unanswered": report.unanswered,
            "usage": describe_model_usage(report.usage),
            "money": describe_money(report.money),
            "made": _describe_enrichment(report.enrichment),
        }
    return described


def describe_prompts(prompts: OwnPrompts) -> dict[str, Any]:
    """Return the version and the files of the user's own prompts.

    Their folder is left out, since the users of a server get this too.
    """
    return fields_of(prompts, "version", "files")


def describe_estimate(estimate: IndexEstimate | RunEstimate) -> dict[str, Any]:
    """Return an estimate, with amounts of money as text."""

    def keep_exact(items: list[tuple[str, Any]]) -> dict[str, Any]:
        return {
            key: describe_money(value) if isinstance(value, Decimal) else value
            for key, value in items
        }

    return asdict(estimate, dict_factory=keep_exact)


def describe_model_usage(usage: Mapping[str, TokenUsage]) -> dict[str, Any]:
    """Return tokens and calls by stage."""
    return {stage: asdict(used) for stage, used in usage.items()}


def describe_progress(step: Progress) -> dict[str, Any]:
    """Return how far a run of indexing is, in sources, chunks and bytes."""
    return {
        "uri": step.subject,
        **fields_of(step, "done", "total"),
        **fields_of(step.counts, "chunks", "chunks_known"),
        "bytes": step.counts.bytes_read,
        "bytes_total": step.counts.bytes_total,
    }


def describe_money(money: Decimal | None) -> str | None:
    """Return an amount of money as text, since a float would not be exact."""
    return None if money is None else str(money)


def _describe_enrichment(done: Enrichment | None) -> dict[str, int]:
    """Return the numbers of merged entities, pairs not compared, descriptions and reports."""
    names = done.names if done else None
    descriptions = done.descriptions if done else None
    reports = done.reports if done else None
    return {
        "several_names": names.groups if names else 0,
        "left_apart": names.left if names else 0,
        "descriptions": descriptions.summarised if descriptions else 0,
        "reports": reports.by_model if reports else 0,
    }
