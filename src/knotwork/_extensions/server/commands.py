"""`knotwork serve`, `knotwork keys` and `knotwork mcp`: serve an index over HTTP, manage its API
keys, and serve assistants by the Model Context Protocol.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork._cli.session import (
    Session,
    choice_option,
    command,
    command_group,
    number_option,
    path_option,
)
from knotwork._cli.views import Table, note
from knotwork._config import is_server_url, shown_url
from knotwork._extensions.watching.commands import every_option
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._extensions.server.keys import KeyFile


@command(handles_signals=True)
@click.argument("place", metavar="[FOLDER|FILE]", required=False, type=click.Path())
@click.option(
    "--host", metavar="ADDRESS", help="Address to listen on. [env: KNOTWORK_SERVICE_HOST]"
)
@number_option(
    "--port", least=0, most=65535, help="Port; 0: a free one. [env: KNOTWORK_SERVICE_PORT]"
)
@click.option(
    "--keys", metavar="FILE", type=click.Path(), help="Key file. [env: KNOTWORK_SERVICE_KEYS]"
)
@click.option("--read-only", is_flag=True, help="Refuse uploads and changes of indexes.")
@click.option(
    "--watch",
    "watched",
    metavar="[NAME=]FOLDER",
    multiple=True,
    help="Folder or URL of storage whose changes are indexed, in the workspace NAME. May be "
    "repeated.",
)
@click.option(
    "--allow",
    "allowed",
    metavar="FOLDER",
    multiple=True,
    type=click.Path(),
    help="Folder that keys with the role `write` may choose to watch. May be repeated.",
)
@every_option("1h")
def serve_command(  # noqa: PLR0913 - a parameter for each option
    session: Session,
    *,
    place: str | None,
    host: str | None,
    port: int | None,
    keys: str | None,
    read_only: bool,
    watched: tuple[str, ...],
    allowed: tuple[str, ...],
    every_s: float,
) -> None:
    """Serve the indexes in a FOLDER as workspaces, or one index FILE as the workspace `default`.

    By default, the index of the settings is served. FILE may be the URL of an index on a database
    server: uploads are then in the working folder. The API is under /api/v1, and an
    OpenAI-compatible API under /v1. Without keys, only this machine has access; see `knotwork
    keys`. Ctrl-C or SIGTERM stops the server within 5 s; jobs continue at the next start.
    $ knotwork serve handbook.knot
    $ knotwork serve ~/indexes --watch papers=~/papers
    $ knotwork serve ~/indexes --host 0.0.0.0    requires: knotwork keys add
    """
    from knotwork._extensions.server import require_extra

    require_extra()
    from knotwork._extensions.server import make_app
    from knotwork._extensions.server.pages import BUILD_COMMAND, has_pages
    from knotwork._extensions.server.server import KnotworkServer, ServerConfig

    service = session.settings.service
    service = replace(
        service,
        host=host or service.host,
        port=service.port if port is None else port,
        keys=keys or service.keys,
    )
    path, url = _served_place(session, place)
    settings = replace(session.settings, service=service)
    folders = _watched_folders(watched, has_names=not url and path.is_dir())
    served = ServerConfig(
        path,
        settings,
        read_only=read_only,
        url=url,
        watched=folders,
        every_s=every_s,
        allowed=allowed,
    )
    served.check()

    def announce(address: str) -> None:
        session.show(
            {"address": address},
            "Serving {place} at {address}",
            note(
                "[{has_pages:!}This installation has no web pages. To build them from a copy of "
                f"the source, with Node.js, run: {BUILD_COMMAND}]"
            ),
            note("[{is_loading:?}The embedding model is loading. See /health/ready.]"),
            note("Press Ctrl-C to stop."),
            place=shown_url(url) or served.path,
            has_pages=has_pages(),
            is_loading=app.state.service.warmer.state == "loading",
        )
        sys.stdout.flush()

    app = make_app(served)
    KnotworkServer(app).serve_at(service.host, service.port, announce)


def _watched_folders(watched: Sequence[str], *, has_names: bool) -> dict[str, list[str]]:
    """Return the watched folders by workspace. Raises ConfigError without a name that is needed."""
    from knotwork._extensions.server.keys import WORKSPACE_NAME_RULE, is_workspace_name
    from knotwork._extensions.server.workspaces import DEFAULT_WORKSPACE

    folders: dict[str, list[str]] = {}
    for given in watched:
        name, _, folder = given.partition("=") if has_names else (DEFAULT_WORKSPACE, "", given)
        if not folder or not is_workspace_name(name):
            raise ConfigError(
                f"`--watch {given}` does not name the workspace of the folder.",
                fix=f"Write --watch NAME=FOLDER. {WORKSPACE_NAME_RULE}",
            )
        folders.setdefault(name, []).append(folder)
    return folders


_ROLES = ("read", "write", "admin")
_PLACE_OPTION = path_option(
    "--place",
    metavar="FOLDER|FILE",
    help="The folder or index that is served. Default: the index of the settings.",
)
_FILE_OPTION = path_option("--keys", "file", help="Key file. [env: KNOTWORK_SERVICE_KEYS]")


@command_group()
def keys_command() -> None:
    """Add, list and remove the API keys of a server.

    $ knotwork keys add laptop --role admin
    $ knotwork keys list
    $ knotwork keys remove laptop
    """


@command(group=keys_command, short_help="Create a key, and print it once.", hides_store=True)
@click.argument("name")
@choice_option(
    "--role",
    metavar="ROLE",
    default="read",
    show_default=True,
    valid=_ROLES,
    kind="role",
    help="read, write or admin.",
)
@click.option(
    "-w",
    "--workspace",
    "workspaces",
    metavar="NAME",
    multiple=True,
    help="Workspace to grant access to. May be repeated. Default: all.",
)
@click.option(
    "--where",
    metavar="FILTER",
    help="Only documents that pass this filter, for reading. Default: all.",
)
@_PLACE_OPTION
@_FILE_OPTION
def add(
    session: Session,
    *,
    name: str,
    role: str,
    workspaces: tuple[str, ...],
    where: str | None,
    place: Path | None,
    file: Path | None,
) -> None:
    """Create a key and print it. Only its hash is stored, so it cannot be shown again.

    A key with a FILTER can only read, and only the documents that pass it. A condition on a field
    that no document has admits none.
    $ knotwork keys add laptop --role admin
    $ knotwork keys add bot --place ~/indexes -w handbook -w papers
    $ knotwork keys add ann --where "team = sales or public = true"
    """
    from knotwork._extensions.server.keys import (
        ALL_WORKSPACES,
        WORKSPACE_NAME_RULE,
        KeyRole,
        is_workspace_name,
    )
    from knotwork._extensions.server.workspaces import read_rights

    wrong = [item for item in workspaces if item != ALL_WORKSPACES and not is_workspace_name(item)]
    if wrong:
        raise ConfigError(f"`{wrong[0]}` is not a workspace name.", fix=WORKSPACE_NAME_RULE)
    if where is not None:
        read_rights(where)
    keys = _open_key_file(session, place, file)
    bound = workspaces or (ALL_WORKSPACES,)
    key, text = keys.add(name, role=KeyRole(role), workspaces=bound, where=where or "")
    session.show(
        {"id": key.id, "name": name, "role": role, "where": key.where, "key": text},
        "{key}",
        note("Store this key safely: it is not shown again."),
    )


@command(
    group=keys_command,
    name="list",
    short_help="List the keys, without the keys themselves.",
    hides_store=True,
)
@_PLACE_OPTION
@_FILE_OPTION
def list_keys(session: Session, *, place: Path | None, file: Path | None) -> None:
    """List the keys with their roles, workspaces and filters.

    $ knotwork keys list
    $ knotwork keys list --place ~/indexes
    $ knotwork keys list --json | jq -r '.keys[].name'
    """
    keys = _open_key_file(session, place, file).listed()
    names = "id name role workspaces created where"
    shown = [fields_of(key, *names.split()) for key in keys]
    session.show({"keys": shown}, Table("keys", names), note("{keys:#key}"))


@command(group=keys_command, short_help="Remove a key, with immediate effect.", hides_store=True)
@click.argument("name")
@_PLACE_OPTION
@_FILE_OPTION
def remove(session: Session, *, name: str, place: Path | None, file: Path | None) -> None:
    """Remove the key with this name or id. Running servers reject it immediately.

    $ knotwork keys remove bot
    $ knotwork keys remove 4f0c2a9be781
    $ knotwork keys remove bot --place ~/indexes
    """
    key = _open_key_file(session, place, file).remove(name)
    session.show({"removed": key.id, "name": key.name}, "Removed {name} ({removed}).")


def _served_place(session: Session, place: str | Path | None) -> tuple[Path, str]:
    """Return the path of what is served, and its URL if it is on a database server.

    The path is then a name in the working folder, beside which the files of the service are.
    """
    from knotwork._companions import companion_path
    from knotwork._extensions.server.workspaces import INDEX_SUFFIX

    named = session.settings.store.path if place is None else str(place)
    if is_server_url(named):
        return Path(companion_path(named, INDEX_SUFFIX)).absolute(), named
    return Path(named).expanduser().absolute(), ""


def _open_key_file(session: Session, place: Path | None, file: Path | None) -> KeyFile:
    """Return the keys in ``file``, else in the file of the settings, else beside ``place``."""
    from knotwork._extensions.server.keys import KEYS_FILE, KeyFile, keys_beside

    named = session.settings.service.keys
    if file is not None or named:
        return KeyFile(file or Path(named))
    path, _ = _served_place(session, place)
    if not path.is_dir() and not path.parent.is_dir():
        raise ConfigError(
            f"Cannot store `{KEYS_FILE}`: the folder `{path.parent}` does not exist.",
            fix="Create it, or name another with --place FOLDER.",
        )
    return KeyFile(keys_beside(path))


MCP_PORT = 8766


@command(handles_signals=True)
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of standard streams.")
@number_option(
    "--port", default=MCP_PORT, least=0, most=65535, help="Port for --http; 0: a free one."
)
@click.option("--write", is_flag=True, help="Allow changes of the index.")
@click.option(
    "--allow",
    metavar="FOLDER",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Folder that may be indexed. May be repeated.",
)
@click.option("--no-llm", is_flag=True, help="Do not use the language model.")
def mcp_command(
    session: Session, *, http: bool, port: int, write: bool, allow: tuple[Path, ...], no_llm: bool
) -> None:
    """Serve the index to assistants over the Model Context Protocol.

    Assistants get tools to search, ask and explore, and documents and reports as resources.
    $ knotwork mcp                              for an assistant that starts it
    $ knotwork mcp --http --port 8766           for programs on this machine
    $ knotwork mcp --write --allow ~/papers     allow indexing of this folder
    """
    from knotwork._extensions.mcp import check_sdk
    from knotwork._extensions.mcp.permissions import Permissions

    if session.common.json:
        raise ConfigError("`knotwork mcp` does not support --json.", fix="Remove --json.")
    check_sdk()
    permissions = Permissions(write=write, folders=allow, use_llm=not no_llm)
    opened = session.open(read_only=not write)
    _send_foreign_logs_to_stderr()
    from knotwork._extensions.mcp.server import serve_http, serve_stdio

    if http:
        serve_http(
            opened,
            permissions,
            port=port,
            announce=lambda address: session.terminal.note(f"Serving {address}; stop with Ctrl-C."),
        )
    else:
        serve_stdio(opened, permissions)


def _send_foreign_logs_to_stderr() -> None:
    """Log warnings of libraries. Those of Knotwork have a handler already."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: not record.name.startswith("knotwork"))
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", handlers=[handler]
    )
