"""`knotwork import`: bring in what another system has indexed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.cli.terminal import Terminal

if TYPE_CHECKING:
    from knotwork.indexing.exchange import ImportReport, ImportStep

FORMATS = ("auto", "graphrag", "lightrag")
_FIRST = (
    "documents",
    "text units",
    "entities",
    "relations",
    "claims",
    "communities",
    "reports",
)
"""The kinds that the files count, in the order in which they are shown."""


@click.command(
    epilog=show_examples(
        "knotwork import ragtest/output",
        "knotwork import rag_storage/ --format lightrag --store handbook.knot",
        "knotwork import ragtest/ --json",
    )
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--format",
    metavar="NAME",
    shell_complete=complete_from(FORMATS),
    default="auto",
    show_default=True,
    help="auto, graphrag or lightrag.",
)
@click.option("--name", metavar="NAME", default="", help="Call it this; else by its folder.")
@with_session()
def command(session: Session, *, folder: Path, format: str, name: str) -> None:  # noqa: A002
    """Bring in an index of Microsoft GraphRAG or LightRAG, without asking a model again.

    Documents, text units, entities, relations, communities and reports come in, and what does not
    is counted with its reason. Vectors are computed again. A second import of the same name
    replaces the first; `knotwork delete` removes it.
    """
    from knotwork.cli.progress import choose_counter
    from knotwork.indexing.embedding import Embedding
    from knotwork.indexing.exchange import import_steps
    from knotwork.inference.registry import NO_EMBEDDER

    check_choice("import format", format, FORMATS)
    opened = session.open(read_only=False)
    wanted = session.settings.embedding.model != NO_EMBEDDER
    steps = import_steps(
        opened.store,
        folder,
        format=format,
        name=name,
        embedding=Embedding(opened.embedder, wanted=wanted),
    )
    with choose_counter(session.terminal, hidden=session.common.no_progress) as counter:
        report: ImportReport | None = None
        step: ImportStep
        for step in steps:
            counter.count("Chunks", step.done, step.total)
            report = step.report or report
    assert report is not None, "the last step has the report"
    if session.common.json:
        session.terminal.emit(describe_import(report))
    else:
        print_import(session.terminal, report)


def describe_import(report: ImportReport) -> dict[str, object]:
    """Return an import as `--json` shows it."""
    return {
        "format": report.format,
        "name": report.name,
        "held": dict(report.held),
        "brought": dict(report.brought),
        "dropped": [
            {"kind": kind, "reason": reason, "count": count}
            for kind, reason, count in report.dropped
        ],
        "removed": list(report.removed),
        "embedder": report.embedder,
        "notes": list(report.notes),
        "seconds": round(report.seconds, 3),
    }


def print_import(terminal: Terminal, report: ImportReport) -> None:
    """Print what came in, and what did not."""
    terminal.say(f"Imported {report.format} index {report.name}", style="bold")
    rows = [
        (kind, f"{report.held.get(kind, 0):,}", f"{report.brought.get(kind, 0):,}")
        for kind in _FIRST
        if report.held.get(kind) and kind in report.brought
    ]
    terminal.table(rows, header=("", "in files", "came in"), indent=2)
    others = [(f"{n:,}", kind) for kind, n in report.brought.items() if kind not in _FIRST and n]
    _print_counts(terminal, "Along with these", others)
    dropped = [(f"{count:,}", f"{kind}: {reason}") for kind, reason, count in report.dropped]
    _print_counts(terminal, "Left behind", dropped)
    for uri in report.removed:
        terminal.say(f"Removed {uri}, which the index does not hold any more")
    for note in report.notes:
        terminal.note(note, style="dim")


def _print_counts(terminal: Terminal, title: str, rows: Iterable[tuple[str, str]]) -> None:
    listed = list(rows)
    if listed:
        terminal.say(title, style="bold")
        terminal.table(listed, indent=2)
