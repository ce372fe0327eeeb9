"""`knotwork mcp`: the index as a server for assistants that speak the Model Context Protocol."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.errors import ConfigError

PORT = 8766


@click.command(
    epilog=show_examples(
        "knotwork mcp                              for an assistant that starts it",
        "knotwork mcp --http --port 8766           for programs on this machine",
        "knotwork mcp --write --allow ~/papers     it may index this folder, too",
    )
)
@click.option("--http", is_flag=True, help="Serve 127.0.0.1 instead of the standard streams.")
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=PORT,
    show_default=True,
    help="Of --http; 0 is any that is free.",
)
@click.option("--write", is_flag=True, help="Let programs change the index. Else they only read.")
@click.option(
    "--allow",
    metavar="FOLDER",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A folder that may be indexed; may be given several times.",
)
@click.option("--no-llm", is_flag=True, help="Ask no language model.")
@with_session()
def command(
    session: Session, *, http: bool, port: int, write: bool, allow: tuple[Path, ...], no_llm: bool
) -> None:
    """Serve the index to assistants by the Model Context Protocol: tools to search, ask and
    explore, documents and reports as resources.
    """
    from knotwork.mcp_server import Permissions, check_sdk

    if session.common.json:
        raise ConfigError("`knotwork mcp` prints no object.", fix="Leave --json out.")
    check_sdk()
    permissions = Permissions(write=write, folders=allow, use_llm=not no_llm)
    opened = session.open(read_only=not write)
    _send_foreign_logs_to_stderr()
    from knotwork.mcp_server.serving import serve_http, serve_stdio

    if http:
        serve_http(
            opened,
            permissions,
            port=port,
            tell=lambda address: session.terminal.note(f"Serving {address}; stop with Ctrl-C."),
        )
    else:
        serve_stdio(opened, permissions)


def _send_foreign_logs_to_stderr() -> None:
    """Show warnings of libraries once; those of Knotwork have a handler already."""
    handler = logging.StreamHandler()
    handler.addFilter(lambda record: not record.name.startswith("knotwork"))
    logging.basicConfig(
        level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s", handlers=[handler]
    )
