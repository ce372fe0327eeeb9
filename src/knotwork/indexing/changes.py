"""Decide what changed: compare sources with the ledger, by revision, settings and model tier."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from knotwork.errors import LoadError
from knotwork.indexing.prepared import UNKNOWN_TIME_NS, Candidate, Prepared
from knotwork.stores.base import Ledger, LedgerEntry

_READ = "read "
_PENDING = "pending "


class Tier(StrEnum):
    """How much of an index a language model makes."""

    NONE = "none"
    """Nothing: rules and statistics."""
    LEAN = "lean"
    """What rules cannot do, when it is needed: doubtful names, reports for a question, answers."""
    FULL = "full"
    """It reads every chunk, and writes descriptions and reports ahead of time."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """Tells by the ledger whether a document is to be read by a model, and whether it was.

    ``plain`` is the fingerprint of all that shapes an index without a model, ``read`` of what
    shapes a model's reading beside it. Neither holds the model or the wording of its prompts: a
    document that was paid for is not read again until it changes. A document that was read once
    stays so (``keeps_read``), unless another tier was asked for; ``reads_new`` has all of them
    read.
    """

    plain: str
    read: str = ""
    has_model: bool = False
    reads_new: bool = False
    keeps_read: bool = True

    def wants_model(self, entry: LedgerEntry | None) -> bool:
        """Tell whether a document should be read by a model, be there one or not."""
        if self.reads_new:
            return True
        marked = entry is not None and entry.settings.startswith((_READ, _PENDING))
        return self.keeps_read and marked

    def is_current(self, entry: LedgerEntry) -> bool:
        """Tell whether a document was indexed as it would be now."""
        wanted = self.wants_model(entry)
        if wanted and not self.has_model and entry.settings == self.settings(wanted, read=False):
            return True  # nothing better can be done today
        return entry.settings == self.settings(wanted, read=wanted)

    def settings(self, wanted: bool, *, read: bool) -> str:
        """Return what the ledger says of a document: whether a model should, and did, read it."""
        if not wanted:
            return self.plain
        return f"{_READ}{self.plain} {self.read}" if read else f"{_PENDING}{self.plain}"


def with_fingerprint(settings: str, old: str, new: str) -> str:
    """Return what the ledger says of a document, with one plain fingerprint replaced by another."""
    head, mark = "", settings
    for prefix in (_READ, _PENDING):
        if settings.startswith(prefix):
            head, mark = prefix, settings.removeprefix(prefix)
    mark, space, rest = mark.partition(" ")
    return f"{head}{new}{space}{rest}" if mark == old else settings


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
