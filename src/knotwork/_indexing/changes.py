"""Decide what changed: compare sources with the ledger, by revision, settings and model tier."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from knotwork._indexing.discovery import UNKNOWN_TIME_NS
from knotwork._indexing.prepared import Candidate, Prepared
from knotwork._stores.base import Ledger, LedgerEntry
from knotwork.errors import LoadError

LEDGER_BATCH = 1_000
"""Ledger entries that are looked up at a time."""

OUTSIDE_REASONS = frozenset({"missing", "not_a_file", "too_large", "unreadable"})
"""Failures that may pass while the file stays the same: every run tries these again."""

_READ = "read "
_PENDING = "pending "


class Tier(StrEnum):
    """How much of an index a language model makes."""

    NONE = "none"
    """Nothing: rules and statistics do all of it."""
    LEAN = "lean"
    """What rules cannot do, on demand: doubtful names, reports that a question needs, answers."""
    FULL = "full"
    """It reads every chunk, and writes descriptions and reports ahead of time."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """Decide from a document's ledger settings whether a model should read it, and whether it did.

    ``plain`` is the fingerprint of all that shapes an index without a model, ``read`` of what
    shapes a model's reading in addition. Neither covers the model or the wording of its prompts: a
    document that was paid for is not read again until it changes. With ``keeps_read``, documents
    that a model read once are read by a model again when they change. With ``reads_new``, a model
    reads all documents.
    """

    plain: str
    read: str = ""
    has_model: bool = False
    reads_new: bool = False
    keeps_read: bool = True

    def wants_model(self, settings: str) -> bool:
        """Return True if a model should read the document, whether or not there is one.

        ``settings`` are those in its ledger entry, empty for a new document.
        """
        return self.reads_new or (self.keeps_read and settings.startswith((_READ, _PENDING)))

    def is_current(self, settings: str) -> bool:
        """Return True if a document with these settings was indexed as this run would index it."""
        wanted = self.wants_model(settings)
        if wanted and not self.has_model and settings == self.settings(wanted, read=False):
            return True  # without a model, a pending document stays pending
        return settings == self.settings(wanted, read=wanted)

    def settings(self, wanted: bool, *, read: bool) -> str:
        """Return the ledger's settings of a document that a model should read, and did or not."""
        if not wanted:
            return self.plain
        return f"{_READ}{self.plain} {self.read}" if read else f"{_PENDING}{self.plain}"


def with_fingerprint(settings: str, old: str, new: str) -> str:
    """Return the ledger's settings of a document with the plain fingerprint ``old`` replaced."""
    head, mark = "", settings
    for prefix in (_READ, _PENDING):
        if settings.startswith(prefix):
            head, mark = prefix, settings.removeprefix(prefix)
    mark, space, rest = mark.partition(" ")
    return f"{head}{new}{space}{rest}" if mark == old else settings


def compare_with_ledger(
    sources: Sequence[Candidate],
    ledger: Ledger,
    tiers: Tiers,
    *,
    retry: bool = False,
    reread: Container[str] = frozenset(),
) -> Iterator[Candidate]:
    """Yield each source with its ledger entry and what that decides.

    A source is not read if its size, time and settings are those of its entry: its document is
    unchanged, or fails as it did before. ``retry`` reads failed sources again. Documents whose ids
    are in ``reread`` are read and indexed again in any case.
    """
    for start in range(0, len(sources), LEDGER_BATCH):
        batch = sources[start : start + LEDGER_BATCH]
        known = ledger.get([source.uri for source in batch])
        for source in batch:
            entry = known.get(source.uri)
            wanted = tiers.wants_model(entry.settings if entry else "")
            settings = tiers.settings(wanted, read=False)
            if entry is None:
                yield replace(source, settings=settings, wants_model=wanted)
                continue
            forced = entry.document_id in reread
            current = tiers.is_current(entry.settings) and not forced
            same_file = (
                source.modified_ns != UNKNOWN_TIME_NS
                and (entry.size, entry.modified_ns) == (source.size, source.modified_ns)
                and entry.repeated == source.repeated
            )
            tried_again = entry.error and (retry or entry.error_reason in OUTSIDE_REASONS)
            yield replace(
                source,
                entry=entry,
                needs_reading=bool(tried_again) or not (current and same_file),
                known_revision=entry.revision if current and not entry.error else "",
                settings=settings,
                wants_model=wanted,
            )


def indexed_entry(prepared: Prepared) -> LedgerEntry:
    """Return the ledger entry of a document that is stored."""
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
    """Return the ledger entry of a file that was written again with the same content."""
    return replace(
        entry,
        root=source.root,
        size=source.size,
        modified_ns=source.modified_ns,
        edge_keys=source.edge_keys,
        repeated=source.repeated,
    )


def failed_entry(source: Candidate, error: LoadError, tiers: Tiers) -> LedgerEntry:
    """Return the ledger entry of a source that cannot be read.

    The document indexed from it before stays, as ``chunks`` shows: a file that is locked or half
    written today was not deleted, and the report names it. The revision is dropped, so that the
    file is indexed again as soon as it can be read.
    """
    entry = source.entry
    return LedgerEntry(
        uri=source.uri,
        document_id=entry.document_id if entry else "",
        root=source.root,
        revision="",
        settings=tiers.settings(source.wants_model, read=source.wants_model and tiers.has_model),
        size=source.size,
        modified_ns=source.modified_ns,
        chunks=entry.chunks if entry else 0,
        error_reason=error.reason,
        error=error.message,
        edge_keys=source.edge_keys,
        repeated=source.repeated,
    )


def entry_path(entry: LedgerEntry) -> str:
    """Return the path of the file of an entry, whether or not it still exists."""
    root = Path(entry.root)
    head, _, tail = entry.uri.partition("/")
    return str(root.joinpath(*tail.split("/"))) if tail and root.name == head else entry.root


def lies_in(uri: str, folders: Container[str]) -> bool:
    """Return True if a source is in one of these folders, at any depth."""
    parts = uri.split("/")
    return any("/".join(parts[:depth]) in folders for depth in range(1, len(parts)))
