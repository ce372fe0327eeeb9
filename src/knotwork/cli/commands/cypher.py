"""`knotwork cypher`: run a read-only statement on the index's own graph or an imported one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.records import PropertyValue


@click.command(
    epilog=show_examples(
        "knotwork cypher 'MATCH (e:Entity) RETURN e.name LIMIT 5'",
        "knotwork cypher 'MATCH (e {name: $n})--(c) RETURN c' --param n=Ada",
        "knotwork cypher 'MATCH (p) RETURN count(p)' --graph people --json",
    )
)
@click.argument("statement")
@click.option(
    "--param",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    help="A value for $NAME: JSON, or else text. May be repeated.",
)
@click.option("--graph", metavar="NAME", default="", help="An imported graph, not the index's own.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Rows, at most.",
)
@click.option(
    "--timeout",
    "timeout_s",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Seconds, at most.",
)
@with_session()
def command(
    session: Session,
    *,
    statement: str,
    parameters: tuple[str, ...],
    graph: str,
    limit: int,
    timeout_s: float,
) -> None:
    """Run a Cypher statement that reads: MATCH, WHERE, WITH, UNWIND, RETURN.

    Nothing can be changed by one, and no file is read.
    """
    from knotwork.cli.answers import show_rows
    from knotwork.cli.envelopes import describe_result

    given = dict(read_parameter(text) for text in parameters)
    result = session.open().cypher(
        statement, given, graph=graph, row_limit=limit, timeout_s=timeout_s
    )
    if session.common.json:
        session.terminal.emit(describe_result(result))
        return
    if not result.rows:
        session.terminal.note("No row.")
        return
    session.terminal.table(show_rows(result.rows), header=result.columns)
    cut = " (--limit allows no more)" if result.truncated else ""
    session.terminal.note(f"{count_of(len(result.rows), 'row')}{cut}", style="dim")


def read_parameter(text: str) -> tuple[str, PropertyValue]:
    """Return the name and the value of a parameter as it is written on the command line."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise ConfigError(f"`{text}` gives no parameter a value.", fix="Write it as --param n=Ada.")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
