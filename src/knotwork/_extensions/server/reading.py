"""Say how many files of a workspace are ready while others are still being read."""

from __future__ import annotations

from pathlib import Path

from knotwork._extensions.server.server import Service
from knotwork._extensions.server.workspaces import ReadableWorkspace, Workspace
from knotwork._indexing.archives import enclosing_archive
from knotwork._indexing.changes import entry_path
from knotwork._shapes.base import Json, Shape

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
    if not jobs or isinstance(workspace, ReadableWorkspace):
        return None
    entries = workspace.base.documents()
    known = {Path(entry_path(entry)) for entry in entries}
    known |= {archive for path in known if (archive := enclosing_archive(path)) is not None}
    uploads = workspace.uploads.absolute()
    waiting = sum(1 for path in uploads.rglob("*") if path.is_file() and path not in known)
    ready = sum(not entry.error for entry in entries)
    stated = max(int(job.progress.get("total", 0)) for job in jobs)
    return READING(ready=ready, total=max(ready + waiting, stated))
