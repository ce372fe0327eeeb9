"""`knotwork documents`: what is in the index, and what could not be read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from knotwork.cli.app import show_examples
from knotwork.cli.options import with_session
from knotwork.cli.session import Session
from knotwork.cli.terminal import count_of


@click.command(
    epilog=show_examples(
        "knotwork documents",
        "knotwork documents --store handbook.knot",
        "knotwork documents --json | jq -r '.skipped[].uri'",
    )
)
@click.option("--fields", is_flag=True, help="List what --where can compare instead.")
@with_session()
def command(session: Session, *, fields: bool) -> None:
    """List the documents of the index, and the files that were skipped with the reason."""
    from knotwork.cli.progress import tell_failure

    if fields:
        _list_fields(session)
        return
    store = session.open().store
    indexed: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for entry in store.ledger.entries():
        if entry.error:
            skipped.append({"uri": entry.uri, "reason": entry.error_reason, "message": entry.error})
        if not entry.error or entry.chunks:
            found = store.documents.documents([entry.document_id])
            title = found[entry.document_id].title if entry.document_id in found else ""
            indexed.append(
                {"uri": entry.uri, "title": title, "chunks": entry.chunks, "size": entry.size}
            )
    if session.common.json:
        session.terminal.emit({"documents": indexed, "skipped": skipped})
        return
    session.terminal.table(
        [(item["uri"], f"{item['chunks']:,}", item["title"]) for item in indexed],
        header=("document", "chunks", "title"),
    )
    if skipped:
        session.terminal.say("\nSkipped", style="bold yellow")
        for item in skipped:
            session.terminal.say(tell_failure(item["uri"], item["message"]), indent=2)
    counts = f"{count_of(len(indexed), 'document')}, {len(skipped):,} skipped"
    session.terminal.note(counts, style="dim")


def _list_fields(session: Session) -> None:
    """List the fields of documents, how many have each, and its most frequent values."""
    fields = session.open().fields()
    if session.common.json:
        listed = [{**asdict(field), "examples": list(field.examples)} for field in fields]
        session.terminal.emit({"fields": listed})
        return
    session.terminal.table(
        [(f.name, f"{f.documents:,}", ", ".join(f.examples)) for f in fields],
        header=("field", "documents", "values"),
    )
