"""Look at the graph and its communities."""

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
from knotwork._cli.terminal import Terminal
from knotwork._cli.views import NOTES, ROW_COUNT, Line, Table, each, note
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._retrieval.entity_lookup import Dossier, DossierPassage
    from knotwork._shapes.base import Json
    from knotwork.records import PropertyValue, QueryResult


@command()
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
    $ knotwork explore "Oriane Keld"
    $ knotwork explore 温青岚 --depth 1
    $ knotwork explore "Oriane Keld" "Skarrow Station" --limit 20
    """
    from knotwork._extensions.graphs.shapes import SUBGRAPH
    from knotwork.records import EdgeType

    opened = session.open()
    subgraph = opened.graph.explore(names, limit=limit, **options)
    dossiers = opened.graph.describe(names)
    nodes = [
        fields_of(node, "id", "label", "name") | dict(node.properties) for node in subgraph.nodes
    ]
    shown = SUBGRAPH(subgraph, nodes=nodes, is_cut=len(subgraph.edges) >= limit)
    if session.emit({"entities": list(map(_describe_dossier, dossiers)), **shown}):
        return
    for dossier in dossiers:
        _show_dossier(session.terminal, dossier)
    title = {node.id: node.name for node in subgraph.nodes}
    edges = [
        fields_of(edge, "type", "name", "weight")
        | {"source": title[edge.source], "target": title[edge.target]}
        for edge in subgraph.edges
    ]
    together = [edge for edge in edges if edge["type"] == EdgeType.CO_OCCURS]
    stated = [edge for edge in edges if edge["type"] != EdgeType.CO_OCCURS]
    session.terminal.show({**shown, "stated": stated, "together": together}, *_GRAPH)


_GRAPH = (
    Table("stated", "from=source relation=name to=target weight:g"),
    Line("[{together:?}Co-occur in a sentence:]", "bold"),
    Table("together", "entity=source with=target sentences=weight:g"),
    note(
        "{nodes:#entity/entities}, {stated:#relation}, {together:#co-occurrence}"
        "[{is_cut:?} (--limit allows no more)]"
    ),
)


def _describe_dossier(dossier: Dossier) -> dict[str, Any]:
    from knotwork._extensions.graphs.shapes import SOURCE

    return {
        **fields_of(dossier.entity, "id", "name", "type"),
        **fields_of(dossier, "names", "description", "communities"),
        "nearby": [fields_of(other, "id", "name", "is_keyword") for other in dossier.nearby],
        "passages": list(map(SOURCE, dossier.passages)),
    }


_DOSSIER = (
    Line("{name}[  {kind}]", "bold"),
    Line("{description}", indent=2),
    each("quotes", Line("• {0:excerpt} ({1})", indent=2)),
    Line("[Also called: {names}]", "dim", 2),
    Line("[Community: {community}]", "dim", 2),
    Line("[In the same passages: {nearby}]", "dim", 2),
    Line("[Keywords of these passages: {keywords}]", "dim", 2),
    "",
)


def _show_dossier(terminal: Terminal, dossier: Dossier) -> None:
    """Print an entity's name, description, passages, aliases and neighbours."""
    entity, nearby = dossier.entity, dossier.nearby
    facts = {
        **fields_of(dossier, "names", "description"),
        "name": entity.name,
        "kind": "" if entity.is_keyword else entity.type.lower(),
        "quotes": [(_sentence_that_mentions(p), p.document.uri) for p in dossier.passages],
        "community": dossier.communities[-1:],
        "nearby": [other.name for other in nearby if not other.is_keyword],
        "keywords": [other.name for other in nearby if other.is_keyword],
    }
    terminal.show(facts, *_DOSSIER)


def _sentence_that_mentions(passage: DossierPassage) -> str:
    """Return the first sentence of a passage that names the entity, else its first sentence.

    A title is returned only if the passage has no other sentence.
    """
    from knotwork._text.plain_text import show_sentence

    chunk = passage.chunk
    titles = {show_sentence(title) for title in (*chunk.headings, chunk.document_title)}
    sentences = [
        (not any(span.start <= mark.start < span.end for mark in passage.marks), text)
        for index, span in enumerate(chunk.sentences)
        if (text := show_sentence(chunk.sentence_text(index))) not in titles
    ]
    return min(sentences, key=lambda item: item[0])[1] if sentences else show_sentence(chunk.text)


@command(short_help="Show the shortest paths between two entities.")
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
@number_option("--limit", default=5, help="Maximum of paths.")
def shortest_paths(session: Session, *, one: str, other: str, limit: int) -> None:
    """Show the shortest paths between two entities, of at most five relations.

    Paths over stated relations come before those over co-occurrences.
    $ knotwork graph shortest-paths "Oriane Keld" "Skarrow Station"
    $ knotwork graph shortest-paths 温青岚 海雾观测计划 --limit 1
    $ knotwork graph shortest-paths "Oriane Keld" "Bram Ostrand" --json
    """
    from knotwork._shapes.results import PATH

    paths = session.open().graph.shortest_paths(one, other, limit=limit)
    session.show(
        {"paths": list(map(PATH, paths))},
        each("paths", "{text}"),
        "[{paths:!}No path of at most five relations found.]",
        note("{paths:#path}"),
    )


@command()
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
    $ knotwork cypher 'MATCH (e:Entity) RETURN e.name LIMIT 5'
    $ knotwork cypher 'MATCH (e {name: $n})--(c) RETURN c' --param n=Ada
    $ knotwork cypher 'MATCH (p) RETURN count(p)' --graph people --json
    """
    graph = session.open().graph
    show_rows_of(session, graph.cypher(statement, query_params, row_limit=limit, **options))


def show_rows_of(session: Session, result: QueryResult) -> None:
    """Print the rows of a statement."""
    from knotwork._cli.answers import show_rows
    from knotwork._shapes.results import RESULT

    if not session.emit(RESULT(result)):
        session.terminal.table(show_rows(result.rows), header=result.columns)
        session.terminal.show(result, ROW_COUNT, NOTES)


@command()
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
    $ knotwork communities
    $ knotwork communities "money and travel" -n 3
    $ knotwork communities --level 1 --json
    """
    from knotwork._extensions.graphs.shapes import describe_communities

    opened = session.open()
    if rebuild or not opened.communities.is_current():
        session.terminal.note("Building communities and reports …", style="dim")
        opened = session.open(read_only=False)
        opened.communities.update(rebuild=rebuild)
    topics = opened.communities.stored(topic, level=level, limit=limit)
    communities = describe_communities(opened, topics)
    session.show(
        {"communities": communities},
        each("shown", *_COMMUNITY),
        note("[{communities:#community/communities}][{communities:!}No communities found.]"),
        shown=list(map(_show_places, communities)),
    )


_COMMUNITY = (
    Line("{title}", "bold"),
    Line("level {level:d}, {size:#entity/entities}: {names}", "dim", 2),
    each("findings", Line("• {0:excerpt}[ ({1})]", indent=2)),
    "",
)


def _show_places(community: Json) -> dict[str, object]:
    """Return a community with the names of its members, and its findings with their documents."""
    return {
        **community,
        "names": [member["name"] for member in community["members"]],
        "findings": [
            (finding["text"], sorted({support["document"] for support in finding["supports"]}))
            for finding in community["findings"]
        ],
    }
