"""List the files of a workspace: its documents, uploads that wait, and files that were not taken;
and how many can be asked about while others are still being read.

The ledger of the index has the documents and the files that could not be read. Uploads that no job
has read yet are only in their folder, and `Attention` has those that were refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from knotwork._extensions.server.attention import version_of
from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import UPLOADS, Workspace
from knotwork._indexing.changes import LASTING_REASONS, entry_path
from knotwork._knowledge_base import KnowledgeBase
from knotwork._shapes.base import Json, Shape
from knotwork._stores.base import LedgerEntry, Store, require_fields
from knotwork._stores.corrections import listed_entries
from knotwork._stores.fields import DATE, PAGE, TITLE, list_items, whole_values
from knotwork._stores.id_sets import IdSet
from knotwork._text.dates import read_day_range
from knotwork.records import Document

READY, WAITING, FAILED, REFUSED_STATE = "ready", "waiting", "failed", "refused"
ATTENTION = "attention"
"""The state of files that failed or were refused, and not dismissed."""


@dataclass(frozen=True, slots=True)
class LibraryFile:
    """A file of a workspace.

    ``state`` is "ready", "waiting", "failed" or "refused". ``date`` is the one that the document
    states, ``changed`` the time of its file, in ISO 8601; both may be empty. ``retry`` is true if
    reading the file again may help while it stays the same.
    """

    uri: str
    state: str
    id: str = ""
    title: str = ""
    author: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    chunks: int = 0
    pages: int = 0
    size: int = 0
    changed: str = ""
    uploaded: bool = False
    dismissed: bool = False
    retry: bool = False
    error_reason: str = ""
    error: str = ""
    fix: str = ""

    @property
    def needs_attention(self) -> bool:
        """Whether somebody has to decide what becomes of the file."""
        return self.state in (FAILED, REFUSED_STATE) and not self.dismissed

    def is_in(self, state: str) -> bool:
        """Return True if the file has a state, or needs attention if that is asked for."""
        return self.needs_attention if state == ATTENTION else self.state == state


def _days(file: LibraryFile) -> tuple[int, ...]:
    return tuple(read_day_range(file.date) or ()) if file.date else ()


SORTS: Mapping[str, Callable[[LibraryFile], Any]] = {
    "uri": lambda file: file.uri,
    "title": lambda file: (file.title or file.uri.rpartition("/")[2]).casefold(),
    "state": lambda file: (not file.needs_attention, file.state),
    "author": lambda file: file.author.casefold(),
    "tags": lambda file: file.tags,
    "date": _days,
    "changed": lambda file: file.changed,
    "chunks": lambda file: file.chunks,
    "pages": lambda file: file.pages,
    "size": lambda file: file.size,
}
"""What a list can be sorted by."""


def sort_files(
    files: Sequence[LibraryFile], column: str, *, reverse: bool = False
) -> list[LibraryFile]:
    """Return files by one of `SORTS`; those without a value come last in both orders."""
    keyed = [(SORTS[column](file), file) for file in files]
    valued = sorted((k for k in keyed if k[0]), key=itemgetter(0), reverse=reverse)
    return [*(file for _, file in valued), *(file for key, file in keyed if not key)]


_read_lists: WeakKeyDictionary[KnowledgeBase, tuple[int, list[tuple[LedgerEntry, LibraryFile]]]] = (
    WeakKeyDictionary()
)
"""The documents of open indexes, as they were at a generation."""


def list_files(workspace: Workspace) -> list[LibraryFile]:
    """Return all files of a workspace, ordered by uri; for a part of it, those of its index."""
    known = _documents(workspace)
    if workspace.is_part:
        return [file for _, file in known]
    dismissed = workspace.attention.dismissed()
    waiting = {file.uri: file for file in _waiting(workspace, {e.uri: e for e, _ in known})}
    files = []
    for entry, file in known:
        if new := waiting.pop(file.uri, None):
            found = replace(file, state=WAITING, size=new.size, changed=new.changed, retry=False)
        elif dismissed.get(entry.uri) == version_of(entry):
            found = replace(file, dismissed=True)
        else:
            found = file
        files.append(found)
    files += waiting.values()
    refused = workspace.attention.refused()
    files += (LibraryFile(state=REFUSED_STATE, uploaded=True, **file) for file in refused)
    return sorted(files, key=attrgetter("uri"))


READING = Shape(
    "ReadingShape",
    None,
    "How many files can be asked about, of all, while a job reads files or waits to do so.",
    ready=int,
    total=int,
)
_READS_FILES = frozenset({"index", "reindex", "watch"})
"""Kinds of jobs."""


def files_being_read(server: Service, workspace: Workspace) -> Json | None:
    """Return how many files are ready, of how many; None if no job reads files.

    None, too, for a key that may read some documents only: it must not learn of others.
    """
    jobs = [
        job
        for job in server.records.open_jobs()
        if job.workspace == workspace.name and job.kind in _READS_FILES
    ]
    if not jobs or workspace.is_part:
        return None
    entries = {entry.uri: entry for entry in workspace.base.documents()}
    waiting = sum(file.uri not in entries for file in _waiting(workspace, entries))
    ready = sum(not entry.error for entry in entries.values())
    stated = max(int(job.progress.get("total", 0)) for job in jobs)
    return READING(ready=ready, total=max(ready + waiting, stated))


def with_pages(store: Store, files: Sequence[LibraryFile]) -> list[LibraryFile]:
    """Return files with the number of their pages, slides or sheets."""
    ids = IdSet.of(file.id for file in files if file.chunks)
    if not ids:
        return list(files)
    labels = require_fields(store).values(PAGE, ids)
    return [replace(file, pages=len(labels.get(file.id, ()))) for file in files]


def _documents(workspace: Workspace) -> list[tuple[LedgerEntry, LibraryFile]]:
    """Return the entries of an index as files, which are kept until it changes."""
    base, store = workspace.base, workspace.base.store
    with store.reading():
        generation = store.generation()
        held = _read_lists.get(base)
        if held is None or held[0] != generation:
            held = generation, list(_describe(store, workspace.uploads.absolute()))
            _read_lists[base] = held
    return held[1]


def _describe(store: Store, uploads: Path) -> Iterator[tuple[LedgerEntry, LibraryFile]]:
    fields = require_fields(store)
    titles, authors, dates, tags = map(fields.values, (TITLE, "author", DATE, "tags"))
    for entry in listed_entries(store):
        of = entry.document_id
        changed = datetime.fromtimestamp(max(entry.modified_ns, 0) / 10**9, UTC)
        yield (
            entry,
            LibraryFile(
                entry.uri,
                FAILED if entry.error else READY,
                Document(entry.uri, "").id,
                title=next(iter(titles.get(of, ())), ""),
                author=", ".join(whole_values(authors.get(of, ()))),
                date=next(iter(dates.get(of, ())), ""),
                tags=list_items(tags.get(of, ())),
                chunks=entry.chunks,
                size=max(entry.size, 0),
                changed=changed.isoformat(timespec="seconds") if entry.modified_ns > 0 else "",
                uploaded=bool(entry.root) and Path(entry_path(entry)).is_relative_to(uploads),
                retry=bool(entry.error) and entry.error_reason not in LASTING_REASONS,
                error_reason=entry.error_reason,
                error=entry.error,
            ),
        )


def _waiting(workspace: Workspace, known: Mapping[str, LedgerEntry]) -> Iterator[LibraryFile]:
    """Yield the uploads that were not read yet, or not as they are now."""
    archives: set[str] | None = None
    for uri, status in _walk(str(workspace.uploads), UPLOADS):
        entry = known.get(uri)
        found = status.st_size, status.st_mtime_ns
        if entry is None and archives is None:
            archives = {str(parent) for known_uri in known for parent in Path(known_uri).parents}
        is_read = found == (entry.size, entry.modified_ns) if entry else uri in (archives or ())
        if not is_read:
            changed = datetime.fromtimestamp(status.st_mtime, UTC).isoformat(timespec="seconds")
            yield LibraryFile(
                uri,
                WAITING,
                Document(uri, "").id,
                size=status.st_size,
                changed=changed,
                uploaded=True,
            )


def _walk(folder: str, uri: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the uris of the files in a folder, at any depth, without those that go meanwhile."""
    try:
        with os.scandir(folder) as found:
            entries = list(found)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, f"{uri}/{entry.name}")
            continue
        with suppress(OSError):
            yield f"{uri}/{entry.name}", entry.stat(follow_symlinks=False)
