"""Read the links of PDF pages: their words, and the address or page that they lead to."""

from __future__ import annotations

import ctypes
from contextlib import closing
from typing import Any, NamedTuple

from knotwork._indexing.loaders.loader import clean_line

_MOST_LINKS = 500
"""Links of a page that are read."""
_MOST_BYTES = 4_000


class PageLink(NamedTuple):
    """Words of a page that lead to ``target``: an address, a file, or "#page=3" of the document."""

    words: str
    target: str


def read_links(document: Any, page: Any) -> list[PageLink]:  # noqa: ANN401 - a library without types
    """Return the links of a page whose words are on it, in the order of the file."""
    import pypdfium2.raw as pdfium

    found: list[PageLink] = []
    place, link, box = ctypes.c_int(0), pdfium.FPDF_LINK(), pdfium.FS_RECTF()
    text = None
    for _ in range(_MOST_LINKS):
        if not pdfium.FPDFLink_Enumerate(page, place, link):
            break
        target = _target(document, link)
        if not target or not pdfium.FPDFLink_GetAnnotRect(link, box):
            continue
        text = text or page.get_textpage()
        words = clean_line(text.get_text_bounded(box.left, box.bottom, box.right, box.top))
        if any(map(str.isalnum, words)):
            found.append(PageLink(words, target))
    if text is not None:
        with closing(text):
            pass
    return found


def _target(document: Any, link: Any) -> str:  # noqa: ANN401
    import pypdfium2.raw as pdfium

    action = pdfium.FPDFLink_GetAction(link)
    kind = pdfium.FPDFAction_GetType(action) if action else 0
    if kind == pdfium.PDFACTION_URI:
        return _string(lambda *room: pdfium.FPDFAction_GetURIPath(document, action, *room))
    if kind == pdfium.PDFACTION_REMOTEGOTO:
        return _string(lambda *room: pdfium.FPDFAction_GetFilePath(action, *room))
    destination = pdfium.FPDFLink_GetDest(document, link)
    if not destination and kind == pdfium.PDFACTION_GOTO:
        destination = pdfium.FPDFAction_GetDest(document, action)
    number = pdfium.FPDFDest_GetDestPageIndex(document, destination) if destination else -1
    return f"#page={number + 1}" if number >= 0 else ""


def _string(read: Any) -> str:  # noqa: ANN401 - a function of pdfium with a buffer and its size
    room = ctypes.create_string_buffer(_MOST_BYTES)
    length = read(room, _MOST_BYTES)
    return room.raw[: length - 1].decode(errors="replace") if 1 < length <= _MOST_BYTES else ""
