"""Workspaces: named knowledge bases, opened on demand and closed when idle."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from knotwork import knowledge_base
from knotwork.agents.fact_memory import MEMORY_SUFFIX
from knotwork.config import Settings
from knotwork.errors import Conflict, InvalidRequest, NotFound
from knotwork.knowledge_base import KnowledgeBase
from knotwork.service.graph_map import MAP_SUFFIX, MapCache
from knotwork.service.keys import WORKSPACE_NAME_RULE, is_workspace_name
from knotwork.stores.table_file import TABLES_SUFFIX

DEFAULT_WORKSPACE = "default"
"""The name of the one workspace of a server of one index."""

INDEX_SUFFIX = ".knot"
FILES_SUFFIX = ".files"
UPLOADS = "uploads"
EVALUATIONS = "evaluations"
GRAPHS = "graphs"
INCOMPLETE_PREFIX = "incoming-"
"""What the names of uploads and evaluations begin with that are not whole yet."""

_COMPANIONS = (
    *("", "-wal", "-shm", ".calls", ".calls-wal", ".calls-shm"),
    *(MAP_SUFFIX, TABLES_SUFFIX, MEMORY_SUFFIX),
)


class Workspace:
    """One index with the files that were uploaded to it."""

    def __init__(self, name: str, path: Path, opener: _Opener) -> None:
        self.name = name
        self.path = path
        self.files = path.with_name(path.stem + FILES_SUFFIX)
        self.writing = threading.Lock()
        """Held by whoever changes the index or the uploaded files."""
        self.map = MapCache(path.with_name(path.name + MAP_SUFFIX), writes=not opener.read_only)
        """Where the graph of the index is laid out."""
        self._opener = opener
        self._opened: KnowledgeBase | None = None
        self._lock = threading.Lock()
        self.leases = 0
        """How many use it now; it is opened by those alone."""
        self.used = 0
        """When it was used last, as a number that ascends."""

    @property
    def uploads(self) -> Path:
        """The folder of the uploaded files, as it is or would be."""
        return self.files / UPLOADS

    @property
    def graphs(self) -> Path:
        """The folder of graphs that wait to be imported."""
        return self.files / GRAPHS

    @property
    def base(self) -> KnowledgeBase:
        """The knowledge base, opened on first use; raises as `knotwork.open`."""
        with self._lock:
            if self._opened is None:
                self._opened = self._opener.open(self.path)
            return self._opened

    @property
    def is_open(self) -> bool:
        """Whether the index was opened."""
        return self._opened is not None

    def take(self) -> KnowledgeBase | None:
        """Return the index for closing, if it was opened; the next use opens it anew."""
        with self._lock:
            opened, self._opened = self._opened, None
        self.map.forget()
        return opened

    def close(self) -> None:
        """Close the index, if it was opened."""
        opened = self.take()
        if opened is not None:
            opened.close()

    def remove_files(self) -> None:
        """Remove the index and all that belongs to it; it must be closed."""
        for ending in _COMPANIONS[::-1]:
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)
        if self.files.is_dir():
            shutil.rmtree(self.files)


class Workspaces:
    """All workspaces of a server: the index files of a folder, or one index. For many threads."""

    def __init__(self, path: Path, settings: Settings, *, read_only: bool = False) -> None:
        self.path = path
        self.is_folder = path.is_dir()
        self.read_only = read_only
        self._most_open = settings.service.open_indexes
        self._opener = _Opener(settings, read_only=read_only, make_room=self._make_room)
        self._known: dict[str, Workspace] = {}
        self._leaving: set[str] = set()
        self._uses = 0
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Return the names of all workspaces, ascending."""
        if not self.is_folder:
            return [DEFAULT_WORKSPACE]
        found = (file.stem for file in self.path.glob(f"*{INDEX_SUFFIX}") if file.is_file())
        with self._lock:
            return sorted(
                name for name in found if is_workspace_name(name) and name not in self._leaving
            )

    @contextmanager
    def lease(self, name: str) -> Iterator[Workspace]:
        """Keep a workspace from being removed or closed. Raises NotFound."""
        with self._lock:
            workspace = self._find(name)
            self._enter(workspace)
        try:
            yield workspace
        finally:
            self._leave(workspace)

    def hold(self, workspace: Workspace) -> Callable[[], None]:
        """Keep a workspace that is leased for longer than the lease; return what lets it go."""
        with self._lock:
            self._enter(workspace)
        return partial(self._leave, workspace)

    def create(self, name: str) -> Workspace:
        """Make an empty workspace. Raises InvalidRequest for what is no name, Conflict where there
        is one already, or where a server of one index has no room for others.
        """
        self._check_change("made")
        if not is_workspace_name(name):
            raise InvalidRequest(f"`{name}` is no name for a workspace.", fix=WORKSPACE_NAME_RULE)
        with self._lock:
            path = self.path / f"{name}{INDEX_SUFFIX}"
            if path.exists() or name in self._leaving:
                raise Conflict(
                    f"There is a workspace `{name}` already.", fix="Choose another name."
                )
            workspace = self._known[name] = Workspace(name, path, self._opener)
            self._enter(workspace)
        try:
            _ = workspace.base
        finally:
            self._leave(workspace)
        return workspace

    def remove(self, name: str) -> None:
        """Remove a workspace with all its files. Raises NotFound, Conflict while it is used."""
        self._check_change("removed")
        with self._lock:
            workspace = self._find(name)
            if workspace.leases or not workspace.writing.acquire(blocking=False):
                raise Conflict(
                    f"The workspace `{name}` is being used.",
                    fix="Cancel its jobs, and try again when its requests are done.",
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
        """Remove what uploads left that a kill broke off, and files of graphs but those of jobs
        that are ``waiting`` for them; no upload may be under way.
        """
        base = self.path if self.is_folder else self.path.parent
        for left in base.glob(f"*{FILES_SUFFIX}/{INCOMPLETE_PREFIX}*"):
            left.unlink(missing_ok=True)
        for folder in base.glob(f"*{FILES_SUFFIX}/{EVALUATIONS}/{INCOMPLETE_PREFIX}*/"):
            shutil.rmtree(folder)
        for folder in base.glob(f"*{FILES_SUFFIX}/{GRAPHS}/*/"):
            if folder.name not in waiting:
                shutil.rmtree(folder)

    def opened(self) -> int:
        """Return how many are open."""
        with self._lock:
            return sum(workspace.is_open for workspace in self._known.values())

    def close(self) -> None:
        """Close all indexes."""
        with self._lock:
            known, self._known = list(self._known.values()), {}
        for workspace in known:
            workspace.close()

    def _enter(self, workspace: Workspace) -> None:
        """Count one more who uses a workspace; called with the lock."""
        self._uses += 1
        workspace.used = self._uses
        workspace.leases += 1

    def _leave(self, workspace: Workspace) -> None:
        with self._lock:
            workspace.leases -= 1

    def _make_room(self) -> None:
        """Close indexes that nobody uses, those first that were not used for longest, until another
        one may be opened; those in use stay, however many they are.

        Whoever opens one has a lease on it, so that nobody can open what is closed here.
        """
        with self._lock:
            opened = [workspace for workspace in self._known.values() if workspace.is_open]
            idle = sorted(
                (workspace for workspace in opened if not workspace.leases),
                key=lambda workspace: workspace.used,
            )
            taken = [w.take() for w in idle[: max(0, len(opened) - self._most_open + 1)]]
        for index in taken:
            if index is not None:
                index.close()

    def _find(self, name: str) -> Workspace:
        if name in self._known and name not in self._leaving:
            return self._known[name]
        if self.is_folder:
            path = self.path / f"{name}{INDEX_SUFFIX}"
            exists = is_workspace_name(name) and name not in self._leaving and path.is_file()
        else:
            path, exists = self.path, name == DEFAULT_WORKSPACE
        if not exists:
            raise no_workspace(name)
        return self._known.setdefault(name, Workspace(name, path, self._opener))

    def _check_change(self, how: str) -> None:
        if self.read_only:
            raise Conflict("This server only reads.", fix="Start it without --read-only.")
        if not self.is_folder:
            raise Conflict(
                f"This server has one index, and workspaces cannot be {how}.",
                fix="Serve a folder: knotwork serve FOLDER",
            )


class _Opener:
    """Opens indexes. Those with the same local model share it, as all in a process do."""

    def __init__(
        self, settings: Settings, *, read_only: bool, make_room: Callable[[], None]
    ) -> None:
        self._make_room = make_room
        self._settings = settings
        self.read_only = read_only
        self._lock = threading.Lock()

    def open(self, path: Path) -> KnowledgeBase:
        with self._lock:
            self._make_room()
            return knowledge_base.open(path, settings=self._settings, read_only=self.read_only)


def no_workspace(name: str) -> NotFound:
    """Return the error of a workspace that is not there, or not for this key: the same for both."""
    return NotFound(
        f"There is no workspace `{name}`, or it is not for this key.",
        fix="List those there are: GET /api/v1/workspaces",
    )
