"""`knotwork index`, `embed` and `import`: build an index from files or from an index of another
system, and recompute its vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import click

from knotwork._cli.interruption import interrupted_exit_code
from knotwork._cli.session import Session, choice_option, command, text_option
from knotwork._cli.views import NOTES, Line, count_of, show
from knotwork._run import Stage
from knotwork.errors import ModelError

if TYPE_CHECKING:
    from knotwork._cli.progress import ProgressView
    from knotwork._indexing.report import IndexReport
    from knotwork._indexing.runs import IndexOptions
    from knotwork._knowledge_base import KnowledgeBase


PROGRESS_VIEWS = ("auto", "bar", "plain", "json", "none")
TIERS = ("none", "lean", "full")


@command(
    "knotwork index ~/papers",
    'knotwork index notes.md "reports/*.pdf" s3://bucket/papers',
    "knotwork index docs/ --tier full --estimate",
)
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


@command(
    "knotwork embed",
    "knotwork embed --model local:multilingual-e5-small",
    "knotwork embed --model openai:text-embedding-3-small --json",
)
@text_option(
    "--model",
    metavar="MODEL",
    help="Embedding model, such as local:NAME or openai:NAME. Default: embedding.model; for auto, "
    "the model that a new index would use.",
)
def embed_command(session: Session, *, model: str) -> None:
    """Recompute all vectors with another model. The documents are not read again.

    Searches use the old vectors until all new ones are ready. You can stop the command at any time:
    run it again to continue.
    """
    from knotwork._indexing.reembedding import EmbeddingInterrupted

    opened = session.open_existing()
    try:
        report = session.follow(opened.embed.run(model))
    except EmbeddingInterrupted as interruption:
        report = interruption.report
        session.emit(replace(report, seconds=round(report.seconds, 3)))
        session.terminal.fail(
            f"Interrupted after {report.done:,} of {count_of(report.chunks, 'chunk')}. These are "
            "saved; searches use the old vectors until all are done.",
            "Run the same command again to continue.",
        )
        raise click.exceptions.Exit(interrupted_exit_code()) from None
    counts = {_VECTOR_NOUNS[name]: number for name, number in report.vectors.items()}
    session.show(
        replace(report, seconds=round(report.seconds, 3)),
        Line("Embedder   {embedder}[, previously {previous}]", "bold"),
        "Vectors    [{counts}][{counts:!}none]",
        "Embedded   {embedded:#text} in this run",
        "Time       {seconds:time}",
        NOTES,
        counts=[show(number, f"#{noun}") for noun, number in counts.items() if number],
    )


_VECTOR_NOUNS = {
    "chunk": "chunk",
    "sentence": "chunk with sentences/chunks with sentences",
    "entity": "entity/entities",
    "description": "description",
    "question": "chunk with questions/chunks with questions",
    "report": "report",
}
