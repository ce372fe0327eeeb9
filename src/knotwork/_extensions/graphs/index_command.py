"""`knotwork import`: import an index of GraphRAG or LightRAG."""

from __future__ import annotations

from pathlib import Path

import click

from knotwork._cli.session import Session, choice_option, command, text_option
from knotwork._cli.views import Line, Table, each, note
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


@command()
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
    $ knotwork import ragtest/output
    $ knotwork import rag_storage/ --format lightrag --store handbook.knot
    $ knotwork import ragtest/ --json
    """
    run = session.open(read_only=False).import_from.run(folder, layout=format, name=name)
    report = session.follow(run)
    dropped = [dict(zip(("kind", "reason", "count"), item, strict=True)) for item in report.dropped]
    others = {kind: n for kind, n in report.brought.items() if kind not in _COUNTED_KINDS and n}
    session.show(
        fields_of(report) | {"dropped": dropped, "seconds": round(report.seconds, 3)},
        Line("Imported {format} index {name}", "bold"),
        Table("counts", {" kind": "{0}", "in files": "{1}", "imported": "{2}"}, 2),
        Line("[{others:?}Also created]", "bold"),
        each("others", Line("{1} {0}", indent=2)),
        Line("[{dropped:?}Skipped]", "bold"),
        each("dropped", Line("{count} {kind}: {reason}", indent=2)),
        each("removed", "Removed {}, which is no longer in the imported index"),
        each("notes", note("{}")),
        others=others,
        counts=[
            (kind, report.held.get(kind, 0), report.brought.get(kind, 0))
            for kind in _COUNTED_KINDS
            if report.held.get(kind) and kind in report.brought
        ],
    )
