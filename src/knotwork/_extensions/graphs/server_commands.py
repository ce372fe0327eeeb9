"""`knotwork graph mirror`, `verify`, `connect`, `connections`, `disconnect` and `query`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knotwork._cli.session import (
    PARAMETER_OPTION,
    ROW_LIMIT_OPTION,
    STATEMENT_TIMEOUT_OPTION,
    Session,
    command,
    text_option,
)
from knotwork._cli.terminal import Terminal, count_of, join_lines
from knotwork._extensions.graphs.explore_commands import print_rows
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._extensions.graphs.servers.mirror import MirrorReport
    from knotwork.records import PropertyValue

DIFFERS_CODE = 1
"""The exit code of a verification that found a difference."""


@command(
    "knotwork graph mirror",
    "knotwork graph mirror --set graph.mirror=bolt://neo4j@localhost/hb",
    "knotwork graph mirror --full --json",
    short_help="Copy the graph to a graph database, or update the copy.",
)
@click.option("--full", is_flag=True, help="Compare all of it, although the stamp is current.")
def mirror(session: Session, *, full: bool) -> None:
    """Write what changed in the graph to the database in graph.mirror.

    The copy has the nodes, edges and properties that Cypher shows. Only what differs is written. A
    run that was stopped or killed continues where it ended, and a copy counts only when it is
    finished. The database must hold nothing else.
    """
    run = session.open(read_only=False).graph.mirror.run(full=full)
    report = session.follow(run, lambda step: step.stage, with_lines=True)
    if session.common.json:
        names = ("url", "generation", "written", "removed", "unchanged")
        session.terminal.emit(fields_of(report, *names))
    elif report.unchanged:
        session.terminal.say(f"The mirror at {report.url} is up to date.")
    else:
        session.terminal.say(
            f"The mirror at {report.url} is up to date: {report.written:,} nodes and edges"
            f" written, {report.removed:,} removed."
        )


@command(
    "knotwork graph verify",
    "knotwork graph verify --store handbook.knot",
    "knotwork graph verify --json",
    short_help="Compare the copy in a graph database with the index.",
)
def verify(session: Session) -> None:
    """Compare counts and checksums of every label and type in the mirror with the index.

    The first differences are listed. The exit code is 1 if there are any, or if the copy is not
    finished or not of the index as it is now.
    """
    run = session.open().graph.verify_mirror.run()
    report = session.follow(run, lambda step: step.stage, with_lines=True)
    if not session.emit(fields_of(report, "url", "generation", "is_current", "parts")):
        _print_verification(session.terminal, report)
    if not report.is_current:
        click.get_current_context().exit(DIFFERS_CODE)


@command(
    "knotwork graph connect bolt://reader@localhost/movies --name movies",
    "knotwork graph connect sparql+http://localhost:7878/query --name facts",
    "knotwork graph connect bolt+s://h --name crm --password-env CRM_KEY",
    short_help="Connect to a graph database or SPARQL server, to read it.",
)
@click.argument("url")
@click.option("--name", metavar="NAME", required=True, help="Name of the graph in commands.")
@text_option(
    "--password-env",
    metavar="VARIABLE",
    help="Environment variable with the password. Default: NAME_PASSWORD.",
)
@click.option("--read-only", is_flag=True, help="Always so: a connected graph is never changed.")
def connect(session: Session, *, url: str, name: str, password_env: str, read_only: bool) -> None:
    """Make a live graph a source of `graph query`, `cypher --graph` and retrievers by query.

    The index remembers name and URL, never the password. URLs are bolt://USER@HOST:7687/DATABASE,
    also bolt+s, bolt+ssc, neo4j and neo4j+s, and sparql+http://HOST/PATH or sparql+https. What is
    more than a query is refused before it is sent.
    """
    del read_only  # says what is so anyway
    found = session.open(read_only=False).graph.connect(url, name=name, password_env=password_env)
    if session.emit(fields_of(found)):
        return
    session.terminal.say(f"Connected {found.name} to {found.url} ({found.server}), for reading.")
    if not found.is_tested:
        session.terminal.note(
            f"Knotwork was not tested against {found.server}: see docs/graph-databases.md."
        )
    if found.password_env:
        session.terminal.note(
            f"The password is not stored: later commands take it from {found.password_env}.",
            style="dim",
        )


@command(
    "knotwork graph connections",
    "knotwork graph connections --store handbook.knot",
    "knotwork graph connections --json",
    short_help="List the graphs that the index is connected to.",
)
def connections(session: Session) -> None:
    """List name, language, kind and URL of each connected graph; nothing is contacted."""
    found = session.open().graph.connections()
    session.show_table(
        {"connections": found},
        [(one.name, one.language, one.server, one.url, one.password_env) for one in found],
        header=("name", "language", "server", "URL", "password in"),
        counted="" if found else "No connected graph.",
    )


@command(
    "knotwork graph disconnect movies",
    "knotwork graph disconnect movies --store handbook.knot",
    "knotwork graph disconnect movies --json",
    short_help="Forget a connected graph.",
)
@click.argument("name")
def disconnect(session: Session, *, name: str) -> None:
    """Forget a connected graph; the graph itself stays as it is."""
    session.open(read_only=False).graph.disconnect(name)
    if not session.emit({"disconnected": name}):
        session.terminal.say(f"Forgot the connection {name}.")


@command(
    "knotwork graph query movies 'MATCH (m:Movie) RETURN m.title LIMIT 5'",
    "knotwork graph query movies 'MATCH (m {t: $t}) RETURN m' --param t=Up",
    "knotwork graph query facts 'SELECT ?s { ?s a ?kind } LIMIT 5' --json",
    short_help="Run a query on a connected graph, in its language.",
)
@click.argument("name")
@click.argument("statement")
@PARAMETER_OPTION
@ROW_LIMIT_OPTION
@STATEMENT_TIMEOUT_OPTION
def query(
    session: Session,
    *,
    name: str,
    statement: str,
    query_params: dict[str, PropertyValue],
    limit: int,
    timeout_s: float,
) -> None:
    """Run a statement on a connected graph: Cypher over Bolt, SPARQL over HTTP.

    It can only read: SELECT, ASK, CONSTRUCT and DESCRIBE of SPARQL, and what `knotwork cypher`
    allows.
    """
    result = session.open().graph.query(
        name, statement, query_params, row_limit=limit, timeout_s=timeout_s
    )
    print_rows(session, result)


def _print_verification(terminal: Terminal, report: MirrorReport) -> None:
    rows = [
        (
            part.name,
            part.index_count,
            part.mirror_count,
            part.index_checksum,
            "equal" if part.is_equal else "DIFFERENT",
        )
        for part in report.parts
    ]
    terminal.table(rows, header=(" ", "index", "mirror", "checksum", " "))
    for part in report.differing:
        terminal.say(part.name, style="bold")
        for difference in part.differences:
            terminal.say(join_lines(difference), indent=2)
    if report.is_current:
        terminal.say(f"The mirror at {report.url} is that of the index.")
    elif report.differing:
        parts = count_of(len(report.differing), "part")
        terminal.say(f"The mirror at {report.url} differs in {parts}.")
    else:
        terminal.say(f"The mirror at {report.url} is equal, but its stamp is not current.")
