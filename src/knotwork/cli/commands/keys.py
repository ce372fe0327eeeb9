"""`knotwork keys`: who may ask a server, and for what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, keep_common, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.cli.terminal import count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.service.keys import KeyFile

_ROLES = ("read", "write", "admin")
_PLACE = click.option(
    "--place",
    metavar="FOLDER|FILE",
    type=click.Path(path_type=Path),
    help="What is served; without it the index of the settings.",
)
_FILE = click.option(
    "--keys",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The file of keys. [env: KNOTWORK_SERVICE_KEYS]",
)


@click.group(
    epilog=show_examples(
        "knotwork keys add laptop --role admin",
        "knotwork keys list",
        "knotwork keys remove laptop",
    )
)
@keep_common
def command() -> None:
    """Add, list and remove the keys of a server."""


@command.command(
    short_help="Make a key, and show it once.",
    epilog=show_examples(
        "knotwork keys add laptop --role admin",
        "knotwork keys add phone --place ~/indexes",
        "knotwork keys add bot --place ~/indexes -w handbook -w papers",
    ),
)
@click.argument("name")
@click.option(
    "--role",
    metavar="ROLE",
    default="read",
    show_default=True,
    shell_complete=complete_from(_ROLES),
    help="read, write or admin.",
)
@click.option(
    "-w",
    "--workspace",
    "workspaces",
    metavar="NAME",
    multiple=True,
    help="A workspace it may see; without any, all.",
)
@_PLACE
@_FILE
@with_session(hides_store=True)
def add(
    session: Session,
    *,
    name: str,
    role: str,
    workspaces: tuple[str, ...],
    place: Path | None,
    file: Path | None,
) -> None:
    """Make a key and print it. It is kept as a hash alone, so that nobody can show it again."""
    from knotwork.service.keys import ALL_WORKSPACES, KeyRole
    from knotwork.service.names import NAME_RULE, is_name

    check_choice("role", role, _ROLES)
    wrong = [item for item in workspaces if item != ALL_WORKSPACES and not is_name(item)]
    if wrong:
        raise ConfigError(f"`{wrong[0]}` is no name for a workspace.", fix=NAME_RULE)
    keys = _open(session, place, file)
    bound = workspaces or (ALL_WORKSPACES,)
    key, text = keys.add(name, role=KeyRole(role), workspaces=bound)
    if session.common.json:
        session.terminal.emit({"id": key.id, "name": name, "role": role, "key": text})
        return
    session.terminal.say(text)
    session.terminal.note("Keep it safe: it is not shown again.", style="dim")


@command.command(
    "list",
    short_help="List the keys, never their text.",
    epilog=show_examples(
        "knotwork keys list",
        "knotwork keys list --place ~/indexes",
        "knotwork keys list --json | jq -r '.keys[].name'",
    ),
)
@_PLACE
@_FILE
@with_session(hides_store=True)
def list_keys(session: Session, *, place: Path | None, file: Path | None) -> None:
    """List the keys with their roles and workspaces."""
    keys = _open(session, place, file).listed()
    if session.common.json:
        session.terminal.emit(
            {
                "keys": [
                    {
                        "id": key.id,
                        "name": key.name,
                        "role": key.role,
                        "workspaces": list(key.workspaces),
                        "created": key.created,
                    }
                    for key in keys
                ]
            }
        )
        return
    session.terminal.table(
        [(key.id, key.name, key.role, ", ".join(key.workspaces), key.created) for key in keys],
        header=("id", "name", "role", "workspaces", "created"),
    )
    session.terminal.note(count_of(len(keys), "key"), style="dim")


@command.command(
    short_help="Remove a key; takes effect immediately.",
    epilog=show_examples(
        "knotwork keys remove bot",
        "knotwork keys remove 4f0c2a9be781",
        "knotwork keys remove bot --place ~/indexes",
    ),
)
@click.argument("name")
@_PLACE
@_FILE
@with_session(hides_store=True)
def remove(session: Session, *, name: str, place: Path | None, file: Path | None) -> None:
    """Remove the key of this name or id. A server that runs refuses it from now on."""
    key = _open(session, place, file).remove(name)
    if session.common.json:
        session.terminal.emit({"removed": key.id, "name": key.name})
    else:
        session.terminal.say(f"Removed {key.name} ({key.id}).")


def _open(session: Session, place: Path | None, file: Path | None) -> KeyFile:
    """Return the keys of a place, or those of a file."""
    from knotwork.service.keys import KEYS_FILE, KeyFile, keys_beside

    named = session.settings.service.keys
    if file is not None or named:
        return KeyFile(file or Path(named))
    path = (place or Path(session.settings.store.path)).expanduser().absolute()
    if not path.is_dir() and not path.parent.is_dir():
        raise ConfigError(
            f"There is no folder `{path.parent}` for `{KEYS_FILE}`.", fix="Name one: --place FOLDER"
        )
    return KeyFile(keys_beside(path))
