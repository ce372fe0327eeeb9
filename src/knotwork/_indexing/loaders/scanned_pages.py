"""Find the pages of a PDF that are pictures of text, and recognise what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from knotwork._cancellation import check_cancelled
from knotwork._indexing.loaders.loader import Source
from knotwork._indexing.loaders.pdf_pages import PDFIUM_LOCK, PageContent
from knotwork._indexing.loaders.recognition import (
    EXTRA,
    LONGEST_SIDE,
    RecognisedPage,
    is_available,
    recognise,
)
from knotwork.errors import LoadError

if TYPE_CHECKING:
    from PIL.Image import Image

UNREAD_PAGES = "pages_without_text"
"""The key of the metadata that says which pages are pictures that were not read."""

FEWEST_CHARACTERS = 40
"""A page of fewer characters may be a scan with a stamp, such as the number of the page."""

LEAST_PIXELS = 250_000
"""Pixels of the pictures of a scanned page, together: a fifth of A4 at 100 dpi."""

_DPI = 200
_POINTS = 72


class ScannedPages(NamedTuple):
    """Recognised pages by number, from 0, and the numbers of scanned pages that were not read."""

    pages: Mapping[int, RecognisedPage]
    unread: tuple[int, ...]


def is_scanned(content: PageContent, characters: int) -> bool:
    """Return True if a page has a picture and next to no text."""
    return characters < FEWEST_CHARACTERS and content.pixels >= LEAST_PIXELS


def read_scanned_pages(source: Source, scanned: Sequence[int]) -> ScannedPages:
    """Recognise these pages of a PDF.

    Without the extra, and where a page cannot be rendered, the page is left as it is.
    """
    if not scanned or not is_available():
        return ScannedPages({}, tuple(scanned))
    pages: dict[int, RecognisedPage] = {}
    unread = []
    for number, picture in _rendered(source, scanned):
        if picture is None:
            unread.append(number)
        else:
            recognised = recognise(picture)
            if recognised.lines:
                pages[number] = recognised
    return ScannedPages(pages, tuple(unread))


def no_text_error(source: Source, pages: int, unread: Sequence[int]) -> LoadError:
    """Return the error for a PDF none of whose pages has text."""
    held = "1 page" if pages == 1 else f"{pages:,} pages"
    message = f"`{source.uri}` has {held} without any text; it is probably a scan."
    if unread and not is_available():
        return LoadError(
            "no_text",
            f"{message} Recognising it needs the optional extra `{EXTRA}`, which is not installed.",
            fix=f"Install it with: pip install 'knotwork[{EXTRA}]', then index with `--retry`.",
        )
    fix = "Leave it out with `exclude`, or scan it with more dots per inch."
    return LoadError("no_text", message, fix=fix)


def page_ranges(numbers: Sequence[int]) -> str:
    """Return pages, numbered from 0, as readers write them: "3, 5-7"."""
    counter = count()
    ranges = []
    for _, run in groupby(numbers, key=lambda number: number - next(counter)):
        first, *further = run
        ranges.append(f"{first + 1}-{further[-1] + 1}" if further else f"{first + 1}")
    return ", ".join(ranges)


def unread_note(uri: str, pages: str) -> str:
    """Return the note of a report on pages of a document that were not read."""
    advice = (
        "They could not be rendered."
        if is_available()
        else f"Install text recognition with: pip install 'knotwork[{EXTRA}]', then run "
        "`knotwork delete` on the document, and index again."
    )
    return f"`{uri}` has scanned pages whose text was not read: {pages}. {advice}"


def _rendered(source: Source, numbers: Sequence[int]) -> Iterator[tuple[int, Image | None]]:
    """Yield pages as pictures, None for one that pdfium cannot render."""
    import pypdfium2

    try:
        with PDFIUM_LOCK:
            document = pypdfium2.PdfDocument(source.data, password=source.password or None)
    except pypdfium2.PdfiumError:
        yield from ((number, None) for number in numbers)
        return
    try:
        for number in numbers:
            check_cancelled()
            with PDFIUM_LOCK:
                try:
                    picture = _render(document, number)
                except (pypdfium2.PdfiumError, IndexError, ValueError):
                    picture = None
            yield number, picture
    finally:
        with PDFIUM_LOCK:
            document.close()


def _render(document: Any, number: int) -> Image | None:  # noqa: ANN401 - a library without types
    page = document[number]
    try:
        longest = max(page.get_size())
        if not longest > 0:
            return None
        scale = min(_DPI / _POINTS, LONGEST_SIDE / longest)
        bitmap = page.render(scale=scale)
        picture: Image = bitmap.to_pil().convert("RGB")
        bitmap.close()
        return picture
    finally:
        page.close()
