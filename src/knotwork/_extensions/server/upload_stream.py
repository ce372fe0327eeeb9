"""Receive multipart forms as streams, with their files in a folder beside their later place.

Starlette keeps a megabyte of every file in memory and the rest in the folder of temporary files,
without a limit for all requests together.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from fastapi import Request, Response, UploadFile
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.datastructures import FormData, Headers
from starlette.datastructures import UploadFile as StarletteUploadFile

from knotwork._extensions.server.access import (
    HELD_BODY,
    RouteHandler,
    WorkspaceRoute,
    caller_of,
    service_of,
)
from knotwork._extensions.server.limits import HeldBytes
from knotwork._extensions.server.private_files import FOLDER_MODE, open_private
from knotwork._extensions.server.workspaces import INCOMPLETE_PREFIX
from knotwork._indexing.loaders.loader import MEGABYTE, format_size
from knotwork.errors import InvalidRequest, RequestTooLarge, StoreError

MOST_FILES = 1_000
_MOST_FIELDS = 50
_MOST_FIELD_BYTES = 64_000
_MOST_HEADER_BYTES = 16_000
_FORM_OVERHEAD_BYTES = 64 * 1024
_FLUSH_BYTES = 256 * 1024
_NOT_A_FORM = InvalidRequest(
    "The body is not a valid multipart form.", fix="Send it as multipart/form-data."
)


class ReceivedUpload(UploadFile):
    """A file of a form, stored at ``path``; ``file`` is not used, so that no file stays open."""

    def __init__(self, path: Path, *, filename: str, headers: Headers) -> None:
        super().__init__(BytesIO(), filename=filename, headers=headers)
        self.path = path


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

    def checked(self, handle: RouteHandler) -> RouteHandler:
        """Return a handler that checks access, receives the form, and then calls ``handle``."""

        async def answer(request: Request) -> Response:
            server = service_of(request)
            server.jobs.check()
            most = self.most_bytes or int(server.limits.max_upload_mb * MEGABYTE)
            client = caller_of(request)
            declared = int(request.headers.get("content-length", "0"))
            _check_size(declared, most)
            server.received.check(client, declared)
            with (
                server.workspaces.lease(request.path_params["workspace"]) as workspace,
                server.received.hold(client) as held,
            ):
                async with _private_folder(workspace.files) as folder:
                    form = _Form(folder, held, most_bytes=most)
                    received = _ReceivedRequest(request.scope, request.receive)
                    received.received = await form.receive(request)
                    return await handle(received)

        return super().checked(answer)


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
            await asyncio.to_thread(_make_folder, folder)
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


def _make_folder(folder: Path) -> None:
    folder.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
    folder.mkdir(mode=FOLDER_MODE)


class _Form:
    """Receive the fields and the files of one form."""

    def __init__(self, folder: Path, held: HeldBytes, *, most_bytes: int) -> None:
        self._folder = folder
        self._held = held
        self._most_bytes = most_bytes
        self._items: list[tuple[str, str | StarletteUploadFile]] = []
        self._files = 0
        self._header: list[bytes] = [b"", b""]
        self._headers: list[tuple[bytes, bytes]] = []
        self._name = ""
        self._upload: ReceivedUpload | None = None
        self._value = bytearray()
        self._ended: list[ReceivedUpload] = []
        self._pending: list[tuple[ReceivedUpload, bytes]] = []
        self._pending_bytes = 0
        self._open: tuple[ReceivedUpload, BinaryIO] | None = None

    async def receive(self, request: Request) -> FormData:
        """Return the form of a request.

        Raises InvalidRequest, RequestTooLarge, and TooManyRequests or Overloaded by quota.
        """
        kind, options = parse_options_header(request.headers.get("content-type"))
        if kind != b"multipart/form-data" or b"boundary" not in options:
            raise _NOT_A_FORM
        body: HeldBytes = request.scope[HELD_BODY]
        received = 0
        try:
            parser = MultipartParser(
                options[b"boundary"],
                {
                    "on_part_begin": self._begin_part,
                    "on_header_field": partial(self._add_header, 0),
                    "on_header_value": partial(self._add_header, 1),
                    "on_header_end": self._end_header,
                    "on_headers_finished": self._end_headers,
                    "on_part_data": self._add_data,
                    "on_part_end": self._end_part,
                },
            )
            async for part in request.stream():
                received += len(part)
                _check_size(received, self._most_bytes)
                body.release(len(part))  # it is on disk from here on
                self._held.add(len(part))
                parser.write(part)
                if self._pending_bytes >= _FLUSH_BYTES:
                    await asyncio.to_thread(self._flush)
            parser.finalize()
            await asyncio.to_thread(self._flush)
        except FormParserError as error:
            raise _NOT_A_FORM from error
        except OSError as error:
            raise _cannot_store(error) from error
        finally:
            self._close()
        return FormData(self._items)

    def _begin_part(self) -> None:
        self._headers, self._header = [], [b"", b""]
        self._name, self._upload, self._value = "", None, bytearray()

    def _add_header(self, part: int, data: bytes, start: int, end: int) -> None:
        self._header[part] += data[start:end]
        if len(self._header[part]) > _MOST_HEADER_BYTES:
            raise _NOT_A_FORM

    def _end_header(self) -> None:
        self._headers.append((self._header[0].lower(), self._header[1]))
        self._header = [b"", b""]

    def _end_headers(self) -> None:
        _, options = parse_options_header(dict(self._headers).get(b"content-disposition"))
        if b"name" not in options:
            raise _NOT_A_FORM
        self._name = _decode(options[b"name"])
        if b"filename" not in options:
            if len(self._items) - self._files >= _MOST_FIELDS:
                raise RequestTooLarge(f"The form has more than {_MOST_FIELDS} fields.")
            return
        self._files += 1
        if self._files > MOST_FILES:
            raise RequestTooLarge(
                f"The upload has more than {MOST_FILES:,} files.", fix="Send fewer at a time."
            )
        self._upload = ReceivedUpload(
            self._folder / str(self._files),
            filename=_decode(options[b"filename"]),
            headers=Headers(raw=self._headers),
        )
        self._pending.append((self._upload, b""))

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._upload is not None:
            self._pending.append((self._upload, data[start:end]))
            self._pending_bytes += end - start
        elif len(self._value) + end - start > _MOST_FIELD_BYTES:
            raise RequestTooLarge(f"A field has more than {format_size(_MOST_FIELD_BYTES)}.")
        else:
            self._value += data[start:end]

    def _end_part(self) -> None:
        self._items.append((self._name, self._upload or _decode(bytes(self._value))))

    def _flush(self) -> None:
        """Write the pending parts; at most one file is open at a time."""
        for upload, data in self._pending:
            if self._open is None or self._open[0] is not upload:
                self._close()
                self._open = upload, open_private(upload.path)
            self._open[1].write(data)
        self._pending, self._pending_bytes = [], 0

    def _close(self) -> None:
        if self._open is not None:
            self._open[1].close()
            self._open = None


def _decode(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("latin-1")
