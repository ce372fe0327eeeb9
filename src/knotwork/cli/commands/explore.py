"""`knotwork explore`: the neighbourhood of names in the knowledge graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

import click

from knotwork.cli.answers import shorten
from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.cli.terminal import Terminal, count_of, join_lines
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.retrieval.dossiers import Dossier, Passage

_COUNT = click.IntRange(min=1)


@click.command(
    epilog=show_examples(
        'knotwork explore "Oriane Keld"',
        "knotwork explore 温青岚 --depth 1",
        'knotwork explore "Oriane Keld" --to "Skarrow Station"',
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
@click.option("--limit", metavar="N", type=_COUNT, help="Edges, at most: 50 by default; paths: 5.")
@click.option("--to", "target", metavar="NAME", help="Show the shortest paths to this name.")
@with_session()
def command(
    session: Session,
    *,
    names: tuple[str, ...],
    direction: str,
    depth: int,
    fan: int,
    limit: int | None,
    target: str | None,
) -> None:
    """Show what the index holds on one or more names, and the knowledge graph around them:
    strongest relations first, then co-occurrences. With --to, show the shortest paths from one name
    to another instead.
    """
    from knotwork.cli.envelopes import describe_dossier, describe_subgraph
    from knotwork.records import Direction, EdgeType

    check_choice("direction", direction, get_args(Direction))
    if target is not None:
        _show_paths(session, names, target, limit=limit or 5)
        return
    most = limit or 50
    opened = session.open()
    subgraph = opened.explore(
        names,
        direction=cast("Direction", direction),
        depth=depth,
        fan=fan,
        limit=most,
    )
    dossiers = opened.describe(names)
    if session.common.json:
        described = [describe_dossier(dossier) for dossier in dossiers]
        session.terminal.emit({"entities": described, **describe_subgraph(subgraph)})
        return
    for dossier in dossiers:
        _print_dossier(session.terminal, dossier)
    title = {node.id: node.name for node in subgraph.nodes}
    together = [edge for edge in subgraph.edges if edge.type == EdgeType.CO_OCCURS]
    stated = [edge for edge in subgraph.edges if edge.type != EdgeType.CO_OCCURS]
    if stated:
        session.terminal.table(
            [
                (title[e.source], e.relation or e.type, title[e.target], f"{e.weight:g}")
                for e in stated
            ],
            header=("from", "relation", "to", "weight"),
        )
    if together:
        session.terminal.say("Co-occur in a sentence:", style="bold")
        session.terminal.table(
            [(title[e.source], title[e.target], f"{e.weight:g}") for e in together],
            header=("entity", "entity", "sentences"),
        )
    cut = " (--limit allows no more)" if len(subgraph.edges) >= most else ""
    session.terminal.note(
        f"{count_of(len(subgraph.nodes), 'entity', 'entities')}, "
        f"{count_of(len(stated), 'relation')}, {count_of(len(together), 'co-occurrence')}{cut}",
        style="dim",
    )


def _print_dossier(terminal: Terminal, dossier: Dossier) -> None:
    """Print the name of an entity with what is known beside its relations."""
    entity = dossier.entity
    kind = f"  {entity.type.lower()}" if entity.type and not entity.is_keyword else ""
    terminal.say(f"{join_lines(entity.name)}{kind}", style="bold")
    lists = [
        ("Also called", dossier.names),
        ("Community", dossier.communities[-1:]),
        ("In the same passages", [e.name for e in dossier.nearby if not e.is_keyword]),
        ("Keywords of these passages", [e.name for e in dossier.nearby if e.is_keyword]),
    ]
    if dossier.description:
        terminal.say(join_lines(dossier.description), indent=2)
    for passage in dossier.passages:
        quote = shorten(_sentence_that_mentions(passage))
        terminal.say(f"• {quote} ({join_lines(passage.document.uri)})", indent=2)
    for label, names in lists:
        if names:
            terminal.say(f"{label}: {join_lines(', '.join(names))}", style="dim", indent=2)
    terminal.say()


def _sentence_that_mentions(passage: Passage) -> str:
    """Return the first sentence of a passage that names the entity, or else its first; a title only
    if there is nothing else.
    """
    from knotwork.synthesis.citing import show_sentence

    chunk = passage.chunk
    titles = {show_sentence(title) for title in (*chunk.headings, chunk.document_title)}
    sentences = [
        (not any(span.start <= mark.start < span.end for mark in passage.marks), text)
        for index, span in enumerate(chunk.sentences)
        if (text := show_sentence(chunk.sentence_text(index))) not in titles
    ]
    return min(sentences, key=lambda item: item[0])[1] if sentences else show_sentence(chunk.text)


def _show_paths(session: Session, names: tuple[str, ...], target: str, *, limit: int) -> None:
    from knotwork.cli.envelopes import describe_path

    if len(names) != 1:
        raise ConfigError("--to takes one name to begin with.", fix="Give one NAME and --to NAME.")
    paths = session.open().paths(names[0], target, limit=limit)
    if session.common.json:
        session.terminal.emit({"paths": [describe_path(path) for path in paths]})
        return
    for path in paths:
        session.terminal.say(join_lines(path.text))
    if not paths:
        session.terminal.say("No path of at most five relations leads from one to the other.")
    session.terminal.note(count_of(len(paths), "path"), style="dim")
