"""`knotwork graph`: what the knowledge graph holds, its names, and its export."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.commands import graph_import, graph_names
from knotwork.cli.options import keep_common, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.cli.summaries import NO_EMBEDDER
from knotwork.cli.terminal import count_of
from knotwork.errors import ConfigError

if TYPE_CHECKING:
    from knotwork.stores.base import Store

MOST_RELATIONS = 15
GRAPHRAG = "graphrag"
"""The format that holds more than the graph: the tables of Microsoft GraphRAG."""


def complete_formats(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Return the export formats that begin with what was typed, in a shell."""
    from knotwork.stores.export import FORMATS

    return [name for name in (*FORMATS, GRAPHRAG) if name.startswith(typed)]


@click.group()
@keep_common
def command() -> None:
    """Count or export the knowledge graph, and decide which names mean one thing."""


for named in (
    graph_names.names,
    graph_names.join,
    graph_names.part,
    graph_import.graph_import,
):
    command.add_command(named)


@command.command(
    short_help="Count nodes, edges and relations.",
    epilog=show_examples(
        "knotwork graph stats",
        "knotwork graph stats --store handbook.knot",
        "knotwork graph stats --json",
    ),
)
@with_session()
def stats(session: Session) -> None:
    """Count the nodes by label, the edges by type, and the relations by name."""
    held = session.open().stats()
    graph = held.graph
    if session.common.json:
        session.terminal.emit(
            {
                "nodes": dict(graph.labels),
                "edges": dict(graph.edge_types),
                "relations": dict(graph.relations),
                "embedder": held.embedder,
                "skipped": held.failed,
            }
        )
        return
    blocks = (
        ("Nodes", graph.labels, None),
        ("Edges", graph.edge_types, None),
        ("Most frequent relations", graph.relations, MOST_RELATIONS),
    )
    for title, counts, most in blocks:
        session.terminal.say(title, style="bold")
        rows = [(f"{count:,}", name) for name, count in list(counts.items())[:most]]
        session.terminal.table(rows or [("0", "none")], indent=2)
        session.terminal.say()
    embedder = held.embedder or NO_EMBEDDER
    session.terminal.say(f"Embedder: {embedder}")
    if held.failed:
        session.terminal.say(f"Skipped files: {held.failed:,}; see knotwork documents")


@command.command(
    short_help="Write the whole graph to a file.",
    epilog=show_examples(
        "knotwork graph export --format graphml --output graph.graphml",
        "knotwork graph export --format graphrag --output tables/",
        "knotwork graph export | jq '.nodes | length'",
    ),
)
@click.option(
    "--format",
    metavar="NAME",
    shell_complete=complete_formats,
    default="json",
    show_default=True,
    help="json, graphml, csv, parquet, cypher or graphrag.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A folder for csv, parquet and graphrag.",
)
@with_session()
def export(session: Session, *, format: str, output: Path | None) -> None:  # noqa: A002
    """Write documents, sections, chunks, entities and all edges to a file.

    Equal indexes give equal files. Without --output, json, graphml and cypher go to standard
    output. The tables of graphrag hold text units, communities and reports too.
    """
    from knotwork.stores.export import FOLDER_FORMATS, FORMATS, export_graph

    check_choice("export format", format, (*FORMATS, GRAPHRAG))
    to_folder = format in {*FOLDER_FORMATS, GRAPHRAG}
    if output is None and (to_folder or session.common.json):
        wanted = f"An export as {format}" if to_folder else "An export with --json"
        raise ConfigError(f"{wanted} needs --output.", fix="Add --output with a path.")
    store = session.open().store
    if output is None:
        with tempfile.TemporaryDirectory() as folder:
            report = export_graph(store, Path(folder, "graph"), format=format)
            with report.files[0].open(encoding="utf-8", newline="") as file:
                shutil.copyfileobj(file, sys.stdout)
        return
    if format == GRAPHRAG:
        _export_tables(session, store, output)
        return
    report = export_graph(store, output, format=format)
    files = [str(file) for file in report.files]
    if session.common.json:
        session.terminal.emit(
            {"format": format, "files": files, "nodes": report.nodes, "edges": report.edges}
        )
    else:
        counts = f"{report.nodes:,} nodes and {report.edges:,} edges"
        session.terminal.say(f"Wrote {counts} to {', '.join(files)}")


def _export_tables(session: Session, store: Store, output: Path) -> None:
    from knotwork.indexing.exchange.exporting import export_graphrag

    report = export_graphrag(store, output)
    files = [str(file) for file in report.files]
    if session.common.json:
        session.terminal.emit({"format": GRAPHRAG, "files": files, "rows": dict(report.rows)})
        return
    for file in report.files:
        rows = count_of(report.rows[file.stem], "row")
        session.terminal.say(f"Wrote {rows} to {file}")
