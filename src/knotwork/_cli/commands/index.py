"""`knotwork index`, `embed` and `demo`: build an index."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Unpack

import click

from knotwork._cli.interruption import interrupted_exit_code
from knotwork._cli.session import Session, choice_option, command, text_option
from knotwork._cli.views import NOTES, Line, count_of, each, show
from knotwork._indexing.report import IndexReport
from knotwork._run import Stage
from knotwork._shapes.base import fields_of
from knotwork.errors import ModelError

if TYPE_CHECKING:
    from knotwork._cli.progress import ProgressView
    from knotwork._indexing.report import IndexReport
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


@command()
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
    $ knotwork embed
    $ knotwork embed --model local:multilingual-e5-small
    $ knotwork embed --model openai:text-embedding-3-small --json
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


@command()
def demo_command(session: Session) -> None:
    """Index about twenty bundled documents and answer three questions, with citations.

    Nothing leaves this machine, and no language model is used.
    $ knotwork demo
    $ knotwork demo --store demo.knot        keep the index in this file
    $ knotwork demo --json
    """
    from platformdirs import user_cache_path

    from knotwork._cli.answers import show_answer
    from knotwork._shapes.indexing import describe_report
    from knotwork._shapes.results import ANSWER
    from knotwork.demo import QUESTIONS

    started = time.perf_counter()
    cache = user_cache_path("knotwork", appauthor=False, ensure_exists=True)
    path = Path(session.common.store or cache / "demo.knot")
    session.terminal.note("Indexing the sample …", style="dim")
    report = _build(session, path)
    knowledge_base = session.open_at(path, read_only=True)
    answers = [knowledge_base.ask(question.text, use_llm=False) for question in QUESTIONS]
    seconds = time.perf_counter() - started
    described = {
        "store": str(path),
        "index": describe_report(report),
        "answers": list(map(ANSWER, answers)),
        "seconds": round(seconds, 3),
    }
    if session.emit(described):
        return
    session.terminal.show(described, *_INDEXED)
    for question, answer in zip(QUESTIONS, answers, strict=True):
        session.terminal.show(
            fields_of(question), "", Line("{text}", "bold"), Line("({point})", "dim"), ""
        )
        show_answer(session.terminal, answer, needed=session.settings.answer.abstain_below)
    usages = [answer.usage for answer in answers]
    figures = {
        "store": path,
        "ms": median(usage.seconds for usage in usages) * 1000,
        "tokens": sum(usage.input_tokens + usage.output_tokens for usage in usages),
    }
    session.terminal.show(figures, *_NEXT)


_INDEXED = (
    Line(
        "Indexed {index.index.documents} documents of a fictional company, in English and "
        "Chinese: {index.index.chunks} chunks, {index.index.entities} entities, "
        "in {index.seconds.total:time}."
    ),
    "[Embedder: {index.embedder}, on this machine.]",
    "[{index.embedder:!}Embedder: none: full text and knowledge graph only.]",
    each("index.notes", Line("{}", "yellow")),
)
_NEXT = (
    Line("\n{ms:.0f} ms per answer, {tokens} model tokens.", "dim"),
    Line("\nNext", "bold"),
    Line(
        'knotwork ask "In which year was the lighthouse of Skarrow built?" --store {store}',
        indent=2,
    ),
    Line('knotwork explore "Oriane Keld" --store {store}', indent=2),
    Line("knotwork index YOUR-FOLDER && knotwork ask YOUR-QUESTION", indent=2),
)


def _build(session: Session, path: Path) -> IndexReport:
    """Index the sample into a new file."""
    from knotwork._cli.commands.index import run_indexing
    from knotwork.demo import open_sample

    for part in (path, *path.parent.glob(f"{path.name}-*")):
        part.unlink(missing_ok=True)
    with open_sample() as folder:
        knowledge_base = session.open_at(path, read_only=False)
        return run_indexing(knowledge_base, [str(folder)], session.progress())
