"""Uploaded files: validate names and contents, and store them in the workspace."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from knotwork.errors import LoadError
from knotwork.indexing.loaders.archives import OLE_SIGNATURE, ZIP_SIGNATURE, check_archive
from knotwork.indexing.loaders.loader import MEGABYTE, Source, format_size
from knotwork.service.workspaces import INCOMPLETE_PREFIX, UPLOADS, Workspace

MOST_FOLDERS = 8
_MOST_NAME_BYTES = 200
_HEAD_BYTES = 65_536
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_OUTSIDE = re.compile(r'[<>:"|?*]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_SKIPPED = re.compile(
    r"node_modules|__pycache__|__macosx|\$recycle\.bin|thumbs\.db|desktop\.ini|pyvenv\.cfg|~\$.*"
    r"|.*\.knot(-wal|-shm|\.calls.*)?",
    re.IGNORECASE,
)
"""What a walk through the folder of uploads would pass by without a word."""

_PDF = b"%PDF-"
_ZIP_SUFFIXES = (".docx", ".pptx", ".xlsx", ".epub")
_ZIP_DOCUMENT_PARTS = frozenset(
    {
        "word/document.xml",
        "ppt/presentation.xml",
        "xl/workbook.xml",
        "META-INF/container.xml",
    }
)
_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True, slots=True)
class SpooledFile:
    """A file of an upload as it lies where the parser put it."""

    name: str
    stream: BinaryIO

    @property
    def size(self) -> int:
        """The number of bytes."""
        return self.stream.seek(0, os.SEEK_END)

    @property
    def digest(self) -> str:
        """The hash of name and content."""
        known = sha256(f"{len(self.name)} {self.name!r} ".encode())
        self.stream.seek(0)
        while part := self.stream.read(MEGABYTE):
            known.update(part)
        return known.hexdigest()


def parse_upload_name(name: str) -> PurePosixPath:
    """Return the place below the folder of uploads that a name means.

    Nothing is mended: a name that could lead elsewhere, mean a device or hide is refused. Raises
    LoadError with the reason "name".
    """
    parts = name.replace("\\", "/").split("/")
    if len(parts) > MOST_FOLDERS or not all(map(_is_safe_part, parts)):
        raise LoadError(
            "name",
            f"`{_CONTROL.sub('?', name)[:200]}` is no name for a file here.",
            fix="Send the name alone, or with the folders below the one you upload; no part may "
            'be empty, begin with a dot, end with one or with a space, or hold <>:"|?*.',
        )
    return PurePosixPath(*parts)


def _is_safe_part(part: str) -> bool:
    return (
        0 < len(part.encode("utf-8", "replace")) <= _MOST_NAME_BYTES
        and part == part.strip()
        and not part.startswith(".")
        and not part.endswith(".")
        and not _CONTROL.search(part)
        and not _OUTSIDE.search(part)
        and not _DEVICES.fullmatch(part)
        and not _SKIPPED.fullmatch(part)
    )


def check_content(file: SpooledFile, *, max_file_mb: float) -> None:
    """Raise LoadError for what cannot be a document, whatever it is called.

    Cheap: the loaders look closer when the file is indexed. Archives are judged by the sizes they
    declare, which bound what is ever read of them.
    """
    size = file.size
    if size > max_file_mb * MEGABYTE:
        raise LoadError(
            "too_large",
            f"`{file.name}` has {format_size(size)}; the limit is "
            f"{format_size(max_file_mb * MEGABYTE)}.",
            fix="Split it, or raise index.max_file_mb.",
        )
    file.stream.seek(0)
    head = file.stream.read(_HEAD_BYTES)
    suffix = PurePosixPath(file.name).suffix.lower()
    if not head.strip():
        raise LoadError("empty", f"`{file.name}` is empty.", fix="Leave it out.")
    if head.startswith((ZIP_SIGNATURE, OLE_SIGNATURE)):
        _check_zip(file, max_file_mb)
    elif suffix in _ZIP_SUFFIXES:
        raise _wrong_format(file.name, "no file of that format")
    elif _PDF in head[:1_024]:
        return
    elif suffix == ".pdf":
        raise _wrong_format(file.name, "no PDF")
    elif b"\x00" in head and not head.startswith(_WIDE_TEXT):
        raise LoadError(
            "binary",
            f"`{file.name}` is neither text nor of a known format.",
            fix="Convert it to text, PDF or an office format.",
        )


def _check_zip(file: SpooledFile, max_file_mb: float) -> None:
    import zipfile

    file.stream.seek(0)
    data = file.stream.read()
    check_archive(Source(file.name, data, max_bytes=int(max_file_mb * MEGABYTE)))
    file.stream.seek(0)
    with zipfile.ZipFile(file.stream) as archive:
        names = set(archive.namelist())
    if not names & _ZIP_DOCUMENT_PARTS:
        raise LoadError(
            "unsupported",
            f"`{file.name}` is an archive, not a document.",
            fix="Unpack it, and send what is in it.",
        )


def _wrong_format(name: str, what: str) -> LoadError:
    return LoadError(
        "broken", f"`{name}` is {what}, whatever its name says.", fix="Give it its own suffix."
    )


def store_file(file: SpooledFile, place: PurePosixPath, workspace: Workspace) -> str:
    """Put a file into the folder of uploads, whole or not at all, and return its uri.

    Raises LoadError with the reason "name" where a folder or a file of that name is in the way.
    """
    workspace.uploads.mkdir(parents=True, exist_ok=True)
    target = workspace.uploads.joinpath(*place.parts)
    with tempfile.NamedTemporaryFile(
        dir=workspace.files, prefix=INCOMPLETE_PREFIX, delete=False
    ) as beside:
        file.stream.seek(0)
        shutil.copyfileobj(file.stream, beside)
    waiting = Path(beside.name)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        waiting.replace(target)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise LoadError(
            "name",
            f"`{place}` cannot be kept: a file or a folder of that name is in the way.",
            fix="Rename it.",
        ) from error
    finally:
        waiting.unlink(missing_ok=True)
    return f"{UPLOADS}/{place}"
