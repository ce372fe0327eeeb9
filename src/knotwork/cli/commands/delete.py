"""`knotwork delete`: take documents out of the index."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session


@click.command(
    epilog=show_examples(
        "knotwork delete notes/old.md",
        "knotwork delete a.pdf b.pdf --store handbook.knot",
        "knotwork delete notes/old.md --json",
    )
)
@click.argument("uris", metavar="URI...", nargs=-1, required=True, type=click.Path())
@with_session()
def command(session: Session, *, uris: tuple[str, ...]) -> None:
    """Remove documents, and exactly what only they supported. Files are not touched.

    A document whose file is still in an indexed folder comes back with the next `index` of it.
    """
    session.open()  # raises where there is no index, which opening to write would make
    removed = session.open(read_only=False).delete(uris)
    if session.common.json:
        session.terminal.emit({"removed": list(removed)})
        return
    for uri in removed:
        session.terminal.say(f"Removed {uri}")
