"""`knotwork embed`: compute the vectors of an index again, with another model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import Terminal, count_of

if TYPE_CHECKING:
    from knotwork.indexing.reembedding import EmbedReport


@click.command(
    epilog=show_examples(
        "knotwork embed",
        "knotwork embed --model local:multilingual-e5-small",
        "knotwork embed --model openai:text-embedding-3-small --json",
    )
)
@click.option(
    "--model",
    metavar="MODEL",
    default="",
    help="The embedding model, as local:NAME or openai:NAME. Default: embedding.model; for auto, "
    "the model of a new index.",
)
@with_session()
def command(session: Session, *, model: str) -> None:
    """Embed the index again with another model. The documents are not read again.

    Searches use the old vectors until all new ones are there. You can stop it at any time: the same
    command continues where it stopped.
    """
    from knotwork.cli.progress import choose_counter
    from knotwork.indexing.reembedding import EmbeddingInterrupted

    session.open()  # raises if there is no index, which opening it for writing would create
    opened = session.open(read_only=False)
    terminal = session.terminal
    report: EmbedReport | None = None
    try:
        with choose_counter(terminal, hidden=session.common.no_progress) as counter:
            for event in opened.embed_events(model):
                counter.count(event.stage.capitalize(), event.done, event.total)
                report = event.report or report
    except EmbeddingInterrupted as interruption:
        _print_interruption(terminal, interruption.report)
        raise click.exceptions.Exit(130) from None
    assert report is not None, "the last event has the report"
    if session.common.json:
        terminal.emit(describe_embedding(report))
    else:
        _print_report(terminal, report)


def describe_embedding(report: EmbedReport) -> dict[str, object]:
    """Return the report as `--json` prints it."""
    return {
        "embedder": report.embedder,
        "previous": report.previous,
        "dimension": report.dimension,
        "chunks": report.chunks,
        "done": report.done,
        "without_vectors": report.without_vectors,
        "vectors": dict(report.vectors),
        "embedded": report.embedded,
        "seconds": round(report.seconds, 3),
        "notes": list(report.notes),
        "interrupted": report.interrupted,
    }


def _print_report(terminal: Terminal, report: EmbedReport) -> None:
    from knotwork.cli.progress import format_seconds

    before = f", previously {report.previous}" if report.previous else ""
    names = {
        "chunk": ("chunk", "chunks"),
        "sentence": ("chunk with sentences", "chunks with sentences"),
        "entity": ("entity", "entities"),
        "question": ("chunk with questions", "chunks with questions"),
        "report": ("report", "reports"),
    }
    counts = [count_of(n, *names[name]) for name, n in report.vectors.items() if n]
    terminal.say(f"Embedder   {report.embedder}{before}", style="bold")
    terminal.say(f"Vectors    {', '.join(counts) or 'none'}")
    terminal.say(f"Embedded   {count_of(report.embedded, 'text')} in this run")
    terminal.say(f"Time       {format_seconds(report.seconds)}")
    for note in report.notes:
        terminal.note(note, style="yellow")


def _print_interruption(terminal: Terminal, report: EmbedReport) -> None:
    if terminal.json:
        terminal.emit(describe_embedding(report))
    terminal.fail(
        f"Interrupted after {report.done:,} of {count_of(report.chunks, 'chunk')}. These are kept; "
        "until the rest is done, the index is searched as before.",
        "Run the same command again to continue.",
    )
