"""`knotwork tables`: store tables beside an index, and query them."""

from __future__ import annotations

from pathlib import Path

import click

from knotwork._cli.session import Session, command, command_group, number_option
from knotwork._cli.views import ROW_COUNT, Table
from knotwork._extensions.tables.table_file import TableFile, TableShape
from knotwork._extensions.tables.tables import add_tables, require_tables
from knotwork._shapes.base import fields_of
from knotwork._stores.base import tables_path


@command_group()
def tables_command() -> None:
    """Store tables of spreadsheets beside the index, and query them with read-only SQL.

    $ knotwork tables add sales.xlsx prices.csv
    $ knotwork tables query "SELECT sum(amount) FROM sales"
    $ knotwork search "average amount in the north" --retriever text_to_sql
    """


@command(group=tables_command)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def add(session: Session, *, files: tuple[Path, ...]) -> None:
    """Add or replace the tables of .csv, .tsv, .xlsx and .json files.

    $ knotwork tables add sales.csv
    $ knotwork tables add sales.xlsx prices.tsv
    $ knotwork tables add sales.xlsx --store sales.knot --json
    """
    tables = _open_tables(session)
    index = session.settings.index
    _show_tables(session, [shape for path in files for shape in add_tables(tables, path, index)])


@command(group=tables_command, name="list")
def show(session: Session) -> None:
    """List the tables with their columns.

    $ knotwork tables list
    $ knotwork tables list --store sales.knot
    $ knotwork tables list --json | jq .tables
    """
    _show_tables(session, _open_tables(session).tables())


@command(group=tables_command)
@click.argument("name")
def remove(session: Session, *, name: str) -> None:
    """Remove a table.

    $ knotwork tables remove sales
    $ knotwork tables remove sales --store sales.knot
    $ knotwork tables remove sales_q1
    """
    _open_tables(session).remove(name)
    session.terminal.note(f"Removed {name}.")


@command(group=tables_command)
@click.argument("statement")
@number_option("--limit", default=100, help="Maximum number of rows.")
def query(session: Session, *, statement: str, limit: int) -> None:
    """Run one SELECT statement on the tables.

    $ knotwork tables query "SELECT count(*) FROM sales"
    $ knotwork tables query "SELECT * FROM sales WHERE amount > 100" --limit 5
    $ knotwork tables query "SELECT max(day) FROM sales" --json
    """
    result = _open_tables(session).run(statement, row_limit=limit)
    if not session.emit(fields_of(result, "columns", "rows", "truncated")):
        texts = [["" if cell is None else str(cell) for cell in row] for row in result.rows]
        session.terminal.table(texts, header=result.columns)
        session.terminal.show(result, ROW_COUNT)


def _open_tables(session: Session) -> TableFile:
    path = tables_path(str(session.settings.store.path))
    return TableFile(path) if path is not None else require_tables(session.open().store)


def _show_tables(session: Session, shapes: list[TableShape]) -> None:
    tables = [
        fields_of(shape, "name", "source", "rows")
        | {"columns": [{"name": name, "type": kind} for name, kind in shape.columns]}
        for shape in shapes
    ]
    session.show(
        {"tables": tables},
        Table("shapes", "table=name rows columns"),
        shapes=[fields_of(shape) | {"columns": dict(shape.columns)} for shape in shapes],
    )
