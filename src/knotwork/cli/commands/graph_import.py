"""`knotwork graph import`: bring in a graph that others made."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import complete_from, with_session
from knotwork.cli.session import Session, check_choice
from knotwork.cli.terminal import Terminal, count_of, join_lines

if TYPE_CHECKING:
    from knotwork.indexing.domain import GraphImportReport

AUTO = "auto"
FORMATS = (AUTO, "table", "graphml", "turtle", "ntriples", "nquads", "trig")
LINE_INTERVAL_S = 5.0
_STAGES = {"read": "Bytes read", "write": "Things"}
_MOST_EXAMPLES = 5
_SIGNS = {"tab": "\t", "\\t": "\t", "space": " "}
"""Signs by names, for those that are hard to write in a shell."""


@click.command(
    "import",
    short_help="Bring in a graph: triples, tables, GraphML, RDF.",
    epilog=show_examples(
        "knotwork graph import films.tsv",
        "knotwork graph import people.csv knows.csv --name friends",
        "knotwork graph import ontology.ttl --json",
    ),
)
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--format",
    metavar="NAME",
    shell_complete=complete_from(FORMATS),
    default=AUTO,
    show_default=True,
    help="table, graphml, turtle, ntriples, nquads or trig.",
)
@click.option("--name", metavar="NAME", default="", help="Call it this; else by its first path.")
@click.option(
    "--columns",
    metavar="NAMES",
    default="",
    help="What columns of tables without a header are: source,relation,target.",
)
@click.option(
    "--delimiter", metavar="SIGN", default="", help="Column separator; detected by default."
)
@click.option(
    "--vectors/--no-vectors",
    default=None,
    help="Embed passages, or names alone; by default passages up to 2,000 things.",
)
@with_session()
def graph_import(
    session: Session,
    *,
    paths: tuple[Path, ...],
    format: str,  # noqa: A002
    name: str,
    columns: str,
    delimiter: str,
    vectors: bool | None,
) -> None:
    """Bring in the graph of files or folders, to be searched like what was extracted.

    Each fact becomes a line of text that answers can cite, an edge, and two names. Triples and
    tables of nodes and edges (TSV, CSV), GraphML and RDF are read. Lines that cannot be read are
    counted and shown. A second import of the same name replaces the first; `knotwork delete
    graph:NAME` takes it out.
    """
    from knotwork.cli.progress import choose_counter
    from knotwork.indexing.domain.telling import describe_graph_import

    check_choice("graph format", format, FORMATS)
    opened = session.open(read_only=False)
    steps = opened.import_graph_steps(
        paths,
        format="" if format == AUTO else format,
        name=name,
        columns=[part.strip() for part in columns.split(",") if part.strip()],
        delimiter=_SIGNS.get(delimiter, delimiter),
        vectors=vectors,
    )
    report: GraphImportReport | None = None
    told = time.monotonic()
    with choose_counter(session.terminal, hidden=session.common.no_progress) as counter:
        for step in steps:
            counter.count(_STAGES[step.stage], step.done, step.total)
            report = step.report or report
            shown = session.terminal.is_interactive or session.common.no_progress
            if not shown and not session.common.json and time.monotonic() - told > LINE_INTERVAL_S:
                told = time.monotonic()
                session.terminal.note(f"{_STAGES[step.stage]}: {step.done:,} of {step.total:,}")
    assert report is not None, "the last step has the report"
    if session.common.json:
        session.terminal.emit(describe_graph_import(report))
    else:
        print_graph_import(session.terminal, report)


def print_graph_import(terminal: Terminal, report: GraphImportReport) -> None:
    """Print what came in, and what did not."""
    if report.unchanged:
        terminal.say(f"The graph {report.name} is in the index as it is; nothing was done.")
        return
    terminal.say(f"Imported the graph {report.name}", style="bold")
    rows = [
        (f"{report.facts:,}", f"facts, of {count_of(report.relations, 'relation')}"),
        (f"{report.things:,}", "things"),
        (f"{report.chunks:,}", f"passages, in {count_of(report.documents, 'document')}"),
    ]
    if report.shared_names:
        rows.append((f"{report.shared_names:,}", "things called by more than the name they share"))
    if report.loops:
        rows.append((f"{report.loops:,}", "facts of a thing about itself, which are text alone"))
    terminal.table(rows, indent=2)
    _print_bad_lines(terminal, report)
    for uri in report.removed:
        terminal.say(f"Removed {uri}, which the graph does not reach any more")
    terminal.say(f"Take it out with: knotwork delete {report.uri}")
    for note in report.notes:
        terminal.note(note, style="dim")


def _print_bad_lines(terminal: Terminal, report: GraphImportReport) -> None:
    if not report.bad_lines:
        return
    lines = count_of(sum(report.bad_lines.values()), "line")
    terminal.say(f"{lines} could not be read, or not in full", style="bold")
    terminal.table([(f"{n:,}", reason) for reason, n in report.bad_lines.items()], indent=2)
    terminal.table(list(_examples(report)), indent=2)


def _examples(report: GraphImportReport) -> Iterable[tuple[str, str]]:
    for bad in report.examples[:_MOST_EXAMPLES]:
        yield f"{bad.file}:{bad.line}" if bad.line else bad.file, join_lines(bad.text)
