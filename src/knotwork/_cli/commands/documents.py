"""`knotwork documents` and `knotwork delete`: list and remove the documents of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Session, command
from knotwork._cli.terminal import count_of
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._stores.base import LedgerEntry, Store


@command(
    "knotwork documents",
    "knotwork documents --store handbook.knot",
    "knotwork documents --json | jq -r '.skipped[].uri'",
)
@click.option("--fields", is_flag=True, help="List the fields that --where can filter by instead.")
def documents_command(session: Session, *, fields: bool) -> None:
    """List the documents of the index, what of them was not read, and the skipped files."""
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
    if session.emit({"documents": indexed, "skipped": skipped}):
        return
    session.terminal.table(
        [(item["uri"], item["chunks"], item["title"]) for item in indexed],
        header=("document", "chunks", "title"),
    )
    if in_part := [note for item in indexed for note in item["unread"]]:
        session.terminal.say("\nRead in part", style="bold yellow")
        for note in in_part:
            session.terminal.say(note, indent=2)
    if skipped:
        session.terminal.say("\nSkipped", style="bold yellow")
        for item in skipped:
            session.terminal.say(describe_failure(item["uri"], item["message"]), indent=2)
    counts = f"{count_of(len(indexed), 'document')}, {len(skipped):,} skipped"
    session.terminal.note(counts, style="dim")


def _describe(store: Store, entry: LedgerEntry, notes: list[str]) -> dict[str, Any]:
    """Return what is listed of a document; ``notes`` are further ones on what lacks in it."""
    from knotwork._indexing.loaders.unread import document_notes

    document = store.documents.documents([entry.document_id]).get(entry.document_id)
    own = document_notes(entry.uri, document.metadata) if document else []
    title = document.title if document else ""
    return fields_of(entry, "uri", "chunks", "size") | {"title": title, "unread": [*own, *notes]}


def _list_fields(session: Session) -> None:
    """List the fields of documents, the number of documents with each, and frequent values."""
    fields = session.open().fields()
    rows = [(field.name, field.documents, ", ".join(field.examples)) for field in fields]
    session.show_table({"fields": fields}, rows, header=("field", "documents", "values"))


@command(
    "knotwork delete notes/old.md",
    "knotwork delete a.pdf b.pdf --store handbook.knot",
    "knotwork delete notes/old.md --json",
)
@click.argument("uris", metavar="URI...", nargs=-1, required=True, type=click.Path())
def delete_command(session: Session, *, uris: tuple[str, ...]) -> None:
    """Remove documents, and everything that only they support. Files are not deleted.

    If the file of a document is still in an indexed folder, the next `index` adds it again.
    """
    removed = session.open_existing().delete(uris)
    if session.emit({"removed": list(removed)}):
        return
    for uri in removed:
        session.terminal.say(f"Removed {uri}")
