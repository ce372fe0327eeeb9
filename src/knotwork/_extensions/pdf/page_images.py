"""Draw pages of PDF files and pictures as PNG, and find the lines of a text on them.

Files may be hostile: `run` is a task for a worker process, with its limits of memory and time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from contextlib import closing
from io import BytesIO
from itertools import islice, takewhile
from operator import eq
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from knotwork._extensions.media.pictures import open_pictures
from knotwork._extensions.media.text_recognition import flattened, shrunk
from knotwork._extensions.pdf.pdf_pages import PDFIUM_LOCK, open_pdf
from knotwork._indexing.loaders.loader import Source, broken_file_error
from knotwork.errors import LoadError, NotFound

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 12_000_000
"""Pixels of a drawn page: A4 at 330 dpi."""

_MOST_CHARACTERS = 200_000
"""Characters of a page that are searched; a page with more is a drawing."""
_SEED = 12
"""Characters by which a part of a text is looked for."""
_LEAST = 4
"""Characters of a part that stands alone; shorter ones are found by what is around them."""
_CONTEXT = 40
_MOST_PLACES = 50
_DEVICE = 20_000
"""Steps of the width and height of a page in which boxes are measured."""
_SAME_LINE = 0.5
_APART = 3.0
"""Heights of a line by which two parts of it may be apart."""

Box = tuple[float, float, float, float]
"""The left, top, right and bottom edge, as fractions of the page."""


class PageText(NamedTuple):
    """A page from 1, its text in the index, and the part of that which is looked for."""

    number: int
    text: str
    start: int
    end: int


class Task(NamedTuple):
    """A function of this module, its file, and its further arguments.

    The file is read in the worker process if it is a path.
    """

    function: Callable[..., Any]
    uri: str
    file: Path | bytes
    arguments: tuple[Any, ...] = ()


def prepare() -> None:
    """Import what the tasks of a worker process need."""
    import pypdfium2  # noqa: F401


def run(task: Task, _shared: object) -> Any:  # noqa: ANN401
    """Run a task. Raises what its function raises."""
    data = task.file if isinstance(task.file, bytes) else task.file.read_bytes()
    return task.function(Source(task.uri, data), *task.arguments)


def measure_pages(source: Source) -> list[tuple[float, float]]:
    """Return the width and height of each page, in points or pixels. Raises LoadError."""
    if not _is_pdf(source):
        return [(picture.width, picture.height) for _, picture in open_pictures(source)]
    with open_pdf(source) as document, PDFIUM_LOCK:
        return [document.get_page_size(number) for number in range(len(document))]


def draw_page(source: Source, number: int, width: int) -> bytes:
    """Return a page, counted from 1, as PNG of about this many pixels in width.

    It is narrower if it would have more than `MOST_PIXELS`. Raises LoadError, NotFound.
    """
    if not _is_pdf(source):
        picture = next(islice(open_pictures(source), number - 1, None), None)
        if picture is None:
            raise _no_page(source, number)
        wide, high = picture[1].size
        longest = max(wide, high) * _scale(source, wide, high, width)
        return _png(flattened(shrunk(picture[1], max(1, round(longest)))))
    with open_pdf(source) as document, PDFIUM_LOCK, _page(source, document, number) as page:
        wide, high = page.get_size()
        scale = _scale(source, wide, high, width)
        with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
            return _png(bitmap.to_pil())


def find_boxes(source: Source, wanted: Sequence[PageText]) -> list[tuple[int, Box]]:
    """Return the number of the page and the box of each line of parts of a PDF file's text.

    Lines that cannot be found have no box. Raises LoadError, NotFound.
    """
    found = []
    with open_pdf(source) as document, PDFIUM_LOCK:
        for asked in wanted:
            with (
                _page(source, document, asked.number) as page,
                closing(page.get_textpage()) as text,
            ):
                found += [(asked.number, box) for box in _lines(page, text.raw, asked)]
    return found


def _is_pdf(source: Source) -> bool:
    return b"%PDF-" in source.data[:1_024]


def _page(source: Source, document: Any, number: int) -> closing[Any]:  # noqa: ANN401
    import pypdfium2

    if not 0 < number <= len(document):
        raise _no_page(source, number)
    try:
        return closing(document[number - 1])
    except pypdfium2.PdfiumError as error:
        raise broken_file_error(source, f"page {number} cannot be read") from error


def _no_page(source: Source, number: int) -> NotFound:
    return NotFound(f"`{source.uri}` has no page {number}.", fix="Pages are counted from 1.")


def _scale(source: Source, wide: float, high: float, width: int) -> float:
    """Return by how much a page of this size is enlarged."""
    if not (0 < wide < 1e6 and 0 < high < 1e6):
        raise LoadError("broken", f"A page of `{source.uri}` is {wide:g} by {high:g} points.")
    return float(min(width / wide, (MOST_PIXELS / (wide * high)) ** 0.5, MOST_PIXELS / high))


def _png(picture: Image) -> bytes:
    """Return a picture as PNG, in shades of grey if it has no colour."""
    red, green, blue = (colour.tobytes() for colour in picture.convert("RGB").split())
    stream = BytesIO()
    picture.convert("L" if red == green == blue else "RGB").save(stream, "PNG", compress_level=4)
    return stream.getvalue()


def _lines(page: Any, text: Any, asked: PageText) -> list[Box]:  # noqa: ANN401
    """Return the boxes of the lines of a part of the text of a page."""
    import pypdfium2.raw as pdfium

    count = min(pdfium.FPDFText_CountChars(text), _MOST_CHARACTERS)
    codes = (pdfium.FPDFText_GetUnicode(text, number) for number in range(count))
    letters, places = _letters("".join(chr(c) if 0 < c < 0x110000 else " " for c in codes))
    before = _letters(asked.text[max(0, asked.start - _CONTEXT) : asked.start])[0]
    part = _letters(asked.text[asked.start : asked.end])[0]
    after = _letters(asked.text[asked.end : asked.end + _CONTEXT])[0]
    parts = find_parts(letters, before + part + after, len(before), len(before) + len(part))
    boxes: list[Box] = []
    for start, end in parts:
        for number in dict.fromkeys(places[start:end]):
            box = _box(page, text, number)
            if box is not None:
                _add(boxes, box)
    return boxes


def _letters(text: str) -> tuple[str, list[int]]:
    """Return the letters and digits of a text without accents and case, and where each is from.

    The rest is written in many ways: spaces, hyphens, ligatures, marks of lists and tables.
    """
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def find_parts(page: str, text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return where the parts of ``text[start:end]`` are on a page, which may have another order.

    Of several places, the one is taken around which more of the text is the same.
    """
    found: list[tuple[int, int]] = []
    at, known = start, start
    while at < end:
        seed = text[at : min(at + _SEED, end)]
        best = (0, 0, 0)
        every = (m.start() for m in re.finditer(f"(?={re.escape(seed)})", page))
        for place in islice(every, _MOST_PLACES):
            above, before = page[max(0, place - _CONTEXT) : place], text[max(0, at - _CONTEXT) : at]
            left = _common(above[::-1], before[::-1])
            right = _common(page[place : place + end - at + _CONTEXT], text[at:])
            best = max(best, (left + right, left, place))
        context, left, place = best
        if context < min(_LEAST + len(seed), _SEED) and context < len(text):
            at += 1
            continue
        after = at + _common(page[place : place + end - at], text[at:end])
        back = min(left, at - known)
        found.append((place - back, place + after - at))
        at = known = after
    return found


def _common(one: str, other: str) -> int:
    """Return the number of characters with which both begin."""
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _box(page: Any, text: Any, number: int) -> Box | None:  # noqa: ANN401
    """Return the box of a character as the page is shown, None if it is outside of the page."""
    import ctypes

    import pypdfium2.raw as pdfium

    rect = pdfium.FS_RECTF()
    if not pdfium.FPDFText_GetLooseCharBox(text, number, rect):
        return None
    x, y = ctypes.c_int(), ctypes.c_int()
    corners = []
    for across, up in ((rect.left, rect.top), (rect.right, rect.bottom)):
        pdfium.FPDF_PageToDevice(page, 0, 0, _DEVICE, _DEVICE, 0, across, up, x, y)
        corners.append((x.value / _DEVICE, y.value / _DEVICE))
    (left, right), (top, bottom) = (sorted(edges) for edges in zip(*corners, strict=True))
    is_shown = left < right and top < bottom and left < 1 and top < 1 and right > 0 and bottom > 0
    return (max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0)) if is_shown else None


def _add(boxes: list[Box], box: Box) -> None:
    """Join a box to the last one if it is in the same line, else append it."""
    if boxes:
        last = boxes[-1]
        height = min(last[3] - last[1], box[3] - box[1])
        common = min(last[3], box[3]) - max(last[1], box[1])
        is_near = last[0] - height <= box[0] <= last[2] + _APART * height
        if common > _SAME_LINE * height and is_near:
            left, top = min(last[0], box[0]), min(last[1], box[1])
            boxes[-1] = (left, top, max(last[2], box[2]), max(last[3], box[3]))
            return
    boxes.append(box)
