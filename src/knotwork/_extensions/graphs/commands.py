"""`knotwork graph`: count, export and import knowledge graphs.

The commands on aliases and shortest paths are in `knotwork._cli.commands.graph`, those on graph
databases in `server_commands`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork._cli.commands.graph import merge, names, shortest_paths, split
from knotwork._cli.session import (
    Session,
    choice_option,
    command,
    command_group,
    path_option,
    text_option,
)
from knotwork._cli.views import Line, Part, Table, each, note
from knotwork._extensions.graphs import server_commands
from knotwork._shapes.base import fields_of
from knotwork._text.printable import escape_unsafe_xml
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.records import DocumentLink


AUTO_FORMAT = "auto"
GRAPH_FORMATS = (AUTO_FORMAT, "table", "graphml", "turtle", "ntriples", "nquads", "trig")
_STAGES = {"read": "Bytes read", "write": "Entities"}
_SHOWN_BAD_LINES = 5
_DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "space": " "}
"""Names for delimiters that are hard to type in a shell."""


@command(name="import", short_help="Import a graph: triples, tables, GraphML, RDF.")
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


_SHOWN_RELATIONS = 15
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
    server_commands.mirror,
    server_commands.verify,
    server_commands.connect,
    server_commands.connections,
    server_commands.disconnect,
    server_commands.query,
):
    graph_command.add_command(further)


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
        session.show(
            {"format": format, "files": tables.files, "rows": dict(tables.rows)},
            each("written", "Wrote {1:#row} to {0}"),
            written=[(table, tables.rows[table.stem]) for table in tables.files],
        )
        return
    report = export_graph(store, output, format=format, raw=raw)
    described = {"format": format, **fields_of(report, "files", "nodes", "edges")}
    session.show(described, "Wrote {nodes:#node} and {edges:#edge} to {files}")
