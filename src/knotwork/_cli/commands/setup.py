"""`knotwork init`, `config` and `completion`: set up an installation."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from knotwork._cli.main import PROGRAM, app
from knotwork._cli.session import Session, check_choice, command, command_group, complete_from
from knotwork._cli.views import Table, note


@command(hides_store=True)
@click.argument("folder", type=click.Path(path_type=Path), default=Path())
@click.option("--force", is_flag=True, help="Replace an existing file.")
def init_command(session: Session, *, folder: Path, force: bool) -> None:
    """Create knotwork.toml, which explains every setting and its default in comments.

    $ knotwork init                      write ./knotwork.toml
    $ knotwork init papers/              write papers/knotwork.toml
    $ knotwork init --force              replace an existing file by the defaults
    """
    from knotwork._config import CONFIG_FILE, write_default_config

    path = write_default_config(folder / CONFIG_FILE, overwrite=force)
    session.show({"path": str(path)}, "Wrote {path}", note("Next: knotwork index FOLDER"))


@command_group()
def config_command() -> None:
    """Show the settings in force."""


@command(group=config_command, short_help="Show every setting.")
@click.option("--origin", is_flag=True, help="Show the origin of each value.")
def show(session: Session, *, origin: bool) -> None:
    """Show every setting. Options override the environment, which overrides knotwork.toml.

    $ knotwork config show
    $ knotwork config show --origin
    $ knotwork config show --set index.chunk_tokens=300 --json
    """
    loaded = session.loaded
    columns = {" 1": "{0}", " 2": "=", " 3": "{1}"} | ({" 4": "{2}"} if origin else {})
    session.show(
        {"file": str(loaded.file) if loaded.file else None, "settings": loaded.described()},
        Table("rows", columns),
        rows=loaded.rows(),
    )


_COMPLETION_FILES = {
    "bash": "{data}/bash-completion/completions/knotwork",
    "fish": "{config}/fish/completions/knotwork.fish",
    "zsh": "{home}/.zfunc/_knotwork",
}
"""The file that each shell reads; zsh also needs `fpath+=~/.zfunc` before `compinit`."""


@command(hides_store=True)
@click.argument("shell", default="", shell_complete=complete_from(lambda: _COMPLETION_FILES))
@click.option("--install", is_flag=True, help="Write the script to the file that the shell reads.")
def completion_command(session: Session, *, shell: str, install: bool) -> None:
    """Print or install the completion script of bash, zsh or fish.

    $ knotwork completion --install            for your current shell
    $ knotwork completion zsh --install
    $ knotwork completion bash > completion.sh
    """
    name = shell or Path(os.environ.get("SHELL", "bash")).name
    check_choice("shell", name, tuple(_COMPLETION_FILES))
    kind = get_completion_class(name)
    assert kind is not None, "Click completes in all of these shells"
    script = kind(app, {}, PROGRAM, "_KNOTWORK_COMPLETE").source()
    if not install:
        if not session.emit({"shell": name, "script": script}):
            click.echo(script)
        return
    place = find_completion_file(name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(script + "\n", encoding="utf-8")
    session.show(
        {"shell": name, "path": str(place)}, "Wrote {path}. Completion works in new shells."
    )
    if name == "zsh" and not session.common.json:
        session.terminal.note("Add to ~/.zshrc, before compinit: fpath+=~/.zfunc")


def find_completion_file(shell: str) -> Path:
    """Return the file from which a shell reads the completion of `knotwork`."""
    home = Path.home()
    return Path(
        _COMPLETION_FILES[shell].format(
            home=home,
            data=os.environ.get("XDG_DATA_HOME") or home / ".local" / "share",
            config=os.environ.get("XDG_CONFIG_HOME") or home / ".config",
        )
    )
