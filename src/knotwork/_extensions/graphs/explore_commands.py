"""`knotwork explore`, `graph shortest-paths`, `cypher` and `communities`: look at the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import (
    PARAMETER_OPTION,
    ROW_LIMIT_OPTION,
    STATEMENT_TIMEOUT_OPTION,
    Session,
    choice_option,
    command,
    number_option,
    text_option,
)
from knotwork._cli.terminal import Terminal, count_of, join_lines, shorten_excerpt
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._retrieval.entity_lookup import Dossier, DossierPassage
    from knotwork._shapes.base import Json
    from knotwork.records import PropertyValue, QueryResult


@command(
    'knotwork explore "Oriane Keld"',
    "knotwork explore 温青岚 --depth 1",
    'knotwork explore "Oriane Keld" "Skarrow Station" --limit 20',
)
@click.argument("names", metavar="NAME...", nargs=-1, required=True)
@choice_option(
    "--direction",
    metavar="WHICH",
    valid=("both", "in", "out"),
    kind="direction",
    default="both",
    show_default=True,
    help="Direction of relations to follow: both, in or out.",
)
@number_option("--depth", default=2, help="Hops from the names.")
@number_option("--fan", default=8, help="Neighbours per entity.")
@number_option("--limit", default=50, help="Maximum number of edges.")
def explore_command(
    session: Session,
    *,
    names: tuple[str, ...],
    limit: int,
    **options: Any,  # noqa: ANN401  those of `KnowledgeGraph.explore`
) -> None:
    """Show entities and the knowledge graph around them.

    Relations are listed with the strongest first, then co-occurrences.
    """
    from knotwork._shapes.graph import SUBGRAPH
    from knotwork.records import EdgeType

    opened = session.open()
    subgraph = opened.graph.explore(names, limit=limit, **options)
    dossiers = opened.graph.describe(names)
    if session.common.json:
        nodes = [
            fields_of(node, "id", "label", "name") | dict(node.properties)
            for node in subgraph.nodes
        ]
        entities = [_describe_dossier(dossier) for dossier in dossiers]
        shown = SUBGRAPH(subgraph, nodes=nodes, is_cut=len(subgraph.edges) >= limit)
        session.terminal.emit({"entities": entities, **shown})
        return
    for dossier in dossiers:
        _print_dossier(session.terminal, dossier)
    title = {node.id: node.name for node in subgraph.nodes}
    together = [edge for edge in subgraph.edges if edge.type == EdgeType.CO_OCCURS]
    stated = [edge for edge in subgraph.edges if edge.type != EdgeType.CO_OCCURS]
    if stated:
        session.terminal.table(
            [(title[e.source], e.name, title[e.target], f"{e.weight:g}") for e in stated],
            header=("from", "relation", "to", "weight"),
        )
    if together:
        session.terminal.say("Co-occur in a sentence:", style="bold")
        session.terminal.table(
            [(title[e.source], title[e.target], f"{e.weight:g}") for e in together],
            header=("entity", "entity", "sentences"),
        )
    cut = " (--limit allows no more)" if len(subgraph.edges) >= limit else ""
    session.terminal.note(
        f"{count_of(len(subgraph.nodes), 'entity', 'entities')}, "
        f"{count_of(len(stated), 'relation')}, {count_of(len(together), 'co-occurrence')}{cut}",
        style="dim",
    )


def _describe_dossier(dossier: Dossier) -> dict[str, Any]:
    from knotwork._shapes.graph import SOURCE

    return {
        **fields_of(dossier.entity, "id", "name", "type"),
        **fields_of(dossier, "names", "description", "communities"),
        "nearby": [fields_of(other, "id", "name", "is_keyword") for other in dossier.nearby],
        "passages": list(map(SOURCE, dossier.passages)),
    }


def _print_dossier(terminal: Terminal, dossier: Dossier) -> None:
    """Print an entity's name, description, passages, aliases and neighbours."""
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
        quote = shorten_excerpt(_sentence_that_mentions(passage))
        terminal.say(f"• {quote} ({join_lines(passage.document.uri)})", indent=2)
    for label, names in lists:
        if names:
            terminal.say(f"{label}: {join_lines(', '.join(names))}", style="dim", indent=2)
    terminal.say()


def _sentence_that_mentions(passage: DossierPassage) -> str:
    """Return the first sentence of a passage that names the entity, else its first sentence.

    A title is returned only if the passage has no other sentence.
    """
    from knotwork._synthesis.citations import show_sentence

    chunk = passage.chunk
    titles = {show_sentence(title) for title in (*chunk.headings, chunk.document_title)}
    sentences = [
        (not any(span.start <= mark.start < span.end for mark in passage.marks), text)
        for index, span in enumerate(chunk.sentences)
        if (text := show_sentence(chunk.sentence_text(index))) not in titles
    ]
    return min(sentences, key=lambda item: item[0])[1] if sentences else show_sentence(chunk.text)


@command(
    'knotwork graph shortest-paths "Oriane Keld" "Skarrow Station"',
    "knotwork graph shortest-paths 温青岚 海雾观测计划 --limit 1",
    'knotwork graph shortest-paths "Oriane Keld" "Bram Ostrand" --json',
    short_help="Show the shortest paths between two entities.",
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
@number_option("--limit", default=5, help="Maximum of paths.")
def shortest_paths(session: Session, *, one: str, other: str, limit: int) -> None:
    """Show the shortest paths between two entities, of at most five relations.

    Paths over stated relations come before those over co-occurrences.
    """
    from knotwork._shapes.results import PATH

    paths = session.open().graph.shortest_paths(one, other, limit=limit)
    if session.emit({"paths": list(map(PATH, paths))}):
        return
    for path in paths:
        session.terminal.say(join_lines(path.text))
    if not paths:
        session.terminal.say("No path of at most five relations found.")
    session.terminal.note(count_of(len(paths), "path"), style="dim")


@command(
    "knotwork cypher 'MATCH (e:Entity) RETURN e.name LIMIT 5'",
    "knotwork cypher 'MATCH (e {name: $n})--(c) RETURN c' --param n=Ada",
    "knotwork cypher 'MATCH (p) RETURN count(p)' --graph people --json",
)
@click.argument("statement")
@PARAMETER_OPTION
@text_option("--graph", help="Query this imported or connected graph instead.")
@ROW_LIMIT_OPTION
@STATEMENT_TIMEOUT_OPTION
def cypher_command(
    session: Session,
    *,
    statement: str,
    query_params: dict[str, PropertyValue],
    limit: int,
    **options: Any,  # noqa: ANN401  those of `KnowledgeGraph.cypher`
) -> None:
    """Run a read-only Cypher statement: MATCH, WHERE, WITH, UNWIND, RETURN.

    Statements cannot change the graph or read files.
    """
    graph = session.open().graph
    print_rows(session, graph.cypher(statement, query_params, row_limit=limit, **options))


def print_rows(session: Session, result: QueryResult) -> None:
    """Print the rows of a statement."""
    from knotwork._cli.answers import show_rows
    from knotwork._shapes.results import RESULT

    cut = " (--limit allows no more)" if result.truncated else ""
    session.show_table(
        RESULT(result),
        show_rows(result.rows),
        header=result.columns,
        counted=f"{count_of(len(result.rows), 'row')}{cut}" if result.rows else "No rows.",
    )


@command(
    "knotwork communities",
    'knotwork communities "money and travel" -n 3',
    "knotwork communities --level 1 --json",
)
@click.argument("topic", metavar="[TOPIC]", required=False, default="")
@number_option("--level", least=0, help="Show only this level; 0 is the top level.")
@number_option("-n", "--limit", default=10, help="Maximum number of communities.")
@click.option("--rebuild", is_flag=True, help="Rebuild all communities from scratch.")
def communities_command(
    session: Session, *, topic: str, level: int | None, limit: int, rebuild: bool
) -> None:
    """Show communities of related entities, with reports that quote the documents.

    With a TOPIC, the communities whose reports match it are shown, otherwise the top level.
    Communities are updated first if documents have changed. No language model is used.
    """
    from knotwork._shapes.graph import describe_communities

    opened = session.open()
    if rebuild or not opened.communities.is_current():
        session.terminal.note("Building communities and reports …", style="dim")
        opened = session.open(read_only=False)
        opened.communities.update(rebuild=rebuild)
    topics = opened.communities.stored(topic, level=level, limit=limit)
    communities = describe_communities(opened, topics)
    if session.emit({"communities": communities}):
        return
    for item in communities:
        _print_community(session.terminal, item)
    total = count_of(len(communities), "community", "communities")
    session.terminal.note(total if communities else "No communities found.", style="dim")


def _print_community(terminal: Terminal, community: Json) -> None:
    terminal.say(community["title"], style="bold")
    size = count_of(community["size"], "entity", "entities")
    members = ", ".join(member["name"] for member in community["members"])
    terminal.say(f"level {community['level']}, {size}: {members}", style="dim", indent=2)
    for finding in community["findings"]:
        places = {support["document"] for support in finding["supports"]}
        where = f" ({', '.join(sorted(places))})" if places else ""
        terminal.say(f"• {shorten_excerpt(finding['text'])}{where}", indent=2)
    terminal.say()
