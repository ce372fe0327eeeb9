"""`knotwork graph`, `import` and `export`: graphs, indexes of other systems, and wikis.

The command on shortest paths is in `explore_commands`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from knotwork._cli.terminal import Terminal, count_of, join_lines
from knotwork._extensions.graphs.explore_commands import print_rows, shortest_paths
from knotwork._shapes.base import fields_of
from knotwork._text.visible import escape_unsafe_xml
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork._extensions.graphs.foreign_indexes.index_importer import ImportReport
    from knotwork._extensions.graphs.graph_import.graph_importer import GraphImportReport
    from knotwork._extensions.graphs.servers.mirror import MirrorReport
    from knotwork._indexing.resolution.resolver import (
        MergedEntity,
        NamedDecision,
        NamedHomonym,
        SameNames,
    )
    from knotwork._knowledge_base import KnowledgeBase
    from knotwork.records import DocumentLink, PropertyValue


FIND_COMMAND = "knotwork graph names --find"
_SHOWN_DOCUMENTS = 5


@command(
    "knotwork graph names --find",
    'knotwork graph names "World Health Organization"',
    "knotwork graph names --apart --json",
    short_help="List entities with aliases, and why they were merged.",
)
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
    if homonyms:
        _report_homonyms(session, opened.entities.homonyms(name), limit)
        _note_state(session.terminal, opened.entities.aliases(name))
        return
    known = opened.entities.aliases(name)
    if session.common.json:
        session.terminal.emit(
            {
                "things": [_describe_entity(entity) for entity in known.things[:limit]],
                "apart": list(map(_describe_decision, known.apart[:limit])),
                "total": {"things": len(known.things), "apart": len(known.apart)},
                "compared": known.compared,
                "waiting": known.waiting,
            }
        )
    elif apart:
        _print_split_pairs(session.terminal, known.apart, limit)
    else:
        _print_entities(session.terminal, known, name, limit)
    _note_state(session.terminal, known)


@command(
    'knotwork graph merge WHO "World Health Organization"',
    "knotwork graph merge 联通 中国联通",
    'knotwork graph merge WHO "World Health Organization" --json',
    short_help="Merge the entities of two names.",
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
def merge(session: Session, *, one: str, other: str) -> None:
    """Merge the entities of two names. Indexing keeps them merged; `graph split` reverts it."""
    opened = session.open_existing()
    before = opened.entities.aliases()
    decided = opened.entities.merge(one, other)
    if not decided.refused:
        _report_decision(session, opened, decided, before, "are merged")
        return
    blocking = _find_blocking_decisions(opened, decided)
    if session.emit(
        _describe_decision(decided) | {"barred_by": list(map(_describe_decision, blocking))}
    ):
        return
    session.terminal.say(
        f"{decided.first} and {decided.second} are not merged. Blocked by:", style="bold"
    )
    _print_decisions(session.terminal, blocking)
    session.terminal.note("Merge these pairs too, and this merge takes effect.")


@command(
    'knotwork graph split Curie "Pierre Curie"',
    "knotwork graph split 吉林 吉林市",
    'knotwork graph split Curie "Pierre Curie" --json',
    short_help="Keep the entities of two names apart.",
)
@click.argument("one", metavar="NAME")
@click.argument("other", metavar="NAME")
def split(session: Session, *, one: str, other: str) -> None:
    """Keep the entities of two names apart. Indexing never merges them; `graph merge` does."""
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
    if session.common.json:
        described = [_describe_entity(entity) for entity in entities]
        further = {"things": described, "lost": list(map(_describe_decision, overruled))}
        session.terminal.emit(_describe_decision(decided) | further)
        return
    session.terminal.say(f"{decided.first} and {decided.second} {outcome}", style="bold")
    for entity in entities:
        session.terminal.say(f"One entity: {', '.join(entity.names)}", indent=2)
    if overruled:
        session.terminal.say("No longer in effect:")
        _print_decisions(session.terminal, overruled)


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


def _print_entities(terminal: Terminal, known: SameNames, name: str, limit: int) -> None:
    for entity in known.things[:limit]:
        terminal.say(", ".join(entity.names), style="bold")
        _print_decisions(terminal, entity.decisions)
    if known.things:
        one, many = "entity with aliases", "entities with aliases"
        _note_count(terminal, len(known.things), limit, one, many)
    elif known.compared:
        terminal.say(f"{name} has no alias." if name else "No entity has an alias.")
        if known.apart:
            pairs = count_of(len(known.apart), "pair")
            terminal.note(f"{pairs} kept apart: see --apart", style="dim")


def _print_split_pairs(terminal: Terminal, apart: Sequence[NamedDecision], limit: int) -> None:
    _print_decisions(terminal, apart[:limit])
    if apart:
        _note_count(terminal, len(apart), limit, "pair kept apart", "pairs kept apart")
    else:
        terminal.say("No pair is kept apart.")


def _print_decisions(terminal: Terminal, decisions: Iterable[NamedDecision]) -> None:
    rows = []
    for item in decisions:
        decision = item.decision
        sign = "=" if decision.joins and not item.refused else "≠"
        why = decision.reason
        if decision.undone:
            why = f"undone: was {decision.verdict}, {why}"
        elif item.refused:
            why = f"refused, other decisions contradict it: {why}"
        by = "by hand" if decision.by_person else f"by {decision.source}"
        rows.append((item.first, sign, item.second, by, f"{decision.score:.2f}", why))
    terminal.table(rows, indent=2)


def _note_count(terminal: Terminal, total: int, limit: int, one: str, many: str) -> None:
    cut = f", {limit:,} shown (see --limit)" if total > limit else ""
    terminal.note(f"{count_of(total, one, many)}{cut}", style="dim")


def _note_state(terminal: Terminal, known: SameNames) -> None:
    """Note how to compare names if none, or not the latest, have been compared."""
    if not known.compared:
        terminal.note(
            f"No names were compared yet. To compare them by rules, at no cost: {FIND_COMMAND}. "
            "With a language model, `knotwork index` compares them too."
        )
    elif known.waiting:
        changed = count_of(known.waiting, "name")
        terminal.note(f"{changed} changed since they were compared: {FIND_COMMAND}", style="yellow")


def _report_homonyms(session: Session, found: Sequence[NamedHomonym], limit: int) -> None:
    if session.common.json:
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
        session.terminal.emit({"homonyms": described})
        return
    for item in found[:limit]:
        session.terminal.say(f"{item.name}: {item.homonym.reason}", style="bold")
        for number, documents in enumerate(item.documents, start=1):
            more = len(documents) - _SHOWN_DOCUMENTS
            rest = f" and {more:,} more" if more > 0 else ""
            shown = ", ".join(documents[:_SHOWN_DOCUMENTS])
            session.terminal.say(f"{number}. in {shown}{rest}", indent=2)
    if found:
        one, many = "name with several meanings", "names with several meanings"
        _note_count(session.terminal, len(found), limit, one, many)
    else:
        session.terminal.say("No name with several meanings was found.")


def _describe_entity(entity: MergedEntity) -> dict[str, Any]:
    from knotwork._shapes.graph import THING

    decisions = list(map(_describe_decision, entity.decisions))
    return {**THING(entity), "ids": entity.entity_ids, "decisions": decisions}


def _describe_decision(item: NamedDecision) -> dict[str, Any]:
    from knotwork._shapes.graph import DECISION

    return {**DECISION(item), "names": [item.first, item.second], "by": item.decision.source}


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


@command(
    "knotwork import ragtest/output",
    "knotwork import rag_storage/ --format lightrag --store handbook.knot",
    "knotwork import ragtest/ --json",
)
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
    """
    run = session.open(read_only=False).import_from.run(folder, layout=format, name=name)
    report = session.follow(run)
    if not session.emit(describe_import(report)):
        print_import(session.terminal, report)


def describe_import(report: ImportReport) -> dict[str, object]:
    """Return the object of `import --json`."""
    dropped = [dict(zip(("kind", "reason", "count"), item, strict=True)) for item in report.dropped]
    return fields_of(report) | {"dropped": dropped, "seconds": round(report.seconds, 3)}


def print_import(terminal: Terminal, report: ImportReport) -> None:
    """Print the numbers of imported and skipped records."""
    terminal.say(f"Imported {report.format} index {report.name}", style="bold")
    rows = [
        (kind, report.held.get(kind, 0), report.brought.get(kind, 0))
        for kind in _COUNTED_KINDS
        if report.held.get(kind) and kind in report.brought
    ]
    terminal.table(rows, header=("", "in files", "imported"), indent=2)
    others = [(n, kind) for kind, n in report.brought.items() if kind not in _COUNTED_KINDS and n]
    dropped = [(count, f"{kind}: {reason}") for kind, reason, count in report.dropped]
    for title, counts in (("Also created", others), ("Skipped", dropped)):
        if counts:
            terminal.say(title, style="bold")
            terminal.table(counts, indent=2)
    for uri in report.removed:
        terminal.say(f"Removed {uri}, which is no longer in the imported index")
    terminal.notes(report.notes, style="dim")


@command_group(
    "knotwork export wiki handbook-wiki",
    "knotwork export wiki handbook-wiki --force",
    "knotwork graph export --output graph.json    for programs",
)
def export_command() -> None:
    """Export the index for people to read. For programs: knotwork graph export."""


@command(
    "knotwork export wiki handbook-wiki",
    'knotwork export wiki notes --where "date >= 2023"',
    "knotwork export wiki handbook-wiki --json",
    group=export_command,
    short_help="Write linked Markdown, which Obsidian opens.",
)
@click.argument("folder", type=click.Path(path_type=Path))
@WHERE_OPTION
@click.option("--force", is_flag=True, help="Write into a folder that holds other files.")
def wiki(session: Session, *, folder: Path, filters: tuple[str, ...], force: bool) -> None:
    """Write a page for each document, entity and topic into FOLDER, as linked Markdown.

    Open FOLDER as a vault in Obsidian, or read it with any editor. Each statement links to the
    document and section that it is from. No language model is used. The next export into FOLDER
    replaces its own pages and removes those that are gone; other files stay.
    """
    opened = session.open()
    if not opened.communities.is_current():
        session.terminal.note("Building communities and reports …", style="dim")
        opened = session.open(read_only=False)
    report = session.follow(
        opened.export_wiki.run(folder, filters=filters or None, overwrite=force)
    )
    if session.emit(report):
        return
    counts = (
        count_of(report.documents, "document"),
        count_of(report.entities, "entity", "entities"),
        count_of(report.topics, "topic"),
    )
    removed = f" Removed {count_of(report.removed, 'page')}." if report.removed else ""
    session.terminal.say(f"Wrote {report.folder}: {', '.join(counts)}.{removed}")


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


AUTO_FORMAT = "auto"
GRAPH_FORMATS = (AUTO_FORMAT, "table", "graphml", "turtle", "ntriples", "nquads", "trig")
_STAGES = {"read": "Bytes read", "write": "Entities"}
_SHOWN_BAD_LINES = 5
_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "space": " "}
"""Names for delimiters that are hard to type in a shell."""


@command(
    "knotwork graph import films.tsv",
    "knotwork graph import people.csv knows.csv --name friends",
    "knotwork graph import ontology.ttl --json",
    name="import",
    short_help="Import a graph: triples, tables, GraphML, RDF.",
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
    report = session.follow(run, lambda step: _STAGES[step.stage], with_lines=True)
    if not session.emit(describe_graph_import(report)):
        print_graph_import(session.terminal, report)


def print_graph_import(terminal: Terminal, report: GraphImportReport) -> None:
    """Print the counts of an imported graph, and the lines that could not be read."""
    if report.unchanged:
        terminal.say(f"The graph {report.name} is unchanged since it was imported.")
        return
    terminal.say(f"Imported the graph {report.name}", style="bold")
    rows = [
        (report.facts, f"facts, of {count_of(report.relations, 'relation')}"),
        (report.things, "entities"),
        (report.chunks, f"passages, in {count_of(report.documents, 'document')}"),
    ]
    if report.shared_names:
        rows.append((report.shared_names, "entities with a qualifier, as they share a name"))
    if report.loops:
        rows.append((report.loops, "facts that relate an entity to itself, stored as text"))
    terminal.table(rows, indent=2)
    if report.bad_lines:
        lines = count_of(sum(report.bad_lines.values()), "line")
        terminal.say(f"{lines} could not be read completely", style="bold")
        terminal.table([(n, reason) for reason, n in report.bad_lines.items()], indent=2)
        examples = [
            (f"{bad.file}:{bad.line}" if bad.line else bad.file, bad.text)
            for bad in report.examples[:_SHOWN_BAD_LINES]
        ]
        terminal.table(examples, indent=2)
    for uri in report.removed:
        terminal.say(f"Removed {uri}, which the graph no longer uses")
    terminal.say(f"To remove the graph: knotwork delete {report.uri}")
    terminal.notes(report.notes, style="dim")


SHOWN_RELATIONS = 15
GRAPHRAG_FORMAT = "graphrag"
"""The tables of Microsoft GraphRAG, which hold more than the graph."""


def _export_formats() -> tuple[str, ...]:
    from knotwork._extensions.graphs.export import FORMATS

    return (*FORMATS, GRAPHRAG_FORMAT)


@command_group()
def graph_command() -> None:
    """Count, import, export or mirror the graph, merge entities, and connect other graphs."""


for further in (
    shortest_paths,
    names,
    merge,
    split,
    import_graph,
    mirror,
    verify,
    connect,
    connections,
    disconnect,
    query,
):
    graph_command.add_command(further)


@command(
    "knotwork graph stats",
    "knotwork graph stats --store handbook.knot",
    "knotwork graph stats --json",
    group=graph_command,
    short_help="Count nodes, edges and relations.",
)
def stats(session: Session) -> None:
    """Count the nodes by label, the edges by type, and the relations by name."""
    from knotwork._cli.index_summary import NO_EMBEDDER_LABEL
    from knotwork._stores.links import linked_documents

    opened = session.open()
    statistics = opened.stats()
    links, graph = linked_documents(opened.store), statistics.graph
    linked, dead = len(links.pairs), len(links.dead)
    if session.emit(
        {
            "nodes": dict(graph.labels),
            "edges": dict(graph.edge_types),
            "relations": dict(graph.relations),
            "links": {"documents": linked, "dead_targets": dead},
            "embedder": statistics.embedder,
            "skipped": statistics.failed,
        }
    ):
        return
    blocks = (
        ("Nodes", graph.labels, None),
        ("Edges", graph.edge_types, None),
        ("Most frequent relations", graph.relations, SHOWN_RELATIONS),
    )
    for title, counts, most in blocks:
        session.terminal.say(title, style="bold")
        rows = [(count, name) for name, count in list(counts.items())[:most]]
        session.terminal.table(rows or [(0, "none")], indent=2)
        session.terminal.say()
    if linked or dead:
        missing = f"; {dead:,} lead nowhere, see knotwork graph links" if dead else ""
        session.terminal.say(f"Links between documents: {linked:,}{missing}")
    session.terminal.say(f"Embedder: {statistics.embedder or NO_EMBEDDER_LABEL}")
    if statistics.failed:
        session.terminal.say(f"Skipped files: {statistics.failed:,}; see knotwork documents")


@command(
    "knotwork graph links",
    "knotwork graph links docs/setup.md",
    "knotwork graph links docs/setup.md --json",
    group=graph_command,
    short_help="List the links of a document, or all dead links.",
)
@click.argument("uri", metavar="[URI]", default="")
def links(session: Session, *, uri: str) -> None:
    """List the links of a document and those that lead to it. Without URI, list dead links.

    A link is dead if it leads to a document that is not in the index.
    """
    graph = session.open().graph
    found = graph.links(uri) if uri else graph.dead_links()
    session.show_table(
        {"links": found},
        [(link.source, link.words, _describe_target(link)) for link in found],
        header=("document", "words", "leads to"),
        counted=count_of(len(found), "link" if uri else "dead link"),
    )


@command(
    "knotwork graph conflicts",
    "knotwork graph conflicts --store handbook.knot",
    "knotwork graph conflicts --json",
    group=graph_command,
    short_help="List the values on which documents disagree.",
)
def conflicts(session: Session) -> None:
    """List what documents give different values for, each with its date, the newest first.

    Sentences are compared whose words agree but for a number, a date or a name. The date of a value
    is that of its sentence, else of its document.
    """
    found = session.open().graph.conflicts()
    if session.emit({"conflicts": found}):
        return
    for each in found:
        session.terminal.table([(c.date or "no date", c.document, c.quote) for c in each.claims])
        session.terminal.say()
    session.terminal.note(count_of(len(found), "conflict"), style="dim")


def _describe_target(link: DocumentLink) -> str:
    if not link.document:
        return f"{link.target} (not in the index)"
    if link.start is None and link.part:
        return f"{link.document} (no part {link.part})"
    return f"{link.document}, {link.section}" if link.section else link.document


@command(
    "knotwork graph export --format graphml --output graph.graphml",
    "knotwork graph export --format graphrag --output tables/",
    "knotwork graph export | jq '.nodes | length'",
    group=graph_command,
    short_help="Export the whole graph to a file.",
)
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
        if not session.emit({"format": format, "files": list(tables), "rows": rows}):
            for table, n in tables.items():
                session.terminal.say(f"Wrote {count_of(n, 'row')} to {table}")
        return
    report = export_graph(store, output, format=format, raw=raw)
    if not session.emit({"format": format, **fields_of(report, "files", "nodes", "edges")}):
        counts = f"{report.nodes:,} nodes and {report.edges:,} edges"
        session.terminal.say(f"Wrote {counts} to {', '.join(map(str, report.files))}")
