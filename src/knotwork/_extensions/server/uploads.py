"""Receive uploaded files, validate their names and contents, and store them in the workspace.

Forms are received as streams, with their files in a folder beside their later place. By itself,
Starlette keeps a megabyte of every file in memory and the rest in the folder of temporary files,
without a limit for all requests together.
"""

from __future__ import annotations

import asyncio
import math
import re
import secrets
import shutil
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Self, TypeVar

from fastapi import Request, Response, UploadFile
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from knotwork._config import IndexSettings
from knotwork._durable_files import move_file
from knotwork._extensions.server.access import (
    HELD_BODY,
    RouteHandler,
    WorkspaceRoute,
    caller_of,
    service_of,
)
from knotwork._extensions.server.limits import HeldBytes
from knotwork._extensions.server.private_files import make_private_folder, open_private
from knotwork._extensions.server.schemas import REFUSED
from knotwork._extensions.server.workspaces import INCOMPLETE_PREFIX, UPLOADS, Workspace
from knotwork._indexing.archives import ArchiveLimits, archive_kind
from knotwork._indexing.loaders.loader import (
    FORMATS,
    MEGABYTE,
    OLE_SIGNATURE,
    ZIP_SIGNATURE,
    Source,
    check_archive,
    format_size,
)
from knotwork._indexing.loaders.loader_registry import find_plugin_loader
from knotwork._registry import PARTS
from knotwork._shapes.base import Json
from knotwork.errors import InvalidRequest, LoadError, RequestTooLarge, StoreError

MOST_FILES = 1_000
_MOST_FIELDS = 50
_MOST_FIELD_BYTES = 64_000
_FORM_OVERHEAD_BYTES = 64 * 1024
_FLUSH_BYTES = 256 * 1024
_NOT_A_FORM = InvalidRequest(
    "The body is not a valid multipart form.", fix="Send it as multipart/form-data."
)


class ReceivedUpload(UploadFile):
    """A file of a form, stored at ``path``; ``file`` is not used, so that no file stays open."""

    def __init__(self, path: Path, *, filename: str | None, headers: Headers) -> None:
        super().__init__(BytesIO(), filename=filename, headers=headers)
        self.path = path
        self._pending = bytearray()

    async def write(self, data: bytes) -> None:
        """Append to the file. The last bytes are in memory until `seek` is called."""
        self._pending += data
        if len(self._pending) >= _FLUSH_BYTES:
            await asyncio.to_thread(self._flush)

    async def seek(self, offset: int) -> None:
        """Complete the file; the parser calls it at the end of each file."""
        del offset
        await asyncio.to_thread(self._flush)

    def _flush(self) -> None:
        with open_private(self.path, append=True) as file:
            file.write(self._pending)
        self._pending.clear()


class _ReceivedRequest(Request):
    """A request whose form was received already."""

    received: FormData

    async def form(self, **_limits: object) -> FormData:  # type: ignore[override]
        return self.received


class UploadRoute(WorkspaceRoute):
    """A route for uploads to a workspace, whose files are received into its folder.

    They are removed when the request ends, unless the route has moved them.
    """

    most_bytes: int | None = None
    """The largest body, in bytes; None for `service.max_upload_mb`."""

    async def answer(
        self, request: Request, workspace: Workspace, handle: RouteHandler
    ) -> Response:
        """Receive the form of a request, and answer it."""
        server, client = service_of(request), caller_of(request)
        server.jobs.check()
        most = self.most_bytes or int(server.limits.max_upload_mb * MEGABYTE)
        declared = int(request.headers.get("content-length", "0"))
        _check_size(declared, most)
        server.received.check(client, declared)
        with server.received.hold(client) as held:
            async with _private_folder(workspace.files) as folder:
                received = _ReceivedRequest(request.scope, request.receive)
                form = _FormParser(request, folder, held, most_bytes=most)
                received.received = await form.parse()
                return await handle(received)


class QuestionsRoute(UploadRoute):
    """A route for files of questions."""

    most_bytes = 16 * MEGABYTE


def _check_size(size: int, most_bytes: int) -> None:
    if size > most_bytes + _FORM_OVERHEAD_BYTES:
        raise RequestTooLarge(
            f"The upload has more than {format_size(most_bytes)}.",
            fix="Send fewer files at a time, or raise service.max_upload_mb.",
        )


@asynccontextmanager
async def _private_folder(parent: Path) -> AsyncIterator[Path]:
    """Create a folder for incomplete files, and delete it with what is left in it."""
    folder = parent / f"{INCOMPLETE_PREFIX}{secrets.token_hex(8)}"
    try:
        try:
            await asyncio.to_thread(make_private_folder, folder)
        except OSError as error:
            raise _cannot_store(error) from error
        yield folder
    finally:
        # Shielded: an upload that is cancelled must not leave its files.
        await asyncio.shield(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


def _cannot_store(error: OSError) -> StoreError:
    return StoreError(
        f"The server cannot store the upload: {error.strerror}.",
        fix="Check the disk of the server.",
    )


class _FormParser(MultiPartParser):
    """Starlette's parser of forms with files in a folder, and with the limits of this server."""

    def __init__(self, request: Request, folder: Path, held: HeldBytes, *, most_bytes: int) -> None:
        stream = _received_bytes(request, held, most_bytes)
        super().__init__(request.headers, stream, max_files=math.inf, max_fields=math.inf)
        self._folder = folder

    def on_headers_finished(self) -> None:
        super().on_headers_finished()
        if self._current_fields > _MOST_FIELDS:
            raise RequestTooLarge(f"The form has more than {_MOST_FIELDS} fields.")
        if self._current_files > MOST_FILES:
            raise RequestTooLarge(
                f"The upload has more than {MOST_FILES:,} files.", fix="Send fewer at a time."
            )
        file = self._current_part.file
        if file is not None:
            path = self._folder / str(self._current_files)
            file.file.close()
            received = ReceivedUpload(path, filename=file.filename, headers=file.headers)
            self._current_part.file = received

    def on_part_data(self, data: bytes, start: int, end: int) -> None:
        part = self._current_part
        if part.file is None and len(part.data) + end - start > _MOST_FIELD_BYTES:
            raise RequestTooLarge(f"A field has more than {format_size(_MOST_FIELD_BYTES)}.")
        super().on_part_data(data, start, end)

    async def parse(self) -> FormData:
        """Return the form.

        Raises InvalidRequest, RequestTooLarge, and TooManyRequests or Overloaded by quota.
        """
        if not self.headers.get("content-type", "").startswith("multipart/form-data"):
            raise _NOT_A_FORM
        try:
            return await super().parse()
        except MultiPartException as error:
            raise _NOT_A_FORM from error
        except OSError as error:
            raise _cannot_store(error) from error


async def _received_bytes(
    request: Request, held: HeldBytes, most_bytes: int
) -> AsyncGenerator[bytes]:
    body: HeldBytes = request.scope[HELD_BODY]
    received = 0
    async for part in request.stream():
        received += len(part)
        _check_size(received, most_bytes)
        body.release(len(part))  # it is on disk from here on
        held.add(len(part))
        yield part


Stored = TypeVar("Stored")

MOST_FOLDERS = 8
_MOST_NAME_BYTES = 200
_HEAD_BYTES = 65_536
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_OUTSIDE = re.compile(r'[<>:"|?*]')
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
_SKIPPED = re.compile(
    r"node_modules|__pycache__|__macosx|\$recycle\.bin|thumbs\.db|desktop\.ini|pyvenv\.cfg|~\$.*"
    r"|.*\.knot(-wal|-shm|\.calls.*|\.begun.*)?",
    re.IGNORECASE,
)
"""Names that indexing a folder skips silently."""

_PDF = b"%PDF-"
_RIFF = b"RIFF"
_ZIP_SUFFIXES = (".docx", ".pptx", ".xlsx", ".epub")
_ZIP_DOCUMENT_PARTS = frozenset(
    {
        "word/document.xml",
        "ppt/presentation.xml",
        "xl/workbook.xml",
        "META-INF/container.xml",
    }
)
_reading_archive = threading.Lock()
"""Held while the content of an archive is in memory: one at a time."""

_WIDE_TEXT = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file of an upload, at a temporary place in the folder of its workspace."""

    name: str
    path: Path

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.path.stat().st_size

    @classmethod
    def of(cls, upload: UploadFile) -> Self:
        """Return the file that `UploadRoute` received for a parameter of a route."""
        assert isinstance(upload, ReceivedUpload), "the route is an UploadRoute"
        return cls(upload.filename or "", upload.path)


def store_files(
    uploads: Iterable[UploadFile],
    store: Callable[[ReceivedFile], Stored],
    note: Callable[[list[Stored], list[Json]], None] | None = None,
) -> tuple[list[Stored], list[Json]]:
    """Call ``store`` for each file, and return its results and the files that it refuses.

    ``store`` refuses a file by raising LoadError; ``note`` gets the result as well, also if it is
    an error. Raises InvalidRequest if no file is stored.
    """
    stored: list[Stored] = []
    refused: list[Json] = []
    for file in map(ReceivedFile.of, uploads):
        try:
            stored.append(store(file))
        except LoadError as error:
            name = file.name.encode("utf-8", "replace").decode()[:500]
            refused.append(
                REFUSED(name=name, reason=error.reason, message=error.message, fix=error.fix)
            )
    if note is not None:
        note(stored, refused)
    if not stored:
        reasons = " ".join(file["message"] for file in refused[:5]) or "It contains no files."
        raise InvalidRequest(
            f"The upload was rejected. {reasons}", fix=refused[0]["fix"] if refused else ""
        )
    return stored, refused


def parse_upload_name(name: str) -> PurePosixPath:
    """Return the path, relative to the folder of uploads, for the name of an uploaded file.

    Names are never corrected: one that could leave the folder, mean a device or be hidden is
    rejected. Raises LoadError with the reason "name".
    """
    parts = name.replace("\\", "/").split("/")
    if len(parts) > MOST_FOLDERS or not all(map(_is_safe_part, parts)):
        raise LoadError(
            "name",
            f"`{_CONTROL.sub('?', name)[:200]}` is not a valid file name.",
            fix="Send a file name, or a path relative to the uploaded folder. No part may be "
            'empty, begin with a dot, end with a dot or a space, or contain <>:"|?*.',
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


def check_content(file: ReceivedFile, *, max_file_mb: float) -> None:
    """Raise LoadError if the content cannot be a document, whatever its name.

    This is a cheap check; the loaders validate the file when it is indexed. Archives are checked by
    their declared sizes, which limit what is ever read from them.
    """
    size = file.size
    if size > max_file_mb * MEGABYTE:
        raise LoadError(
            "too_large",
            f"`{file.name}` has {format_size(size)}; the limit is "
            f"{format_size(max_file_mb * MEGABYTE)}.",
            fix="Split the file, or raise index.max_file_mb.",
        )
    with file.path.open("rb") as stream:
        head = stream.read(_HEAD_BYTES)
    suffix = PurePosixPath(file.name).suffix.lower()
    pictures = (_RIFF,) if suffix == ".webp" else FORMATS["picture"].signatures
    media = (*pictures, *FORMATS["audio"].signatures)
    if not head.strip():
        raise LoadError("empty", f"`{file.name}` is empty.", fix="Omit it.")
    if find_plugin_loader(suffix, head) is not None:
        if head.startswith(ZIP_SIGNATURE):
            _check_sizes(file, max_file_mb)
    elif head.startswith((ZIP_SIGNATURE, OLE_SIGNATURE)):
        _check_zip(file, max_file_mb)
    elif suffix in _ZIP_SUFFIXES:
        raise _wrong_format(file.name, suffix.removeprefix("."))
    elif _PDF in head[:1_024] or head.startswith(media) or suffix in FORMATS["audio"].suffixes:
        return
    elif suffix == ".pdf":
        raise _wrong_format(file.name, "PDF")
    elif b"\x00" in head and not head.startswith(_WIDE_TEXT):
        raise LoadError(
            "binary",
            f"`{file.name}` is neither text nor a supported format.",
            fix="Convert it to text, PDF or an office format.",
        )


def check_document(file: ReceivedFile, settings: IndexSettings) -> None:
    """Raise LoadError if a file can be neither a document nor an archive of documents.

    Of an archive, only the directory or the beginning is read: indexing reads and checks the rest.
    """
    kind = archive_kind(file.name)
    with file.path.open("rb") as stream:
        is_zip = stream.read(len(ZIP_SIGNATURE)) == ZIP_SIGNATURE
    if kind and (is_zip or kind != "zip"):
        limits = ArchiveLimits.of(settings)
        if PARTS.load("check_archive_directory")(file.path, file.name, limits):
            return
    check_content(file, max_file_mb=settings.max_file_mb)


def _check_zip(file: ReceivedFile, max_file_mb: float) -> None:
    import zipfile

    _check_sizes(file, max_file_mb)
    with zipfile.ZipFile(file.path) as archive:
        names = set(archive.namelist())
    if not names & _ZIP_DOCUMENT_PARTS:
        raise LoadError(
            "unsupported",
            f"`{file.name}` is an archive, not a document.",
            fix="Unpack it, and upload its files.",
        )


def _check_sizes(file: ReceivedFile, max_file_mb: float) -> None:
    """Raise LoadError for an archive that is too large when decompressed, encrypted or broken."""
    with _reading_archive:
        data = file.path.read_bytes()
        check_archive(Source(file.name, data, max_bytes=int(max_file_mb * MEGABYTE)))


def _wrong_format(name: str, expected: str) -> LoadError:
    return LoadError(
        "broken",
        f"`{name}` does not contain {expected} data.",
        fix="Rename it with the suffix of its actual format.",
    )


def store_file(file: ReceivedFile, path: PurePosixPath, workspace: Workspace) -> str:
    """Move a file to its place in the folder of uploads, and return its URI.

    Raises LoadError with the reason "name" if a file or folder of that name prevents it.
    """
    target = workspace.uploads.joinpath(*path.parts)
    try:
        make_private_folder(target.parent)
        move_file(file.path, target)
    except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        raise LoadError(
            "name",
            f"`{path}` conflicts with an existing file or folder.",
            fix="Rename it.",
        ) from error
    return f"{UPLOADS}/{path}"
