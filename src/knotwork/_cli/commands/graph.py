"""Look at the graph and its communities, and decide on aliases of entities."""

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
from knotwork._cli.views import ROW_COUNT, Line, Table, count_of, each, note
from knotwork._shapes.base import fields_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import (
        MergedEntity,
        NamedDecision,
        SameNames,
    )
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork._retrieval.entity_lookup import Dossier, DossierPassage
    from knotwork._shapes.graph import CommunityShape
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
    from knotwork._shapes.graph import SubgraphShape
    from knotwork.records import EdgeType

    opened = session.open()
    subgraph = opened.graph.explore(names, limit=limit, **options)
    dossiers = opened.graph.describe(names)
    nodes = [
        fields_of(node, "id", "label", "name") | dict(node.properties) for node in subgraph.nodes
    ]
    shape = SubgraphShape.of(subgraph, is_cut=len(subgraph.edges) >= limit)
    if session.emit(
        {"entities": list(map(_describe_dossier, dossiers)), **fields_of(shape), "nodes": nodes}
    ):
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
    found = {**fields_of(shape), "stated": stated, "together": together}
    session.terminal.show(found, *_GRAPH)


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
    from knotwork._shapes.graph import SourceShape

    return {
        **fields_of(dossier.entity, "id", "name", "type"),
        **fields_of(dossier, "names", "description", "communities"),
        "nearby": [fields_of(other, "id", "name", "is_keyword") for other in dossier.nearby],
        "passages": [SourceShape.of(passage) for passage in dossier.passages],
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
    from knotwork._synthesis.citations import show_sentence

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
    from knotwork._shapes.evidence import PathShape

    paths = session.open().graph.shortest_paths(one, other, limit=limit)
    session.show(
        {"paths": [PathShape.of(path) for path in paths]},
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
    from knotwork._shapes.answers import ResultShape

    if not session.emit(ResultShape.of(result)):
        session.terminal.table(show_rows(result.rows), header=result.columns)
        session.terminal.show(result, ROW_COUNT)


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
    from knotwork._shapes.graph import describe_communities

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


def _show_places(community: CommunityShape) -> dict[str, object]:
    """Return a community with the names of its members, and its findings with their documents."""
    return {
        **fields_of(community, "title", "level", "size"),
        "names": [member.name for member in community.members],
        "findings": [
            (finding.text, sorted({support.document for support in finding.supports}))
            for finding in community.findings
        ],
    }


FIND_COMMAND = "knotwork graph names --find"


@command(short_help="List entities with aliases, and why they were merged.")
@click.argument("name", metavar="[NAME]", required=False, default="")
@click.option("--apart", is_flag=True, help="List pairs that must not be merged instead.")
@click.option("--homonyms", is_flag=True, help="List names with several meanings instead.")
@click.option("--find", is_flag=True, help="Compare names by rules first, without a model.")
@number_option("-n", "--limit", default=20, help="Entries shown.")
def names(
    session: Session, *, name: str, apart: bool, homonyms: bool, find: bool, limit: int
) -> None:
    """List the entities with aliases, and for each merge who decided it and why.

    NAME limits the list to one entity. With a language model, `knotwork index` compares names;
    --find compares them by rules, at no cost. To change a decision, use `graph merge` and `graph
    split`.
    $ knotwork graph names --find
    $ knotwork graph names "World Health Organization"
    $ knotwork graph names --apart --json
    """
    if apart and homonyms:
        raise ConfigError(
            "--apart and --homonyms cannot be combined.", fix="Give one of the two options."
        )
    opened = session.open()
    if find:
        opened = session.open(read_only=False)
        done = opened.entities.find_aliases()
        session.terminal.note(
            f"Compared {count_of(done.pairs, 'pair')} of names by rules: "
            f"{done.same:,} merged, {done.margin:,} undecided",
            style="dim",
        )
    known = opened.entities.aliases(name)
    if homonyms:
        found = opened.entities.homonyms(name)
        described = [
            {
                "id": item.homonym.entity_id,
                "name": item.name,
                "reason": item.homonym.reason,
                "meanings": [
                    {"documents": list(documents), "chunks": list(chunks)}
                    for documents, chunks in zip(item.documents, item.homonym.senses, strict=True)
                ],
            }
            for item in found[:limit]
        ]
        total = len(found)
        session.show({"homonyms": described}, *_HOMONYMS, total=total, limit=limit)
    else:
        session.show(
            {
                "things": [_describe_entity(entity) for entity in known.things[:limit]],
                "apart": list(map(_describe_decision, known.apart[:limit])),
                "total": {"things": len(known.things), "apart": len(known.apart)},
                "compared": known.compared,
                "waiting": known.waiting,
            },
            *(_APART if apart else _ALIASES),
            name=name,
            things=known.things[:limit],
            apart=known.apart[:limit],
            limit=limit,
        )
    if not known.compared:
        session.terminal.note(
            f"No names were compared yet. To compare them by rules, at no cost: {FIND_COMMAND}. "
            "With a language model, `knotwork index` compares them too."
        )
    elif known.waiting:
        changed = count_of(known.waiting, "name")
        session.terminal.note(
            f"{changed} changed since they were compared: {FIND_COMMAND}", style="yellow"
        )


def _decisions(items: str) -> Table:
    """Return a table of decisions about two names."""
    columns = {
        " 1": "{first}",
        " 2": "[{decision.joins:!}≠][{decision.joins:?}[{refused:?}≠][{refused:!}=]]",
        " 3": "{second}",
        " 4": "by [{decision.by_person:?}hand][{decision.by_person:!}{decision.source}]",
        " 5": "{decision.score:.2f}",
        " 6": "[{decision.undone:?}undone: was {decision.verdict}, ]"
        "[{decision.undone:!}{refused:?}refused, other decisions contradict it: ]{decision.reason}",
    }
    return Table(items, columns, indent=2)


_LIMIT = ", at most {limit} shown (see --limit)"
_HOMONYMS = (
    each(
        "homonyms",
        Line("{name}: {reason}", "bold"),
        each("meanings", Line("{#}. in {documents:.5}", indent=2)),
    ),
    "[{homonyms:!}No name with several meanings was found.]",
    note("[{total:#name with several meanings/names with several meanings}" + _LIMIT + "]"),
)
_APART = (
    _decisions("apart"),
    "[{apart:!}No pair is kept apart.]",
    note("[{total.apart:#pair kept apart/pairs kept apart}" + _LIMIT + "]"),
)
_ALIASES = (
    each("things", Line("{names}", "bold"), _decisions("decisions")),
    "[{things:!}{compared:?}[{name} has no alias.][{name:!}No entity has an alias.]]",
    note("[{total.things:#entity with aliases/entities with aliases}" + _LIMIT + "]"),
    note("[{things:!}{compared:?}{total.apart:#pair} kept apart: see --apart]"),
)


@command(short_help="Merge the entities of two names.")
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
def merge(session: Session, *, one: str, other: str) -> None:
    """Merge the entities of two names. Indexing keeps them merged; `graph split` reverts it.

    $ knotwork graph merge WHO "World Health Organization"
    $ knotwork graph merge 联通 中国联通
    $ knotwork graph merge WHO "World Health Organization" --json
    """
    opened = session.open_existing()
    before = opened.entities.aliases()
    decided = opened.entities.merge(one, other)
    if not decided.refused:
        _report_decision(session, opened, decided, before, "are merged")
        return
    blocking = _find_blocking_decisions(opened, decided)
    session.show(
        _describe_decision(decided) | {"barred_by": list(map(_describe_decision, blocking))},
        Line("{first} and {second} are not merged. Blocked by:", "bold"),
        _decisions("barred_by"),
        note("Merge these pairs too, and this merge takes effect.", ""),
        barred_by=blocking,
    )


@command(short_help="Keep the entities of two names apart.")
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
def split(session: Session, *, one: str, other: str) -> None:
    """Keep the entities of two names apart. Indexing never merges them; `graph merge` does.

    $ knotwork graph split Curie "Pierre Curie"
    $ knotwork graph split 吉林 吉林市
    $ knotwork graph split Curie "Pierre Curie" --json
    """
    opened = session.open_existing()
    before = opened.entities.aliases()
    _report_decision(session, opened, opened.entities.split(one, other), before, "are kept apart")


def _report_decision(
    session: Session,
    opened: KnowledgeBase,
    decided: NamedDecision,
    before: SameNames,
    outcome: str,
) -> None:
    """Print a decision, the entities of its names, and the merges that it overrules."""
    entities = opened.entities.aliases([decided.first, decided.second]).things
    refused_before = {item.decision.pair for item in before.apart if item.refused}
    overruled = [
        item
        for item in opened.entities.aliases().apart
        if item.refused and item.decision.pair not in refused_before
    ]
    session.show(
        _describe_decision(decided)
        | {
            "things": [_describe_entity(entity) for entity in entities],
            "lost": list(map(_describe_decision, overruled)),
        },
        Line("{first} and {second} {outcome}", "bold"),
        each("things", Line("One entity: {names}", indent=2)),
        "[{lost:?}No longer in effect:]",
        _decisions("lost"),
        outcome=outcome,
        lost=overruled,
    )


def _find_blocking_decisions(opened: KnowledgeBase, decided: NamedDecision) -> list[NamedDecision]:
    """Return the decisions against a refused merge: those between its two groups of entities."""
    known = opened.entities.aliases([decided.first, decided.second])
    one, other = (
        next(({end, *e.entity_ids} for e in known.things if end in e.entity_ids), {end})
        for end in decided.decision.pair
    )
    return [
        item
        for item in known.apart
        if not item.decision.joins
        and one & set(item.decision.pair)
        and other & set(item.decision.pair)
    ]


def _describe_entity(entity: MergedEntity) -> dict[str, Any]:
    from knotwork._shapes.graph import ThingShape

    decisions = list(map(_describe_decision, entity.decisions))
    known = fields_of(ThingShape.of(entity))
    return {**known, "ids": entity.entity_ids, "decisions": decisions}


def _describe_decision(item: NamedDecision) -> dict[str, Any]:
    from knotwork._shapes.graph import DecisionShape

    shape = DecisionShape.of(item)
    return {**fields_of(shape), "names": [shape.first, shape.second], "by": shape.source}
