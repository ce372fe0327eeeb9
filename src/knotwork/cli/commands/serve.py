"""`knotwork serve`: answer people and programs over HTTP."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session

_PORT = click.IntRange(0, 65_535)


@click.command(
    epilog=show_examples(
        "knotwork serve handbook.knot",
        "knotwork serve ~/indexes --port 9000",
        "knotwork serve ~/indexes --host 0.0.0.0    after: knotwork keys add",
    )
)
@click.argument("place", metavar="[FOLDER|FILE]", required=False, type=click.Path(path_type=Path))
@click.option("--host", metavar="ADDRESS", help="Listen there. [env: KNOTWORK_SERVICE_HOST]")
@click.option(
    "--port", metavar="N", type=_PORT, help="0 is any free one. [env: KNOTWORK_SERVICE_PORT]"
)
@click.option(
    "--keys", metavar="FILE", type=click.Path(), help="Keys. [env: KNOTWORK_SERVICE_KEYS]"
)
@click.option("--read-only", is_flag=True, help="Take no uploads, and change no index.")
@with_session()
def command(
    session: Session,
    *,
    place: Path | None,
    host: str | None,
    port: int | None,
    keys: str | None,
    read_only: bool,
) -> None:
    """Serve the indexes of a FOLDER as workspaces, or one index FILE as the workspace `default`.

    Without either, the index of the settings. It answers under /api/v1, and clients of OpenAI under
    /v1. Without keys only this machine may ask; see `knotwork keys`. Ctrl-C ends it: requests are
    finished, and jobs go on when it starts again.
    """
    from knotwork.service import require_extra

    require_extra()
    from knotwork.service import make_app
    from knotwork.service.pages import BUILD_COMMAND, has_pages
    from knotwork.service.running import KnotworkServer
    from knotwork.service.serving import Place

    service = session.settings.service
    service = replace(
        service,
        host=host or service.host,
        port=service.port if port is None else port,
        keys=keys or service.keys,
    )
    path = place if place is not None else Path(session.settings.store.path)
    settings = replace(session.settings, service=service)
    served = Place(path.expanduser().absolute(), settings, read_only=read_only)
    served.check()

    def tell(address: str) -> None:
        if session.common.json:
            session.terminal.emit({"address": address})
        else:
            session.terminal.say(f"Serving {served.path} at {address}")
            if not has_pages():
                session.terminal.note(
                    f"It has no web pages; with Node.js, {BUILD_COMMAND} makes them in a copy of "
                    "the source.",
                    style="dim",
                )
            if app.state.service.warmer.state == "loading":
                session.terminal.note(
                    "The embedding model is loading; /health/ready says when it is there.",
                    style="dim",
                )
            session.terminal.note("Stop it with Ctrl-C.", style="dim")
        sys.stdout.flush()

    app = make_app(served)
    KnotworkServer(app).serve_at(service.host, service.port, tell)
