"""Find the pages of a PDF that are pictures of text, and recognise what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from knotwork._cancellation import check_cancelled
from knotwork._indexing.file_progress import report_share
from knotwork._indexing.loaders.loader import Source
from knotwork._indexing.loaders.pdf_pages import PDFIUM_LOCK, PageContent, Region
from knotwork._indexing.loaders.recognised_pages import RecognisedPage
from knotwork._indexing.loaders.recognition import (
    EXTRA,
    LONGEST_SIDE,
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


class PictureProgress:
    """Counts the pictures of a PDF that are read, of ``total``, and reports the share."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._read = 0

    def add(self) -> None:
        """Report how many were read before this one."""
        report_share(self._read, self._total)
        self._read += 1


def is_scanned(content: PageContent, characters: int) -> bool:
    """Return True if a page has a picture and next to no text."""
    pixels = sum(picture.pixels for picture in content.pictures)
    return characters < FEWEST_CHARACTERS and pixels >= LEAST_PIXELS


def read_scanned_pages(
    source: Source, scanned: Sequence[int], progress: PictureProgress
) -> ScannedPages:
    """Recognise these pages of a PDF.

    Without the extra, and where a page cannot be rendered, the page is left as it is.
    """
    if not scanned or not is_available():
        return ScannedPages({}, tuple(scanned))
    pages: dict[int, RecognisedPage] = {}
    unread = []
    for number, picture in rendered(source, ((number, None) for number in scanned)):
        progress.add()
        if picture is None:
            unread.append(number)
        else:
            recognised = recognise(picture, known=source.recognised)
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
        else f"Install text recognition with: pip install 'knotwork[{EXTRA}]', then index with "
        "`--retry`."
    )
    return f"`{uri}` has scanned pages whose text was not read: {pages}. {advice}"


def rendered(
    source: Source, places: Iterable[tuple[int, Region | None]]
) -> Iterator[tuple[int, Image | None]]:
    """Yield pages, or regions of them, as pictures, None for what pdfium cannot render."""
    import pypdfium2

    try:
        with PDFIUM_LOCK:
            document = pypdfium2.PdfDocument(source.data, password=source.password or None)
    except pypdfium2.PdfiumError:
        yield from ((number, None) for number, _ in places)
        return
    try:
        for number, region in places:
            check_cancelled()
            with PDFIUM_LOCK:
                try:
                    picture = _render(document, number, region)
                except (pypdfium2.PdfiumError, IndexError, ValueError):
                    picture = None
            yield number, picture
    finally:
        with PDFIUM_LOCK:
            document.close()


def _render(
    document: Any,  # noqa: ANN401 - a library without types
    number: int,
    region: Region | None,
) -> Image | None:
    page = document[number]
    try:
        longest, cut = max(page.get_size()), (0.0, 0.0, 0.0, 0.0)
        if region is not None:
            left, bottom, right, top = page.get_bbox()
            longest = max(region.right - region.left, region.top - region.bottom)
            beyond = (right - region.right, top - region.top)
            cut = (region.left - left, region.bottom - bottom, *beyond)
        if not longest > 0:
            return None
        scale = min(_DPI / _POINTS, LONGEST_SIDE / longest)
        bitmap = page.render(scale=scale, crop=cut)
        picture: Image = bitmap.to_pil().convert("RGB")
        bitmap.close()
        return picture
    finally:
        page.close()
