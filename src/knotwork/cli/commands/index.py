"""`knotwork index`: bring the index up to date with files and folders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice

if TYPE_CHECKING:
    from knotwork.cli.progress import ProgressView
    from knotwork.indexing.report import IndexReport
    from knotwork.knowledge_base import KnowledgeBase

VIEWS = ("auto", "bar", "plain", "json", "none")


@click.command(
    epilog=show_examples(
        "knotwork index ~/papers",
        'knotwork index docs/ notes.md "reports/*.pdf" --store handbook.knot',
        "knotwork index docs/ --json --progress json 2> progress.jsonl",
    )
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option("--retry", is_flag=True, help="Read again what could not be read last time.")
@click.option(
    "--progress",
    metavar="VIEW",
    shell_complete=complete_from(VIEWS),
    default="auto",
    show_default=True,
    help="auto, bar, plain, json or none.",
)
@with_session()
def command(session: Session, *, paths: tuple[str, ...], retry: bool, progress: str) -> None:
    """Index files and folders; what did not change is left alone, what is gone is removed.

    It may be stopped at any time: the same command goes on where it stopped.
    """
    from knotwork.cli.envelopes import describe_report
    from knotwork.cli.progress import choose_view
    from knotwork.cli.summaries import print_interruption, print_report
    from knotwork.indexing.report import IndexingInterrupted

    check_choice("value of --progress", progress, VIEWS)
    terminal = session.terminal
    view = choose_view(terminal, progress, hidden=session.common.no_progress)
    knowledge_base = session.open(read_only=False)
    try:
        report = run_indexing(knowledge_base, paths, view, retry=retry)
    except IndexingInterrupted as interruption:
        if session.common.json:
            terminal.emit(describe_report(interruption.report))
        print_interruption(terminal, interruption.report)
        raise click.exceptions.Exit(130) from None
    if session.common.json:
        terminal.emit(describe_report(report))
    else:
        print_report(terminal, report, store=session.settings.store.path)


def run_indexing(
    knowledge_base: KnowledgeBase, paths: Sequence[str], view: ProgressView, *, retry: bool = False
) -> IndexReport:
    """Index the paths, show every step, and return the report."""
    report: IndexReport | None = None
    with view:
        for event in knowledge_base.index_events(paths, retry=retry):
            view.show(event)
            report = event.report or report
    assert report is not None, "a run ends with its report"
    return report
