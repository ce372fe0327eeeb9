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
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

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

    The record is a file beside the index with a line for each start. It survives the death of this
    process, not that of the machine. An index that is not a file has none.
    """

    def __init__(self, store_url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        path = index_file(store_url)
        self._clock = clock
        self._path: Path | None = path.with_name(path.name + SUFFIX) if path else None
        self._earlier = _read(self._path) if self._path else Counter[_Version]()
        self._begun: dict[str, _Version] = {}
        """Files in progress that are not noted."""
        self._noted: dict[str, _Version] = {}
        self._waited_for: tuple[str, float] = "", 0.0
        """The file on which the run waits, and since when."""

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


def _read(path: Path) -> Counter[_Version]:
    found = Counter[_Version]()
    with suppress(OSError, UnicodeDecodeError):
        for line in path.read_text("utf-8").splitlines():
            with suppress(ValueError, TypeError, KeyError):  # damaged by something else
                uri, size, modified_ns = json.loads(line)["begun"]
                found[uri, size, modified_ns] += 1
    return found


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
