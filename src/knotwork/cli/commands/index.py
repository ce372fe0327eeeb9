"""`knotwork index`: bring the index up to date with files and folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.errors import ModelError

if TYPE_CHECKING:
    from knotwork.cli.progress import ProgressView
    from knotwork.indexing.estimation import IndexEstimate
    from knotwork.indexing.report import IndexReport
    from knotwork.indexing.runs import IndexOptions
    from knotwork.knowledge_base import KnowledgeBase

VIEWS = ("auto", "bar", "plain", "json", "none")
TIERS = ("none", "lean", "full")


@click.command(
    epilog=show_examples(
        "knotwork index ~/papers",
        'knotwork index docs/ notes.md "reports/*.pdf" --store handbook.knot',
        "knotwork index docs/ --tier full --estimate",
    )
)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--retry",
    is_flag=True,
    help="Read again what could not be read last time; ask a model again if its reply was "
    "unusable.",
)
@click.option(
    "--tier",
    metavar="TIER",
    shell_complete=complete_from(TIERS),
    help="How much a language model makes of these files: none, lean or full. Without it new files "
    "have that of the settings (llm.tier), and those that a model read stay read.",
)
@click.option(
    "--estimate",
    is_flag=True,
    help="Say what reading by a model would cost, and index nothing. A few chunks are asked.",
)
@click.option(
    "--budget",
    metavar="AMOUNT",
    default="",
    help='The most to spend: tokens, as 200k, or money, as "5 EUR". The next run goes on from '
    "there.",
)
@click.option(
    "--progress",
    metavar="VIEW",
    shell_complete=complete_from(VIEWS),
    default="auto",
    show_default=True,
    help="auto, bar, plain, json or none.",
)
@with_session()
def command(
    session: Session,
    *,
    paths: tuple[str, ...],
    progress: str,
    estimate: bool,
    retry: bool,
    tier: str | None,
    budget: str,
) -> None:
    """Index files and folders; what did not change is left alone, what is gone is removed.

    It may be stopped at any time: the same command goes on where it stopped.
    """
    from knotwork.cli.envelopes import describe_report
    from knotwork.cli.progress import choose_view
    from knotwork.cli.summaries import print_interruption, print_report
    from knotwork.indexing.report import IndexingInterrupted
    from knotwork.indexing.runs import IndexOptions

    check_choice("value of --progress", progress, VIEWS)
    terminal = session.terminal
    view = choose_view(terminal, progress, hidden=session.common.no_progress)
    wanted = IndexOptions(retry=retry, tier=tier, budget=budget)
    knowledge_base = session.open(read_only=False)
    if estimate:
        show_estimate(session, knowledge_base.estimate(paths, **wanted))
        return

    def tell(report: IndexReport) -> None:
        if not session.common.json:
            print_report(terminal, report, store=session.settings.store.path)

    try:
        report = run_indexing(knowledge_base, paths, view, tell_stopped=tell, **wanted)
    except IndexingInterrupted as interruption:
        if session.common.json:
            terminal.emit(describe_report(interruption.report))
        print_interruption(terminal, interruption.report)
        raise click.exceptions.Exit(130) from None
    if session.common.json:
        terminal.emit(describe_report(report))
    tell(report)


def show_estimate(session: Session, estimate: IndexEstimate) -> None:
    """Print what a run would cost."""
    from knotwork.cli.costs import describe_estimate, print_estimate

    if session.common.json:
        session.terminal.emit(describe_estimate(estimate))
    else:
        print_estimate(session.terminal, estimate)


def run_indexing(
    knowledge_base: KnowledgeBase,
    paths: Sequence[str],
    view: ProgressView,
    *,
    tell_stopped: Callable[[IndexReport], None] | None = None,
    **options: Unpack[IndexOptions],
) -> IndexReport:
    """Index the paths, show every step, and return the report.

    ``tell_stopped`` gets the report of a run that a model's error ends, which is raised then.
    """
    report: IndexReport | None = None
    try:
        with view:
            for event in knowledge_base.index_events(paths, **options):
                view.show(event)
                report = event.report or report
    except ModelError:
        if report is not None and tell_stopped is not None:
            tell_stopped(report)
        raise
    assert report is not None, "a run ends with its report"
    return report
