"""Decide which sources to read, by what earlier runs left: the ledger, and files they died of.

Sources are compared with the ledger by file, revision, settings and model tier.

A file is unchanged if its size and times are those of its ledger entry. A file that changed shortly
before its times were read may have changed again within the same tick of the file system's clock:
as in git, it is "racy", and its content decides.

A file that makes the whole program die (out of memory, killed by an impatient person) would be the
first to be read again after each restart. A file on which a run waits for long is noted beside the
index until its outcome is committed, or a part of it that need not be repeated; what a run finds
noted was in progress when an earlier one was killed. Such a file is begun again twice, the second
time alone after all others, and then fails until it changes. Files that wait for others, in a queue
or for a commit, are not noted: a kill at a random time blames none of them, on a slow machine
either.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

from knotwork._indexing.embedding import refused_chunks
from knotwork._indexing.loaders.loader import UNREAD_PAGES, UNREAD_PICTURES, can_recognise
from knotwork._indexing.prepare import UNKNOWN_TIME_NS, Prepared, SourceFile
from knotwork._stores.base import Ledger, LedgerEntry, Store, index_file
from knotwork.errors import LoadError
from knotwork.records import AnyOf, Comparison, Condition

LEDGER_BATCH = 1_000
"""Ledger entries that are looked up at a time."""

RACY_NS = 10 * 10**9
"""A file that changed within this time before it was checked is racy.

The times of FAT have steps of two seconds; the rest is for the clocks of file servers.
"""

OUTSIDE_REASONS = frozenset({"missing", "not_a_file", "too_large", "unreadable"})
"""Failures that may pass while the file stays the same: every run tries these again."""

LASTING_REASONS = frozenset(
    {"binary", "broken", "empty", "encoding", "name", "password", "unsupported"}
)
"""Failures that do not pass while the file stays the same: reading it again does not help."""

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
    shapes a model's reading in addition. Neither covers the model or the wording of built-in
    prompts: a document that was paid for is not read again until it changes. With ``keeps_read``,
    documents that a model read once are read by a model again when they change. With
    ``reads_new``, a model reads all documents.
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


def is_read_whole(counts: Mapping[str, int]) -> bool:
    """Return True if a model read, or should read, every document of an index.

    ``counts`` are those of `Ledger.settings_counts`.
    """
    return bool(counts) and all(settings.startswith((_READ, _PENDING)) for settings in counts)


def has_read(counts: Mapping[str, int]) -> bool:
    """Return True if a model read, or should read, any document; see `is_read_whole`."""
    return any(settings.startswith((_READ, _PENDING)) for settings in counts)


def with_fingerprint(settings: str, old: str, new: str) -> str:
    """Return the ledger's settings of a document with the plain fingerprint ``old`` replaced."""
    head, mark = "", settings
    for prefix in (_READ, _PENDING):
        if settings.startswith(prefix):
            head, mark = prefix, settings.removeprefix(prefix)
    mark, space, rest = mark.partition(" ")
    return f"{head}{new}{space}{rest}" if mark == old else settings


def compare_with_ledger(
    sources: Sequence[SourceFile],
    ledger: Ledger,
    tiers: Tiers,
    *,
    retry: bool = False,
    reread: Container[str] = frozenset(),
) -> Iterator[SourceFile]:
    """Yield each source with its ledger entry and what that decides.

    A source is not read if its size, times and settings are those of its entry and it is not racy:
    its document is unchanged, or fails as it did before. ``retry`` reads failed sources again.
    Documents whose ids are in ``reread`` are read and indexed again in any case.
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
            same_page = entry.repeated == source.repeated
            same_file = has_same_times(source, entry) and not is_racy(entry)
            tried_again = entry.error and (retry or entry.error_reason in OUTSIDE_REASONS)
            yield replace(
                source,
                entry=entry,
                needs_reading=bool(tried_again) or not (current and same_page and same_file),
                known_digest=entry.digest if current and same_page and not tried_again else "",
                known_revision=entry.revision if current and not entry.error else "",
                settings=settings,
                wants_model=wanted,
            )


def documents_read_in_part(store: Store, *, has_model: bool) -> frozenset[str]:
    """Return the ids of documents of which ``retry`` can read more now.

    These have a chunk without a usable reply, if there is a model, a chunk that the embedder did
    not take, and scanned pages or pictures that were not read, if their text can be recognised.
    """
    found = set(refused_chunks(store))
    readings, fields = store.capabilities.readings, store.capabilities.fields
    if has_model and readings is not None:
        chunks = [reading.chunk_id for reading in readings.quarantined()]
        found.update(chunk.document_id for chunk in store.documents.chunks(chunks).values())
    if fields is not None and can_recognise():
        unread = {UNREAD_PAGES, UNREAD_PICTURES} & {known.name for known in fields.fields()}
        conditions = tuple(Condition(name, Comparison.PRESENT) for name in sorted(unread))
        if conditions:
            found.update(fields.select(AnyOf(conditions)).documents)
    return frozenset(found)


def has_same_times(file: SourceFile, entry: LedgerEntry) -> bool:
    """Return True if the size and times of a file are those of its entry.

    `changed_ns` shows an edit whose time was set back, as by `cp -p`. An inode is never compared:
    some network file systems give a file another one whenever they are mounted. The version that a
    storage states of an object decides alone; it is the `digest` of its entry.
    """
    if file.version:
        return (file.version, file.size) == (entry.digest, entry.size)
    if file.modified_ns == UNKNOWN_TIME_NS:
        return False
    if (file.size, file.modified_ns) != (entry.size, entry.modified_ns):
        return False
    return not entry.checked_ns or file.changed_ns == entry.changed_ns


def is_racy(entry: LedgerEntry) -> bool:
    """Return True if the file may have changed after it was read, with the times of its entry."""
    newest_ns = entry.changed_ns or entry.modified_ns
    return bool(entry.checked_ns) and newest_ns + RACY_NS >= entry.checked_ns


def _checked_ns(source: SourceFile) -> int:
    """Return the time of the check for the ledger.

    It is the earlier one while the times of the file leave no doubt, so that a run that finds
    nothing new writes nothing.
    """
    entry = source.entry
    if entry is None or is_racy(entry) or not has_same_times(source, entry):
        return source.checked_ns
    return entry.checked_ns or source.checked_ns


def _found(source: SourceFile) -> dict[str, Any]:
    return {
        "uri": source.uri,
        "root": source.root,
        "size": source.size,
        "modified_ns": source.modified_ns,
        "edge_keys": source.edge_keys,
        "repeated": source.repeated,
        "changed_ns": source.changed_ns,
    }


def indexed_entry(prepared: Prepared) -> LedgerEntry:
    """Return the ledger entry of a document that is stored."""
    source, document = prepared.source, prepared.document
    return LedgerEntry(
        **_found(source),
        document_id=document.id,
        revision=document.revision,
        settings=prepared.settings,
        chunks=len(prepared.leaves),
        checked_ns=source.checked_ns,
        digest=source.digest,
    )


def touched_entry(entry: LedgerEntry, source: SourceFile) -> LedgerEntry:
    """Return the ledger entry of a file with unchanged content."""
    digest = source.digest or entry.digest
    return replace(entry, **_found(source), checked_ns=_checked_ns(source), digest=digest)


def failed_entry(source: SourceFile, error: LoadError, tiers: Tiers) -> LedgerEntry:
    """Return the ledger entry of a source that cannot be read.

    The document indexed from it before stays, as ``chunks`` shows: a file that is locked or half
    written today was not deleted, and the report names it. The revision is dropped, so that the
    file is indexed again as soon as it can be read.
    """
    entry = source.entry
    return LedgerEntry(
        **_found(source),
        document_id=entry.document_id if entry else "",
        revision="",
        settings=tiers.settings(source.wants_model, read=source.wants_model and tiers.has_model),
        chunks=entry.chunks if entry else 0,
        error_reason=error.reason,
        error=error.message,
        checked_ns=_checked_ns(source),
        digest=source.hash_bytes() if source.is_hashed else source.version,
    )


def entry_path(entry: LedgerEntry | SourceFile) -> str:
    """Return the path or URL of the file of an entry, whether or not it still exists."""
    head, _, tail = entry.uri.partition("/")
    if "://" in entry.root:
        folder = entry.root.rstrip("/")
        return f"{folder}/{tail}" if tail and folder.rpartition("/")[2] == head else entry.root
    root = Path(entry.root)
    return str(root.joinpath(*tail.split("/"))) if tail and root.name == head else entry.root


def lies_in(uri: str, folders: Container[str]) -> bool:
    """Return True if a source is in one of these folders, at any depth."""
    parts = uri.split("/")
    return any("/".join(parts[:depth]) in folders for depth in range(1, len(parts)))


_log = logging.getLogger("knotwork.indexing")

SUFFIX = ".begun"

MOST_STARTS = 3
"""Times that a file is begun while every time the program is killed."""

NOTED_AFTER_S = 2.0
"""Seconds after which a file on which a run waits is noted."""

KILLED = "killed"
"""The reason of such a failure. Its record is kept until the file changes."""

_Version: TypeAlias = tuple[str, int, int]
"""A file as it was begun: its name in the index, its size and its time."""


class Attempts:
    """The files of one index that were begun, and whose outcome is not committed.

    The record is a file beside the index with a line for each start. It survives the death of this
    process, not that of the machine. An index that is not a file has none.
    """

    def __init__(self, store_url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        path = index_file(store_url)
        self._clock = clock
        self._path: Path | None = path.with_name(path.name + SUFFIX) if path else None
        self._earlier = Counter[_Version]()
        self._begun: dict[str, _Version] = {}
        """Files in progress that are not noted."""
        self._noted: dict[str, _Version] = {}
        self._waited_for: tuple[str, float] = "", 0.0
        """The file on which the run waits, and since when."""
        if self._path is None:
            return
        with suppress(OSError, UnicodeDecodeError):
            for line in self._path.read_text("utf-8").splitlines():
                with suppress(ValueError, TypeError, KeyError):  # damaged by something else
                    uri, size, modified_ns = json.loads(line)["begun"]
                    self._earlier[uri, size, modified_ns] += 1

    def count(self, source: SourceFile) -> int:
        """Return how often a file as it is now was begun in runs that were killed."""
        return self._earlier[source.uri, source.size, source.modified_ns]

    def begin(self, source: SourceFile) -> None:
        """Remember that a file is begun."""
        self._begun[source.uri] = source.uri, source.size, source.modified_ns

    def wait_for(self, uri: str) -> None:
        """Note the file on which the run waits, once that takes long; call this now and then."""
        now = self._clock()
        if uri != self._waited_for[0]:
            self._waited_for = uri, now
        if now - self._waited_for[1] >= NOTED_AFTER_S and uri in self._begun:
            self._noted[uri] = self._begun.pop(uri)
            self._write()

    def keep_part(self, source: SourceFile) -> None:
        """Forget earlier attempts at a file of which a part is kept: repeating them ends."""
        self.end([source.uri])
        self.begin(source)
        self._waited_for = source.uri, self._clock()

    def end(self, uris: Iterable[str]) -> None:
        """Forget files whose outcome is committed."""
        ended = set(uris)
        for uri in ended & self._begun.keys():
            del self._begun[uri]
        earlier = [version for version in self._earlier if version[0] in ended]
        noted = ended & self._noted.keys()
        for version in earlier:
            del self._earlier[version]
        for uri in noted:
            del self._noted[uri]
        if earlier or noted:
            self._write()

    def close(self) -> None:
        """Forget what this run began: it ends in order, so that no file is to blame."""
        self._begun.clear()
        self._noted.clear()
        if self._path is not None and self._path.exists():
            self._write()

    def _write(self) -> None:
        if self._path is None:
            return
        versions = [*self._earlier.elements(), *self._noted.values()]
        part = self._path.with_name(self._path.name + "~")
        try:
            if not versions:
                self._path.unlink(missing_ok=True)
                return
            lines = [json.dumps({"begun": version}) + "\n" for version in versions]
            part.touch(0o600)
            part.write_text("".join(lines), "utf-8")
            part.replace(self._path)
        except OSError as error:
            _log.info("files in progress are not noted beside the index: %s", error)
            self._path = None


def killed_error(source: SourceFile, times: int) -> LoadError:
    """Return the error for a file that was in progress each time that this program was killed."""
    return LoadError(
        KILLED,
        f"`{source.uri}` was in progress {times} times when Knotwork was killed, and is not read "
        "again until it changes.",
        fix="Leave it out with `exclude`, or split it. If something else was the reason, index "
        "with `--retry`.",
    )
