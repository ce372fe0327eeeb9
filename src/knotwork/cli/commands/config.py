"""`knotwork config`: the settings in force, and where each comes from."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import keep_common, with_session
from knotwork.cli.session import Session


@click.group()
@keep_common
def command() -> None:
    """Show the settings in force."""


@command.command(
    short_help="Show every setting.",
    epilog=show_examples(
        "knotwork config show",
        "knotwork config show --origin",
        "knotwork config show --set index.chunk_tokens=300 --json",
    ),
)
@click.option("--origin", is_flag=True, help="Show where each value comes from.")
@with_session()
def show(session: Session, *, origin: bool) -> None:
    """Show every setting. An option comes before the environment, that before knotwork.toml."""
    loaded = session.loaded
    if session.common.json:
        file = str(loaded.file) if loaded.file else None
        session.terminal.emit({"file": file, "settings": loaded.described()})
        return
    shown = [
        (name, "=", value, source) if origin else (name, "=", value)
        for name, value, source in loaded.rows()
    ]
    session.terminal.table(shown)
