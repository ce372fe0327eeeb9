"""Print the summary of an indexing run, or the estimate of what one would cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knotwork._cli.progress import describe_failure, format_seconds
from knotwork._cli.terminal import Terminal, count_of
from knotwork._indexing.report import Failure, IndexReport
from knotwork._inference.chat import TokenUsage
from knotwork._inference.own_prompts import OwnPrompts
from knotwork.records import ReadingStatus

if TYPE_CHECKING:
    from knotwork._indexing.run import IndexEstimate
    from knotwork._inference.call_costs import Range, RunEstimate


NO_EMBEDDER_LABEL = "none: full text and knowledge graph only"

_SHOWN_FAILURES = 3
_FAILURE_LENGTH = 150


def print_report(terminal: Terminal, report: IndexReport, *, store: str) -> None:
    """Print the counts of a run, its time, its model usage, skipped files and notes."""
    changes = [
        f"{count:,} {word}"
        for count, word in (
            (report.added, "added"),
            (report.changed, "changed"),
            (report.unchanged, "unchanged"),
            (len(report.removed), "removed"),
            (report.failed, "skipped"),
        )
        if count
    ]
    empty = "none finished" if report.interrupted else "none found"
    terminal.say(f"Documents  {', '.join(changes) or empty}", style="bold")
    terminal.say(f"Index      {count_index(report)} in {store}")
    terminal.say(f"Time       {describe_time(report)}")
    if report.embedder:
        counts = f"{count_of(report.embedded, 'text')} embedded, {report.reused:,} reused"
        terminal.say(f"Embedder   {report.embedder} ({counts})")
    else:
        terminal.say(f"Embedder   {NO_EMBEDDER_LABEL}")
    if report.prompts and report.usage:
        terminal.say(f"Prompts    {count_prompts(report.prompts)}")
    print_model_usage(terminal, report)
    print_failures(terminal, report)
    terminal.notes(report.notes, style="yellow")


def count_prompts(prompts: OwnPrompts) -> str:
    """Return the number of the user's own prompts, their version and their folder."""
    files = count_of(len(prompts.files), "file")
    return f"{files} of your own, version {prompts.version}, in {prompts.folder}"


def count_index(report: IndexReport) -> str:
    """Return the numbers of documents, chunks and entities in the index after a run."""
    return ", ".join(
        (
            count_of(report.total_documents, "document"),
            count_of(report.total_chunks, "chunk"),
            count_of(report.total_entities, "entity", "entities"),
        )
    )


def print_failures(terminal: Terminal, report: IndexReport) -> None:
    """Print up to three skipped files for each reason, the most frequent reason first."""
    by_reason: dict[str, list[Failure]] = {}
    for failure in report.failures:
        by_reason.setdefault(failure.reason, []).append(failure)
    for reason, failures in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        terminal.say(f"\n{len(failures):,} skipped: {reason.replace('_', ' ')}", style="yellow")
        for failure in failures[:_SHOWN_FAILURES]:
            line = describe_failure(failure.uri, failure.message)
            if len(line) > _FAILURE_LENGTH:
                line = line[:_FAILURE_LENGTH] + "…"
            kept = " (its earlier content is kept)" if failure.kept else ""
            terminal.say(f"{line}{kept}", indent=2)
        more = len(failures) - _SHOWN_FAILURES
        if more > 0:
            terminal.say(f"… and {more:,} more: see knotwork documents", indent=2)


def print_interruption(terminal: Terminal, report: IndexReport) -> None:
    """Report that an interrupted run kept its work, and how to continue."""
    written = report.documents + len(report.removed)
    if not terminal.json:
        print_model_usage(terminal, report)
    terminal.fail(
        f"Interrupted after {count_of(written, 'change')}. These are saved, and the index is "
        "consistent.",
        "Run the same command again to continue.",
    )


def describe_time(report: IndexReport) -> str:
    """Return the time of a run, its rate in chunks per second, and its three longest stages."""
    total_s = report.seconds.get("total", 0.0)
    text = format_seconds(total_s)
    if report.chunks and total_s > 0:
        text += f" ({report.chunks / total_s:,.0f} chunks/s)"
    stages = {stage: value for stage, value in report.seconds.items() if stage != "total"}
    longest = sorted(stages.items(), key=lambda item: -item[1])[:3]
    parts = [f"{stage} {format_seconds(value)}" for stage, value in longest if value >= 0.05]
    return f"{text}: {', '.join(parts)}" if parts else text


UNKNOWN_PRICE = "unknown price: set llm.prices"
ESTIMATE_NOTE = (
    "This covers extraction only. Descriptions, doubtful names and reports come later and cost "
    "another 15 to 30 %."
)


def print_estimate(terminal: Terminal, estimate: IndexEstimate) -> None:
    """Print the expected cost of a run, and the cost of the sample behind the estimate."""
    run = estimate.run
    chunks = count_of(estimate.chunks, "chunk")
    if not estimate.chunks:
        terminal.say("The model has nothing to read, so no tokens would be spent.", style="bold")
        terminal.say("To have it read every chunk, use --tier full, or set llm.tier.")
        terminal.notes(estimate.notes, style="yellow")
        return
    terminal.say(
        f"To read   {count_of(estimate.documents, 'document')}, {chunks}, "
        f"about {estimate.text_tokens:,} tokens of text",
        style="bold",
    )
    if estimate.kept:
        terminal.say(f"Cached    {count_of(estimate.kept, 'chunk')}, at no cost")
    if estimate.pictures:
        terminal.say(f"Pictures  {estimate.pictures:,} to describe")
    spent = estimate.spent.input_tokens + estimate.spent.output_tokens
    if estimate.sampled:
        terminal.say(f"Sample    {count_of(estimate.sampled, 'chunk')} read now, {spent:,} tokens")
        terminal.say(f"          {estimate.readable:,} of {estimate.sampled:,} replies were usable")
    else:
        terminal.say("Sample    none needed: enough replies are cached")
    print_run_estimate(terminal, run)
    terminal.note(ESTIMATE_NOTE)
    terminal.notes(estimate.notes, style="yellow")


def print_run_estimate(terminal: Terminal, run: RunEstimate) -> None:
    """Print the expected calls, tokens and cost of a run."""
    terminal.say(f"Calls     {run.calls:,}")
    terminal.say(f"Tokens    {_format_range(run.input_tokens)} in")
    terminal.say(f"          {_format_range(run.output_tokens)} out")
    if run.money is None:
        terminal.say(f"Cost      {UNKNOWN_PRICE}")
    else:
        low, high = run.money.low, run.money.high
        terminal.say(f"Cost      {run.money.expected:,.4f} ({low:,.4f} to {high:,.4f})")


def print_model_usage(terminal: Terminal, report: IndexReport) -> None:
    """Print the calls, tokens and cost of the language model, and what it left undone."""
    if report.usage:
        _print_usage(terminal, report)
    _print_enrichment(terminal, report)
    quarantined = report.readings.get(ReadingStatus.QUARANTINED, 0) - report.unanswered
    if quarantined > 0:
        terminal.note(
            f"No usable reply for {count_of(quarantined, 'chunk')}: these have only what the rules "
            "found. For the reasons, run knotwork doctor. To ask again, add --retry.",
            style="yellow",
        )


def _print_usage(terminal: Terminal, report: IndexReport) -> None:
    total = sum(report.usage.values(), TokenUsage())
    reused = f", {count_of(total.reused, 'cached reply', 'cached replies')}" if total.reused else ""
    calls = f"{count_of(total.calls, 'call')}{reused}"
    money = "" if report.money is None or not total.calls else f", cost {report.money:,.4f}"
    cached = f" ({total.cached_tokens:,} of them cached)" if total.cached_tokens else ""
    terminal.say(
        f"Model      {calls}: {total.input_tokens:,} tokens in{cached}, "
        f"{total.output_tokens:,} out{money}"
    )
    for stage, used in report.usage.items():
        tokens = f"{used.input_tokens:,} in, {used.output_tokens:,} out"
        terminal.say(f"{stage:<10} {count_of(used.calls, 'call')}, {tokens}", indent=2)


def _print_enrichment(terminal: Terminal, report: IndexReport) -> None:
    """Print how many entities the model merged, and the descriptions and reports it wrote."""
    done = report.enrichment
    if done is None:
        return
    results = []
    if done.names and done.names.pairs:
        results.append(f"{count_of(done.names.groups, 'entity', 'entities')} with aliases")
        if done.names.left:
            skipped = count_of(done.names.left, "doubtful pair")
            results.append(f"{skipped} not compared, to save tokens")
    if done.descriptions and done.descriptions.summarised:
        results.append(f"{count_of(done.descriptions.summarised, 'description')} written")
    if done.reports and done.reports.by_model:
        results.append(f"{count_of(done.reports.by_model, 'report')} written")
    if results:
        terminal.say(f"Enriched   {', '.join(results)}")
    waiting = sum(part.unanswered for part in (done.descriptions, done.reports) if part)
    if waiting:
        terminal.note(
            f"The model did not write {count_of(waiting, 'text')}. Until the next run, these are "
            "extracted by rules.",
            style="yellow",
        )


def _format_range(tokens: Range[int]) -> str:
    return f"about {tokens.expected:,} ({tokens.low:,} to {tokens.high:,})"
