"""Read the pictures on PDF pages: scanned pages, and figures that stand between the text.

What is drawn with lines is no picture; its text is in the text of the page already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from knotwork._cancellation import checked
from knotwork._extensions.media.pictures import (
    LEAST_PIXELS,
    ReadPicture,
    add_read_picture,
    read_picture,
)
from knotwork._extensions.media.text_recognition import LONGEST_SIDE, RecognisedPage, recognise
from knotwork._extensions.pdf.page_layout import Placement
from knotwork._extensions.pdf.pdf_annotations import Region
from knotwork._extensions.pdf.pdf_pages import PDFIUM_LOCK, PageContent, PagePicture
from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.lines import FlowLine, joined
from knotwork._indexing.loaders.loader import INSTALL_OCR, MOST_PICTURES, OCR, Source, can_recognise
from knotwork._indexing.loaders.titles_and_captions import is_caption, is_table_caption
from knotwork._run import report_share
from knotwork.errors import LoadError

if TYPE_CHECKING:
    from PIL.Image import Image

FEWEST_CHARACTERS = 40
"""A page of fewer characters may be a scan with a stamp, such as the number of the page."""

_LEAST_SCAN_PIXELS = 250_000
"""Pixels of the pictures of a scanned page, together: a fifth of A4 at 100 dpi."""

_DPI = 200
_POINTS = 72


def is_scanned(content: PageContent, characters: int) -> bool:
    """Return True if a page has a picture and next to no text."""
    pixels = sum(picture.pixels for picture in content.pictures)
    return characters < FEWEST_CHARACTERS and pixels >= _LEAST_SCAN_PIXELS


def no_text_error(source: Source, pages: int, unread: Sequence[int]) -> LoadError:
    """Return the error for a PDF none of whose pages has text."""
    held = "1 page" if pages == 1 else f"{pages:,} pages"
    message = f"`{source.uri}` has {held} without any text; it is probably a scan."
    if unread and not can_recognise():
        return LoadError(
            "no_text",
            f"{message} Recognising it needs the optional extra `{OCR}`, which is not installed.",
            fix=f"Install it with: {INSTALL_OCR}",
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


def _render(
    document: Any,  # noqa: ANN401 - a library without types
    number: int,
    region: Region | None,
) -> Image | None:
    """Return a page, or a region of it, as a picture; None if pdfium cannot render it."""
    import pypdfium2

    try:
        with PDFIUM_LOCK, closing(document[number]) as page:
            longest, cut = max(page.get_size()), (0.0, 0.0, 0.0, 0.0)
            if region is not None:
                left, bottom, right, top = page.get_bbox()
                longest = max(region.right - region.left, region.top - region.bottom)
                beyond = (right - region.right, top - region.top)
                cut = (region.left - left, region.bottom - bottom, *beyond)
            if not longest > 0:
                return None
            scale = min(_DPI / _POINTS, LONGEST_SIDE / longest)
            with closing(page.render(scale=scale, crop=cut)) as bitmap:
                picture: Image = bitmap.to_pil().convert("RGB")
            return picture
    except (pypdfium2.PdfiumError, IndexError, ValueError):
        return None


_MOST_OF_PAGE = 0.8
"""A larger share of the page is a background, or a scan whose text is in the file."""
_LEAST_SIDE = 36.0
"""Smaller pictures on paper, in points, are icons: half an inch."""
_TOUCHING = 1.0
"""Distance of two parts of one picture in points: some programs cut pictures into strips."""


class Figure(NamedTuple):
    """A picture on a page, or garbled text; its region and that of the whole page are in points."""

    number: int
    region: Region
    page: Region
    digest: bytes
    is_text: bool = False

    @property
    def place(self) -> Placement:
        """Where it is on its page."""
        width, height = self.page.right - self.page.left, self.page.top - self.page.bottom
        return Placement(
            (self.region.left - self.page.left) / width,
            (self.page.top - self.region.top) / height,
            (self.region.right - self.page.left) / width,
            (self.page.top - self.region.bottom) / height,
        )


class ReadPictures(NamedTuple):
    """What was read of the pictures of a PDF, by the numbers of their pages, from 0.

    ``pages`` are recognised scans, ``unread`` the numbers of scanned pages that were not read;
    ``figures`` stand on other pages, where ``unread_figures`` more were not read.
    """

    pages: Mapping[int, RecognisedPage]
    unread: Sequence[int]
    figures: Mapping[int, Sequence[tuple[Figure, ReadPicture]]]
    unread_figures: int


def figures_of(content: PageContent, number: int) -> list[Figure]:
    """Return the pictures on a page that are neither icons nor its background."""
    page = content.region
    found = []
    for part in _joined(content.pictures):
        region = Region(
            max(part.region.left, page.left),
            max(part.region.bottom, page.bottom),
            min(part.region.right, page.right),
            min(part.region.top, page.top),
        )
        sides = (region.right - region.left, region.top - region.bottom)
        if (
            part.pixels >= LEAST_PIXELS
            and min(sides) >= _LEAST_SIDE
            and region.area < _MOST_OF_PAGE * page.area
        ):
            found.append(Figure(number, region, page, part.digest))
    return found


def lines_as_figures(content: PageContent, number: int) -> list[Figure]:
    """Return the garbled lines of a page as figures, [] if they cannot be recognised there."""
    if not can_recognise() or not content.region.area:
        return []
    return [
        Figure(number, region, content.region, f"{number} {region}".encode(), is_text=True)
        for region in content.garbled.regions
    ]


def _joined(pictures: Iterable[PagePicture]) -> list[PagePicture]:
    """Join pictures that touch each other along a side, as the strips of one do."""
    joined: list[PagePicture] = []
    for picture in pictures:
        while joined and _is_next(joined[-1].region, picture.region):
            last = joined.pop()
            region = last.region.around(picture.region)
            digest = last.digest + picture.digest
            picture = PagePicture(region, last.pixels + picture.pixels, digest)  # noqa: PLW2901
        joined.append(picture)
    return joined


def _is_next(one: Region, other: Region) -> bool:
    same = [abs(a - b) <= _TOUCHING for a, b in zip(one, other, strict=True)]
    left, bottom, right, top = same
    stands_on = min(abs(one.bottom - other.top), abs(one.top - other.bottom)) <= _TOUCHING
    stands_beside = min(abs(one.right - other.left), abs(one.left - other.right)) <= _TOUCHING
    return (left and right and stands_on) or (bottom and top and stands_beside)


def without_repetitions(figures: Iterable[Figure]) -> list[Figure]:
    """Return each figure once, where it is first."""
    first: dict[bytes, Figure] = {}
    for figure in figures:
        first.setdefault(figure.digest, figure)
    return list(first.values())


def read_pictures(
    source: Source,
    document: Any,  # noqa: ANN401
    scanned: Sequence[int],
    figures: Sequence[Figure],
) -> ReadPictures:
    """Recognise the scanned pages of a PDF, and read its figures. Raises Cancelled.

    Without the extra, and where a page cannot be rendered, a scan is left as it is. Figures beyond
    `MOST_PICTURES` are counted.
    """
    wanted = figures[:MOST_PICTURES]
    if not (scanned or wanted) or not can_recognise():
        return ReadPictures({}, scanned, {}, len(figures))
    pages: dict[int, RecognisedPage] = {}
    unread: list[int] = []
    by_page: dict[int, list[tuple[Figure, ReadPicture]]] = {}
    asked = [*((number, None) for number in scanned), *((f.number, f) for f in wanted)]
    for index, (number, figure) in enumerate(checked(asked)):
        report_share(index, len(asked))
        picture = _render(document, number, figure.region if figure else None)
        if figure is not None and not figure.is_text:
            read = read_picture(source, picture) if picture is not None else None
            if read is not None and (read.has_text or read.shown is not None):
                by_page.setdefault(number, []).append((figure, read))
        elif picture is None:
            unread.append(number)
        elif (recognised := recognise(picture)).lines:
            if figure is None:
                pages[number] = recognised
            else:
                by_page.setdefault(number, []).append((figure, ReadPicture(recognised, None)))
        elif figure is not None:
            unread.append(number)
    return ReadPictures(pages, sorted({*unread}), by_page, len(figures) - len(wanted))


Placed = TypeVar("Placed")


def place_behind(
    lines: Sequence[FlowLine], placed_on: Mapping[int, Sequence[tuple[Region, Placed]]]
) -> dict[int, list[Placed]]:
    """Return what is on pages by the indices of the lines that it is behind.

    It stands before the first paragraph of its page that begins below its middle, else behind the
    last one that ends there. What is on pages without lines is left out.
    """
    placed: dict[int, list[Placed]] = {}
    last = len(lines) - 1
    for number, group in groupby(range(len(lines)), key=lambda index: lines[index].line.page):
        own = list(group)
        ends = [index for index in own if index == last or lines[index + 1].begins_paragraph]
        for region, item in placed_on.get(number, ()):
            middle = (region.bottom + region.top) / 2
            fitting = (i for i in ends if i == own[-1] or lines[i + 1].line.y < middle)
            behind = next(fitting, (ends or own)[-1])
            placed.setdefault(behind, []).append(item)
    return placed


def caption_near(lines: Sequence[FlowLine], index: int) -> str:
    """Return the caption that is the paragraph behind or before the end of a line, or ""."""
    begin, after = index, index + 1
    while begin and not lines[begin].begins_paragraph:
        begin -= 1
    while after < len(lines) and not (after > index + 1 and lines[after].begins_paragraph):
        after += 1
    captions = (joined(lines[index + 1 : after]), joined(lines[begin : index + 1]))
    return next((c for c in captions if is_caption(c) and not is_table_caption(c)), "")


def add_figures(
    writer: BlockWriter,
    source: Source,
    figures: Iterable[tuple[Figure, ReadPicture]],
    *,
    caption: str = "",
) -> None:
    """Append figures with their boxes, the topmost first."""
    for figure, read in sorted(figures, key=lambda item: -item[0].region.top):
        add_read_picture(writer, source, read, place=figure.place, caption=caption)
