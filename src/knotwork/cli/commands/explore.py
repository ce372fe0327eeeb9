"""`knotwork explore`: the neighbourhood of names in the knowledge graph."""

from __future__ import annotations

from typing import cast, get_args

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.cli.terminal import count_of

_COUNT = click.IntRange(min=1)


@click.command(
    epilog=show_examples(
        'knotwork explore "Heron buoy"',
        'knotwork explore "Oriane Keld" "Bram Ostrand" --depth 3',
        "knotwork explore 温青岚 --direction out --json",
    )
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--direction",
    metavar="WHICH",
    shell_complete=complete_from(("both", "in", "out")),
    default="both",
    show_default=True,
    help="Follow relations: both, in or out.",
)
@click.option(
    "--depth", metavar="N", type=_COUNT, default=2, show_default=True, help="Steps from the names."
)
@click.option(
    "--fan", metavar="N", type=_COUNT, default=8, show_default=True, help="Neighbours of each."
)
@click.option(
    "--limit", metavar="N", type=_COUNT, default=50, show_default=True, help="Relations, at most."
)
@with_session()
def command(
    session: Session, *, names: tuple[str, ...], direction: str, depth: int, fan: int, limit: int
) -> None:
    """Walk the knowledge graph from one or more names, strongest relations first."""
    from knotwork.cli.envelopes import describe_subgraph
    from knotwork.records import Direction

    check_choice("direction", direction, get_args(Direction))
    subgraph = session.open().explore(
        names,
        direction=cast("Direction", direction),
        depth=depth,
        fan=fan,
        limit=limit,
    )
    if session.common.json:
        session.terminal.emit(describe_subgraph(subgraph))
        return
    if not subgraph.nodes:
        session.terminal.say("The index knows none of these names.")
        return
    title = {node.id: node.name for node in subgraph.nodes}
    session.terminal.table(
        [
            (title[edge.source], edge.relation or edge.type, title[edge.target], f"{edge.weight:g}")
            for edge in subgraph.edges
        ],
        header=("from", "relation", "to", "weight"),
    )
    cut = " (--limit allows no more)" if len(subgraph.edges) >= limit else ""
    session.terminal.note(
        f"{count_of(len(subgraph.nodes), 'entity', 'entities')}, "
        f"{count_of(len(subgraph.edges), 'relation')}{cut}",
        style="dim",
    )
