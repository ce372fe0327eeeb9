"""What changed since the last run: the ledger's entries against the sources of today."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from knotwork.errors import LoadError
from knotwork.indexing.stages import UNKNOWN_TIME_NS, Candidate, Prepared
from knotwork.indexing.tiers import Tiers
from knotwork.stores.base import Ledger, LedgerEntry

_LEDGER_BATCH = 1_000


def entry_path(entry: LedgerEntry) -> str:
    """Return where the file of an entry lies, or lay."""
    root = Path(entry.root)
    head, _, tail = entry.uri.partition("/")
    return str(root.joinpath(*tail.split("/"))) if tail and root.name == head else entry.root


def lies_in(uri: str, folders: Container[str]) -> bool:
    """Return whether a source lies in one of these folders, at any depth."""
    parts = uri.split("/")
    return any("/".join(parts[:depth]) in folders for depth in range(1, len(parts)))


def with_entries(
    sources: Sequence[Candidate], ledger: Ledger
) -> Iterator[tuple[Candidate, LedgerEntry | None]]:
    """Yield each source with what the ledger knows of it."""
    for start in range(0, len(sources), _LEDGER_BATCH):
        batch = sources[start : start + _LEDGER_BATCH]
        known = ledger.get([source.uri for source in batch])
        for source in batch:
            yield source, known.get(source.uri)


def needs_no_reading(source: Candidate, entry: LedgerEntry | None, tiers: Tiers) -> bool:
    """Tell whether a source surely gives what it gave last time, a failure included."""
    return (
        entry is not None
        and tiers.is_current(entry)
        and source.modified_ns != UNKNOWN_TIME_NS
        and (entry.size, entry.modified_ns) == (source.size, source.modified_ns)
        and entry.repeated == source.repeated
    )


def known_revision(entry: LedgerEntry | None, tiers: Tiers) -> str:
    """Return the revision with which a source, when it is read anew, is indexed as it is."""
    current = entry is not None and not entry.error and tiers.is_current(entry)
    return entry.revision if entry is not None and current else ""


def indexed_entry(prepared: Prepared) -> LedgerEntry:
    """Return the entry of a document that is stored."""
    source, document = prepared.source, prepared.document
    return LedgerEntry(
        uri=source.uri,
        document_id=document.id,
        root=source.root,
        revision=document.revision,
        settings=prepared.settings,
        size=source.size,
        modified_ns=source.modified_ns,
        chunks=len(prepared.leaves),
        edge_keys=source.edge_keys,
        repeated=source.repeated,
    )


def touched_entry(entry: LedgerEntry, source: Candidate) -> LedgerEntry:
    """Return the entry of a file that was written anew with the same content."""
    return replace(
        entry,
        root=source.root,
        size=source.size,
        modified_ns=source.modified_ns,
        edge_keys=source.edge_keys,
        repeated=source.repeated,
    )


def failed_entry(
    source: Candidate, entry: LedgerEntry | None, error: LoadError, tiers: Tiers
) -> LedgerEntry:
    """Return the entry of a source that cannot be read.

    What was indexed of it before stays (``chunks`` tells): a file that is locked or half written
    today is not a file that was deleted, and the report names it. The revision is forgotten, so
    that the file is indexed anew as soon as it can be read.
    """
    wanted = tiers.wants_model(entry)
    return LedgerEntry(
        uri=source.uri,
        document_id=entry.document_id if entry else "",
        root=source.root,
        revision="",
        settings=tiers.settings(wanted, read=wanted and tiers.has_model),
        size=source.size,
        modified_ns=source.modified_ns,
        chunks=entry.chunks if entry else 0,
        error_reason=error.reason,
        error=error.message,
        edge_keys=source.edge_keys,
        repeated=source.repeated,
    )
