"""Read the pictures on PDF pages that have text, and put them into the text of their page.

What is drawn with lines is no picture; its text is in the text of the page already.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from knotwork._indexing.loaders.blocks import BlockWriter
from knotwork._indexing.loaders.embedded_pictures import (
    LEAST_PIXELS,
    MOST_PICTURES,
    ReadPicture,
    add_read_picture,
    read_picture,
)
from knotwork._indexing.loaders.loader import Source
from knotwork._indexing.loaders.page_layout import Placement
from knotwork._indexing.loaders.page_lines import FlowLine, joined
from knotwork._indexing.loaders.pdf_pages import PageContent, PagePicture, Region
from knotwork._indexing.loaders.recognition import is_available
from knotwork._indexing.loaders.scanned_pages import PictureProgress, rendered
from knotwork._indexing.loaders.titles_and_captions import is_caption, is_table_caption

_MOST_OF_PAGE = 0.8
"""A larger share of the page is a background, or a scan whose text is in the file."""
_LEAST_SIDE = 36.0
"""Smaller pictures on paper, in points, are icons: half an inch."""
_TOUCHING = 1.0
"""Distance of two parts of one picture in points: some programs cut pictures into strips."""


class Figure(NamedTuple):
    """A picture on a page; ``region`` and that of the whole ``page`` are in points."""

    number: int
    region: Region
    page: Region
    digest: bytes

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


class ReadFigures(NamedTuple):
    """Figures with what was read of them, by the number of their page; ``unread`` were not."""

    by_page: Mapping[int, Sequence[tuple[Figure, ReadPicture]]]
    unread: int = 0


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


def _joined(pictures: Iterable[PagePicture]) -> list[PagePicture]:
    """Join pictures that touch each other along a side, as the strips of one do."""
    joined: list[PagePicture] = []
    for picture in pictures:
        while joined and _is_next(joined[-1].region, picture.region):
            last = joined.pop()
            edges = zip(last.region, picture.region, (min, min, max, max), strict=True)
            region = Region(*(choose(one, other) for one, other, choose in edges))
            digest = last.digest + picture.digest
            picture = PagePicture(region, last.pixels + picture.pixels, digest)  # noqa: PLW2901
        joined.append(picture)
    return joined


def _is_next(one: Region, other: Region) -> bool:
    """Return True if two regions have a side in common."""
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


def read_figures(
    source: Source, figures: Sequence[Figure], progress: PictureProgress
) -> ReadFigures:
    """Read the figures of a PDF. Raises Cancelled.

    Without the extra, and beyond `MOST_PICTURES`, figures are counted.
    """
    if not figures or not is_available():
        return ReadFigures({}, len(figures))
    wanted = figures[:MOST_PICTURES]
    by_page: dict[int, list[tuple[Figure, ReadPicture]]] = {}
    places = ((figure.number, figure.region) for figure in wanted)
    for figure, (_, picture) in zip(wanted, rendered(source, places), strict=True):
        progress.add()
        if picture is not None:
            read = read_picture(source, picture)
            if read.has_text or read.shown is not None:
                by_page.setdefault(figure.number, []).append((figure, read))
    return ReadFigures(by_page, len(figures) - len(wanted))


def place_figures(
    lines: Sequence[FlowLine], figures: ReadFigures
) -> dict[int, list[tuple[Figure, ReadPicture]]]:
    """Return the figures behind each line, by its index.

    A figure stands before the first paragraph of its page that begins below its middle, else behind
    the last one that ends there. Figures of pages without lines are left out.
    """
    placed: dict[int, list[tuple[Figure, ReadPicture]]] = {}
    last = len(lines) - 1
    for number, group in groupby(range(len(lines)), key=lambda index: lines[index].line.page):
        own = list(group)
        ends = [index for index in own if index == last or lines[index + 1].begins_paragraph]
        for figure, read in figures.by_page.get(number, ()):
            middle = (figure.region.bottom + figure.region.top) / 2
            fitting = (i for i in ends if i == own[-1] or lines[i + 1].line.y < middle)
            behind = next(fitting, (ends or own)[-1])
            placed.setdefault(behind, []).append((figure, read))
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
