"""Routes for the original files of documents: the file, its pages as pictures, lines on them."""

from __future__ import annotations

import re
from mimetypes import guess_type
from pathlib import Path as FilePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Header, Path, Query, Response
from fastapi.responses import FileResponse

from knotwork._extensions.server.access import ReadWorkspace, Routes, Server
from knotwork._extensions.server.originals import Original, find_original
from knotwork._extensions.server.routes.documents import DocumentId, find_document
from knotwork._extensions.server.workspaces import Workspace
from knotwork._registry import PARTS
from knotwork._shapes.base import Json, Shape
from knotwork.errors import InvalidRequest, NotFound
from knotwork.records import Document, Span

PAGE_SIZE = Shape(
    "PageSize", None, "The size of a page, in points or pixels.", width=float, height=float
)
PAGE_LIST = Shape("PageList", None, "The pages of an original, in order.", pages=PAGE_SIZE.many)
LINE_BOX = Shape(
    "LineBox",
    None,
    "A line of a passage on a page, counted from 1: its left, top, right and bottom edge as "
    "fractions of the page.",
    page=int,
    edges=list[float],
)
LINE_BOXES = Shape(
    "LineBoxes",
    None,
    "The lines of a passage on pages. Lines that were not found are left out.",
    boxes=LINE_BOX.many,
)

MOST_CHARACTERS = 20_000
"""Characters of a passage whose lines are found."""

_SHOWN_INLINE = ("image/png", "image/jpeg", "image/webp", "audio/", "video/")
"""Media types that browsers show without running anything in them."""

_KEPT = {"Cache-Control": "private, no-cache", "Vary": "Authorization"}
"""Headers of what a browser may keep, and asks for again by its ETag."""

router = Routes("documents")

OwnHeader = Annotated[str, Header(include_in_schema=False)]


@router.get(
    "/workspaces/{workspace}/documents/{document}/original",
    response_class=FileResponse,
    responses={200: {"content": {"*/*": {}}}, 206: {}, 304: {}, 416: {}},
)
async def get_original(
    server: Server,
    workspace: ReadWorkspace,
    document: DocumentId,
    if_none_match: OwnHeader = "",
    range: OwnHeader = "",  # noqa: A002 - the name of the header
) -> Response:
    """Return the file of a document, or a range of its bytes; 404 if it is not there as indexed."""
    original = await server.threads.run(_original, workspace, document)
    name = original.uri.rpartition("/")[2]
    is_inline = original.media_type.startswith(_SHOWN_INLINE)
    kind = (original.media_type if is_inline else guess_type(name)[0]) or _UNKNOWN_TYPE
    headers = {
        **_KEPT,
        "ETag": f'"{original.version}"',
        "Content-Disposition": f"{_DISPOSITIONS[is_inline]}; filename*=utf-8''{quote(name)}",
    }
    if if_none_match == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    if isinstance(original.path, FilePath):
        return FileResponse(original.path, headers=headers, media_type=kind)
    data = await server.threads.run(original.read_archived)
    return _part(data, range, headers, kind)


_UNKNOWN_TYPE = "application/octet-stream"
_DISPOSITIONS = {True: "inline", False: "attachment"}
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


def _part(data: bytes, asked: str, headers: dict[str, str], kind: str) -> Response:
    """Return the response with a range of a file in memory, or all of it."""
    first, last = found.groups() if (found := _RANGE.fullmatch(asked)) else ("", "")
    headers = {**headers, "Accept-Ranges": "bytes"}
    if not first and not last:
        return Response(data, headers=headers, media_type=kind)
    start = int(first) if first else max(0, len(data) - int(last))
    end = min(len(data), int(last) + 1) if first and last else len(data)
    if start >= end:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{len(data)}"})
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
    return Response(data[start:end], 206, headers=headers, media_type=kind)


@router.get("/workspaces/{workspace}/documents/{document}/pages")
async def list_pages(
    server: Server, workspace: ReadWorkspace, document: DocumentId
) -> Annotated[Json, PAGE_LIST]:
    """Return the size of each page of a PDF file or picture."""
    _, original = await server.threads.run(_paged, workspace, document)
    sizes = await server.drawer.ask(original, "measure_pages")
    return PAGE_LIST(pages=[PAGE_SIZE(width=width, height=height) for width, height in sizes])


@router.get(
    "/workspaces/{workspace}/documents/{document}/pages/{number}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}}, 304: {}},
)
async def get_page(
    server: Server,
    workspace: ReadWorkspace,
    document: DocumentId,
    number: Annotated[int, Path(ge=1, le=100_000, description="From 1.")],
    width: Annotated[int, Query(ge=100, le=2_400, description="In pixels.")] = 1_000,
    if_none_match: OwnHeader = "",
) -> Response:
    """Return a page of a PDF file or picture as PNG; 404 if the file is not there as indexed."""
    _, original = await server.threads.run(_paged, workspace, document)
    headers = {**_KEPT, "ETag": f'"{original.version}-{number}-{width}"'}
    if if_none_match == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    picture = await server.drawer.ask(original, "draw_page", number, width)
    return Response(picture, headers=headers, media_type="image/png")


@router.get("/workspaces/{workspace}/documents/{document}/boxes")
async def list_boxes(
    server: Server,
    workspace: ReadWorkspace,
    document: DocumentId,
    start: Annotated[int, Query(ge=0, le=10**9)],
    end: Annotated[int, Query(ge=0, le=10**9)],
) -> Annotated[Json, LINE_BOXES]:
    """Return where the lines of a passage are on the pages of a PDF file or picture."""
    if not start < end <= start + MOST_CHARACTERS:
        raise InvalidRequest(
            f"The passage from {start} to {end} is empty or has more than {MOST_CHARACTERS:,} "
            "characters.",
            fix="Ask for a shorter passage, whose end is behind its start.",
        )
    found, original = await server.threads.run(_paged, workspace, document)
    boxes, wanted = _known_boxes(found, Span(start, end))
    if wanted and original.media_type == "application/pdf":
        boxes += await server.drawer.ask(original, "find_boxes", tuple(wanted))
    boxes.sort(key=lambda item: item[0])
    return LINE_BOXES(boxes=[LINE_BOX(page=page, edges=list(box)) for page, box in boxes])


def _original(workspace: Workspace, document: str) -> Original:
    return find_original(workspace, find_document(workspace, document))


def _paged(workspace: Workspace, document: str) -> tuple[Document, Original]:
    """Return a document and its file, of which pages can be drawn. Raises NotFound."""
    found = find_document(workspace, document)
    original = find_original(workspace, found)
    if original.kind != "pages":
        raise NotFound(
            f"`{original.uri}` has no pages that can be drawn.",
            fix="PDF files and pictures have. Read the text, or download the original.",
        )
    return found, original


def _known_boxes(document: Document, span: Span) -> tuple[list[tuple[int, Any]], list[Any]]:
    """Return the boxes of a passage that the index has, of lines that were recognised in pictures,
    and the pages to search for other lines.
    """
    boxes: list[tuple[int, Any]] = []
    wanted = []
    starts = [page.start for page in document.pages] or [0]
    ends = [*starts[1:], len(document.text)]
    for index, page in enumerate(map(Span, [0, *starts[1:]], ends)):
        if not page.overlaps(span):
            continue
        label = document.pages[index].label if document.pages else "1"
        number = int(label) if label.isdecimal() else index + 1
        known = (b for b in document.boxes if b.span.overlaps(span) and b.span.overlaps(page))
        boxes += [(number, box[1:]) for box in known]
        part = max(span.start, page.start) - page.start, min(span.end, page.end) - page.start
        text = document.text[page.start : page.end]
        wanted.append(PARTS.load("page_images").PageText(number, text, *part))
    return boxes, wanted
