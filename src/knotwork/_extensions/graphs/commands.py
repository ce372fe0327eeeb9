"""`knotwork graph`, `import` and `export`: graphs, indexes of other systems, and wikis.

The command on shortest paths is in `explore_commands`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork._cli.session import (
    PARAMETER_OPTION,
    ROW_LIMIT_OPTION,
    STATEMENT_TIMEOUT_OPTION,
    WHERE_OPTION,
    Session,
    choice_option,
    command,
    command_group,
    number_option,
    path_option,
    text_option,
)
from knotwork._cli.views import Line, Part, Table, count_of, each, note
from knotwork._extensions.graphs.correction_commands import correct, corrections, undo
from knotwork._extensions.graphs.explore_commands import shortest_paths, show_rows_of
from knotwork._shapes.base import fields_of
from knotwork._text.visible import escape_unsafe_xml
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._indexing.resolution.resolver import NamedDecision, SameNames
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork.records import DocumentLink, PropertyValue


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
    from knotwork._extensions.graphs.shapes import DECISION, THING

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
                "things": list(map(THING, known.things[:limit])),
                "apart": list(map(DECISION, known.apart[:limit])),
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
        " 6": "[{refused:?}refused, other decisions contradict it: ]{decision.reason}",
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
    from knotwork._extensions.graphs.shapes import DECISION

    opened = session.open_existing()
    before = opened.entities.aliases()
    decided = _decide(opened, "merge", one, other)
    if not decided.refused:
        _report_decision(session, opened, decided, before, "are merged")
        return
    blocking = _find_blocking_decisions(opened, decided)
    session.show(
        DECISION(decided) | {"barred_by": list(map(DECISION, blocking))},
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
    decided = _decide(opened, "split", one, other)
    _report_decision(session, opened, decided, before, "are kept apart")


def _decide(opened: KnowledgeBase, kind: str, one: str, other: str) -> NamedDecision:
    """Correct which names mean one entity, and return the decision."""
    made = opened.graph.correct(kind, one, other=other).correction
    pair = {made.entity_ids[0], made.other_ids[0]}
    known = opened.entities.aliases([made.entity, made.other])
    every = (*known.apart, *(d for thing in known.things for d in thing.decisions))
    return next(d for d in every if set(d.decision.pair) == pair)


def _report_decision(
    session: Session,
    opened: KnowledgeBase,
    decided: NamedDecision,
    before: SameNames,
    outcome: str,
) -> None:
    """Print a decision, the entities of its names, and the merges that it overrules."""
    from knotwork._extensions.graphs.shapes import DECISION, THING

    entities = opened.entities.aliases([decided.first, decided.second]).things
    refused_before = {item.decision.pair for item in before.apart if item.refused}
    overruled = [
        item
        for item in opened.entities.aliases().apart
        if item.refused and item.decision.pair not in refused_before
    ]
    session.show(
        DECISION(decided)
        | {"things": list(map(THING, entities)), "lost": list(map(DECISION, overruled))},
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


AUTO_FORMAT = "auto"


GRAPH_FORMATS = (AUTO_FORMAT, "table", "graphml", "turtle", "ntriples", "nquads", "trig")


_STAGES = {"read": "Bytes read", "write": "Entities"}


_SHOWN_BAD_LINES = 5


_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "space": " "}
"""Names for delimiters that are hard to type in a shell."""


@command_group()
def graph_command() -> None:
    """Count, correct, import, export or mirror the graph, and connect other graphs."""


for further in (shortest_paths, names, merge, split, correct, corrections, undo):
    graph_command.add_command(further)


@command(
    group=graph_command, name="import", short_help="Import a graph: triples, tables, GraphML, RDF."
)
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@choice_option(
    "--format",
    metavar="NAME",
    valid=GRAPH_FORMATS,
    kind="graph format",
    default=AUTO_FORMAT,
    show_default=True,
    help="table, graphml, turtle, ntriples, nquads or trig.",
)
@text_option("--name", help="Name of the graph. Default: from its first path.")
@text_option(
    "--columns",
    metavar="NAMES",
    help="Columns of tables without a header, such as source,relation,target.",
)
@text_option("--delimiter", metavar="SIGN", help="Column separator. Default: detected.")
@click.option(
    "--vectors/--no-vectors",
    default=None,
    help="Embed passages, or names only. Default: passages of graphs up to 2,000 entities.",
)
def import_graph(
    session: Session,
    *,
    paths: tuple[Path, ...],
    format: str,  # noqa: A002
    name: str,
    columns: str,
    delimiter: str,
    vectors: bool | None,
) -> None:
    """Import the graph in files or folders, to search it together with the documents.

    Each fact becomes a line of text that answers can cite, a relation and two entities. Formats
    are triples and tables of nodes and edges (TSV, CSV), GraphML and RDF. Lines that cannot be read
    are counted and shown. Importing the same name again replaces the graph; `knotwork delete
    graph:NAME` removes it.
    $ knotwork graph import films.tsv
    $ knotwork graph import people.csv knows.csv --name friends
    $ knotwork graph import ontology.ttl --json
    """
    from knotwork._extensions.graphs.graph_import.graph_importer import describe_graph_import

    opened = session.open(read_only=False)
    run = opened.graph.import_files.run(
        paths,
        format="" if format == AUTO_FORMAT else format,
        name=name,
        columns=[part.strip() for part in columns.split(",") if part.strip()],
        delimiter=_DELIMITER_NAMES.get(delimiter, delimiter),
        vectors=vectors,
    )
    report = session.follow(run, lambda step: _STAGES[step.stage], has_lines=True)
    bad = sum(report.bad_lines.values())
    session.show(describe_graph_import(report), *_IMPORTED, **fields_of(report), bad=bad)


_IMPORTED = (
    "[{unchanged:?}The graph {name} is unchanged since it was imported.]",
    Line("[{unchanged:!}Imported the graph {name}]", "bold"),
    Line("[{facts:#fact}, of {relations:#relation}]", indent=2),
    Line("[{things:#entity/entities}]", indent=2),
    Line("[{chunks:#passage}, in {documents:#document}]", indent=2),
    Line("[{shared_names:#entity/entities} with a qualifier, as they share a name]", indent=2),
    Line("[{loops:#fact} that relate an entity to itself, stored as text]", indent=2),
    Line("[{bad:#line} could not be read completely]", "bold"),
    each("bad_lines", Line("{1:#line}: {0}", indent=2)),
    each("examples", Line("{file}[:{line}]  {text}", indent=2), most=_SHOWN_BAD_LINES),
    each("removed", "Removed {}, which the graph no longer uses"),
    "[{unchanged:!}To remove the graph: knotwork delete {uri}]",
    each("notes", note("{}")),
)


DIFFERS_CODE = 1
"""The exit code of a verification that found a difference."""


@command(group=graph_command, short_help="Copy the graph to a graph database, or update the copy.")
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


@command(group=graph_command, short_help="Compare the copy in a graph database with the index.")
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


@command(
    group=graph_command, short_help="Connect to a graph database or SPARQL server, to read it."
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
    """Make a live graph a source of `ask` (Bolt), `graph query`, `cypher --graph` and retrievers.

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


@command(group=graph_command, short_help="List the graphs that the index is connected to.")
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


@command(group=graph_command, short_help="Forget a connected graph.")
@click.argument("name")
def disconnect(session: Session, *, name: str) -> None:
    """Forget a connected graph; the graph itself stays as it is.

    $ knotwork graph disconnect movies
    $ knotwork graph disconnect movies --store handbook.knot
    $ knotwork graph disconnect movies --json
    """
    session.open(read_only=False).graph.disconnect(name)
    session.show({"disconnected": name}, "Forgot the connection {disconnected}.")


@command(group=graph_command, short_help="Run a query on a connected graph, in its language.")
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


_SHOWN_RELATIONS = 15


GRAPHRAG_FORMAT = "graphrag"
"""The tables of Microsoft GraphRAG, which hold more than the graph."""


def _export_formats() -> tuple[str, ...]:
    from knotwork._extensions.graphs.export import FORMATS

    return (*FORMATS, GRAPHRAG_FORMAT)


@command(group=graph_command, short_help="Count nodes, edges and relations.")
def stats(session: Session) -> None:
    """Count the nodes by label, the edges by type, and the relations by name.

    $ knotwork graph stats
    $ knotwork graph stats --store handbook.knot
    $ knotwork graph stats --json
    """
    from knotwork._cli.index_views import NO_EMBEDDER
    from knotwork._stores.links import linked_documents

    opened = session.open()
    statistics = opened.stats()
    links, graph = linked_documents(opened.store), statistics.graph
    linked, dead = len(links.pairs), len(links.dead)
    session.show(
        {
            "nodes": dict(graph.labels),
            "edges": dict(graph.edge_types),
            "relations": dict(graph.relations),
            "links": {"documents": linked, "dead_targets": dead},
            "embedder": statistics.embedder,
            "skipped": statistics.failed,
        },
        *_counts("Nodes", "nodes"),
        *_counts("Edges", "edges"),
        *_counts("Most frequent relations", "relations"),
        "[{links.documents} links between documents]",
        "[{links.dead_targets} links lead nowhere, see knotwork graph links]",
        "Embedder: [{embedder}][{embedder:!}" + NO_EMBEDDER + "]",
        "[Skipped files: {skipped}; see knotwork documents]",
    )


def _counts(title: str, items: str) -> tuple[Part, ...]:
    lines = each(items, Line("{1}  {0}", indent=2), most=_SHOWN_RELATIONS)
    return Line(title, "bold"), lines, Line(f"[{{{items}:!}}none]", indent=2), ""


@command(group=graph_command, short_help="List the links of a document, or all dead links.")
@click.argument("uri", metavar="[URI]", default="")
def links(session: Session, *, uri: str) -> None:
    """List the links of a document and those that lead to it. Without URI, list dead links.

    A link is dead if it leads to a document that is not in the index.
    $ knotwork graph links
    $ knotwork graph links docs/setup.md
    $ knotwork graph links docs/setup.md --json
    """
    graph = session.open().graph
    found = graph.links(uri) if uri else graph.dead_links()
    session.show(
        {"links": found},
        Table("shown", "document=0 words=1 leads_to=2"),
        note("{links:#link}" if uri else "{links:#dead link}"),
        shown=[(link.source, link.words, _describe_target(link)) for link in found],
    )


@command(group=graph_command, short_help="List the values on which documents disagree.")
def conflicts(session: Session) -> None:
    """List what documents give different values for, each with its date, the newest first.

    Sentences are compared whose words agree but for a number, a date or a name. The date of a value
    is that of its sentence, else of its document.
    $ knotwork graph conflicts
    $ knotwork graph conflicts --store handbook.knot
    $ knotwork graph conflicts --json
    """
    found = session.open().graph.conflicts()
    claims = {" 1": "[{date}][{date:!}no date]", " 2": "{document}", " 3": "{quote}"}
    view = each("conflicts", Table("claims", claims), "")
    session.show({"conflicts": found}, view, note("{conflicts:#conflict}"))


def _describe_target(link: DocumentLink) -> str:
    if not link.document:
        return f"{link.target} (not in the index)"
    if link.start is None and link.part:
        return f"{link.document} (no part {link.part})"
    return f"{link.document}, {link.section}" if link.section else link.document


@command(group=graph_command, short_help="Export the whole graph to a file.")
@choice_option(
    "--format",
    metavar="NAME",
    valid=_export_formats,
    kind="export format",
    default="json",
    show_default=True,
    help="json, graphml, csv, parquet, cypher or graphrag.",
)
@path_option("-o", "--output", help="Output file; a folder for csv, parquet and graphrag.")
@click.option(
    "--raw",
    is_flag=True,
    help="csv: write cells that a spreadsheet would run as formulas unchanged.",
)
def export(
    session: Session,
    *,
    format: str,  # noqa: A002
    output: Path | None,
    raw: bool,
) -> None:
    """Export documents, sections, chunks, entities and all edges to a file.

    Equal indexes give equal files. Without --output, json, graphml and cypher are written to
    standard output. The graphrag tables also contain text units, communities and reports. In csv,
    an apostrophe precedes text that a spreadsheet would run as a formula.
    $ knotwork graph export --format graphml --output graph.graphml
    $ knotwork graph export --format graphrag --output tables/
    $ knotwork graph export | jq '.nodes | length'
    """
    from knotwork._extensions.graphs.export import FOLDER_FORMATS, export_graph

    if raw and format != "csv":
        raise ConfigError(
            f"`--raw` does not apply to the format {format}, which has no formulas.",
            fix="Leave it out, or use --format csv.",
        )
    to_folder = format in {*FOLDER_FORMATS, GRAPHRAG_FORMAT}
    if output is None and (to_folder or session.common.json):
        kind = f"An export as {format}" if to_folder else "An export with --json"
        raise ConfigError(f"{kind} requires --output.", fix="Add --output with a path.")
    store = session.open().store
    if output is None:
        with tempfile.TemporaryDirectory() as folder:
            report = export_graph(store, Path(folder, "graph"), format=format)
            with report.files[0].open(encoding="utf-8", newline="") as file:
                # The writers of the other formats escape what could drive a terminal.
                sys.stdout.writelines(map(escape_unsafe_xml, file) if format == "graphml" else file)
        return
    if format == GRAPHRAG_FORMAT:
        from knotwork._extensions.graphs.foreign_indexes.graphrag_export import export_graphrag

        tables = export_graphrag(store, output)
        rows = {table.stem: n for table, n in tables.items()}
        session.show(
            {"format": format, "files": list(tables), "rows": rows},
            each("written", "Wrote {1:#row} to {0}"),
            written=tables,
        )
        return
    report = export_graph(store, output, format=format, raw=raw)
    described = {"format": format, **fields_of(report, "files", "nodes", "edges")}
    session.show(described, "Wrote {nodes:#node} and {edges:#edge} to {files}")


IMPORT_FORMATS = ("auto", "graphrag", "lightrag")


_COUNTED_KINDS = (
    "documents",
    "text units",
    "entities",
    "relations",
    "claims",
    "communities",
    "reports",
)
"""The kinds of records that both systems have, in the order of display."""


@command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@choice_option(
    "--format",
    metavar="NAME",
    valid=IMPORT_FORMATS,
    kind="import format",
    default="auto",
    show_default=True,
    help="auto, graphrag or lightrag.",
)
@text_option("--name", help="Name of the import. Default: the folder's name.")
def import_command(session: Session, *, folder: Path, format: str, name: str) -> None:  # noqa: A002
    """Import an index of Microsoft GraphRAG or LightRAG, without calling a model again.

    Documents, text units, entities, relations, communities and reports are imported; skipped
    records are counted with the reason. Vectors are recomputed. Importing the same name again
    replaces the first import, and `knotwork delete` removes it.
    $ knotwork import ragtest/output
    $ knotwork import rag_storage/ --format lightrag --store handbook.knot
    $ knotwork import ragtest/ --json
    """
    run = session.open(read_only=False).import_from.run(folder, layout=format, name=name)
    report = session.follow(run)
    dropped = [dict(zip(("kind", "reason", "count"), item, strict=True)) for item in report.dropped]
    others = {kind: n for kind, n in report.brought.items() if kind not in _COUNTED_KINDS and n}
    session.show(
        fields_of(report) | {"dropped": dropped, "seconds": round(report.seconds, 3)},
        Line("Imported {format} index {name}", "bold"),
        Table("counts", {" kind": "{0}", "in files": "{1}", "imported": "{2}"}, 2),
        Line("[{others:?}Also created]", "bold"),
        each("others", Line("{1} {0}", indent=2)),
        Line("[{dropped:?}Skipped]", "bold"),
        each("dropped", Line("{count} {kind}: {reason}", indent=2)),
        each("removed", "Removed {}, which is no longer in the imported index"),
        each("notes", note("{}")),
        others=others,
        counts=[
            (kind, report.held.get(kind, 0), report.brought.get(kind, 0))
            for kind in _COUNTED_KINDS
            if report.held.get(kind) and kind in report.brought
        ],
    )


@command_group()
def export_command() -> None:
    """Export the index for people to read. For programs: knotwork graph export.

    $ knotwork export wiki handbook-wiki
    $ knotwork export wiki handbook-wiki --force
    $ knotwork graph export --output graph.json    for programs
    """


@command(group=export_command, short_help="Write linked Markdown, which Obsidian opens.")
@click.argument("folder", type=click.Path(path_type=Path))
@WHERE_OPTION
@click.option("--force", is_flag=True, help="Write into a folder that holds other files.")
def wiki(session: Session, *, folder: Path, filters: tuple[str, ...], force: bool) -> None:
    """Write a page for each document, entity and topic into FOLDER, as linked Markdown.

    Open FOLDER as a vault in Obsidian, or read it with any editor. Each statement links to the
    document and section that it is from. No language model is used. The next export into FOLDER
    replaces its own pages and removes those that are gone; other files stay.
    $ knotwork export wiki handbook-wiki
    $ knotwork export wiki notes --where "date >= 2023"
    $ knotwork export wiki handbook-wiki --json
    """
    opened = session.open()
    if not opened.communities.is_current():
        session.terminal.note("Building communities and reports …", style="dim")
        opened = session.open(read_only=False)
    report = session.follow(
        opened.export_wiki.run(folder, filters=filters or None, overwrite=force)
    )
    session.show(
        report,
        "Wrote {folder}: {documents:#document}, {entities:#entity/entities}, {topics:#topic}."
        "[ Removed {removed:#page}.]",
    )
