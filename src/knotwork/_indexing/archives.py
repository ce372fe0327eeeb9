"""Recognise archives and the files in them: an archive is indexed as a folder.

A mailbox (.mbox) is an archive of its messages. A file in an archive is the source of a document
named ARCHIVE/NAME. The parts `list_archive` and `read_archived` open archives.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from knotwork._config import IndexSettings
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork._indexing.loaders.loader_registry import find_plugin_loader, too_large_error
from knotwork._registry import PARTS
from knotwork.errors import LoadError

_SUFFIXES = {
    ".zip": "zip",
    ".tar": "tar",
    ".tar.gz": "gz",
    ".tgz": "gz",
    ".tar.bz2": "bz2",
    ".tbz2": "bz2",
    ".tbz": "bz2",
    ".tar.xz": "xz",
    ".txz": "xz",
    ".mbox": "mbox",
}


def archive_kind(name: str) -> str:
    """Return "zip", "tar", "mbox" or the compression of a TAR file by the name, "" for others.

    A name that a plugin reads is a document.
    """
    lowered = name.lower()
    kind = next((_SUFFIXES[suffix] for suffix in _SUFFIXES if lowered.endswith(suffix)), "")
    if kind and find_plugin_loader("." + lowered.rpartition(".")[2], b"") is not None:
        return ""
    return kind


def enclosing_archive(path: Path) -> Path | None:
    """Return the outermost archive that is a file above a path, None without one."""
    above = [p for p in reversed(path.parents) if archive_kind(p.name)]
    return next((p for p in above if p.is_file()), None)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What an archive may contain: all files unpacked, their number, and the largest one.

    They hold for an archive with all archives in it. In addition, the files may be `MAX_RATIO`
    times as large as the archive, or `FREE_BYTES` large.
    """

    max_mb: float = 1_000.0
    max_files: int = 10_000
    max_file_mb: float = 100.0

    @classmethod
    def of(cls, settings: IndexSettings) -> ArchiveLimits:
        return cls(settings.max_archive_mb, settings.max_archive_files, settings.max_file_mb)


class Step(NamedTuple):
    """Where a file is in an archive of a ``kind``: its position in the directory of a ZIP file, or
    its offset in an unpacked TAR file; and its size in bytes.
    """

    kind: str
    position: int
    size: int


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file in the archive at ``archive``, by the ``parts`` of its name.

    ``stamp`` has the size and the time of the archive when it was listed. ``steps`` lead to the
    file, through the archives in the archive. ``version`` changes with its bytes. Reading it raises
    ``refusal``, if there is one. ``kept_in`` is the folder for what is unpacked on the way.
    """

    archive: Path
    stamp: tuple[int, int]
    parts: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    version: str = ""
    refusal: LoadError | None = None
    kept_in: str = ""

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.steps[-1].size

    @property
    def is_listed(self) -> bool:
        """False for the archive itself, if it cannot be listed."""
        return bool(self.parts)

    @property
    def place(self) -> Path:
        """The path that the file would have if the archive were a folder."""
        return self.archive.joinpath(*self.parts)

    def read(self, *, uri: str, max_file_mb: float) -> bytes:
        """Return the bytes of the file. Raises LoadError, as `load_file` does."""
        if self.refusal is not None:
            raise self.refusal
        if self.size > max_file_mb * MEGABYTE:
            raise too_large_error(uri, self.size, max_file_mb)
        data: bytes = PARTS.load("read_archived")(self, uri)
        return data


def write_once(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file for this process and others that may write it too: none sees a part of it."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    with part.open("wb") as stream:
        stream.writelines(parts)
    part.replace(path)


def as_text(name: str) -> str:
    """Return the name of a file that can be stored; bytes that are not UTF-8 are replaced.

    Python stands for such bytes by lone surrogates.
    """
    try:
        data = name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = name.encode("utf-8", "replace")
    return data.decode("utf-8", "replace")
