"""Remember beside an index which files were begun, so that none is begun forever.

A file that makes the whole program die (out of memory, killed by an impatient person) would be the
first to be read again after each restart. A file on which a run waits for long is noted until its
outcome is committed, or a part of it that need not be repeated; what a run finds noted was in
progress when an earlier one was killed. Such a file is begun again twice, the second time alone
after all others, and then fails until it changes. Files that wait for others, in a queue or for a
commit, are not noted: a kill at a random time blames none of them, on a slow machine either.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

from knotwork._indexing.prepare import SourceFile
from knotwork._stores.urls import index_file
from knotwork.errors import LoadError

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

    The record is a file beside the index, of one line for each event. It survives the death of this
    process, not that of the machine. An index that is not a file has none.
    """

    def __init__(self, store_url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        path = index_file(store_url)
        self._clock = clock
        self._path: Path | None = path.with_name(path.name + SUFFIX) if path else None
        self._earlier: Counter[_Version] = Counter()
        self._begun: dict[str, _Version] = {}
        """Files in progress that are not noted."""
        self._noted: set[str] = set()
        self._waited_for: tuple[str, float] = "", 0.0
        """The file on which the run waits, and since when."""
        if self._path is not None:
            self._read(self._path)

    def count(self, source: SourceFile) -> int:
        """Return how often a file as it is now was begun in runs that were killed."""
        return self._earlier[_version(source)]

    def begin(self, source: SourceFile) -> None:
        """Remember that a file is begun."""
        self._begun[source.uri] = _version(source)

    def wait_for(self, uri: str) -> None:
        """Note the file on which the run waits, once that takes long; call this now and then."""
        now = self._clock()
        if uri != self._waited_for[0]:
            self._waited_for = uri, now
        if now - self._waited_for[1] >= NOTED_AFTER_S and uri in self._begun:
            self._noted.add(uri)
            self._append({"begun": self._begun.pop(uri)})

    def keep_part(self, source: SourceFile) -> None:
        """Forget earlier attempts at a file of which a part is kept: repeating them ends."""
        self.end([source.uri])
        self.begin(source)
        self._waited_for = source.uri, self._clock()

    def end(self, uris: Iterable[str]) -> None:
        """Forget files whose outcome is committed."""
        ended = [uri for uri in uris if self._forget(uri)]
        if ended:
            self._append({"ended": ended})

    def close(self) -> None:
        """Forget what this run began: it ends in order, so that no file is to blame."""
        self._begun.clear()
        self._noted.clear()
        if self._path is None or not self._path.exists():
            return
        if not +self._earlier:
            self._path.unlink(missing_ok=True)
            return
        rest = self._path.with_name(self._path.name + "~")
        lines = (_line({"begun": version}) for version in self._earlier.elements())
        rest.write_text("".join(lines), "utf-8")
        rest.replace(self._path)

    def _forget(self, uri: str) -> bool:
        known = [version for version in self._earlier if version[0] == uri]
        for version in known:
            del self._earlier[version]
        self._begun.pop(uri, None)
        was_noted = uri in self._noted
        self._noted.discard(uri)
        return was_noted or bool(known)

    def _read(self, path: Path) -> None:
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return
        for line in lines:
            try:
                event: dict[str, Any] = json.loads(line)
                if "begun" in event:
                    uri, size, modified_ns = event["begun"]
                    self._earlier[uri, size, modified_ns] += 1
                for uri in event.get("ended", ()):
                    self._forget(uri)
            except (ValueError, TypeError, AttributeError):
                continue  # the last line of a process that was killed while it wrote

    def _append(self, event: dict[str, object]) -> None:
        if self._path is None:
            return
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, _line(event).encode())
            finally:
                os.close(file)
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


def _version(source: SourceFile) -> _Version:
    return source.uri, source.size, source.modified_ns


def _line(event: dict[str, object]) -> str:
    return json.dumps(event, ensure_ascii=True) + "\n"
