"""`knotwork graph mirror`, `verify`, `connect`, `connections`, `disconnect` and `query`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knotwork._cli.commands.graph import show_rows_of
from knotwork._cli.session import (
    PARAMETER_OPTION,
    ROW_LIMIT_OPTION,
    STATEMENT_TIMEOUT_OPTION,
    Session,
    command,
    text_option,
)
from knotwork._cli.views import Line, Table, count_of, each, note
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork.records import PropertyValue

DIFFERS_CODE = 1
"""The exit code of a verification that found a difference."""


@command(short_help="Copy the graph to a graph database, or update the copy.")
@click.option("--full", is_flag=True, help="Compare all of it, although the stamp is current.")
def mirror(session: Session, *, full: bool) -> None:
    """Write what changed in the graph to the database in graph.mirror.

    The copy has the nodes, edges and properties that Cypher shows. Only what differs is written. A
    run that was stopped or killed continues where it ended, and a copy counts only when it is
    finished. The database must hold nothing else.
    $ knotwork graph mirror
    $ knotwork graph mirror --set graph.mirror=bolt://neo4j@localhost/hb
    $ knotwork graph mirror --full --json
    """
    run = session.open(read_only=False).graph.mirror.run(full=full)
    report = session.follow(run, has_lines=True)
    session.show(
        fields_of(report, "url", "generation", "written", "removed", "unchanged"),
        "[{unchanged:?}The mirror at {url} is up to date.]",
        "[{unchanged:!}The mirror at {url} is up to date: {changes}.]",
        changes=f"{report.written:,} nodes and edges written, {report.removed:,} removed",
    )


@command(short_help="Compare the copy in a graph database with the index.")
def verify(session: Session) -> None:
    """Compare counts and checksums of every label and type in the mirror with the index.

    The first differences are listed. The exit code is 1 if there are any, or if the copy is not
    finished or not of the index as it is now.
    $ knotwork graph verify
    $ knotwork graph verify --store handbook.knot
    $ knotwork graph verify --json
    """
    run = session.open().graph.verify_mirror.run()
    report = session.follow(run, has_lines=True)
    state = "is equal, but its stamp is not current"
    if report.differing:
        state = f"differs in {count_of(len(report.differing), 'part')}"
    session.show(
        fields_of(report, "url", "generation", "is_current", "parts"),
        Table("parts", _COMPARED),
        each("differing", Line("{name}", "bold"), each("differences", Line("{}", indent=2))),
        "The mirror at {url} {state}.",
        differing=report.differing,
        state="is that of the index" if report.is_current else state,
    )
    if not report.is_current:
        click.get_current_context().exit(DIFFERS_CODE)


@command(short_help="Connect to a graph database or SPARQL server, to read it.")
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
    $ knotwork graph connect bolt://reader@localhost/movies --name movies
    $ knotwork graph connect sparql+http://localhost:7878/query --name facts
    $ knotwork graph connect bolt+s://h --name crm --password-env CRM_KEY
    """
    del read_only  # says what is so anyway
    found = session.open(read_only=False).graph.connect(url, name=name, password_env=password_env)
    session.show(
        found,
        "Connected {name} to {url} ({server}), for reading.",
        note("[{tested:!}Knotwork was not tested against {server}: see docs/graph-databases.md.]"),
        note("[The password is not stored: later commands take it from {password_env}.]"),
        tested=found.is_tested,
    )


@command(short_help="List the graphs that the index is connected to.")
def connections(session: Session) -> None:
    """List name, language, kind and URL of each connected graph; nothing is contacted.

    $ knotwork graph connections
    $ knotwork graph connections --store handbook.knot
    $ knotwork graph connections --json
    """
    found = session.open().graph.connections()
    session.show(
        {"connections": found},
        Table("connections", "name language server URL=url password_in=password_env"),
        note("[{connections:!}No connected graph.]"),
    )


@command(short_help="Forget a connected graph.")
@click.argument("name")
def disconnect(session: Session, *, name: str) -> None:
    """Forget a connected graph; the graph itself stays as it is.

    $ knotwork graph disconnect movies
    $ knotwork graph disconnect movies --store handbook.knot
    $ knotwork graph disconnect movies --json
    """
    session.open(read_only=False).graph.disconnect(name)
    session.show({"disconnected": name}, "Forgot the connection {disconnected}.")


@command(short_help="Run a query on a connected graph, in its language.")
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
    $ knotwork graph query movies 'MATCH (m:Movie) RETURN m.title LIMIT 5'
    $ knotwork graph query movies 'MATCH (m {t: $t}) RETURN m' --param t=Up
    $ knotwork graph query facts 'SELECT ?s { ?s a ?kind } LIMIT 5' --json
    """
    result = session.open().graph.query(
        name, statement, query_params, row_limit=limit, timeout_s=timeout_s
    )
    show_rows_of(session, result)


_COMPARED = {
    " part": "{name}",
    "index": "{index_count}",
    "mirror": "{mirror_count}",
    "checksum": "{index_checksum}",
    " verdict": "[{is_equal:?}equal][{is_equal:!}DIFFERENT]",
}
