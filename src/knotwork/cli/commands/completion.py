"""`knotwork completion`: complete commands and options in a shell."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from knotwork.cli.app import app, show_examples
from knotwork.cli.main import PROGRAM
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice

_PLACES = {
    "bash": "{data}/bash-completion/completions/knotwork",
    "fish": "{config}/fish/completions/knotwork.fish",
    "zsh": "{home}/.zfunc/_knotwork",
}
"""Where each shell looks by itself; zsh needs `fpath+=~/.zfunc` before `compinit`."""


@click.command(
    epilog=show_examples(
        "knotwork completion --install            for the shell you use",
        "knotwork completion zsh --install",
        "knotwork completion bash > completion.sh   to look at it",
    )
)
@click.argument("shell", default="", shell_complete=complete_from(_PLACES))
@click.option("--install", is_flag=True, help="Write it where the shell looks for it.")
@with_session(hides_store=True)
def command(session: Session, *, shell: str, install: bool) -> None:
    """Print the completion script of a shell (bash, zsh or fish), or install it."""
    name = shell or Path(os.environ.get("SHELL", "bash")).name
    check_choice("shell", name, tuple(_PLACES))
    kind = get_completion_class(name)
    assert kind is not None, "Click completes in all of these shells"
    script = kind(app, {}, PROGRAM, "_KNOTWORK_COMPLETE").source()
    if not install:
        if session.common.json:
            session.terminal.emit({"shell": name, "script": script})
        else:
            click.echo(script)
        return
    place = find_place(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script + "\n", encoding="utf-8")
    if session.common.json:
        session.terminal.emit({"shell": name, "path": str(place)})
        return
    session.terminal.say(f"Wrote {place}; it works in the next shell you open.")
    if name == "zsh":
        session.terminal.note("~/.zshrc must hold, before compinit: fpath+=~/.zfunc")


def find_place(shell: str) -> Path:
    """Return the file that a shell reads for the completion of this program."""
    home = Path.home()
    return Path(
        _PLACES[shell].format(
            home=home,
            data=os.environ.get("XDG_DATA_HOME") or home / ".local" / "share",
            config=os.environ.get("XDG_CONFIG_HOME") or home / ".config",
        )
    )
