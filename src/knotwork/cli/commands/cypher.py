"""`knotwork cypher`: run a read-only statement on the index's own graph or an imported one."""

from __future__ import annotations

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import PARAMETER_OPTION, with_session
from knotwork.cli.session import Session
from knotwork.cli.statements import read_parameters
from knotwork.cli.terminal import count_of


@click.command(
    epilog=show_examples(
        "knotwork cypher 'MATCH (e:Entity) RETURN e.name LIMIT 5'",
        "knotwork cypher 'MATCH (e {name: $n})--(c) RETURN c' --param n=Ada",
        "knotwork cypher 'MATCH (p) RETURN count(p)' --graph people --json",
    )
)
@click.argument("statement")
@PARAMETER_OPTION
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

    given = read_parameters(parameters)
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
