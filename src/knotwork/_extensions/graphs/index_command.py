"""`knotwork import`: import an index of GraphRAG or LightRAG."""

from __future__ import annotations

from pathlib import Path

import click

from knotwork._cli.session import Session, choice_option, command, text_option
from knotwork._cli.terminal import Terminal
from knotwork._extensions.graphs.foreign_indexes.index_importer import ImportReport
from knotwork._shapes.base import fields_of

IMPORT_FORMATS = ("auto", "graphrag", "lightrag")
_COUNTED_KINDS = (
    "documents",
    "text units",
    "entities",
    "relations",
    "claims",
    "communities",
    "reports",
)
"""The kinds of records that both systems have, in the order of display."""


@command(
    "knotwork import ragtest/output",
    "knotwork import rag_storage/ --format lightrag --store handbook.knot",
    "knotwork import ragtest/ --json",
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@choice_option(
    "--format",
    metavar="NAME",
    valid=IMPORT_FORMATS,
    kind="import format",
    default="auto",
    show_default=True,
    help="auto, graphrag or lightrag.",
)
@text_option("--name", help="Name of the import. Default: the folder's name.")
def import_command(session: Session, *, folder: Path, format: str, name: str) -> None:  # noqa: A002
    """Import an index of Microsoft GraphRAG or LightRAG, without calling a model again.

    Documents, text units, entities, relations, communities and reports are imported; skipped
    records are counted with the reason. Vectors are recomputed. Importing the same name again
    replaces the first import, and `knotwork delete` removes it.
    """
    run = session.open(read_only=False).import_from.run(folder, layout=format, name=name)
    report = session.follow(run)
    if not session.emit(describe_import(report)):
        print_import(session.terminal, report)


def describe_import(report: ImportReport) -> dict[str, object]:
    """Return the object of `import --json`."""
    dropped = [dict(zip(("kind", "reason", "count"), item, strict=True)) for item in report.dropped]
    return fields_of(report) | {"dropped": dropped, "seconds": round(report.seconds, 3)}


def print_import(terminal: Terminal, report: ImportReport) -> None:
    """Print the numbers of imported and skipped records."""
    terminal.say(f"Imported {report.format} index {report.name}", style="bold")
    rows = [
        (kind, report.held.get(kind, 0), report.brought.get(kind, 0))
        for kind in _COUNTED_KINDS
        if report.held.get(kind) and kind in report.brought
    ]
    terminal.table(rows, header=("", "in files", "imported"), indent=2)
    others = [(n, kind) for kind, n in report.brought.items() if kind not in _COUNTED_KINDS and n]
    dropped = [(count, f"{kind}: {reason}") for kind, reason, count in report.dropped]
    for title, counts in (("Also created", others), ("Skipped", dropped)):
        if counts:
            terminal.say(title, style="bold")
            terminal.table(counts, indent=2)
    for uri in report.removed:
        terminal.say(f"Removed {uri}, which is no longer in the imported index")
    terminal.notes(report.notes, style="dim")
