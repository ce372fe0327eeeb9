"""The folders of the server that a workspace follows.

`serve --watch` fixes some. Others people choose by name from those that `serve --allow` names, and
only from these. What they chose is a file in the folder of the workspace, so that it lasts over
restarts; a folder that is not allowed any more is neither followed nor read again.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from knotwork._extensions.server.private_files import PrivateJson
from knotwork._extensions.watching.watch import watched_paths
from knotwork._indexing.sources import is_inside, is_url
from knotwork.errors import UnknownName

Problem = Literal["", "missing", "unreadable", "not_allowed"]


@dataclass(frozen=True, slots=True)
class ServerFolder:
    """A folder of the server that a workspace follows or may follow.

    ``fixed``: the administrator decided that it is followed. ``problem`` is why it cannot be read.
    """

    name: str
    followed: bool
    fixed: bool = False
    problem: Problem = ""


class Folders:
    """The folders of the server that a workspace follows, and those that it may. Thread-safe."""

    def __init__(
        self, file: Path, allowed: Mapping[str, str] | None = None, fixed: Sequence[str] = ()
    ) -> None:
        self._file = PrivateJson(file)
        self._allowed = allowed or {}
        self._fixed = watched_paths(fixed)
        self._lock = threading.Lock()

    def listed(self) -> list[ServerFolder]:
        """Return the fixed folders, then those that were chosen or may be, by name."""
        chosen = self._chosen()
        fixed = [
            ServerFolder(Path(path).name, followed=True, fixed=True, problem=_problem_of(path))
            for path in self._fixed
        ]
        names = sorted({*chosen, *self._allowed})
        return fixed + [
            ServerFolder(
                name,
                name in chosen,
                problem=_problem_of(self._allowed[name])
                if name in self._allowed
                else "not_allowed",
            )
            for name in names
        ]

    def followed(self) -> list[str]:
        """Return the paths and URLs that the workspace follows now."""
        chosen = (self._allowed[name] for name in self._chosen() if name in self._allowed)
        return list(dict.fromkeys([*self._fixed, *chosen]))

    def may_read(self, path: str) -> bool:
        """Return False for a path in a folder that was chosen and is no longer allowed."""
        chosen = self._chosen()
        left = [old for name, old in chosen.items() if name not in self._allowed]
        return not any(is_inside(path, old) for old in left) or any(
            is_inside(path, kept) for kept in self.followed()
        )

    def add(self, name: str) -> str:
        """Follow an allowed folder, and return its path. Raises UnknownName for any other name."""
        if name not in self._allowed:
            raise UnknownName(
                "folder", name, self._allowed, fix="Allow it with: knotwork serve --allow FOLDER"
            )
        with self._lock:
            self._file.write({**self._chosen(), name: self._allowed[name]})
        return self._allowed[name]

    def remove(self, name: str) -> str:
        """Stop following a folder that was chosen, and return its path. Raises UnknownName."""
        with self._lock:
            chosen = self._chosen()
            if name not in chosen:
                raise UnknownName("folder", name, chosen)
            path = self._allowed.get(name, chosen[name])
            self._file.write({other: chosen[other] for other in chosen if other != name})
        return path

    def _chosen(self) -> dict[str, str]:
        """Return the paths of the folders that people chose, by name."""
        return {str(name): str(path) for name, path in self._file.read().items()}


def _problem_of(path: str) -> Problem:
    """Return why a folder cannot be read now, "" if it can."""
    if is_url(path):
        return ""
    with suppress(OSError):
        if not os.path.isdir(path):  # noqa: PTH112 - paths are text here
            return "missing"
        with os.scandir(path):
            return ""
    return "unreadable"
