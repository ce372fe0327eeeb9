"""Read files in archives, as sources of documents named ARCHIVE/NAME.

A compressed TAR file, and an archive in an archive, is unpacked once for each run into the folder
of what the run keeps, so that its files are read by their positions.
"""

from __future__ import annotations

import io
import secrets
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO

from knotwork._indexing.archives import (
    BROKEN,
    COMPRESSIONS,
    ArchiveLimits,
    ArchiveMember,
    Step,
    list_archive,
    unpacked,
)
from knotwork._indexing.loaders.loader import MEGABYTE
from knotwork._indexing.loaders.loader_registry import too_large_error
from knotwork.errors import LoadError
from knotwork.records import content_id


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file in the archive at ``archive``, as `list_archive` found it.

    ``stamp`` has the size and the time of the archive when it was listed. ``kept_in`` is the folder
    for what is unpacked on the way; without one it is unpacked again for each file.
    """

    archive: Path
    stamp: tuple[int, int]
    member: ArchiveMember
    kept_in: str = ""

    @property
    def is_listed(self) -> bool:
        """False for the archive itself, if it cannot be listed."""
        return bool(self.member.parts)

    @property
    def place(self) -> Path:
        """The path that the file would have if the archive were a folder."""
        return self.archive.joinpath(*self.member.parts)

    def read(self, *, uri: str, max_file_mb: float) -> bytes:
        """Return the bytes of the file. Raises LoadError, as `load_file` does."""
        if self.member.refusal is not None:
            raise self.member.refusal
        if self.member.size > max_file_mb * MEGABYTE:
            raise too_large_error(uri, self.member.size, max_file_mb)
        try:
            if _stamp(self.archive) != self.stamp:
                raise LoadError(
                    "unreadable",
                    f"The archive of `{uri}` changed while it was read.",
                    fix="Index it again.",
                )
            return self._read()
        except BROKEN as error:
            raise LoadError(
                "broken",
                f"`{uri}` is damaged in its archive: {error}.",
                fix="Make the archive again.",
            ) from error
        except OSError as error:
            raise LoadError(
                "unreadable",
                f"`{uri}` cannot be read: {error.strerror or error}.",
                fix="Check the permissions of the archive, and the space for temporary files.",
            ) from error

    def _read(self) -> bytes:
        held: Path | bytes = self.archive
        last = len(self.member.steps) - 1
        for depth, step in enumerate(self.member.steps):
            if step.kind in COMPRESSIONS:
                held = self._keep(depth, "unpacked", partial(_unpack, held, step.kind))
            if depth < last:
                held = self._keep(depth, "archive", partial(_read_parts, held, step))
        return b"".join(_read_parts(held, self.member.steps[last]))

    def _keep(self, depth: int, what: str, parts: Callable[[], Iterable[bytes]]) -> Path | bytes:
        """Return what is unpacked on the way to the file: kept for the run, or made again."""
        if not self.kept_in:
            return b"".join(parts())
        steps = self.member.steps[: depth + (what == "archive")]
        name = content_id(what, str(self.archive), *self.stamp, repr(steps))
        path = Path(self.kept_in, name)
        if not path.exists():
            path.parent.mkdir(mode=0o700, exist_ok=True)
            # Other workers may unpack it too, and none may see a part of it.
            part = path.with_name(f"{name}.{secrets.token_hex(4)}")
            with part.open("wb") as stream:
                stream.writelines(parts())
            part.replace(path)
        return path


@contextmanager
def _opened(held: Path | bytes) -> Iterator[BinaryIO]:
    with io.BytesIO(held) if isinstance(held, bytes) else held.open("rb") as stream:
        yield stream


def _unpack(held: Path | bytes, kind: str) -> Iterator[bytes]:
    with _opened(held) as stream:
        yield from unpacked(kind, stream)


def _read_parts(held: Path | bytes, step: Step) -> Iterator[bytes]:
    """Yield the bytes of a file in a ZIP file or an unpacked TAR file."""
    if step.kind == "zip":
        archive = _open_zip(held)
        yield archive.read(archive.infolist()[step.position])
        return
    with _opened(held) as stream:
        stream.seek(step.position)
        left = step.size
        while left > 0 and (part := stream.read(min(left, MEGABYTE))):
            left -= len(part)
            yield part


def _open_zip(held: Path | bytes) -> zipfile.ZipFile:
    if isinstance(held, bytes):
        return zipfile.ZipFile(io.BytesIO(held))
    return _opened_zip(held, _stamp(held))


@lru_cache(maxsize=1)
def _opened_zip(path: Path, _stamp: tuple[int, int]) -> zipfile.ZipFile:
    """Return a ZIP file that stays open: reading its directory for each file takes long."""
    return zipfile.ZipFile(path)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def archived_files(path: Path, uri: str, limits: ArchiveLimits) -> list[ArchivedFile] | None:
    """Return the files in an archive, ordered by name; None if it is a document in a ZIP file.

    Raises LoadError as `list_archive`, and OSError if the archive cannot be opened.
    """
    stamp = _stamp(path)
    members = list_archive(path, uri, limits)
    return None if members is None else [ArchivedFile(path, stamp, m) for m in members]


def refused_archive(path: Path, error: LoadError) -> ArchivedFile:
    """Return an archive that cannot be listed, as a file whose reading raises the reason."""
    return ArchivedFile(path, (0, 0), ArchiveMember((), (), "", error))
