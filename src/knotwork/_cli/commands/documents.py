"""`knotwork documents` and `delete`: what an index holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knotwork._cli.session import Session, command
from knotwork._cli.views import Line, Table, each, note
from knotwork._shapes.base import fields_of

if TYPE_CHECKING:
    from knotwork._stores.base import LedgerEntry, Store


@command()
@click.argument("uri", required=False)
@click.option("--fields", is_flag=True, help="List the fields that --where can filter by instead.")
@click.option(
    "--edit",
    "changes",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Change title, author, date or tags of URI. FIELD alone restores.",
)
def documents_command(
    session: Session, *, uri: str | None, fields: bool, changes: tuple[str, ...]
) -> None:
    """List the documents of the index, what of them was not read, and the skipped files.

    $ knotwork documents --store handbook.knot
    $ knotwork documents plan.pdf --edit "title=Plan of 2024" --edit tags=hr,pay
    $ knotwork documents --json | jq -r '.skipped[].uri'
    """
    from knotwork._cli.progress import describe_failure
    from knotwork._indexing.embedding import refused_chunks, refused_notes
    from knotwork._stores.corrections import listed_entries

    if (uri is None) != (not changes):
        raise click.UsageError("Give a URI together with --edit.")
    if uri is not None:
        _edit(session, uri, changes)
        return
    if fields:
        _list_fields(session)
        return
    store = session.open().store
    refused = {key: refused_notes(store, key) for key in refused_chunks(store)}
    entries = list(listed_entries(store))
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


def _edit(session: Session, uri: str, changes: tuple[str, ...]) -> None:
    """Give a document other metadata, and show what it has now."""
    named = [change.partition("=") for change in changes]
    values = {name: value if sign else None for name, sign, value in named}
    document = session.open_existing().edit_metadata(uri, values)
    found = fields_of(document, "uri", "title", "metadata")
    session.show(found, Line("{uri}: {title}"))


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
