"""Workspaces: named knowledge bases, opened on demand and closed when idle.

A key with a filter sees a knowledge base of its own, with the documents that pass the filter.
"""

from __future__ import annotations

import re
import shutil
import threading
import unicodedata
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path

from knotwork._config import Settings
from knotwork._extensions.filters.filtered_store import FilteredStore
from knotwork._extensions.server.attention import Attention
from knotwork._extensions.server.folders import Folders
from knotwork._extensions.server.graph_map import MAP_SUFFIX, MapCache
from knotwork._extensions.server.keys import WORKSPACE_NAME_RULE, is_workspace_name
from knotwork._extensions.server.private_files import write_private
from knotwork._knowledge_base import KnowledgeBase
from knotwork._knowledge_base import open as open_index
from knotwork._retrieval.filters import read_filter
from knotwork._sqlite_file import MEMORY_SUFFIX, TABLES_SUFFIX
from knotwork._stores.base import require_fields
from knotwork._stores.fields import BUILT_IN_FIELDS, PAGE, Selection, field_name
from knotwork._stores.id_sets import IdSet
from knotwork.errors import Conflict, FilterError, InvalidRequest, NotFound
from knotwork.records import AllOf, AnyOf, Condition, Filter, Not, conditions


def read_rights(where: str) -> Filter:
    """Return the filter of a key. Raises FilterError, also if it is empty or of single pages."""
    wanted = read_filter(where)
    if wanted is None:
        raise FilterError("The filter of the key is empty.", fix="Write it as in: team = 'sales'")
    if any(field_name(condition.field) == PAGE for condition in conditions(wanted)):
        raise FilterError(
            "A key can be bound to documents, but not to pages of them.",
            fix="Leave out the field `page`.",
        )
    return wanted


def readable_part(base: KnowledgeBase, where: str) -> KnowledgeBase:
    """Return what the filter of a key leaves of an index now; it can only be read.

    A condition on a field that no document has is neither met nor not met, so that it admits no
    document by itself. Closing the part leaves the index open.
    """
    fields = require_fields(base.store)
    known = {*BUILT_IN_FIELDS, *(field.name for field in fields.fields())}
    decidable = _decidable(read_rights(where), known)
    nothing = Selection(IdSet(()), IdSet(()))
    selection = nothing if decidable is None else fields.select(decidable)
    return KnowledgeBase(FilteredStore(base.store, fields, selection, is_apart=True), base.settings)


def _decidable(wanted: Filter, known: Collection[str], *, negated: bool = False) -> Filter | None:
    """Return a filter without conditions on unknown fields; None if it can then admit nothing."""
    if isinstance(wanted, Condition):
        return wanted if field_name(wanted.field) in known else None
    if isinstance(wanted, Not):
        part = _decidable(wanted.part, known, negated=not negated)
        return None if part is None else Not(part)
    parts = [_decidable(part, known, negated=negated) for part in wanted.parts]
    kept = tuple(part for part in parts if part is not None)
    needs_all = isinstance(wanted, AllOf) is not negated
    if not kept or (needs_all and len(kept) < len(parts)):
        return None
    return AllOf(kept) if isinstance(wanted, AllOf) else AnyOf(kept)


DEFAULT_WORKSPACE = "default"
"""The name of the only workspace of a server of one index."""

INDEX_SUFFIX = ".knot"
FILES_SUFFIX = ".files"
UPLOADS = "uploads"
EVALUATIONS = "evaluations"
GRAPHS = "graphs"
TITLE_FILE = "title"
FOLDERS_FILE = "folders.json"
INCOMPLETE_PREFIX = "incoming-"
"""Prefix of files and folders that are not completely written yet."""

_COMPANIONS = (
    *("", "-wal", "-shm", ".calls", ".calls-wal", ".calls-shm", ".begun"),
    *(MAP_SUFFIX, TABLES_SUFFIX, MEMORY_SUFFIX, f"{MEMORY_SUFFIX}-journal"),
)

_MOST_PARTS = 64
"""Parts of an index that are kept for the filters of keys."""

_LEAVING_S = 2.0
"""How long a removal waits for requests to end: a closed page's stream takes a moment."""

_NAME_CHARACTERS = 48
"""Of a name that is made from a title; a number may follow."""


def _name_of(title: str) -> str:
    """Return a name for a workspace with this title: in lower case, with hyphens for the rest."""
    composed = unicodedata.normalize("NFC", title).lower()
    name = re.sub(r"[^\w.]+", "-", composed).strip("-._")[:_NAME_CHARACTERS].rstrip("-._")
    return name or "workspace"


def _shown_title(title: str) -> str:
    """Return a title in one line of visible characters. Raises InvalidRequest without any."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in title).split())
    if not shown:
        raise InvalidRequest("The title is empty.", fix="Send at least one letter or digit.")
    return shown


def _files_of(index: Path) -> Path:
    return index.with_name(index.stem + FILES_SUFFIX)


def _changed_at(index: Path) -> float:
    """Return the time of the last change of an index or of the folders of its threads."""
    wal = index.with_name(f"{index.name}-wal")
    times = []
    for path in (index, wal, *_files_of(index).glob("threads/*")):
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=0.0)


def _read_title(index: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return (_files_of(index) / TITLE_FILE).read_text(encoding="utf-8")
    return index.stem


class Workspace:
    """One index with its uploaded files."""

    def __init__(
        self,
        name: str,
        path: Path,
        open_base: Callable[[Path], KnowledgeBase],
        *,
        read_only: bool,
        folders: Folders | None = None,
    ) -> None:
        self.name = name
        self.path = path
        self.files = _files_of(path)
        self.folders = folders or Folders(self.files / FOLDERS_FILE)
        """The folders of the server that it follows."""

        self.writing = threading.Lock()
        """Held while the index or the uploaded files are changed."""
        self._map = MapCache(path.with_name(path.name + MAP_SUFFIX), writes=not read_only)
        self._open_base = open_base
        self._opened: KnowledgeBase | None = None
        self._parts: dict[str, _ReadablePart] = {}
        self._lock = threading.Lock()
        self._choosing = threading.Lock()
        self.leases = 0
        """The number of current users. The index is opened only under a lease."""
        self.used = 0
        """An increasing number that orders workspaces by last use."""

    is_part = False
    """Whether this is a part of a workspace, as the filter of a key leaves it."""

    @property
    def title(self) -> str:
        """What people call the workspace: any text, by default the name of its index file."""
        return _read_title(self.path)

    def rename(self, title: str) -> None:
        """Set the title. Raises InvalidRequest for one without a visible character."""
        shown = _shown_title(title)
        write_private(self.files / TITLE_FILE, shown.encode())

    @property
    def uploads(self) -> Path:
        """The folder of uploaded files; it may not exist yet."""
        return self.files / UPLOADS

    @cached_property
    def attention(self) -> Attention:
        """The refused uploads, and the failures that were dismissed."""
        return Attention(self.files)

    @property
    def graphs(self) -> Path:
        """The folder of uploaded graphs that are not imported yet."""
        return self.files / GRAPHS

    @property
    def base(self) -> KnowledgeBase:
        """The knowledge base, opened on first use; raises like `knotwork.open`."""
        with self._lock:
            if self._opened is None:
                self._opened = self._open_base(self.path)
            return self._opened

    @property
    def map(self) -> MapCache:
        """The layout of the graph."""
        return self._map

    def part(self, where: str) -> _ReadablePart:
        """Return what the filter of a key leaves of the index, kept until the index changes."""
        base = self.base
        with self._choosing:
            generation = base.store.generation()
            for other, known in list(self._parts.items()):
                if (known.of, known.generation) != (base, generation):
                    del self._parts[other]
            part = self._parts.pop(where, None)
            if part is None:
                part = _ReadablePart(base, generation, readable_part(base, where), MapCache(None))
                weakref.finalize(part, part.base.close).atexit = False
            self._parts[where] = part
            for oldest in list(self._parts)[:-_MOST_PARTS]:
                del self._parts[oldest]
            return part

    @property
    def is_open(self) -> bool:
        """Whether the index is open."""
        return self._opened is not None

    def take(self) -> KnowledgeBase | None:
        """Detach the open index for the caller to close, if any. The next use opens it again."""
        with self._lock:
            opened, self._opened = self._opened, None
        with self._choosing:
            self._parts.clear()
        self.map.forget()
        return opened

    def close(self) -> None:
        """Close the index if it is open."""
        opened = self.take()
        if opened is not None:
            opened.close()

    def remove_files(self) -> None:
        """Delete the index and all files that belong to it. The index must be closed."""
        for ending in _COMPANIONS[::-1]:
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        if self.files.is_dir():
            shutil.rmtree(self.files)


@dataclass(frozen=True, eq=False)
class _ReadablePart:
    """What the filter of a key leaves of an index in one generation; closed with its last user."""

    of: KnowledgeBase
    generation: int
    base: KnowledgeBase
    map: MapCache


class ReadableWorkspace(Workspace):
    """A workspace with the documents that pass the filter of a key, for one request."""

    is_part = True

    def __init__(self, whole: Workspace, where: str) -> None:
        super().__init__(whole.name, whole.path, lambda _: whole.base, read_only=True)
        self._find = partial(whole.part, where)

    @cached_property
    def _part(self) -> _ReadablePart:
        return self._find()

    @property
    def base(self) -> KnowledgeBase:
        """The knowledge base of these documents, which can only be read."""
        return self._part.base

    @property
    def map(self) -> MapCache:
        """The layout of their graph."""
        return self._part.map


class Workspaces:
    """The workspaces of a server: the index files of a folder, or one index. Thread-safe.

    ``url`` is that of an index on a database server, whose uploads and maps are beside ``path``.
    ``allowed`` are the paths of folders by name that every workspace may follow, ``watched`` the
    paths that each follows.
    """

    def __init__(
        self,
        path: Path,
        settings: Settings,
        *,
        read_only: bool = False,
        url: str = "",
        allowed: Mapping[str, str] | None = None,
        watched: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.path = path
        self._allowed = allowed or {}
        self._watched = watched or {}
        self.is_folder = not url and path.is_dir()
        self.read_only = read_only
        self._settings = settings
        self._url = url
        self._opening = threading.Lock()
        self._known: dict[str, Workspace] = {}
        self._leaving: set[str] = set()
        self._uses = 0
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)

    def names(self) -> list[str]:
        """Return the names of all workspaces, sorted."""
        if not self.is_folder:
            return [DEFAULT_WORKSPACE]
        found = (file.stem for file in self.path.glob(f"*{INDEX_SUFFIX}") if file.is_file())
        with self._lock:
            return sorted(
                name for name in found if is_workspace_name(name) and name not in self._leaving
            )

    def changed_last(self) -> str:
        """Return the workspace that was changed last, or whose threads were; "" without any."""
        if not self.is_folder:
            return DEFAULT_WORKSPACE if self._url or self.path.is_file() else ""
        return max(self.names(), key=lambda name: _changed_at(self._place(name)), default="")

    def title(self, name: str) -> str:
        """Return the title of a workspace, whether or not it exists."""
        return _read_title(self._place(name))

    @contextmanager
    def lease(self, name: str) -> Iterator[Workspace]:
        """Protect a workspace from being removed or closed. Raises NotFound."""
        with self._lock:
            workspace = self._find(name)
            self._enter(workspace)
        try:
            yield workspace
        finally:
            self._leave(workspace)

    def hold(self, workspace: Workspace) -> Callable[[], None]:
        """Extend the lease of a leased workspace. Return a function that ends the extension."""
        with self._lock:
            self._enter(workspace)
        return partial(self._leave, workspace)

    def create(self, name: str = "", *, title: str = "") -> Workspace:
        """Create an empty workspace. Without a name, it gets one that is made from its title.

        Raises InvalidRequest for an invalid name or title, Conflict if the workspace exists or the
        server cannot create any.
        """
        self._check_change("created")
        if name and not is_workspace_name(name):
            raise InvalidRequest(f"Invalid workspace name `{name}`.", fix=WORKSPACE_NAME_RULE)
        title = _shown_title(title) if title or not name else ""
        with self._lock:
            name = name or self._free_name(title)
            if self._is_taken(name):
                raise Conflict(
                    f"The workspace `{name}` already exists.", fix="Choose another name."
                )
            workspace = self._known[name] = self._workspace(name, self._place(name))
            self._enter(workspace)
        try:
            if title:
                workspace.rename(title)
            _ = workspace.base
        finally:
            self._leave(workspace)
        return workspace

    def remove(self, name: str) -> None:
        """Delete a workspace with all its files. Raises NotFound, Conflict while it is in use."""
        self._check_change("removed")
        with self._left:
            self._left.wait_for(lambda: not self._find(name).leases, timeout=_LEAVING_S)
            workspace = self._find(name)
            if workspace.leases or not workspace.writing.acquire(blocking=False):
                raise Conflict(
                    f"The workspace `{name}` is in use.",
                    fix="Cancel its jobs, and try again when its requests have ended.",
                )
            self._leaving.add(name)
        try:
            workspace.close()
            workspace.remove_files()
        finally:
            workspace.writing.release()
            with self._lock:
                self._known.pop(name, None)
                self._leaving.discard(name)

    def discard_leftovers(self, *, waiting: Collection[str] = ()) -> None:
        """Delete incomplete uploads and evaluations, and uploaded graphs not in ``waiting``.

        Call it at startup only, before any upload.
        """
        base = self.path if self.is_folder else self.path.parent
        for left in base.glob(f"*{FILES_SUFFIX}/{INCOMPLETE_PREFIX}*"):
            if left.is_dir():
                shutil.rmtree(left)
            else:
                left.unlink(missing_ok=True)
        for folder in base.glob(f"*{FILES_SUFFIX}/{EVALUATIONS}/{INCOMPLETE_PREFIX}*/"):
            shutil.rmtree(folder)
        for folder in base.glob(f"*{FILES_SUFFIX}/{GRAPHS}/*/"):
            if folder.name not in waiting:
                shutil.rmtree(folder)

    def opened(self) -> int:
        """Return the number of open indexes."""
        with self._lock:
            return sum(workspace.is_open for workspace in self._known.values())

    def close(self) -> None:
        """Close all indexes."""
        with self._lock:
            known, self._known = list(self._known.values()), {}
        for workspace in known:
            workspace.close()

    def _place(self, name: str) -> Path:
        return self.path / f"{name}{INDEX_SUFFIX}" if self.is_folder else self.path

    def _is_taken(self, name: str) -> bool:
        return self._place(name).exists() or name in self._leaving

    def _free_name(self, title: str) -> str:
        """Return a name for a title that no workspace has. The caller holds the lock."""
        name = _name_of(title)
        numbered = (f"{name}-{number}" for number in count(2))
        return next(free for free in chain([name], numbered) if not self._is_taken(free))

    def _workspace(self, name: str, path: Path) -> Workspace:
        file = _files_of(path) / FOLDERS_FILE
        folders = Folders(file, self._allowed, self._watched.get(name, ()))
        return Workspace(name, path, self._open, read_only=self.read_only, folders=folders)

    def _open(self, path: Path) -> KnowledgeBase:
        """Open an index with the settings of the server, one at a time.

        Indexes with the same local model share it, like all knowledge bases of a process.
        """
        with self._opening:
            self._make_room()
            place = self._url or path
            return open_index(place, settings=self._settings, read_only=self.read_only)

    def _enter(self, workspace: Workspace) -> None:
        """Add a lease to a workspace. The caller holds the lock."""
        self._uses += 1
        workspace.used = self._uses
        workspace.leases += 1

    def _leave(self, workspace: Workspace) -> None:
        with self._lock:
            workspace.leases -= 1
            self._left.notify_all()

    def _make_room(self) -> None:
        """Close the least recently used idle indexes until another one may be opened.

        Leased indexes stay open, even above the limit. An index is opened only under a lease, so
        none is opened again while it is closed here.
        """
        most = self._settings.service.open_indexes
        with self._lock:
            opened = [workspace for workspace in self._known.values() if workspace.is_open]
            idle = sorted(
                (workspace for workspace in opened if not workspace.leases),
                key=lambda workspace: workspace.used,
            )
            taken = [w.take() for w in idle[: max(0, len(opened) - most + 1)]]
        for index in taken:
            if index is not None:
                index.close()

    def _find(self, name: str) -> Workspace:
        if name in self._known and name not in self._leaving:
            return self._known[name]
        path = self._place(name)
        if self.is_folder:
            exists = is_workspace_name(name) and name not in self._leaving and path.is_file()
        else:
            exists = name == DEFAULT_WORKSPACE
        if not exists:
            raise no_workspace(name)
        return self._known.setdefault(name, self._workspace(name, path))

    def _check_change(self, action: str) -> None:
        if self.read_only:
            raise Conflict("This server is read-only.", fix="Start it without --read-only.")
        if not self.is_folder:
            raise Conflict(
                f"This server serves a single index; workspaces cannot be {action}.",
                fix="Serve a folder: knotwork serve FOLDER",
            )


def no_workspace(name: str) -> NotFound:
    """Return the error for a workspace that does not exist or that the key may not see.

    It is the same for both, so that keys cannot probe for names.
    """
    return NotFound(
        f"Unknown workspace `{name}`, or the key has no access to it.",
        fix="List workspaces: GET /api/v1/workspaces",
    )
