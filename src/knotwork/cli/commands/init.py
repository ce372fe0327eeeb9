"""`knotwork init`: write a settings file to edit."""

from __future__ import annotations

from pathlib import Path

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session


@click.command(
    epilog=show_examples(
        "knotwork init                      write ./knotwork.toml",
        "knotwork init papers/              write papers/knotwork.toml",
        "knotwork init --force              replace the file by the defaults",
    )
)
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--force", is_flag=True, help="Replace a file that exists.")
@with_session(hides_store=True)
def command(session: Session, *, folder: Path, force: bool) -> None:
    """Write knotwork.toml: every setting with its explanation, the defaults as comments."""
    from knotwork.config import CONFIG_FILE, write_default_config

    path = write_default_config(folder / CONFIG_FILE, overwrite=force)
    if session.common.json:
        session.terminal.emit({"path": str(path)})
    else:
        session.terminal.say(f"Wrote {path}")
        session.terminal.note("Next: knotwork index FOLDER", style="dim")
