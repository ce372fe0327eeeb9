"""What a user reads when a run has ended."""

from __future__ import annotations

from knotwork.cli.costs import print_usage
from knotwork.cli.progress import format_seconds, tell_failure
from knotwork.cli.terminal import Terminal, count_of
from knotwork.indexing.report import Failure, IndexReport

NO_EMBEDDER = "none: full text and knowledge graph only"

_SHOWN_FAILURES = 3
_FAILURE_LENGTH = 150


def print_report(terminal: Terminal, report: IndexReport, *, store: str) -> None:
    """Print the counts of a run, what was skipped and why, and the time it took."""
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
    nothing = "none finished" if report.interrupted else "none found"
    terminal.say(f"Documents  {', '.join(changes) or nothing}", style="bold")
    terminal.say(f"Index      {count_index(report)} in {store}")
    terminal.say(f"Time       {describe_time(report)}")
    if report.embedder:
        counts = f"{count_of(report.embedded, 'text')} embedded, {report.reused:,} reused"
        terminal.say(f"Embedder   {report.embedder} ({counts})")
    else:
        terminal.say(f"Embedder   {NO_EMBEDDER}")
    print_usage(terminal, report)
    print_failures(terminal, report)
    for note in report.notes:
        terminal.note(note, style="yellow")


def count_index(report: IndexReport) -> str:
    """Return what the whole index holds after a run."""
    return ", ".join(
        (
            count_of(report.total_documents, "document"),
            count_of(report.total_chunks, "chunk"),
            count_of(report.total_entities, "entity", "entities"),
        )
    )


def print_failures(terminal: Terminal, report: IndexReport) -> None:
    """Print some of what was skipped for each reason, the most frequent reason first."""
    by_reason: dict[str, list[Failure]] = {}
    for failure in report.failures:
        by_reason.setdefault(failure.reason, []).append(failure)
    for reason, failures in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        terminal.say(f"\n{len(failures):,} skipped: {reason.replace('_', ' ')}", style="yellow")
        for failure in failures[:_SHOWN_FAILURES]:
            line = tell_failure(failure.uri, failure.message)
            if len(line) > _FAILURE_LENGTH:
                line = line[:_FAILURE_LENGTH] + "…"
            kept = " (its earlier content is kept)" if failure.kept else ""
            terminal.say(f"{line}{kept}", indent=2)
        more = len(failures) - _SHOWN_FAILURES
        if more > 0:
            terminal.say(f"… and {more:,} more: see knotwork documents", indent=2)


def print_interruption(terminal: Terminal, report: IndexReport) -> None:
    """Tell that nothing is lost, and how to go on."""
    written = report.documents + len(report.removed)
    if not terminal.json:
        print_usage(terminal, report)
    terminal.fail(
        f"Interrupted after {count_of(written, 'change')}: what was done is kept, and the index is "
        "complete in itself.",
        "Run the same command again to go on.",
    )


def describe_time(report: IndexReport) -> str:
    """Return the time of a run, with the rate and the stages that took most of it."""
    total_s = report.seconds.get("total", 0.0)
    text = format_seconds(total_s)
    if report.chunks and total_s > 0:
        text += f" ({report.chunks / total_s:,.0f} chunks/s)"
    stages = {stage: value for stage, value in report.seconds.items() if stage != "total"}
    longest = sorted(stages.items(), key=lambda item: -item[1])[:3]
    parts = [f"{stage} {format_seconds(value)}" for stage, value in longest if value >= 0.05]
    return f"{text}: {', '.join(parts)}" if parts else text
