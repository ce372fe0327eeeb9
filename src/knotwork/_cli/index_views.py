"""Show the report of an indexing run, or the estimate of what one would cost."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from knotwork._cli.progress import describe_failure
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import NOTES, Line, Table, each, fill, fill_all, note, show
from knotwork._inference.chat import TokenUsage
from knotwork._shapes.base import fields_of
from knotwork.records import ReadingStatus

if TYPE_CHECKING:
    from knotwork._extensions.model_indexing.run_estimates import IndexEstimate
    from knotwork._indexing.report import IndexReport

INDEX_COUNTS = (
    "{total_documents:#document}, {total_chunks:#chunk}, {total_entities:#entity/entities}"
)
NO_EMBEDDER = "none: full text and knowledge graph only"
OWN_PROMPTS = "{files:#file} of your own, version {version}, in {folder}"

_FAILURE_LENGTH = 150
_CHANGES = (
    "[{added} added]",
    "[{changed} changed]",
    "[{unchanged} unchanged]",
    "[{removed:#} removed]",
    "[{failures:#} skipped]",
)
_ENRICHED = (
    "[{enrichment.names.groups:#entity/entities} with aliases]",
    "[{enrichment.names.left:#doubtful pair} not compared, to save tokens]",
    "[{enrichment.descriptions.summarised:#description} written]",
    "[{enrichment.reports.by_model:#report} written]",
)
_MODEL = (
    Line(
        "[{usage:?}Model      {total.calls:#call}[, {total.reused:#cached reply/cached replies}]: "
        "{total.input_tokens} tokens in[ ({total.cached_tokens} of them cached)], "
        "{total.output_tokens} out[, cost {cost:,.4f}]]"
    ),
    Table(
        "usage",
        {" 1": "{0}", " 2": "{1.calls:#call}, {1.input_tokens} in, {1.output_tokens} out"},
        2,
    ),
    "[Enriched   {enriched}]",
    note(
        "[The model did not write {unwritten:#text}. Until the next run, these are extracted by "
        "rules.]",
        "yellow",
    ),
    note(
        "[No usable reply for {unusable:#chunk}: these have only what the rules found. For the "
        "reasons, run knotwork doctor. To ask again, add --retry.]",
        "yellow",
    ),
)
_REPORT = (
    Line("Documents  [{changes}][{changes:!}{nothing}]", "bold"),
    "Index      " + INDEX_COUNTS + " in {store}",
    "Time       {total_s:time}[ ({rate:,.0f} chunks/s)][: {stages:time}]",
    "Embedder   [{embedder} ({embedded:#text} embedded, {reused} reused)]"
    "[{embedder:!}" + NO_EMBEDDER + "]",
    "[{usage:?}{prompts:?}Prompts    {own_prompts}]",
    *_MODEL,
    each(
        "by_reason",
        Line("\n{0} skipped: {1}", "yellow"),
        each(
            "2",
            Line("{}", indent=2),
            most=3,
            more=Line("… and {} more: see knotwork documents", indent=2),
        ),
    ),
    NOTES,
)


def show_report(terminal: Terminal, report: IndexReport, *, store: str) -> None:
    """Print the counts of a run, its time, its model usage, skipped files and notes."""
    terminal.show(_facts(report) | {"store": store}, *_REPORT)


def show_interruption(terminal: Terminal, report: IndexReport) -> None:
    """Report that an interrupted run kept its work, and how to continue."""
    if not terminal.json:
        terminal.show(_facts(report), *_MODEL)
    changes = show(report.documents + len(report.removed), "#change")
    terminal.fail(
        f"Interrupted after {changes}. These are saved, and the index is consistent.",
        "Run the same command again to continue.",
    )


def _facts(report: IndexReport) -> dict[str, Any]:
    """Return the fields of a report, and what is computed from them."""
    total = sum(report.usage.values(), TokenUsage())
    total_s = report.seconds.get("total", 0.0)
    stages = {stage: value for stage, value in report.seconds.items() if stage != "total"}
    longest = sorted(stages.items(), key=lambda item: -item[1])[:3]
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for failure in report.failures:
        line = describe_failure(failure.uri, failure.message)
        line = line if len(line) <= _FAILURE_LENGTH else line[:_FAILURE_LENGTH] + "…"
        by_reason[failure.reason.replace("_", " ")].append(
            line + (" (its earlier content is kept)" if failure.kept else "")
        )
    done = report.enrichment
    written = (done.descriptions, done.reports) if done else ()
    return {
        **fields_of(report),
        "changes": fill_all(_CHANGES, report),
        "nothing": "none finished" if report.interrupted else "none found",
        "total_s": total_s,
        "rate": report.chunks / total_s if report.chunks and total_s else 0,
        "stages": {stage: value for stage, value in longest if value >= 0.05},
        "own_prompts": fill(OWN_PROMPTS, report.prompts),
        "total": total,
        "cost": report.money if total.calls else None,
        "enriched": fill_all(_ENRICHED, report),
        "unwritten": sum(part.unanswered for part in written if part),
        "unusable": max(report.readings.get(ReadingStatus.QUARANTINED, 0) - report.unanswered, 0),
        "by_reason": [
            (len(lines), reason, lines)
            for reason, lines in sorted(by_reason.items(), key=lambda item: -len(item[1]))
        ],
    }


RUN_COST = (
    "Calls     {calls}",
    "Tokens    about {input_tokens.expected} ({input_tokens.low} to {input_tokens.high}) in",
    "          about {output_tokens.expected} ({output_tokens.low} to {output_tokens.high}) out",
    "[Cost      {money.expected:,.4f} ({money.low:,.4f} to {money.high:,.4f})]",
    "[{money:!}Cost      unknown price: set llm.prices]",
)
"""The expected calls, tokens and cost of a run."""

_NOTHING_TO_READ = (
    Line("The model has nothing to read, so no tokens would be spent.", "bold"),
    "To have it read every chunk, use --tier full, or set llm.tier.",
)
_ESTIMATE = (
    Line(
        "To read   {documents:#document}, {chunks:#chunk}, about {text_tokens} tokens of text",
        "bold",
    ),
    "[Cached    {kept:#chunk}, at no cost]",
    "[Pictures  {pictures} to describe]",
    "[Sample    {sampled:#chunk} read now, {spent.tokens} tokens]",
    "[{sampled:?}          {readable} of {sampled} replies were usable]",
    "[{sampled:!}Sample    none needed: enough replies are cached]",
)


def show_estimate(terminal: Terminal, estimate: IndexEstimate) -> None:
    """Print the expected cost of a run, and the cost of the sample behind the estimate."""
    if estimate.chunks:
        terminal.show(estimate, *_ESTIMATE)
        terminal.show(estimate.run, *RUN_COST)
        terminal.note(
            "This covers extraction only. Descriptions, doubtful names and reports come later and "
            "cost another 15 to 30 %."
        )
    else:
        terminal.show(estimate, *_NOTHING_TO_READ)
    terminal.show(estimate, NOTES)
