"""Find the original files of documents, and draw their pages in worker processes.

Only files are read that are where they were indexed, and as they were then: positions in the text
would not fit others. An original that is not there raises NotFound with the reason.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from knotwork._extensions.server.workspaces import UPLOADS, Workspace
from knotwork._indexing.archives import ArchivedFile, ArchiveLimits, enclosing_archive
from knotwork._indexing.changes import entry_path
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork._indexing.loaders.loader_registry import MAX_FILE_MB
from knotwork._indexing.sources import discover, is_url, place_of, stays_inside
from knotwork._indexing.workers import (
    PROCESS_FAILURES,
    ReadingLimits,
    WorkerPool,
    WorkersUnavailable,
)
from knotwork._registry import PARTS
from knotwork._stores.base import LedgerEntry
from knotwork.errors import LoadError, NotFound, Overloaded
from knotwork.records import Document


@dataclass(frozen=True, slots=True)
class Original:
    """The file of a document. ``version`` changes with its bytes."""

    uri: str
    media_type: str
    path: Path | ArchivedFile
    version: str

    @property
    def kind(self) -> str:
        """What can be shown of it; see `find_kind`."""
        return _kind_of(self.media_type)

    def read_archived(self) -> bytes:
        """Return its bytes if it is in an archive. Raises LoadError."""
        assert isinstance(self.path, ArchivedFile)
        return self.path.read(uri=self.uri, max_file_mb=MAX_FILE_MB)


def find_kind(workspace: Workspace, document: Document) -> str:
    """Return "pages", "audio" or "video" if the original of a document can be shown as such, "file"
    if it can only be read, and "" if it is not there.

    An archive is not opened to see whether it has changed.
    """
    with suppress(NotFound):
        if _locate(workspace, document).archive is None:
            find_original(workspace, document)
        return _kind_of(document.media_type)
    return ""


def find_original(workspace: Workspace, document: Document) -> Original:
    """Return the file that a document was read from. Raises NotFound with the reason."""
    entry, path, _ = _locate(workspace, document)
    limits = ArchiveLimits.of(workspace.base.settings.index)
    source = next((s for s in discover([path], archives=limits) if place_of(s) == path), None)
    if source is None or not isinstance(source.path, Path | ArchivedFile):
        raise _gone(document)
    if isinstance(source.path, ArchivedFile):
        is_same = (source.version, source.size) == (entry.digest, entry.size)
    else:
        is_same = (source.size, source.modified_ns) == (entry.size, entry.modified_ns) or (
            bool(entry.digest) and source.hash_bytes() == entry.digest
        )
    if not is_same:
        raise NotFound(f"`{document.uri}` has changed since it was indexed.", fix="Index it again.")
    version = source.version or f"{source.size:x}-{source.modified_ns:x}-{source.changed_ns:x}"
    return Original(document.uri, document.media_type, source.path, version)


class _Place(NamedTuple):
    entry: LedgerEntry
    path: Path
    archive: Path | None


def _locate(workspace: Workspace, document: Document) -> _Place:
    """Return where the file of a document should be. Raises NotFound if no file is there, or a link
    leads out of the folder that was indexed.
    """
    entry = workspace.base.store.ledger.get([document.uri]).get(document.uri)
    if entry is None or not entry.root:
        raise NotFound(f"`{document.uri}` was not read from a file.")
    if is_url(entry.root):
        raise NotFound(f"`{document.uri}` is not on this server.", fix="Open it where it is.")
    path, root = Path(entry_path(entry)), Path(entry.root)
    head, _, tail = entry.uri.partition("/")
    if head == UPLOADS and tail and not root.exists():  # the folder of workspaces was moved
        path, root = workspace.uploads.joinpath(*tail.split("/")), workspace.uploads
    archive = None if path.is_file() else enclosing_archive(path)
    file = archive or path
    if not file.is_file() or not stays_inside(file, root):
        raise _gone(document)
    return _Place(entry, path, archive)


def _gone(document: Document) -> NotFound:
    return NotFound(
        f"The file of `{document.uri}` is no longer there.",
        fix="Put it back, or upload it again.",
    )


def _kind_of(media_type: str) -> str:
    main = media_type.partition("/")[0]
    if media_type == "application/pdf" or main == "image":
        return "pages"
    return main if main in ("audio", "video") else "file"


_SECONDS = 8.0
"""Processor time for one page, in seconds; usual pages take 0.1."""
_MEMORY_MB = 1_000.0
_MOST_WAITING = 64
_CACHE_BYTES = 64 * MEGABYTE
_SMALL_BYTES = 4_000
"""What a result is counted as that is no picture."""


class PageDrawer:
    """Runs tasks of `page_images` in worker processes, and keeps their last results.

    Use it in the event loop of the server.
    """

    def __init__(self) -> None:
        self._pool: WorkerPool | None = None  # started by the first page
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._bytes = 0
        self._running: dict[Hashable, asyncio.Task[Any]] = {}

    async def ask(
        self,
        original: Original,
        name: str,
        *arguments: Hashable,
    ) -> Any:  # noqa: ANN401 - what the function returns
        """Return what a function of `page_images` returns for a file and further arguments.

        Raises what it raises, LoadError if it exceeds its limits, and Overloaded.
        """
        key = (original, name, arguments)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        task = self._running.get(key)
        if task is None:
            if len(self._running) >= _MOST_WAITING:
                raise Overloaded("Too many pages are being drawn.", fix="Try again.")
            task = asyncio.create_task(self._run(key, original, name, arguments))
            self._running[key] = task
            task.add_done_callback(partial(self._end, key))
        return await asyncio.shield(task)

    def close(self) -> None:
        """End the worker processes."""
        if self._pool is not None:
            self._pool.close()

    async def _run(
        self, key: Hashable, original: Original, name: str, arguments: tuple[Hashable, ...]
    ) -> Any:  # noqa: ANN401
        images = PARTS.load("page_images")
        if self._pool is None:
            limits = ReadingLimits(_MEMORY_MB, _SECONDS)
            self._pool = WorkerPool(images.prepare, None, workers=2, limits=limits)
        path = original.path
        file = path if isinstance(path, Path) else await asyncio.to_thread(original.read_archived)
        task = images.Task(getattr(images, name), original.uri, file, arguments)
        future = self._pool.submit(images.run, task, uri="page", size=0)
        try:
            result = await asyncio.wrap_future(future)
        except WorkersUnavailable as error:
            raise Overloaded("No process can be started to draw pages.") from error
        except LoadError as error:
            if error.reason in PROCESS_FAILURES:
                raise LoadError(
                    error.reason,
                    f"A page of `{original.uri}` takes too much time or memory to draw.",
                    fix="Read its text, or download the original.",
                ) from error
            raise
        size = len(result) if isinstance(result, bytes) else _SMALL_BYTES
        self._kept[key] = result, size
        self._bytes += size
        while self._bytes > _CACHE_BYTES:
            self._bytes -= self._kept.popitem(last=False)[1][1]
        return result

    def _end(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # whoever asked may have gone
