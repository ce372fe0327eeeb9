"""What an index holds: its documents and tables, its backups, repairs and copies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Session, command, command_group, number_option
from knotwork._cli.views import ROW_COUNT, Line, Table, each, note
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._stores.base import LedgerEntry, Store
    from knotwork._stores.table_file import TableFile, TableShape


@command()
@click.option("--fields", is_flag=True, help="List the fields that --where can filter by instead.")
def documents_command(session: Session, *, fields: bool) -> None:
    """List the documents of the index, what of them was not read, and the skipped files.

    $ knotwork documents
    $ knotwork documents --store handbook.knot
    $ knotwork documents --json | jq -r '.skipped[].uri'
    """
    from knotwork._cli.progress import describe_failure
    from knotwork._indexing.embedding import refused_chunks, refused_notes

    if fields:
        _list_fields(session)
        return
    store = session.open().store
    refused = {key: refused_notes(store, key) for key in refused_chunks(store)}
    entries = list(store.ledger.entries())
    indexed = [
        _describe(store, entry, refused.get(entry.document_id, []))
        for entry in entries
        if not entry.error or entry.chunks
    ]
    skipped = [
        {"uri": entry.uri, "reason": entry.error_reason, "message": entry.error}
        for entry in entries
        if entry.error
    ]
    session.show(
        {"documents": indexed, "skipped": skipped},
        Table("documents", "document=uri chunks title"),
        Line("[{unread:?}\nRead in part]", "bold yellow"),
        each("unread", Line("{}", indent=2)),
        Line("[{skipped:?}\nSkipped]", "bold yellow"),
        each("failures", Line("{}", indent=2)),
        note("{documents:#document}, {count} skipped"),
        unread=[text for item in indexed for text in item["unread"]],
        failures=[describe_failure(item["uri"], item["message"]) for item in skipped],
        count=len(skipped),
    )


def _describe(store: Store, entry: LedgerEntry, notes: list[str]) -> dict[str, Any]:
    """Return what is listed of a document; ``notes`` are further ones on what lacks in it."""
    from knotwork._indexing.loaders.loader import document_notes

    document = store.documents.documents([entry.document_id]).get(entry.document_id)
    own = document_notes(entry.uri, document.metadata) if document else []
    title = document.title if document else ""
    return fields_of(entry, "uri", "chunks", "size") | {"title": title, "unread": [*own, *notes]}


def _list_fields(session: Session) -> None:
    """List the fields of documents, the number of documents with each, and frequent values."""
    found = session.open().fields()
    session.show({"fields": found}, Table("fields", "field=name documents values=examples"))


@command()
@click.argument("uris", metavar="URI...", nargs=-1, required=True, type=click.Path())
def delete_command(session: Session, *, uris: tuple[str, ...]) -> None:
    """Remove documents, and everything that only they support. Files are not deleted.

    If the file of a document is still in an indexed folder, the next `index` adds it again.
    $ knotwork delete notes/old.md
    $ knotwork delete a.pdf b.pdf --store handbook.knot
    $ knotwork delete notes/old.md --json
    """
    removed = session.open_existing().delete(uris)
    session.show({"removed": list(removed)}, each("removed", "Removed {}"))


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
    from knotwork._indexing.commit import add_tables

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
    from knotwork._stores.base import require_tables, tables_path
    from knotwork._stores.table_file import TableFile

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


_FORCE = click.option("--force", is_flag=True, help="Replace what exists there.")


@command(hides_store=True)
@click.argument("index", type=click.Path())
@click.argument("target", type=click.Path(path_type=Path))
@_FORCE
def backup_command(session: Session, *, index: str, target: Path, force: bool) -> None:
    """Copy the index INDEX, with the files beside it, into the new folder TARGET.

    Other processes may search and index meanwhile: the backup is the state of one commit. Every
    page of the copy is verified before the folder gets its name.
    $ knotwork backup handbook.knot backups/handbook
    $ knotwork backup handbook.knot backups/today --force
    $ knotwork backup handbook.knot backups/today --json
    """
    from knotwork._knowledge_base.backups import back_up

    report = session.follow(back_up.run(index, target, overwrite=force))
    session.show(
        report,
        "Wrote {backup}: {documents:#document}, {size_mb:,.1f} MB, verified.",
        note("[{protected:!}The index has no checksums: damage may go unnoticed.]", "yellow"),
        size_mb=sum(file.size for file in report.files) / 1e6,
    )


@command(hides_store=True)
@click.argument("backup", type=click.Path(path_type=Path))
@click.argument("index", type=click.Path())
@_FORCE
def restore_command(session: Session, *, backup: Path, index: str, force: bool) -> None:
    """Restore the index INDEX, with the files beside it, from the folder BACKUP.

    The backup is verified before anything changes. Stop other processes that use the index.
    $ knotwork restore backups/handbook handbook.knot
    $ knotwork restore backups/handbook handbook.knot --force
    $ knotwork restore backups/handbook copy.knot --json
    """
    from knotwork._knowledge_base.backups import restore

    report = session.follow(restore.run(backup, index, overwrite=force))
    session.show(
        fields_of(report) | {"restored": index},
        "Restored {restored} with {documents:#document}, as of {created}.",
    )


@command(hides_store=True)
@click.argument("index", type=click.Path())
def repair_command(session: Session, *, index: str) -> None:
    """Repair the index INDEX and the files beside it, and list what could not be brought back.

    Full text, graph, communities and vectors are rebuilt. Documents that lost something are read
    again from their files. The damaged file stays beside the index. The exit code is 1 if something
    was lost.
    $ knotwork repair handbook.knot
    $ knotwork repair handbook.knot --config knotwork.toml
    $ knotwork repair handbook.knot --json
    """
    from knotwork._knowledge_base.repairs import repair

    report = session.follow(repair.run(index, settings=session.settings))
    session.show(
        fields_of(report) | {"changed": report.changed},
        Line("[{changed:!}{index} is intact.]", "green"),
        Line("[Damaged: {damaged}]", "yellow"),
        "[Rebuilt: {rebuilt}]",
        "[Read again: {reread}]",
        "[Indexed again from their stored text: {from_text}]",
        each("lost", Line("Lost: {}", "bold red")),
        note("[The damaged files are kept: {kept}]"),
    )
    if report.lost:
        raise click.exceptions.Exit(1)


@command(hides_store=True)
@click.argument("source")
@click.argument("target")
@click.option(
    "--without",
    metavar="PART",
    multiple=True,
    help="Leave out communities, readings, questions, resolutions, homonyms or property_graphs.",
)
@click.option("--verify/--no-verify", default=True, help="Compare both indexes afterwards.")
def copy_command(
    session: Session, *, source: str, target: str, without: tuple[str, ...], verify: bool
) -> None:
    """Copy the index SOURCE to the new index TARGET, each a file or the URL of a store.

    Other processes may use SOURCE meanwhile: the copy is of one state. Repeat an interrupted
    command to continue it. In the end both indexes are read and their hashes compared. Tables are
    copied between files only, cached model replies and remembered facts never: use `backup`.
    $ knotwork copy handbook.knot moved.knot
    $ knotwork copy handbook.knot small.knot --without communities
    $ knotwork copy handbook.knot moved.knot --no-verify --json
    """
    from knotwork._knowledge_base.copies import copy_index

    limits = session.settings.store
    run = copy_index.run(source, target, without=without, verify=verify, limits=limits)
    report = session.follow(run)
    session.show(
        report,
        "Copied {source} to {target}: {documents:#document}, "
        "[verified ({hash:.16})][{hash:!}not verified].",
        Line("[Left out: {left_out}]", "yellow"),
        note("[Not copied: {beside}]"),
        note("[{changed:?}The source has changed since; the copy is of its state before.]"),
    )
