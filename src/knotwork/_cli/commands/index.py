"""`knotwork index`: build an index, or update it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Unpack

import click

from knotwork._cli.interruption import interrupted_exit_code
from knotwork._cli.session import Session, choice_option, command, text_option
from knotwork._indexing.report import IndexReport
from knotwork._run import Stage
from knotwork.errors import ModelError

if TYPE_CHECKING:
    from knotwork._cli.progress import ProgressView
    from knotwork._indexing.run import IndexOptions
    from knotwork._knowledge_base import KnowledgeBase


PROGRESS_VIEWS = ("auto", "bar", "plain", "json", "none")
TIERS = ("none", "lean", "full")


@command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--retry",
    is_flag=True,
    help="Retry files that could not be read in full, and chunks for which the model's reply was "
    "unusable.",
)
@choice_option(
    "--tier",
    metavar="TIER",
    valid=TIERS,
    help="How much of these files a language model reads: none, lean or full. By default, new "
    "files use llm.tier, or full if a model read the whole index; files keep what a model has "
    "read.",
)
@click.option(
    "--estimate",
    is_flag=True,
    help="Estimate the cost of a language model without indexing. It reads a small sample.",
)
@text_option(
    "--budget",
    metavar="AMOUNT",
    help='Spending limit in tokens, such as 200k, or money, such as "5 EUR". The next run '
    "continues from there.",
)
@click.option(
    "--batch/--no-batch",
    default=None,
    help="Send what a model reads to the batch API of its server: half the price, and replies "
    "within a day. You can stop and run the command again. --no-batch cancels open batches.",
)
@choice_option(
    "--progress",
    metavar="VIEW",
    valid=PROGRESS_VIEWS,
    kind="value of --progress",
    default="auto",
    show_default=True,
    help="auto, bar, plain, json or none.",
)
def index_command(
    session: Session,
    *,
    paths: tuple[str, ...],
    progress: str,
    estimate: bool,
    **wanted: Unpack[IndexOptions],
) -> None:
    """Index files, folders and URLs of storage. Unchanged files are skipped, and deleted ones are
    removed.

    You can stop the command at any time: run it again to continue.
    $ knotwork index ~/papers
    $ knotwork index notes.md "reports/*.pdf" s3://bucket/papers
    $ knotwork index docs/ --tier full --estimate
    """
    from knotwork._cli.index_views import show_estimate, show_interruption, show_report
    from knotwork._indexing.report import IndexingInterrupted
    from knotwork._shapes.indexing import describe_estimate, describe_report

    terminal = session.terminal
    view = session.progress(progress, has_lines=True)
    knowledge_base = session.open(read_only=False)
    if estimate:
        estimated = knowledge_base.estimate(paths, **wanted)
        if not session.emit(describe_estimate(estimated)):
            show_estimate(terminal, estimated)
        return

    def show(report: IndexReport) -> None:
        if not session.common.json:
            show_report(terminal, report, store=session.settings.store.shown_path)

    try:
        report = run_indexing(knowledge_base, paths, view, on_model_error=show, **wanted)
    except IndexingInterrupted as interruption:
        session.emit(describe_report(interruption.report))
        show_interruption(terminal, interruption.report)
        raise click.exceptions.Exit(interrupted_exit_code()) from None
    session.emit(describe_report(report))
    show(report)


def run_indexing(
    knowledge_base: KnowledgeBase,
    paths: Sequence[str],
    view: ProgressView,
    *,
    on_model_error: Callable[[IndexReport], None] | None = None,
    **options: Unpack[IndexOptions],
) -> IndexReport:
    """Index the paths, show every event, and return the report.

    If a ModelError ends the run, ``on_model_error`` is called with the report so far before the
    error is raised.
    """
    stopped: IndexReport | None = None
    run = knowledge_base.index.run(paths, **options)
    try:
        with view:
            for step in run:
                view.show(step)
                stopped = step.value if step.stage == Stage.STOPPED else stopped
            return run.result()
    except ModelError:
        if stopped is not None and on_model_error is not None:
            on_model_error(stopped)
        raise
